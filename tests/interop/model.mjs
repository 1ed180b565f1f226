// A stand-in for the model: an Anthropic Messages endpoint on loopback.
//
//   node model.mjs REQUESTS
//
// Prints its port and appends each request to the file REQUESTS, one JSON
// object a line. It ends when its stdin does. What it answers is told by words
// in the last prompt, so that a test decides what happens:
//
//   WRITE    a text, then a call of the tool Write (note.txt, in the session's folder)
//   BASH     a call of the tool Bash
//   NOTE     a call of the tool note of the MCP server notes
//   HOLD     the beginning of a text, and nothing more until it is cancelled
//   MEET     a text, as soon as two such prompts wait
//   BIG      a text with a piece of 1 MiB and characters of all lengths
//
// and a short text otherwise, or after a tool's result. Where a prompt of the
// conversation has the target +2k, each answer is 700 tokens long, else 42. No timers: what a test
// waits for is an event.

import { createServer } from "node:http";
import { appendFileSync } from "node:fs";

const requestsFile = process.argv[2];
let messages = 0;
let tools = 0;
let waiting = [];

const counts = { input_tokens: 1000, cache_read_input_tokens: 8000, cache_creation_input_tokens: 200, output_tokens: 42 };
const nothing = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 0 };

// Requests of the agent's own, such as one for a title, have no tools. They are
// free: when they come is a race, which must not show in the costs.
function usage(request, share) {
	if (!request.tools?.length)
		return nothing;
	const long = JSON.stringify(request.messages ?? []).includes("+2k") ? { output_tokens: 700 } : {};
	return { ...counts, ...long, ...share };
}

function words(text) {
	return text.split(/(?<= )/);
}

// The text of the last user message, without what the agent puts around it. The message begins with the prompt of a
// turn that was interrupted, where an agent puts both into one: `last` is the last block alone.
function lastPrompt(request) {
	const message = request.messages?.findLast((m) => m.role === "user");
	const content = message?.content ?? "";
	if (typeof content === "string")
		return { text: content, last: content, toolResult: false };
	const texts = content.filter((c) => c.type === "text")
		.map((c) => c.text.replace(/<system-reminder>[^]*?<\/system-reminder>/g, "")).filter((t) => t.trim());
	return {
		text: texts.join("\n"),
		last: texts.at(-1) ?? "",
		toolResult: content.some((c) => c.type === "tool_result"),
	};
}

function hasTool(request, name) {
	return request.tools?.some((t) => t.name === name);
}

// The agent tells the model its folder in the system prompt or in a reminder.
function workingDirectory(request) {
	const told = JSON.stringify([request.system, request.messages])
		.match(/working directory(?: is)?:? *([^\s"\\]+)/i);
	return told?.[1] ?? "/nonexistent";
}

function decide(request) {
	const { text, last, toolResult } = lastPrompt(request);
	if (toolResult)
		return { texts: words("The tool is done.") };
	if (!request.tools?.length)
		return { texts: ['{"title":"A stand-in session"}'] };
	if (/\bWRITE\b/.test(text) && hasTool(request, "Write")) {
		return {
			texts: words("I will write the note."),
			tool: { name: "Write", input: { file_path: `${workingDirectory(request)}/note.txt`, content: "a note\n" } },
		};
	}
	if (/\bBASH\b/.test(text) && hasTool(request, "Bash"))
		return { texts: [], tool: { name: "Bash", input: { command: "touch touched && echo from bash", description: "Say where we are" } } };
	if (/\bNOTE\b/.test(text) && hasTool(request, "mcp__notes__note"))
		return { texts: [], tool: { name: "mcp__notes__note", input: { text: "from the model" } } };
	if (/\bHOLD\b/.test(last))
		return { texts: words("This story has no"), hold: true };
	if (/\bMEET\b/.test(text))
		return { texts: words("So we meet, we two."), meet: true };
	if (/\bBIG\b/.test(text))
		return { texts: ["\u0000\t\"\\/ ", "ä€𝄞\u2028 ", "0123456789abcdef".repeat(65536), " end"] };
	return { texts: words("Hello from the stand-in, which has read this.") };
}

function blocks(answer) {
	const content = [];
	if (answer.texts.length)
		content.push({ type: "text", text: answer.texts.join("") });
	if (answer.tool)
		content.push({ type: "tool_use", id: `toolu_${++tools}`, ...answer.tool });
	return content;
}

function message(request, content, stopReason) {
	return {
		id: `msg_${++messages}`, type: "message", role: "assistant", model: request.model,
		content, stop_reason: stopReason, stop_sequence: null,
		usage: usage(request, stopReason ? {} : { output_tokens: 1 }),
	};
}

function stream(response, request, answer) {
	const send = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
	let index = 0;

	response.writeHead(200, { "content-type": "text/event-stream" });
	send({ type: "message_start", message: message(request, [], null) });
	if (answer.texts.length) {
		send({ type: "content_block_start", index, content_block: { type: "text", text: "" } });
		for (const text of answer.texts)
			send({ type: "content_block_delta", index, delta: { type: "text_delta", text } });
		if (answer.hold)
			return;
		send({ type: "content_block_stop", index });
		index++;
	}
	if (answer.tool) {
		send({
			type: "content_block_start", index,
			content_block: { type: "tool_use", id: `toolu_${++tools}`, name: answer.tool.name, input: {} },
		});
		const json = JSON.stringify(answer.tool.input);
		const half = json.length >> 1;
		for (const part of [json.slice(0, half), json.slice(half)])
			send({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: part } });
		send({ type: "content_block_stop", index });
	}
	send({
		type: "message_delta",
		delta: { stop_reason: answer.tool ? "tool_use" : "end_turn", stop_sequence: null },
		usage: usage(request),
	});
	send({ type: "message_stop" });
	response.end();
}

function reply(response, status, body) {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(body));
}

function answerMessages(response, request) {
	const answer = decide(request);
	const go = () => {
		if (request.stream)
			stream(response, request, answer);
		else
			reply(response, 200, message(request, blocks(answer), answer.tool ? "tool_use" : "end_turn"));
	};
	if (!answer.meet)
		return go();
	waiting.push(go);
	response.on("close", () => waiting = waiting.filter((w) => w !== go));
	if (waiting.length >= 2)
		waiting.splice(0).forEach((w) => w());
}

const server = createServer((request, response) => {
	let body = "";
	request.setEncoding("utf8");
	request.on("data", (chunk) => body += chunk);
	request.on("end", () => {
		const { pathname } = new URL(request.url, "http://localhost");
		let parsed;
		try {
			parsed = body ? JSON.parse(body) : undefined;
		} catch {
			return reply(response, 400, { type: "error", error: { type: "invalid_request_error", message: "not JSON" } });
		}
		appendFileSync(requestsFile, JSON.stringify({ method: request.method, path: pathname, body: parsed }) + "\n");
		if (request.method === "HEAD")
			return response.writeHead(200).end();
		if (request.method === "POST" && pathname === "/v1/messages")
			return answerMessages(response, parsed ?? {});
		if (request.method === "POST" && pathname === "/v1/messages/count_tokens")
			return reply(response, 200, { input_tokens: 9200 });
		if (request.method === "GET" && pathname === "/v1/models")
			return reply(response, 200, { data: [], has_more: false, first_id: null, last_id: null });
		reply(response, 404, { type: "error", error: { type: "not_found_error", message: pathname } });
	});
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
