#!/usr/bin/env python3
"""acp-share --answers against guests and a client that respond at the same time: answers.py SEED [closed].

The agent asks its questions under few ids, which it uses again as soon as it has a response. The client responds to some at once,
to some late, to some only when they are cancelled. Guests respond to what they see, to what is old, to other methods, to ids
that nobody used, with the right to do so and without. Each question gets exactly one response, from one who may, and all guests
see that one; the client is sent $/cancel_request for each that a guest had, and for no other. closed: without --answers no guest may.
"""
import collections
import json
import os
import queue
import random
import socket
import subprocess
import sys
import tempfile
import threading

QUESTIONS, OPEN, GUESTS = 400, 8, 6
METHODS = ["session/request_permission", "elicitation/create", "fs/read_text_file"]


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))


def agent(seed):
    """Asks, and says how it went in its last line."""
    chance = random.Random(f"{seed} agent")
    ids, free, asked, got, wrong = list(range(OPEN)) + [f"q{i}" for i in range(OPEN)], [], {}, [], []
    free = ids[:]
    for text in sys.stdin:
        m = json.loads(text)
        if m.get("method") == "initialize":
            print(line(id=m["id"], result={"protocolVersion": 1}))
        elif "method" not in m:
            if m["id"] not in asked:
                wrong.append(f"a response to nothing that is open: {text}")
            else:
                number, method = asked.pop(m["id"])
                if m["result"]["number"] != number:
                    wrong.append(f"question {number} got the response to {m['result']['number']}")
                got.append((number, method, m["result"]["by"]))
                free.append(m["id"])
        if m.get("method") in ("go", None):
            while len(asked) < OPEN and len(got) + len(asked) < QUESTIONS:
                number = len(got) + len(asked)
                id = free.pop(chance.randrange(len(free)))
                asked[id] = number, chance.choice(METHODS)
                print(line(id=id, method=asked[id][1], params={"number": number}))
        if len(got) == QUESTIONS:
            print(line(method="over", params={"got": got, "wrong": wrong}))
        sys.stdout.flush()


class Guest(threading.Thread):
    def __init__(self, path, number, seed, closed):
        super().__init__(daemon=True)
        self.chance = random.Random(f"{seed} {number}")
        self.want = self.chance.choice(["answer", "answer", "join"])
        self.seen = collections.defaultdict(list)
        reply, fds = self.attach(path)
        if closed and self.want == "answer":
            assert not fds and b"--answers" in reply, reply
            # It tries all the same.
            self.want = "join"
            reply, fds = self.attach(path)
        self.name = f"guest.{json.loads(reply)['guest']}"
        self.socket = socket.socket(fileno=fds[0])

    def attach(self, path):
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        s.sendall(b'{"want":"%s"}\n' % self.want.encode())
        return socket.recv_fds(s, 4096, 1)[:2]

    def respond(self, id, number, asked):
        record = {"from": "client", "asked": asked, "msg": {"jsonrpc": "2.0", "id": id, "result": {"number": number, "by": self.name}}}
        try:
            self.socket.sendall(json.dumps(record).encode() + b"\n")
        except OSError:
            pass  # the stream has ended; what it has sent is still to be read

    def run(self):
        questions, old = {}, []
        try:
            for text in self.socket.makefile():
                record = json.loads(text)
                m = record.get("msg", {})
                if m.get("method") in METHODS:
                    questions[m["id"]] = m["params"]["number"]
                    # A response of another method is discarded with an error, in no order with the agent's use of the id.
                    if self.chance.random() < 0.6 and (m["method"] != METHODS[2] or self.chance.random() < 0.3):
                        self.respond(m["id"], m["params"]["number"], record["t"])
                    if self.chance.random() < 0.1:
                        self.respond(f"never {m['id']}", -1, record["t"])
                elif "result" in m and m["id"] in questions and record["from"] == "client":
                    self.seen[questions[m["id"]]].append((m["result"]["by"], record.get("by", "client")))
        except OSError:
            pass  # the stream has ended


def main():
    seed, closed = int(sys.argv[1]), sys.argv[2:] == ["closed"]
    chance = random.Random(f"{seed} client")
    directory = tempfile.mkdtemp()
    path = os.path.join(directory, "socket")
    process = subprocess.Popen(["acp-share"] + ["--answers"] * (not closed) + ["--control", path, "--", sys.executable, __file__, "agent", str(seed)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    texts, mine, cancelled, result, wrong = queue.Queue(), collections.defaultdict(list), 0, None, []

    def write():
        while (text := texts.get()) is not None:
            process.stdin.write(text + "\n")
            process.stdin.flush()
        process.stdin.close()

    threading.Thread(target=write, daemon=True).start()

    def respond(id):
        number = mine[id].pop(0)
        texts.put(line(id=id, result={"number": number, "by": "client"}))

    texts.put(line(id=0, method="initialize", params={}))
    guests, late, asked = [], [], 0
    for text in process.stdout:
        m = json.loads(text)
        if "result" in m:
            guests = [Guest(path, i, seed, closed) for i in range(GUESTS)]
            for g in guests:
                g.start()
            texts.put(line(method="go"))
        elif m["method"] == "$/cancel_request":
            cancelled += 1
            # It may have responded to it already, or will in time.
            if m["params"]["requestId"] in late and chance.random() < 0.5:
                late.remove(m["params"]["requestId"])
                respond(m["params"]["requestId"])
        elif m["method"] == "over":
            result = m["params"]
            texts.put(None)
        else:
            mine[m["id"]].append(m["params"]["number"])
            late.append(m["id"])
            asked += 1
            # What guests may not respond to, it has to; and where it waits for ever, the agent might: also at the end.
            while late and (m["method"] == METHODS[2] or len(late) > OPEN // 2 or asked == QUESTIONS or chance.random() < 0.3):
                respond(late.pop(0))
    if process.wait(60) != 0:
        wrong.append(f"status {process.returncode}")
    for g in guests:
        g.join(60)
    wrong += result["wrong"] if result else ["the agent did not get all its responses"]
    rights = {g.name: g.want for g in guests}
    counts = collections.Counter("client" if by == "client" else "guests" for _, _, by in (result or {"got": []})["got"])
    for number, method, by in (result or {"got": []})["got"]:
        if by != "client" and (rights[by] != "answer" or method == METHODS[2]):
            wrong.append(f"question {number} ({method}) got the response of {by}, who may not")
        for g in guests:
            if g.seen[number] != [(by, by)]:
                wrong.append(f"question {number} got the response of {by}; {g.name} saw {g.seen[number]}")
    if result and cancelled != counts["guests"]:
        wrong.append(f"{cancelled} were cancelled, {counts['guests']} had a response of a guest")
    if closed and list(counts) != ["client"]:
        wrong.append("without --answers a guest had a response")
    print(f"seed {seed}: {dict(counts)}, of guests who may: {list(rights.values()).count('answer')}", *(wrong[:20] or ["once each"]), sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    agent(sys.argv[2]) if sys.argv[1] == "agent" else main()
