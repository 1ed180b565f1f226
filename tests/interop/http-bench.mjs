// The TypeScript SDK's HTTP client against a server: the time of a prompt with one update, and updates a second.
//
//   node http-bench.mjs URL TRIPS       prints microseconds per prompt
//   node http-bench.mjs serve           an SDK server whose agent does the same; prints its port

import { createServer } from "node:http";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import * as acp from "@agentclientprotocol/sdk";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { createNodeHttpHandler } from "@agentclientprotocol/sdk/experimental/node";

if (process.argv[2] === "serve") {
	const createAgent = () => acp.agent({ name: "bench" })
		.onRequest("initialize", () => ({ protocolVersion: 1, agentCapabilities: {} }))
		.onRequest("session/new", () => ({ sessionId: "s" }))
		.onRequest("session/prompt", async ({ params, client }) => {
			await client.notify("session/update", {
				sessionId: params.sessionId,
				update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello" } },
			});
			return { stopReason: "end_turn" };
		});
	const http = createServer(createNodeHttpHandler(new AcpServer({ createAgent })));
	http.listen(0, "127.0.0.1", () => console.log(http.address().port));
} else {
	const stream = createHttpStream(process.argv[2]);
	const writer = stream.writable.getWriter();
	const reader = stream.readable.getReader();
	const request = async (id, method, params) => {
		await writer.write({ jsonrpc: "2.0", id, method, params });
		for (;;) {
			const { value, done } = await reader.read();
			if (done)
				throw new Error(`the connection closed before the response to ${method}`);
			if (value.id === id && !value.method)
				return value.result;
		}
	};
	await request(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
	const { sessionId } = await request(2, "session/new", { cwd: "/", mcpServers: [] });
	const prompt = [{ type: "text", text: "hello" }];
	const trips = Number(process.argv[3]);
	for (let i = 0; i < trips / 10; i++)
		await request(`w${i}`, "session/prompt", { sessionId, prompt });
	const begin = process.hrtime.bigint();
	for (let i = 0; i < trips; i++)
		await request(`p${i}`, "session/prompt", { sessionId, prompt });
	console.log(Number(process.hrtime.bigint() - begin) / 1000 / trips);
	// Throughput: as many prompts at once.
	const many = process.hrtime.bigint();
	const all = (async () => {
		let open = trips;
		while (open > 0)
			open -= (await reader.read()).value.result ? 1 : 0;
	})();
	for (let i = 0; i < trips; i++)
		await writer.write({ jsonrpc: "2.0", id: `m${i}`, method: "session/prompt", params: { sessionId, prompt } });
	await all;
	console.log(trips / (Number(process.hrtime.bigint() - many) / 1e9));
	await writer.close();
}
