#!/usr/bin/env python3
"""An agent that plays the sessions of a model (sessions.py), in an order between them that it draws.

It sends what comes next in a session when it has what the client sent before that, whatever else is going on. Some draws make it
serve one session at a time: no turn of another one begins before the turn has ended.
"""
import json
import os
import random
import select
import sys

from sessions import Messages


class Agent:
    def __init__(self, sessions, dice):
        self.dice, self.messages, self.input = dice, Messages(), b''
        self.version = sessions[0]['version']
        self.left = [[s, list(s['events'])] for s in sessions]
        self.got = {s['id']: [] for s in sessions}  # what the client has sent, and is not used yet
        self.asked = {}  # requests of the agent, by id
        self.serial, self.busy = dice.random() < 0.3, None

    def session_of(self, message):
        params = message.get('params', {})
        if message.get('method') == 'session/new':
            return next(s for s, _ in self.left if s['cwd'] == params['cwd'])
        return next(s for s, _ in self.left if s['id'] == params['sessionId'])

    def receive(self, message):
        if message.get('method') == 'initialize':
            self.send({'jsonrpc': '2.0', 'id': message['id'], 'result': {'protocolVersion': self.version}})
        elif 'method' in message:
            self.got[self.session_of(message)['id']].append(message)
        else:
            session, key = self.asked.pop(message['id'])
            self.got[session['id']].append({'answer': key})

    @staticmethod
    def send(message):
        sys.stdout.write(json.dumps(message) + '\n')
        sys.stdout.flush()

    def use(self, session, event):
        """Has the client sent this? A request's live id is that of its response."""
        kind, data = event[1:]
        method = {'new': 'session/new', 'prompt': 'session/prompt', 'mode': 'session/set_mode', 'cancel': 'session/cancel'}
        for message in self.got[session['id']]:
            if kind == 'answer' and message.get('answer') == data['key']:
                del self.messages.open[data['key']]
            elif kind != 'answer' and message.get('method') == method[kind]:
                if 'id' in message:
                    self.messages.open[data['key']] = message['id']
            else:
                continue
            self.got[session['id']].remove(message)
            return True
        return False

    def step(self):
        """One event of a session that can go on; False where none can."""
        self.dice.shuffle(self.left)
        for session, events in self.left:
            # What the agent reports by itself does not wait for another session: acp-replay waits for it half a second only.
            if self.serial and self.busy not in (None, session['id']) and events and events[0][0] != 'agent':
                continue
            if events and events[0][0] == 'agent':
                event = events.pop(0)
                message = self.messages.of(session, event)
                if event[1] in ('ended', 'idle'):
                    self.busy = None
                if event[1] == 'ask':
                    self.asked[message['id']] = session, event[2]['key']
                self.send(message)
                return True
            if events and self.use(session, events[0]):
                if events.pop(0)[1] == 'prompt':
                    self.busy = session['id']
                return True
        return False

    def read(self, wait):
        """False at the end of input."""
        if not wait and not select.select([0], [], [], 0)[0]:
            return True
        piece = os.read(0, 65536)
        self.input += piece
        *lines, self.input = self.input.split(b'\n')
        for line in lines:
            self.receive(json.loads(line))
        return bool(piece)

    def run(self):
        going = True
        while self.read(wait=not going):
            going = self.step()


if __name__ == '__main__':
    with open(sys.argv[1], encoding='utf-8') as given:
        Agent(json.load(given), random.Random(sys.argv[2])).run()
