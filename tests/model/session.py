#!/usr/bin/env python3
"""Random streams, and what lib/session makes of them beside an independent fold of the same messages.

session-events (build/helper) prints the events of lib/session, a line each; the fold here, written from the protocol,
has to print the same lines.

usage: session.py [--seed N] [--count N] [--steps N]      session-events has to be in PATH
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

OPENS = {'session/new': 'new', 'session/fork': 'forked', 'nes/start': 'nes'}
CLOSES = ('session/close', 'session/delete', 'nes/close')
ABOUT_ANY = ('session/fork', 'session/archive', 'session/unarchive', 'session/set_title', 'session/status', 'session/list', *CLOSES)
ASKS = ('session/request_permission', 'elicitation/create')
CLIENT = ('session/', 'initialize', 'proxy/initialize', 'nes/', 'document/')
AGENT = ('_acp-revive/', 'session/update', 'session/request_permission', 'elicitation/', 'fs/')


def speaker(method):
    """The side whose method it is."""
    return 'agent' if method.startswith(AGENT) else 'client' if method.startswith(CLIENT) else 'unknown'


def other(side):
    return {'client': 'agent', 'agent': 'client'}.get(side, 'unknown')


class Entry(dict):
    """Members by name; equal only to itself."""
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class Session:
    def __init__(self, id, how):
        self.id, self.how, self.parent, self.closed, self.plain = id, how, None, False, False
        self.turns, self.calls, self.history, self.number, self.idle = [], {}, 0, 0, None
        self.starter, self.resting = None, False  # of a sub-agent: the turn that started it


class Fold:
    def __init__(self):
        self.out, self.t, self.connected = [], 0, False
        self.clear()

    def clear(self):
        self.sessions, self.requests, self.open, self.questions = {}, [], [], []
        self.plain = self.v2 = False
        self.doubtful = set()  # requests and turns that were open as messages were lost

    def say(self, *words):
        self.out.append('%d %s' % (self.t, ' '.join(w for w in map(str, words) if w)))

    # --- sessions

    @staticmethod
    def root(s):
        while s.parent:
            s = s.parent
        return s

    def turn_of(self, s):
        turns = self.root(s).turns
        return turns[0] if turns and (not s.parent or turns[0] is s.starter) else None

    @staticmethod
    def replayed(s):
        while s and not s.history:
            s = s.parent
        return s is not None

    def known(self, event, s):
        self.say(event, s.id, s.how, 'below', s.parent.id if s.parent else '-')

    def speak(self, id, how, wrapped, parent=None):
        s = self.sessions.get(id)
        fresh = s is None
        if fresh:
            s = self.sessions[id] = Session(id, how)
            s.parent = parent
        s.plain |= not wrapped
        if fresh:
            self.known('began', s)
        elif s.closed or (s.how == 'named' and how != 'named'):
            s.how, s.closed = how, False
            self.known('opened', s)
        return s

    # --- turns

    def begin_turn(self, turn):
        s = turn['s']
        s.number += 1
        turn['n'], turn['begin'] = s.number, self.t
        self.say('turn-began', s.id, self.turn_text(turn))

    @staticmethod
    def turn_text(turn):
        return 'turn %d of %s%s' % (turn['n'], turn['s'].id, ' prompted' * turn['prompted'])

    def new_turn(self, s, prompted):
        turn = Entry(s=s, n=0, asked=self.t, begin=0, prompted=prompted, accepted=False, busy=False)
        s.turns.append(turn)
        if len(s.turns) == 1:
            self.begin_turn(turn)
        else:
            self.say('turn-queued', s.id, self.turn_text(turn))
        return turn

    def end_turn(self, turn, stop=None, failed=False, unfinished=False, joined=False, leave=False):
        s = turn['s']
        first = s.turns[0] is turn
        if first and not leave:
            self.end_calls(s)
        self.say('turn-ended', s.id, self.turn_text(turn), '%d-%d-%d' % (turn['asked'], turn['begin'], self.t), 'stop',
                 json.dumps(stop) if stop is not None else '-', 'failed' * failed, 'unfinished' * unfinished, 'joined' * joined)
        for x in self.open + self.questions:
            if x['turn'] is turn:
                x['turn'] = None
        s.turns.remove(turn)
        for q in self.requests:
            if q.get('turn') is turn:
                q['turn'] = None
        if first and s.turns:
            self.begin_turn(s.turns[0])

    def abandon(self, s):
        while s.turns:
            self.end_turn(s.turns[0], unfinished=True)
        self.end_calls(s)

    # --- calls

    def call_text(self, event, call, *more):
        if not call['replayed']:
            turn = call['turn']
            self.say(event, call['s'].id, 'call', call['id'], 'in', turn['n'] if turn else 0, *more)

    def end_call(self, call, failed=False, unfinished=False):
        if call['ended']:
            return
        call['ended'] = True
        self.open.remove(call)
        self.call_text('call-ended', call, '%d-%d' % (call['begin'], self.t), 'failed' * failed, 'unfinished' * unfinished)
        call['turn'] = None

    def end_calls(self, s):
        for call in [c for c in self.open if c['s'] is s]:
            self.end_call(call, unfinished=True)

    def new_call(self, s, id, wrapped, announced, again=False):
        replayed = self.replayed(s)
        call = Entry(s=s, id=id, begin=self.t, turn=None if replayed else self.turn_of(s), ended=False,
                     announced=announced, wrapped=wrapped, replayed=replayed)
        s.calls[id] = call
        self.open.append(call)
        self.call_text('call-began', call, 'again' * again)
        return call

    def call(self, s, u, wrapped):
        id, first = u.get('toolCallId'), u['sessionUpdate'] == 'tool_call'
        if not isinstance(id, str):
            return
        call = s.calls.get(id)
        if call is not None and self.replayed(s):
            return
        twin = first and call is not None and call['wrapped'] == wrapped
        again = twin and call['announced'] and not call['replayed']
        if twin and (call['ended'] or call['replayed']):
            for q in self.questions:
                if q['call'] is call:
                    q['call'] = None
            if not call['ended']:
                self.end_call(call, unfinished=True)
            call = None
        if call is None:
            call = self.new_call(s, id, wrapped, True, again)
        else:
            call['announced'] = True
            self.call_text('call-changed', call, 'again' * again, 'late' * call['ended'])
        status = u.get('status')
        if isinstance(status, str) and status not in ('pending', 'in_progress', 'paused'):
            self.end_call(call, failed=status == 'failed')

    # --- states

    def state(self, s, state):
        name = state.get('state')
        if not isinstance(name, str):
            return
        self.say('state', s.id)
        key = json.dumps([state.get('usage'), state.get('stopReason')])
        if self.replayed(s):
            if name == 'idle':
                s.idle = key
            return
        if name in ('running', 'requires_action'):
            if s.turns:
                s.turns[0]['busy'] = True
            elif not s.parent:
                self.new_turn(s, False)
            return
        if name != 'idle':
            return
        s.resting = True
        turn = s.turns[0] if s.turns else None
        done = turn is not None and (turn['accepted'] or turn['busy'] or not turn['prompted'])
        if turn is None and not s.parent and s.idle not in (None, key) and isinstance(state.get('usage'), dict):
            turn, done = self.new_turn(s, False), True
        if done or s.idle is None:
            s.idle = key
        background = bool(state.get('background'))
        if done:
            for t in [t for t in s.turns[1:] if t['accepted']]:
                self.end_turn(t, joined=True)
            stop, error = state.get('stopReason'), isinstance(state.get('error'), dict)
            self.end_turn(turn, stop, failed=error or stop == 'error', leave=background)
        elif s.parent and not background:
            self.end_calls(s)

    def adopt(self, parent, u, wrapped):
        id = u.get('sessionId')
        if not isinstance(id, str):
            return
        child = self.sessions.get(id)
        fresh = child is None
        may = fresh or (not child.parent and self.root(parent) is not child)
        child = self.speak(id, 'child', wrapped, parent if fresh else None)
        if not fresh and may:
            child.parent = parent
            self.known('adopted', child)
        running = isinstance(u.get('state'), dict) and u['state'].get('state') == 'running'
        if may or (child.parent is parent and child.resting and running):
            child.starter, child.resting = self.turn_of(parent), False
        if isinstance(u.get('state'), dict):
            self.state(child, u['state'])

    # --- requests

    def find_request(self, side, id):
        for q in self.requests:
            if q['side'] == side and q['id'] == id and type(q['id']) is type(id):
                return q
        return None

    def latest(self, id):
        of = [q for q in (self.find_request(x, id) for x in ('unknown', 'client', 'agent')) if q]
        return max(of, key=self.requests.index, default=None)

    def close(self, q, m=None):
        self.requests.remove(q)
        s = q['s']
        self.say('responded', s.id if s else '', q['side'], json.dumps(q['method']), 'copy' * q['copy'], 'unanswered' * (m is None))
        ask = q.get('ask')
        if ask:
            ask['end'] = self.t
            self.questions.remove(ask)
            self.ask_text('answered', ask, ask['begin'], m is None)
        result = (m or {}).get('result')
        result = result if isinstance(result, dict) else {}
        method = q['method']
        if not q['copy']:
            if method in ('initialize', 'proxy/initialize') and m is not None and 'result' in m and not (q['wrapped'] and self.plain):
                self.v2 = result.get('protocolVersion') == 2
            if method in OPENS and isinstance(result.get('sessionId'), str):
                self.speak(result['sessionId'], OPENS[method], q['wrapped'])
            if method in ('session/load', 'session/resume') and s and s.history:
                s.history -= 1
                if not s.history:
                    self.say('history-ended', s.id)
            if method in CLOSES and s and m is not None and 'result' in m and not s.closed:
                s.closed = True
                self.say('closed', s.id)
        turn = q.get('turn')
        if turn:
            stop = result.get('stopReason')
            stop = stop if isinstance(stop, str) else None
            if self.accepts(m):
                turn['accepted'] = True
            else:
                self.end_turn(turn, stop, failed=m is not None and 'error' in m, unfinished=m is None)

    def accepts(self, m):
        result = m.get('result') if m is not None else None
        return isinstance(result, dict) and not isinstance(result.get('stopReason'), str) and (self.v2 or 'messageId' in result)

    def ask_text(self, event, ask, begin=None, unfinished=False):
        s, turn = ask['s'], ask['turn']
        self.say(event, s.id if s else '', 'about', ask['call']['id'] if ask['call'] else '-', 'in', turn['n'] if turn else 0,
                 '' if begin is None else '%d-%d' % (begin, self.t),
                 'unfinished' * unfinished)

    def ask(self, q, params, wrapped):
        s = q['s']
        ask = Entry(s=s, begin=self.t, turn=None, call=None)
        if s:
            ask['turn'] = self.turn_of(s)
            id = (params.get('toolCall') or {}).get('toolCallId')
            if isinstance(id, str):
                ask['call'] = s.calls.get(id) or self.new_call(s, id, wrapped, False)
        q['ask'] = ask
        self.questions.append(ask)
        self.ask_text('asked', ask)

    # --- what was lost

    def lose(self):
        self.doubtful.update(self.requests)
        for s in self.sessions.values():
            self.doubtful.update(s.turns)

    def give_up(self, which):
        for q in [q for q in self.requests if q in self.doubtful and which(q)]:
            self.close(q)

    def give_up_questions(self, member, of):
        if of is not None:
            self.give_up(lambda q: q.get('ask') and q['ask'][member] is of)

    # --- connections and messages

    def end(self):
        if not self.connected:
            return
        while self.requests:
            self.close(self.requests[0])
        for s in self.sessions.values():
            self.abandon(s)
        self.connected = False
        self.say('disconnected')
        self.clear()

    def response(self, side, m):
        q = None
        if side != 'unknown':
            q = self.find_request(other(side), m['id'])
        else:
            q = self.latest(m['id'])
            result = m.get('result') or {}
            if q and q['method'] == 'session/prompt' and 'error' not in m and not {'stopReason', 'messageId', 'usage', '_meta'} & set(result):
                q = self.find_request('agent', m['id']) or q
        if q:
            if not self.accepts(m):
                self.give_up_questions('turn', q.get('turn'))
            self.close(q, m)

    def see(self, t, side, m):
        self.t = max(self.t, t)
        wrapped = m.get('method') == 'proxy/successor'
        if wrapped:
            m = dict(m['params'], **({'id': m['id']} if 'id' in m else {}))
        method = m.get('method')
        if side == 'unknown' and method:
            side = other(speaker(method)) if wrapped else speaker(method)
        role = other(side) if wrapped else side
        begins = method in ('initialize', 'proxy/initialize') and 'id' in m and role != 'agent' and not (wrapped and self.plain)
        if begins:
            self.end()
        if not self.connected:
            self.connected, self.plain = True, begins and not wrapped
            self.say('connected')
        if not method:
            self.response(side, m)
            return
        params = m.get('params') or {}
        id = params.get('sessionId')
        s, copy = None, False
        if isinstance(id, str):
            s = self.sessions.get(id)
            if method not in ABOUT_ANY:
                copy = bool(wrapped and s and (s.plain or self.root(s).plain))
                if not copy:
                    s = self.speak(id, {'session/load': 'loaded', 'session/resume': 'resumed'}.get(method, 'named'), wrapped)
        if 'id' in m:
            self.request(side, m, s, params, wrapped, copy)
        elif method == '_acp-revive/restarted':
            if role != 'client' and not (wrapped and self.plain):
                self.restart(side)
        elif s and not copy:
            if method == 'session/cancel':
                self.say('cancel', s.id)
            elif method == 'session/update':
                self.update(s, params.get('update') or {}, wrapped)

    def restart(self, side):
        for q in [q for q in self.requests if q['side'] == side and side != 'unknown']:
            self.close(q)
        for s in self.sessions.values():
            self.abandon(s)
        self.say('restarted')

    def request(self, side, m, s, params, wrapped, copy):
        old = self.find_request(side, m['id']) if side != 'unknown' else None
        if old:
            self.close(old)
        q = Entry(side=side, id=m['id'], method=m['method'], s=s, wrapped=wrapped, copy=copy)
        self.requests.append(q)
        self.say('requested', s.id if s else '', side, json.dumps(m['method']), 'copy' * copy)
        if copy:
            return
        if m['method'] == 'session/prompt' and s:
            self.give_up(lambda q: q['s'] and s in (q['s'], self.root(q['s'])))
            while s.turns and s.turns[0] in self.doubtful:
                self.end_turn(s.turns[0], unfinished=True)
            q['turn'] = self.new_turn(s, True)
        elif m['method'] in ASKS:
            self.ask(q, params, wrapped)
        elif m['method'] in ('session/load', 'session/resume') and s:
            s.history += 1
            if s.history == 1:
                self.say('history-began', s.id)

    def update(self, s, u, wrapped):
        kind = u.get('sessionUpdate')
        if kind in ('tool_call', 'tool_call_update'):
            if isinstance(u.get('toolCallId'), str):
                self.give_up_questions('call', s.calls.get(u['toolCallId']))
            self.call(s, u, wrapped)
        elif kind == 'state_update':
            if u.get('state') == 'idle' and s.turns and not self.replayed(s):
                self.give_up_questions('turn', s.turns[0])
            self.state(s, u)
        elif kind == 'subagent_update':
            self.adopt(s, u, wrapped)
        elif kind == 'compaction_update':
            self.say('compaction', s.id)


# --- random streams

class Maker:
    """Messages of both sides in an order that peers could make, and now and then in one that they should not."""

    def __init__(self, rng, steps, loses=True):
        self.rng, self.t, self.out, self.last = rng, 0, [], {'client': 0, 'agent': 0}
        self.ids = ['S', 'T', 'é"\\', 'U', 'V']
        self.waiting = {'client': [], 'agent': []}
        self.v2 = rng.random() < .5
        # Both faces of a proxy, its far one only, or no envelopes at all.
        self.face = rng.choice(['plain', 'plain', 'plain', 'far', 'both'])
        self.blind = rng.random() < .2
        # Messages are lost, in some streams a lot.
        self.loses = rng.choice([0, 0, .02, .1]) if loses else 0
        if rng.random() < .9:
            self.hello()
        for _ in range(steps):
            self.step()

    def put(self, side, m):
        if self.rng.random() < self.loses:
            self.out.append((self.t, None, None))
            if self.rng.random() < .5:
                return
        r = self.rng.random()
        self.t += 0 if r < .3 else self.rng.randrange(1, 1000)
        self.out.append((self.t, 'unknown' if self.blind else side, dict({'jsonrpc': '2.0'}, **m)))

    def say(self, side, m):
        """side: whom it is spoken as. A proxy between both: the far face of what an agent says comes first."""
        faces = {'plain': [False], 'far': [True], 'both': [True, False] if side == 'agent' else [False, True]}[self.face]
        if self.face == 'both' and self.rng.random() < .1:
            faces = faces[:1]
        for far in faces:
            if not far or 'method' not in m:
                self.put(other(side) if far else side, m)
            else:
                inner = {k: m[k] for k in ('method', 'params') if k in m}
                outer = dict({'method': 'proxy/successor', 'params': inner}, **({'id': m['id'] + 1000} if 'id' in m else {}))
                self.put(other(side), outer)

    def request(self, side, method, params):
        if self.rng.random() < .97 or not self.last[side]:
            self.last[side] += 1
        m = {'id': self.last[side], 'method': method, 'params': params}
        self.waiting[side].append(m)
        self.say(side, m)
        return m

    def respond(self, side, m, **result):
        """side: who asked."""
        self.waiting[side].remove(m)
        end = {'error': {'code': -32603, 'message': 'no'}} if self.rng.random() < .1 else {'result': result}
        far = {'id': m['id'] + 1000, **end}
        near = {'id': m['id'], **end}
        answers = other(side)
        if self.face != 'plain':
            self.put(side, far) if self.face == 'far' or self.rng.random() < .95 else None
        if self.face != 'far':
            self.put(answers, near)

    def update(self, s, kind, **members):
        self.say('agent', {'method': 'session/update', 'params': {'sessionId': s, 'update': dict({'sessionUpdate': kind}, **members)}})

    def hello(self):
        m = self.request('client', 'proxy/initialize' if self.face == 'both' else 'initialize', {'protocolVersion': 2})
        if self.rng.random() < .9:
            self.respond('client', m, protocolVersion=2 if self.v2 else 1)

    def result(self, m):
        r, method = self.rng, m['method']
        if method == 'session/prompt':
            if self.v2 and r.random() < .9:
                return {'messageId': 'm'}
            return {'stopReason': r.choice(['end_turn', 'cancelled', 'max_tokens'])} if r.random() < .95 else {}
        if method in OPENS:
            return {'sessionId': r.choice(self.ids)}
        if method == 'session/request_permission':
            return {'outcome': {'outcome': 'cancelled'}}
        return {}

    def state(self):
        r = self.rng
        state = {'state': r.choice(['running', 'idle', 'idle', 'requires_action', 'unknown'])}
        if state['state'] == 'idle':
            if r.random() < .6:
                state['stopReason'] = r.choice(['end_turn', 'cancelled', 'error'])
            if r.random() < .5:
                state['usage'] = {'totalTokens': r.randrange(3)}
            if r.random() < .1:
                state['error'] = {'message': 'no'}
        if r.random() < .2:
            state['background'] = r.choice([[], [{'type': 'terminal', 'terminalId': 't'}]])
        return state

    def step(self):
        r = self.rng
        s, n = r.choice(self.ids), r.random()
        if n < .22:
            self.request('client', 'session/prompt', {'sessionId': s, 'prompt': []})
        elif n < .5:
            side = r.choice(['client', 'client', 'agent'])
            if self.waiting[side]:
                m = self.waiting[side][0] if r.random() < .8 else r.choice(self.waiting[side])
                self.respond(side, m, **self.result(m))
        elif n < .68:
            kind = 'tool_call' if not self.v2 and r.random() < .5 else 'tool_call_update'
            u = {'toolCallId': 'c%d' % r.randrange(6)}
            if r.random() < .8:
                u['status'] = r.choice(['pending', 'in_progress', 'paused', 'completed', 'completed', 'failed', 'rejected', 'cancelled', '_odd'])
            self.update(s, kind, **u)
        elif n < .78:
            self.update(s, r.choice(['agent_message_chunk', 'compaction_summary_chunk', 'plan']), content={'type': 'text', 'text': 'x{"'})
        elif n < .86 and (self.v2 or r.random() < .1):
            self.update(s, 'state_update', **self.state())
        elif n < .89:
            u = {'sessionId': r.choice(self.ids)}
            if r.random() < .7:
                u['state'] = self.state()
            self.update(s, 'subagent_update', **u)
        elif n < .92:
            params = {'sessionId': s, 'options': []}
            if r.random() < .8:
                params['toolCall'] = {'toolCallId': 'c%d' % r.randrange(6)}
            self.request('agent', r.choice(ASKS), params if r.random() < .9 else {'message': 'x'})
        elif n < .94:
            self.say('client', {'method': 'session/cancel', 'params': {'sessionId': s}})
        elif n < .96:
            side = r.choice(['client', 'agent'])
            if self.waiting[side]:
                self.put(side, {'method': '$/cancel_request', 'params': {'requestId': r.choice(self.waiting[side])['id']}})
        elif n < .985:
            method = r.choice(['session/new', 'session/load', 'session/load', 'session/resume', 'session/fork', 'nes/start', 'session/set_mode', *CLOSES])
            self.request('client', method, {} if method in ('session/new', 'nes/start') else {'sessionId': s, 'cwd': '/'})
        elif n < .99:
            self.say('client', {'method': 'document/didClose', 'params': {'sessionId': s, 'uri': 'file:///x'}})
        elif n < .995:
            self.update(s, 'compaction_update', status='completed')
        elif n < .997:
            self.hello()
        elif n < .998:
            self.say('agent', {'method': '_acp-revive/restarted', 'params': {'restarts': 1}})

    def write(self, path):
        with open(path, 'w') as f:
            f.write('{"acp-recording":1,"started":"2026-11-23T10:00:00.000000Z"}\n')
            for t, side, m in self.out:
                if side is None:
                    f.write('{"t":%d.%06d,"event":"lost","count":1}\n' % (t // 10 ** 6, t % 10 ** 6))
                    continue
                f.write('{"t":%d.%06d,"from":"%s","msg":%s}\n' % (t // 10 ** 6, t % 10 ** 6, side, json.dumps(m, ensure_ascii=self.rng.random() < .5)))


def one_round(seed, steps, folder):
    rng = random.Random(seed)
    maker, fold, path = Maker(rng, rng.randint(1, steps)), Fold(), os.path.join(folder, '%d.rec' % seed)
    maker.write(path)
    for t, side, m in maker.out:
        fold.see(t, side, m) if side else fold.lose()
    fold.end()
    p = subprocess.run(['session-events', path], capture_output=True, text=True)
    got = [line for line in p.stdout.splitlines() if 'forgotten' not in line.split()[1]]
    if p.returncode or p.stderr:
        sys.exit('seed %d: session-events: status %d: %s' % (seed, p.returncode, p.stderr))
    for i, (a, b) in enumerate(zip(got + ['nothing'] * len(fold.out), fold.out + ['nothing'] * len(got))):
        if a != b:
            sys.exit('seed %d, event %d: lib/session says\n  %s\nand the model\n  %s\nafter\n  %s' % (seed, i, a, b, '\n  '.join(got[max(0, i - 5):i])))
    os.unlink(path)
    return len(got)


def main():
    args = argparse.ArgumentParser()
    args.add_argument('--seed', type=int, default=int(os.environ.get('ACP_SEED', int.from_bytes(os.urandom(4), 'big'))))
    args.add_argument('--count', type=int, default=100)
    args.add_argument('--steps', type=int, default=200)
    args = args.parse_args()
    print('seed', args.seed, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        events = sum(one_round(seed, args.steps, folder) for seed in range(args.seed, args.seed + args.count))
    print('%d streams, %d events: agree' % (args.count, events))


if __name__ == '__main__':
    main()
