"""turns.py MESSAGES RATE [AT]...: the client of an `acp-share -- turns.py agent`, which it starts. Prompts sessions in turn, until the
agent has sent MESSAGES updates, about RATE of them a second; prints a line when so many have come as an AT says, and waits for a line."""

import subprocess
import sys
import time

SESSIONS = 8
CALLS = 20  # in a turn: each is three updates, beside seven others

# One tool call, and what is sent beside it. The session, and a number that is new each time, stand in for %s and %d.
CALL = [
    '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"I should look at that file first"}}',
    '{"sessionUpdate":"tool_call","toolCallId":"call_@","title":"Read file @.c","kind":"read","status":"pending"}',
    '{"sessionUpdate":"tool_call_update","toolCallId":"call_@","status":"in_progress"}',
    '{"sessionUpdate":"tool_call_update","toolCallId":"call_@","status":"completed","content":[{"type":"content",'
    '"content":{"type":"text","text":"int main(void) { return 0; }"}}]}',
] + ['{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"some words of part @, "}}'] * 5 + [
    '{"sessionUpdate":"usage_update","used":4@,"size":200000,"cost":{"amount":0.@,"currency":"USD"}}',
]
UPDATES = CALLS * len(CALL)


def turn(session, number):
    """A turn's messages."""
    line = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}\n'
    call = "".join(line % (session, update) for update in CALL)
    return "".join(call.replace("@", "%04d" % (number * CALLS % 9000000 + i)) for i in range(CALLS))


def agent():
    number = 0
    for prompt in sys.stdin:
        what, session = prompt.split('"id":', 1)[1].split(",", 1)[0], prompt.split('"', 5)[3]
        if '"session/prompt"' in prompt:
            number += 1
            sys.stdout.write(turn(session, number))
            result = '{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":50,"totalTokens":150}}'
        elif '"session/new"' in prompt:
            result = '{"sessionId":"%s"}' % session
        else:
            result = '{"protocolVersion":1,"agentInfo":{"name":"turns","version":"1"}}'
        sys.stdout.write('{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (what, result))
        sys.stdout.flush()


def client(messages, rate, at):
    share = subprocess.Popen(["acp-share", "--", "python3", __file__, "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    number = 0

    def ask(session, method, params):
        nonlocal number
        number += 1
        share.stdin.write(b'{"about":"%s","jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n'
                          % (session.encode(), number, method.encode(), params.encode()))
        share.stdin.flush()
        n = 0
        for line in share.stdout:
            if b'"result":' in line:
                return n
            n += 1
        raise SystemExit("the stream has ended")

    ask("-", "initialize", '{"protocolVersion":1}')
    for i in range(SESSIONS):
        ask("s%d" % i, "session/new", '{"cwd":"/project/%d","mcpServers":[]}' % i)
    print(share.pid, flush=True)
    sys.stdin.readline()
    came, began = 0, time.monotonic()
    while came < messages:
        i = came // UPDATES % SESSIONS
        came += ask("s%d" % i, "session/prompt", '{"sessionId":"s%d","prompt":[{"type":"text","text":"go"}]}' % i)
        time.sleep(max(0, began + came / rate - time.monotonic()))
        while at and came >= at[0]:
            print(came, flush=True)
            stopped = time.monotonic()
            sys.stdin.readline()
            began += time.monotonic() - stopped
            at.pop(0)
    share.stdin.close()
    share.wait()


if sys.argv[1] == "agent":
    agent()
else:
    client(int(sys.argv[1]), int(sys.argv[2]), [int(n) for n in sys.argv[3:]])
