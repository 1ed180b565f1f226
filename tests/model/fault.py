#!/usr/bin/env python3
"""An independent model of acp-fault: what goes out is rebuilt from what came in and the report, for random options."""
import json
import re
import subprocess
import sys

from stream import Failure, run

SESSIONS = ['A', 'B\\u0041', 'é']


def message(r, n):
    kind = r.random()
    if kind < .35:
        text = '{"method":"session/update","params":{"sessionId":"%s","n":%d}}' % (r.choice(SESSIONS), n)
    elif kind < .6:
        text = '{"id":%d,"method":"m","params":{"x":"%s"}}' % (n, 'é€\\n' * r.randrange(6))
    elif kind < .65:
        text = '{"id":%d,"method":"m","params": {"_meta" : %s} }' % (n, r.choice(['{}', '{ "a":1}', '{"acp-fault":"x"}', 'null']))
    elif kind < .9:
        text = '{ "result":{"id":7}, "id" : %s }' % r.choice([str(n), f'"{n}"', '"a b"', 'null', '1.0'])
    else:
        text = '{"jsonrpc":"2.0","method":"note"}'
    return text.encode() + r.choice([b'', b'', b'\r', b'  '])


def options(r):
    """Options of one rule."""
    argv = []
    chance = lambda: r.choice(['5%', '0.2', '50%', '1'])
    for name in r.sample(['drop', 'duplicate', 'corrupt', 'truncate', 'noise', 'wrong-id', 'id-type', 'stale-session'], r.randrange(5)):
        argv += ['--' + name, chance()]
    if r.random() < .5:
        argv += [r.choice(['--reorder', '--overtake']), chance() + ',100s']
    if r.random() < .3:
        argv += ['--delay', '1ms,1ms']
    if r.random() < .2:
        argv += ['--pad', str(r.randrange(1, 300))]
    if r.random() < .2:
        argv += ['--split', f'{r.randrange(20, 60)},0.1ms']
    if r.random() < .2:
        argv += ['--hang', r.choice(['m', '*'])]
    if r.random() < .2:
        argv += ['--bandwidth', '10M']
    if r.random() < .2:
        argv += ['--close-after', str(r.randrange(1, 60))]
    if r.random() < .2:
        argv += ['--exit-after', str(r.randrange(1, 60))] + ['--torn'] * (r.random() < .5)
    if not argv:
        argv = ['--drop', chance()]
    if r.random() < .3:
        argv += ['--kind', r.choice(['request', 'response', 'notification'])]
    if r.random() < .3:
        argv += ['--from-match', str(r.randrange(1, 9))]
    if r.random() < .3:
        argv += ['--every', str(r.randrange(1, 4))]
    if r.random() < .1 and not {'--exit-after', '--close-after'} & set(argv):
        argv += ['--once']
    return argv


def replaced(text, name, was, is_):
    """With another JSON text for the first member of that name."""
    at = text.index(was, text.index(b'"' + name + b'"') + len(name) + 2)
    return text[:at] + is_ + text[at + len(was):]


def member(record, name):
    """A member's text as the report has it."""
    tail = record[record.index(b'"' + name + b'":') + len(name) + 3:]
    value, end = json.JSONDecoder().raw_decode(tail.decode())
    return tail.decode()[:end].encode()


def response_id(text, was, is_):
    """In our responses the id is the last member."""
    at = text.rindex(b'"id"') + 4
    at = text.index(was, at)
    return text[:at] + is_ + text[at + len(was):]


def padded(text, record):
    """With as many bytes as the record says, in the _meta of params or result."""
    at = text.index(b'{', re.search(b'"(?:params|result)" *: *', text).start()) + 1
    meta = re.compile(b' *"_meta" : {').match(text, at)
    old = re.compile(b'"acp-fault":"').match(text, meta.end()) if meta else None
    at = (old or meta).end() if meta else at
    comma = b'' if re.compile(b' *}').match(text, at) else b','
    frame = (b'', b'') if old else (b'"acp-fault":"', b'"' + comma) if meta else (b'"_meta":{"acp-fault":"', b'"}' + comma)
    fill = record['bytes'] - len(frame[0]) - len(frame[1])
    if record['byte'] != at + 1 or fill < 1:
        raise Failure(f'padded elsewhere: {record}')
    return text[:at] + frame[0] + b'x' * fill + frame[1] + text[at:]


def damaged(line, records):
    """The bytes that leave for a message: None where it is lost; and whether the stream or direction ends with it."""
    text, twice, ends = line, False, None
    for raw, record in records:
        fault = record['fault']
        if fault in ('drop', 'hang'):
            text = None
        elif fault == 'stale-session':
            text = replaced(text, b'sessionId', member(raw, b'was'), member(raw, b'is'))
        elif fault in ('wrong-id', 'id-type'):
            text = response_id(text, member(raw, b'was'), member(raw, b'is'))
        elif fault == 'pad':
            text = padded(text, record)
        elif fault == 'corrupt':
            at = record['byte'] - 1
            if text[at] != record['was'] or record['is'] in (record['was'], 10):
                raise Failure(f'no such byte: {record}')
            text = text[:at] + bytes([record['is']]) + text[at + 1:]
        elif fault == 'truncate':
            if record['of'] != len(text) or not 0 < record['kept'] < max(2, len(text)):
                raise Failure(f'no such cut: {record}')
            text = text[:record['kept']]
        elif fault == 'duplicate':
            text = text + b'\n' + text
        elif fault in ('exit', 'close'):
            ends = ends or fault
            if text is not None and 'kept' in record:
                if record['of'] != len(text):
                    raise Failure(f'no such end: {record}')
                return text[:record['kept']], 'torn'
    return (None if text is None else text + b'\n'), ends


def rebuild(lines, records):
    """What goes out."""
    by_n = {}
    for raw, record in records:
        by_n.setdefault(record['n'], []).append((raw, record))
    out, waiting, passed_by, takes_all, lost = b'', [], None, False, False
    for n, line in enumerate(lines, 1):
        mine = by_n.get(n, [])
        for _, record in mine:
            if record['fault'] == 'noise':
                out += record['text'].encode() + b'\n'
        text, ends = damaged(line, mine)
        wait = next((record for _, record in mine if record['fault'] in ('reorder', 'overtake')), None)
        if text is not None and wait and not waiting:
            waiting, passed_by, takes_all, lost = [(text, ends)], wait['behind'], wait['fault'] == 'overtake', 'lost' in wait
            continue
        if text is None:
            if ends:
                return out
            continue
        if waiting and takes_all and n != passed_by:
            waiting.append((text, ends))
            continue
        out += text
        if ends:
            return out
        if waiting and n == passed_by:
            for text, ends in waiting:
                out += text
                if ends:
                    return out
            waiting = []
    for text, ends in [] if lost else waiting:
        out += text
        if ends:
            return out
    return out


def one(r):
    lines = [message(r, n) for n in range(1, r.randrange(2, 120))]
    argv = ['acp-fault', '--seed', str(r.randrange(1 << 32)), '--report', 'report'] + options(r)
    if r.random() < .4:
        with open('plan', 'w') as plan:
            for _ in range(r.randrange(1, 4)):
                plan.write(' '.join(f"'{word}'" for word in options(r)) + '\n')
        argv += ['--plan', 'plan']
    with open('err', 'w') as err:
        got = subprocess.run(argv, input=b''.join(line + b'\n' for line in lines), stdout=subprocess.PIPE, stderr=err, timeout=120, check=False)
    with open('report', 'rb') as report:
        records = [(raw, json.loads(raw)) for raw in report.read().splitlines()[1:]]
    died = any(record['fault'] == 'exit' for _, record in records)
    if got.returncode not in ((0, 1) if died else (0,)):
        raise Failure(f'status {got.returncode}: {argv}')
    want = rebuild(lines, records)
    if got.stdout != want:
        at = next((i for i, (a, b) in enumerate(zip(got.stdout, want)) if a != b), min(len(want), len(got.stdout)))
        raise Failure(f'{argv}: byte {at}: {got.stdout[max(0, at - 60):at + 60]!r} is not {want[max(0, at - 60):at + 60]!r}')


if __name__ == '__main__':
    sys.exit(run('acp-fault', one, 60))
