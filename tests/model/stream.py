"""What the models share: a tool between two pipes pairs that we hold both ends of, and JSON that keeps its spelling."""
import json
import os
import random
import select
import subprocess
import sys


class Failure(Exception):
    pass


def spelled(text):
    """The value of a JSON text, its order of members and its spelling of numbers kept."""
    return json.loads(text, object_pairs_hook=lambda pairs: ('object', tuple((k, freeze(v)) for k, v in pairs)),
                      parse_int=lambda s: ('number', s), parse_float=lambda s: ('number', s))


def freeze(value):
    return tuple(freeze(v) for v in value) if isinstance(value, list) else value


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))


class Tool:
    """A filter as acp-conduct starts it: 0 and 1 face the client, 6 and 7 the agent."""

    def __init__(self, argv, seconds=120):
        pairs = [os.pipe() for _ in range(4)]
        (down_in, down_w), (up_r, up_out), (up_in, up_w), (down_r, down_out) = pairs
        self.argv, self.ends, self.first = argv, [down_in, up_out, up_in, down_out], None
        self.write_fd = {'down': down_w, 'up': up_w}
        self.read_fd = {'down': down_r, 'up': up_r}
        self.rest = {'down': b'', 'up': b''}
        self.seconds = seconds
        self.syncs = 0
        self.err = open('err', 'w+')
        self.start()

    def start(self):
        code = 'import os,sys; fds=[int(x) for x in sys.argv[1:5]]; fds=[os.dup2(f, 100+i) for i,f in enumerate(fds)]; ' \
            '[os.dup2(f, t) for f, t in zip(fds, (0,1,6,7))]; os.closerange(8, 200); os.execvp(sys.argv[5], sys.argv[5:])'
        life = {'ACP_RESTARTED': str(self.first)} if self.first else {}
        self.process = subprocess.Popen([sys.executable, '-S', '-E', '-c', code, *map(str, self.ends), *self.argv],
                                        pass_fds=self.ends, stdin=subprocess.DEVNULL, stderr=self.err,
                                        env={**os.environ, 'PROTO': 'ACP', **life})
        self.first = self.first or self.process.pid

    def restart(self):
        """It dies, and another takes its place on the same pipes."""
        self.kill()
        self.start()

    def send(self, direction, lines):
        data = b''.join(line + b'\n' for line in lines)
        while data:
            data = data[os.write(self.write_fd[direction], data):]

    def line(self, direction):
        """The next line of a direction; None at its end."""
        while b'\n' not in self.rest[direction]:
            if not select.select([self.read_fd[direction]], [], [], self.seconds)[0]:
                raise Failure(f'nothing comes {direction}')
            got = os.read(self.read_fd[direction], 65536)
            if not got:
                return None
            self.rest[direction] += got
        line, self.rest[direction] = self.rest[direction].split(b'\n', 1)
        return line

    def settle(self):
        """What has come out of each direction, all that went in being done."""
        out = {'down': [], 'up': []}
        for direction in ('down', 'up', 'down'):
            self.syncs += 1
            sync = b'{"jsonrpc":"2.0","method":"_sync","params":{"n":%d}}' % self.syncs
            self.send(direction, [sync])
            while (line := self.line(direction)) != sync:
                if line is None:
                    raise Failure(f'{direction} has ended')
                out[direction].append(line)
        return out

    def close(self):
        """The client leaves, the agent ends. What still came out, and the exit status."""
        for fd in self.ends:
            os.close(fd)
        out = {'down': [], 'up': []}
        for direction in ('down', 'up'):
            os.close(self.write_fd.pop(direction))
            while (line := self.line(direction)) is not None:
                out[direction].append(line)
        status = self.process.wait()
        for fd in self.read_fd.values():
            os.close(fd)
        return out, status

    def kill(self):
        self.process.kill()
        self.process.wait()


def run(name, one, count):
    """Runs one(random) for seeds: ACP_SEED is the first, ACP_ROUNDS says how many."""
    count = int(os.environ.get('ACP_ROUNDS', count))
    first = int(os.environ.get('ACP_SEED', random.SystemRandom().randrange(1 << 32)))
    print(f'{name}: {count} streams from seed {first} on')
    for seed in range(first, first + count):
        try:
            one(random.Random(seed))
        except Exception as failure:
            print(f'{name}: ACP_SEED={seed} ACP_ROUNDS=1: {type(failure).__name__}: {failure}')
            with open('err') as err:
                print('stderr:', err.read()[-2000:])
            raise
