#!/usr/bin/env python3
"""acp-diff against a model: random sessions, and the same sessions as another run could have them (sessions.py).

Other ids, other pieces and another order between the sessions are no difference; one planted change is one.
"""
import copy

import sessions
from diff import differences
from stream import run


def one(dice):
    open('err', 'w', encoding='utf-8').close()
    recorded = sessions.Maker(dice).sessions()
    live = copy.deepcopy(recorded)
    change = sessions.plant(live, dice, ('client', 'agent')) if dice.random() < 0.6 else None
    expected, note = change or ([], 'no change')
    sessions.write('a.rec', sessions.merged(recorded, dice))
    sessions.write('b.rec', sessions.merged(sessions.another_run(live, dice), dice))
    for level in ('params', 'shape', 'method'):
        found, want = differences(level, 'a.rec', 'b.rec'), int(level in expected)
        assert found == want, f'{note}: {found} differences at {level}, expected {want}'


if __name__ == '__main__':
    run('diff', one, 1000)
