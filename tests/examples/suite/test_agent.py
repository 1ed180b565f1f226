"""Tests of an agent, for pytest. AGENT is its command; SESSION a
recording."""
import os
import shlex
import subprocess

AGENT = shlex.split(os.environ["AGENT"])
SESSION = os.environ["SESSION"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def play(tmp_path, *command):
    """The client of the recording talks to the agent."""
    new = str(tmp_path / "new.rec")
    run("acp-replay", "--as", "client", "--check", "--timeout", "5m",
        "--record", new, SESSION, "--", *command)
    return new


def test_the_agent_does_what_it_did(tmp_path):
    play(tmp_path, *AGENT)


def test_no_message_breaks_a_rule(tmp_path):
    run("acp-check", play(tmp_path, *AGENT))


def test_a_request_in_pieces_makes_no_difference(tmp_path):
    play(tmp_path, "acp-fault", "--from", "client", "--split", "50",
         "--", *AGENT)


def test_nothing_stays_open(tmp_path):
    run("acp-stat", "--max", "open=0", "--max", "turn.max=5m",
        play(tmp_path, *AGENT))
