#!/usr/bin/env python3
"""The same random stream to several tools: what they say about the same matter is the same.

Compared: the turns that ended, by session, in the order of their ends, with their stop reasons; and how many tool calls ended, and
how. What lib/session says (session-events) is what the others are compared with.

usage: meaning.py [--seed N] [--count N] [--steps N] TOOL...      the tools, and session-events, have to be in PATH
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from session import Maker, other  # noqa: E402
from stream import Tool  # noqa: E402


def run(*args):
    p = subprocess.run(args, capture_output=True, text=True, env={**os.environ, 'NO_COLOR': '1', 'COLUMNS': '200', 'LC_ALL': 'C.UTF-8'})
    if p.returncode not in (0, 1):
        sys.exit('%s: status %d: %s' % (' '.join(args), p.returncode, p.stderr))
    return p.stdout.splitlines()


def rows(*args):
    return [json.loads(line) for line in run(*args)]


def add(to, session, stop):
    to.setdefault(session, []).append(stop)


def findings(path):
    return rows('acp-check', '-l', 'note', '-f', 'json', path)


def without_file(finding):
    return {k: v for k, v in finding.items() if k != 'file'}


def wrap(path, to):
    """The same stream as a proxy and its successor exchange it: all in envelopes, and who was the client is on the agent's side."""
    with open(path, encoding='utf-8') as f, open(to, 'w', encoding='utf-8') as out:
        for line in f:
            r = json.loads(line)
            m = r.get('msg')
            if m:
                r['from'] = other(r['from'])
            if m and 'method' in m:
                r['msg'] = {k: m[k] for k in ('jsonrpc', 'id') if k in m}
                r['msg'].update(method='proxy/successor', params={k: m[k] for k in ('method', 'params') if k in m})
            out.write(json.dumps(r, ensure_ascii='\\u' in line) + '\n')


def events(path, *options):
    """The turns of each session that ended on their own, and [ended, failed, unfinished] calls."""
    turns, waited, calls = {}, {}, [0, 0, 0]
    for line in run('session-events', *options, path):
        words = line.split()
        if words[1] == 'turn-ended' and not {'unfinished', 'joined'} & set(words):
            stop = re.search(r' stop (\S+)', line).group(1)
            stop = None if stop == '-' else json.loads(stop)
            # One that had not begun has no times, and acp-stat no row of it.
            add(waited if ' turn 0 of ' in line else turns, words[2], stop)
        elif words[1] == 'call-ended':
            calls[1 if 'failed' in words else 2 if 'unfinished' in words else 0] += 1
    return turns, waited, calls


def stat(path, turns, waited, calls):
    said = {}
    for r in rows('acp-stat', '--by', 'turn', '-f', 'json', path):
        if r['result'] != 'open':
            add(said, r['session'], r.get('stop_reason'))
    tools = [r for r in rows('acp-stat', '--by', 'tool', '-f', 'json', path) if r.get('row') == 'tool']
    failed, left = sum(r['failed'] for r in tools), sum(r['open'] for r in tools)
    return [('turns', said, turns), ('calls', [sum(r['count'] for r in tools) - failed - left, failed, left], calls)]


def usage(path, turns, waited, calls):
    said, want = {}, {}
    for r in rows('acp-usage', '-f', 'json', path):
        if r['event'] == 'turn':
            add(said, r['session'], r['stop_reason'] if r['stop_reason'] != 'error' else None)
    for each in (turns, waited):
        for s, stops in each.items():
            want.setdefault(s, []).extend(None if stop == 'error' else stop for stop in stops)
    return [('turns', {s: sorted(map(str, v)) for s, v in said.items()}, {s: sorted(map(str, v)) for s, v in want.items()})]


def people(us):
    return '%.1f ms' % (us / 1000) if us < 10000 else '%d ms' % ((us + 500) // 1000) if us < 10 ** 6 else '%.1f s' % (us / 10 ** 6)


def times(page):
    """What a page of acp-export says of the time of each turn that ended, where tools or the user had some of it."""
    said = None
    for line in page:
        if line.startswith('<section'):
            said = None
        elif '>Time</' in line:
            said = ' '.join(re.sub('<[^>]*>', ' ', line).split()[1:])
        elif said and re.search('<footer.*>(end_turn|cancelled|max_tokens|error|ended)', line) and re.search('tools|user', said):
            yield said


def export(path, *means):
    """Its page shows what all connections say of a session: who is whose sub-agent, too. Envelopes make no difference."""
    turns, waited, _ = events(path, '--keep')
    page = run('acp-export', '-f', 'markdown', path)
    feet = [re.match(r'\*(end_turn|cancelled|max_tokens|error|ended)\b', line.replace('\\', '')) for line in page]
    said = sorted('None' if m.group(1) in ('error', 'ended') else m.group(1) for m in feet if m)
    pairs = [('turns', said, sorted(str(None if x == 'error' else x) for each in (turns, waited) for v in each.values() for x in v))]
    with open(path, encoding='utf-8') as f:
        text = f.read()
    if '"unknown"' not in text and 'proxy/successor' not in text:
        wrap(path, path + '.far')
        pairs.append(('a page of envelopes', run('acp-export', '-f', 'markdown', path + '.far'), page))
    # Where no session is a sub-agent, whose calls acp-stat counts in the turn that started it.
    page = run('acp-export', path)
    if not any('class="child"' in line for line in page) and not any(
            ' adopted ' in line or ' child below ' in line for line in run('session-events', path)):
        wanted = [r for r in rows('acp-stat', '--by', 'turn', '-f', 'json', path) if r['result'] != 'open' and r['tools_us'] + r['user_us']]
        pairs.append(('times', sorted(times(page)), sorted(' '.join(x + ' ' + people(r[x + '_us']) for x in ('model', 'tools', 'user') if r[x + '_us']) for r in wanted)))
    return pairs


def check(path, turns, waited, calls):
    """Requests without a response, and prompts that came while a turn was open; and that envelopes make no difference."""
    events = [line.split() for line in run('session-events', path)]
    found = findings(path)
    silent = [w for w in events if w[1] == 'responded' and 'unanswered' in w and 'copy' not in w]
    with open(path, encoding='utf-8') as f:
        text = f.read()
    # Of one side alone nothing is reported, nor of sides that are not known; nobody waits for what a restarted agent has asked.
    if '_acp-revive/restarted' in text or not ('"from":"client"' in text and '"from":"agent"' in text):
        return []
    said = [o for o in found if o['rule'] in ('unanswered', 'abandoned', 'id-in-use')]
    # An agent that has sent nothing on a connection may not be in the recording.
    one = sum(w[1] == 'connected' for w in events) == 1
    pairs = [('requests without a response', len(said), len(silent) if one else len(said))]
    if 'proxy/successor' not in text:
        wrapped = path + '.far'
        wrap(path, wrapped)
        pairs += [('a finding in envelopes', x, y) for x, y in zip(map(without_file, findings(wrapped) + [{}]), map(without_file, found + [{}]))]
    return pairs


def tap(path, *means):
    """A line of the timeline closes a turn where one ends, and has its stop reason."""
    # Not compared: what a session's parent says of it is on a line of the parent's; a turn that is lost may have none.
    numbered, apart = path + '.numbered', {}
    with open(path, encoding='utf-8') as f, open(numbered, 'w', encoding='utf-8') as out:
        for n, line in enumerate(f, 1):
            apart[n] = 'subagent_update' in line
            # Each record has a time of its own, which is its number.
            out.write(re.sub(r'^\{"t":[^,]*', '{"t":%d' % n, line))
    want, said = {}, {}
    for line in run('session-events', '--keep', numbered):
        words = line.split()
        if words[1] == 'turn-ended' and 'unfinished' in words:
            apart[int(words[0]) // 10 ** 6] = True
        elif words[1] == 'turn-ended':
            stop = re.search(r' stop (\S+)', line).group(1)
            want[int(words[0]) // 10 ** 6] = '' if stop == '-' or 'joined' in words else json.loads(stop)
    for line in run('acp-tap', '--no-fold', '-n', numbered):
        # What closes a bracket after the last record has no number.
        if '└' in line and not re.search('└ no (response|end)', line):
            said[int(line[:5])] = line
    pairs = [('ends', sorted(n for n in said if not apart[n]), sorted(n for n in want if not apart[n]))]
    with open(path, encoding='utf-8') as f:
        if 'proxy/successor' not in f.read():
            pairs += [('stop reason', want[n] in said[n], True) for n in said if n in want]
    return pairs


def ending(words, line):
    """Why acp-budget ends a budget with this turn."""
    if 'unfinished' in words:
        return 'its turn was lost'
    if 'failed' in words:
        return 'the agent answered with an error'
    stop = re.search(r' stop (\S+)', line).group(1)
    stop = None if stop == '-' else json.loads(stop)
    return {'end_turn': 'done', 'cancelled': 'cancelled', None: 'no stop reason'}.get(stop, 'stop reason %s' % stop)


def budgets(path, last):
    """By lib/session: how the budget of each prompt ends, if a token is its target."""
    why, live = {}, {}

    def end(session, reason):
        if live.pop(session, None):
            add(why, session, reason)

    for line in run('session-events', '--keep', path):
        words = line.split()
        if int(words[0]) > last:
            break
        session, asked = words[2] if len(words) > 2 else None, re.search(r' (\d+)-\d+-\d+ stop', line)
        if words[1] == 'requested' and '"session/prompt"' in words:
            end(session, 'a new prompt replaces it')
            live[session] = words[0]
        elif words[1] == 'turn-ended' and live.get(session) == asked.group(1):
            live[session] = 'ends'
            if 'joined' not in words:
                end(session, ending(words, line))
        elif words[1] == 'turn-ended' and live.get(session) == 'ends':
            end(session, ending(words, line))
        elif words[1] == 'cancel':
            end(session, 'cancelled')
        elif words[1] == 'closed' or (words[1] == 'requested' and {'"session/close"', '"session/delete"'} & set(words)):
            end(session, 'the session was closed')
    return why


def budget(path, *means):
    """Each prompt's budget ends with its turn, for the turn's reason."""
    plain = path + '.plain'
    with open(path, encoding='utf-8') as f:
        records = [json.loads(line) for line in f]
    messages = [r for r in records if 'msg' in r]
    if any(r['from'] == 'unknown' or r['msg'].get('method') in ('proxy/successor', '$/cancel_request') for r in messages):
        return []
    with open(plain, 'w', encoding='utf-8') as f:
        # What ends after the last message has no time of its own.
        for n, r in enumerate(messages + [{'from': 'client', 'msg': {'method': '_end'}}], 1):
            f.write(json.dumps(dict(r, t=n)) + '\n')
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    tool = Tool(['acp-budget', '--target', '1', '--max-continuations', '0', '--estimate'])
    for r in messages:
        tool.send('down' if r['from'] == 'client' else 'up', [json.dumps(r['msg']).encode()])
        tool.settle()
    tool.close()
    said = {}
    with open('err', encoding='utf-8') as err:
        for line in err:
            m = re.match(r'acp-budget: (.*?): Target: .*?\)(?:: (.*))?$', line)
            if m and m.group(2) not in ('the client has left', 'the agent has ended'):
                reason = (m.group(2) or 'done').replace('--max-continuations is reached', 'done').replace('near enough', 'done')
                add(said, m.group(1), re.sub(r'error: .*', 'error', reason))
    os.chdir(here)
    return [('budgets', said, budgets(plain, len(messages) * 10 ** 6))]


TOOLS = {'acp-budget': budget, 'acp-tap': tap, 'acp-check': check, 'acp-stat': stat, 'acp-usage': usage, 'acp-export': export}


def main():
    args = argparse.ArgumentParser()
    args.add_argument('--seed', type=int, default=int.from_bytes(os.urandom(4), 'big'))
    args.add_argument('--count', type=int, default=50)
    args.add_argument('--steps', type=int, default=120)
    args.add_argument('tools', nargs='+', choices=TOOLS)
    args = args.parse_args()
    print('seed', args.seed, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 's.rec')
        for seed in range(args.seed, args.seed + args.count):
            rng = random.Random(seed)
            # A filter is in the stream itself. Where messages were lost acp-check says of no request that it has no response, and
            # acp-usage reports what was counted in a turn that had no end.
            maker = Maker(rng, rng.randint(1, args.steps), not {'acp-budget', 'acp-check', 'acp-usage'} & set(args.tools))
            if not maker.out:
                continue
            maker.write(path)
            means = events(path)
            for tool in args.tools:
                for what, said, want in TOOLS[tool](path, *means):
                    if said != want:
                        sys.exit('seed %d: %s: %s says\n  %s\nand lib/session\n  %s' % (seed, what, tool, said, want))
    print('%d streams: the same' % args.count)


if __name__ == '__main__':
    main()
