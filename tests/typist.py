#!/usr/bin/env python3
"""typist.py LINES [OPTION...]: runs `acp-ask OPTION... hi -- ask.py a.json` (ask_at_terminal stands for that) or another COMMAND at a
terminal of its own, and types each line of LINES when the screen's last line is a prompt: it ends with ": " or "> " and has no newline.
What stands before an interrupt at the end of a line is typed first, and the interrupt when the screen shows it.
THINKS is how many seconds pass before each line.
Prints the screen, without carriage returns. Exits as the command does."""
import os
import pty
import re
import select
import sys
import time

lines = [line for line in sys.argv[1].split("\n")] if sys.argv[1] else []
command = sys.argv[2:]
if command[0] == "ask_at_terminal":
    here = os.path.dirname(os.path.abspath(__file__))
    command = ["acp-ask", *command[1:], "hi", "--", "python3", "-SE", os.path.join(here, "ask.py"), "a.json"]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
screen, seen = b"", 0
prompts = (b": ", b"> ")
waits_for = prompts
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    screen += data
    # What is drawn over and over is no prompt.
    new = screen[seen:]
    if lines and new.endswith(waits_for):
        time.sleep(float(os.environ.get("THINKS", 0)))
        line = lines.pop(0)
        waits_for = prompts
        if line.endswith("\x03") and len(line) > 1:
            line, waits_for = line[:-1], line[:-1].encode()
            lines.insert(0, "\x03")
            os.write(fd, line.encode())
            continue
        # After an end of input or an interrupt there is no newline.
        keys = line.endswith(("\x04", "\x03"))
        os.write(fd, line.encode() + (b"" if keys else b"\n"))
        seen = len(screen)
# A turn that is slow has the spinner, which is wiped out again.
screen = re.sub(rb"(\r[-|/\\] )+\r\x1b\[K", b"", screen)
sys.stdout.buffer.write(screen.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
