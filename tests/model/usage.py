#!/usr/bin/env python3
"""Random sessions in the dialects of all agents, and what acp-usage has to make of them.

usage.py [--seed N] [--count N] [--replay N]   compares, and prints the seed of what differs
usage.py --seed N --write DIR                  writes the recordings of a seed, to look at

The model below knows nothing of acp-usage's code. It keeps every turn whole and decides at the end, where the tool decides as
messages go by; it has Fractions and Python's integers where the tool has fixed sizes.
"""
import argparse, json, os, random, re, subprocess, sys, tempfile
from fractions import Fraction as F

TYPES = ["total", "input", "output", "thought", "cache_read", "cache_write"]
PLAIN = dict(zip(TYPES, ["totalTokens", "inputTokens", "outputTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens"]))
QUOTA = dict(zip(TYPES, ["totalTokens", "inputTokens", "outputTokens", "reasoningOutputTokens", "cachedInputTokens", "cachedWriteTokens"]))

# name, version, v2, basis, cached inside, thoughts inside (None: not known), figures of a session include its children's
AGENTS = [
    ("@x/claude-agent-acp", "0.100.0", False, "turn", False, True, True),
    ("@x/claude-agent-acp", "0.100.0", True, "turn", False, True, True),
    ("@x/codex-acp", "2.6.0", False, "turn", False, True, False),
    ("codex-acp", "1.9.3", False, "call", False, True, False),
    ("gemini-cli", "0.61.0", False, "turn", True, False, False),
    ("qwen-code", "0.24.4", False, "turn", True, True, False),
    ("OpenCode", "1.18.33", False, "call", False, True, False),
    ("hermes", "1.0", False, "session", None, None, False),
    ("an-agent", "1", False, None, None, None, False),
    ("two-agent", "2", True, None, None, None, False),
]

# ---- the generator -------------------------------------------------------------------------------------------------------


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.ids = 0

    def chance(self, p):
        return self.r.random() < p

    def counts(self, agent, big=False):
        r = self.r
        n = {"input": r.randrange(1, 5000), "output": r.randrange(1, 300)}
        if big:
            n["input"] = r.randrange(2 ** 63, 2 ** 64 - 10 ** 6)
        if self.chance(0.7):
            n["cache_read"] = r.randrange(0, n["input"] if agent[4] else 60000)
        if not agent[4] and self.chance(0.4):
            n["cache_write"] = r.randrange(0, 700)
        if agent[5] is not None and self.chance(0.4):
            n["thought"] = r.randrange(0, n["output"])
        total = n["input"] + n["output"]
        if not agent[4]:
            total += n.get("cache_read", 0) + n.get("cache_write", 0)
        if agent[5] is False:
            total += n.get("thought", 0)
        n["total"] = total
        return n

    @staticmethod
    def add(all_counts):
        out = {}
        for c in all_counts:
            for k, v in c.items():
                out[k] = out.get(k, 0) + v
        return out

    @staticmethod
    def spell(n, names=PLAIN):
        return {names[k]: v for k, v in n.items()}

    def recording(self, world, agent):
        """One recording: a list of (side, message)."""
        self.out, self.agent, self.world, self.pending = [], agent, world, []
        r = self.r
        if self.chance(0.85):
            self.ids += 1
            i = self.ids
            self.out.append(("client", {"jsonrpc": "2.0", "id": i, "method": "initialize", "params": {"protocolVersion": 1 + agent[2]}}))
            info = {"name": agent[0], "version": agent[1]}
            result = {"protocolVersion": 2, "info": info, "capabilities": {}} if agent[2] else \
                {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {}}
            self.out.append(("agent", {"jsonrpc": "2.0", "id": i, "result": result}))
        steps = [self.session(s) for s in r.sample(world["sessions"], r.randrange(1, len(world["sessions"]) + 1))]
        while steps:
            step = r.choice(steps)
            if next(step, None) is None:
                steps.remove(step)
            if self.chance(0.01):
                self.restart()
        # A file without a message has no summary.
        return self.out or [("agent", {"jsonrpc": "2.0", "method": "_nothing"})]

    def restart(self):
        """The agent is restarted. Its costs begin at 0, or go on."""
        self.out.append(("agent", {"jsonrpc": "2.0", "method": "_acp-revive/restarted", "params": {"restarts": 1, "why": "killed"}}))
        for s in self.world["sessions"]:
            if self.chance(0.5):
                s["spent"] = {}
            elif self.chance(0.3):
                self.context(s)

    def request(self, method, params):
        # Ids may be used anew, as in captures that were joined.
        self.ids = self.r.randrange(1, 4) if self.chance(0.1) else self.ids + 1
        while any(m.get("id") == self.ids for m in self.pending):
            self.ids += 1
        m = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}
        self.out.append(("client", m))
        self.pending.append(m)
        return m

    def respond(self, m, result=None):
        if m in self.pending:
            self.pending.remove(m)
        self.out.append(("agent", {"jsonrpc": "2.0", "id": m["id"], **({"result": result} if result is not None
                         else {"error": {"code": -32603, "message": "no"}})}))

    def update(self, s, u):
        self.out.append(("agent", {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": s["id"], "update": u}}))

    def context(self, s, cost=True, meta=None, used=None):
        r = self.r
        s["used"] = used if used is not None else r.randrange(0, 190000)
        u = {"sessionUpdate": "usage_update", "used": s["used"], "size": s["size"]}
        if cost and s["costs"] and self.chance(0.7):
            cur = r.choice(s["costs"])
            old = s["spent"].get(cur, F(0))
            new = old + F(r.randrange(0, 10 ** 6), 10 ** r.randrange(3, 9))
            if self.chance(0.06):
                new = F(r.randrange(0, 1000), 1000)
            elif self.chance(0.06) and old > 0:
                new = old - F(1, 10 ** 17)
            s["spent"][cur] = new
            u["cost"] = {"amount": Raw(decimal(new)), "currency": cur}
        elif self.chance(0.05):
            u["cost"] = None
        if meta or self.chance(0.2):
            u["_meta"] = meta or {"_claude/model": s["model"]}
        self.update(s, u)

    def session(self, s):
        r, agent = self.r, self.agent
        if not s["known"]:
            m = self.request("session/new", {"cwd": s["cwd"], "mcpServers": []})
            yield 1
            result = {"sessionId": s["id"]}
            if self.chance(0.4):
                result["models"] = {"currentModelId": s["model"]}
            elif self.chance(0.5):
                result["configOptions"] = [{"id": "model", "category": "model", "currentValue": s["model"], "options": []}]
            self.respond(m, result)
            s["known"] = True
        elif self.chance(0.6):
            m = self.request("session/load" if not agent[2] else "session/resume", {"sessionId": s["id"], "cwd": s["cwd"], "mcpServers": []})
            yield 1
            if agent[0].startswith("qwen"):
                for _ in range(r.randrange(3)):
                    self.call(s, self.counts(agent))
            if agent[2] and self.chance(0.5):
                self.idle(s, self.counts(agent), "end_turn")
            self.respond(m, {})
            s["running"] = {} if not s["kept"] else s["running"]
        for _ in range(r.randrange(0, 6)):
            yield from self.turn(s)
        if self.chance(0.15):
            self.request("session/prompt", {"sessionId": s["id"], "prompt": []})

    def call(self, s, n, parent=None):
        meta = {"usage": self.spell(n), "durationMs": 3}
        if parent:
            meta["parentToolCallId"] = parent
        self.update(s, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": meta})

    def idle(self, s, n, stop, quota=None):
        u = {"sessionUpdate": "state_update", "state": "idle"}
        if stop:
            u["stopReason"] = stop
        if n:
            u["usage"] = self.spell(n)
        if quota:
            u["_meta"] = {"quota": quota}
        self.update(s, u)
        return u

    def turn(self, s):
        r, agent = self.r, self.agent
        if self.chance(0.1):
            s["model"] = r.choice(["large", "small", "late"])
        queue = [self.request("session/prompt", {"sessionId": s["id"], "prompt": []})]
        if not agent[2] and self.chance(0.12):
            queue.append(self.request("session/prompt", {"sessionId": s["id"], "prompt": []}))
        for m in queue:
            yield 1
            if agent[2]:
                self.respond(m, {"messageId": "m%d" % m["id"]})
                self.update(s, {"sessionUpdate": "state_update", "state": "running"})
            yield from self.work(s, m)
        if self.chance(0.3):
            self.context(s)
        yield 1

    def work(self, s, m):
        r, agent = self.r, self.agent
        calls = [self.counts(agent, self.chance(0.02)) for _ in range(r.randrange(1, 4))]
        style = s["style"]
        for n in calls:
            if agent[0].startswith("qwen") or style.endswith("calls"):
                self.call(s, n)
            if agent[0].startswith("qwen") and self.chance(0.2):
                self.call(s, self.counts(agent), "call_1")
            if self.chance(0.7):
                self.context(s)
            yield 1
        child = None
        if self.chance(0.12) and not agent[0].startswith(("gemini", "qwen")):
            child = self.child(s)
            yield 1
        if self.chance(0.04):
            self.context(s, meta={"_claude/origin": {"kind": "task-notification"}})
        whole = self.add(calls)
        basis = agent[3] or style.split("-")[0]
        told = whole if basis == "turn" else calls[-1]
        if basis == "session":
            s["running"] = told = self.add([s["running"], whole])
        if any(v >= 2 ** 64 for v in told.values()):
            s["running"] = {}
            told = calls[-1]
        stop = r.choice(["end_turn", "end_turn", "end_turn", "cancelled", "max_tokens"])
        result, quota = {"stopReason": stop}, None
        if agent[0].startswith("gemini"):
            c = {"input_tokens": told["input"], "output_tokens": told["output"]}
            quota = {"token_count": c, "model_usage": [{"model": s["model"], "token_count": c}]}
        elif "claude" in agent[0] or "@x/codex" in agent[0]:
            rows = [(s["model"], told)]
            if child and "claude" in agent[0]:
                rows = [(s["model"], self.add([told, self.counts(agent)])), ("small", self.counts(agent))]
            if s["loaded_once"] and not child:
                rows = rows[:1]
            names = {**QUOTA, "cache_write": "cacheWriteInputTokens"} if "codex" in agent[0] else QUOTA
            quota = {"token_count": self.spell(told, names), "model_usage": [{"model": k, "token_count": self.spell(v, names)} for k, v in rows]}
        counted = not agent[0].startswith(("gemini", "qwen")) and not self.chance(0.3 if stop == "cancelled" else 0.05)
        if agent[2]:
            u = self.idle(s, told if counted else None, stop, quota if counted else None)
            if self.chance(0.4):
                self.update(s, dict(u))
            return
        if self.chance(0.04):
            self.respond(m)
            return
        if counted:
            result["usage"] = self.spell(told)
        if quota and (counted or agent[0].startswith("gemini")):
            result["_meta"] = {"quota": quota}
        self.respond(m, result)

    def child(self, s):
        r = self.r
        self.world["children"] += 1
        c = {"id": "%s:child:%d" % (s["id"], self.world["children"]), "costs": ["USD"], "spent": {}, "size": 1000 + r.randrange(10 ** 6),
             "model": "small", "used": 0}
        self.update(s, {"sessionUpdate": "subagent_update", "sessionId": c["id"], "title": "look", "state": {"state": "running"}})
        if self.chance(0.5):
            self.context(c)
        state = {"state": "idle", "stopReason": "end_turn"}
        if self.chance(0.3):
            state["usage"] = self.spell(self.counts(self.agent))
        self.update(s, {"sessionUpdate": "subagent_update", "sessionId": c["id"], "state": state})
        return c

    def world_of(self):
        r = self.r
        world = {"children": 0, "sessions": []}
        kept = self.chance(0.5)
        for k in range(r.randrange(1, 4)):
            world["sessions"].append({
                "id": "s%d-%d" % (k, r.randrange(10 ** 6)), "cwd": r.choice(["/a", "/b"]), "model": r.choice(["large", "small"]),
                "size": r.choice([200000, 10 ** 6, 2 ** 64 - 1]), "used": 0, "known": self.chance(0.15), "spent": {}, "running": {},
                "costs": r.choice([[], ["USD"], ["USD"], ["USD", "JPY"], ["USD", "JPY", "EUR", "credits"]]), "kept": kept, "loaded_once": True,
                "style": r.choice(["turn", "call", "session", "turn-calls", "call-calls", "session-calls"])})
        recs, started = [], 1.7e9
        agent = r.choice(AGENTS)
        for _ in range(r.randrange(1, 4)):
            if self.chance(0.3):
                agent = r.choice(AGENTS)
            started += r.randrange(1, 10 ** 6) / 8
            recs.append((started, self.recording(world, agent)))
        return recs


class Raw:
    """A number with its digits."""

    def __init__(self, text):
        self.text = text


def decimal(x):
    text = "%d" % (x.numerator * 10 ** 24 // x.denominator)
    text = text.rjust(25, "0")
    return (text[:-24] + "." + text[-24:]).rstrip("0").rstrip(".") or "0"


def dumps(m):
    text = json.dumps(m, separators=(",", ":"), default=lambda raw: "@" + raw.text + "@")
    return re.sub(r'"@([^"]*)@"', r"\1", text)


# ---- the model -----------------------------------------------------------------------------------------------------------


def read_counts(o):
    out = {}
    for t in TYPES:
        names = {"total": ["totalTokens"], "input": ["inputTokens", "input_tokens"], "output": ["outputTokens", "output_tokens"],
                 "thought": ["thoughtTokens", "reasoningOutputTokens"], "cache_read": ["cachedReadTokens", "cachedInputTokens"],
                 "cache_write": ["cachedWriteTokens", "cacheWriteInputTokens"]}[t]
        for n in names:
            if o and o.get(n) is not None:
                out[t] = o[n]
    if set(out) == {"input", "output"}:
        out["total"] = out["input"] + out["output"]
    return out


def total_of(c):
    return c["total"] if "total" in c else c.get("input", 0) + c.get("output", 0)


def plus(a, b):
    for k, v in b.items():
        a[k] = a.get(k, 0) + v


class Turn:
    def __init__(self, prompted=False):
        self.prompted, self.answered, self.calls, self.subs, self.answer, self.rows = prompted, False, [], [], {}, []
        self.queued = self.cost_heard = self.abandoned = False
        self.failed = self.cancelled = self.spent = self.child_ran = self.rowless = False


class Part:
    """A session in one recording: all its turns, and all its costs in order."""

    def __init__(self, agent, started):
        self.agent, self.started, self.turns, self.loose, self.cost_log = agent, started, [], [], []
        self.fresh = self.loading = self.loaded = self.busy = self.v2 = False
        self.idle = None
        self.turn, self.waiting = Turn(), 0
        self.used = self.size = self.peak = None
        self.lower_at = False
        self.heard = False
        self.models = []
        self.restarted = self.rowless = self.worked = False
        self.carried, self.last, self.since, self.fresh_at = None, None, {}, {}


class Session:
    def __init__(self, sid):
        self.id, self.parts, self.now, self.parent, self.children = sid, [], None, None, []
        self.model = self.cwd = self.title = self.seen = None

    def agent(self):
        """The last that is known."""
        return next((p.agent for p in reversed(self.parts) if p.agent), None)


class Model:
    def __init__(self, recs, merge_order=False):
        self.sessions, self.rows = {}, []
        for started, messages in recs:
            self.begin(started)
            for side, m in messages:
                self.message(side, m)
        self.begin(0)

    # -- recordings
    def begin(self, started):
        # Turns that were answered first are complete first.
        for s in list(getattr(self, "waiting", [])):
            self.judge(s)
        for s in self.sessions.values():
            if s.now:
                self.leave(s)
                s.now = None
        self.started, self.open, self.agent, self.waiting, self.restarted, self.ended = started, {}, None, [], False, set()

    def restart(self):
        """The parts of all sessions end; what is going on goes on in new ones."""
        for s in list(self.waiting):
            self.judge(s)
        self.restarted = True
        self.ended |= set(self.open)
        for s in self.sessions.values():
            p = s.now
            if not p:
                continue
            worked = p.busy or p.turn.prompted or p.turn.abandoned
            # Its turn has no end: a sub-agent's work is no turn.
            p.turn.abandoned = p.turn.abandoned or p.turn.prompted
            p.turn.prompted = False
            p.busy = p.busy and s.parent is not None
            p.waiting = 0
            if p.restarted and not p.turns and not p.loose and not p.cost_log and p.used is None and not p.lower_at:
                p.worked = worked
                continue
            n = Part(p.agent, p.started)
            for name in ("fresh", "loading", "loaded", "busy", "v2", "idle", "turn", "waiting", "heard", "rowless", "fresh_at"):
                setattr(n, name, getattr(p, name))
            n.restarted, n.worked = True, worked
            basis, clear = self.basis(p)
            n.carried = p.carried or (basis if self.is_evident(p) else None)
            n.last, n.since = self.last_of(p, len(p.turns))
            s.now = n
            s.parts.append(n)

    @staticmethod
    def is_evident(p):
        """Was the basis decided by what the messages say?"""
        return not (p.agent and p.agent[3]) and not p.v2 and not (p.agent and p.agent[2]) and Model.basis(p)[0] != "turn"

    @staticmethod
    def last_of(p, i):
        """Before the turn of this number: the last counts, and what calls have said since then."""
        last, since = p.last, dict(p.since)
        for j in range(i + 1):
            for t, _ in p.loose:
                if t.after == j:
                    for c in t.calls:
                        plus(since, c)
            if j < i and p.turns[j].answer:
                last, since = p.turns[j].answer, {}
            elif j < i:
                for c in p.turns[j].calls:
                    plus(since, c)
        return last, since

    def here(self, sid):
        s = self.sessions.setdefault(sid, Session(sid))
        if not s.now:
            s.now = Part(self.agent, self.started)
            s.now.restarted = self.restarted
            s.parts.append(s.now)
            s.turn = s.now.turn
            self.new_turn(s)
        return s

    def leave(self, s):
        """What is left of a turn that never ended."""
        t = s.now.turn
        if t.calls or t.subs:
            t.after = len(s.now.turns)
            s.now.loose.append((t, s.model))
            s.now.lower_at |= bool(s.now.rowless and t.child_ran and s.now.agent and s.now.agent[6])

    # -- costs: the total of a currency, from all that was ever reported
    def total(self, s, cur):
        """And the most that it may be, should agents that were restarted have begun at 0."""
        closed, last, there, doubt, restarted = F(0), F(0), False, F(0), False
        for p in s.parts:
            restarted = restarted or p.restarted
            for (c, v), worked in zip(p.cost_log, p.cost_worked if p.cost_log else []):
                if c != cur:
                    continue
                there = True
                if v == 0:
                    continue
                if v < last - F(int(last * 10 ** 24) // 10 ** 6, 10 ** 24):
                    closed += last
                elif restarted and worked:
                    doubt += last
                last, restarted = v, False
        return closed + last, there, closed + last + doubt

    def new_turn(self, s, prompted=False):
        p = s.now
        p.turn = Turn(prompted)
        p.turn.before = {c: self.total(s, c)[0] for c in {c for q in s.parts for c, _ in q.cost_log}}
        p.turn.any_before = bool(p.turn.before)
        p.turn.here_before = {c for c, _ in p.cost_log}

    def cost_of(self, s, t):
        """What the turn added, by currency; None where the beginning is not known."""
        out = {}
        for c in {c for c, _ in s.now.cost_log}:
            known = c in t.before or s.now.fresh_at.get(c) or t.any_before or t.first.get(c) == 0
            out[c] = self.total(s, c)[0] - t.before.get(c, F(0)) if known else None
        return out

    # -- messages
    def message(self, side, m):
        if m.get("method") == "_acp-revive/restarted":
            return self.restart()
        if "method" in m and m["method"] == "initialize":
            if any(s.now for s in self.sessions.values()):
                self.begin(self.started)
            self.open, self.agent = {}, None
        if "method" in m and "id" in m:
            self.client_request(m)
            if m["method"] in ("initialize", "session/prompt", "session/new", "session/load", "session/resume"):
                self.open[m["id"]] = m
                self.ended.discard(m["id"])
        elif m.get("method") == "session/update":
            self.notification(m["params"])
        elif "method" not in m:
            self.response(m)

    def client_request(self, m):
        if m["method"] == "session/prompt":
            s = self.here(m["params"]["sessionId"])
            p = s.now
            p.loading = False
            p.worked = True
            p.waiting += 1
            if p.turn.prompted and not p.turn.answered:
                return
            self.finish(s)
            self.leave(s)
            self.new_turn(s, True)
        elif m["method"] in ("session/load", "session/resume"):
            s = self.here(m["params"]["sessionId"])
            self.finish(s)
            self.leave(s)
            self.new_turn(s)
            p = s.now
            p.loaded = p.loading = p.rowless = True
            p.fresh = p.busy = False
            p.idle, p.waiting = None, 0

    def response(self, m):
        q = self.open.pop(m["id"], None)
        result = m.get("result") or {}
        if q is None:
            if "error" in m or not ("stopReason" in result or "usage" in result):
                return
            roots = [s for s in self.sessions.values() if s.now and not s.parent]
            self.answer(self.here(roots[0].id if len(roots) == 1 else ""), result, False)
        elif q["method"] == "initialize":
            info = result.get("agentInfo") or result.get("info")
            self.agent = next(a for a in AGENTS if (a[0], a[1]) == (info["name"], info["version"]) and a[2] == (result["protocolVersion"] == 2))
        elif q["method"] == "session/prompt":
            if m["id"] in self.ended:
                return
            if "error" in m or "stopReason" in result or "usage" in result or "_meta" in result:
                self.answer(self.here(q["params"]["sessionId"]), result, "error" in m)
        else:
            sid = result.get("sessionId") or q["params"].get("sessionId")
            if sid is None:
                return
            s = self.here(sid)
            s.now.loading = False
            s.cwd = q["params"]["cwd"]
            # Even if an update named it before: an agent says with this response that it begins at 0.
            if q["method"] == "session/new":
                s.now.fresh = True
            model = (result.get("models") or {}).get("currentModelId")
            for o in result.get("configOptions", []):
                model = o["currentValue"]
            if model:
                s.model = model

    def notification(self, params):
        s, u = self.here(params["sessionId"]), params["update"]
        kind, meta, p = u["sessionUpdate"], u.get("_meta") or {}, s.now
        if kind in ("usage_update", "agent_message_chunk"):
            self.child_ran(s)
        if kind == "usage_update":
            changed, unprompted = False, (meta.get("_claude/origin") or {}).get("kind", "human") != "human"
            p.worked |= unprompted
            if u.get("cost") is None and "cost" in u:
                pass
            if u.get("cost"):
                c, v = u["cost"]["currency"], F(u["cost"]["amount"].text)
                logged = [x for x in s.parts for y in x.cost_log]
                previous = next((y for x in reversed(s.parts) for y in reversed(x.cost_log)), None)
                same = next((w for d, w in reversed(p.cost_log) if d == c), F(0))
                changed = previous is None or previous[0] != c or same != v or p.cleared if hasattr(p, "cleared") else \
                    previous is None or previous[0] != c or same != v
                if all(w == 0 for d, w in p.cost_log if d == c) and c not in p.turn.before:
                    p.turn.first.setdefault(c, v) if hasattr(p.turn, "first") else setattr(p.turn, "first", {c: v})
                if not hasattr(p, "fresh_at"):
                    p.fresh_at = {}
                if not any(d == c for d, _ in p.cost_log):
                    p.fresh_at[c] = p.fresh
                p.cost_log.append((c, v))
                p.cost_worked = getattr(p, "cost_worked", []) + [p.worked]
                p.turn.cost_heard = True
            if meta.get("_claude/model"):
                s.model = meta["_claude/model"]
            p.turn.spent |= (changed or s.seen != (u["used"], u["size"])) and not p.loading
            s.seen = (u["used"], u["size"])
            p.used, p.size = u["used"], u["size"]
            p.peak = max(p.peak or 0, u["used"])
            if unprompted and changed and not p.v2 and not (p.agent and p.agent[2]):
                p.lower_at = True
        elif kind == "agent_message_chunk" and not p.loading:
            (p.turn.subs if meta.get("parentToolCallId") else p.turn.calls).append(read_counts(meta["usage"]))
        elif kind == "state_update":
            self.state(s, u)
        elif kind == "subagent_update":
            c = self.here(u["sessionId"])
            if not c.parent:
                c.parent = s
                s.children.append(c)
                c.now.fresh = len(c.parts) == 1
            c.title = u.get("title") or c.title
            c.now.worked = True
            self.child_ran(c)
            if "state" in u:
                self.state(c, {"state": u["state"]["state"], "stopReason": u["state"].get("stopReason"), "usage": u["state"].get("usage")})

    @staticmethod
    def child_ran(s):
        while s.parent:
            s = s.parent
            s.now.turn.child_ran = True

    def state(self, s, u):
        p = s.now
        p.v2 = True
        if u["state"] != "idle":
            p.busy = p.busy or not p.loading
            p.worked |= p.busy
            self.finish(s)
            return
        prompted = p.turn.prompted and not p.turn.answered
        key = (tuple(sorted(read_counts(u.get("usage")).items())), u.get("stopReason"))
        counts = u.get("usage") or ((u.get("_meta") or {}).get("quota") or {}).get("token_count")
        ends = not p.loading and (p.busy or prompted or (counts and p.idle is not None and p.idle != key))
        if ends or p.idle is None or p.loading:
            p.idle = key
        p.busy = False
        if ends:
            p.waiting = 0
            self.answer(s, u, False)

    # -- turns
    def answer(self, s, result, failed):
        self.finish(s)
        p = s.now
        t = p.turn
        t.answered = t.prompted = p.worked = True
        t.failed, t.cancelled = failed, result.get("stopReason") == "cancelled"
        quota = (result.get("_meta") or {}).get("quota") or {}
        t.answer = read_counts(result.get("usage")) or read_counts(quota.get("token_count"))
        t.rows = [(x["model"], read_counts(x["token_count"])) for x in quota.get("model_usage") or []]
        t.rows_given = bool(t.rows)
        if p.loaded and not p.heard and not s.children and t.answer and max([total_of(c) for _, c in t.rows] or [0]) > total_of(t.answer):
            t.rows = []
        self.waiting.append(s)
        if p.waiting > 0:
            p.waiting -= 1
            if p.waiting:
                self.judge(s)
                p.turn.prompted = p.turn.queued = True

    def finish(self, s):
        if s.now.turn.answered:
            self.judge(s)

    def judge(self, s):
        p, t = s.now, s.now.turn
        if s in self.waiting:
            self.waiting.remove(s)
        t.model = s.model
        t.rowless = bool(p.rowless and t.child_ran and p.agent and p.agent[6])
        p.rowless = p.rowless and not t.answer and not t.rows
        p.turns.append(t)
        p.heard = p.heard or bool(t.answer or t.rows_given or t.calls or t.subs or t.cost_heard or getattr(t, "used_heard", p.used is not None))
        shared = t.queued and not t.cost_heard and bool(p.cost_log)
        if not hasattr(p, "fresh_at"):
            p.fresh_at = {}
        if not hasattr(t, "first"):
            t.first = {}
        costs = {c: v for c, v in self.cost_of(s, t).items() if v is not None and v != 0} if not shared else None
        self.rows.append((s.id, t, p, costs))
        self.new_turn(s)

    # -- figures, from the turns
    @staticmethod
    def basis(p):
        """And the number of the turn that made it clear."""
        if p.agent and p.agent[3]:
            return p.agent[3], 0
        if p.v2 or (p.agent and p.agent[2]):
            return "turn", 0
        if p.carried:
            return p.carried, 0
        seen, running, last, fell, gap = 0, 0, p.last, False, False
        for i, t in enumerate(p.turns):
            if not t.answer:
                continue
            fell = fell or (last is not None and any(t.answer[k] < last[k] for k in t.answer if k in last))
            told = {}
            for c in t.calls or [c for _, c in t.rows]:
                plus(told, c)
            of = total_of(told) if told else 0
            gap = gap or of == 0
            running += of
            seen += 1
            now = total_of(t.answer)
            if len(t.calls) > 1 and now == total_of(t.calls[-1]) and now != of:
                return "call", i
            if not fell and not gap and seen >= 3 and now == running and now != of:
                return "session", i
            last = t.answer
        return "turn", 0

    def own(self, p, i, basis):
        t = p.turns[i]
        calls = {}
        for c in t.calls:
            plus(calls, {k: v for k, v in c.items()})
        if not t.answer or (basis == "call" and calls):
            return calls, False
        if basis == "call":
            return t.answer, True
        if basis == "session":
            last, since = self.last_of(p, i)
            if last is None and not p.was_fresh:
                return calls, not calls
            if last is None or not any(t.answer[k] < last[k] for k in t.answer if k in last):
                own = {k: v - (last or {}).get(k, 0) for k, v in t.answer.items()}
                lower = last is not None and p.restarted and not any(q.answer for q in p.turns[:i])
                return {k: v - since.get(k, 0) if v >= since.get(k, 0) else v for k, v in own.items()}, lower
        return t.answer, False

    def figures(self, s):
        own, billed, lower_own, lower_billed, turns, rows = {}, {}, False, False, 0, False
        hits = [0, 0]
        for p in s.parts:
            p.was_fresh = p.fresh
            basis, clear = self.basis(p)
            mine = {}
            for i, t in enumerate(p.turns):
                turns += 1
                if basis in ("session", "call") and not (p.agent and p.agent[3]) and i < clear:
                    told = {}
                    for c in t.calls or [c for _, c in t.rows]:
                        plus(told, c)
                    n, lower = (told, False) if told and t.answer else self.own(p, i, "turn")
                    lower = lower or (basis == "call" and bool(t.answer) and not told)
                else:
                    n, lower = self.own(p, i, basis)
                plus(mine, n)
                uncounted = not n and not t.rows and (t.cancelled or t.spent)
                lower = lower or uncounted
                lower_own = lower_own or lower
                lower_billed = lower_billed or t.rowless
                if t.rows:
                    rows = True
                    for _, c in t.rows:
                        plus(billed, c)
                else:
                    plus(billed, n)
                    lower_billed = lower_billed or lower
                    for c in t.subs:
                        plus(billed, c)
            for t, _ in p.loose:
                for c in t.calls:
                    plus(mine, c)
                    plus(billed, c)
                for c in t.subs:
                    plus(billed, c)
            plus(own, mine)
            lower_billed = lower_billed or p.lower_at
        if not own and not billed:
            lower_own = lower_billed = False
        agent = s.agent()
        if s.children and not (agent and agent[6] and rows):
            for c in s.children:
                if not any(t.answer or t.rows for p in c.parts for t in p.turns):
                    lower_billed = True
        money = {c: self.total(s, c)[::2] for c in {c for p in s.parts for c, _ in p.cost_log}}
        return {"turns": turns, "tokens": own, "billed": billed, "cost": money,
                "lower_bound": "tokens" if lower_own else "billed" if lower_billed else None}

    def summary(self):
        out = {}
        all_ = {"turns": 0, "tokens": {}, "billed": {}, "cost": {}}
        for s in self.sessions.values():
            f = self.figures(s)
            parent_agent = s.parent.agent() if s.parent else None
            if not (s.parent and parent_agent and parent_agent[6]):
                all_["turns"] += 0 if s.parent else f["turns"]
                for k in ("tokens", "billed"):
                    plus(all_[k], f[k])
                for c, (least, most) in f["cost"].items():
                    was = all_["cost"].get(c, (0, 0))
                    all_["cost"][c] = (was[0] + least, was[1] + most)
            used = next((p for p in reversed(s.parts) if p.used is not None), None)
            f.update(used=used.used if used else None, size=used.size if used else None,
                     peak=max([p.peak for p in s.parts if p.peak is not None], default=None), model=s.model, cwd=s.cwd, title=s.title,
                     parent=s.parent.id if s.parent else None, basis=self.basis(s.parts[-1])[0])
            out[s.id] = f
        out[None] = all_
        return out


# ---- the comparison ------------------------------------------------------------------------------------------------------


def load(text):
    return json.loads(text, parse_float=F, parse_int=int)


def ours(text):
    out = {}
    for line in text.splitlines():
        o = load(line)
        f = {k: o.get(k) for k in ("turns", "tokens", "billed")}
        f["cost"] = {c["currency"]: (F(c["amount"]), F(c.get("at_most", c["amount"]))) for c in o["cost"]}
        if "session" in o:
            f.update({k: o.get(k) for k in ("used", "size", "peak", "model", "cwd", "title", "parent", "basis", "lower_bound")})
        out[o.get("session")] = f
    return out


def difference(want, got):
    lines = []
    for sid in sorted(set(want) | set(got), key=str):
        w, g = want.get(sid), got.get(sid)
        if w is None or g is None:
            lines.append("%s: %s" % (sid, "missing" if g is None else "not expected"))
            continue
        for k, v in w.items():
            if g.get(k) != v and not (k in ("tokens", "billed", "cost") and {a: b for a, b in v.items()} == g[k]):
                lines.append("%s: %s: want %s, got %s" % (sid, k, v, g.get(k)))
    return lines


def run(args, **kw):
    r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **kw)
    if r.returncode not in (0, 2) or "Sanitizer" in r.stderr:
        raise SystemExit("%s: status %d\n%s" % (args, r.returncode, r.stderr))
    return r.stdout


def write(path, started, messages, header):
    with open(path, "w") as f:
        if header:
            f.write('{"acp-recording":1,"started":"%s","by":"model"}\n' % stamp(started))
        for i, (side, m) in enumerate(messages):
            f.write('{"t":%.6f,"from":"%s","msg":%s}\n' % (i / 1000, side, dumps(m)) if header else dumps(m) + "\n")


def stamp(t):
    import datetime
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def compare(seed, directory, replay):
    g = Gen(seed)
    recs = g.world_of()
    # What was written is what is read.
    recs = [(t, [(side, json.loads(dumps(m), parse_float=Raw)) for side, m in ms]) for t, ms in recs]
    recs = [(t, [(side, amounts(m)) for side, m in ms]) for t, ms in recs]
    want = Model(recs).summary()
    names = []
    for i, (t, ms) in enumerate(recs):
        names.append(os.path.join(directory, "%d.rec" % i))
        write(names[-1], t, ms, True)
    shuffled = names[:]
    g.r.shuffle(shuffled)
    tool = ["acp-usage", "--summary", "-f", "json"]
    ways = {"operands": run(tool + shuffled), "merge": run(["acp-usage", "--merge", "-f", "json", "-"],
            input="".join(run(tool + [n]) for n in shuffled))}
    problems = [(way, d) for way, text in ways.items() for d in difference(want, ours(text))]
    if shown(ways["operands"]) != shown(ways["merge"]):
        problems.append(("merge", "it is not the run over all"))
    problems += totals(tool, shuffled, want[None])
    # One recording, as its messages alone, in all ways.
    t, ms = recs[0]
    one = Model([(0, ms)]).summary()
    plain = os.path.join(directory, "plain")
    write(plain, 0, ms, False)
    for way, args in (("file", tool + [plain]), ("stdin", tool + ["-"]), ("pipe", tool)):
        problems += [(way, d) for d in difference(one, ours(run(args, **({} if way == "file" else {"stdin": open(plain)}))))]
    log = os.path.join(directory, "log")
    for way, args in (("pass", tool + ["--pass", "-o", log]),):
        with open(plain) as f:
            assert run(args, stdin=f) == open(plain).read(), "the stream was changed"
        problems += [(way, d) for d in difference(one, ours(open(log).read()))]
    # Players keep the order within each session. When all of them restart is an order between sessions.
    if replay and not any(m.get("method") == "_acp-revive/restarted" for _, m in ms):
        os.path.exists(log) and os.remove(log)
        play = ["acp-replay", "--match", "exact"]
        try:
            r = subprocess.run(play + ["--as", "client", names[0], "--"] + tool + ["-o", log, "--"] + play + [names[0]],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10)
            played = r.returncode == 0
        except subprocess.TimeoutExpired:
            played = False
        # What no live side could say, such as a request that is never answered, cannot be played.
        if played:
            problems += [("replay", d) for d in difference(one, ours(open(log).read()))]
        else:
            replays[1] += 1
        replays[0] += 1
    # The rows of turns.
    model = Model([recs[0]])
    model.summary()
    got = [load(x) for x in run(["acp-usage", "-f", "json", names[0]]).splitlines()]
    got = [x for x in got if x["event"] in ("turn", "sub-agent")]
    for (sid, turn, part, costs), row in zip(model.rows, got):
        text = row["turn_costs"] or ""
        mine = None if text.endswith("shared") else {x.split(" ")[1]: F(x.split(" ")[0]) for x in text.split(";") if x}
        mine = mine and {c: v for c, v in mine.items() if v != 0}
        if (sid or None) != row["session"] or (costs or {}) != (mine or {}):
            problems.append(("rows", "%s: costs: want %s, got %s %s" % (sid, costs, row["session"], mine)))
    if len(model.rows) != len(got):
        problems.append(("rows", "%d turns, got %d" % (len(model.rows), len(got))))
    return problems


def shown(text):
    """The rows, without what is written for --merge."""
    return [{k: v for k, v in load(line).items() if k != "recordings"} for line in text.splitlines()]


def totals(tool, names, want):
    """Whatever the rows stand for, they add up to the same; and so do merged ones."""
    problems, bounds = [], set()
    for by in ("session", "day", "week", "month", "model", "project", "agent"):
        text = run(tool + ["--by", by] + names)
        if not text:
            problems.append(("--by " + by, "no output"))
            continue
        got, total = ours(text)[None], load(text.splitlines()[-1])
        bounds.add("lower_bound" in total)
        for k in ("turns", "billed", "cost") + (("tokens",) if by != "model" else ()):
            if got[k] != want[k]:
                problems.append(("--by " + by, "%s: want %s, got %s" % (k, want[k], got[k])))
        if by in ("model", "project", "agent"):
            merged = run(["acp-usage", "--merge", "--by", by, "-f", "json", "-"], input="".join(run(tool + [n]) for n in reversed(names)))
            if merged != text:
                problems.append(("--merge --by " + by, "it is not the run over all"))
    if len(bounds) > 1:
        problems.append(("--by", "some totals are lower bounds, and some are not"))
    stops = [int(x.split()[-1]) for x in run(["acp-usage", "-f", "prom"] + names).splitlines() if x.startswith("acp_turns_total")]
    if sum(stops) != want["turns"]:
        problems.append(("prom", "turns: want %d, got %d" % (want["turns"], sum(stops))))
    return problems


replays = [0, 0]


def amounts(m):
    """Amounts may be written as integers: give them their digits, too."""
    u = m.get("params", {}).get("update") if isinstance(m.get("params"), dict) else None
    if u and u.get("cost") and not isinstance(u["cost"]["amount"], Raw):
        u["cost"]["amount"] = Raw(str(u["cost"]["amount"]))
    return m


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seed", type=int)
    a.add_argument("--count", type=int, default=100)
    a.add_argument("--replay", type=int, default=20, help="every so many seeds through acp-replay; 0: none")
    a.add_argument("--write")
    o = a.parse_args()
    if o.write:
        for i, (t, ms) in enumerate(Gen(o.seed).world_of()):
            write(os.path.join(o.write, "%d.rec" % i), t, ms, True)
        return 0
    first = o.seed if o.seed is not None else int(os.environ.get("ACP_SEED", random.randrange(10 ** 9)))
    count = 1 if o.seed is not None else o.count
    bad = 0
    print("seeds %d to %d" % (first, first + count - 1))
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as d:
            problems = compare(seed, d, o.replay and seed % o.replay == 0)
        if problems:
            bad += 1
            print("seed %d:" % seed)
            for way, p in problems[:6]:
                print("  %s: %s" % (way, p))
        if bad >= 5:
            break
    print("%d compared, %d differ; %d replayed, %d could not be" % (seed - first + 1, bad, replays[0], replays[1]))
    return bad > 0


sys.exit(main())
