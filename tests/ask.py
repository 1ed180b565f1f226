#!/usr/bin/env python3
"""An agent for the tests of acp-ask. ask.py FILE: JSON, its members all optional:

  version      of the protocol (1)
  initialize   members for the response to initialize
  methods      {METHOD: {"result": R} or {"error": E}}
  updates      updates that follow the response to session/new, in the same write
  history      updates before the response to session/load, or to session/resume where that asks for them
  last         updates, or {"ask": M, "params": P}, that the agent sends at the end of its input
  turns        a list of turns, each a list of steps:
    {"update": U}      session/update
    {"text": T}        a chunk of the agent's text
    {"ask": M, "params": P, "id": I}   a request; waits for its response, unless "later": true
    {"tell": M, "params": P}           a notification
    {"raw": T, "times": N}             bytes as they are
    {"err": T}         on standard error
    {"answers": N}     until the client has sent N responses in all
    {"wait": M}        until the client has sent this method
    {"exists": FILE}   until there is this file
    {"exit": N}, {"kill": S}, {"hang": true}, {"close": true}
    {"stop": R, "members": {...}}      ends the turn (else end_turn)
    {"end": true}      ends the turn here; the steps after this come after its end
    {"error": E}       the prompt's response is an error

What comes from the client is appended to the file `in`, a line each; both sides to ask.rec, a recording without times."""
import json
import os
import sys
import time

script = json.load(open(sys.argv[1]))
seen = open("in", "ab", buffering=0)
recording = open("ask.rec", "ab", buffering=0)
recording.write(b'{"acp-recording":1,"started":"2026-01-01T00:00:00Z"}\n')
version = script.get("version", 1)
out = sys.stdout.buffer
ids = 1000


class Client:
    cancelled = False
    answers = 0
    part = b""  # of a line that is sent in pieces


def record(side, line):
    try:
        json.loads(line)
        recording.write(b'{"t":0,"from":"%s","msg":%s}\n' % (side, line))
    except ValueError:
        recording.write(b'{"t":0,"from":"%s","noise":%s}\n' % (side, json.dumps(line.decode("latin-1")).encode()))


# Of a message that is sent many times the recording has one. flush False: it is written with what is flushed next.
def send(m, times=1, flush=True):
    line = json.dumps({"jsonrpc": "2.0", **m}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    record(b"agent", line)
    for _ in range(times):
        out.write(line + b"\n")
        if flush:
            out.flush()


def send_raw(text):
    out.write(text)
    out.flush()
    *lines, Client.part = (Client.part + text).split(b"\n")
    for line in lines:
        record(b"agent", line)


def receive():
    line = sys.stdin.buffer.readline()
    if not line:
        for u in script.get("last", []):
            if "ask" in u:
                send({"id": 2000, "method": u["ask"], "params": u["params"]})
            else:
                update(u)
        sys.exit(script.get("status", 0))
    record(b"client", line.rstrip(b"\n"))
    seen.write(line)
    m = json.loads(line)
    Client.answers += "method" not in m
    return m


def update(u, session="s1", times=1, flush=True):
    send({"method": "session/update", "params": {"sessionId": session, "update": u}}, times, flush)


def handle(m):
    """Requests and notifications beside the turn."""
    method = m.get("method")
    if method == "session/cancel":
        Client.cancelled = True
    if "id" not in m or not method:
        return
    known = script.get("methods", {}).get(method)
    if known:
        send({"id": m["id"], **known})
    elif method == "initialize":
        caps = "capabilities" if version == 2 else "agentCapabilities"
        info = "info" if version == 2 else "agentInfo"
        send({"id": m["id"], "result": {"protocolVersion": version, caps: {"session": {}} if version == 2 else {}, info: {"name": "scripted", "version": "1"},
                                        **script.get("initialize", {})}})
    elif method in ("session/new", "session/fork"):
        send({"id": m["id"], "result": {"sessionId": "s1", **script.get("new", {})}}, flush=False)
        for u in script.get("updates", []):
            update(u, flush=False)
        out.flush()
    elif method == "session/prompt":
        turn(m)
    elif method == "session/load" or (method == "session/resume" and "replayFrom" in m["params"]):
        for u in script.get("history", []):
            update(u)
        send({"id": m["id"], "result": script.get("result", {})})
    elif method in ("authenticate", "auth/login", "session/set_mode", "session/set_config_option", "session/resume",
                    "session/close", "session/set_title"):
        send({"id": m["id"], "result": script.get("result", {})})
    else:
        send({"id": m["id"], "error": {"code": -32601, "message": "no such method"}})


def wait_for(test):
    while True:
        m = receive()
        if test(m):
            return m
        handle(m)


def turn(prompt):
    global ids
    turns = script.get("turns", [[]])
    steps = turns.pop(0) if len(turns) > 1 else turns[0]
    Client.cancelled = False
    stop, members, error, ended = "end_turn", {}, None, False

    def end():
        if version == 2:
            update({"sessionUpdate": "state_update", "state": "idle", "stopReason": stop, **members})
        elif error:
            send({"id": prompt["id"], "error": error})
        else:
            send({"id": prompt["id"], "result": {"stopReason": stop, **members}})

    if version == 2:
        send({"id": prompt["id"], "result": {"messageId": "u%d" % prompt["id"]}})
        update({"sessionUpdate": "state_update", "state": "running"})
    for s in steps:
        if "update" in s:
            update(s["update"], s.get("session", "s1"))
        elif "text" in s:
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": s["text"]}}
            if version == 2 or "message" in s:
                chunk["messageId"] = s.get("message", "m1")
            update(chunk, times=s.get("times", 1))
        elif "ask" in s:
            ids += 1
            n = s.get("id", ids)
            send({"id": n, "method": s["ask"], "params": s["params"]})
            if not s.get("later"):
                wait_for(lambda m, n=n: "method" not in m and m.get("id") == n)
        elif "tell" in s:
            send({"method": s["tell"], "params": s["params"]})
        elif "raw" in s:
            send_raw(s["raw"].encode("latin-1") * s.get("times", 1))
        elif "err" in s:
            sys.stderr.write(s["err"])
            sys.stderr.flush()
        elif "answers" in s:
            while Client.answers < s["answers"]:
                handle(receive())
        elif "exists" in s:
            while not os.path.exists(s["exists"]):
                time.sleep(0.01)
        elif "wait" in s:
            if not (s["wait"] == "session/cancel" and Client.cancelled):
                handle(wait_for(lambda m: m.get("method") == s["wait"]))
        elif "exit" in s:
            os._exit(s["exit"])
        elif "kill" in s:
            os.kill(os.getpid(), s["kill"])
        elif "close" in s:
            os.close(1)
        elif "hang" in s:
            while True:
                time.sleep(1000)
        elif "stop" in s:
            stop, members = s["stop"], s.get("members", {})
        elif "error" in s:
            error = s["error"]
        elif "end" in s:
            ended = True
            end()
    if not ended:
        end()
    for u in script.get("late", []):
        update(u)


while True:
    handle(receive())
