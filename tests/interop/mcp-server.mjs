// An MCP server on the TypeScript SDK.
//
//   node mcp-server.mjs FILE [strict]
//
// Its tool `note` appends its text to FILE, says so, and is not on the machine of the agent. Its tool `ask` asks the MCP
// client for a sample and says what came. With `strict` it exits where anything comes before `initialize`, as servers built on rmcp do.

import { appendFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const file = process.argv[2];
const server = new Server({ name: "notes", version: "1.0.0" }, { capabilities: { tools: {}, logging: {} }, instructions: "Take notes." });
const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

server.setRequestHandler(ListToolsRequestSchema, () => ({
	tools: [
		{ name: "note", description: "Take a note", inputSchema: schema },
		{ name: "ask", description: "Ask the model", inputSchema: schema },
	],
}));

server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: { text } } }) => {
	if (name === "ask") {
		const { content } = await server.createMessage({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 10 });
		return { content: [content] };
	}
	appendFileSync(file, `${text}\n`);
	return { content: [{ type: "text", text: `noted: ${text}` }] };
});

const transport = new StdioServerTransport();
await server.connect(transport);
if (process.argv[3] === "strict") {
	const { onmessage } = transport;
	transport.onmessage = (message, extra) => {
		if (message.method !== "initialize")
			process.exit(1);
		transport.onmessage = onmessage;
		onmessage(message, extra);
	};
}
process.stdin.on("end", () => process.exit(0));
