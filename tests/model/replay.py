#!/usr/bin/env python3
"""acp-replay --as client against a model: random sessions at once, with queued prompts, cancels and permission requests.

Each recording is played to acp-replay as its agent, and to an agent (agent.py) that sends the same in other pieces and in another
order between the sessions: the play ends, and --check finds nothing. With one change planted in the agent, it finds that alone.
"""
import copy
import json
import os
import subprocess
import sys

import sessions
from stream import run

HERE = os.path.dirname(os.path.abspath(__file__))
# What ends a play that hangs: none takes as long as that.
HANG = 120


def play(match, agent):
    """The number of differences that --check finds."""
    command = ['acp-replay', '--as', 'client', '--check', '-f', 'json', '--match', match, 's.rec', '--', *agent]
    with open('err', 'w', encoding='utf-8') as err:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=err, text=True, check=False, timeout=HANG)
    # What differs in a response is reported on standard error, too.
    with open('err', encoding='utf-8') as err:
        other = [line for line in err if ' differs from ' not in line]
    found = json.loads(ran.stdout.splitlines()[-1])['differences'] if ran.stdout else None
    assert not other and ran.returncode == (1 if found else 0), f'status {ran.returncode}, {found} differences'
    return found


def one(dice):
    recorded = sessions.Maker(dice).sessions()
    sessions.write('s.rec', sessions.merged(recorded, dice))
    live = copy.deepcopy(recorded)
    how = dice.choice(['itself', 'another', 'another', 'changed'])
    match, expected, note = dice.choice(['params', 'shape']), 0, how
    agent = ['acp-replay', 's.rec']
    if how == 'changed':
        change = sessions.plant(live, dice)
        if change:
            expected, note = int(match in change[0]), change[1]
    if how != 'itself':
        with open('live.json', 'w', encoding='utf-8') as out:
            json.dump(sessions.another_run(live, dice), out)
        agent = [sys.executable, f'{HERE}/agent.py', 'live.json', str(dice.random())]
    found = play(match, agent)
    assert found == expected, f'{note}: {found} differences at {match}, expected {expected}'


if __name__ == '__main__':
    run('replay', one, 250) # each starts an agent in Python
