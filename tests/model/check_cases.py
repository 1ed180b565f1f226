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


def offers(**more):
    """A session with modes, options, or what else its response has."""
    return begins() + [asks(1, 'session/new', cwd='/w', mcpServers=[]), gives(1, sessionId='s', **more)]


def sets(value, option='model', id=3, **more):
    return asks(id, 'session/set_config_option', sessionId='s', configId=option, value=value, **more)


def select(*values, id='model', current='a', **more):
    return {'id': id, 'name': '', 'type': 'select', 'currentValue': current, 'options': [{'value': v, 'name': ''} for v in values]} | more


def select2(*values, **more):
    option = select(*values, **more)
    return {'configId': option.pop('id')} | option


def mode(*modes):
    return {'currentModeId': modes[0], 'availableModes': [{'id': m, 'name': ''} for m in modes]}


def turns_mode(id):
    return [asks(3, 'session/set_mode', sessionId='s', modeId=id), gives(3)]


def logs_in(*methods):
    return [asks(0, 'initialize', protocolVersion=1, clientCapabilities=CLIENT | {'auth': {'terminal': True}}),
            gives(0, protocolVersion=1, agentCapabilities=AGENT, authMethods=[{'id': m, 'name': ''} | more for m, more in methods])]


def authenticates(method='x', id=1, how='authenticate'):
    return [asks(id, how, methodId=method), gives(id)]


def lists(cursor=None, next=None, id=3, **more):
    return [asks(id, 'session/list', **{'cursor': cursor} | more), gives(id, sessions=[], nextCursor=next)]


def compaction(status, id='k', session='s'):
    return update('compaction_update', session, compactionId=id, status=status)


def summary(id='k'):
    return update('compaction_summary_chunk', compactionId=id, content={'type': 'text', 'text': 'a'})


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


INCREMENTAL = {'nes': {'events': {'document': {'didChange': {'syncKind': 'incremental'}}}}}
COMPACTS = CLIENT | {'session': {'compaction': {}}}
TERMINAL = {'type': 'terminal'}

# Version 2.
INFO = {'name': 'x', 'version': '1'}


def begins2(agent=None, client=None, agreed=2):
    session = {'prompt': {'image': {}}, 'mcp': {'stdio': {}}, 'delete': {}}
    return [asks(0, 'initialize', protocolVersion=2, info=INFO, capabilities=client or {}),
            gives(0, protocolVersion=agreed, info=INFO, capabilities={'session': session} if agent is None else agent)]


LOGIN2 = {'methodId': 'x', 'type': 'agent', 'name': ''}


def logs_in2(*methods):
    first, second = begins2(client={'auth': {'terminal': {}}})
    second[1]['result']['authMethods'] = list(methods)
    return [first, second]


def offers2(**more):
    return begins2() + [asks(1, 'session/new', cwd='/w'), gives(1, sessionId='s', **more)]


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
    return [prompt(), gives(2, messageId='m'), said2(), state('running'), *inside, state('idle', stopReason=stop)]


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
    ('resume-replay', (BEGIN2 + close + [asks(4, 'session/resume', **resume), said2(), state('idle'), gives(4)],)),
    ('permission-call', (BEGIN2 + turn2(asks2(), chooses('y'), changes2('failed')),)),
    ('permission-option', (BEGIN2 + turn2(changes2(), asks2(), chooses('z'), changes2('failed')),)),
    ('tool-call-finished', (BEGIN2 + turn2(changes2('completed'), changes2()),)),
    ('capability', nes(tells('document/didChange', **DOCUMENT, version=2, contentChanges=[{'text': 'a', 'range': RANGE}]))),
    ('capability', (begins(AGENT | {'positionEncoding': 'utf-32'}) + opens(),)),
    ('capability', (begins(AGENT | {'positionEncoding': 'utf-8'}, {}) + opens(),)),
    ('capability', (BEGIN2 + turn2(changes2(), asks(4, 'tool_call/cancel', sessionId='s', toolCallId='c'), gives(4), changes2('cancelled')),)),
    ('method-refused', (logs_in(('x', {}), ('t', TERMINAL)) + [asks(1, 'authenticate', methodId='x'), fails(1, -32601)],)),
    ('method-refused', (offers(modes=mode('a')) + [asks(3, 'session/set_mode', sessionId='s', modeId='a'), fails(3, -32601)],)),
    ('method-refused', (logs_in2(LOGIN2) + [asks(1, 'auth/logout'), fails(1, -32601)],)),
    ('login-method', (logs_in(('x', {})) + authenticates('y'),)),
    ('login-method', (logs_in(('x', {}), ('t', TERMINAL)) + authenticates('t'),)),
    ('login-method', (begins() + authenticates(),)),
    ('login-method', (logs_in2(LOGIN2, LOGIN2 | TERMINAL | {'methodId': 't'}) + authenticates('t', 1, 'auth/login'),)),
    ('login-method', (begins2() + [asks(1, 'auth/logout'), gives(1)],)),
    ('unlisted-value', (offers(modes=mode('a', 'b')) + turns_mode('c'),)),
    ('unlisted-value', (offers(configOptions=[select('a')]) + [sets('a', 'effort'), fails(3, -32602)],)),
    ('unlisted-value', (offers(configOptions=[select('a')]) + [sets('b'), fails(3, -32602)],)),
    ('unlisted-value', (offers(configOptions=[select('a'), select('b', id='effort', current='b')]) + [sets('b'), fails(3, -32602)],)),
    ('unlisted-value', (offers2(configOptions=[select2('a')]) + [sets('b', type='id'), fails(3, -32602)],)),
    ('config-value', (offers2(configOptions=[select2('b')]),)),
    ('config-value', (offers2() + [update('config_option_update', configOptions=[select2('b')])],)),
    ('list-cursor', lists('x')),
    ('list-cursor', lists(None, 'x') + lists('X', None, 4)),
    ('list-cursor', (begins() + lists(None, 'x') + begins() + opens() + lists('x'),)),
    ('not-unique', turn(call('c', 'pending'), agent_asks('p', 'session/request_permission', sessionId='s', toolCall={'toolCallId': 'c'},
        options=[OPTIONS[0], OPTIONS[1] | {'optionId': 'y'}]), chooses('y'), changes('completed'))),
    ('not-unique', (offers(modes=mode('a', 'b', 'a')),)),
    ('not-unique', (offers(configOptions=[select('a'), select('a')]),)),
    ('not-unique', (logs_in(('x', {}), ('x', {})),)),
    ('not-unique', (offers2(configOptions=[select2('a', 'b', 'b')]),)),
    ('command-name', (BEGIN2 + [update('available_commands_update', availableCommands=[{'type': 'command', 'name': 'a b', 'description': ''}])],)),
    ('command-name', (offers2(availableCommands=2 * [{'type': 'command', 'name': 'a', 'description': ''}]),)),
    ('resume-state', (BEGIN2 + close + [asks(4, 'session/resume', **resume), gives(4)],)),
    ('resume-state', (BEGIN2 + [state('idle')] + close + [asks(4, 'session/resume', **resume), gives(4), state('idle')],)),
    ('state-running', (BEGIN2 + [prompt(), gives(2, messageId='m'), said2(), said2('agent_message'), state('idle', stopReason='end_turn')],)),
    ('stop-reason', (BEGIN2 + [prompt(), gives(2, messageId='m'), said2(), state('running'), state('idle')],)),
    ('stop-reason', (BEGIN2 + [state('requires_action'), state('idle', stopReason=None)],)),
    ('user-message', (BEGIN2 + [prompt(), gives(2, messageId='m'), state('running'), state('idle', stopReason='end_turn')],)),
    ('user-message', (BEGIN2 + [prompt(), said2(), gives(2, messageId='n'), state('running'), state('idle', stopReason='end_turn')],)),
    ('background-work', (BEGIN2 + [state('running', background=[]), state('idle', stopReason='end_turn')],)),
    ('background-work', (BEGIN2 + [state('idle', background=[{'type': 'tool_call', 'toolCallId': 'c'}])],)),
    ('background-work', (BEGIN2 + [state('idle', background=[{'type': 'terminal', 'terminalId': 't'}])],)),
    ('compaction-ended', (begins(client=COMPACTS) + opens() + [compaction('in_progress'), compaction('completed'), compaction('in_progress')],)),
    ('compaction-ended', (begins(client=COMPACTS) + opens() + [compaction('in_progress'), summary(), summary(), compaction('failed'), summary()],)),
    ('cancelled-turn', (BEGIN2 + [state('running'), *close],)),
    ('cancelled-turn', [prompt(), *close, ends()]),
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
    nes(), nes(opened_document, tells('document/didChange', **DOCUMENT, version=2, contentChanges=[{'text': 'a'}, {'text': '', 'range': None}])),
    (begins(INCREMENTAL) + nes(tells('document/didChange', **DOCUMENT, version=2, contentChanges=[{'text': 'a'}, {'text': '', 'range': RANGE}])),),
    nes(opened_document, suggest(selection=RANGE, context={'recentFiles': [], 'diagnostics': None}), gives(4, suggestions=[])),
    nes(suggest(), gives(4, suggestions=[EDIT, {'id': 'j', 'kind': 'jump', 'uri': 'x', 'position': AT}]), tells('nes/accept', sessionId='n', id='e'),
        tells('nes/reject', sessionId='n', id='j', reason='ignored')),
    nes(suggest(), gives(4, suggestions=[{'id': 'r', 'kind': 'rename', 'uri': 'x', 'position': AT, 'newName': 'y', '_meta': {}},
        {'id': 's', 'kind': 'searchAndReplace', 'uri': 'x', 'search': 'a', 'replace': '', 'isRegex': None}]), tells('nes/reject', sessionId='n', id='r')),
    nes(suggest(), tells('$/cancel_request', requestId=4), fails(4, -32800)),
    nes(tells('document/didFocus', **DOCUMENT, version=1, position=AT, visibleRange=RANGE), tells('document/didClose', **DOCUMENT)),
    nes(prompt(), asks(5, 'nes/close', sessionId='n'), says(), gives(5), ends()),
    (BEGIN2 + turn2(said2(), said2('agent_message_chunk')) + [state('idle'), state('idle', stopReason='end_turn')],),
    (BEGIN2 + [prompt(), state('running'), said2(), gives(2, messageId='m'), prompt(3), gives(3, messageId='n'),
        state('idle', stopReason='end_turn')],),
    (BEGIN2 + [state('running'), said2('agent_message'), state('idle', stopReason='refusal')],),
    (BEGIN2 + turn2(changes2(), changes2('paused'), changes2(), changes2('completed')),),
    (BEGIN2 + turn2(changes2(), state('requires_action'), asks2(), chooses('y'), state('running'), changes2('cancelled')),),
    (BEGIN2 + turn2(cancel, stop='cancelled'),), (BEGIN2 + [prompt(), cancel, fails(2, -32800)],),
    (BEGIN2 + turn2(update('terminal_update', terminalId='t'), update('terminal_output_chunk', terminalId='t', data='YQ==')),),
    (BEGIN2 + close + [asks(4, 'session/resume', replayFrom={'type': 'start'}, **resume), said2(), changes2('completed'), state('idle'), gives(4)],),
    (BEGIN2 + close + [asks(4, 'session/resume', **resume), state('idle'), usage(1), gives(4)],),
    (begins2() + opens(mcpServers=[STDIO]),),
    (logs_in2(LOGIN2) + [asks(1, 'auth/login', methodId='x'), gives(1), asks(2, 'auth/logout'), gives(2)],),
    (BEGIN2 + [state('running'), state('idle', stopReason='cancelled'), *close, state('idle')][:-1],),
    [prompt(), *close, ends(2, 'cancelled')],
    # What was offered once, in whatever place, is no stranger.
    (offers(modes=mode('a', 'b')) + turns_mode('b'),), turns_mode('m'),
    (offers(modes=mode('a')) + [update('current_mode_update', currentModeId='c')] + turns_mode('c'),),
    (offers(modes=mode('a'), configOptions=[select('a', 'c', category='mode')]) + turns_mode('c'),),
    (offers(modes=mode('a')) + opens(4, 't') + [asks(5, 'session/set_mode', sessionId='t', modeId='z'), gives(5)],),
    (offers(configOptions=[select('a', 'b')]) + [sets('b'), gives(3, configOptions=[select('b', 'c', current='b')]), sets('a'), fails(3, -32602)],),
    (offers(configOptions=[select('a', current='z')]) + [sets('z'), gives(3, configOptions=[select('a', current='z')])],),
    (offers(configOptions=[select(options=[{'group': 'g', 'name': '', 'options': [{'value': 'b', 'name': ''}]}])]) +
        [sets('b'), gives(3, configOptions=[select('b', current='b')])],),
    (offers(configOptions=[]) + [sets('b'), fails(3, -32602)],),
    (offers2(configOptions=[select2(options=[{'groupId': 'g', 'name': '', 'options': [{'value': 'a', 'name': ''}]}])]),),
    (logs_in(('x', {}), ('t', TERMINAL)) + authenticates(),), (logs_in(('t', TERMINAL)) + [asks(1, '_x'), fails(1, -32601)],),
    (begins() + lists(None, 'x') + lists('x', '', 4) + lists('', None, 5),),
    (begins() + lists(None, 'x') + lists('x') + lists('x'),),
    turn(call('a', 'pending'), call('b', 'pending'), permission('p', 'a'), permission('q', 'b'), chooses('y', 'p'), chooses('y', 'q'),
         changes('completed', 'a'), changes('completed', 'b')),
    (BEGIN2 + close + [asks(4, 'session/resume', **resume), state('running', background=[]), gives(4)],),
    (BEGIN2 + [prompt(), state('requires_action'), gives(2, messageId='m'), said2('user_message_chunk'), state('idle', stopReason='_x')],),
    (BEGIN2 + [prompt(), fails(2), state('idle'), state('running'), state('idle', stopReason='end_turn')],),
    # An idle state that repeats does not end what was just accepted.
    (BEGIN2 + [prompt(), gives(2, messageId='m'), state('idle'), said2(), state('running'), state('idle', stopReason='end_turn')],),
    (BEGIN2 + [prompt(), gives(2, messageId='m'), state('running'), prompt(3), said2(), gives(3, messageId='n'), state('idle', stopReason='end_turn')],),
    (BEGIN2 + turn2(changes2(), update('terminal_output_chunk', terminalId='t', data='YQ=='), state('running', background=[
        {'type': 'tool_call', 'toolCallId': 'c'}, {'type': 'terminal', 'terminalId': 't'}, {'type': '_x'}]), changes2('completed'))[:-1] +
        [state('idle', stopReason='end_turn', background=[])],),
    (BEGIN2 + turn2(update('tool_call_update', toolCallId='c', title='t', status='in_progress', capabilities={'cancel': {}}),
        asks(4, 'tool_call/cancel', sessionId='s', toolCallId='c'), gives(4), changes2('cancelled')),),
    (BEGIN2 + turn2(update('terminal_update', terminalId='t', capabilities={'cancel': {}}),
        asks(4, 'terminal/cancel', sessionId='s', terminalId='t'), gives(4)),),
    (begins(client=COMPACTS) + opens() + [compaction('in_progress'), summary(), compaction('completed'), compaction('completed'),
        compaction('in_progress', 'l'), summary('l'), compaction('cancelled', 'l'), loads(3, 't'), compaction('completed', 'k', 't'), gives(3)],),
    # null clears the cost: it may begin anew.
    (BEGIN2 + [cost(5), usage(1, cost=None), cost(1)],),
    (begins(AGENT | {'positionEncoding': 'utf-8'}, asked=9) + opens(),),
    (begins({}, {}) + opens() + turn(),),
    (begins({'_meta': {'x': 1}, 'nes': None, 'positionEncoding': None}, {'_meta': None, 'nes': None}) + opens() + turn(),),
]

# The same with --unstable.
ARCHIVE = AGENT | {'sessionCapabilities': {'list': {}, 'archive': {}, 'systemPrompt': {}}, 'auth': {'status': {}}, 'providers': {}}


def prompted(*content):
    return opens(systemPrompt={'mode': 'append', 'content': list(content)})


def provider(required, id=3):
    return [asks(id, 'providers/list'), gives(id, providers=[{'providerId': 'p', 'supported': [], 'required': required}])]


disable = [asks(8, 'providers/disable', providerId='p'), gives(8)]
UNSTABLE_BREAKS = [
    ('archive', (begins(AGENT | {'sessionCapabilities': {'archive': {}}}) + opens(),)),
    ('archive', (begins(ARCHIVE) + [asks(3, 'session/list'), gives(3, sessions=[{'sessionId': 's', 'cwd': '/w'}])],)),
    ('capability', lists(archived='only')),
    ('capability', (begins(ARCHIVE) + provider(True) + disable,)),
    ('auth-status', (begins(ARCHIVE) + [asks(3, 'auth/status'), fails(3, -32000)],)),
    ('system-prompt', (begins(ARCHIVE) + prompted({'type': 'image', 'mimeType': 'image/png', 'data': ''}),)),
    ('system-prompt', (begins(ARCHIVE) + prompted(),)),
    ('not-unique', (begins(ARCHIVE | {'mcpCapabilities': {'acp': True}}) + opens(mcpServers=2 * [{'type': 'acp', 'name': 'x', 'serverId': 'm'}]),)),
]
UNSTABLE_HOLDS = [
    (begins(ARCHIVE) + [asks(3, 'session/list', archived='include'), gives(3, sessions=[{'sessionId': 's', 'cwd': '/w', 'archived': False}])],),
    (begins(ARCHIVE) + provider(False) + disable,), (begins(ARCHIVE) + provider(True) + provider(False) + disable,),
    (begins(ARCHIVE) + [asks(3, 'auth/status'), fails(3, -32603)] + prompted(text, text),),
    (begins(ARCHIVE | {'mcpCapabilities': {'acp': True}}) + opens(mcpServers=[{'type': 'acp', 'name': 'x', 'serverId': m} for m in 'mn']),),
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


def check(breaks, holds, *options):
    """Returns how many have other findings than they should."""
    wrong = 0
    files = {write(f'breaks-{i}-{rule}', all_of(case), json.dumps): rule for i, (rule, case) in enumerate(breaks)}
    for name, found in findings(list(files), *options).items():
        if len(found) != 1 or found[0].split()[0] != files[name]:
            print(f'{name}: {found}')
            wrong += 1
    files = [write(f'holds-{i}-{spell.__name__}', all_of(case), spell) for i, case in enumerate(holds) for spell in (json.dumps, escaped)]
    for name, found in findings(files, *options).items():
        if found:
            print(f'{name}: {found}')
            wrong += 1
    for both in (False, True):
        rules = {}
        for i, (rule, case) in enumerate(breaks + [('', case) for case in holds]):
            messages = chained(all_of(case), both)
            if messages:
                rules[write(f'chained-{i}-{both}-{rule}', messages, json.dumps)] = rule
        for name, found in findings(list(rules), *options).items():
            if {f.split()[0] for f in found} != ({rules[name]} if rules[name] else set()):
                print(f'{name}: {found}')
                wrong += 1
    return wrong


def main():
    wrong = check(BREAKS, HOLDS) + check(UNSTABLE_BREAKS, UNSTABLE_HOLDS, '--unstable')
    print(f'{len(BREAKS + UNSTABLE_BREAKS)} break a rule, {len(HOLDS + UNSTABLE_HOLDS)} keep all')
    return wrong > 0


sys.exit(main())
