"""A client on the Python SDK that opens a session and sends N prompts.

    python turns.py N COMMAND [ARG...]

Says on standard output what turns.mjs does, as one line of JSON, and takes PATIENCE and CANCEL as it does.
"""
import asyncio
import json
import os
import sys

import acp
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

n, command = int(sys.argv[1]), sys.argv[2:]
patience = float(os.environ.get("PATIENCE", "0")) or None
met = {"turns": [], "updates": 0, "permissions": 0, "error": None}


class Client:
    async def session_update(self, session_id, update, **_):
        met["updates"] += 1
        if met["updates"] == 1 and os.environ.get("CANCEL"):
            await self.agent.cancel(session_id=session_id)

    async def request_permission(self, session_id, tool_call, options, **_):
        met["permissions"] += 1
        if os.environ.get("CANCEL") and not met["turns"]:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=options[0].option_id))

    async def ext_notification(self, method, params):
        pass

    def on_connect(self, conn):
        self.agent = conn


async def play(agent):
    async def response(call):
        try:
            return await asyncio.wait_for(call, patience)
        except asyncio.TimeoutError:
            raise RuntimeError("no response") from None

    await response(agent.initialize(protocol_version=acp.PROTOCOL_VERSION))
    session = await response(agent.new_session(cwd="/", mcp_servers=[]))
    for _ in range(n):
        turn = await response(agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go on")]))
        met["turns"].append(turn.stop_reason)


async def main():
    async with acp.spawn_agent_process(Client(), *command, transport_kwargs={"stderr": None}) as (agent, _):
        try:
            await play(agent)
        except Exception as error:
            met["error"] = str(error) or type(error).__name__


asyncio.run(main())
print(json.dumps(met, separators=(",", ":")))
