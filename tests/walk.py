"""
A walk over random chains of acp-conduct whose processes die while the client and the agent both talk.

  walk.py agent          an agent: sends numbered notifications and requests, and responds to each request with its number
  walk.py run SEED N     N random chains, each from a seed of its own, which is printed where something is wrong

What must hold. Numbers rise in each direction. A response has the number of its request, and there is one for each request, an error
only where a process has died. In a chain that acp-conduct does not read it may be missing after a death; where a chain ends because
of a death, or the agent has ended, for requests after the last that has one. No more notifications are lost than acp-conduct reports.
The chain ends by itself, without a grace period, with the status that it should have, and leaves neither process nor socket.
"""
import concurrent.futures, json, os, random, re, selectors, shutil, signal, subprocess, sys, tempfile, time

AGENT, CLIENT = 200, 130 # messages of each
TOO_LONG = int(os.environ.get('WALK_LIMIT', 60)) # seconds: it hangs

class Talk:
	"""One end: numbered messages out, and what comes in is checked."""
	def __init__(self, name, out):
		self.name, self.out, self.n, self.last, self.notes, self.seen, self.noted = name, out, 0, 0, 0, 0, 0
		self.responses, self.bad, self.failed, self.asked, self.ready, self.part = {}, [], 0, [], False, b''

	def say(self, **message):
		try:
			os.write(self.out, json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')
		except OSError:
			pass

	def initialize(self):
		self.say(id='init', method='initialize', params={})

	def send(self):
		self.n += 1
		message = {'method': '_test/' + self.name, 'params': {'n': self.n}}
		if self.n % 3 == 1:
			message['id'] = self.n
			self.responses[self.n] = 0
		else:
			self.notes += 1
		self.say(**message)

	def read(self, data):
		*lines, self.part = (self.part + data).split(b'\n')
		for line in lines:
			self.line(line)

	def line(self, line):
		try:
			m = json.loads(line)
		except ValueError:
			# The half line of a dead filter, which was ended.
			if not line.startswith((b'{', b'"')):
				self.bad.append('a line: %r' % line[:80])
			return
		method, number = m.get('method'), m.get('id')
		if method == 'initialize':
			self.say(id=number, result={'protocolVersion': 1})
		elif method == '_test/over':
			self.asked.append(number)
		elif method and method.startswith('_test/'):
			n = m['params']['n']
			if n <= self.seen:
				self.bad.append('%d after %d' % (n, self.seen))
			self.seen = n
			if number is None:
				self.noted += 1
			else:
				self.say(id=number, result={'n': n})
		elif not method and number in self.responses:
			self.responses[number] += 1
			self.last = max(self.last, number)
			if self.responses[number] > 1:
				self.bad.append('two responses to %r' % number)
			if 'result' in m and m['result'].get('n') != number:
				self.bad.append('the response to %r is %r' % (number, m['result']))
			self.failed += 'error' in m
		elif not method and number == 'init':
			self.failed += 'error' in m
			self.ready = 'result' in m
			if not self.ready:
				self.initialize()
		elif not method and str(number).startswith('over'):
			self.asked.append('result' in m)
		elif not method:
			self.bad.append('a response to nothing: %r' % line[:80])

	def unanswered(self):
		return [i for i, n in self.responses.items() if n == 0]


def agent(report, read, end):
	"""It responds to _test/over when it has sent everything and, in a chain that is read, has all responses."""
	talk, chooser = Talk('agent', 1), selectors.DefaultSelector()
	chooser.register(0, selectors.EVENT_READ)
	over = False
	while not over and not (end and talk.n >= AGENT / 2):
		if chooser.select(0.004):
			data = os.read(0, 65536)
			over = not data
			talk.read(data)
		if talk.seen > 0 and talk.n < AGENT:
			talk.send()
		if talk.n == AGENT and not (read and talk.unanswered()):
			while talk.asked:
				talk.say(id=talk.asked.pop(), result={})
	with open(report, 'w') as f:
		json.dump({'bad': talk.bad, 'unanswered': talk.unanswered(), 'last': talk.last, 'notes': talk.notes, 'noted': talk.noted,
			'failed': talk.failed, 'over': over}, f)
	if end and not over:
		if end == 'KILL':
			os.kill(os.getpid(), signal.SIGKILL)
		sys.exit(int(end))


def children(pid):
	try:
		with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
			return [int(p) for p in f.read().split()]
	except OSError:
		return []


def name(pid):
	try:
		with open('/proc/%d/comm' % pid) as f:
			return f.read().strip()
	except OSError:
		return ''


class Chain:
	"""A random chain and its run."""
	KINDS = [['-f', 'acp-tap -o /dev/null'], ['-f', 'faulty'], ['-d', 'cat'], ['-d', 'acp-tap -o /dev/null'], ['-u', 'cat'],
		['-u', 'acp-tap -o /dev/null'], ['-p', 'acp-tap -o /dev/null'], ['-p', 'acp-tap -o /dev/null'],
		['-p', 'faulty acp-tap -o /dev/null --way proxy'], ['-p', "acp-conduct -p 'acp-tap -o /dev/null'"]]

	def __init__(self, seed):
		r = self.random = random.Random(seed)
		self.seed, self.killed, self.err, self.bad = seed, [], [], []
		self.words = ['acp-conduct', '--no-mcp', '--restarts', '%d/1m' % r.choice([1, 1000]), '--init-timeout', '20s']
		# A filter of ours that gets SIGTERM ends its outputs and waits for its inputs: it counts as dead after the grace period.
		self.signals = [signal.SIGKILL, signal.SIGSEGV] + ([signal.SIGTERM, signal.SIGHUP] if r.random() < 0.3 else [])
		self.words += ['--grace', '1000s' if len(self.signals) == 2 else '1s']
		self.words += ['--record', '/dev/null'] if r.random() < 0.3 else []
		self.words += ['--control', 'auto'] if r.random() < 0.2 else []
		for _ in range(r.randrange(7)):
			if r.random() < 0.3:
				self.words += ['--on-crash', r.choice(['restart', 'bypass', 'fail'])]
			self.words += r.choice(self.KINDS)
		self.read = '-p' in self.words or '--record' in self.words
		# After so many steps of the client, which begins with initialize and leaves at the end.
		self.deaths = sorted(r.randrange(r.choice([20, CLIENT + 15])) for _ in range(r.randrange(5)))
		self.end = r.choice(['0', '1', '3', '7', 'KILL']) if r.random() < 0.15 else ''
		self.signal = r.randrange(20, CLIENT) if r.random() < 0.1 else 0

	def kill(self):
		victims = [p for p in children(self.process.pid) if name(p) in ('acp-tap', 'cat', 'faulty', 'acp-share', 'acp-conduct')]
		# The guardian is a child, too.
		victims = [p for p in victims if os.getpgid(p) == p]
		if victims:
			victim = self.random.choice(victims)
			faults = [0, 2, 3] if self.read else [0, 2]
			how = self.random.choice(self.signals + ([signal.SIGRTMIN + n for n in faults] if name(victim) == 'faulty' else []))
			self.killed.append('%s %d' % (name(victim), how))
			os.kill(victim, how)

	def step(self, talk):
		"""What the client does between two looks."""
		self.steps += 1
		if talk.ready and talk.n < CLIENT:
			talk.send()
		while self.deaths and self.steps > self.deaths[0]:
			self.deaths.pop(0)
			try:
				self.kill()
			except OSError:
				pass
		if self.signal and talk.n >= self.signal:
			self.process.send_signal(signal.SIGTERM)
			self.signal, self.signalled = 0, True
		# Where the request is lost, it is sent again; where acp-conduct does not read, any message may be.
		if (talk.n == CLIENT or (self.killed and not self.read)) and not self.left:
			now = time.monotonic()
			if (True in talk.asked and not (self.read and talk.unanswered())) or (self.killed and not self.read and self.overs > 3):
				self.process.stdin.close()
				# The descriptor's number may soon be another chain's.
				talk.out = -1
				self.left = True
			elif talk.asked or now - self.asked_at > 1:
				talk.asked.clear()
				self.asked_at = now
				self.overs += 1
				talk.say(id='over%d' % self.overs, method='_test/over')

	def run(self, directory):
		self.report = os.path.join(directory, 'report')
		self.left, self.steps, self.asked_at, self.overs, self.signalled = False, 0, 0, 0, False
		mine = [sys.executable, '-SE', os.path.abspath(__file__), 'agent', self.report, '1' if self.read else '', self.end]
		self.process = subprocess.Popen(self.words + ['--', *mine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
			env=dict(os.environ, XDG_RUNTIME_DIR=directory))
		talk = Talk('client', self.process.stdin.fileno())
		talk.initialize()
		chooser = selectors.DefaultSelector()
		chooser.register(self.process.stdout, selectors.EVENT_READ, talk.read)
		chooser.register(self.process.stderr, selectors.EVENT_READ, self.err.append)
		start = time.monotonic()
		while chooser.get_map():
			for key, _ in chooser.select(0.005):
				data = os.read(key.fd, 65536)
				if data:
					key.data(data)
				else:
					chooser.unregister(key.fileobj)
			self.step(talk)
			if time.monotonic() - start > TOO_LONG:
				self.bad.append('it does not end (%s, unanswered %r)' % ('left' if self.left else 'not left', talk.unanswered()[:5]))
				self.process.kill()
				break
		self.judge(talk, self.process.wait(), directory)

	def judge(self, talk, status, directory):
		err = b''.join(self.err).decode(errors='replace')
		broken, quiet = 'ending the chain' in err, not self.killed and not self.end and not self.signalled
		try:
			with open(self.report) as f:
				other = json.load(f)
		except (OSError, ValueError):
			other = None
		self.bad += ['client: ' + b for b in talk.bad]
		lost = 0, 0
		# Nobody responds to what comes after the end.
		ends = broken or self.end or self.signalled
		for who, open_, last in [('client', talk.unanswered(), talk.last)] + ([('agent', other['unanswered'], other['last'])] if other else []):
			open_ = [i for i in open_ if not ends or i < last]
			if open_ and (self.read or not self.killed):
				self.bad.append('%s: no response to %r' % (who, open_[:5]))
		if not other and not broken and not self.signalled:
			self.bad.append('no report of the agent')
		if other:
			self.bad += ['agent: ' + b for b in other['bad']]
			lost = talk.notes - other['noted'], other['notes'] - talk.noted
			reported = sum(int(n) for n in re.findall(r'notifications lost: at most (\d+)', err))
			if self.read and not ends and sum(lost) > reported:
				self.bad.append('%d + %d notifications lost, reported %d' % (*lost, reported))
		if quiet and (status or talk.failed or sum(lost)):
			self.bad.append('status %d, %d failed, %d + %d lost' % (status, talk.failed, *lost))
		want = 0 if not self.end else 137 if self.end == 'KILL' else int(self.end)
		# A signal that comes when the agent has ended, and acp-conduct is about to, ends acp-conduct itself.
		# (That it has ended with 0 is not reported: its own report says so.)
		if self.signalled and status == -signal.SIGTERM and ('agent: ended with' in err or
				self.end == '0' and other and not other['over']):
			status = want
		if other and want and not other['over'] and status != want:
			self.bad.append('status %d, not %d' % (status, want))
		elif not broken and not want and status and ': ended with' not in err:
			self.bad.append('status %d' % status)
		left = [f for _, _, files in os.walk(directory) for f in files if f != 'report']
		if left and not any('acp-share' in k for k in self.killed):
			self.bad.append('left over: %r' % left)
		if self.bad:
			print('seed', self.seed, self.words, 'agent', self.end, 'signalled', self.signalled, 'killed', self.killed, 'status', status, self.bad[:4],
				'\n ', err[-int(os.environ.get('WALK_SHOWN', 1500)):].replace('\n', '\n  '), flush=True)


def play(seed):
	chain, directory = Chain(seed), tempfile.mkdtemp()
	try:
		chain.run(directory)
	finally:
		shutil.rmtree(directory, ignore_errors=True)
	return len(chain.killed), not chain.bad


def main():
	signal.signal(signal.SIGPIPE, signal.SIG_IGN)
	if sys.argv[1] == 'agent':
		return agent(*sys.argv[2:5])
	seed, n = int(sys.argv[2]), int(sys.argv[3])
	# They mostly wait.
	with concurrent.futures.ThreadPoolExecutor(4) as several:
		results = list(several.map(play, range(seed, seed + n)))
	bad = sum(not good for _, good in results)
	print('%d chains from seed %d, %d deaths, %d bad' % (n, seed, sum(k for k, _ in results), bad))
	sys.exit(bad > 0)

main()
