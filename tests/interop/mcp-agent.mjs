// An ACP agent that uses its stdio MCP servers by the TypeScript SDK's MCP client.
//
//   node mcp-agent.mjs [CALLS]
//
// On session/new it starts each server that it is told of and answers, beside the session, with what it met in `_meta`:
// per server its name, its tools, whether it took a level for its log, and the results of CALLS (1) calls of `note` at once and of one of `ask`.

import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const calls = Number(process.argv[2] ?? 1);
const clients = [];

async function meet({ name, command, args }) {
	const client = new Client({ name: "interop", version: "1" }, { capabilities: { sampling: {} } });
	const met = { name };
	client.setRequestHandler(CreateMessageRequestSchema, ({ params }) =>
		({ model: "none", role: "assistant", content: { type: "text", text: `sampled: ${params.messages[0].content.text}` } }));
	await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
	clients.push(client);
	met.server = client.getServerVersion().name;
	met.tools = (await client.listTools()).tools.map((t) => t.name);
	met.level = await client.setLoggingLevel("debug").then(() => "debug", (e) => e.message);
	const notes = Array.from({ length: calls }, (_, i) =>
		client.callTool({ name: "note", arguments: { text: `${i}` } }));
	met.notes = (await Promise.all(notes)).map((r) => r.content[0].text);
	met.asked = await client.callTool({ name: "ask", arguments: { text: "why" } })
		.then((r) => r.content[0].text, (e) => e.message);
	return met;
}

async function answer({ id, method, params }) {
	let result = {};
	if (method === "initialize")
		result = { protocolVersion: 1 };
	else if (method === "session/new")
		result = { sessionId: "s", _meta: await Promise.all(params.mcpServers.map(meet)) };
	console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => answer(JSON.parse(line)).catch((e) => console.error(e)));
lines.on("close", async () => {
	await Promise.all(clients.map((c) => c.close()));
	process.exit(0);
});
