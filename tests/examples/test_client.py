"""A client's tests for pytest, with acp-replay as the agent: no model, no key, no network."""
import asyncio

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse

AGENT = ["acp-replay", "--timeout", "10s", "tests/fixtures/write-with-permission.jsonl"]


class Client:
    """The client under test: shows the agent's text, and permits what the agent asks for."""
    shown = ""

    async def session_update(self, session_id, update, **_):
        if update.session_update == "agent_message_chunk":
            self.shown += update.content.text

    async def request_permission(self, session_id, tool_call, options, **_):
        allow = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=allow.option_id))

    def on_connect(self, agent):
        pass


async def write_the_note(client):
    async with acp.spawn_agent_process(client, *AGENT, transport_kwargs={"stderr": None}) as (agent, process):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd="/anywhere", mcp_servers=[])
        await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("please WRITE the note")])
    assert process.returncode == 0  # the client did all that it did when the session was recorded


def test_the_agents_text_is_shown():
    client = Client()
    asyncio.run(write_the_note(client))
    assert client.shown.startswith("I will write the file now. Done: ")
