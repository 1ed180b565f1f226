// A client on the TypeScript SDK that asks for a note and allows what it is asked for.
//
//   node mcp-client.mjs FOLDER COMMAND [ARG...]
//
// Says on standard output the stop reason, and which tools it was asked to allow.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [cwd, ...command] = process.argv.slice(2);
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => child.on("close", resolve));
const permissions = [];
let stopReason;

function onPermission({ options, toolCall }) {
	permissions.push(toolCall._meta?.claudeCode?.toolName ?? toolCall.title);
	return { outcome: { outcome: "selected", optionId: options.find((o) => o.kind === "allow_once").optionId } };
}

async function play(agent) {
	await agent.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
	const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
	const prompt = [{ type: "text", text: "Please NOTE that." }];
	({ stopReason } = await agent.request(acp.methods.agent.session.prompt, { sessionId, prompt }));
}

await acp.client({ name: "acputils-interop" })
	.onRequest(acp.methods.client.session.requestPermission, ({ params }) => onPermission(params))
	.onNotification("*", () => {})
	.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), play);
child.stdin.end();
await exited;
console.log(JSON.stringify({ stopReason, permissions }));
