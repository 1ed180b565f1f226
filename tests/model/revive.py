#!/usr/bin/env python3
"""
A random walk for acp-revive: an agent that dies at any byte which it reads or writes, and lines of both sides below and above --max-line.
Each request has one response. Each message reaches one process whole, or else a process that died within it; in order, and no process
reads anything else.
"""
import json
import os
import random
import re
import select
import signal
import subprocess
import sys

from stream import Failure, run

LIMIT = 2000  # bytes: --max-line
LIVES = 5     # processes that die
INIT = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'


def line(**members):
    return json.dumps({'jsonrpc': '2.0', **members}, separators=(',', ':')).encode() + b'\n'


def agent(seed):
    """A process of the agent: its argument is the walk's seed. It keeps what it has read in lives/N."""
    life = len(os.listdir('lives'))
    r = random.Random(int(seed) * 100 + life)
    never = 1 << 40
    reads = writes = never
    if life < LIVES:
        reads = len(INIT) + 1 + r.choice([r.randrange(300), r.randrange(20000), r.randrange(200000)])
        writes = r.choice([never, r.randrange(300, 20000)])
    wrote = asked = 0
    rest = b''

    def say(text):
        nonlocal wrote
        part = text[:max(0, writes - wrote)]
        while part:
            n = os.write(1, part)
            part = part[n:]
            wrote += n
        if wrote >= writes:
            os.kill(os.getpid(), signal.SIGKILL)

    with open('lives/%03d' % life, 'wb', buffering=0) as kept:
        while True:
            if reads == 0:
                if r.random() < .1:
                    os.close(r.choice([0, 1]))
                    signal.pause()
                os.kill(os.getpid(), signal.SIGKILL)
            text = os.read(0, min(reads, r.choice([1, 7, 100, 4096, 65536])))
            if not text:
                return
            kept.write(text)
            reads -= len(text)
            *lines, rest = (rest + text).split(b'\n')
            for m in map(json.loads, [one for one in lines if one.startswith(b'{"jsonrpc"')]):
                if m.get('method') == 'end':
                    reads = writes = never
                if m.get('method') == 'initialize':
                    say(line(id=m['id'], result={'protocolVersion': 1, 'agentCapabilities': {}}))
                elif 'method' in m and 'id' in m:
                    if r.random() < .3:
                        asked += 1
                        say(line(id=asked, method='ask', params={'x': 'x' * r.choice([1, 10, 3000])}))
                    say(line(id=m['id'], result={'x': 'r' * r.choice([0, 10, 2500, 50000])}))


def anonymous(text):
    """A response without its id, which acp-revive may change."""
    return re.sub(rb'"id":("[^"]*"|\d+),"result"', b'"result"', text)


def check_reading(sent):
    """What did the processes read of the messages that were sent? A response that comes too late may be missing."""
    sent = list(map(anonymous, sent))
    at = unsure = 0
    for name in sorted(os.listdir('lives')):
        with open('lives/' + name, 'rb') as kept:
            *whole, cut = kept.read().split(b'\n')
        for text in whole[1:]:  # the first is initialize
            found = next((i for i in range(at, len(sent)) if sent[i] == anonymous(text)), None)
            if found is None:
                raise Failure(f'process {name} read {text[:100]!r}, which was not sent, or is out of order')
            for lost in sent[at:found]:
                if b'"result"' not in lost[:60]:
                    unsure -= 1
                    if unsure < 0:
                        raise Failure(f'process {name} did not read {lost[:100]!r}')
            at, unsure = found + 1, 0
        # A process that died within a line, or as it had read all of it but the newline, has that one.
        unsure += len(whole) > 0 and cut != b''
    if at != len(sent):
        raise Failure(f'nobody read {sent[at][:100]!r}')


def one(r):
    seed = r.randrange(1 << 30)
    subprocess.run(['rm', '-rf', 'lives'], check=True)
    os.mkdir('lives')
    with open('err', 'wb') as err:
        tool = subprocess.Popen(['acp-revive', '--restarts', '1000/1m', '--max-line', str(LIMIT), '--',
            sys.executable, '-S', os.path.abspath(__file__), 'agent', str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
    for end in tool.stdin, tool.stdout:
        os.set_blocking(end.fileno(), False)
    out, rest, sent, asked, waits = INIT + b'\n', b'', [], [], {0}
    left, ends = r.randrange(10, 100), 0
    while tool.stdin:
        if not out and left and 0 not in waits:
            left -= 1
            n = left + 1000
            size = r.choice([r.randrange(50), r.randrange(50), r.randrange(5000), r.randrange(60000)])
            params = {'n': n, 'x': r.choice(['x', '{', '}', '"', '{"a":1},', 'é']) * size, 'y': {'a': {}, 'b': [{}]}}
            what = r.random()
            if what < .5:
                waits.add(n)
                out = line(id=n, method='do', params=params)
            elif what < .8 or not asked:
                out = line(method='note', params=params)
            else:
                out = line(id=asked.pop(0), result=params)
            sent.append(out[:-1])
        elif not out and not left and not waits:
            # The process that responds to this one has read everything, and does not die any more.
            ends += 1
            waits.add(f'end{ends}')
            out = line(id=f'end{ends}', method='end')
            sent.append(out[:-1])
        readable, writable, _ = select.select([tool.stdout], [tool.stdin] if out else [], [], 60)
        if not readable and not writable:
            tool.kill()
            raise Failure(f'no response to {waits}')
        if writable:
            try:
                out = out[os.write(tool.stdin.fileno(), out[:r.choice([1, 30, 500, 3000, 70000])]):]
            except BlockingIOError:
                pass
        *lines, rest = (rest + (tool.stdout.read() or b'') if readable else rest).split(b'\n')
        for text in lines:
            try:
                m = json.loads(text)
            except ValueError:
                continue  # of a long line only the beginning, before a death
            if 'method' in m:
                asked += [m['id']] if 'id' in m and r.random() < .8 else []
                continue
            if m['id'] not in waits:
                raise Failure(f'a second response: {text[:200]!r}')
            waits.remove(m['id'])
            if m['id'] == f'end{ends}' and 'result' in m:
                tool.stdin.close()
                tool.stdin = None
    tool.stdout.close()
    if tool.wait() != 0:
        raise Failure(f'status {tool.returncode}')
    check_reading(sent)


if __name__ == '__main__':
    if sys.argv[1:2] == ['agent']:
        sys.exit(agent(sys.argv[2]))
    sys.exit(run('acp-revive', one, 20))
