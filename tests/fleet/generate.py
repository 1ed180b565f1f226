#!/usr/bin/env python3
"""generate.py RECORDING DIRECTORY SESSIONS: writes SESSIONS recordings, one session each, that differ from RECORDING in the
session's id, project, time, cost and tokens. Prints the sums that every recipe must find: sessions, billed tokens, cost."""
import json
import os
import sys

source, directory, sessions = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(source, encoding="utf-8") as f:
	header, *records = f.read().splitlines()
header = json.loads(header)
OLD_ID, OLD_CWD = "60232f0d-7392-41bb-999a-e87c8215fca6", "/home/user/project"
body = "\n".join(records)
assert body.count('"amount":0.039775') == 1 and body.count('"inputTokens":5100') == 1 and body.count('"totalTokens":21801') == 1

tokens, microdollars = 0, 0
for n in range(sessions):
	cost = 10000 + n * 37 % 90000  # in millionths of a dollar
	extra = n % 1000               # input tokens beyond those of the source
	tokens += 21801 + extra
	microdollars += cost
	header["started"] = f"2026-{1 + n % 12:02}-{1 + n // 12 % 28:02}T{n % 24:02}:00:00.000000Z"
	text = (body.replace(OLD_ID, f"{n:08x}{OLD_ID[8:]}").replace(OLD_CWD, f"/srv/project-{n % 20}")
		.replace('"amount":0.039775', f'"amount":{cost / 1e6:.6f}')
		.replace('"inputTokens":5100', f'"inputTokens":{5100 + extra}')
		.replace('"totalTokens":21801', f'"totalTokens":{21801 + extra}'))
	place = os.path.join(directory, f"host-{n % 10}")
	os.makedirs(place, exist_ok=True)
	with open(os.path.join(place, f"{n:05}.rec"), "w", encoding="utf-8") as f:
		f.write(json.dumps(header) + "\n" + text + "\n")
print(sessions, tokens, f"{microdollars / 1e6:.6f}")
