// A real client, on the TypeScript SDK, that plays a script with an agent.
//
//   node client.mjs SEEN WIRE FOLDER COMMAND [ARG...]
//
// Starts the command as its agent, with two sessions in FOLDER/a and FOLDER/b,
// and writes what the client saw to the file SEEN, as JSON in which that which
// differs from run to run (ids, times, the folder) has constant names: two runs
// can be compared. WIRE gets every line as it crossed the transport:
// {"from":"client"|"agent","line":TEXT} in order. Fails where the script does.

import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [seenFile, wireFile, folder, ...command] = process.argv.slice(2);
const wire = openSync(wireFile, "w");
const sessions = {};  // by id: { name, events, usage, loose, onUpdate }
const early = {};     // updates that came before the answer to session/new
const loose = new Set();

// The lines of one direction, whole, whatever the chunks.
function lineLogger(from) {
	const decoder = new TextDecoder();
	let rest = "";
	return (chunk) => {
		const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
		rest = lines.pop();
		for (const line of lines)
			writeSync(wire, JSON.stringify({ from, line }) + "\n");
	};
}

function startAgent() {
	const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
	const sent = lineLogger("client");
	const received = lineLogger("agent");
	const output = new WritableStream({
		write: (chunk) => {
			sent(chunk);
			return new Promise((resolve, reject) =>
				child.stdin.write(chunk, (error) => error ? reject(error) : resolve()));
		},
		close: () => { child.stdin.end(); },
	});
	const input = Readable.toWeb(child.stdout).pipeThrough(new TransformStream({
		transform: (chunk, controller) => {
			received(chunk);
			controller.enqueue(chunk);
		},
	}));
	const exited = new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (status, signal) => resolve({ status, signal }));
	});
	child.stdin.on("error", () => {});
	return { child, exited, stream: acp.ndJsonStream(output, input) };
}

// Updates that an agent sends when it gets to it, not at a place in the turn.
// (Usage has an order of its own: it races with the permission request.)
const unordered = new Set(["available_commands_update", "session_info_update",
	"config_option_update", "current_mode_update"]);

function onUpdate({ sessionId, update }) {
	const session = sessions[sessionId];
	if (!session)
		(early[sessionId] ??= []).push({ sessionId, update });
	else if (unordered.has(update.sessionUpdate))
		session.loose.add(JSON.stringify(update));
	else if (update.sessionUpdate === "usage_update")
		session.usage.push(update);
	else {
		session.events.push({ update });
		session.onUpdate?.(update);
	}
}

function onPermission({ sessionId, toolCall, options }) {
	const allow = options.find((o) => o.kind === "allow_once");
	sessions[sessionId].events.push({ permission: { toolCall, options }, chosen: allow.optionId });
	return { outcome: { outcome: "selected", optionId: allow.optionId } };
}

function onWrite({ sessionId, path, content }) {
	sessions[sessionId].events.push({ write: { path, content } });
	writeFileSync(path, content);
	return {};
}

function onRead({ sessionId, path }) {
	sessions[sessionId].events.push({ read: { path } });
	return { content: readFileSync(path, "utf8") };
}

async function newSession(agent, name) {
	const cwd = join(folder, name);
	mkdirSync(cwd, { recursive: true });
	const answer = await agent.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
	sessions[answer.sessionId] = { name, events: [{ opened: answer }], usage: [], loose: new Set() };
	for (const params of early[answer.sessionId] ?? [])
		onUpdate(params);
	return answer.sessionId;
}

async function prompt(agent, sessionId, text) {
	const { events } = sessions[sessionId];
	events.push({ prompt: text });
	const answer = await agent.request(acp.methods.agent.session.prompt,
		{ sessionId, prompt: [{ type: "text", text }] });
	events.push({ answer });
	return answer;
}

// Cancels when all of the beginning is there, so that runs are alike.
async function cancelledPrompt(agent, sessionId, text, lastWord) {
	const session = sessions[sessionId];
	const begun = new Promise((resolve) => {
		let story = "";
		session.onUpdate = (update) => {
			if (update.sessionUpdate === "agent_message_chunk")
				story += update.content.text;
			if (story.trimEnd().endsWith(lastWord))
				resolve();
		};
	});
	const answer = prompt(agent, sessionId, text);
	await Promise.race([begun, answer]);
	session.onUpdate = undefined;
	await agent.notify(acp.methods.agent.session.cancel, { sessionId });
	return answer;
}

function expect(what, is, wanted) {
	if (is !== wanted)
		throw new Error(`${what}: ${is}, not ${wanted}`);
}

async function play(agent) {
	const initialized = await agent.request(acp.methods.agent.initialize, {
		protocolVersion: acp.PROTOCOL_VERSION,
		clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
		clientInfo: { name: "acputils-interop", version: "0" },
	});
	const [a, b] = await Promise.all([newSession(agent, "a"), newSession(agent, "b")]);
	const turn = async (session, text) =>
		expect(text, (await prompt(agent, session, text)).stopReason, "end_turn");

	await turn(a, "hello");
	await turn(a, "please WRITE the note");
	expect("note.txt", readFileSync(join(folder, "a/note.txt"), "utf8"), "a note\n");
	await turn(a, "run BASH now");
	expect("cancelled turn", (await cancelledPrompt(agent, a, "HOLD a story", "no")).stopReason, "cancelled");
	await turn(a, "hello again");
	await turn(b, "something BIG");
	await Promise.all([turn(a, "MEET b"), turn(b, "MEET a")]);
	for (const sessionId of [a, b])
		await agent.request(acp.methods.agent.session.close, { sessionId });
	return initialized;
}

// Everything that two runs may not have in common gets a name by its place.
// Rows of models that used nothing are left out: whether the request for the
// title, which is free here, has been counted is a race.
function normalized(value) {
	const names = new Map();
	const counts = {};
	const name = (kind, id) => {
		if (!names.has(id)) {
			counts[kind] = (counts[kind] ?? 0) + 1;
			names.set(id, `${kind}-${counts[kind]}`);
		}
		return names.get(id);
	};
	const kinds = { messageId: "message", toolCallId: "tool" };
	const visit = (v, key) => {
		if (typeof v === "string") {
			if (kinds[key])
				return name(kinds[key], v);
			return v.replaceAll(folder, "FOLDER")
				.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UUID")
				.replace(/toolu_\d+/g, (id) => name("tool", id))
				.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
		}
		if (typeof v === "number" && /(duration|Ms$|time|At$)/i.test(key ?? ""))
			return 0;
		if (Array.isArray(v))
			return v.filter((x) => x?.token_count?.totalTokens !== 0).map((x) => visit(x));
		if (v && typeof v === "object")
			return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, visit(x, k)]));
		return v;
	};
	return visit(value);
}

const { child, exited, stream } = startAgent();
const app = acp.client({ name: "acputils-interop" })
	.onNotification(acp.methods.client.session.update, ({ params }) => onUpdate(params))
	.onRequest(acp.methods.client.session.requestPermission, ({ params }) => onPermission(params))
	.onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => onWrite(params))
	.onRequest(acp.methods.client.fs.readTextFile, ({ params }) => onRead(params))
	.onNotification("*", ({ method, params }) => { loose.add(JSON.stringify({ method, params })); });

const initialized = await app.connectWith(stream, play);
child.stdin.end();
const exit = await exited;
closeSync(wire);

const sorted = (updates) => [...updates].map((t) => JSON.stringify(normalized(JSON.parse(t)))).sort().map((t) => JSON.parse(t));
const seen = { initialized: normalized(initialized), loose: sorted(loose), exit, sessions: {} };
for (const { name, events, usage, loose } of Object.values(sessions).sort((x, y) => x.name < y.name ? -1 : 1))
	seen.sessions[name] = { events: normalized(events), usage: normalized(usage), loose: sorted(loose) };
writeFileSync(seenFile, JSON.stringify(seen, null, "\t") + "\n");
