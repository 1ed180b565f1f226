// The TypeScript SDK's WebSocket or HTTP client: initialize, a session, a prompt; prints what came, as JSON.
//
//   node http-client.mjs URL

import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

const url = process.argv[2];
const stream = url.startsWith("http") ? createHttpStream(url) : createWebSocketStream(url);
const writer = stream.writable.getWriter();
const reader = stream.readable.getReader();
const seen = [];

async function request(id, method, params) {
	await writer.write({ jsonrpc: "2.0", id, method, params });
	for (;;) {
		const { value, done } = await reader.read();
		if (done)
			throw new Error(`the connection closed before the response to ${method}`);
		seen.push(value);
		if (value.id === id && !value.method)
			return value.result;
	}
}

await request(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
const { sessionId } = await request(2, "session/new", { cwd: "/", mcpServers: [] });
await request(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] });
console.log(JSON.stringify(seen));
await writer.close();
