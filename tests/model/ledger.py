#!/usr/bin/env python3
"""acp-budget processes that share a ledger: ledger.py SEED PROCESSES TURNS.

Each has a client and an agent that spends at random. Some are killed with SIGKILL at random moments and begin anew; somebody leaves torn lines
in the file. At the end the ledger has of each session exactly what its agent has reported; of one that was killed at least what its client has
seen. The limit of a day is exceeded by at most one turn for each process, and nobody was refused before it was reached.
"""
import fcntl
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from decimal import Decimal

STEP = Decimal("0.000001")
MOST = 50000  # of steps in a turn


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def agent(seed, journal):
    r, cost, tokens, session = random.Random(seed), 0, 0, None

    def update():
        # Journal first: what the client has seen is never more than what was sent.
        with open(journal, "a", encoding="utf-8") as f:
            f.write(f"{session} {cost} {tokens}\n")
        amount = f"{cost * STEP:f}" if r.random() < .5 else f"{cost}e-6"
        sys.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"usage_update",'
            '"used":1,"size":9,"cost":{"amount":%s,"currency":"USD"}}}}\n' % (session, amount))
        sys.stdout.flush()

    for text in sys.stdin:
        m = json.loads(text)
        if m["method"] == "initialize":
            say(id=m["id"], result={"protocolVersion": 1, "agentInfo": {"name": "spender", "version": "1"}})
        elif m["method"] == "session/new":
            session = m["params"]["_meta"]["name"]
            say(id=m["id"], result={"sessionId": session})
        elif m["method"] == "session/prompt":
            used, left = r.choice([0, 10, 1000]), r.randrange(MOST)
            for _ in range(r.randrange(3)):
                part = r.randrange(left + 1)
                left -= part
                cost += part
                update()
            cost += left
            tokens += used
            late = r.random() < .3
            if not late:
                update()
            say(id=m["id"], result={"stopReason": "end_turn", "usage": {"totalTokens": used, "inputTokens": used, "outputTokens": 0}})
            if late:
                update()


class Client(threading.Thread):
    def __init__(self, number, seed, turns, ledger, limit):
        super().__init__()
        self.r, self.turns, self.ledger, self.limit = random.Random(f"{seed} {number}"), turns, ledger, limit
        self.number, self.lives, self.seen, self.killed, self.refused, self.errors = number, 0, {}, set(), 0, []

    def start_tool(self):
        self.session = f"{self.number}.{self.lives}"
        self.lives += 1
        journal = f"journal.{self.number}"
        self.p = subprocess.Popen(["acp-budget", "--status", "none", "--ledger", self.ledger, "--strict", "--max-cost", f"{self.limit}USD/day",
            "--", sys.executable, "-IS", os.path.abspath(__file__), "--agent", str(self.r.random()), journal],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.id = 0
        self.request("initialize", {"protocolVersion": 1})
        self.request("session/new", {"cwd": f"/p{self.number % 3}", "_meta": {"name": self.session}})
        self.seen[self.session] = 0

    def send(self, method, params):
        self.id += 1
        self.p.stdin.write((json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}) + "\n").encode())
        self.p.stdin.flush()

    def request(self, method, params):
        self.send(method, params)
        while True:
            text = self.p.stdout.readline()
            if not text:
                raise RuntimeError(f"{self.session}: the stream has ended")
            m = json.loads(text, parse_float=Decimal)
            if "method" in m:
                self.seen[self.session] = int(Decimal(m["params"]["update"]["cost"]["amount"]) / STEP)
            elif m["id"] == self.id:
                return m

    def kill(self):
        self.killed.add(self.session)
        self.p.kill()
        while text := self.p.stdout.readline():
            m = json.loads(text, parse_float=Decimal) if text.endswith(b"\n") else {}
            if "method" in m:
                self.seen[self.session] = int(Decimal(m["params"]["update"]["cost"]["amount"]) / STEP)
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()

    def run(self):
        prompt = {"prompt": []}
        try:
            self.start_tool()
            for _ in range(self.turns):
                if self.r.random() < .05:
                    if self.r.random() < .7:
                        self.send("session/prompt", {"sessionId": self.session, **prompt})
                        time.sleep(self.r.random() * .002)
                    self.kill()
                    self.start_tool()
                m = self.request("session/prompt", {"sessionId": self.session, **prompt})
                if "error" in m:
                    self.refused += 1
                    if "is reached" not in m["error"]["message"]:
                        self.errors.append(m["error"]["message"])
            self.p.stdin.close()
            while self.p.stdout.readline():
                pass
            self.p.wait()
        except (RuntimeError, OSError, ValueError) as e:
            self.errors.append(repr(e))
            self.p.kill()


def tear(ledger, r, stop):
    while not stop.wait(r.random() * .05):
        text = b'{"acp-ledger":1,"time":"2026-11-24T03:56:24.123456Z","session":"torn","turns":1,"cost":[{"amount":99'
        text = text[:1 + r.randrange(len(text))]
        with open(ledger, "ab+") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.seek(0)
            # Whoever writes cuts off first what is torn; a file that begins with two torn lines would be no ledger.
            if f.read()[-1:] in (b"", b"\n"):
                f.write(text)


def main(seed, processes, turns):
    print(f"seed {seed}, {processes} processes, {turns} turns")
    r = random.Random(seed)
    os.chdir(tempfile.mkdtemp(dir="."))
    # It is noon here, whenever that is.
    os.environ["TZ"] = f"<noon>{time.gmtime().tm_hour - 12}"
    limit = processes * turns * MOST // 2 * STEP * Decimal(r.choice(["0.3", "0.7", "9"]))
    ledger, stop = "ledger", threading.Event()
    open(ledger, "wb").close()
    clients = [Client(n, seed, turns, ledger, limit) for n in range(processes)]
    vandal = threading.Thread(target=tear, args=(ledger, r, stop))
    for one in [vandal, *clients]:
        one.start()
    for one in clients:
        one.join()
    stop.set()
    vandal.join()
    # One who ends in order cuts off what is torn.
    last = Client(processes, seed, 1, ledger, 10 ** 9)
    last.r.random = lambda: .9
    last.start()
    last.join()
    clients.append(last)
    errors = [e for c in clients for e in c.errors]
    spent, tokens, total = {}, {}, Decimal(0)
    with open(ledger, encoding="utf-8") as f:
        for text in f:
            e = json.loads(text, parse_float=Decimal)
            for cost in e.get("cost", []):
                spent[e["session"]] = spent.get(e["session"], 0) + cost["amount"]
                total += cost["amount"]
            tokens[e["session"]] = tokens.get(e["session"], 0) + e.get("tokens", {}).get("total", 0)
    for c in clients:
        sent = {}
        with open(f"journal.{c.number}", "a+", encoding="utf-8") as f:
            f.seek(0)
            for text in f:
                session, cost, used = text.split()
                sent[session] = (int(cost), int(used))
        for session, seen in c.seen.items():
            has = Decimal(spent.get(session, 0)) / STEP
            cost, used = sent.get(session, (0, 0))
            if session in c.killed:
                if not seen <= has <= cost:
                    errors.append(f"{session} was killed: the client has seen {seen}, the agent sent {cost}, the ledger has {has}")
            elif has != cost or tokens.get(session, 0) != used:
                errors.append(f"{session}: the agent sent {cost} and {used} tokens, the ledger has {has} and {tokens.get(session, 0)}")
    before = total - spent.get(last.session, 0)
    refused = sum(c.refused for c in clients)
    if before >= limit + processes * MOST * STEP:
        errors.append(f"{before} was spent of {limit}")
    if refused and before < limit:
        errors.append(f"{refused} refused, at {before} of {limit}")
    merged = json.loads(subprocess.run(["acp-usage", "--merge", "-f", "json", ledger], capture_output=True, check=True).stdout.splitlines()[-1],
        parse_float=Decimal)
    if merged["cost"][0]["amount"] != total or merged["billed"].get("total", 0) != sum(tokens.values()):
        errors.append(f"acp-usage says {merged}, the ledger {total} and {sum(tokens.values())}")
    print(f"{sum(c.lives for c in clients)} lives, {sum(len(c.killed) for c in clients)} killed, {refused} refused, {before} of {limit}")
    print("\n".join(errors[:20]))
    sys.exit(bool(errors))


if sys.argv[1] == "--agent":
    agent(sys.argv[2], sys.argv[3])
else:
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
