#!/usr/bin/env python3
"""check_walk.py: random sessions that keep the rules of acp-check, and the same with one thing wrong.

Sessions are opened, closed, loaded and resumed, prompted, cancelled and asked in any order, and any number of requests is open at once.
In what is right nothing is found; of what is wrong the rule is. Prints the seed.

    --count N   so many sessions (200)
    --seed N    the same ones again
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

OTHER = {'client': 'agent', 'agent': 'client'}
OPTIONS = [{'optionId': 'y', 'name': 'Yes', 'kind': 'allow_once'}]


class Session:
    """One that is open."""

    def __init__(self, dice):
        self.turn, self.cancelled, self.cost = None, False, 0
        self.number = dice.randrange(10**9)  # of its next tool call
        self.calls = []      # that have not ended
        self.questions = {}  # the ids of open permission requests: were they open when the session was cancelled?


class Walk:
    def __init__(self, dice):
        self.dice, self.messages, self.ids = dice, [], 0
        self.sessions, self.closed, self.terminals = {}, [], set()
        self.later = []      # what may happen at any time: responses, mostly
        i = self.ask('client', 'initialize', protocolVersion=1,
                     clientCapabilities={'fs': {'readTextFile': True}, 'terminal': True})
        self.give('agent', i, protocolVersion=1,
                  agentCapabilities={'loadSession': True, 'sessionCapabilities': {'close': {}, 'resume': {}}})
        self.new()
        for _ in range(dice.randint(20, 120)):
            self.step()
        while self.later:
            self.later.pop(0)()
        for name, s in self.sessions.items():
            self.end(name, s)
            while s.questions:
                self.reply(name, s)
        while self.later:
            self.later.pop(0)()

    def step(self):
        if self.later and self.dice.random() < .5:
            self.later.pop(self.dice.randrange(len(self.later)))()
        elif not self.sessions or self.dice.random() < .03:
            self.dice.choice([self.new, self.reopen])()
        else:
            name = self.dice.choice(list(self.sessions))
            does = self.dice.choice([self.prompt, self.prompt, self.say, self.say, self.call, self.change, self.question, self.reply, self.cancel,
                                     self.end, self.usage, self.read, self.terminal, self.close, self.extend])
            does(name, self.sessions[name])

    # Messages.

    def put(self, side, **members):
        self.messages.append((side, {'jsonrpc': '2.0'} | members))

    def ask(self, side, method, **params):
        self.ids += 1
        i = self.dice.choice([self.ids, f'r{self.ids}', f'"\\é{self.ids}', -self.ids])
        self.put(side, id=i, method=method, params=params)
        return i

    def give(self, side, i, **result):
        self.put(side, id=i, result=result)

    def fail(self, i, code=-32603):
        self.put('agent', id=i, error={'code': code, 'message': 'no'})

    def update(self, name, kind, **members):
        self.put('agent', method='session/update', params={'sessionId': name, 'update': {'sessionUpdate': kind} | members})

    # What may happen; each does nothing where it would be wrong.

    def new(self):
        i, name = self.ask('client', 'session/new', cwd='/w', mcpServers=[]), f's{self.dice.random()}'
        if self.dice.random() < .5:
            self.update(name, 'available_commands_update', availableCommands=[])

        def opened():
            self.give('agent', i, sessionId=name)
            self.sessions[name] = Session(self.dice)
        self.later.append(opened)

    def reopen(self):
        if not self.closed:
            return
        name, how = self.dice.choice(self.closed), self.dice.choice(['load', 'resume'])
        i = self.ask('client', f'session/{how}', sessionId=name, cwd='/w', mcpServers=[])
        if how == 'load' and self.dice.random() < .8:
            self.update(name, 'user_message_chunk', content={'type': 'text', 'text': 'a'})
            self.update(name, 'tool_call', toolCallId='old', title='t', status='completed')
        if self.dice.random() < .3:
            self.fail(i)
            return
        self.give('agent', i)
        self.closed.remove(name)
        self.sessions[name] = Session(self.dice)

    def close(self, name, s):
        if s.turn is None and not s.questions and not self.later:
            self.give('agent', self.ask('client', 'session/close', sessionId=name))
            self.closed.append(name)
            del self.sessions[name]

    def prompt(self, name, s):
        if s.turn is None:
            s.turn, s.cancelled = self.ask('client', 'session/prompt', sessionId=name, prompt=[{'type': 'text', 'text': 'x'}]), False

    def cancel(self, name, s):
        self.put('client', method='session/cancel', params={'sessionId': name})
        s.cancelled = s.turn is not None
        s.questions = dict.fromkeys(s.questions, True)

    def end(self, name, s):
        if s.turn is None:
            return
        while s.questions and self.dice.random() < .8:
            self.reply(name, s)
        while s.calls and not s.cancelled:
            self.update(name, 'tool_call_update', toolCallId=s.calls.pop(), status='completed')
        s.calls = []
        if not s.cancelled and self.dice.random() < .1:
            self.fail(s.turn, self.dice.choice([-32603, 429, -32000]))
        else:
            self.give('agent', s.turn, stopReason='cancelled' if s.cancelled else self.dice.choice(['end_turn', 'max_tokens', 'refusal']))
        s.turn = None

    def say(self, name, s):
        if s.turn is not None:
            self.update(name, self.dice.choice(['agent_message_chunk', 'agent_thought_chunk', 'user_message_chunk']),
                        content={'type': 'text', 'text': self.dice.choice(['a', '', '"\\\n'])})

    def usage(self, name, s):
        s.cost += self.dice.choice([0, .5])
        self.update(name, 'usage_update', used=self.dice.randint(0, 10), size=10,
                    **self.dice.choice([{}, {'cost': None}, {'cost': {'amount': s.cost, 'currency': 'USD'}}]))

    def call(self, name, s):
        if s.turn is None:
            return
        s.number += 1
        status = self.dice.choice(['pending', 'in_progress', 'completed', 'failed', None])
        self.update(name, 'tool_call', toolCallId=f'c{s.number}', title='t', **({'status': status} if status else {}))
        if status not in ('completed', 'failed'):
            s.calls.append(f'c{s.number}')

    def change(self, name, s):
        if s.calls:
            call, status = self.dice.choice(s.calls), self.dice.choice(['in_progress', 'completed', 'failed', None])
            self.update(name, 'tool_call_update', toolCallId=call, **({'status': status} if status else {'rawOutput': [1]}))
            if status in ('completed', 'failed'):
                s.calls.remove(call)

    def question(self, name, s):
        if s.calls:
            i = self.ask('agent', 'session/request_permission', sessionId=name, toolCall={'toolCallId': self.dice.choice(s.calls)}, options=OPTIONS)
            s.questions[i] = False

    def reply(self, _, s):
        if s.questions:
            i = self.dice.choice(list(s.questions))
            was_cancelled = s.questions.pop(i)
            chosen = not was_cancelled and self.dice.random() < .6
            self.give('client', i, outcome={'outcome': 'selected', 'optionId': 'y'} if chosen else {'outcome': 'cancelled'})

    def read(self, name, _):
        i = self.ask('agent', 'fs/read_text_file', sessionId=name, path='/a')
        self.later.append(lambda: self.give('client', i, content=''))

    def terminal(self, name, _):
        terminal = self.dice.choice(['t1', 't2', 't3'])
        if (name, terminal) in self.terminals:
            return
        self.terminals.add((name, terminal))
        i = self.ask('agent', 'terminal/create', sessionId=name, command='x')

        def use():
            does = self.dice.choice(['release', 'kill'])
            j = self.ask('agent', f'terminal/{does}', sessionId=name, terminalId=terminal)

            def used():
                self.give('client', j)
                if does == 'kill':
                    self.later.append(use)
                else:
                    self.terminals.remove((name, terminal))
            self.later.append(used)
        self.later.append(lambda: (self.give('client', i, terminalId=terminal), self.later.append(use)))

    def extend(self, *_):
        side = self.dice.choice(['client', 'agent'])
        if self.dice.random() < .5:
            self.put(side, method='_x/y', params=self.dice.choice([{}, [1], {'a': None}]))
            return
        i = self.ask(side, '_z')
        self.later.append(lambda: self.put(OTHER[side], id=i, result=self.dice.choice([1, None, {}, 'x'])))


def break_rule(dice, messages):
    """Makes one thing wrong. Returns the rule that it breaks, or None where the session has nothing for it."""
    def pick(fits):
        found = [i for i, (_, m) in enumerate(messages) if i > 3 and fits(m)]
        return dice.choice(found) if found else None

    def result(m):
        return m['result'] if isinstance(m.get('result'), dict) else {}

    rule = dice.choice(['response-unknown', 'unanswered', 'schema', 'cancelled-turn', 'permission-option', 'capability', 'tool-call-unknown'])
    if rule in ('response-unknown', 'unanswered'):
        at = pick(lambda m: 'method' not in m)
        if at and rule == 'unanswered':
            del messages[at]
        elif at:
            messages.insert(dice.randint(at + 1, len(messages)), messages[at])
    elif rule == 'schema':
        at = pick(lambda m: m.get('method') == 'session/update')
        if at:
            messages[at][1]['params']['sessionId'] = 5
    elif rule == 'cancelled-turn':
        at = pick(lambda m: result(m).get('stopReason') == 'cancelled')
        if at:
            messages[at][1]['result']['stopReason'] = 'end_turn'
    elif rule == 'permission-option':
        at = pick(lambda m: 'optionId' in result(m).get('outcome', {}))
        if at:
            messages[at][1]['result']['outcome']['optionId'] = 'z'
    elif rule == 'tool-call-unknown':
        at = pick(lambda m: m.get('params') and m.get('method') == 'session/update' and m['params']['update']['sessionUpdate'] == 'tool_call_update')
        if at:
            messages[at][1]['params']['update']['toolCallId'] = 'none'
    else:
        at = dice.randint(2, len(messages))
        messages[at:at] = [('client', {'jsonrpc': '2.0', 'id': 'x', 'method': 'logout'}), ('agent', {'jsonrpc': '2.0', 'id': 'x', 'result': {}})]
    return rule if at else None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--count', type=int, default=int(os.environ.get('ACP_ROUNDS', 200)))
    parser.add_argument('--seed', type=int, default=int(os.environ.get('ACP_SEED', random.randrange(2**32))))
    o = parser.parse_args()
    print(f'seed {o.seed}')
    wanted, wrong = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(o.seed, o.seed + o.count):
            for name in (f'{seed}-right', f'{seed}-wrong'):
                messages = Walk(random.Random(seed)).messages
                rule = break_rule(random.Random(seed), messages) if name.endswith('wrong') else None
                if name.endswith('wrong') and not rule:
                    continue
                wanted[name] = rule
                with open(name, 'w', encoding='utf-8') as f:
                    for t, (side, m) in enumerate(messages):
                        f.write(json.dumps({'t': t, 'from': side, 'msg': m}) + '\n')
        # Whether usage is missing is chance here.
        done = subprocess.run(['acp-check', '-f', 'json', '-l', 'note', '-i', 'usage-missing', *wanted], stdout=subprocess.PIPE, check=False)
        found = {name: set() for name in wanted}
        for line in done.stdout.splitlines():
            finding = json.loads(line)
            found[finding['file']].add(f'{finding["rule"]} {finding["record"]}')
        for name, rule in wanted.items():
            if (found[name] and not rule) or (rule and not any(f.split()[0] == rule for f in found[name])):
                print(f'{name}: {rule or "no finding"} wanted: {sorted(found[name])}')
                wrong += 1
        os.chdir('/')
    print(f'{len(wanted)} walks, {sum(r is not None for r in wanted.values())} of them wrong, {wrong} judged differently')
    sys.exit(1 if wrong or not wanted or not any(wanted.values()) else 0)


main()
