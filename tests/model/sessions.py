"""Random sessions for the models of acp-replay and acp-diff, and the same sessions as another run could have them.

A session is a list of events in its own order: [side, kind, data]. Sessions are merged at random into the messages of a
recording; another run has other ids, other pieces of texts and tool output, and another order between the sessions.
"""
import copy
import json

WORDS = ['one', 'two', 'three', 'ünï', '"four"', 'a\nb', '{}', 'x' * 40]
UPDATES = ('text', 'thought', 'tool', 'more', 'usage', 'plan', 'commands')


class Maker:
    def __init__(self, dice):
        self.dice, self.numbers = dice, 0
        self.version = dice.choice([1, 1, 2])

    def number(self):
        self.numbers += 1
        return self.numbers

    def some_text(self):
        return ' '.join(self.dice.choice(WORDS) for _ in range(self.dice.randint(1, 4))) + f' {self.number()} '

    def call(self):
        """The messages of a tool call, in their order."""
        call, output = f'call{self.number()}', [self.some_text() for _ in range(self.dice.randint(0, 4))]
        yield ['agent', 'tool', {'toolCallId': call, 'title': self.some_text(), 'kind': 'execute', 'status': 'pending',
                                 'rawInput': {'command': self.some_text()}}]
        for piece in output:
            yield ['agent', 'more', {'toolCallId': call, 'status': 'in_progress', '_meta': {'terminal_output_delta': piece}}]
        if self.dice.random() < 0.5:
            yield from self.ask(call)
        yield ['agent', 'more', {'toolCallId': call, 'status': 'completed', 'rawOutput': {'output': ''.join(output)}}]

    def ask(self, call):
        key = self.number()
        yield ['agent', 'ask', {'key': key, 'toolCall': {'toolCallId': call}, 'options': [{'optionId': 'yes', 'name': 'Yes',
                                                                                        'kind': 'allow_once'}]}]
        yield ['client', 'answer', {'key': key, 'optionId': 'yes'}]

    def report(self):
        kind = self.dice.choice(['text'] * 4 + ['thought', 'usage', 'plan', 'call', 'call', 'mode'])
        if kind in ('text', 'thought'):
            yield ['agent', kind, {'text': self.some_text()}]
        elif kind == 'usage':
            yield ['agent', 'usage', {'used': self.number(), 'size': 1000}]
        elif kind == 'plan':
            yield ['agent', 'plan', {'entries': [{'content': self.some_text(), 'priority': 'low', 'status': 'pending'}]}]
        elif kind == 'call':
            yield from self.call()
        else:
            key = self.number()
            yield ['client', 'mode', {'key': key, 'modeId': f'mode{key}'}]
            yield ['agent', 'moded', {'key': key}]

    def turn(self):
        """A turn, which may be cancelled, or have the next prompt queued."""
        key = self.number()
        yield ['client', 'prompt', {'key': key, 'text': self.some_text()}]
        for _ in range(self.dice.randint(0, 4)):
            yield from self.report()
        how = self.dice.random()
        if how < 0.25:
            yield ['client', 'cancel', {}]
            yield ['agent', 'ended', {'key': key, 'stopReason': 'cancelled'}]
            return
        if how < 0.4:
            queued = self.number()
            yield ['client', 'prompt', {'key': queued, 'text': self.some_text()}]
            yield from self.report()
            yield ['agent', 'ended', {'key': key, 'stopReason': 'end_turn'}]
            yield from self.report()
            key = queued
        yield ['agent', 'ended', {'key': key, 'stopReason': self.dice.choice(['end_turn', 'end_turn', 'refusal'])}]
        if self.dice.random() < 0.3:
            yield ['agent', 'usage', {'used': self.number(), 'size': 1000}]

    def turn2(self):
        """A turn of version 2: prompts have their responses at once, and an idle state ends the turn."""
        for _ in range(self.dice.choice([1, 1, 2])):
            key = self.number()
            yield ['client', 'prompt', {'key': key, 'text': self.some_text()}]
            # Only where the version says so the response may name no message.
            named = self.version == 1 or self.dice.random() < 0.5
            yield ['agent', 'accepted', {'key': key, **({'messageId': f'm{key}'} if named else {})}]
            for _ in range(self.dice.randint(0, 4)):
                yield from self.report()
        cancelled = self.dice.random() < 0.25
        if cancelled:
            yield ['client', 'cancel', {}]
        yield ['agent', 'idle', {'state': 'idle', 'stopReason': 'cancelled' if cancelled else 'end_turn'}]

    def session(self, number):
        key = self.number()
        events = [['client', 'new', {'key': key, 'cwd': f'/work{number}'}], ['agent', 'made', {'key': key}]]
        if self.dice.random() < 0.5:
            events.append(['agent', 'commands', {'availableCommands': []}])
        turn = self.turn2 if self.version == 2 else self.dice.choice([self.turn, self.turn, self.turn2])
        for _ in range(self.dice.randint(1, 3)):
            events += turn()
        return {'id': f's{number}', 'cwd': f'/work{number}', 'version': self.version, 'events': events}

    def sessions(self):
        return [self.session(n) for n in range(self.dice.randint(1, 4))]


# --- another run ---

def is_update(event):
    return event[1] in UPDATES


def recut(events, dice):
    """Texts, and the output of tools, in other pieces."""
    made = []
    for event in copy.deepcopy(events):
        before = made[-1] if made else None
        if event[1] in ('text', 'thought') and before and before[1] == event[1] and dice.random() < 0.7:
            before[2]['text'] += event[2]['text']
        elif event[1] == 'more' and '_meta' in event[2] and before and before[1] == 'more' and '_meta' in before[2] and \
                before[2]['toolCallId'] == event[2]['toolCallId'] and dice.random() < 0.7:
            before[2]['_meta']['terminal_output_delta'] += event[2]['_meta']['terminal_output_delta']
        else:
            made.append(event)
    cut = []
    for event in made:
        while event[1] in ('text', 'thought') and len(event[2]['text']) > 1 and dice.random() < 0.5:
            at = dice.randint(1, len(event[2]['text']) - 1)
            first = copy.deepcopy(event)
            first[2]['text'], event[2]['text'] = event[2]['text'][:at], event[2]['text'][at:]
            cut.append(first)
        cut.append(event)
    return cut


def reorder(events, dice):
    """What the agent reports one after the other may come in another order, but for the pieces of one text or call."""
    events = list(events)
    for i in range(len(events) - 1):
        a, b = events[i], events[i + 1]
        one_text = a[1] == b[1] and a[1] in ('text', 'thought')
        one_call = a[2].get('toolCallId', 'a') == b[2].get('toolCallId', 'b')
        if is_update(a) and is_update(b) and not one_text and not one_call and dice.random() < 0.3:
            events[i], events[i + 1] = b, a
    return events


def slide(events, dice):
    """A queued prompt may be read earlier or later: the agent goes on with the turn before it."""
    events = list(events)
    for event in [e for e in events if e[1] == 'prompt']:
        at = events.index(event)
        for step in dice.choice([[], [-1] * 3, [1] * 9]):
            beside = events[at + step]
            # It stays within the turn before it.
            if not is_update(beside) or not is_open(events[:min(at, at + step)]):
                break
            events[at], events[at + step] = beside, event
            at += step
    return events


def is_open(events):
    """Does a turn go on?"""
    prompts = 0
    for event in events:
        prompts = 0 if event[1] == 'idle' else prompts + (event[1] == 'prompt') - (event[1] == 'ended')
    return prompts > 0


def another_run(sessions, dice):
    """The same sessions with other ids, in other pieces, in another order."""
    made = []
    for session in sessions:
        events = reorder(recut(slide(session['events'], dice), dice), dice)
        for event in events:
            for holder in (event[2], event[2].get('toolCall', {})):
                if 'toolCallId' in holder:
                    holder['toolCallId'] = 'live' + holder['toolCallId']
        made.append({**session, 'id': 'live-' + session['id'], 'events': events})
    return made


# --- messages ---

class Messages:
    """What the events of a session are on the wire; ids of requests are counted for each side."""

    def __init__(self):
        self.open, self.ids = {}, {'client': 0, 'agent': 0}

    def request(self, side, key, method, params):
        self.ids[side] += 1
        self.open[key] = self.ids[side]
        return {'jsonrpc': '2.0', 'id': self.ids[side], 'method': method, 'params': params}

    def response(self, key, result):
        return {'jsonrpc': '2.0', 'id': self.open.pop(key), 'result': result}

    def of(self, session, event):
        side, kind, data = event
        params = {'sessionId': session['id']}
        if is_update(event) or kind == 'idle':
            return {'jsonrpc': '2.0', 'method': 'session/update', 'params': {**params, 'update': update_of(kind, data)}}
        if kind == 'new':
            return self.request(side, data['key'], 'session/new', {'cwd': data['cwd'], 'mcpServers': []})
        if kind == 'made':
            return self.response(data['key'], {'sessionId': session['id']})
        if kind == 'prompt':
            return self.request(side, data['key'], 'session/prompt',
                                {**params, 'prompt': [{'type': 'text', 'text': data['text']}]})
        if kind == 'ended':
            return self.response(data['key'], {'stopReason': data['stopReason']})
        if kind == 'accepted':
            return self.response(data['key'], {k: v for k, v in data.items() if k != 'key'})
        if kind == 'ask':
            return self.request(side, data['key'], 'session/request_permission',
                                {**params, 'toolCall': data['toolCall'], 'options': data['options']})
        if kind == 'answer':
            return self.response(data['key'], {'outcome': {'outcome': 'selected', 'optionId': data['optionId']}})
        if kind == 'mode':
            return self.request(side, data['key'], 'session/set_mode', {**params, 'modeId': data['modeId']})
        if kind == 'moded':
            return self.response(data['key'], {})
        return {'jsonrpc': '2.0', 'method': 'session/cancel', 'params': params}


def update_of(kind, data):
    if kind in ('text', 'thought'):
        return {'sessionUpdate': 'agent_message_chunk' if kind == 'text' else 'agent_thought_chunk',
                'content': {'type': 'text', 'text': data['text']}}
    name = {'tool': 'tool_call', 'more': 'tool_call_update', 'usage': 'usage_update', 'plan': 'plan',
            'commands': 'available_commands_update', 'idle': 'state_update'}[kind]
    return {'sessionUpdate': name, **data}


def merged(sessions, dice):
    """The messages of all sessions, merged at random: [side, message]."""
    made = Messages()
    version = {'protocolVersion': sessions[0]['version']}
    messages = [['client', {'jsonrpc': '2.0', 'id': 'i', 'method': 'initialize', 'params': version}],
                ['agent', {'jsonrpc': '2.0', 'id': 'i', 'result': version}]]
    left = [[s, list(s['events'])] for s in sessions]
    while left:
        # Some runs of a session, and now and then another one.
        session, events = dice.choice(left)
        for _ in range(min(len(events), dice.choice([1, 1, 2, 5]))):
            event = events.pop(0)
            messages.append([event[0], made.of(session, event)])
        left = [pair for pair in left if pair[1]]
    return messages


def write(path, messages):
    with open(path, 'w', encoding='utf-8') as out:
        for at, (side, message) in enumerate(messages):
            out.write(json.dumps({'t': at / 1000, 'from': side, 'msg': message}, separators=(',', ':')) + '\n')


# --- one change ---

def plant(sessions, dice, sides=('agent',)):
    """One change: at which levels it is a difference, and what it is; None where the dice fell badly."""
    found = [(s, i) for s in sessions for i, e in enumerate(s['events']) if e[0] in sides]
    session, at = dice.choice(found)
    side, kind, data = session['events'][at]
    if kind in ('text', 'thought'):
        data['text'] += 'changed'
    elif kind == 'tool':
        data.update(dice.choice([{'title': 'changed'}, {'rawInput': {'command': 'changed'}}]))
    elif kind == 'more' and 'rawOutput' in data:
        data['rawOutput'] = {'output': 'changed'}
    elif kind == 'prompt':
        data['text'] += 'changed'
    elif kind == 'mode':
        data['modeId'] = 'changed'
    elif kind == 'answer':
        data['optionId'] = 'changed'
    elif kind == 'usage':
        data['used'] += 5000
    elif kind in ('ended', 'idle'):
        data['stopReason'] = 'max_tokens'
    elif kind == 'ask':
        data['options'][0]['name'] = 'changed'
    elif kind == 'plan' and dice.random() < 0.5:
        del session['events'][at]
        return ['params', 'shape', 'method'], f'{side} {kind} is missing'
    elif kind == 'commands':
        session['events'].insert(at, ['agent', 'plan', {'entries': []}])
        return ['params', 'shape', 'method'], 'a plan is unexpected'
    elif kind == 'plan':
        data['entries'][0]['content'] = 'changed'
    else:
        return None
    return ['params'], f'{side} {kind} {json.dumps(data)} has changed'
