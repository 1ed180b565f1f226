#!/usr/bin/env python3
"""An independent model of acp-inject: random rules and streams, and what must come out of them."""
import json
import sys

from stream import Failure, Tool, dump, run, spelled

METHODS = ['session/prompt', 'session/set_mode', 'fs/read_text_file', '_x/one', '_x/two', '_x/note', 'session/update', '_x/three']
SESSIONS = ['s1', 's2', 'sé"3']


class Open:
    """A request that waits for its response."""

    def __init__(self, key, method, session):
        self.key, self.method, self.session = key, method, session


class Wanted:
    """A line that is to come: exact bytes; or a value; or a request of the tool's own."""

    def __init__(self, exact=None, value=None, own=None):
        self.exact, self.value, self.own = exact, value, own

    def __repr__(self):
        return repr(self.exact or self.value or self.own)


class Held:
    def __init__(self, lane, line, later):
        self.lane, self.line, self.later, self.waits = lane, line, later, 0


class Rules:
    """Options, and what each does, written anew."""

    def __init__(self, r):
        self.argv, self.edit, self.answers, self.sends, self.contexts = ['acp-inject'], None, [], [], []
        self.session = None
        if r.random() < .2:
            self.session = r.choice(SESSIONS)
            self.argv += ['--session', self.session]
        if r.random() < .7:
            self.add_edit(r)
        for _ in range(r.randrange(3)):
            self.add_answer(r)
        for _ in range(r.randrange(3)):
            self.add_send(r)
        for _ in range(r.choice([0, 0, 1, 2])):
            where, text = r.choice(['prepend', 'append']), r.choice(['one', 'two "2"', '\\é'])
            self.contexts.append((where, text))
            self.argv += ['--' + where, text]
        self.every = bool(self.contexts) and r.random() < .4
        self.send_every = bool(self.sends) and r.random() < .5
        self.argv += ['--every'] * self.every + ['--send-every'] * self.send_every
        if not (self.edit or self.answers or self.sends or self.contexts):
            self.add_edit(r)

    def add_edit(self, r):
        programs = {
            'params': '(.params | objects).x = 1', 'result': 'if (.result | type) == "object" then .result.y = [1] else . end', 'drop': 'empty',
            'after': '., {method: "_made", params: {n: 1}}', 'before': '{method: "_made"}, .', 'fails': 'error("no")',
            'same': '.', 'twice': '{method: "_made", params: {n: 0}}, ., {method: "_made", params: {n: 2}}', 'text': '5',
        }
        self.edit = r.choice(list(programs))
        self.argv += ['-e', programs[self.edit]]
        self.match, self.kinds, self.side, self.silent = r.sample(METHODS, r.randrange(1, 5)), [], None, r.random() < .2
        for method in self.match:
            self.argv += ['-m', method]
        if r.random() < .4:
            self.kinds = r.sample(['request', 'response', 'notification'], r.randrange(1, 3))
            for kind in self.kinds:
                self.argv += ['--kind', kind]
        if r.random() < .3:
            self.side = r.choice(['client', 'agent'])
            self.argv += ['--from', self.side]
        self.argv += ['--silent'] * self.silent

    def add_answer(self, r):
        method, kind = r.choice(METHODS), r.choice(['deny', 'code', 'answer', 'perhaps'])
        self.answers.append((method, kind))
        self.argv += {'deny': ['--deny', method], 'code': ['--deny', method + '=429,slow, please'],
                      'answer': ['--answer', method + '={n: .params.n?, from: $from}'],
                      'perhaps': ['--answer', method + '=select(.params.n? == 1) | "one"']}[kind]

    def add_send(self, r):
        lane, when, method = r.choice(['down', 'up']), r.choice(['before', 'after', 'answer']), r.choice(METHODS)
        if when == 'answer' and method == 'session/update':
            method = '_x/one'
        notify = r.random() < .3
        self.sends.append((lane, when, method, notify))
        self.argv += ['--send', f'{lane}:{when}:{method}={{method: "_own/{len(self.sends)}", params: {{m: $method}}' +
                      (', notify: true}' if notify else '}')]


class Model:
    def __init__(self, rules):
        self.rules, self.open, self.done, self.commands = rules, {'down': [], 'up': []}, set(), {}
        self.known = set()  # sessions that somebody has named but in a result: no method here opens one
        self.own, self.held, self.out = {}, [], {'down': [], 'up': []}

    def put(self, lane, **wanted):
        self.out[lane].append(Wanted(**wanted))

    def send_own(self, lane, method, value, held):
        message = {'jsonrpc': '2.0', 'method': method, 'params': value}
        self.put(lane, own=(message, held)) if held is not False else self.put(lane, value=message)

    def message(self, lane, line):
        m = json.loads(line)
        other = 'up' if lane == 'down' else 'down'
        kind = 'response' if 'method' not in m else 'request' if 'id' in m else 'notification'
        asked = None
        if kind == 'response':
            if m['id'] in self.own:
                return self.own_answered(m['id'])
            asked = next((o for o in self.open[other] if o.key == m['id']), None)
            if asked:
                self.open[other].remove(asked)
        method = m.get('method') or (asked.method if asked else None)
        named = [m[k].get('sessionId') for k in ('params', 'result') if isinstance(m.get(k), dict)]
        session = next((s for s in named if s is not None), asked.session if asked else None)
        request = Open(m['id'], method, session) if kind == 'request' else None
        if request:
            self.open[lane].append(request)
        if self.rules.session not in (None, session):
            return self.put(lane, exact=line)
        self.known |= {session} if kind != 'response' else set()
        self.rule_all(lane, other, line, kind, method, session if session in self.known else None, request)

    def rule_all(self, lane, other, line, kind, method, session, request):
        text, later, changed = self.edited(lane, line, kind, method)
        if text is None:
            for made in later:
                self.put(lane, value=made)
            if request:
                self.open[lane].remove(request)
                if not self.rules.silent:
                    self.put(other, value={'jsonrpc': '2.0', 'id': request.key,
                                           'error': {'code': -32603, 'message': 'acp-inject: dropped by --edit'}})
            return
        after = [(lane, made) for made in later]
        reply = self.answered(lane, text, method) if request else None
        if reply:
            self.open[lane].remove(request)
            self.put(other, value={'jsonrpc': '2.0', 'id': request.key, **reply})
        else:
            text, changed = self.context(text, changed, kind, method, session)
            wanted = Wanted(value=text) if changed else Wanted(exact=line)
            held = self.sent(lane, text, kind, method, session, after)
            if held:
                held.line = wanted
                self.held.append(held)
                return
            self.out[lane].append(wanted)
        self.after(after)

    def after(self, later):
        for to, made in later:
            if 'own' in made:
                self.send_own(to, *made['own'])
            else:
                self.put(to, value=made)

    def edited(self, lane, line, kind, method):
        """The message, what comes after it, and whether it has changed."""
        r, m = self.rules, json.loads(line)
        update = m.get('params', {}).get('update', {}).get('sessionUpdate') if method == 'session/update' else None
        side = 'client' if lane == 'down' else 'agent'
        if not r.edit or not (method in r.match or update in r.match) or (r.kinds and kind not in r.kinds) or r.side not in (None, side):
            return spelled(line), [], False
        value = spelled(line)
        made = lambda **params: {'jsonrpc': '2.0', 'method': '_made', **({'params': params} if params else {})}
        if r.edit == 'drop':
            return None, [], True
        if r.edit == 'params' and isinstance(m.get('params'), dict):
            return change(value, 'params', 'x', ('number', '1')), [], True
        if r.edit == 'result' and isinstance(m.get('result'), dict):
            return change(value, 'result', 'y', (('number', '1'),)), [], True
        if r.edit in ('before', 'twice'):
            self.put(lane, value=made(**({'n': 0} if r.edit == 'twice' else {})))
        return value, [made(n=1)] if r.edit == 'after' else [made(n=2)] if r.edit == 'twice' else [], False

    def answered(self, lane, text, method):
        params = member(text, 'params')
        n = member(params, 'n')
        for rule, kind in self.rules.answers:
            if rule != method:
                continue
            if kind == 'deny':
                return {'error': {'code': -32603, 'message': 'acp-inject: denied'}}
            if kind == 'code':
                return {'error': {'code': 429, 'message': 'slow, please'}}
            if kind == 'answer':
                return {'result': {'n': None if n is None else int(n[1]), 'from': 'client' if lane == 'down' else 'agent'}}
            if n == ('number', '1'):
                return {'result': 'one'}
        return None

    def context(self, text, changed, kind, method, session):
        r, params = self.rules, member(text, 'params')
        update = member(params, 'update')
        if r.contexts and session is not None and member(update, 'sessionUpdate') == 'available_commands_update':
            self.commands[session] = [member(c, 'name') for c in member(update, 'availableCommands')]
        if not r.contexts or kind != 'request' or method != 'session/prompt':
            return text, changed
        blocks = member(params, 'prompt')
        first = next((member(b, 'text') for b in blocks or () if member(b, 'type') == 'text'), '')
        if first.startswith('/') and first[1:].split()[:1] and first[1:].split()[0] in self.commands.get(session, []):
            return text, changed
        if blocks is None or (not r.every and session is not None and ('context', session) in self.done):
            return text, changed
        self.done.add(('context', session))
        block = lambda t: ('object', (('type', 'text'), ('text', t)))
        blocks = tuple(block(t) for w, t in r.contexts if w == 'prepend') + blocks + \
            tuple(block(t) for w, t in r.contexts if w == 'append')
        return replace(text, ('params', 'prompt'), blocks), True

    def sent(self, lane, text, kind, method, session, after):
        held = None
        good = kind == 'response' and member(text, 'result', missing=Failure) is not Failure
        for i, (to, when, rule, notify) in enumerate(self.rules.sends):
            due = kind != 'response' if when == 'before' else good or (when == 'after' and kind == 'notification')
            if not due or rule != method or (session is not None and not self.rules.send_every and (i, session) in self.done):
                continue
            if session is not None:
                self.done.add((i, session))
            name, params = f'_own/{i + 1}', {'m': method}
            if when == 'after':
                after.append((to, {'own': (name, params, False if notify else None)}))
            elif notify or when == 'before':
                self.send_own(to, name, params, False if notify else None)
            else:
                held = held or Held(lane, None, after)
                held.waits += 1
                self.send_own(to, name, params, held)
        return held

    def own_answered(self, key):
        held = self.own.pop(key)
        if held:
            held.waits -= 1
            if held.waits == 0:
                self.held.remove(held)
                self.out[held.lane].append(held.line)
                self.after(held.later)

    def compare(self, lane, lines):
        """What has come, with what was to come; returns the tool's own requests."""
        wanted, self.out[lane], own = self.out[lane], [], []
        for i, line in enumerate(lines):
            if i == len(wanted):
                raise Failure(f'{lane}: nothing more was to come, but: {line!r}')
            own += self.same(lane, wanted[i], line)
        if len(lines) < len(wanted):
            raise Failure(f'{lane}: is missing: {wanted[len(lines)]!r}')
        return own

    def same(self, lane, w, line):
        if w.exact is not None:
            if line != w.exact:
                raise Failure(f'{lane}: {line!r}, not {w.exact!r}')
        elif w.own is not None:
            m = json.loads(line)
            key = m.pop('id', None)
            if not isinstance(key, str) or not key.startswith('acp-inject-') or m != w.own[0]:
                raise Failure(f'{lane}: {line!r}, not an own request {w.own!r}')
            self.own[key] = w.own[1]
            return [('up' if lane == 'down' else 'down', key)]
        elif isinstance(w.value, dict) and json.loads(line) != w.value or isinstance(w.value, tuple) and spelled(line) != w.value:
            raise Failure(f'{lane}: {line!r}, not {w.value!r}')
        return []


def member(value, name, missing=None):
    if not isinstance(value, tuple) or value[:1] != ('object',):
        return missing
    return next((v for k, v in value[1] if k == name), missing)


def replace(value, path, new):
    if not path:
        return new
    return ('object', tuple((k, replace(v, path[1:], new) if k == path[0] else v) for k, v in value[1]))


def change(value, name, key, new):
    inner = member(value, name)
    if member(inner, key, missing=Failure) is Failure:
        inner = ('object', inner[1] + ((key, new),))
    else:
        inner = replace(inner, (key,), new)
    return replace(value, (name,), inner)


class Peers:
    """Both ends: what they say next."""

    def __init__(self, r):
        self.r, self.n, self.waiting = r, 0, {'down': [], 'up': []}

    def params(self, method):
        r, p = self.r, {}
        if r.random() < .8:
            p['sessionId'] = r.choice(SESSIONS)
        if method == 'session/prompt':
            p['prompt'] = [{'type': 'text', 'text': r.choice(['work', '/compact', '/compact now', '/other', ''])}
                           for _ in range(r.randrange(3))]
        if method == 'session/update':
            p['update'] = {'sessionUpdate': 'available_commands_update', 'availableCommands': r.sample([{'name': 'compact'}, {'name': 'x'}], 1)}
        if r.random() < .5:
            p['n'] = r.choice([0, 1, 2])
        return p

    def line(self, lane):
        r = self.r
        ask = self.waiting[lane]
        if ask and r.random() < .5:
            key = ask.pop(r.randrange(len(ask)))
            outcome = {'error': {'code': 1, 'message': 'no'}} if r.random() < .2 else {'result': r.choice([None, {}, {'sessionId': 's2'}, {'y': 0}])}
            return self.text({'jsonrpc': '2.0', 'id': key, **outcome})
        if r.random() < .03:
            return self.text({'jsonrpc': '2.0', 'id': f'unknown{r.random()}', 'result': {}})
        method = r.choice(METHODS)
        m = {'jsonrpc': '2.0'} if r.random() < .9 else {}
        if method not in ('_x/note', 'session/update'):
            self.n += 1
            m['id'] = r.choice([self.n, f'id-{self.n}', f'"\u0101{self.n}'])
        m['method'] = method
        if r.random() < .9 or method in ('session/prompt', 'session/update'):
            m['params'] = self.params(method)
        return self.text(m)

    def text(self, m):
        """Spelled in ways that nobody would."""
        r = self.r
        text = json.dumps(m, ensure_ascii=r.random() < .5, separators=r.choice([(',', ':'), (', ', ' : ')]))
        if text.endswith('}') and r.random() < .4:
            text = text[:-1] + r.choice([',"z":1.50', ',"big":123456789012345678901234567890', ', "u":"\\u0041\\/"', ',"e":5.3E+4']) + '}'
        return (r.choice(['', ' ']) + text + r.choice(['', '', ' ', '\r'])).encode()


def one(r):
    rules = Rules(r)
    model, peers, tool = Model(rules), Peers(r), Tool(rules.argv)
    try:
        for _ in range(r.randrange(5, 25)):
            lane = r.choice(['down', 'up'])
            lines = [peers.line(lane) for _ in range(r.randrange(1, 6))]
            if r.random() < .1:
                lines.insert(r.randrange(len(lines) + 1), r.choice([b'', b'noise', b'5', b'{"neither": 1}']))
            for line in lines:
                if line and line not in (b'noise', b'5', b'{"neither": 1}'):
                    model.message(lane, line)
            tool.send(lane, lines)
            out = tool.settle()
            for to in out:
                own = model.compare(to, out[to])
                for back, key in own:
                    peers.waiting[back].append(key)
            for to in out:
                back = 'up' if to == 'down' else 'down'
                for line in out[to]:
                    m = json.loads(line)
                    if 'method' in m and 'id' in m and m['id'] not in model.own:
                        peers.waiting[back].append(m['id'])
        finish(model, tool)
    except BaseException:
        print(' '.join(rules.argv))
        tool.kill()
        raise


def finish(model, tool):
    """What is held goes on when it can no longer be waited for; nothing else comes."""
    for held in model.held:
        model.out[held.lane].append(held.line)
        model.after(held.later)
    out, status = tool.close()
    if status != 0:
        raise Failure(f'exit status {status}')
    for lane in out:
        for line in out[lane]:
            for i, wanted in enumerate(model.out[lane]):
                try:
                    model.same(lane, wanted, line)
                except Failure:
                    continue
                del model.out[lane][i]
                break
            else:
                raise Failure(f'{lane}: at the end: {line!r}')
        if any(not w.own for w in model.out[lane]):
            raise Failure(f'{lane}: is missing at the end: {model.out[lane]!r}')


if __name__ == '__main__':
    run('inject', one, 30)
