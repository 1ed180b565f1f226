// Tests of an agent, for node:test. AGENT is its command; SESSION a
// recording.
import assert from "node:assert";
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

const { AGENT, SESSION } = process.env;
const agent = AGENT.split(" ");

function run(command, ...args) {
	const { error, status, stdout, stderr } =
		spawnSync(command, args, { encoding: "utf8" });
	assert.equal(error ?? status, 0, `${stdout}${stderr}`);
}

// The client of the recording talks to the agent.
function play(...command) {
	const dir = mkdtempSync(join(tmpdir(), "agent-"));
	const recording = join(dir, "new.rec");
	run("acp-replay", "--as", "client", "--check", "--timeout", "5m",
		"--record", recording, SESSION, "--", ...command);
	return recording;
}

test("the agent does what it did in the recording", () => {
	play(...agent);
});

test("no message breaks a rule", () => {
	run("acp-check", play(...agent));
});

test("a request that comes in pieces makes no difference", () => {
	play("acp-fault", "--from", "client", "--split", "50", "--",
		...agent);
});

test("nothing stays open, and no turn takes five minutes", () => {
	run("acp-stat", "--max", "open=0", "--max", "turn.max=5m",
		play(...agent));
});
