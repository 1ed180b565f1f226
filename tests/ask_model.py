#!/usr/bin/env python3
"""ask_model.py SEED COUNT: random agents for acp-ask, and a second implementation of what it must print and send.

Each agent (ask.py) has one turn of random texts, tool calls, permission requests, noise and updates, in either version of the
protocol. acp-ask is run with random rules; its object (--format json), its exit status and its outcomes must be those of the model,
and acp-check must find nothing in what it sent. Works in the current directory, and leaves there what failed."""
import fnmatch
import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"]
TOOLS = ["read", "edit", "execute", "other"]
TEXTS = ["a", "Hello ", "two\nlines", "end\n", "\n", "", "héllo €", "\U0001f600", "\x1b[2J", "\\", "\"q\"", "x" * 5000]


class Model:
    def __init__(self, rng):
        self.rng = rng
        self.version = rng.choice([1, 1, 2])
        self.rules = [(rng.choice(TOOLS + ["*", "e*", "Title ?", "Title*", "May*", "nothing"]), rng.choice(KINDS)) for _ in range(rng.randrange(4))]
        self.steps, self.text, self.calls, self.outcomes = [], "", {}, []
        self.last, self.shown, self.gap = None, {}, False
        self.rejected = 0

    def say(self):
        text = self.rng.choice(TEXTS)
        message = self.rng.choice(["m1", "m2", None]) if self.version == 1 else self.rng.choice(["m1", "m2"])
        step = {"text": text}
        if message:
            step["message"] = message
        self.steps.append(step)
        if message != self.last:
            self.gap = True
        self.last = message
        if text:
            self.add(text)
            self.shown[message] = self.shown.get(message, "") + text

    def whole(self):
        if self.version == 1:
            return
        message = self.rng.choice(["m1", "m2"])
        shown = self.shown.get(message, "")
        text = self.rng.choice([shown, shown.rstrip(), shown[1:], ""]) + self.rng.choice(["", "b"] + TEXTS)
        content = [{"type": "text", "text": text}]
        self.steps.append({"update": {"sessionUpdate": "agent_message", "messageId": message, "content": content}})
        solid = shown.rstrip(" \t\r\n")
        skip = len(solid) if text.startswith(solid) else 0
        while text.startswith(solid) and skip < min(len(shown), len(text)) and text[skip] in " \t\r\n":
            skip += 1
        if skip == len(text):
            return
        if solid and not text.startswith(solid):
            shown = ""
            self.gap = True
        self.gap |= message != self.last
        self.last = message
        self.add(text[skip:])
        self.shown[message] = shown + text[skip:]

    def add(self, text):
        if self.gap and self.text and not self.text.endswith("\n"):
            self.text += "\n"
        self.gap = False
        self.text += text

    def call(self):
        number = "c%d" % self.rng.randrange(4)
        call = self.calls.get(number)
        update = {"toolCallId": number}
        if call is None:
            call = self.calls[number] = {"id": number, "title": "Title %s" % number[1], "kind": self.rng.choice(TOOLS), "status": "pending"}
            update.update(sessionUpdate="tool_call" if self.version == 1 else "tool_call_update", **{k: call[k] for k in ("title", "kind", "status")})
        elif call["status"] in ("completed", "failed"):
            return
        else:
            call["status"] = self.rng.choice(["in_progress", "completed", "failed"])
            update.update(sessionUpdate="tool_call_update", status=call["status"])
        if call["status"] in ("completed", "failed"):
            call["ended"] = len(self.steps)
        self.steps.append({"update": update})
        self.gap = True

    def permission(self):
        open_calls = [c for c in self.calls.values() if "ended" not in c]
        if not open_calls:
            return
        call = self.rng.choice(open_calls)
        options = [{"optionId": "o%d" % i, "name": "Option", "kind": k} for i, k in enumerate(self.rng.sample(KINDS, self.rng.randrange(1, 5)))]
        params = {"sessionId": "s1", "options": options}
        if self.version == 1:
            params["toolCall"] = {"toolCallId": call["id"]}
        else:
            params.update(title="May I?", subject={"type": "tool_call", "toolCall": {"toolCallId": call["id"]}})
        self.steps.append({"ask": "session/request_permission", "params": params})
        texts = [call["kind"], call["title"], "", *(["May I?"] if self.version == 2 else [])]
        rule = next((k for p, k in self.rules if any(fnmatch.fnmatchcase(t, p) for t in texts)), None)
        chosen = None
        for kind in [rule, "reject_once", "reject_always"]:
            chosen = chosen or next((o for o in options if o["kind"] == kind), None)
        self.rejected += chosen is None or chosen["kind"].startswith("reject")
        self.outcomes.append(chosen["optionId"] if chosen else "cancelled")

    def noise(self):
        self.steps.append({"raw": self.rng.choice(["banner\n", "\n", "{\"a\"\n", "[1,2]\n", "42\n", "\u00ff\u00fe\n"])})

    def other(self):
        self.steps.append(self.rng.choice([{"ask": "_ext/x", "params": {}}, {"tell": "_ext/y", "params": {}},
            {"update": {"sessionUpdate": "usage_update", "used": 1, "size": 2}},
            {"update": {"sessionUpdate": "agent_thought_chunk", "messageId": "t", "content": {"type": "text", "text": "hm"}}},
            {"err": "to stderr\n"}]))

    def build(self):
        for _ in range(self.rng.randrange(25)):
            self.rng.choice([self.say, self.say, self.whole, self.call, self.call, self.permission, self.noise, self.other])()
        self.stop = self.rng.choice(["end_turn", "end_turn", "end_turn", "refusal", "max_tokens"])
        self.steps.append({"stop": self.stop})
        return {"version": self.version, "turns": [self.steps]}

    def expected(self):
        ended = sorted((c for c in self.calls.values() if "ended" in c), key=lambda c: c["ended"])
        calls = [{k: c[k] for k in ("id", "title", "kind", "status")} for c in ended]
        calls += [{"id": c["id"], "title": c["title"], "kind": c["kind"], "status": None} for c in self.calls.values() if "ended" not in c]
        return {"text": self.text, "stop_reason": self.stop, "session_id": "s1", "tool_calls": calls}


def run(seed):
    m = Model(random.Random(seed))
    with open("a.json", "w") as f:
        json.dump(m.build(), f)
    for name in ("in", "s.rec"):
        if os.path.exists(name):
            os.remove(name)
    rules = [w for p, k in m.rules for w in ("--permit", "%s=%s" % (p, k))]
    command = ["acp-ask", "-f", "json", "--protocol", str(m.version), *rules, "hi", "--", "acp-tap", "-o", "s.rec", "--", "python3",
               os.path.join(HERE, "ask.py"), "a.json"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    status = 0 if m.stop == "end_turn" and not m.rejected else 1
    assert done.returncode == status, (done.returncode, status, done.stderr)
    got, want = json.loads(done.stdout), m.expected()
    assert got == want, "\ngot  %s\nwant %s" % (json.dumps(got), json.dumps(want))
    sent = [json.loads(line) for line in open("in")]
    outcomes = [x["result"]["outcome"].get("optionId", x["result"]["outcome"]["outcome"]) for x in sent if "outcome" in x.get("result", {})]
    assert outcomes == m.outcomes, (outcomes, m.outcomes)
    check = subprocess.run(["acp-check", "--from", "client", "s.rec"], capture_output=True, text=True)
    # Errors for noise have no request.
    assert check.returncode == 0, check.stdout


first, count = int(sys.argv[1]), int(sys.argv[2])
for seed in range(first, first + count):
    try:
        run(seed)
    except Exception:
        print("seed %d" % seed)
        raise
