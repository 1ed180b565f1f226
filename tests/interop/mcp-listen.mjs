// An ACP agent that uses its stdio MCP servers by the TypeScript SDK's client of MCP 2026-07-28, and listens for changes.
//
//   node mcp-listen.mjs MODE
//
// MODE: auto (server/discover first) or legacy (the handshake). On session/new it starts each server and responds, beside the
// session, with what it met in `_meta`: the era, whether a subscription was acknowledged and brought the change that the tool
// `grow` makes, the tools after it, and the result of `echo`.

import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const clients = [];

async function meet({ name, command, args }) {
	let changed;
	const change = new Promise((resolve) => { changed = resolve; });
	const client = new Client({ name: "interop", version: "1" }, { versionNegotiation: { mode: process.argv[2] } });
	const met = { name };
	client.setNotificationHandler("notifications/tools/list_changed", () => changed(true));
	await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
	clients.push(client);
	met.era = client.getProtocolEra();
	if (met.era === "modern")
		met.listening = await client.listen({ toolsListChanged: true }).then((s) => Object.keys(s.honoredFilter), (e) => e.message);
	met.said = (await client.callTool({ name: "echo", arguments: { text: "hi" } })).content[0].text;
	await client.callTool({ name: "grow", arguments: {} });
	met.changed = await change;
	met.tools = (await client.listTools()).tools.map((t) => t.name);
	return met;
}

async function respond({ id, method, params }) {
	let result = {};
	if (method === "initialize")
		result = { protocolVersion: 1 };
	else if (method === "session/new")
		result = { sessionId: "s", _meta: await Promise.all(params.mcpServers.map((s) => meet(s).catch((e) => ({ failed: e.message })))) };
	console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => respond(JSON.parse(line)).catch((e) => console.error(e)));
lines.on("close", async () => {
	await Promise.all(clients.map((c) => c.close()));
	process.exit(0);
});
