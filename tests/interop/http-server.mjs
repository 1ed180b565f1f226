// The TypeScript SDK's server of WebSocket and HTTP, with an agent that answers a prompt with what it was asked; prints its port.

import { createServer } from "node:http";
import { WebSocketServer } from "ws";
import * as acp from "@agentclientprotocol/sdk";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";

const createAgent = () => acp.agent({ name: "interop" })
	.onRequest("initialize", () => ({ protocolVersion: 1, agentCapabilities: {} }))
	.onRequest("session/new", () => ({ sessionId: "s" }))
	.onRequest("session/prompt", async ({ params, client }) => {
		await client.notify("session/update", {
			sessionId: params.sessionId,
			update: { sessionUpdate: "agent_message_chunk", content: params.prompt[0] },
		});
		return { stopReason: "end_turn" };
	});
const server = new AcpServer({ createAgent });
const http = createServer(createNodeHttpHandler(server));
http.on("upgrade", createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
