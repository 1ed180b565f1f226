#!/usr/bin/env python3
"""check_cases.py: conversations that break one rule of acp-check each, and others that keep all of them in unusual ways.

Each becomes a recording in the working directory. Those that keep the rules are checked in a second spelling, too, in which every name
and text is escaped and members have another order; and all as a proxy sees them, in envelopes. Prints how many of each there were;
status 1 where the findings are others.
"""
import json
import os
import subprocess
import sys


def message(side, **members):
    return side, {'jsonrpc': '2.0'} | members


def asks(id, method, **params):
    return message('client', id=id, method=method, params=params)


def tells(method, **params):
    return message('client', method=method, params=params)


def gives(id, **result):
    return message('agent', id=id, result=result)


def fails(id, code=-32603):
    return message('agent', id=id, error={'code': code, 'message': 'no'})


def agent_asks(id, method, **params):
    return message('agent', id=id, method=method, params=params)


def agent_tells(method, **params):
    return message('agent', method=method, params=params)


def client_gives(id, **result):
    return message('client', id=id, result=result)


def update(kind, session='s', **members):
    return agent_tells('session/update', sessionId=session, update={'sessionUpdate': kind} | members)


def says(text='a', session='s', kind='agent_message_chunk'):
    return update(kind, session, content={'type': 'text', 'text': text})


def call(id='c', status='completed', kind='tool_call', **members):
    return update(kind, toolCallId=id, status=status, **({'title': 't'} if kind == 'tool_call' else {}), **members)


def changes(status, id='c', **members):
    return call(id, status, 'tool_call_update', **members)


def usage(used, size=10, **members):
    return update('usage_update', used=used, size=size, **members)


def cost(amount, currency='USD'):
    return usage(1, cost={'amount': amount, 'currency': currency})


def prompt(id=2, session='s', *blocks):
    return asks(id, 'session/prompt', sessionId=session, prompt=list(blocks) or [{'type': 'text', 'text': 'hi'}])


def ends(id=2, stop='end_turn', **more):
    return gives(id, stopReason=stop, **more)


def turn(*inside, id=2, stop='end_turn'):
    return [prompt(id), *inside, ends(id, stop)]


OPTIONS = [{'optionId': 'y', 'name': 'Yes', 'kind': 'allow_once'}, {'optionId': 'n', 'name': 'No', 'kind': 'reject_once'}]
AGENT = {'loadSession': True, 'sessionCapabilities': {'close': {}, 'list': {}, 'resume': {}},
         'promptCapabilities': {'image': True, 'embeddedContext': True},
         'nes': {'events': {'document': {x: {} for x in ('didOpen', 'didClose', 'didFocus')} | {'didChange': {'syncKind': 'full'}}}}}
CLIENT = {'fs': {'readTextFile': True}, 'terminal': True, 'nes': {'jump': {}, 'rename': {}, 'searchAndReplace': {}}, 'positionEncodings': ['utf-8', 'utf-16']}


def begins(agent=None, client=None, asked=1, agreed=1):
    return [asks(0, 'initialize', protocolVersion=asked, clientCapabilities=CLIENT if client is None else client),
            gives(0, protocolVersion=agreed, agentCapabilities=AGENT if agent is None else agent)]


def opens(id=1, session='s', **more):
    return [asks(id, 'session/new', **{'cwd': '/w', 'mcpServers': []} | more), gives(id, sessionId=session)]


def nes(*inside):
    return [asks(3, 'nes/start', workspaceUri='file:///w'), gives(3, sessionId='n'), *inside]


def permission(id='p', call='c', **more):
    return agent_asks(id, 'session/request_permission', sessionId='s', toolCall={'toolCallId': call}, options=OPTIONS, **more)


def chooses(option, id='p'):
    return client_gives(id, outcome={'outcome': 'selected', 'optionId': option})


def loads(id=3, session='t', how='load'):
    return asks(id, 'session/' + how, sessionId=session, cwd='/w', mcpServers=[])


AT = {'line': 0, 'character': 0}
RANGE = {'start': AT, 'end': AT}
EDIT = {'id': 'e', 'kind': 'edit', 'uri': 'file:///a', 'edits': [{'range': RANGE, 'newText': ''}]}
RENAME = {'id': 'r', 'kind': 'rename', 'uri': 'x', 'position': AT, 'newName': 'y'}
DOCUMENT = {'sessionId': 'n', 'uri': 'file:///a'}


def suggest(**more):
    return asks(4, 'nes/suggest', **DOCUMENT | {'version': 1, 'position': AT, 'triggerKind': 'manual'} | more)


opened_document = tells('document/didOpen', **DOCUMENT, languageId='c', version=1, text='')
terminal = {'sessionId': 's', 'terminalId': 't'}


def creates(id=1, session='s'):
    return [agent_asks(id, 'terminal/create', sessionId=session, command='x'), client_gives(id, terminalId='t')]


def releases(id=2, **more):
    return [agent_asks(id, 'terminal/release', **terminal | more), client_gives(id)]


# Version 2.
INFO = {'name': 'x', 'version': '1'}


def begins2(agent=None, client=None, agreed=2):
    session = {'prompt': {'image': {}}, 'mcp': {'stdio': {}}, 'delete': {}}
    return [asks(0, 'initialize', protocolVersion=2, info=INFO, capabilities=client or {}),
            gives(0, protocolVersion=agreed, info=INFO, capabilities={'session': session} if agent is None else agent)]


def state(name, **more):
    return update('state_update', state=name, **more)


def said2(kind='user_message'):
    return update(kind, messageId='m', content=[{'type': 'text', 'text': 'a'}] if kind.endswith('message') else {'type': 'text', 'text': 'a'})


def changes2(status='in_progress'):
    return update('tool_call_update', toolCallId='c', title='t', status=status)


def asks2():
    return agent_asks('p', 'session/request_permission', sessionId='s', title='t', subject={'type': 'tool_call', 'toolCall': {'toolCallId': 'c'}},
                      options=OPTIONS)


def turn2(*inside, stop='end_turn'):
    return [prompt(), gives(2, messageId='m'), state('running'), *inside, state('idle', stopReason=stop)]


STDIO = {'type': 'stdio', 'name': 'x', 'command': 'x', 'args': [], 'env': []}
BEGIN2 = begins2() + opens()
close, resume = [asks(3, 'session/close', sessionId='s'), gives(3)], {'sessionId': 's', 'cwd': '/w', 'mcpServers': []}
cancel, is_cancelled = tells('session/cancel', sessionId='s'), {'outcome': {'outcome': 'cancelled'}}
START = begins() + opens()

# The rule, and what follows START; or instead of it where it is a tuple.
BREAKS = [
    ('schema', [asks(2, 'session/prompt', sessionId='s'), ends()]),
    ('schema', turn(says(5))),
    ('schema', turn(update('tool_call', toolCallId='c', status='completed'))),
    ('schema', turn(update('plan'))),
    ('schema-tolerated', turn(update('available_commands_update', availableCommands=5))),
    ('schema', turn(stop='finished')),
    ('schema', [asks(3, 'session/set_mode', sessionId='s'), gives(3)]),
    ('schema', [agent_asks(1, 'fs/read_text_file', sessionId='s'), client_gives(1, content='')]),
    ('schema', [agent_asks(1, 'fs/read_text_file', sessionId='s', path='/a'), client_gives(1)]),
    ('schema', [agent_asks(1, 'terminal/create', sessionId='s', command=5), client_gives(1, terminalId='t')]),
    ('schema', [asks(3, '_x'), message('agent', id=3, error={'message': 'no'})]),
    ('schema', nes(suggest(triggerKind='guess'), gives(4, suggestions=[]))),
    ('schema', nes(suggest(position={'line': -1, 'character': 0}), gives(4, suggestions=[]))),
    ('schema', nes(suggest(), gives(4, suggestions=[EDIT | {'kind': 'guess'}]))),
    ('schema', nes(suggest(), gives(4, suggestions=[{k: v for k, v in EDIT.items() if k != 'edits'}]))),
    ('schema', nes(tells('document/didChange', **DOCUMENT, version=1))),
    ('schema', nes(tells('nes/accept', sessionId='n'))),
    ('schema-tolerated', nes(tells('nes/reject', sessionId='n', id='e', reason='dull'))),
    ('schema-tolerated', (begins(AGENT | {'positionEncoding': 'utf-7'}) + opens(),)),
    ('schema-tolerated', [asks(3, 'session/list'), gives(3, sessions={})]),
    ('unknown-method', [asks(3, 'session/guess'), fails(3)]),
    ('unknown-method', nes(tells('nes/guess', sessionId='n'))),
    ('unknown-field', (begins() + opens(colour=1),)),
    ('unknown-field', nes(suggest(colour=1), gives(4, suggestions=[]))),
    ('unknown-update', turn(update('guess'))),
    ('relative-path', (begins() + opens(cwd='w'),)),
    ('relative-path', [agent_asks(1, 'fs/read_text_file', sessionId='s', path='a'), client_gives(1, content='')]),
    ('relative-path', turn(call(locations=[{'path': 'a'}]))),
    ('noise', [('agent', b'Welcome')]),
    ('batch', [('agent', b'[]')]),
    ('duplicate-key', turn(('agent', b'{"jsonrpc":"2.0","method":"_x","params":{"a":1,"a":2}}'))),
    ('jsonrpc', [('agent', b'{"method":"_x"}')]),
    ('wrong-side', [agent_asks(3, 'session/list'), message('client', id=3, error={'code': -32601, 'message': ''})]),
    ('wrong-side', [agent_asks(3, 'nes/start'), message('client', id=3, error={'code': -32601, 'message': ''})]),
    ('wrong-kind', [asks(3, 'session/cancel', sessionId='s'), fails(3)]),
    ('wrong-kind', nes(asks(4, 'document/didClose', **DOCUMENT), fails(4))),
    ('wrong-kind', [tells('nes/start')]),
    ('id-in-use', [asks(3, '_a'), asks(3, '_b'), gives(3), gives(3)]),
    ('response-unknown', [gives(3)]),
    ('response-unknown', [asks(3, '_a'), gives(3), gives(3)]),
    ('response-unknown', [gives('3')]),
    ('unanswered', [asks(3, '_a')]),
    ('unanswered', turn(agent_asks(1, 'fs/read_text_file', sessionId='s', path='/a'))),
    ('abandoned', [asks(3, '_a')] + START),
    ('before-initialize', (opens(),)),
    ('version', (begins(agreed=65535) + opens(),)),
    ('version', (begins(agreed=0) + opens(),)),
    ('capability', (begins({}) + [loads(), fails(3)],)),
    ('capability', (begins({}) + opens() + [asks(3, 'session/list'), gives(3, sessions=[])],)),
    ('capability', (begins({}) + nes(),)),
    ('capability', nes(tells('document/didSave', **DOCUMENT))),
    ('capability', [agent_asks(1, 'fs/write_text_file', sessionId='s', path='/a', content=''), client_gives(1)]),
    ('capability', [prompt(2, 's', {'type': 'audio', 'mimeType': 'a', 'data': ''}), ends()]),
    ('capability', (begins() + opens(mcpServers=[{'type': 'http', 'name': 'x', 'url': 'x', 'headers': []}]),)),
    ('capability', (begins(None, CLIENT | {'nes': {'jump': {}}}) + opens() + nes(suggest(), gives(4, suggestions=[RENAME])),)),
    ('capability', nes(suggest(context={'openFiles': [{'uri': 'x', 'languageId': 'c'}]}), gives(4, suggestions=[]))),
    ('method-refused', (begins() + [asks(1, 'session/new', cwd='/w', mcpServers=[]), fails(1, -32601)],)),
    ('method-refused', (begins() + [asks(1, 'nes/start'), fails(1, -32601)],)),
    ('method-refused', [agent_asks(1, 'terminal/create', sessionId='s', command='x'), message('client', id=1, error={'code': -32601, 'message': ''})]),
    ('unknown-session', [prompt(2, 'x'), ends()]),
    ('unknown-session', [update('current_mode_update', 'x', currentModeId='m')]),
    ('unknown-session', [loads(), fails(3), loads(4), fails(4), update('current_mode_update', 't', currentModeId='m')]),
    ('unknown-session', [asks(3, 'session/close', sessionId='s'), gives(3), prompt(), fails(2)]),
    ('session-twice', opens(3)),
    ('terminal-released', turn(*creates(), *releases(), agent_asks(3, 'terminal/output', **terminal), client_gives(3, output='', truncated=False))),
    ('terminal-released', turn(*creates(), *releases(), *releases(3))),
    ('resume-replay', [loads(how='resume'), says('a', 't'), gives(3)]),
    ('late-replay', [loads(), gives(3), says('a', 't', 'user_message_chunk')]),
    ('prompt-overlap', [prompt(), prompt(3), ends(), ends(3)]),
    ('outside-turn', [says()]),
    ('outside-turn', turn() + [call()]),
    ('cancelled-turn', turn(cancel)),
    ('cancelled-turn', [prompt(), cancel, fails(2)]),
    ('cancelled-permission', turn(call(), permission(), cancel, chooses('n'), stop='cancelled')),
    ('tool-call-twice', turn(call(), call())),
    ('tool-call-unknown', turn(changes('failed'))),
    ('tool-call-finished', turn(call(), changes('in_progress'))),
    ('tool-call-open', turn(call('c', 'in_progress'))),
    ('permission-call', turn(permission(), chooses('y'), changes('completed'))),
    ('permission-option', turn(call('c', 'pending'), permission(), chooses('always'), changes('failed'))),
    ('used-above-size', [usage(11)]),
    ('cost-falls', [cost(2), cost(1)]),
    ('capability', (begins2({}) + opens(),)),
    ('capability', (begins2({'session': {}}) + opens(mcpServers=[STDIO]),)),
    ('capability', (BEGIN2 + [prompt(2, 's', {'type': 'audio', 'mimeType': 'a', 'data': ''}), gives(2, messageId='m')],)),
    ('capability', (BEGIN2 + [agent_asks(1, 'elicitation/create', sessionId='s', mode='form', message='', requestedSchema={'type': 'object', 'properties': {}}),
        client_gives(1, action='cancel')],)),
    ('unknown-method', (BEGIN2 + [agent_asks(1, 'fs/read_text_file', sessionId='s', path='/a'), client_gives(1, content='')],)),
    ('cancelled-turn', (BEGIN2 + turn2(cancel),)),
    ('session-twice', (BEGIN2 + opens(3),)),
    ('resume-replay', (BEGIN2 + close + [asks(4, 'session/resume', **resume), said2(), gives(4)],)),
    ('permission-call', (BEGIN2 + turn2(asks2(), chooses('y'), changes2('failed')),)),
    ('permission-option', (BEGIN2 + turn2(changes2(), asks2(), chooses('z'), changes2('failed')),)),
    ('tool-call-finished', (BEGIN2 + turn2(changes2('completed'), changes2()),)),
    ('usage-missing', turn(usage(1)) + turn(id=3) + turn(usage(2), id=4)),
]

text, image = {'type': 'text', 'text': ''}, {'type': 'image', 'mimeType': 'image/png', 'data': ''}
HOLDS = [
    [], turn(), turn(stop='max_tokens'), turn(stop='refusal'), turn(stop='max_turn_requests'),
    [prompt(), fails(2, -32000)],
    [prompt(2, 's', text, image, {'type': 'resource_link', 'uri': 'x', 'name': ''}), ends()],
    [prompt(2, 's', {'type': 'resource', 'resource': {'uri': 'x', 'text': ''}}), ends()],
    [asks(3, '_a', anything=[{}]), gives(3, anything=1)],
    [asks(3, '_a'), fails(3, -32601)],
    [asks(3, '_a'), asks(4, '_a'), gives(4), gives(3)],
    [asks(3, '_a'), gives(3), asks(3, '_b'), gives(3)],
    [asks(3, '_a'), agent_asks(3, '_b'), gives(3), client_gives(3)],
    [asks(-7, '_a'), gives(-7)],
    [tells('$/cancel_request', requestId=77), agent_tells('$/cancel_request', requestId='none')],
    [asks(3, '_a'), tells('$/cancel_request', requestId=3), fails(3, -32800)],
    [asks(3, '_a'), tells('$/cancel_request', requestId=3), gives(3)],
    [agent_tells('_x/y', a=None), tells('_')],
    turn(update('_x', b=1)),
    turn(says('\U0001f600\u202e\0\x1b[0m')),
    turn(says(''), says('')),
    turn(says('a' * 100000)),
    turn(says('a', 's', 'agent_thought_chunk'), says('b', 's', 'user_message_chunk')),
    turn(update('agent_message_chunk', content=image)),
    turn(call()),
    turn(call('c', 'pending'), changes('in_progress'), changes('completed'), changes('completed', rawOutput=[1])),
    turn(call('a', 'pending'), call('b', 'pending'), changes('completed', 'b'), changes('failed', 'a')),
    turn(call('c', 'pending'), update('tool_call_update', toolCallId='c'), changes('failed', content=[], locations=[], title='x')),
    turn(call('c', 'pending', kind='tool_call', content=[{'type': 'diff', 'path': '/a', 'newText': '', 'oldText': None}]), changes('failed')),
    turn(call()) + turn(call('d'), id=3),
    turn(update('plan', entries=[]), update('plan', entries=[{'content': '', 'priority': 'low', 'status': 'pending'}])),
    turn(call('c', 'pending'), permission(), chooses('y'), changes('completed')),
    turn(call('c', 'pending'), permission(), chooses('n'), changes('failed')),
    turn(call('a', 'pending'), call('b', 'pending'), permission('p', 'a'), permission('q', 'b'), chooses('y', 'q'), chooses('n', 'p'),
         changes('failed', 'a'), changes('completed', 'b')),
    turn(call('c', 'pending'), permission(), cancel, client_gives('p', **is_cancelled), stop='cancelled'),
    turn(call('c', 'in_progress'), cancel, says(), changes('failed'), stop='cancelled'),
    turn(call('c', 'in_progress'), stop='cancelled'),
    turn(cancel, cancel, stop='cancelled'),
    [cancel] + turn(), turn() + [cancel],
    [asks(3, 'session/list'), gives(3, sessions=[{'sessionId': 's', 'cwd': '/w'}], nextCursor=None)],
    [asks(3, 'session/set_mode', sessionId='s', modeId='m'), gives(3), update('current_mode_update', currentModeId='m')],
    [update('available_commands_update', availableCommands=[{'name': 'x', 'description': '', 'input': {'hint': ''}}])],
    [update('session_info_update', title=None)],
    [usage(0, 0)], [usage(10, 10), cost(0), cost(0.5), cost(1e3), cost(1, 'EUR'), cost(0)],
    turn(usage(5)) + [usage(1)], turn(id=2) + turn(usage(1), id=3),
    opens(3, 't') + [prompt(4, 't'), prompt(2), says(), says('b', 't'), ends(), ends(4)],
    opens(3, 't', cwd='C:\\w') + opens(4, 'u', cwd='\\\\host\\w', mcpServers=[{'name': 'x', 'command': 'x', 'args': [], 'env': []}]),
    [loads(), says('a', 't', 'user_message_chunk'), says('b', 't'), update('tool_call', 't', toolCallId='c', title='', status='pending'), gives(3)],
    [loads(), gives(3), update('current_mode_update', 't', currentModeId='m')],
    [loads(3, 's'), says('a', 's', 'user_message_chunk'), gives(3)],
    [loads(), fails(3), loads(4), gives(4), prompt(5, 't'), ends(5)],
    [loads(), fails(3), loads(4), says('a', 't', 'user_message_chunk'), gives(4)],
    [loads(), fails(3), loads(4), fails(4), loads(5, how='resume'), update('current_mode_update', 't', currentModeId='m'), gives(5)],
    [asks(3, 'session/close', sessionId='s'), gives(3)] + opens(4) + turn(),
    [loads(3, 's'), fails(3), *opens(4, 't')],
    [loads(3, 't'), fails(3), *opens(4, 't'), prompt(5, 't'), ends(5)],
    (begins() + opens(additionalDirectories=[]),),
    (begins(AGENT | {'nes': {'context': {'openFiles': {}}}}) + nes(suggest(context={'openFiles': [{'uri': 'x', 'languageId': 'c'}], 'recentFiles': []}),
        gives(4, suggestions=[])),),
    [loads(how='resume'), gives(3), prompt(4, 't'), says('a', 't'), ends(4)],
    [asks(3, 'session/close', sessionId='s'), gives(3), loads(4, 's'), gives(4)],
    turn(agent_asks(1, 'fs/read_text_file', sessionId='s', path='/a', line=0, limit=0), client_gives(1, content='')),
    turn(agent_asks(1, 'fs/read_text_file', sessionId='s', path='/a', line=None), message('client', id=1, error={'code': -32002, 'message': '', 'data': {}})),
    turn(agent_asks(1, 'terminal/create', sessionId='s', command='x', outputByteLimit=0), client_gives(1, terminalId='t'),
         agent_asks(2, 'terminal/wait_for_exit', **terminal), agent_asks(3, 'terminal/kill', **terminal), client_gives(3),
         client_gives(2, exitCode=None, signal='SIGKILL'), agent_asks(4, 'terminal/release', **terminal), client_gives(4)),
    # The id of a terminal that was released may be that of another one; and of one in another session.
    turn(*creates(), *releases(), *creates(3), *releases(4)),
    opens(3, 't') + turn(*creates(), *creates(2, 't'), *releases(3), *releases(4, sessionId='t'), id=5),
    # What was not released after all.
    turn(*creates(), agent_asks(2, 'terminal/release', **terminal), message('client', id=2, error={'code': -32603, 'message': ''}), *releases(3)),
    turn(agent_asks(1, '_late')) + [client_gives(1)],
    START, [asks(3, 'session/new', cwd='/w', mcpServers=[]), update('current_mode_update', 't', currentModeId='m'), gives(3, sessionId='t')],
    nes(), nes(opened_document, tells('document/didChange', **DOCUMENT, version=2, contentChanges=[{'text': 'a'}, {'text': '', 'range': RANGE}])),
    nes(opened_document, suggest(selection=RANGE, context={'recentFiles': [], 'diagnostics': None}), gives(4, suggestions=[])),
    nes(suggest(), gives(4, suggestions=[EDIT, {'id': 'j', 'kind': 'jump', 'uri': 'x', 'position': AT}]), tells('nes/accept', sessionId='n', id='e'),
        tells('nes/reject', sessionId='n', id='j', reason='ignored')),
    nes(suggest(), gives(4, suggestions=[{'id': 'r', 'kind': 'rename', 'uri': 'x', 'position': AT, 'newName': 'y', '_meta': {}},
        {'id': 's', 'kind': 'searchAndReplace', 'uri': 'x', 'search': 'a', 'replace': '', 'isRegex': None}]), tells('nes/reject', sessionId='n', id='r')),
    nes(suggest(), tells('$/cancel_request', requestId=4), fails(4, -32800)),
    nes(tells('document/didFocus', **DOCUMENT, version=1, position=AT, visibleRange=RANGE), tells('document/didClose', **DOCUMENT)),
    nes(prompt(), asks(5, 'nes/close', sessionId='n'), says(), gives(5), ends()),
    (BEGIN2 + turn2(said2(), said2('agent_message_chunk')) + [state('idle'), state('idle', stopReason='end_turn')],),
    (BEGIN2 + [prompt(), state('running'), said2(), gives(2, messageId='m'), prompt(3), gives(3, messageId='n'), state('idle')],),
    (BEGIN2 + [state('running'), said2('agent_message'), state('idle', stopReason='refusal')],),
    (BEGIN2 + turn2(changes2(), changes2('paused'), changes2(), changes2('completed')),),
    (BEGIN2 + turn2(changes2(), state('requires_action'), asks2(), chooses('y'), state('running'), changes2('cancelled')),),
    (BEGIN2 + turn2(cancel, stop='cancelled'),), (BEGIN2 + [prompt(), cancel, fails(2, -32800)],),
    (BEGIN2 + turn2(update('terminal_update', terminalId='t'), update('terminal_output_chunk', terminalId='t', data='YQ==')),),
    (BEGIN2 + close + [asks(4, 'session/resume', replayFrom={'type': 'start'}, **resume), said2(), changes2('completed'), gives(4)],),
    (BEGIN2 + close + [asks(4, 'session/resume', **resume), state('idle'), usage(1), gives(4)],),
    (begins2() + opens(mcpServers=[STDIO]),), (begins2() + [asks(1, 'auth/login', methodId='x'), gives(1), asks(2, 'auth/logout'), gives(2)],),
    # null clears the cost: it may begin anew.
    (BEGIN2 + [cost(5), usage(1, cost=None), cost(1)],),
    (begins(AGENT | {'positionEncoding': 'utf-8'}, asked=9) + opens(),),
    (begins({}, {}) + opens() + turn(),),
    (begins({'_meta': {'x': 1}, 'nes': None, 'positionEncoding': None}, {'_meta': None, 'nes': None}) + opens() + turn(),),
]


def all_of(case):
    return case[0] if isinstance(case, tuple) else START + case


def escaped(value):
    """JSON in which each character of a text is an escape, and members come in another order."""
    if isinstance(value, str):
        units = value.encode('utf-16-be')
        return '"' + ''.join(f'\\u{units[i]:02X}{units[i + 1]:02X}' for i in range(0, len(units), 2)) + '"'
    if isinstance(value, dict):
        return '{ ' + ' ,\t'.join(escaped(k) + ' : ' + escaped(v) for k, v in reversed(value.items())) + ' }'
    if isinstance(value, list):
        return '[ ' + ' , '.join(map(escaped, value)) + ' ]'
    return json.dumps(value)


def chained(messages, both):
    """The same between a conductor and a proxy: to and from the agent in envelopes, whose ids are their own; both: to and from the
    client, too, without. None: not every line is a message."""
    found = []
    for side, m in messages:
        if isinstance(m, bytes):
            return None
        inner = {k: v for k, v in m.items() if k not in ('jsonrpc', 'id')}
        outer = {k: v for k, v in m.items() if k == 'jsonrpc'}
        if m.get('id') is not None:
            outer['id'] = f'e{m["id"]}'
        outer |= {'method': 'proxy/successor', 'params': inner} if 'method' in m else inner
        pair = [(side, m), ('agent' if side == 'client' else 'client', outer)]
        found += pair[1:] if not both else pair if side == 'client' else pair[::-1]
    return found


def write(name, messages, spell):
    with open(name, 'wb') as f:
        for t, (side, m) in enumerate(messages):
            if isinstance(m, bytes):
                key, text = ('noise', json.dumps(m.decode()).encode()) if m == b'Welcome' else ('msg', m)
            else:
                key, text = 'msg', spell(m).encode()
            f.write(b'{"t":%d,"from":"%s","%s":%s}\n' % (t, side.encode(), key.encode(), text))
    return name


def findings(files, *options):
    """The rules of the findings of each file."""
    done = subprocess.run(['acp-check', '-f', 'json', '--level', 'note', *options, *files], stdout=subprocess.PIPE, check=False)
    found = {name: [] for name in files}
    for line in done.stdout.splitlines():
        finding = json.loads(line)
        found[finding['file']].append(f'{finding["rule"]} {finding.get("path", "")}: {finding["expected"]}, {finding.get("found")}')
    return found


def main():
    wrong = 0
    files = {write(f'breaks-{i}-{rule}', all_of(case), json.dumps): rule for i, (rule, case) in enumerate(BREAKS)}
    for name, found in findings(list(files)).items():
        if len(found) != 1 or found[0].split()[0] != files[name]:
            print(f'{name}: {found}')
            wrong += 1
    files = [write(f'holds-{i}-{spell.__name__}', all_of(case), spell) for i, case in enumerate(HOLDS) for spell in (json.dumps, escaped)]
    for name, found in findings(files).items():
        if found:
            print(f'{name}: {found}')
            wrong += 1
    for both in (False, True):
        rules = {}
        for i, (rule, case) in enumerate(BREAKS + [('', case) for case in HOLDS]):
            messages = chained(all_of(case), both)
            if messages:
                rules[write(f'chained-{i}-{both}-{rule}', messages, json.dumps)] = rule
        for name, found in findings(list(rules)).items():
            if {f.split()[0] for f in found} != ({rules[name]} if rules[name] else set()):
                print(f'{name}: {found}')
                wrong += 1
    print(f'{len(BREAKS)} break a rule, {len(HOLDS)} keep all')
    return wrong > 0


sys.exit(main())
