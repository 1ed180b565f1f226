"""Secrets in texts that come in pieces: none may be whole in what acp-tap and acp-export write with --redact.

A random secret in a random context is cut at random positions into chunks, of a message or of a tool call's content, after
a prompt that may seem to go on with it. ACP_ROUNDS, ACP_SEED: how many, from which seed.
"""
import json
import os
import random
import string
import subprocess
import sys

ALNUM = string.ascii_letters + string.digits
CONTEXTS = ['password={}', 'DB_PASSWORD={}', 'export API_KEY="{}" && run', "tool --token {} -v", "tool --api-key '{}'",
            '{{"password": "{}"}}', "'secret' => '{}'", '<password>{}</password>', 'curl -u joe:{} https://h/',
            'mysql -u root -p{} db', 'machine h login joe password {}', 'https://joe:{}@h/x', 'https://h/?token={}&a=b',
            'Authorization: Bearer {}', 'API Key: {}', 'azure.storage.account.key={}', '<password a="b">{}</password>',
            'Cookie: sid={}', 'here it is: {}, see?']


def number(r, n):
    return ''.join(r.choice(ALNUM) for _ in range(n))


def secret(r, context):
    """What goes by its name, or, where there is none, by its shape."""
    if context.startswith('here'):
        prefix, n = r.choice([('sk-' + 'proj-', 60), ('gh' + 'p_', 36), ('AI' + 'za', 35), ('npm' + '_', 36), ('xox' + 'b-', 40)])
        return prefix + '7' + number(r, n - 1)
    return number(r, r.randint(8, 40)) + '7' + number(r, 3)


def pieces(r, text):
    cuts = sorted(r.sample(range(1, len(text)), min(len(text) - 1, r.randint(0, 6))))
    return [text[a:b] for a, b in zip([0] + cuts, cuts + [len(text)])]


def update(name, content, **more):
    return {'jsonrpc': '2.0', 'method': 'session/update',
            'params': {'sessionId': 'S', 'update': {'sessionUpdate': name, 'content': content, **more}}}


def stream(r, text):
    lines = [{'jsonrpc': '2.0', 'id': 1, 'method': 'session/prompt',
              'params': {'sessionId': 'S', 'prompt': [{'type': 'text', 'text': number(r, 8)}]}}]
    kind = r.choice(['user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk', 'tool_call_content_chunk'])
    tool = kind.startswith('tool')
    if tool:
        lines.append(update('tool_call', [], toolCallId='t', title='a tool', kind='execute', status='pending'))
    for piece in pieces(r, text):
        block = {'type': 'text', 'text': piece}
        lines.append(update(kind, {'type': 'content', 'content': block}, toolCallId='t') if tool else update(kind, block))
    if tool:
        lines.append({'jsonrpc': '2.0', 'method': 'session/update', 'params': {
            'sessionId': 'S', 'update': {'sessionUpdate': 'tool_call_update', 'toolCallId': 't', 'status': 'completed'}}})
    lines.append({'jsonrpc': '2.0', 'id': 1, 'result': {'stopReason': 'end_turn'}})
    return lines


COMMANDS = [['acp-tap', '--redact', '-f', f] for f in ('record', 'raw', 'trace', 'full')] + [
    ['acp-tap', '--redact', '--fold'], ['acp-tap', '--redact', '--no-fold'], ['acp-export', '--redact', '-f', 'html'],
    ['acp-export', '--redact', '-f', 'markdown']]


def main():
    count = int(os.environ.get('ACP_ROUNDS', 60))
    first = int(os.environ.get('ACP_SEED', random.SystemRandom().randrange(1 << 32)))
    os.environ['COLUMNS'] = '4000'
    for seed in range(first, first + count):
        r = random.Random(seed)
        context = r.choice(CONTEXTS)
        word = secret(r, context)
        lines = stream(r, r.choice(['', 'so ', 'a\n']) + context.format(word))
        with open('in.nd', 'w', encoding='utf-8') as f:
            f.writelines(json.dumps(line) + '\n' for line in lines)
        for command in COMMANDS:
            done = subprocess.run(command + ['in.nd'], capture_output=True, text=True, check=False)
            joined = done.stdout.replace('\\_', '_')
            if done.returncode or word in joined or not joined:
                sys.exit(f'ACP_SEED={seed} ACP_ROUNDS=1: {" ".join(command)}: status {done.returncode}, '
                         f'{word} of {context}\n{done.stdout}{done.stderr}')
    print(f'{count} from seed {first}')


main()
