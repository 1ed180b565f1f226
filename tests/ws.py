#!/usr/bin/env python3
"""A WebSocket peer for tests, written from RFC 6455 with the standard library alone. It can break every rule.

ws.py client PORT [--path P] [--header 'K: V']... STEP...    connects to acp-http --listen
ws.py server PORTFILE [--header 'K: V']... STEP...           takes one connection of acp-http --connect

A STEP is "text T", "binary T", "frame FIN OPCODE T" (T may have \\xHH), "raw HEX", "unmasked T", "masked T", "ping T", "close [CODE]", "recv" (prints
a frame), "drain" (prints all until the connection ends, and answers a close), "eof" (closes the socket), "wait FILE" (until it is there), "touch FILE".
"""
import base64, hashlib, os, random, select, signal, socket, struct, sys, threading, time

GUID = b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
NAMES = {0: 'continuation', 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong'}
PATIENCE = 60


class Peer:
    def __init__(self, sock, masks):
        self.sock, self.masks, self.buffer = sock, masks, b''
        sock.settimeout(PATIENCE)

    def read(self, n):
        while len(self.buffer) < n:
            try:
                more = self.sock.recv(1 << 16)
            except ConnectionResetError:
                more = b''
            if not more:
                raise EOFError
            self.buffer += more
        taken, self.buffer = self.buffer[:n], self.buffer[n:]
        return taken

    def head(self):
        text = b''
        while not text.endswith(b'\r\n\r\n'):
            text += self.read(1)
        return text.decode()

    def frame(self, payload, opcode=1, fin=1, masked=None):
        masked = self.masks if masked is None else masked
        n = len(payload)
        head = bytes([fin << 7 | opcode])
        bit = 128 if masked else 0
        head += bytes([bit | n]) if n < 126 else bytes([bit | 126]) + struct.pack('>H', n) if n < 65536 else \
            bytes([bit | 127]) + struct.pack('>Q', n)
        if masked:
            mask = os.urandom(4)
            head += mask
            payload = (int.from_bytes(payload, 'big') ^ int.from_bytes((mask * (n // 4 + 1))[:n], 'big')).to_bytes(n, 'big')
        return head + payload

    def send(self, *args, **kw):
        self.sock.sendall(self.frame(*args, **kw))

    def recv(self):
        """opcode, fin, payload"""
        a, b = self.read(2)
        assert bool(b & 128) != self.masks, 'a frame that is masked by the wrong side'
        n = b & 127
        n = struct.unpack('>H', self.read(2))[0] if n == 126 else struct.unpack('>Q', self.read(8))[0] if n == 127 else n
        mask = self.read(4) if b & 128 else b''
        payload = self.read(n)
        if mask:
            payload = (int.from_bytes(payload, 'big') ^ int.from_bytes((mask * (n // 4 + 1))[:n], 'big')).to_bytes(n, 'big')
        return a & 15, a >> 7, payload

    def message(self):
        """The next text message; None: closed. Answers pings."""
        while True:
            opcode, fin, payload = self.recv()
            if opcode == 9:
                self.send(payload, 10)
            elif opcode == 8:
                self.closed = struct.unpack('>H', payload[:2])[0] if len(payload) > 1 else 0
                return None
            elif opcode == 1:
                assert fin, 'a message in more than one frame'
                return payload


def handshake(port, path='/acp', headers=(), host='127.0.0.1'):
    peer = Peer(socket.create_connection((host, int(port)), PATIENCE), True)
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f'GET {path} HTTP/1.1', f'Host: 127.0.0.1:{port}', 'Upgrade: websocket', 'Connection: Upgrade',
             f'Sec-WebSocket-Key: {key}', 'Sec-WebSocket-Version: 13', *headers]
    peer.sock.sendall('\r\n'.join(lines + ['', '']).encode())
    peer.reply = peer.head()
    return peer


def accept(sock, headers=()):
    peer = Peer(sock.accept()[0], False)
    peer.request = peer.head()
    key = [l.split(':', 1)[1].strip() for l in peer.request.splitlines() if l.lower().startswith('sec-websocket-key')][0]
    digest = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()
    lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade',
             f'Sec-WebSocket-Accept: {digest}', *headers]
    peer.sock.sendall('\r\n'.join(lines + ['', '']).encode())
    return peer


def listening(portfile):
    sock = socket.create_server(('127.0.0.1', 0), backlog=300)
    with open(portfile + '.new', 'w') as f:
        f.write(str(sock.getsockname()[1]))
    os.rename(portfile + '.new', portfile)
    return sock


def unescape(text):
    return text.encode().decode('unicode_escape').encode('latin-1') if '\\x' in text else text.encode()


def show(frame):
    opcode, fin, payload = frame
    if opcode == 8:
        code = struct.unpack('>H', payload[:2])[0] if len(payload) > 1 else ''
        print(f'close {code} {payload[2:].decode(errors="replace")}'.rstrip(), flush=True)
    else:
        print(NAMES[opcode] + ('' if fin else '-') + (' ' + payload.decode(errors="replace") if payload else ''), flush=True)


def wait_for(path):
    end = time.monotonic() + PATIENCE
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f'ws.py: {path} never came')
        time.sleep(0.01)


def play(peer, steps):
    for step in steps:
        word, _, rest = step.partition(' ')
        if word == 'text':
            peer.send(unescape(rest))
        elif word == 'binary':
            peer.send(unescape(rest), 2)
        elif word == 'frame':
            fin, opcode, text = (rest + ' ').split(' ', 2)
            peer.send(unescape(text[:-1]), int(opcode, 16), int(fin))
        elif word == 'unmasked':
            peer.send(unescape(rest), masked=False)
        elif word == 'masked':
            peer.send(unescape(rest), masked=True)
        elif word == 'raw':
            peer.sock.sendall(bytes.fromhex(rest))
        elif word == 'ping':
            peer.send(rest.encode(), 9)
        elif word == 'close':
            peer.send(struct.pack('>H', int(rest)) if rest else b'', 8)
        elif word == 'recv':
            try:
                show(peer.recv())
            except EOFError:
                print('eof', flush=True)
        elif word == 'drain':
            try:
                while True:
                    frame = peer.recv()
                    show(frame)
                    if frame[0] == 8:
                        peer.send(frame[2], 8)
            except EOFError:
                print('eof', flush=True)
        elif word == 'reset':
            peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            peer.sock.close()
        elif word == 'eof':
            peer.sock.close()
        elif word == 'wait':
            wait_for(rest)
        elif word == 'touch':
            open(rest, 'w').close()
        else:
            sys.exit(f'ws.py: no such step: {step}')


def options(args):
    path, headers = '/acp', []
    while args and args[0].startswith('--'):
        if args[0] == '--path':
            path = args[1]
        elif args[0] == '--header':
            headers.append(args[1])
        args = args[2:]
    return path, headers, args


def client(args):
    path, headers, steps = options(args[1:])
    peer = handshake(args[0], path, headers)
    status = peer.reply.split()[1]
    print(status, flush=True)
    if status != '101':
        print(peer.reply.replace('\r', ''), end='')
        return
    play(peer, steps)


def server(args):
    _, headers, steps = options(args[1:])
    peer = accept(listening(args[0]), headers)
    print(peer.request.replace('\r', ''), file=sys.stderr, end='', flush=True)
    play(peer, steps)


def refuser(args):
    """PORTFILE REPLY: answers each handshake with this, until killed."""
    sock = listening(args[0])
    while True:
        peer = Peer(sock.accept()[0], False)
        peer.head()
        peer.sock.sendall(args[1].encode().decode('unicode_escape').encode())
        peer.sock.close()


def silent(args):
    """PORTFILE: takes one handshake and never replies to it, until killed."""
    peer = Peer(listening(args[0]).accept()[0], False)
    print(peer.head(), flush=True)
    signal.pause()


def raw(args):
    """PORT TEXT: sends these bytes, and prints what the response begins with."""
    sock = socket.create_connection(('127.0.0.1', int(args[0])), PATIENCE)
    sock.settimeout(PATIENCE)
    sock.sendall(args[1].encode().decode('unicode_escape').encode('latin-1'))
    print(sock.recv(1 << 16).decode('latin-1').replace('\r', ''))


def deaf(args):
    """PORT BYTES: sends so many bytes of requests, at most, and reads nothing."""
    peer = handshake(args[0])
    batch = peer.frame(b'{"jsonrpc":"2.0","id":1,"method":"x"}') * 2000
    peer.sock.settimeout(2)
    try:
        for _ in range(int(args[1]) // len(batch)):
            peer.sock.sendall(batch)
        print('all was read')
    except TimeoutError:
        print('not read any more')


def many(args):
    """PORT N: so many connections at once; each says something and hears it again before any of them ends."""
    peers = [handshake(args[0]) for _ in range(int(args[1]))]
    assert all(p.reply.startswith('HTTP/1.1 101') for p in peers), [p.reply for p in peers if ' 101 ' not in p.reply][0]
    ids = {[l for l in p.reply.splitlines() if l.startswith('Acp-Connection-Id')][0] for p in peers}
    for i, p in enumerate(peers):
        p.send(b'{"jsonrpc":"2.0","method":"_n","params":[%d]}' % i)
    for i, p in enumerate(peers):
        assert p.message() == b'{"jsonrpc":"2.0","method":"_n","params":[%d]}' % i
    for p in peers:
        p.send(struct.pack('>H', 1000), 8)
    for p in peers:
        assert p.message() is None and p.closed == 1000
    print(f'{len(peers)} connections, {len(ids)} ids')


def flood(peer, n, size, pause=lambda: None):
    """Sends n messages while it reads as many; checks the order. pause: what it does before it begins to read."""
    def line(i):
        return b'{"jsonrpc":"2.0","method":"_n","params":[%d,"%s"]}' % (i, b'x' * size)

    def write():
        batch = b''
        for i in range(n):
            batch += peer.frame(line(i))
            if len(batch) > 1 << 16 or i == n - 1:
                peer.sock.sendall(batch)
                batch = b''

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    pause()
    for i in range(n):
        got = peer.message()
        assert got == line(i), (i, got[:80] if got else got)
    writer.join()


def order(args):
    """PORT N SIZE: so many messages each way through an agent that echoes."""
    peer = handshake(args[0])
    flood(peer, int(args[1]), int(args[2]))
    peer.send(struct.pack('>H', 1000), 8)
    assert peer.message() is None
    print(f'{args[1]} messages each way in order')


def slow(args):
    """PORT N SIZE FILE: the same, but the reading begins only when FILE is there."""
    peer = handshake(args[0])
    flood(peer, int(args[1]), int(args[2]), lambda: wait_for(args[3]))
    print(f'{args[1]} messages each way in order')


class Model:
    """A random peer of an agent that echoes: fragments, pings, stalls, closes; what comes back is checked."""

    def __init__(self, port, rng, steps):
        self.rng, self.steps = rng, steps
        self.peer = handshake(port)
        self.expected, self.pongs, self.sent = [], [], 0

    def text(self):
        rng = self.rng
        self.sent += 1
        size = rng.choice([0, 1, 100, 125, 126, 5000, 65535, 65536, 70000, 300000])
        return ('{"jsonrpc":"2.0","method":"_n","params":[%d,"%s"]}' % (self.sent, rng.choice('xü€😀') * (size // rng.randint(4, 7)))).encode()

    def frames(self, payload):
        """The message in random pieces, with pings between them."""
        cuts = sorted(self.rng.randint(0, len(payload)) for _ in range(self.rng.choice([0, 0, 1, 2, 7])))
        pieces = [payload[a:b] for a, b in zip([0] + cuts, cuts + [len(payload)])]
        for i, piece in enumerate(pieces):
            yield self.peer.frame(piece, 0 if i else 1, int(i == len(pieces) - 1))
            if self.rng.random() < 0.2:
                # The library answers the first of several that wait: so one at a time.
                self.hear(lambda: not self.pongs)
                self.pongs.append(os.urandom(self.rng.choice([1, 20, 125])))
                yield self.peer.frame(self.pongs[-1], 9)

    def hear(self, enough):
        while not enough():
            opcode, fin, payload = self.peer.recv()
            if opcode == 1:
                assert fin and payload == self.expected.pop(0), 'another message'
            elif opcode == 10:
                assert payload == self.pongs.pop(0), 'another pong'
            else:
                assert opcode == 9, f'opcode {opcode}'
                self.peer.send(payload, 10)

    def step(self):
        what = self.rng.random()
        if what < 0.7:
            payload = self.text()
            for frame in self.frames(payload):
                # In random parts on the wire, too.
                at = self.rng.randint(0, len(frame))
                self.peer.sock.sendall(frame[:at])
                self.peer.sock.sendall(frame[at:])
            self.expected.append(payload)
        elif what < 0.8:
            self.peer.send(os.urandom(50), 2)
        elif what < 0.85:
            self.peer.send(b'no message')
        elif what < 0.9:
            time.sleep(self.rng.choice([0, 0.01, 0.05]))
        else:
            self.hear(lambda: not self.expected)
        if sum(map(len, self.expected)) > 200000:
            self.hear(lambda: not self.expected)

    def run(self):
        for _ in range(self.steps):
            self.step()
        end = self.rng.choice(['close', 'reset', 'half', 'bad'])
        if end == 'close':
            self.hear(lambda: not self.expected)
            code = self.rng.choice([1000, 1001, 3000, 4321])
            self.peer.send(struct.pack('>H', code), 8)
            assert self.peer.message() is None and self.peer.closed == code, f'close {code}: {self.peer.closed}'
        elif end == 'bad':
            self.hear(lambda: not self.expected)
            code, payload = self.rng.choice([(1007, self.peer.frame(b'{"a":"\xc3"}')), (1002, self.peer.frame(b'', 0)),
                                             (1009, self.peer.frame(b' ' * (1 << 20)))])
            self.peer.sock.sendall(payload)
            assert self.peer.message() is None and self.peer.closed == code, f'{code}: {self.peer.closed}'
        elif end == 'half':
            payload = self.peer.frame(self.text())
            self.peer.sock.sendall(payload[:self.rng.randint(1, len(payload) - 1)])
        if end in ('reset', 'half') and self.rng.random() < 0.5:
            self.peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.peer.sock.close()


def model(args):
    """PORT SEED ROUNDS: so many random connections, one after the other."""
    for i in range(int(args[2])):
        seed = f'{args[1]}.{i}'
        try:
            Model(args[0], random.Random(seed), 40).run()
        except Exception as e:
            sys.exit(f'seed {seed}: {type(e).__name__} {e}')
    print(f'{args[2]} connections')


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    {f.__name__: f for f in (client, server, refuser, silent, raw, deaf, many, order, slow, model)}[sys.argv[1]](sys.argv[2:])


if __name__ == '__main__':
    main()
