#!/usr/bin/env python3
"""check.py SCHEMAS FIXTURE...: compares acp-check with Python's jsonschema on mutated messages.

SCHEMAS is the folder `schema` of the npm package that the tables were made from. Messages are taken from the fixtures
and changed at random: members dropped, added, renamed, values replaced by others. Both have to agree on whether the
params or the result is valid by the schema, for each of the four schemas. Prints the seed, and what they differ in.

    --count N   so many messages (1000)
    --seed N    the same ones again
"""
import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile

import jsonschema

SETS = [('1', False, 'v1/schema.json'), ('1', True, 'v1/schema.unstable.json'),
        ('2', False, 'v2/schema.json'), ('2', True, 'v2/schema.unstable.json')]
INVALID = {'schema', 'schema-tolerated', 'unknown-update'}
VALUES = [None, True, False, 0, 1, -1, 5, 2.5, 1.0, 65535, 65536, 2**31, 2**32, -2**31 - 1, 2**63, 2**64, '', 'x', 'text',
          'pending', 'end_turn', 'form', 'idle', '/tmp', [], {}, [None], ['a'], [{}], {'type': 'text'}, {'type': 'text', 'text': 'a'},
          {'type': 'diff', 'path': '/a', 'newText': ''}, {'_meta': {}}, {'_meta': 5}]

formats = jsonschema.FormatChecker(formats=())
for name, low, high in (('int32', -2**31, 2**31 - 1), ('int64', -2**63, 2**63 - 1), ('uint16', 0, 2**16 - 1),
                        ('uint32', 0, 2**32 - 1), ('uint64', 0, 2**64 - 1)):
    formats.checks(name)(lambda v, low=low, high=high:
                         not isinstance(v, (int, float)) or isinstance(v, bool) or low <= v <= high)


class Reference:
    """The definitions of a schema, by method and kind of message."""

    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            defs = json.load(f)['$defs']
        self.strings, self.names, self.by = set(), set(), {}
        self.collect(defs)
        for name, s in defs.items():
            if 'x-method' in s:
                kind = next(k for k in ('Request', 'Notification', 'Response') if name.endswith(k))
                self.by[s['x-method'], kind] = (s['x-side'], jsonschema.Draft202012Validator(
                    {'$ref': f'#/$defs/{name}', '$defs': defs}, format_checker=formats))

    def collect(self, s):
        """The constants, and the names of members: what mutations are made of."""
        if isinstance(s, list):
            for x in s:
                self.collect(x)
        elif isinstance(s, dict):
            if isinstance(s.get('const'), str):
                self.strings.add(s['const'])
            if isinstance(s.get('properties'), dict):
                self.names.update(s['properties'])
            for x in s.values():
                self.collect(x)


def load(files):
    """(method, kind, params or result) of all messages."""
    found = {}
    for file in files:
        asked = {}
        with open(file, encoding='utf-8') as f:
            for line in f:
                record = json.loads(line)
                if 'line' not in record and 'msg' not in record:
                    continue
                message = record['msg'] if 'msg' in record else json.loads(record['line'])
                other = {'client': 'agent', 'agent': 'client'}[record['from']]
                if 'method' in message:
                    kind = 'Request' if 'id' in message else 'Notification'
                    asked[record['from'], json.dumps(message.get('id'))] = message['method']
                    method, value = message['method'], message.get('params', {})
                elif 'result' in message:
                    kind, value = 'Response', message['result']
                    method = asked.get((other, json.dumps(message['id'])))
                else:
                    continue
                found.setdefault((method, kind, json.dumps(value)[:60]), (method, kind, value))
    return list(found.values())


def places(value):
    """All containers in a value."""
    found = []
    if isinstance(value, (dict, list)):
        found.append(value)
        for x in value.values() if isinstance(value, dict) else value:
            found += places(x)
    return found


def mutate(rnd, ref, value):
    for _ in range(rnd.choice((0, 1, 1, 1, 2, 3))):
        containers = [c for c in places(value) if c] or [value]
        c = rnd.choice(containers)
        new = rnd.choice(VALUES) if rnd.random() < .7 else rnd.choice(ref.strings)
        new = copy.deepcopy(new)
        if isinstance(c, list):
            if c and rnd.random() < .6:
                c[rnd.randrange(len(c))] = new
            elif c and rnd.random() < .3:
                del c[:]
            else:
                c.append(new)
        elif isinstance(c, dict):
            key = rnd.choice(sorted(c)) if c and rnd.random() < .7 else rnd.choice(ref.names)
            if rnd.random() < .3:
                c.pop(key, None)
            else:
                c[key] = new
    return value


def write(f, number, side, method, kind, value):
    """The message as records, and a request before a response. Returns the record that counts."""
    other = {'client': 'agent', 'agent': 'client'}

    def put(sender, message):
        f.write(json.dumps({'t': number, 'from': sender, 'msg': {'jsonrpc': '2.0', **message}}) + '\n')

    # The definition's side is the one that gets the request.
    sender = other.get(side, 'client')
    if kind == 'Request':
        put(sender, {'id': number, 'method': method, 'params': value})
        return 1
    if kind == 'Notification':
        put(sender, {'method': method, 'params': value})
        return 1
    put(sender, {'id': number, 'method': method, 'params': {}})
    put(other[sender], {'id': number, 'result': value})
    return 2


def judged(protocol, unstable, path):
    """The records in which acp-check finds the schema broken."""
    out = subprocess.run(['acp-check', '-f', 'json', '--level', 'note', '--protocol', protocol] + ['--unstable'] * unstable + [path],
                         stdout=subprocess.PIPE, check=False)
    if out.returncode not in (0, 1):
        sys.exit(f'acp-check: status {out.returncode}')
    found = {}
    for line in out.stdout.splitlines():
        finding = json.loads(line)
        if finding['rule'] in INVALID and finding['path'].startswith(('params', 'result')):
            found.setdefault(finding['record'], finding)
    return found


def compare(ref, protocol, unstable, cases):
    with tempfile.NamedTemporaryFile('w', suffix='.rec', encoding='utf-8') as f:
        expected, record = {}, 0
        for number, (method, kind, value) in enumerate(cases):
            side, validator = ref.by[method, kind]
            record += write(f, number, side, method, kind, value)
            expected[record] = (method, kind, value, validator.is_valid(value))
        f.flush()
        found = judged(protocol, unstable, f.name)
    wrong = invalid = 0
    for record, (method, kind, value, valid) in expected.items():
        invalid += not valid
        if valid == (record in found):
            wrong += 1
            if wrong <= 10:
                print(f'{method} {kind}: the reference says {"valid" if valid else "invalid"}, acp-check '
                      f'{found.get(record, "nothing")}: {json.dumps(value)[:600]}')
    return wrong, invalid


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--count', type=int, default=int(os.environ.get('ACP_ROUNDS', 1000)))
    parser.add_argument('--seed', type=int, default=int(os.environ.get('ACP_SEED', random.randrange(2**32))))
    parser.add_argument('schemas')
    parser.add_argument('fixtures', nargs='+')
    o = parser.parse_args()
    print(f'seed {o.seed}')
    rnd = random.Random(o.seed)
    messages = load(o.fixtures)
    total = bad = broken = 0
    for protocol, unstable, path in SETS:
        ref = Reference(os.path.join(o.schemas, path))
        ref.strings, ref.names = sorted(ref.strings), sorted(n for n in ref.names if n != '_meta')
        usable = [m for m in messages if (m[0], m[1]) in ref.by]
        # What no fixture has begins as an empty object.
        usable += [(m, k, {}) for m, k in ref.by if not any((m, k) == (x[0], x[1]) for x in usable)]
        cases = []
        for _ in range(o.count // len(SETS)):
            method, kind, value = rnd.choice(usable)
            cases.append((method, kind, mutate(rnd, ref, copy.deepcopy(value))))
        wrong, invalid = compare(ref, protocol, unstable, cases)
        total, bad, broken = total + len(cases), bad + wrong, broken + invalid
    print(f'{total} messages, {broken} of them invalid, {bad} judged differently')
    # A run in which nothing was wrong, or all was, would show nothing.
    sys.exit(1 if bad or not total // 10 < broken < total - total // 10 else 0)


main()
