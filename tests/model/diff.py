#!/usr/bin/env python3
"""acp-diff against a model: recordings with one random change.

Each change has to be found, as one difference, at every level that has to find it, and at no other.
"""
import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import time

LEVELS = ['exact', 'params', 'shape', 'method']
ASIDE = {'_meta', 'cost', 'clientInfo', 'clientCapabilities', 'updatedAt', 'createdAt', 'startedAt', 'endedAt', 'timestamp',
         'durationMs'}
FOREIGN = {'rawInput', 'rawOutput', 'arguments', 'structuredContent'}
IDS = {'sessionId', 'messageId', 'toolCallId', 'terminalId', 'requestId', 'userMessageId', 'parentToolCallId', 'planId',
       'parentToolUseId', 'parentMessageId', 'parentSessionId', 'toolUseId', 'elicitationId', 'connectionId', 'serverId', 'acpId'}
UNTOUCHED = IDS | {'cwd', 'additionalDirectories', 'sessionUpdate'}


def read(path):
    """The messages of a recording: [sender, message]."""
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            record = json.loads(line)
            if 'line' in record:
                record['msg'] = json.loads(record['line'])
            if 'msg' in record:
                yield [record['from'], record['msg']]


def write(path, messages):
    with open(path, 'w', encoding='utf-8') as out:
        for sender, message in messages:
            out.write(json.dumps({'from': sender, 'msg': message}, separators=(',', ':')) + '\n')


def places(value, path=(), foreign=False, aside=False):
    """All places below a value: (path, is it about the circumstances)."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        named = isinstance(key, str) and not foreign
        if named and key in UNTOUCHED:
            continue
        beside = aside or (named and key in ASIDE)
        yield path + (key,), beside
        yield from places(below, path + (key,), foreign or (named and key in FOREIGN), beside)


def of(message, path):
    for key in path:
        message = message[key]
    return message


def put(message, path, value):
    of(message, path[:-1])[path[-1]] = value


def update(message):
    return message.get('params', {}).get('update', {}) if message.get('method') == 'session/update' else {}


def is_chunk(message):
    return update(message).get('sessionUpdate', '').endswith('_chunk') and update(message)['content'].get('type') == 'text'


def call_of(message):
    """Which tool call a message reports of, or None."""
    of_call = update(message)
    if of_call.get('sessionUpdate') in ('tool_call', 'tool_call_update'):
        return message['params']['sessionId'], of_call['toolCallId']
    return None


def another(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 4711
    return value + ' changed' if isinstance(value, str) else None


class Change:
    """Makes one change; expected: the levels that have to find it. None where the dice fell badly."""

    def __init__(self, messages, dice):
        self.messages, self.dice = messages, dice
        self.note = ''

    def pick(self, wanted):
        found = [i for i, (_, m) in enumerate(self.messages) if wanted(m)]
        return self.dice.choice(found) if found else None

    def is_restated(self, at, path):
        """Is it in a member of a tool call that another message of the call has, too? Below exact the last one counts."""
        call = call_of(self.messages[at][1])
        return call and path[:2] == ('params', 'update') and any(
            i != at and call_of(m) == call and path[2] in update(m) for i, (_, m) in enumerate(self.messages))

    def place(self, wanted):
        """A random place in a random message that is no piece of a text."""
        at = self.pick(lambda m: not is_chunk(m))
        message = self.messages[at][1]
        found = [p for p in places({k: message[k] for k in ('params', 'result', 'error') if k in message})
                 if len(p[0]) > 1 and wanted(of(message, p[0]))
                 # What says which kind of message it is: another kind is another message.
                 and p[0] != ('params', 'update') and not self.is_restated(at, p[0])]
        if not found:
            return None
        path, aside = self.dice.choice(found)
        self.note = f'message {at + 1}: {path}'
        return message, path, aside

    def value(self):
        found = self.place(lambda v: another(v) is not None)
        if not found:
            return None
        message, path, aside = found
        put(message, path, another(of(message, path)))
        return ['exact'] if aside else ['exact', 'params']

    def type(self):
        found = self.place(lambda v: v is not None and not isinstance(v, int))
        if not found:
            return None
        message, path, aside = found
        put(message, path, 17)
        return ['exact'] if aside else ['exact', 'params', 'shape']

    def removed(self):
        found = self.place(lambda v: v is not None)
        if not found or isinstance(found[1][-1], int):
            return None
        message, path, aside = found
        del of(message, path[:-1])[path[-1]]
        return ['exact'] if aside else ['exact', 'params', 'shape']

    def added(self):
        found = self.place(lambda v: isinstance(v, dict))
        if not found:
            return None
        message, path, aside = found
        of(message, path)['addedHere'] = self.dice.choice([1, 'one', [], {}])
        return ['exact'] if aside else ['exact', 'params', 'shape']

    def order(self):
        found = self.place(lambda v: isinstance(v, dict) and len(v) > 1)
        if not found:
            return None
        message, path, _ = found
        put(message, path, dict(reversed(of(message, path).items())))
        return ['exact']

    def missing(self):
        at = self.pick(lambda m: 'id' not in m and not is_chunk(m) and not call_of(m))
        self.note = f'message {at + 1}'
        del self.messages[at]
        return LEVELS

    def unexpected(self):
        at = self.dice.randrange(len(self.messages))
        self.note = f'message {at + 1}'
        self.messages.insert(at, ['agent', {'jsonrpc': '2.0', 'method': '_unlike/any', 'params': {}}])
        return LEVELS

    def text(self):
        at = self.pick(is_chunk)
        if at is None:
            return None
        self.note = f'message {at + 1}'
        update(self.messages[at][1])['content']['text'] += ' changed'
        return ['exact', 'params']

    def split(self):
        at = self.pick(is_chunk)
        if at is None:
            return None
        self.note = f'message {at + 1}'
        first, second = self.messages[at], copy.deepcopy(self.messages[at])
        text = update(first[1])['content']['text']
        cut = self.dice.randrange(len(text) + 1)
        update(first[1])['content']['text'], update(second[1])['content']['text'] = text[:cut], text[cut:]
        self.messages.insert(at + 1, second)
        return []

    def swapped(self):
        found = [i for i in range(len(self.messages) - 1)
                 if all('id' not in m and s == 'agent' for s, m in self.messages[i:i + 2])
                 and self.messages[i][1]['params'].get('sessionId') == self.messages[i + 1][1]['params'].get('sessionId')
                 and not any(is_chunk(m) for _, m in self.messages[i:i + 2])
                 and call_of(self.messages[i][1]) != call_of(self.messages[i + 1][1])
                 and self.messages[i][1] != self.messages[i + 1][1]]
        if not found:
            return None
        at = self.dice.choice(found)
        self.note = f'message {at + 1}'
        self.messages[at:at + 2] = reversed(self.messages[at:at + 2])
        return ['exact']

    def renamed(self):
        """An id that is another one everywhere."""
        texts = json.dumps(self.messages)
        found = sorted({v for _, m in self.messages for n, v in named(m) if n in ('sessionId', 'toolCallId', 'messageId')})
        name = self.dice.choice(found)
        self.note = name
        self.messages[:] = json.loads(texts.replace(json.dumps(name), '"another one"'))
        return []

    def numbered(self):
        """Other ids of requests."""
        for _, message in self.messages:
            if 'id' in message:
                message['id'] = f'{message["id"]} changed'
        return []


def named(value):
    if isinstance(value, dict):
        for key, below in value.items():
            if isinstance(below, str):
                yield key, below
            yield from named(below)
    elif isinstance(value, list):
        for below in value:
            yield from named(below)


KINDS = ['value', 'value', 'value', 'type', 'removed', 'added', 'order', 'missing', 'unexpected', 'text', 'split', 'swapped',
         'renamed', 'numbered']


def differences(level, a, b):
    ran = subprocess.run(['acp-diff', '-f', 'json', '--match', level, a, b], capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        return f'status {ran.returncode}: {ran.stderr}'
    total = json.loads(ran.stdout.splitlines()[-1])['differences']
    return total if (total > 0) == (ran.returncode == 1) else f'status {ran.returncode} with {total}'


def main():
    options = argparse.ArgumentParser()
    options.add_argument('--count', type=int, default=500)
    options.add_argument('--seed', type=int, default=int(os.environ.get('ACP_SEED', time.time_ns() % 1000000)))
    options.add_argument('recordings', nargs='+')
    given = options.parse_args()
    print(f'seed {given.seed}')
    dice = random.Random(given.seed)
    recordings = [list(read(path)) for path in given.recordings]
    failed = done = 0
    with tempfile.TemporaryDirectory() as where:
        a, b = os.path.join(where, 'a.rec'), os.path.join(where, 'b.rec')
        while done < given.count:
            messages = dice.choice(recordings)
            write(a, messages)
            kind = dice.choice(KINDS)
            change = Change(copy.deepcopy(messages), dice)
            expected = getattr(change, kind)()
            if expected is None:
                continue
            done += 1
            write(b, change.messages)
            for level in LEVELS:
                got, want = differences(level, a, b), int(level in expected)
                if got != want:
                    failed += 1
                    print(f'change {done}, {kind}, {change.note}: {got} differences at {level}, expected {want}')
                    if os.environ.get('KEEP'):
                        write(f'{os.environ["KEEP"]}.a.rec', messages)
                        write(f'{os.environ["KEEP"]}.b.rec', change.messages)
                        return 1
    print(f'{done} changes, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
