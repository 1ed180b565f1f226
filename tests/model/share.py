#!/usr/bin/env python3
"""acp-share against random guests: share.py SEED GUESTS.

Guests attach to a stream that runs, send requests with ids that collide with each other's and the client's, stop reading, die,
leave, send garbage. The client's bytes (but what guests sent it) have to be as without them, and who stays gets exactly one response to each of its
requests, with its own parameters, and no other's.
"""
import json
import os
import queue
import random
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

REQUESTS, UPDATES, TURNS = 40, 300, 20


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))


def update(turn, i):
    return line(method="session/update", params={"sessionId": "s", "update": {
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": f"{turn} {i} some words"}}})


def agent():
    def say(text):
        sys.stdout.write(text + "\n")

    hanging = set()
    for text in sys.stdin:
        m = json.loads(text)
        method, params = m.get("method"), m.get("params")
        if method == "turn":
            for i in range(UPDATES):
                say(update(params, i))
        if method == "hang":
            hanging.add(m["id"])
        elif method == "$/cancel_request" and params["requestId"] in hanging:
            hanging.discard(params["requestId"])
            say(line(id=params["requestId"], error={"code": -32800, "message": "cancelled"}))
        elif "id" in m and method:
            say(line(id=m["id"], result={"echo": params}))
        sys.stdout.flush()


class Guest(threading.Thread):
    def __init__(self, path, number, seed):
        super().__init__(daemon=True)
        self.random = random.Random(f"{seed} {number}")
        self.number, self.path = number, path
        self.how = self.random.choice(["stays", "stays", "stays", "leaves", "dies", "deaf", "watches", "garbage"])
        self.wrong = None

    def attach(self, want):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        s.sendall(b'{"want":"%s"}\n' % want)
        answer, fds, _, _ = socket.recv_fds(s, 4096, 1)
        s.close()
        assert fds, answer
        return fds[0]

    def run(self):
        try:
            time.sleep(self.random.random())
            getattr(self, self.how)()
        except OSError:
            pass  # the stream has ended
        except AssertionError as e:
            self.wrong = f"guest {self.number} ({self.how}): {e!r}"

    def record(self, k):
        up = k % 7 == 3
        return json.dumps({"from": "agent" if up else "client", "msg": {
            "jsonrpc": "2.0", "id": k, "method": "guest/up" if up else "echo", "params": [self.number, k]}}).encode() + b"\n"

    def send(self, s, n):
        for k in range(n):
            s.sendall(self.record(k))
            if self.random.random() < 0.05:
                time.sleep(0.01)

    def enter(self):
        return socket.socket(fileno=self.attach(b"join"))

    def stays(self):
        s = self.enter()
        sender = threading.Thread(target=self.send, args=(s, REQUESTS), daemon=True)
        sender.start()
        self.collect(s)
        sender.join()
        s.close()

    def collect(self, s):
        answered = {}
        for text in s.makefile():
            if '"to":"guest"' not in text:
                if self.random.random() < 0.001:
                    time.sleep(0.05)
                continue
            m = json.loads(text)["msg"]
            assert m["id"] not in answered, f"{m['id']} is answered twice"
            assert m.get("result") == {"echo": [self.number, m["id"]]}, f"not its response: {text}"
            answered[m["id"]] = True
            if len(answered) == REQUESTS:
                return
        assert False, f"{len(answered)} responses to {REQUESTS} requests"

    def leaves(self):
        s = self.enter()
        self.send(s, self.random.randrange(REQUESTS))
        s.sendall(json.dumps({"from": "client", "msg": {"id": "h", "method": "hang"}}).encode() + b"\n")
        s.close()

    def dies(self):
        s = self.enter()
        s.sendall(self.record(0) + self.record(1)[:20])
        s.close()

    def deaf(self):
        s = self.enter()
        s.settimeout(1)
        self.send(s, REQUESTS)
        time.sleep(self.random.random() * 2)
        s.close()

    def watches(self):
        fd = self.attach(b"watch")
        for _ in range(self.random.randrange(100)):
            if not select.select([fd], [], [], 0.5)[0]:
                break
            os.read(fd, 4096)
        os.close(fd)

    def garbage(self):
        s = self.enter()
        for _ in range(20):
            s.sendall(self.random.randbytes(self.random.randrange(200)).replace(b"\n", b"") + b"\n")
        s.sendall(json.dumps({"from": "client", "msg": {"id": 1, "result": {}}}).encode() + b"\n")
        s.close()


def client(process, got, ready, say):
    for text in process.stdout:
        m = json.loads(text)
        if m.get("method") == "guest/up":
            say(line(id=m["id"], result={"echo": m["params"]}))
            continue
        # A guest that has left asked the client something.
        if m.get("method") == "$/cancel_request" and m["params"]["requestId"].startswith("acp-share-"):
            continue
        got.append(text.rstrip("\n"))
        if m.get("id") == 0:
            ready.set()


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    directory = tempfile.mkdtemp()
    path = os.path.join(directory, "socket")
    process = subprocess.Popen(["acp-share", "--control", path, "--", sys.executable, __file__, "agent"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    got, ready, texts = [], threading.Event(), queue.Queue()

    # A client that writes before it reads would wait for itself.
    def write():
        while (text := texts.get()) is not None:
            process.stdin.write(text + "\n")
            process.stdin.flush()
        process.stdin.close()

    say = texts.put
    threading.Thread(target=write, daemon=True).start()

    reader = threading.Thread(target=client, args=(process, got, ready, say), daemon=True)
    reader.start()
    say(line(id=0, method="initialize", params={"protocolVersion": 1}))
    assert ready.wait(60), "not initialized"
    guests = [Guest(path, i, seed) for i in range(count)]
    for g in guests:
        g.start()
    for turn in range(TURNS):
        say(line(id=turn + 1, method="turn", params=turn))
        time.sleep(0.02)
    for g in guests:
        g.join(120)
    say(None)
    reader.join(120)
    wrong = [g.wrong for g in guests if g.wrong] + [f"guest {g.number} ({g.how}) hangs" for g in guests if g.is_alive()]
    want = [line(id=0, result={"echo": {"protocolVersion": 1}})]
    for turn in range(TURNS):
        want += [update(turn, i) for i in range(UPDATES)] + [line(id=turn + 1, result={"echo": turn})]
    if got != want:
        wrong.append(f"the client got {len(got)} lines, not the {len(want)} it should have")
    if process.wait(60) != 0:
        wrong.append(f"status {process.returncode}")
    if os.listdir(directory):
        wrong.append("the socket is still there")
    os.rmdir(directory) if not os.listdir(directory) else None
    print(f"seed {seed}: {count} guests:", *(wrong or ["as without them"]), sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    agent() if sys.argv[1] == "agent" else main()
