// A client on the TypeScript SDK that opens a session and sends N prompts.
//
//   node turns.mjs N COMMAND [ARG...]
//
// Says on standard output, as one line of JSON, what it met: the stop reasons of its turns, how many updates came, how
// often permission was asked for, and the error that ended it, if one did. What the SDK reports goes to standard error.
// PATIENCE=SECONDS in the environment: a request that has no response for so long ends it with the error "no response".
// CANCEL=1: the first update makes it cancel the turn, and permission that is asked for then is cancelled, too.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [n, ...command] = process.argv.slice(2);
const met = { turns: [], updates: 0, permissions: 0, error: null };

const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => child.on("close", resolve));
child.stdin.on("error", () => {});

let cancel = null; // sends session/cancel

function onUpdate() {
	if (met.updates++ === 0 && process.env.CANCEL)
		cancel();
}

function onPermission({ options }) {
	met.permissions++;
	if (process.env.CANCEL && !met.turns.length)
		return { outcome: { outcome: "cancelled" } };
	return { outcome: { outcome: "selected", optionId: options[0].optionId } };
}

const patience = Number(process.env.PATIENCE ?? 0) * 1000;

function response(call) {
	if (!patience)
		return call;
	let timer;
	const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("no response")), patience); });
	return Promise.race([call, late]).finally(() => clearTimeout(timer));
}

async function play(agent) {
	await response(agent.request(acp.methods.agent.initialize, {
		protocolVersion: acp.PROTOCOL_VERSION,
		clientCapabilities: {},
	}));
	const { sessionId } = await response(agent.request(acp.methods.agent.session.new, { cwd: "/", mcpServers: [] }));
	cancel = () => agent.notify(acp.methods.agent.session.cancel, { sessionId });
	for (let i = 0; i < n; i++) {
		const prompt = [{ type: "text", text: "go on" }];
		met.turns.push((await response(agent.request(acp.methods.agent.session.prompt, { sessionId, prompt }))).stopReason);
	}
}

try {
	await acp.client({ name: "acputils-interop" })
		.onNotification(acp.methods.client.session.update, onUpdate)
		.onRequest(acp.methods.client.session.requestPermission, ({ params }) => onPermission(params))
		.onNotification("*", () => {})
		.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), play);
} catch (error) {
	met.error = String(error.message ?? error);
}
child.stdin.end();
await exited;
console.log(JSON.stringify(met));
