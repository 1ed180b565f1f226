// An agent on the TypeScript SDK that asks for permission, and then says what it was asked; EXIT in the prompt ends it.

import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const options = [
	{ optionId: "yes", name: "Yes", kind: "allow_once" },
	{ optionId: "no", name: "No", kind: "reject_once" },
];

acp.agent({ name: "ask-agent" })
	.onRequest("initialize", () => ({ protocolVersion: 1, agentCapabilities: {} }))
	.onRequest("session/new", () => ({ sessionId: "s" }))
	.onRequest("session/prompt", async ({ params: { sessionId, prompt }, client }) => {
		if (prompt[0].text === "EXIT")
			process.exit(3);
		const say = (update) => client.notify("session/update", { sessionId, update });
		await say({ sessionUpdate: "tool_call", toolCallId: "t", title: "Read it", kind: "read", status: "pending" });
		const { outcome } = await client.request("session/request_permission", { sessionId, toolCall: { toolCallId: "t" }, options });
		await say({ sessionUpdate: "tool_call_update", toolCallId: "t", status: outcome.optionId === "yes" ? "completed" : "failed" });
		for (const content of prompt)
			await say({ sessionUpdate: "agent_message_chunk", content });
		return { stopReason: "end_turn" };
	})
	.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
