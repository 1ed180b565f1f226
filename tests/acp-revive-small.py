"""
A small agent for acp-revive.bats. It notes what each of its processes reads in agent.log, and responds to everything; the method die
kills it, and half does so within a long response. `refuse-METHOD` as an argument: later processes refuse that method; `ask-METHOD`: they
ask the client something first; `long-METHOD`: their response is long. `leave-METHOD`: the second process closes its input, responds and ends.
"""
import json, os, signal, sys, time

life = 1 + (os.path.exists('lives') and len(open('lives').readlines()))
with open('lives', 'a') as f:
	f.write('x\n')


def say(**message):
	print(json.dumps({'jsonrpc': '2.0', **message}, separators=(',', ':')), flush=True)


def update(**what):
	say(method='session/update', params={'sessionId': 's1', 'update': what})


def options(fast):
	return [{'id': 'fast', 'type': 'boolean', 'currentValue': fast}]


for line in sys.stdin:
	with open('agent.log', 'a') as f:
		f.write('%d %s' % (life, line))
	m = json.loads(line)
	method, result = m.get('method'), {}
	if method == 'half':
		print(end='{"jsonrpc":"2.0","id":"%s","result":{"x":"%03000d' % (m['id'], 0), flush=True)
	if method in ('die', 'half'):
		os.kill(os.getpid(), signal.SIGKILL)
	if not method or 'id' not in m:
		continue
	if life > 1 and 'refuse-' + method in sys.argv:
		say(id=m['id'], error={'code': -32000, 'message': 'not today'})
		continue
	if life > 1 and 'ask-' + method in sys.argv:
		say(id=9, method='_x/first')
		while '"method"' in sys.stdin.readline():
			pass
	if method == 'ask-long':
		say(id=7, method='_x/long', params={'x': 'x' * 3000})
	if method == 'initialize':
		result = {'protocolVersion': 1, 'agentCapabilities': {'sessionCapabilities': {'resume': {}}}}
	elif method in ('session/new', 'session/resume'):
		result = {'sessionId': 's1', 'modes': {'currentModeId': 'ask'}, 'models': {'currentModelId': 'small'},
			'configOptions': options(False)}
	elif method == 'change':
		update(sessionUpdate='current_mode_update', currentModeId='code')
		update(sessionUpdate='config_option_update', configOptions=options(True))
	elif method == 'ask':
		say(id=7, method='_x/ask')
		say(method='$/cancel_request', params={'requestId': 8})
		say(method='$/cancel_request', params={'requestId': 7})
	if method == 'long' or (life > 1 and 'long-' + method in sys.argv):
		result['x'] = 'x' * 3000
	leaves = life == 2 and 'leave-' + method in sys.argv
	if leaves:
		os.close(0)
		time.sleep(0.2)
	say(id=m['id'], result=result)
	if leaves:
		os._exit(3)
