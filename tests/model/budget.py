#!/usr/bin/env python3
"""An independent model of acp-budget: random targets and limits, agents that answer, fail, hold and cancel."""
import json
import math

from stream import Failure, Tool, run

EXPLAINED = '[Output token target] A target'
NUDGE = '[Output token target] '


class Turn:
    """A prompt of the client's, and what has become of it."""

    def __init__(self, key, target):
        self.key, self.target, self.tokens, self.gains, self.nudges = key, target, 0, [], 0
        self.held = self.over = self.cancelled = False  # held: its own response has come
        self.lost = False  # it began in an earlier life of the tool


class Session:
    def __init__(self, name):
        self.name, self.explained, self.prompts, self.ended, self.used = name, False, 0, 0, 0
        self.running = []  # what the agent has not answered, in the order it got it: (id, turn, is a nudge)
        self.last = None   # the turn whose target goes on


class Model:
    def __init__(self, r):
        self.r, self.n, self.out = r, 0, {'down': [], 'up': []}
        self.threshold = r.choice([50, 90, 100])
        self.gain, self.most = r.choice([0, 100, 500]), r.choice([None, None, 0, 1, 3])
        self.target = r.choice([None, 1000, 5000])
        self.turns, self.tokens = r.choice([None, None, 2, 5]), r.choice([None, None, 3000])
        self.argv = ['acp-budget', '--status', 'none', '--threshold', str(self.threshold), '--min-gain', str(self.gain)]
        self.argv += ['--target', str(self.target)] if self.target else ['--from-prompt']
        for option, value in (('--max-continuations', self.most), ('--max-turns', self.turns), ('--max-tokens', self.tokens)):
            self.argv += [option, str(value)] if value is not None else []
        self.sessions = [Session('a'), Session('b"é'), Session('c')]
        self.answered, self.asked, self.reached = [], [], False

    def limit(self, s, prompt):
        turns = s.prompts if prompt else s.ended
        return (self.turns is not None and turns >= self.turns) or (self.tokens is not None and s.used >= self.tokens)

    # --- what the client does ---

    def prompt(self, s):
        r = self.r
        self.n += 1
        key = r.choice([self.n, f'p{self.n}'])
        text, target = r.choice([('work', None), ('+1k work', 1000), ('work use 2k tokens', 2000), ('\u3000+4k\u00a0go', 4000)])
        target = self.target or target
        self.asked.append(key)
        self.reach(s)
        line = {'jsonrpc': '2.0', 'id': key, 'method': 'session/prompt',
                'params': {'sessionId': s.name, 'prompt': [{'type': 'text', 'text': text}]}}
        if self.limit(s, True):
            self.drop(s)
            self.reached = True
            self.out['up'].append(('refused', key))
            return line
        self.drop(s)
        s.last = turn = Turn(key, target)
        s.prompts += 1
        blocks = [text]
        if target and not s.explained:
            s.explained = True
            blocks.append(EXPLAINED)
        s.last = turn if target else None
        self.out['down'].append(('prompt', s, turn, key, blocks))
        return line

    def drop(self, s):
        """A new prompt replaces the target that runs."""
        if s.last:
            s.last.over = True
        s.last = None

    def cancel(self, s):
        line = {'jsonrpc': '2.0', 'method': 'session/cancel', 'params': {'sessionId': s.name}}
        self.out['down'].append(('as it is', line))
        for _, turn, _ in s.running:
            if turn.target and not turn.lost:
                turn.cancelled = turn.over = True
        s.last = None
        return line

    # --- what the agent does ---

    def answer(self, s):
        r = self.r
        key, turn, nudge = s.running.pop(r.randrange(len(s.running)) if r.random() < .1 else 0)
        tokens = r.choice([0, 50, 400, 900, 1000, 3000])
        kind = r.choice(['end_turn'] * 6 + ['max_tokens', 'refusal', 'error'])
        if turn.cancelled:
            kind = r.choice(['cancelled', 'cancelled', 'error', 'end_turn'])
        if kind == 'error':
            tokens, outcome = 0, {'error': {'code': -32000, 'message': 'no'}}
        else:
            usage = {'totalTokens': tokens + 10, 'inputTokens': 10, 'outputTokens': tokens}
            outcome = {'result': {'stopReason': kind, 'usage': usage, '_meta': {'n': self.n}}}
        line = {'jsonrpc': '2.0', 'id': key, **outcome}
        if turn.lost:
            if not nudge:
                self.to_client(turn, line)
            return line
        s.used += tokens + 10 if kind != 'error' else 0
        self.ends(s, turn, nudge, kind, tokens, line)
        return line

    def ends(self, s, turn, nudge, kind, tokens, line):
        """What the client gets, and whether the agent gets another nudge."""
        if not nudge and not turn.target:
            s.ended += 1
            return self.to_client(turn, line)
        turn.tokens += tokens
        turn.gains = [tokens] + turn.gains[:1]
        if not nudge:
            turn.line = line
        elif kind != 'error':
            usage, more = turn.line['result']['usage'], line['result']['usage']
            turn.line['result']['usage'] = {k: usage[k] + more[k] for k in usage}
            turn.line['result']['stopReason'] = kind
        elif turn.cancelled:
            turn.line['result']['stopReason'] = 'cancelled'
        if self.goes_on(s, turn, kind):
            turn.nudges += 1
            turn.held = True
            self.out['down'].append(('nudge', s, turn))
            return None
        if s.last is turn:
            s.last = None
        s.ended += 1
        return self.to_client(turn, turn.line)

    def goes_on(self, s, turn, kind):
        few = len(turn.gains) > 1 and all(g < self.gain for g in turn.gains)
        return not (turn.over or self.limit(s, False) or kind != 'end_turn' or turn.tokens * 100 >= turn.target * self.threshold
                    or (self.most is not None and turn.nudges >= self.most) or (turn.nudges >= 3 and few))

    def to_client(self, turn, line):
        self.out['up'].append(('response', turn.key, line))

    def reach(self, s):
        self.reached |= self.limit(s, False)

    def restart(self):
        """All that was known is gone; what was held is lost."""
        for i, s in enumerate(self.sessions):
            new = self.sessions[i] = Session(s.name)
            new.running = s.running
            for _, turn, _ in s.running:
                if turn.held and not turn.lost:
                    self.asked.remove(turn.key)
                turn.lost = True
        self.reached = False

    # --- what has come ---

    def compare(self, lane, lines):
        wanted, self.out[lane] = self.out[lane], []
        if len(lines) != len(wanted):
            raise Failure(f'{lane}: {lines!r}, not {wanted!r}')
        for line, want in zip(lines, wanted):
            if not getattr(self, 'is_' + want[0].replace(' ', '_'))(json.loads(line), *want[1:]):
                raise Failure(f'{lane}: {line!r}, not {want!r}')

    def is_as_it_is(self, m, line):
        return m == line

    def is_prompt(self, m, s, turn, key, blocks):
        s.running.append((key, turn, False))
        texts = [b['text'] for b in m['params']['prompt']]
        return m['id'] == key and m['params']['sessionId'] == s.name and texts[:1] == blocks[:1] and len(texts) == len(blocks) \
            and all(t.startswith(b) for t, b in zip(texts[1:], blocks[1:]))

    def is_nudge(self, m, s, turn):
        s.running.append((m['id'], turn, True))
        text = m['params']['prompt'][0]['text']
        counts = json.loads(text.split('\n')[1])
        return m['id'].startswith('acp-budget-') and m['params']['sessionId'] == s.name \
            and text.startswith(f'{NUDGE}{math.floor(turn.tokens * 100 / turn.target)}% of the target') \
            and counts['turn'] == turn.tokens and counts['budget'] == turn.target

    def is_refused(self, m, key):
        self.answered.append(m['id'])
        return m['id'] == key and m['error']['code'] == -32603 and ' is reached: ' in m['error']['message']

    def is_response(self, m, key, line):
        self.answered.append(m['id'])
        return m == {**line, 'id': key}


def one(r):
    model = Model(r)
    tool = Tool(model.argv)

    def step(lane, lines):
        tool.send(lane, [json.dumps(line).encode() for line in lines])
        out = tool.settle()
        for to in out:
            model.compare(to, out[to])

    try:
        for _ in range(r.randrange(5, 60)):
            if r.random() < .04:
                tool.restart()
                model.restart()
            s = r.choice(model.sessions)
            if s.running and r.random() < .7:
                step('up', [model.answer(s)])
            elif s.running and r.random() < .3:
                step('down', [model.cancel(s)])
            else:
                step('down', [model.prompt(s)])
        for s in model.sessions:
            while s.running:
                step('up', [model.answer(s)])
            model.reach(s)
        out, status = tool.close()
        if out['up'] or out['down']:
            raise Failure(f'at the end: {out!r}')
        if status != (1 if model.reached else 0):
            raise Failure(f'exit status {status}')
        if sorted(map(str, model.answered)) != sorted(map(str, model.asked)):
            raise Failure(f'answered {model.answered}, asked {model.asked}')
    except BaseException:
        print(' '.join(model.argv))
        tool.kill()
        raise


if __name__ == '__main__':
    run('budget', one, 30)
