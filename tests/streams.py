#!/usr/bin/env python3
"""A peer of Streamable HTTP for tests, with the standard library alone: HTTP/1.1, and frames of HTTP/2 by hand. It can break every rule.

streams.py model PORT SEED STEPS VERSION  random requests by HTTP/1.1 or HTTP/2 (1, 2); statuses and messages are what a model expects
streams.py many PORT N M               N connections with M sessions each, all at once
streams.py deaf PORT N SIZE FILE HOW   a session whose stream is not read until FILE is there
streams.py drop PORT                   closes the socket in each state
streams.py flood PORT KIND             settings, ping, reset, continuation, window, empty, padding, or those of RESETS: until the server closes
streams.py hold PORT KIND...           begins as KIND says, a connection each, and waits until the server has closed all; see the function
streams.py race PORT N                 requests at the same moment, N times
streams.py crowd PORT N                event streams of N sessions of one connection: how many are opened, and the status of the others
streams.py relay PORT PORTFILE CUT  between the two ends; ends all connections when the file CUT appears
streams.py proxy PORTFILE              a proxy, by CONNECT or for one request a connection; prints the first line of each request
streams.py cuts PORT SEED N SCHEME OPTION...  N times acp-http --connect SCHEME://..., whose TCP is dropped once, after some bytes
streams.py replay PORTFILE             a server of HTTP/2, whose updates and response to session/load come at once, in this order
streams.py server PORTFILE STEP...     a server for acp-http --connect; see the function
"""
import http.server, json, os, random, re, select, socket, socketserver, struct, subprocess, sys, threading, time

PATIENCE = 60


def message(i, method, **params):
    return json.dumps({'jsonrpc': '2.0', **({} if i is None else {'id': i}), 'method': method, 'params': params}, separators=(',', ':'))


class Peer:
    """A socket with a buffer."""

    def __init__(self, port):
        self.sock, self.buffer = socket.create_connection(('127.0.0.1', int(port)), PATIENCE), b''

    def until(self, end):
        while end not in self.buffer:
            more = self.sock.recv(1 << 16)
            if not more:
                raise EOFError
            self.buffer += more
        text, self.buffer = self.buffer.split(end, 1)
        return text

    def take(self, n):
        while len(self.buffer) < n:
            more = self.sock.recv(1 << 16)
            if not more:
                raise EOFError
            self.buffer += more
        text, self.buffer = self.buffer[:n], self.buffer[n:]
        return text

    def send(self, method, headers=(), body=None, path='/acp'):
        lines = [f'{method} {path} HTTP/1.1', 'Host: x', *headers]
        if body is not None:
            lines.append(f'Content-Length: {len(body)}')
        self.sock.sendall('\r\n'.join(lines + ['', '']).encode() + (body or b''))

    def head(self):
        lines = self.until(b'\r\n\r\n').decode().split('\r\n')
        self.headers = {k.lower(): v for k, v in (l.split(': ', 1) for l in lines[1:])}
        return int(lines[0].split()[1])

    def ask(self, *args, **kw):
        """status, body"""
        self.send(*args, **kw)
        status = self.head()
        return status, self.take(int(self.headers['content-length']))

    def event(self):
        """The next event of a stream; None: it has ended."""
        while True:
            size = int(self.until(b'\r\n'), 16)
            chunk = self.take(size + 2)[:-2]
            if size == 0:
                return None
            self.events = getattr(self, 'events', b'') + chunk
            if b'\n\n' in self.events:
                break
        return self.pop()

    def pop(self):
        text, self.events = self.events.split(b'\n\n', 1)
        return text.removeprefix(b'data: ').decode() if text.startswith(b'data: ') else ''

    def next(self):
        """The next message of a stream."""
        text = ''
        while text == '':
            text = self.pop() if b'\n\n' in getattr(self, 'events', b'') else self.event()
        return text


def frame(kind, flags=0, stream=0, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload


PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4)


def fields(method, path='/acp', **more):
    """A block of headers. An _ in a name is a -."""
    def text(t):
        n = len(t)
        size = bytes([n]) if n < 127 else bytes([127, (n - 127) % 128 | 128, (n - 127) // 128]) # up to 16 KiB
        return size + t.encode()

    pairs = [(':method', method), (':scheme', 'http'), (':path', path), (':authority', 'x'), *((k.replace('_', '-'), v) for k, v in more.items())]
    return b''.join(b'\0' + text(k) + text(v) for k, v in pairs)


class H2:
    """A connection of HTTP/2. The header table is empty and the windows are as large as can be, or as said."""

    def __init__(self, port, window=2**31 - 1):
        self.peer, self.last, self.streams, self.ready = Peer(port), -1, {}, False
        self.write(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0, struct.pack('>HIHI', 1, 0, 4, window)) +
                   (frame(8, 0, 0, struct.pack('>I', 2**31 - 65536)) if window else b''))
        while not self.ready:
            self.pump()

    def write(self, text):
        self.peer.sock.sendall(text)

    def pump(self):
        head = self.peer.take(9)
        kind, flags, stream = head[3], head[4], self.streams.get(int.from_bytes(head[5:], 'big'))
        payload = self.peer.take(int.from_bytes(head[:3], 'big'))
        if kind == 4 and not flags & 1:
            self.ready = True
            self.write(frame(4, 1))
        elif kind == 6 and not flags & 1:
            self.write(frame(6, 1, 0, payload))
        elif stream and kind == 1:
            stream.status = self.status(payload)
        elif stream and kind == 0:
            stream.data += payload
        if stream and (kind == 3 or (kind in (0, 1) and flags & 1)):
            stream.ended = True

    def status(self, block):
        """The first field: one of the static table, or a literal of three digits, which may be Huffman's."""
        while block[0] & 0xe0 == 0x20:
            block = block[1:]
        if block[0] & 0x80:
            return {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}[block[0] & 0x7f]
        assert block[0] & (0x3f if block[0] & 0x40 else 0x0f) == 8, block
        if not block[1] & 0x80:
            return int(block[2:5])
        bits, digits = ''.join(f'{b:08b}' for b in block[2:5]), ''
        while len(digits) < 3:  # 0, 1 and 2 have five bits, the others six
            n = 5 if int(bits[:5], 2) < 3 else 6
            digits, bits = digits + str(int(bits[:n], 2) - (0 if n == 5 else 0b011001 - 3)), bits[n:]
        return int(digits)


class Stream(Peer):
    """One stream of HTTP/2 after the other, in the place of a socket of its own."""

    def __init__(self, h2):
        self.h2, self.sock, self.headers, self.id = h2, self, {}, None

    def send(self, method, headers=(), body=None, path='/acp'):
        def text(t):
            t = t.encode()
            return (bytes([len(t)]) if len(t) < 127 else bytes([127, len(t) - 127])) + t

        self.h2.last += 2
        self.id, self.status, self.data, self.events, self.ended = self.h2.last, None, b'', b'', False
        self.h2.streams[self.id] = self
        fields = [(':method', method), (':scheme', 'http'), (':path', path), (':authority', 'x'), *(h.split(': ', 1) for h in headers)]
        block = b''.join(b'\0' + text(k.lower()) + text(v) for k, v in fields)
        parts = [] if body is None else [body[i:i + 16384] for i in range(0, len(body), 16384)] or [b'']
        self.h2.write(frame(1, 4 if parts else 5, self.id, block) +
                      b''.join(frame(0, i == len(parts) - 1, self.id, part) for i, part in enumerate(parts)))

    def head(self):
        while self.status is None:
            if self.ended:
                raise EOFError
            self.h2.pump()
        return self.status

    def ask(self, *args, **kw):
        self.send(*args, **kw)
        self.head()
        while not self.ended:
            self.h2.pump()
        del self.h2.streams[self.id]
        return self.status, self.data

    def event(self):
        while b'\n\n' not in self.events:
            if self.ended and not self.data:
                return None
            if not self.data:
                self.h2.pump()
            self.events, self.data = self.events + self.data, b''
        return self.pop()

    def close(self):
        if self.h2.streams.pop(self.id, None):
            self.h2.write(frame(3, 0, self.id, struct.pack('>I', 8)))


class Connection:
    def __init__(self, port, version=1):
        h2 = version == 2 and H2(port)
        self.peer = lambda: Stream(h2) if h2 else Peer(port)
        self.posts = self.peer()
        status, body = self.post(message(0, 'initialize', protocolVersion=1), id=None)
        assert status == 200, (status, body)
        self.id = json.loads(body)['result']['connectionId']
        assert h2 or self.posts.headers['acp-connection-id'] == self.id

    def headers(self, session=None, id=()):
        id = self.id if id == () else id
        return [*([f'Acp-Connection-Id: {id}'] if id is not None else []), *([f'Acp-Session-Id: {session}'] if session is not None else [])]

    def post(self, text, session=None, id=(), type='application/json'):
        return self.posts.ask('POST', [f'Content-Type: {type}', *self.headers(session, id)], text if isinstance(text, bytes) else text.encode())

    def open(self, session=None):
        peer = self.peer()
        peer.send('GET', ['Accept: text/event-stream', *self.headers(session)])
        peer.status = peer.head()
        return peer

    def delete(self):
        return self.posts.ask('DELETE', self.headers())[0]


class Model:
    """Connections to an agent that answers what carries an id, and first with an update where there is a session."""

    def __init__(self, port, rng, version):
        self.port, self.rng, self.version, self.live, self.dropped, self.n = port, rng, version, [], [], 0

    def number(self):
        self.n += 1
        return self.n

    def step(self):
        rng = self.rng
        if not self.live or (len(self.live) < 4 and rng.random() < 0.02):
            c = Connection(self.port, self.version)
            c.expected, c.streams, c.sessions = {None: []}, {}, []
            self.live.append(c)
            return
        c = rng.choice(self.live)
        getattr(self, rng.choices(['new', 'prompt', 'open', 'read', 'close', 'wrong', 'duplicate', 'race', 'end', 'load'],
                                  [2, 8, 4, 6, 2, 6, 1, 2, 0.3, 2])[0])(c)

    def new(self, c):
        if len(c.sessions) >= 5:
            return
        i = self.number()
        assert c.post(message(i, 'session/new', cwd=f's{i}', mcpServers=[]))[0] == 202
        c.expected[None].append(f'{{"jsonrpc":"2.0","id":{i},"result":{{"sessionId":"s{i}"}}}}')
        c.sessions.append(f's{i}')
        c.expected[f's{i}'] = []

    def answer(self, c, i, session, load):
        c.expected[session].append(f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","n":{i}}}}}')
        c.expected[None if load else session].append(f'{{"jsonrpc":"2.0","id":{i},"result":{{}}}}')

    def prompt(self, c, method='session/prompt'):
        if c.sessions:
            session, i = self.rng.choice(c.sessions), self.number()
            size = self.rng.choice([0, 10, 3000, 70000])
            assert c.post(message(i, method, sessionId=session, x='x' * size), session)[0] == 202
            self.answer(c, i, session, False)

    def load(self, c):
        """The response comes on the connection's stream, after the session's update: there only where both are read is the order known."""
        if c.sessions and None in c.streams:
            session, i = self.rng.choice(c.sessions), self.number()
            if session in c.streams and not c.expected[None] and not c.expected[session]:
                assert c.post(message(i, 'session/load', sessionId=session), session)[0] == 202
                self.answer(c, i, session, True)
                self.read(c, session)
                self.read(c, None)

    def open(self, c):
        session = self.rng.choice([None, *c.sessions])
        if session not in c.streams:
            stream = c.open(session)
            assert stream.status == 200, stream.status
            c.streams[session] = stream

    def read(self, c, session=()):
        if not c.streams:
            return
        session = self.rng.choice([*c.streams]) if session == () else session
        while c.expected[session]:
            got = c.streams[session].next()
            assert got == c.expected[session].pop(0), got

    def close(self, c):
        """With nothing on its way, so that nothing is lost."""
        if c.streams:
            session = self.rng.choice([*c.streams])
            self.read(c, session)
            c.streams.pop(session).sock.close()
            # The server has to notice it before the stream can be opened again.
            while True:
                stream = c.open(session)
                if stream.status == 200:
                    break
                assert stream.status == 409, stream.status
            c.streams[session] = stream

    def wrong(self, c):
        rng, i = self.rng, self.number()
        session = rng.choice(c.sessions) if c.sessions else 'none'
        text = message(i, 'session/prompt', sessionId=session)
        what = rng.randrange(14)
        if what == 0:
            want, got = 404, c.post(text, session, id='0' * 32)
        elif what == 1:
            want, got = 400, c.post(text, session, id=None)
        elif what == 2:
            want, got = 400, c.post(text)
        elif what == 3:
            want, got = 400, c.post(text, session + 'x')
        elif what == 4:
            want, got = 415, c.post(text, session, type='text/plain')
            c.posts = c.peer()  # what is refused before its body closes the connection
        elif what == 5:
            want, got = 501, c.post('[' + text + ']', session)
            assert json.loads(got[1])['error']['code'] == -32600
        elif what == 6:
            want, got = 400, c.post(rng.choice([b'{', b'', b'\xff', b'"x"', text.encode()[:-1], b'{"jsonrpc":"2.0","id":{},"method":"x"}']), session)
        elif what == 7:
            peer = c.peer()
            want, got = 406, peer.ask('GET', ['Accept: text/html', *c.headers()])
        elif what == 8:
            peer = c.peer()
            want, got = 404, peer.ask('GET', ['Accept: text/event-stream', *c.headers(id='f' * 32)])
        elif what == 9:
            want, got = 405, c.peer().ask('PUT', c.headers())
        elif what == 10:
            want, got = 404, c.peer().ask('GET', c.headers(), path='/')
        elif what == 11:
            want, got = 404, c.peer().ask('DELETE', c.headers(id='x'))
        elif what == 12:
            want, got = 400, c.peer().ask('DELETE')
        else:
            want, got = 202, c.post(message(None, '_note', a=1))
        assert got[0] == want, f'{what}: {got} and not {want}'

    def duplicate(self, c):
        if c.streams:
            session = self.rng.choice([*c.streams])
            assert c.open(session).status == 409

    def race(self, c):
        """A POST and the opening of its session's stream at the same moment."""
        idle = [s for s in c.sessions if s not in c.streams]
        if idle:
            session, i, peer = self.rng.choice(idle), self.number(), c.peer()
            other = c.peer()
            other.send('POST', ['Content-Type: application/json', *c.headers(session)], message(i, 'session/prompt', sessionId=session).encode())
            peer.send('GET', ['Accept: text/event-stream', *c.headers(session)])
            assert (peer.head(), other.head()) == (200, 202)
            c.streams[session] = peer
            self.answer(c, i, session, False)
            self.read(c, session)

    def end(self, c):
        self.live.remove(c)
        if self.rng.random() < 0.7:
            assert c.delete() == 202
            assert c.delete() == 404
        else:
            self.dropped.append(c)
            for peer in [c.posts, *c.streams.values()]:
                peer.sock.close()


def model(port, seed, steps, version):
    m = Model(port, random.Random(seed), int(version))
    for i in range(int(steps)):
        try:
            m.step()
        except Exception as e:
            sys.exit(f'seed {seed}, step {i}: {type(e).__name__} {e}')
    for c in m.live:
        for session in [None, *c.sessions]:
            if session not in c.streams:
                c.streams[session] = c.open(session)
            m.read(c, session)
        assert c.delete() == 202
    for c in m.dropped:
        assert Peer(port).ask('DELETE', c.headers())[0] == 202
    print(f'{steps} steps')


def many(port, n, m):
    live = []
    for _ in range(int(n)):
        c = Connection(port)
        c.streams = {None: c.open()}
        live.append(c)
    for c in live:
        for k in range(int(m)):
            assert c.post(message(k, 'session/new', cwd=f's{k}'))[0] == 202
            assert json.loads(c.streams[None].next())['result']['sessionId'] == f's{k}'
            c.streams[f's{k}'] = c.open(f's{k}')
    for k in range(int(m)):
        for c in live:
            assert c.post(message(100 + k, 'session/prompt', sessionId=f's{k}'), f's{k}')[0] == 202
    for k in range(int(m)):
        for c in live:
            assert json.loads(c.streams[f's{k}'].next())['params'] == {'sessionId': f's{k}', 'n': 100 + k}
            assert json.loads(c.streams[f's{k}'].next())['id'] == 100 + k
    for c in live:
        assert c.delete() == 202
    print(f'{n} connections, {m} sessions each')


def deaf(port, n, size, there, how='open'):
    """
    Asks for n updates of one session; stops when a POST gets 503; then reads all. The stream is open before, or opened late, or it is one of
    HTTP/2 without a window.
    """
    c = Connection(port)
    if how == 'window':
        h2 = H2(port, 0)
        c.peer = lambda: Stream(h2)
    stream, sent = c.open('s') if how != 'late' else None, 0
    while sent < int(n):
        status = c.post(message(sent, 'session/prompt', sessionId='s', x='x' * int(size)), 's')[0]
        if status == 503:
            break
        assert status == 202
        sent += 1
    print('refused' if sent < int(n) else 'all was taken', flush=True)
    while not os.path.exists(there):
        time.sleep(0.02)
    if how == 'window':
        h2.write(frame(8, 0, 0, struct.pack('>I', 2**31 - 65536)) + frame(8, 0, stream.id, struct.pack('>I', 2**31 - 1)))
    stream = stream or c.open('s')
    for i in range(sent):
        assert json.loads(stream.next())['params']['n'] == i
        assert json.loads(stream.next())['id'] == i
    print('nothing was lost')


def drop(port):
    body = message(1, 'initialize').encode()
    head = b'POST /acp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(body)
    for reset in (False, True):
        for cut in (0, 1, 20, len(head) - 1, len(head), len(head) + 10, len(head) + len(body)):
            peer = Peer(port)
            peer.sock.sendall((head + body)[:cut])
            if reset:
                peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            peer.sock.close()
        c = Connection(port)
        c.post(message(2, 'session/prompt', sessionId='s'), 's')
        stream = c.open('s')
        if reset:
            stream.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        stream.sock.close()
        c.posts.sock.close()
    whole = PREFACE + frame(1, 4, 1, fields('POST', content_type='application/json')) + frame(0, 1, 1, body)
    for cut in (1, len(PREFACE) - 20, len(PREFACE) - 1, len(PREFACE), len(PREFACE) + 5, len(whole) - len(body) - 9, len(whole) - 1, len(whole)):
        peer = Peer(port)
        peer.sock.sendall(whole[:cut])
        peer.sock.close()
    c = Connection(port, 2)
    c.post(message(2, 'session/prompt', sessionId='s'), 's')
    c.open('s').h2.peer.sock.close()
    print('dropped')


# What makes the server reset stream n, which is open: MadeYouReset (CVE-2025-8671).
RESETS = {
    'overflow': lambda n: frame(1, 4, n, fields('POST', content_type='application/json')) + frame(8, 0, n, struct.pack('>I', 2**31 - 1)),
    'length': lambda n: frame(1, 4, n, fields('POST', content_type='application/json', content_length='1')) + frame(0, 0, n, b'xx'),
    'name': lambda n: frame(1, 5, n, fields('GET', Name='x')),
}


def flood(port, kind):
    """Prints how the server ends it."""
    sock = socket.create_connection(('127.0.0.1', int(port)), PATIENCE)
    sock.sendall(PREFACE)
    # :method GET, :scheme http, :path /, :authority x
    block = b'\x82\x86\x84\x41\x01x'
    stream, n = 1, 0

    def some():
        nonlocal stream
        text = b''
        for _ in range(100):
            if kind == 'settings':
                text += frame(4)
            elif kind == 'ping':
                text += frame(6, 0, 0, b'12345678')
            elif kind == 'window':
                text += frame(8, 0, 0, struct.pack('>I', 1))
            elif kind == 'reset':
                text += frame(1, 5, stream, block) + frame(3, 0, stream, struct.pack('>I', 8))
                stream += 2
            elif kind in RESETS:
                text += RESETS[kind](stream)
                stream += 2
            elif kind in ('empty', 'padding'):
                text += frame(1, 4, 1, fields('POST', content_type='application/json')) if n == 0 and not text else b''
                text += frame(0, 0, 1) if kind == 'empty' else frame(0, 8, 1, b'\3\0\0\0')
            else:
                text += (frame(1, 0, 1, block) if n == 0 and not text else b'') + frame(9, 0, 1, b'\x40\x01a\x01b' * 100)
        return text

    sock.settimeout(0.05)
    try:
        while n < 600:
            try:
                sock.sendall(some())
            except TimeoutError:
                pass
            n += 1
            try:
                if not sock.recv(1 << 16):
                    raise ConnectionResetError
            except TimeoutError:
                pass
    except (ConnectionResetError, BrokenPipeError):
        print('closed')
        return
    print('not closed')


def hold(port, *kinds):
    """
    nothing: sends nothing; hello: the beginning of a TLS handshake; head, body: of a request, which does not come to its end; unread:
    requests by HTTP/1.1, without reading a response; window: requests by HTTP/2 with long headers, whose responses have no window. With :N
    so many connections. Another request has its response in the meantime.
    """
    live = select.poll()
    keep = []
    for kind in kinds:
        kind, _, n = kind.partition(':')
        for _ in range(int(n or 1)):
            sock = socket.create_connection(('127.0.0.1', int(port)), PATIENCE)
            if kind == 'hello':
                sock.sendall(bytes.fromhex('16030102000100'))
            elif kind == 'head':
                sock.sendall(b'GET /acp HTTP/1.1\r\nHost: x\r\n')
            elif kind == 'body':
                sock.sendall(b'POST /acp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{')
            elif kind == 'window':
                sock.sendall(PREFACE[:-9] + frame(4, 0, 0, struct.pack('>HI', 4, 0)))
                for i in range(256):
                    sock.sendall(frame(1, 5, 2 * i + 1, fields('GET', '/nowhere', long='x' * 15000)))
            elif kind == 'unread':
                sock.settimeout(1)
                try:
                    while True:
                        sock.sendall(b'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n' * 1000)
                except TimeoutError:
                    pass
            live.register(sock, select.POLLRDHUP)
            keep.append(sock)
    print(f'{len(keep)} connections', flush=True)
    while keep:
        for fd, _ in live.poll(PATIENCE * 1000) or sys.exit(f'{len(keep)} are still open'):
            live.unregister(fd)
            keep = [s for s in keep if s.fileno() != fd]
    print('all are closed')


def race(port, n):
    for i in range(int(n)):
        c = Connection(port)
        c.post(message(1, 'session/new', cwd='s', mcpServers=[]))
        # Two openings of one stream.
        peers = [c.peer(), c.peer()]
        for peer in peers:
            peer.send('GET', ['Accept: text/event-stream', *c.headers()])
        statuses = sorted(peer.head() for peer in peers)
        assert statuses == [200, 409], statuses
        # A stream that is left at once, and a POST for it.
        left, post, over = c.peer(), c.peer(), c.peer()
        left.send('GET', ['Accept: text/event-stream', *c.headers('s')])
        left.sock.close()
        post.send('POST', ['Content-Type: application/json', *c.headers('s')], message(2, 'session/prompt', sessionId='s').encode())
        if i % 2:
            assert post.head() == 202
        # The end, and a POST that may be too late.
        over.send('DELETE', c.headers())
        if not i % 2:
            assert post.head() in (202, 404)
        assert over.head() == 202
        for peer in peers:
            if peer.headers['content-type'] == 'text/event-stream':
                while peer.event() is not None:
                    pass
    print(f'{n} times')


def crowd(port, n):
    c, opened, others, all = Connection(port), 0, set(), []
    c.peer = lambda: Stream(all[-1])
    for i in range(int(n)):
        if i % 200 == 0:
            all.append(H2(port))
        stream = c.open(f's{i}')
        if stream.status == 200:
            opened += 1
        else:
            others.add(stream.status)
    assert c.delete() == 202
    print(f'{opened} streams', *others)


def relay(port, portfile, cut):
    """Relays TCP to the port. As often as the file CUT appears, all connections end; it is removed when there is another one."""
    listener, live = socket.create_server(('127.0.0.1', 0)), []

    def pump(a, b):
        try:
            while text := a.recv(1 << 16):
                b.sendall(text)
        except OSError:
            pass
        end(a, b)

    def end(*socks):
        for s in socks:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept():
        while True:
            a, b = listener.accept()[0], socket.create_connection(('127.0.0.1', int(port)))
            live.extend((a, b))
            for pair in ((a, b), (b, a)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with open(portfile + '.new', 'w') as f:
        f.write(str(listener.getsockname()[1]))
    os.rename(portfile + '.new', portfile)
    while True:
        time.sleep(0.02)
        if os.path.exists(cut):
            old = live[:]
            end(*old)
            del live[:len(old)]
            while not live:
                time.sleep(0.01)
            os.unlink(cut)


def proxy(portfile):
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            line = self.rfile.readline().decode()
            print(line.rsplit(' ', 1)[0], flush=True)
            method, target, _ = line.split()
            host, port, path = re.fullmatch(r'(?:http://)?([^:/]+):(\d+)(/.*)?', target).groups()
            head = [h for h in iter(self.rfile.readline, b'\r\n') if not re.match(rb'(proxy-)?connection:|upgrade:|http2-', h, re.I)]
            with socket.create_connection((host, int(port))) as other:
                if method == 'CONNECT':
                    self.wfile.write(b'HTTP/1.1 200 \r\n\r\n')
                else:
                    other.sendall(f'{method} {path} HTTP/1.1\r\nConnection: close\r\n'.encode() + b''.join(head) + b'\r\n')
                threading.Thread(target=self.pump, args=(other.recv, self.connection), daemon=True).start()
                self.pump(self.rfile.read1, other)

        def pump(self, read, to):
            try:
                while text := read(1 << 16):
                    to.sendall(text)
                to.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    s = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Handler)
    s.daemon_threads = True
    with open(portfile + '.new', 'w') as f:
        f.write(str(s.server_address[1]))
    os.rename(portfile + '.new', portfile)
    s.serve_forever()


class Cutter:
    """Relays TCP to a port. After so many bytes, counted in both directions, all connections end, once."""

    def __init__(self, port, left, reset):
        self.port, self.left, self.reset, self.live, self.lock = port, left, reset, [], threading.Lock()
        self.listener = socket.create_server(('127.0.0.1', 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                a, b = self.listener.accept()[0], socket.create_connection(('127.0.0.1', int(self.port)))
                with self.lock:
                    self.live += [a, b]
                for pair in ((a, b), (b, a)):
                    threading.Thread(target=self.pump, args=pair, daemon=True).start()
        except OSError:
            pass

    def pump(self, a, b):
        try:
            while text := a.recv(1 << 16):
                with self.lock:
                    n, cut = len(text), self.left is not None and self.left <= len(text)
                    if self.left is not None:
                        n, self.left = min(n, self.left), None if cut else self.left - n
                b.sendall(text[:n])
                if cut:
                    with self.lock:
                        old, self.live = self.live, []
                    for s in old:
                        self.end(s)
        except OSError:
            pass
        self.end(b)

    def end(self, s):
        try:
            if self.reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def cuts(port, seed, n, scheme, *options):
    """Each request has exactly one response, whatever it is, and the client ends."""
    rng = random.Random(int(seed))
    ends = {}
    for i in range(int(n)):
        after, reset = rng.randrange(rng.choice([300, 2000, 5000])), rng.random() < 0.5
        cutter = Cutter(port, after, reset)
        client = subprocess.Popen(['acp-http', '--connect', f'{scheme}://localhost:{cutter.listener.getsockname()[1]}/acp', *options],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = f'seed {seed}, round {i}: after {after} bytes'
        asked, got = [], []
        for k, (method, params) in enumerate([('initialize', {'protocolVersion': 1}), ('session/new', {'cwd': f's{i}', 'mcpServers': []})] +
                                             [('session/prompt', {'sessionId': f's{i}'})] * 3):
            asked.append(10 * i + k)
            try:
                client.stdin.write(message(asked[-1], method, **params) + '\n')
                client.stdin.flush()
            except BrokenPipeError:
                asked.pop()
                break
            while asked[-1] not in got:
                line = client.stdout.readline()
                if not line:
                    break
                if 'id' in (m := json.loads(line)):
                    got.append(m['id'])
            if asked[-1] not in got:
                break
        try:
            client.stdin.close()
        except BrokenPipeError:
            pass
        got += [m['id'] for m in map(json.loads, client.stdout) if 'id' in m]
        status = client.wait(PATIENCE)
        cutter.listener.close()
        # What the client had not read when it ended has no response.
        assert got == asked or (status == 1 and got == asked[:-1]), f'{told}: {got} and not {asked}'
        assert status in (0, 1), f'{told}: status {status}'
        ends[status] = ends.get(status, 0) + 1
    print(f'{n} times', file=sys.stderr)
    print(sorted(ends.items()), file=sys.stderr)
    print('every request had its response')


def replay(portfile):
    listener = socket.create_server(('127.0.0.1', 0))
    with open(portfile + '.new', 'w') as f:
        f.write(str(listener.getsockname()[1]))
    os.rename(portfile + '.new', portfile)
    peer = Peer.__new__(Peer)
    peer.sock, peer.buffer = listener.accept()[0], b''
    peer.take(24)
    peer.sock.sendall(frame(4))
    gets, bodies = [], {}

    def event(stream, text):
        return frame(0, 0, stream, f'data: {text}\n\n'.encode())

    while gets is not None:
        head = peer.take(9)
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], 'big')
        payload = peer.take(int.from_bytes(head[:3], 'big'))
        out = b''
        if kind == 4 and not flags & 1:
            out = frame(4, 1)
        elif kind == 1 and flags & 1 and len(gets) < 2:
            gets.append(stream)  # the connection's, and then the session's
            out = frame(1, 4, stream, b'\x88')
            print('GET', flush=True)
        elif kind == 1 and flags & 1:
            gets, out = None, frame(1, 5, stream, b'\x88')  # DELETE
        elif kind == 0:
            bodies[stream] = bodies.get(stream, b'') + payload
            if flags & 1:
                m = json.loads(bodies.pop(stream))
                response = json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {}})
                if m['method'] == 'initialize':
                    out = frame(1, 4, stream, b'\x88\0\x11acp-connection-id\1c') + frame(0, 1, stream, response.encode())
                else:
                    updates = [event(gets[1], message(None, 'session/update', sessionId='s', n=n)) for n in range(2)]
                    out = frame(1, 5, stream, b'\x88') + b''.join(updates) + event(gets[0], response)
        peer.sock.sendall(out)


def server(portfile, *steps):
    """
    Serves HTTP/1.1 to one client. A step is "STATUS" (of a POST, in their order), "drop" (the stream of session s, after the next POST) or
    "forget" (every later GET gets 404), or "brief" (as drop, and every later stream ends at once), or "cut" (the POST has no response, for
    its connection ends), or "late" (the same, and the message's response comes after the next POST), or "hold" (its response comes after the next POST for another
    session), or "end" (the session's stream ends in order, and then the message's response comes on that of the connection), or "refuse"
    (the session's stream ends in order, and every later GET for it gets 403), or "gone" (the POST gets 404 while much waits to be read, and
    then its message has a response). Before the steps "busy SESSION" (each GET for it gets 503), "deny SESSION" (403), "mute SESSION"
    (nothing; "-" is the connection), "stall SESSION" (403, later nothing) or "reply TEXT" (what initialize gets) may stand. A message of
    more than 100 KB is read slowly, and the response to such an initialize is sent slowly. What was posted and opened is
    printed, a line each.
    """
    steps, lock, streams, held, others = list(steps), threading.Lock(), {}, [], threading.Event()
    first, what = steps[:2] if steps and steps[0] in ('busy', 'deny', 'mute', 'stall', 'reply') else ('', '')
    steps = steps[2:] if first else steps
    state = {'forgotten': False, 'brief': False}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def log_message(self, *args):
            pass

        def reply(self, status, body=b'', headers=(), length=None):
            self.send_response(status)
            for k, v in headers:
                self.send_header(k, v)
            self.send_header('Content-Length', str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        def event(self, session, m):
            data = f'data: {json.dumps(m)}\n\n'.encode()
            streams[session].sendall(b'%x\r\n%s\r\n' % (len(data), data))

        def do_POST(self):
            n = int(self.headers['Content-Length'])
            slow = n > 100000
            body = b''
            while len(body) < n:
                body += self.rfile.read(min(n - len(body), 8000))
                time.sleep(0.1 if slow else 0)
            m = json.loads(body)
            with lock:
                print('POST', m.get('method', 'response'), self.headers.get('Acp-Session-Id', '-'), self.headers.get('Cookie', '-'), flush=True)
                step = '202' if m.get('method') == 'initialize' or not steps else steps.pop(0)
            if slow and m.get('method') == 'initialize':
                out = json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {'protocolVersion': 1}}).encode()
                self.reply(200, headers=[('Acp-Connection-Id', 'c1'), ('Content-Type', 'application/json')], length=len(out))
                for i in range(0, len(out), 3):
                    self.wfile.write(out[i:i + 3])
                    time.sleep(0.1)
                return
            if m.get('method') == 'initialize':
                out = what if first == 'reply' else json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {'protocolVersion': 1}})
                self.reply(200, out.encode(), [('Acp-Connection-Id', 'c1'), ('Content-Type', 'application/json'), ('Set-Cookie', 'lb=7; Path=/')])
                return
            if step == 'hold':
                held.append(self.headers.get('Acp-Session-Id'))
                others.wait(PATIENCE)
                step = '202'
            elif held and self.headers.get('Acp-Session-Id') not in held:
                others.set()
            if step == 'late':
                state['late'] = m
            if step in ('end', 'refuse'):
                state['refused'] = step == 'refuse'
                self.reply(202)
                streams[m['params']['sessionId']].sendall(b'0\r\n\r\n')
                if step == 'end':
                    time.sleep(0.05) # less than the client waits before it opens the stream again
                    self.event('-', {'jsonrpc': '2.0', 'id': m['id'], 'result': {}})
                return
            if step == 'gone':
                session = m['params']['sessionId']
                for _ in range(150): # more than a pipe holds, less than stops the client
                    self.event(session, {'jsonrpc': '2.0', 'method': '_n', 'params': 'x' * 1000})
                time.sleep(0.2)
                self.reply(404)
                time.sleep(0.3)
                self.event(session, {'jsonrpc': '2.0', 'id': m['id'], 'result': {}})
                time.sleep(0.2)
                with lock:
                    print('gone', flush=True)
                return
            if step in ('cut', 'late'):
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if step in ('drop', 'forget', 'brief'):
                state['forgotten'], state['brief'] = step == 'forget', step == 'brief'
                self.reply(202)
                streams[m.get('params', {}).get('sessionId', '-') if step != 'forget' else '-'].shutdown(socket.SHUT_RDWR)
                return
            self.reply(int(step), b'' if step == '202' else b'no such luck')
            if step == '202' and 'id' in m:
                session = self.headers.get('Acp-Session-Id', '-')
                for m in filter(None, (state.pop('late', None), m)):
                    out = {'jsonrpc': '2.0', 'id': m['id'], 'result': {'sessionId': 's'} if m['method'] == 'session/new' else {}}
                    self.event(session, out)

        def do_GET(self):
            session = self.headers.get('Acp-Session-Id', '-')
            with lock:
                print('GET', session, self.headers.get('Cookie', '-'), flush=True)
            if state['forgotten'] or state['brief']:
                self.reply(404 if state['forgotten'] else 200)
                return
            if state.get('refused') and session != '-':
                self.reply(403)
                return
            if first in ('busy', 'deny', 'mute', 'stall') and session == what:
                if first == 'mute' or state.get('stalls'):
                    time.sleep(PATIENCE)
                state['stalls'] = first == 'stall'
                self.reply(403 if first in ('deny', 'stall') else 503)
                return
            self.send_response(200)
            self.send_header('Content-Type', 'text/event-stream')
            self.send_header('Transfer-Encoding', 'chunked')
            streams[session] = self.connection  # the client posts as soon as it has the head
            self.end_headers()
            self.rfile.peek(1)  # the next request on this connection, or its end

        def do_DELETE(self):
            with lock:
                print('DELETE', flush=True)
            self.reply(202)

    class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
        daemon_threads = True

        def handle_error(self, *args):
            pass

    s = Server(('127.0.0.1', 0), Handler)
    s.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 13) # what is read slowly is sent slowly
    with open(portfile + '.new', 'w') as f:
        f.write(str(s.server_address[1]))
    os.rename(portfile + '.new', portfile)
    s.serve_forever()


if __name__ == '__main__':
    {f.__name__: f for f in (model, many, deaf, drop, flood, hold, race, crowd, relay, proxy, cuts, replay, server)}[sys.argv[1]](*sys.argv[2:])
