#!/usr/bin/env python3
"""chunks.py: acp-check and acp-stat over chunks that differ in little but their texts, and over the same, each in a spelling of its own.

White space between members changes no finding and no figure. The lines of the first stream are alike, so that a tool may know them
from the one before; those of the second are not. Of both the tools have to say the same. Prints the seed.

    --count N   so many streams (20)
    --seed N    the same ones again
"""
import argparse
import json
import os
import random
import subprocess
import tempfile

TEXTS = ['', 'a', '"', '\\', '\\"', '"}', '"}}}}', '","messageId":"m"', 'é\n', '"},"x":{"text":"', '\\\\', 'text', '\t' * 3]
OTHER = {'client': 'agent', 'agent': 'client'}
START = [
    ('client', {'id': 0, 'method': 'initialize', 'params': {'protocolVersion': 1}}),
    ('agent', {'id': 0, 'result': {'protocolVersion': 1}}),
    ('client', {'id': 1, 'method': 'session/new', 'params': {'cwd': '/w', 'mcpServers': []}}),
    ('agent', {'id': 1, 'result': {'sessionId': 's'}}),
    ('client', {'id': 2, 'method': 'session/prompt', 'params': {'sessionId': 's', 'prompt': []}})]


def update(dice):
    """A chunk: right, or with one thing wrong or unknown."""
    content = {'type': 'text', 'text': ''.join(dice.choice(TEXTS) for _ in range(dice.randint(0, 3)))}
    u = {'sessionUpdate': dice.choice(['agent_message_chunk', 'agent_message_chunk', 'agent_thought_chunk', 'odd_chunk']), 'content': content}
    if dice.random() < .3:
        u['messageId'] = dice.choice(['m', 'm', 'n', '"}', 5])
    if dice.random() < .1:
        content['text'] = dice.choice([5, None, ['x'], {'text': 'x'}])
    if dice.random() < .1:
        content[dice.choice(['type', 'colour', 'text ', '_x'])] = dice.choice(['text', 'image', 'x'])
    if dice.random() < .1:
        u = dict(reversed(u.items()))
    return {'method': 'session/update', 'params': {'sessionId': dice.choice(['s', 's', 's', 't']), 'update': u}}


def stream(dice):
    """Chunks of turns that follow each other, in some streams as a proxy and its successor exchange them."""
    out, id = list(START), 2
    for _ in range(300):
        if dice.random() < .05:
            out.append(('agent', {'id': id, 'result': {'stopReason': 'end_turn'}}))
            if dice.random() < .5:
                out.append(('agent', update(dice)))
            id += 1
            out.append(('client', {'id': id, 'method': 'session/prompt', 'params': {'sessionId': 's', 'prompt': []}}))
        side = 'client' if dice.random() < .02 else 'agent'
        out.append((side, update(dice)))
    if dice.random() < .2:
        out = [(OTHER[side], {**{k: m[k] for k in ('id', 'result') if k in m}, **({'method': 'proxy/successor', 'params':
               {k: m[k] for k in ('method', 'params')}} if 'method' in m else {})}) for side, m in out]
    return out


def write(path, messages, ascii, odd):
    with open(path, 'w', encoding='utf-8') as out:
        for n, (side, m) in enumerate(messages):
            text = json.dumps({'jsonrpc': '2.0', **m}, ensure_ascii=ascii, separators=(',', ':'))
            if odd:
                text = text.replace(',', ',' + ' ' * (1 + n % 30), 1)
            # A member that is there twice.
            if n % 17 == 11:
                text = text.replace('"content":{', '"content":{"text":"x",', 1)
            out.write('{"t":%d,"from":"%s","msg":%s}\n' % (n, side, text))


def said(path):
    """What the tools say of it: findings and figures."""
    lines = []
    for tool in (['acp-check', '-l', 'note'], ['acp-check', '--coverage'], ['acp-stat'], ['acp-stat', '--by', 'turn']):
        p = subprocess.run([*tool, '-f', 'json', path], capture_output=True, text=True)
        assert p.returncode in (0, 1), p.stderr
        lines += [{k: v for k, v in json.loads(line).items() if k != 'file'} for line in p.stdout.splitlines()]
    return lines


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--count', type=int, default=int(os.environ.get('ACP_ROUNDS', 20)))
    parser.add_argument('--seed', type=int, default=int(os.environ.get('ACP_SEED', random.randrange(2**32))))
    o = parser.parse_args()
    total = 0
    print(f'seed {o.seed}', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(o.seed, o.seed + o.count):
            dice = random.Random(seed)
            messages = stream(dice)
            ascii, found = dice.random() < .5, []
            for odd in (False, True):
                path = os.path.join(folder, 'odd' if odd else 'alike')
                write(path, messages, ascii, odd)
                found.append(said(path))
            for alike, own in zip(found[0] + [None], found[1] + [None]):
                assert alike == own, f'seed {seed}: among chunks that are alike\n  {alike}\nin a spelling of its own\n  {own}'
            total += sum('rule' in line for line in found[0])
    print(f'{o.count} streams, {total} findings, and figures: the same')
    assert total


main()
