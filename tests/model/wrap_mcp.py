#!/usr/bin/env python3
"""An independent model of acp-inject --wrap-mcp: whoever writes a declaration also writes what has to leave."""
import json
import subprocess
import sys

from stream import Failure, run

WORDS = ['-o', '%n', 'a%%b', '%p-%n.rec', 'é "x"', '100%', '%', '\\', '--', '%%n', '%n%n']
NAMES = ['"a"', '"../x y"', '".hidden"', '"\\u0041\\n"', '"é"', '""', '"%n"', '"' + 'n' * 70 + '"', '7']


def expanded(word, name):
    """A word of the command for the server with this name, JSON text."""
    text = json.loads(name)
    raw = (text if isinstance(text, str) else '').encode()[:64]
    safe = ''.join(chr(c) if chr(c).isascii() and (chr(c).isalnum() or (i and chr(c) in '.-+@')) else '_' for i, c in enumerate(raw))
    return json.dumps('%'.join(part.replace('%n', safe) for part in word.split('%%')), ensure_ascii=False)


def server(r, words):
    """A declaration, and what has to leave for it."""
    blank = lambda: r.choice(['', '', ' ', '\t '])
    name, command = r.choice(NAMES), r.choice(['"srv"', '"s\\u0072v"', '"/a b"'])
    kind = r.choice(['', '', '"stdio"', '"http"', '"acp"', 'null'])
    more = [expanded(word, name) for word in words[1:]] + [command]
    old = r.choice([None, 'null', '[]', '[ ]', '["x" , 1.50]', '{}'])
    bad = old == '{}'
    new = '[' + ','.join(more) + ']'
    if old and old[0] == '[':
        new = '[' + ','.join(more) + (',' if old.strip('[] ') else '') + old[1:]
    was = [('name', name, name), ('env', '[{"name":"A","value":"\\u0042"}]', None), ('command', command, expanded(words[0], name))]
    if kind:
        was.append(('type', kind, None))
    if old:
        was.append(('args', old, new))
    r.shuffle(was)
    wrapped = not bad and kind in ('', '"stdio"')
    out_in, out = [], []
    for key, text, then in was:
        head, tail = f'{blank()}"{key}"{blank()}:{blank()}', blank()
        out_in.append(head + text + tail)
        then = then if wrapped and then else text
        # Without args they come right after the command.
        out.append(head + then + (',"args":' + new if wrapped and key == 'command' and not old else '') + tail)
    return '{' + ','.join(out_in) + '}', '{' + ','.join(out) + '}'


def one(r):
    words = [r.choice(['rec', '/x/%n/rec', '%%'])] + [r.choice(WORDS) for _ in range(r.randrange(5))]
    lines, want = [], []
    for n in range(r.randrange(1, 12)):
        servers = [server(r, words) for _ in range(r.randrange(5))]
        method = r.choice(['session/new', 'session/load', 'session/resume', 'session/fork', 'session/list'])
        for to, which in ((lines, 0), (want, 0 if method == 'session/list' else 1)):
            to.append('{"id":%d,"method":"%s","params":{"n":1.0, "mcpServers" :[%s] }}' % (n, method, ' ,'.join(s[which] for s in servers)))
    argv = ['acp-inject', '--wrap-mcp', ' '.join(f"'{word}'" for word in words)]
    got = subprocess.run(argv, input='\n'.join(lines) + '\n', capture_output=True, text=True, encoding='utf-8', check=False)
    with open('err', 'w', encoding='utf-8') as err:
        err.write(got.stderr)
    for line, out, expected in zip(lines, got.stdout.splitlines() + [''] * len(lines), want):
        if out != expected:
            raise Failure(f'{argv}:\n{line}\nbecame\n{out}\nnot\n{expected}')
    if got.returncode:
        raise Failure(f'{argv}: status {got.returncode}')


if __name__ == '__main__':
    sys.exit(run('acp-inject --wrap-mcp', one, 60))
