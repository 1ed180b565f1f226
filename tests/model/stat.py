#!/usr/bin/env python3
"""Random sessions, and what acp-stat says of them beside an independent model.

The model keeps every interval and works with sets of them; acp-stat adds up as messages pass. Counts, sums, the
least and the greatest time have to be equal, percentiles within 1 %.

usage: stat.py [--seed N] [--count N] [--steps N]      acp-stat has to be in PATH
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

TIMES = ['total', 'first_update', 'first_text', 'silence', 'tools', 'user', 'model']


# --- sets of intervals

def union(intervals):
    out = []
    for b, e in sorted(i for i in intervals if i[1] > i[0]):
        if out and b <= out[-1][1]:
            out[-1] = (out[-1][0], max(e, out[-1][1]))
        else:
            out.append((b, e))
    return out


def length(intervals):
    return sum(e - b for b, e in intervals)


def clip(intervals, b, e):
    return [(max(b, x), min(e, y)) for x, y in intervals if min(e, y) > max(b, x)]


def without(intervals, holes):
    out = []
    for b, e in intervals:
        for x, y in holes:
            if y <= b or x >= e:
                continue
            if x > b:
                out.append((b, x))
            b = max(b, y)
        if b < e:
            out.append((b, e))
    return out


# --- the model

class Turn:
    def __init__(self, session, prompted):
        self.session, self.prompted, self.begin, self.end = session, prompted, None, None
        self.heard, self.first_update, self.first_text = [], None, None
        self.tools, self.waits, self.chunks, self.tokens = [], [], 0, None
        self.result, self.cancelled, self.accepted, self.busy, self.number = 'ended', False, False, False, 0

    def times(self):
        user = clip(union(self.waits), self.begin, self.end)
        tools = without(clip(union(self.tools), self.begin, self.end), user)
        total, points = self.end - self.begin, [self.begin, *self.heard, self.end]
        silence = max(y - x - length(clip(user, x, y)) for x, y in zip(points, points[1:]))
        of = lambda t: None if t is None else t - self.begin
        return {'total': total, 'first_update': of(self.first_update), 'first_text': of(self.first_text), 'silence': silence,
                'tools': length(tools), 'user': length(user), 'model': total - length(tools) - length(user)}


class Tool:
    def __init__(self, session, turn, t):
        self.session, self.turn, self.begin, self.end, self.waits = session, turn, t, None, []
        self.kind, self.renamed, self.failed, self.left = None, False, False, False

    def pieces(self):
        return without([(self.begin, self.end)] if self.end > self.begin else [], union(self.waits))


class Model:
    """One recording."""

    def __init__(self):
        self.requests, self.parents, self.loading = [], {}, {}
        self.methods, self.turns, self.tools, self.queues, self.numbers = {}, [], [], {}, {}
        self.lasts, self.replayed = {}, set()  # the last idle states; calls of a history
        self.starters, self.idle = {}, set()  # of sub-agents: the turn that started it; those that are idle

    def root(self, s):
        while s in self.parents:
            s = self.parents[s]
        return s

    def replays(self, s):
        """Is a history replayed, its own or that of a session above?"""
        while s in self.parents and not self.loading.get(s):
            s = self.parents[s]
        return self.loading.get(s)

    def active(self, s):
        """The open turn that it belongs to: of a sub-agent the one that started it."""
        queue = self.queues.get(self.root(s))
        turn = queue[0] if queue else None
        return turn if s not in self.parents or turn is self.starters[s] else None

    def open_tool(self, session, id):
        for t in reversed(self.tools):
            if t.session == session and t.id == id and t.turn_open:
                return t
        return None

    def end_tool(self, tool, t, left=False):
        if tool.end is None:
            tool.end, tool.left = t, left
            tool.waits = [(b, t if e is None else e) for b, e in tool.waits]
            if tool.turn and tool.turn.end is None:
                tool.turn.tools.append((tool.begin, t))

    def start(self, turn, t):
        turn.begin = t
        self.numbers[turn.session] = turn.number = self.numbers.get(turn.session, 0) + 1

    def new_turn(self, session, t, prompted):
        queue = self.queues.setdefault(session, [])
        turn = Turn(session, prompted)
        queue.append(turn)
        if queue[0] is turn:
            self.start(turn, t)
        return turn

    def end_turn(self, turn, t):
        queue = self.queues[turn.session]
        if queue[0] is not turn:
            queue.remove(turn)
            return
        for tool in self.tools:
            if tool.end is None and tool.session == turn.session:
                self.end_tool(tool, t, True)
            elif tool.end is None and tool.turn is turn:
                turn.tools.append((tool.begin, t))
                tool.turn = None
        turn.waits = [(b, t if e is None else e) for b, e in turn.waits]
        turn.end = t
        self.turns.append(turn)
        queue.pop(0)
        if queue:
            self.start(queue[0], t)

    def count(self, side, note, method, begin, end, failed):
        m = self.methods.setdefault((side, note, method), {'count': 0, 'failed': 0, 'open': 0, 'times': []})
        m['count'] += 1
        if end is None:
            m['open'] += 1
        elif not note:
            m['failed'] += failed
            m['times'].append(end - begin)

    def close(self, q, t, m):
        self.count(q['side'], False, q['method'], q['t'], t if m is not None else None, m is not None and 'error' in m)
        turn, wait = q.get('turn'), q.get('wait')
        if turn and turn in self.queues[turn.session]:
            result = (m or {}).get('result') or {}
            turn.accepted = 'messageId' in result and 'stopReason' not in result
            if not turn.accepted:
                turn.result = 'open' if m is None else 'failed' if 'error' in m else 'ended'
                turn.cancelled = result.get('stopReason') == 'cancelled'
                turn.tokens = (result.get('usage') or {}).get('outputTokens')
                self.end_turn(turn, t)
        if wait:
            wait[1] = t
        if 'loads' in q:
            self.loading[q['loads']] -= 1

    def end(self, t):
        while self.requests:
            self.close(self.requests.pop(0), t, None)
        for queue in self.queues.values():
            while queue:
                queue[0].result = 'open'
                self.end_turn(queue[0], t)
        for tool in self.tools:
            self.end_tool(tool, t, True)
            tool.turn_open = False
        self.parents, self.loading, self.queues, self.numbers, self.starters, self.idle = {}, {}, {}, {}, {}, set()
        self.lasts, self.replayed = {}, set()

    def see(self, t, side, m):
        if 'method' not in m:
            for q in self.requests:
                if q['id'] == m['id'] and q['side'] != side:
                    self.requests.remove(q)
                    turn = self.active(q['session']) if side == 'agent' and q['session'] else None
                    if turn and not self.replays(q['session']):
                        turn.heard.append(t)
                    self.close(q, t, m)
                    return
            return
        if m['method'] == 'initialize':
            self.end(t)
        params = m.get('params', {})
        s = params.get('sessionId')
        update = params.get('update') or {}
        if s is not None:
            self.queues.setdefault(s, [])
        if s is not None and side == 'agent':
            self.heard(t, s, m, update)
        if 'id' not in m:
            self.count(side, True, m['method'], t, t, False)
            if m['method'] == 'session/update':
                self.update(t, s, update)
            return
        q = {'id': m['id'], 'side': side, 'method': m['method'], 't': t, 'session': s}
        self.requests.append(q)
        if m['method'] == 'session/prompt':
            q['turn'] = self.new_turn(s, t, True)
        elif m['method'] in ('session/request_permission', 'elicitation/create'):
            q['wait'] = wait = [t, None]
            turn = self.active(s) if s else None
            if turn:
                turn.waits.append(wait)
            tool = self.open_tool(s, params['toolCall']['toolCallId']) if 'toolCall' in params else None
            if tool and tool.end is None:
                tool.waits.append(wait)
        elif m['method'] == 'session/load':
            q['loads'] = s
            self.loading[s] = self.loading.get(s, 0) + 1

    def heard(self, t, s, m, update):
        turn = self.active(s)
        if not turn or self.replays(s):
            return
        turn.heard.append(t)
        kind = update.get('sessionUpdate')
        if m['method'] != 'session/update' or kind == 'state_update':
            return
        if turn.first_update is None:
            turn.first_update = t
        if s == turn.session and kind in ('agent_message_chunk', 'agent_thought_chunk') and update['content']['text']:
            turn.chunks += 1
            if kind == 'agent_message_chunk' and turn.first_text is None:
                turn.first_text = t

    def update(self, t, s, u):
        kind = u['sessionUpdate']
        if kind == 'subagent_update':
            child, state = u['sessionId'], u.get('state', {}).get('state')
            new = child not in self.parents and self.root(s) != child
            if new or (self.parents.get(child) == s and child in self.idle and state == 'running'):
                self.parents[child] = s
                self.starters[child] = self.active(s)
                self.idle.discard(child)
            if state == 'idle':
                self.leave(child, t)
                self.idle.add(child)
        elif kind == 'state_update':
            self.state(t, s, u)
        elif kind in ('tool_call', 'tool_call_update') and self.replays(s):
            if not self.open_tool(s, u['toolCallId']):
                self.replayed.add((s, u['toolCallId']))
        elif kind in ('tool_call', 'tool_call_update'):
            self.tool(t, s, u, kind == 'tool_call')

    def leave(self, session, t):
        for tool in self.tools:
            if tool.session == session:
                self.end_tool(tool, t, True)

    def state(self, t, s, u):
        queue, key, last = self.queues.setdefault(s, []), [u.get('usage'), u.get('stopReason')], self.lasts.get(s)
        if u['state'] == 'idle':
            if s in self.parents:
                self.leave(s, t)
                self.idle.add(s)
            ends = queue and (queue[0].accepted or queue[0].busy or not queue[0].prompted)
            # Work that nobody announced: it used something else than the last.
            if not queue and s not in self.parents and last not in (None, key) and u.get('usage'):
                ends = self.new_turn(s, t, False)
            if ends or last is None:
                self.lasts[s] = key
            if ends:
                turn = queue[0]
                turn.cancelled = u.get('stopReason') == 'cancelled'
                turn.tokens = (u.get('usage') or {}).get('outputTokens')
                for other in [q for q in queue[1:] if q.accepted]:
                    queue.remove(other)
                self.end_turn(turn, t)
        elif u['state'] == 'running' and queue:
            queue[0].busy = True
        elif u['state'] == 'running' and s not in self.parents:
            self.new_turn(s, t, False)

    def tool(self, t, s, u, first):
        tool = self.open_tool(s, u['toolCallId'])
        if first:
            self.replayed.discard((s, u['toolCallId']))
        elif (s, u['toolCallId']) in self.replayed:
            return
        if tool and tool.end is not None:
            if not first:
                return
            tool.turn_open, tool = False, None
        final = u.get('status') in ('completed', 'failed', 'cancelled')
        if not tool:
            tool = Tool(s, self.active(s), t)
            tool.id, tool.turn_open = u['toolCallId'], True
            self.tools.append(tool)
        kind = u.get('kind', tool.kind or '')
        tool.renamed |= tool.kind is not None and kind != tool.kind
        tool.kind = kind
        if final:
            tool.failed = u['status'] == 'failed'
            self.end_tool(tool, t)


# --- random sessions

class Maker:
    def __init__(self, rng, steps):
        self.rng, self.t, self.out, self.ids = rng, rng.randrange(10 ** 6), [], {'client': 0, 'agent': 0}
        self.v2 = rng.random() < .4
        self.sessions = ['s%d-%s' % (i, rng.choice(['', 'é', '"quoted"', 'a\\b'])) for i in range(rng.randint(1, 3))]
        self.children, self.asked, self.prompts, self.tools = [], [], [], []
        self.hello()
        for _ in range(steps):
            self.step()
        if rng.random() < .7:
            while self.prompts:
                self.finish(self.prompts[0])

    def wait(self):
        r = self.rng.random()
        self.t += 0 if r < .1 else int(10 ** self.rng.uniform(0, 3 if r < .7 else 7))

    def say(self, side, m):
        self.wait()
        if self.rng.random() < .02:
            self.out.append({'t': self.t, 'from': side, 'noise': 'not JSON'})
        self.out.append({'t': self.t, 'from': side, 'msg': dict({'jsonrpc': '2.0'}, **m)})

    def request(self, side, method, params):
        self.ids[side] += 1
        id = self.ids[side] if self.rng.random() < .9 else str(self.ids[side])
        self.say(side, {'id': id, 'method': method, 'params': params})
        return id

    def update(self, s, update, **members):
        self.say('agent', {'method': 'session/update', 'params': {'sessionId': s, 'update': dict({'sessionUpdate': update}, **members)}})

    def hello(self):
        id = self.request('client', 'initialize', {'protocolVersion': 2 if self.v2 else 1})
        info = {'name': '@agentclientprotocol/claude-agent-acp', 'version': '0.100.0'}
        self.say('agent', {'id': id, 'result': {'protocolVersion': 2, 'info': info} if self.v2 else
                           {'protocolVersion': 1, 'agentInfo': info}})

    def usage(self):
        n, m = self.rng.randrange(1000), self.rng.randrange(1000)
        return {'usage': {'totalTokens': n + m, 'inputTokens': n, 'outputTokens': m}} if self.rng.random() < .7 else {}

    def finish(self, q):
        if self.v2:
            q = next(p for p in self.prompts if p[0] == q[0])
        self.prompts.remove(q)
        s, id = q
        stop = self.rng.choice(['end_turn', 'end_turn', 'max_tokens', 'cancelled'])
        # What lib/usage makes of a version 2 prompt that waits for one that fails is not the matter here.
        if self.rng.random() < .1 and not (self.v2 and any(x == s for x, _ in self.prompts)):
            self.say('agent', {'id': id, 'error': {'code': -32603, 'message': 'no'}})
        elif self.v2:
            self.say('agent', {'id': id, 'result': {'messageId': 'm%s' % id}})
            if self.rng.random() < .9:
                self.update(s, 'state_update', state='running')
            for _ in range(self.rng.randrange(6)):
                self.work(s)
            if self.rng.random() < .9:
                self.update(s, 'state_update', state='idle', stopReason=stop, **self.usage())
        else:
            self.say('agent', {'id': id, 'result': dict({'stopReason': stop}, **self.usage())})

    def work(self, s):
        kind = self.rng.choice(['text', 'text', 'thought', 'empty', 'plan', 'tool', 'tool', 'end', 'end', 'ask', 'reply', 'file', 'mode'])
        if kind in ('text', 'thought', 'empty'):
            self.update(s, 'agent_thought_chunk' if kind == 'thought' else 'agent_message_chunk',
                        content={'type': 'text', 'text': '' if kind == 'empty' else 'words'})
        elif kind == 'plan':
            self.update(s, 'plan', entries=[])
        elif kind == 'tool':
            id = self.rng.choice(['t%d' % len(self.tools), 'again'])
            self.tools.append((s, id))
            members = {'kind': self.rng.choice(['read', 'edit', 'execute'])} if self.rng.random() < .9 else {}
            self.update(s, 'tool_call_update' if self.v2 else 'tool_call', toolCallId=id, title='t', status='pending', **members)
        elif kind == 'end' and self.tools:
            s, id = self.tools.pop(self.rng.randrange(len(self.tools)))
            self.update(s, 'tool_call_update', toolCallId=id, status=self.rng.choice(['completed', 'completed', 'failed', 'in_progress']))
        elif kind == 'ask':
            params = {'sessionId': s, 'options': []}
            mine = [id for x, id in self.tools if x == s]
            if mine:
                params['toolCall'] = {'toolCallId': self.rng.choice(mine)}
            self.asked.append(self.request('agent', 'session/request_permission', params) if mine or self.rng.random() < .5 else
                              self.request('agent', 'elicitation/create', {'sessionId': s, 'message': 'm'}))
        elif kind == 'reply' and self.asked:
            self.say('client', {'id': self.asked.pop(self.rng.randrange(len(self.asked))), 'result': {}})
        elif kind == 'mode':
            id = self.request('client', 'session/set_mode', {'sessionId': s, 'modeId': 'm'})
            if self.rng.random() < .9:
                self.say('agent', {'id': id, 'result': {}})
        elif kind == 'file':
            id = self.request('agent', 'fs/read_text_file', {'sessionId': s, 'path': '/x'})
            if self.rng.random() < .9:
                self.say('client', {'id': id, 'result': {'content': ''}} if self.rng.random() < .8 else
                         {'id': id, 'error': {'code': -32002, 'message': 'no'}})

    def step(self):
        s, r = self.rng.choice(self.sessions), self.rng.random()
        if r < .12:
            self.prompts.append((s, self.request('client', 'session/prompt', {'sessionId': s, 'prompt': []})))
        elif r < .2 and self.prompts:
            self.finish(self.rng.choice(self.prompts))
        elif r < .24:
            child = 'c%d' % len(self.children)
            self.children.append(child)
            self.update(s, 'subagent_update', sessionId=child, state={'state': 'running'})
        elif r < .27 and self.children:
            child = self.rng.choice(self.children)
            if self.rng.random() < .4:
                self.update(child, 'state_update', state='idle')
            else:
                self.update(s, 'subagent_update', sessionId=child, state={'state': self.rng.choice(['idle', 'running'])})
        elif r < .28 and not self.v2:
            id = self.request('client', 'session/load', {'sessionId': s, 'cwd': '/'})
            for _ in range(self.rng.randrange(4)):
                self.work(s)
            self.say('agent', {'id': id, 'result': {}})
        elif r < .29 and self.v2:
            self.update(s, 'state_update', state=self.rng.choice(['running', 'idle']))
        elif r < .293:
            self.hello()
            self.children, self.asked, self.prompts, self.tools = [], [], [], []
        else:
            self.work(self.rng.choice(self.sessions + self.children))

    def write(self, path):
        with open(path, 'w') as f:
            f.write('{"acp-recording":1,"started":"2026-11-22T10:00:00.000000Z"}\n')
            for r in self.out:
                f.write('{"t":%d.%06d,"from":"%s",' % (r['t'] // 10 ** 6, r['t'] % 10 ** 6, r['from']) +
                        ('"noise":"not JSON"}\n' if 'noise' in r else '"msg":%s}\n' % json.dumps(r['msg'])))


# --- comparing

def run(*args):
    p = subprocess.run(['acp-stat', *args], capture_output=True, text=True)
    if p.returncode or p.stderr:
        sys.exit('acp-stat %s: status %d: %s' % (' '.join(args), p.returncode, p.stderr))
    return p.stdout


def rows(*args):
    lines = [json.loads(line) for line in run('-f', 'json', *args).splitlines()]
    assert lines[-1] == {'acp-stat': 1, 'rows': len(lines) - 1, 'final': True}, lines[-1]
    return lines[:-1]


def same(what, is_, want):
    if is_ != want:
        sys.exit('%s: acp-stat says %r, the model %r' % (what, is_, want))


def same_times(what, h, values):
    values = sorted(values)
    same(what + ': count', h['count'], len(values))
    if not values:
        return
    same(what, (h['sum_us'], h['min_us'], h['max_us']), (sum(values), values[0], values[-1]))
    same(what + ': buckets', sum(n for _, n in h['buckets']), len(values))
    for p in (50, 90, 99):
        exact = values[max(0, -(-p * len(values) // 100) - 1)]
        if abs(h['p%d_us' % p] - exact) > exact * .01:
            sys.exit('%s: p%d is %d, and exactly %d' % (what, p, h['p%d_us' % p], exact))


def same_turns(what, row, turns):
    ended = [t for t in turns if t.result != 'open']
    same(what, (row['count'], row['open'], row['failed'], row['cancelled'], row['chunks']),
         (len(turns), len(turns) - len(ended), sum(t.result == 'failed' for t in ended), sum(t.cancelled for t in ended),
          sum(t.chunks for t in ended)))
    same(what + ': tokens', row['output_tokens'], sum(t.tokens or 0 for t in ended))
    for name in TIMES:
        same_times(what + ': ' + name, row[name], [v for v in (t.times()[name] for t in ended) if v is not None])


def same_tools(row, models):
    tools = [t for m in models for t in m.tools if (t.kind or 'other') == row['name']]
    same('tool ' + row['name'], (row['count'], row['failed'], row['open']),
         (len(tools), sum(t.failed for t in tools), sum(t.left for t in tools)))
    same_times('tool ' + row['name'], row['time'], [length(t.pieces()) for t in tools if not t.left])


def compare(paths, models):
    methods, turns = {}, [t for m in models for t in m.turns]
    for m in models:
        for key, v in m.methods.items():
            to = methods.setdefault(key, {'count': 0, 'failed': 0, 'open': 0, 'times': []})
            for name in v:
                to[name] += v[name]
    each = [json.loads(line) for line in run('-f', 'json', '--by', 'turn', *paths).splitlines()]
    same('turns', len(each), len(turns))
    for r, t in zip(each, turns):
        want = {k + '_us': v for k, v in t.times().items() if v is not None and (t.result != 'open' or k.startswith('first_'))}
        same('turn %s/%d' % (t.session, t.number), (r['session'], r['turn'], r['result']), (t.session, t.number, t.result))
        same('tokens of turn %s/%d' % (t.session, t.number), r.get('output_tokens'), t.tokens)
        same('turn %s/%d' % (t.session, t.number), {k: v for k, v in r.items() if k.endswith('_us')}, want)
    said = rows(*paths)
    got = [r for r in said if r['row'] == 'method']
    same('methods', sorted((r['from'], r['notification'], r['name']) for r in got), sorted(methods))
    for r in got:
        want = methods[r['from'], r['notification'], r['name']]
        same(r['name'], (r['count'], r['failed'], r['open']), (want['count'], want['failed'], want['open']))
        same_times(r['name'], r['latency'], want['times'])
    for r in said:
        if r['row'] == 'turn':
            same_turns('all turns', r, turns)
        elif r['row'] == 'tool':
            same_tools(r, models)
    same('kinds', sorted(r['name'] for r in said if r['row'] == 'tool' and r['count']),
         sorted({t.kind or 'other' for m in models for t in m.tools}))
    for r in rows('--by', 'session', *paths):
        same_turns('session ' + r['name'], r, [t for t in turns if t.session == r['name']])
    for r in said:
        if r['row'] == 'tool' and len(models) == 1:
            pieces = [p for t in models[0].tools for p in t.pieces() if (t.kind or 'other') == r['name']]
            # acp-stat adds a piece to the kind that the call has when the piece ends.
            if not any(t.renamed for t in models[0].tools):
                same('busy ' + r['name'], r['busy_us'], length(union(pieces)))


def merged(paths, rng):
    """Reports of parts, in any order, add up to the report of all, to the byte."""
    parts = []
    for p in paths:
        with open(p + '.json', 'w') as f:
            f.write(run('-f', 'json', p))
        parts.append(p + '.json')
    rng.shuffle(parts)
    same('--merge', run('--merge', '-f', 'json', *parts), run('-f', 'json', *paths))


def one_round(seed, steps, folder):
    rng = random.Random(seed)
    paths, models = [], []
    for i in range(rng.randint(1, 3)):
        maker, model = Maker(rng, rng.randint(1, steps)), Model()
        path = os.path.join(folder, '%d.rec' % i)
        maker.write(path)
        last = 0
        for r in maker.out:
            if 'msg' in r:
                last = r['t']
                model.see(r['t'], r['from'], r['msg'])
        model.end(last)
        paths.append(path)
        models.append(model)
    compare(paths, models)
    merged(paths, rng)


def main():
    args = argparse.ArgumentParser()
    args.add_argument('--seed', type=int, default=int(os.environ.get('ACP_SEED', int.from_bytes(os.urandom(4), 'big'))))
    args.add_argument('--count', type=int, default=20)
    args.add_argument('--steps', type=int, default=200)
    args = args.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.count):
            print('seed', seed, flush=True)
            one_round(seed, args.steps, folder)
    print('%d rounds agree' % args.count)


if __name__ == '__main__':
    main()
