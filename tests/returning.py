"""An agent whose process can be made to die at any point, and a client that checks what reaches it.

    python returning.py agent [v2] [resume] [load] [refuse-METHOD | hang-METHOD | gate-METHOD]...
    python returning.py client SESSIONS COMMAND [ARG...]

The agent counts, over all its lives, in the file points: each message that it has read and each that it has written is a point. At those
named in the environment variable DIE (numbers with commas) it kills itself. What it reads it writes to agent.log, after the number of its
life. A new process has no session and the default mode and model until it is told otherwise; what was said in a session is in a file. From its second life on it refuses some methods, does not respond to them, or
responds only once the file gate is there. The prompt "die" kills it, "exit" ends it, "deaf" and "mute" close its standard input and output.

With v2 it speaks version 2: it responds to a prompt at once, and the turn ends with a state_update. The prompt "late" kills it after that response.

The client opens so many sessions, sets their modes and models, plays three turns in each and closes them. What fails with -32603 it tries
again. It ends with an error where a request has not one response, a piece of text comes twice, a turn does not know the turns before
it, or a session has not the mode and the model that were set last.
"""
import itertools
import json
import os
import signal
import subprocess
import sys
import time

MODES = ["ask", "code"]


def state(mode, model):
    return {"modes": {"currentModeId": mode, "availableModes": [{"id": m, "name": m} for m in MODES]},
            "configOptions": [{"id": "model", "name": "Model", "type": "select", "currentValue": model,
                               "options": [{"value": v, "name": v} for v in ("small", "large")]}]}


class Agent:
    def __init__(self, words):
        self.words = words
        self.die = [int(n) for n in os.environ.get("DIE", "").split(",") if n]
        self.sessions = {}
        self.asked = 0
        self.later = []
        with open("lives", "a") as f:
            f.write(f"{os.getpid()}\n")
        with open("lives") as f:
            self.life = len(f.readlines())

    def point(self):
        with open("points", "a") as f:
            f.write(".")
            f.flush()
            at = f.tell()
        if at in self.die:
            os.kill(os.getpid(), signal.SIGKILL)

    def read(self):
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        with open("agent.log", "a") as f:
            f.write(f"{self.life} {line}")
        self.point()
        return json.loads(line)

    def write(self, **message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
        sys.stdout.flush()
        self.point()

    def update(self, session, **update):
        self.write(method="session/update", params={"sessionId": session, "update": update})

    def say(self, session, kind, text):
        self.update(session, sessionUpdate=kind, content={"type": "text", "text": text})

    def past(self, session):
        try:
            with open(f"past-{session}") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def open(self, session):
        self.sessions[session] = ["ask", "small"]
        return state("ask", "small")

    def prompt(self, session, text):
        mode, model = self.sessions[session]
        before = len(self.past(session))
        if text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if text == "exit":
            sys.exit(0)
        if text == "deaf":
            os.close(0)
            time.sleep(1000)
        if text == "mute":
            os.close(1)
            time.sleep(1000)
        self.say(session, "agent_message_chunk", f"{text}: begun in life {self.life}")
        self.asked += 1
        self.write(id=self.asked, method="session/request_permission", params={
            "sessionId": session, "toolCall": {"toolCallId": text}, "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]})
        while True:
            m = self.read()
            if "method" not in m and m["id"] == self.asked:
                break
            self.later.append(m)
        with open(f"past-{session}", "a") as f:
            f.write(f"{text}: done\n")
        self.say(session, "agent_message_chunk", f"{text}: done")
        self.update(session, sessionUpdate="usage_update", used=100, size=1000, cost={"amount": 0.5 * self.asked + (2 if self.life == 1 else 0), "currency": "USD"})
        return {"stopReason": "end_turn", "usage": {"totalTokens": 30, "inputTokens": 10, "outputTokens": 20},
                "_meta": {"mode": mode, "model": model, "before": before}}

    def handle(self, id, method, params):
        session = params.get("sessionId")
        if method == "initialize" and "v2" in self.words:
            return {"protocolVersion": 2, "capabilities": {"session": {}}, "info": {"name": "returning", "version": "1"}}
        if method == "initialize":
            can = {"loadSession": "load" in self.words}
            if "resume" in self.words:
                can["sessionCapabilities"] = {"resume": {}}
            return {"protocolVersion": 1, "agentCapabilities": can}
        if f"refuse-{method}" in self.words and self.life > 1:
            raise ValueError(f"no {method} today")
        while f"hang-{method}" in self.words and self.life > 1:
            self.read()
        while f"gate-{method}" in self.words and self.life > 1 and not os.path.exists("gate"):
            time.sleep(0.01)
        if method == "session/new":
            with open("count", "a") as f:
                f.write(".")
                f.flush()
                session = f"s{f.tell()}"
            return {"sessionId": session, **self.open(session)}
        if method == "session/load" and "load" in self.words:
            for text in self.past(session):
                self.say(session, "user_message_chunk", text.split(":")[0])
                self.say(session, "agent_message_chunk", text)
            return self.open(session)
        if method == "session/resume" and ("resume" in self.words or "v2" in self.words):
            return self.open(session)
        if method == "authenticate":
            return {}
        if session not in self.sessions:
            raise ValueError(f"no session {session}")
        if method == "session/prompt" and "v2" in self.words:
            text = params["prompt"][0]["text"]
            self.write(id=id, result={"messageId": f"m{text}"})
            self.update(session, sessionUpdate="state_update", state="running")
            if text == "late":
                os.kill(os.getpid(), signal.SIGKILL)
            self.update(session, sessionUpdate="state_update", state="idle", stopReason="end_turn")
            return None
        if method == "session/prompt":
            return self.prompt(session, params["prompt"][0]["text"])
        if method == "session/set_mode":
            self.sessions[session][0] = params["modeId"]
            return {}
        if method == "session/set_config_option":
            self.sessions[session][1] = params["value"]
            return {"configOptions": state(*self.sessions[session])["configOptions"]}
        if method == "session/close":
            del self.sessions[session]
            return {}
        raise ValueError(f"no method {method}")

    def run(self):
        while True:
            m = self.later.pop(0) if self.later else self.read()
            if "method" not in m or "id" not in m:
                continue
            try:
                result = self.handle(m["id"], m["method"], m.get("params") or {})
                if result is not None:
                    self.write(id=m["id"], result=result)
            except ValueError as error:
                self.write(id=m["id"], error={"code": -32602, "message": str(error)})


class Failed(Exception):
    pass


class Client:
    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ids = itertools.count(1)
        self.open = set()
        self.texts = set()
        self.notices = 0
        self.cancels = 0
        self.failed = 0

    def write(self, **message):
        try:
            self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass

    def take(self, m):
        """One message of the agent's side. Returns it where it is a response."""
        if "method" not in m:
            assert m["id"] in self.open, f"a response to no open request: {m}"
            self.open.remove(m["id"])
            return m
        if m["method"] == "session/request_permission":
            self.write(id=m["id"], result={"outcome": {"outcome": "selected", "optionId": "y"}})
        elif m["method"] == "session/update":
            update = m["params"]["update"]
            if "content" in update:
                text = m["params"]["sessionId"] + update["content"]["text"]
                assert text not in self.texts, f"it came twice: {text}"
                self.texts.add(text)
            self.notices += update["sessionUpdate"] == "notice"
        elif m["method"] == "$/cancel_request":
            self.cancels += 1
        return None

    def request(self, method, params):
        n = next(self.ids)
        self.open.add(n)
        self.write(id=n, method=method, params=params)
        for line in self.child.stdout:
            response = self.take(json.loads(line))
            if response:
                break
        else:
            # It may have been sent too late for a response.
            self.open.discard(n)
            raise Failed("the chain has ended")
        if "error" in response:
            self.failed += 1
            assert response["error"]["code"] == -32603, response
            assert "agent" in response["error"]["message"], response
            assert response["error"]["data"]["component"].startswith("agent"), response
            return None
        return response["result"]

    def insist(self, method, make):
        """Once more where the agent has died of it."""
        for n in range(4):
            result = self.request(method, make(n))
            if result is not None:
                return result
        raise Failed(f"{method} fails each time")

    def play(self, count):
        if self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {"session": {"notices": {}}}}) is None:
            raise Failed("initialize fails")
        sessions = [self.insist("session/new", lambda n: {"cwd": "/", "mcpServers": []})["sessionId"] for _ in range(count)]
        for s in sessions:
            self.insist("session/set_mode", lambda n: {"sessionId": s, "modeId": "code"})
            self.insist("session/set_config_option", lambda n: {"sessionId": s, "configId": "model", "value": "large"})
        done = 0
        for turn in range(3):
            for s in sessions:
                result = self.insist("session/prompt", lambda n: {
                    "sessionId": s, "prompt": [{"type": "text", "text": f"turn {turn} try {n}"}]})
                met = result["_meta"]
                assert (met["mode"], met["model"]) == ("code", "large"), result
                assert met["before"] >= turn, result
        for s in sessions:
            self.insist("session/close", lambda n: {"sessionId": s})

    def run(self, count):
        met = "done"
        try:
            self.play(count)
        except Failed as error:
            met = str(error)
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass  # what was written last has no reader any more: the chain has ended
        for line in self.child.stdout:
            self.take(json.loads(line))
        status = self.child.wait()
        assert not self.open, f"no response to {self.open}"
        print(f"{met}; status {status}; failed {self.failed}; notices {self.notices}; cancels {self.cancels}")


if sys.argv[1] == "agent":
    Agent(sys.argv[2:]).run()
else:
    Client(sys.argv[3:]).run(int(sys.argv[2]))
