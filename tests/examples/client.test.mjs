// A client's tests for node:test, with acp-replay as the agent: no model, no key, no network.
import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import test from "node:test";
import * as acp from "@agentclientprotocol/sdk";

// The client under test: shows the agent's text, and permits what the agent asks for.
function writeTheNote(agent, show) {
	const allow = ({ options }) => options.find(({ kind }) => kind === "allow_once").optionId;
	return acp.client({ name: "client" })
		.onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
			if (update.sessionUpdate === "agent_message_chunk")
				show(update.content.text);
		})
		.onRequest(acp.methods.client.session.requestPermission,
			({ params }) => ({ outcome: { outcome: "selected", optionId: allow(params) } }))
		.connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (to) => {
			await to.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION });
			const { sessionId } = await to.request(acp.methods.agent.session.new, { cwd: "/anywhere", mcpServers: [] });
			const prompt = [{ type: "text", text: "please WRITE the note" }];
			await to.request(acp.methods.agent.session.prompt, { sessionId, prompt });
		});
}

test("the agent's text is shown", async () => {
	const agent = spawn("acp-replay", ["--timeout", "10s", "tests/fixtures/write-with-permission.jsonl"],
		{ stdio: ["pipe", "pipe", "inherit"] });
	const closed = once(agent, "close");
	let shown = "";
	await writeTheNote(agent, (text) => { shown += text; });
	agent.stdin.end();
	assert.deepEqual(await closed, [0, null]); // the client did all that it did when the session was recorded
	assert.match(shown, /^I will write the file now\. Done: /);
});
