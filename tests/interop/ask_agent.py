"""An agent on the Python SDK that asks for permission, and then says what it was asked; EXIT in the prompt ends it."""
import asyncio
import os

import acp
from acp.schema import AgentCapabilities, InitializeResponse, NewSessionResponse, PermissionOption, PromptResponse, ToolCallUpdate

OPTIONS = [PermissionOption(option_id="yes", name="Yes", kind="allow_once"), PermissionOption(option_id="no", name="No", kind="reject_once")]


class Agent:
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **_):
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=AgentCapabilities())

    async def new_session(self, cwd, **_):
        return NewSessionResponse(session_id="s")

    async def prompt(self, session_id, prompt, **_):
        if prompt[0].text == "EXIT":
            os._exit(3)
        await self.client.session_update(session_id, acp.start_tool_call("t", "Read it", kind="read", status="pending"))
        response = await self.client.request_permission(session_id=session_id, tool_call=ToolCallUpdate(tool_call_id="t"), options=OPTIONS)
        allowed = getattr(response.outcome, "option_id", None) == "yes"
        await self.client.session_update(session_id, acp.update_tool_call("t", status="completed" if allowed else "failed"))
        for block in prompt:
            await self.client.session_update(session_id, acp.update_agent_message(block))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(acp.run_agent(Agent()))
