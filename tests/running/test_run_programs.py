"""Which program `session run` starts: a path in the project, and the advice where none is found."""

import json
import re
from pathlib import Path

from program import brenner

NEW = ("--question", "How do cells know?", "--context", "They differ.", "--rounds", "1")


def roster(program: str) -> tuple[str, str]:
    """The option for one agent with that program."""
    entry = {"agentName": "BlueLake", "role": "generator", "program": program}
    return "--roster", json.dumps([entry])


def test_a_path_is_relative_to_the_project(tmp_path: Path) -> None:
    """Also where the command is typed in a folder below it; a missing file is named as it is."""
    (tmp_path / "sub").mkdir()
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\ncat > /dev/null\necho 'ACK: nothing to add'\n")
    agent.chmod(0o755)
    settings = '[programs.{}]\ndriver = "text"\nrun = ["./{}"]\n'
    text = settings.format("mine", "agent") + settings.format("gone", "nothing")
    (tmp_path / "brenner.toml").write_text(text)
    state = {"XDG_STATE_HOME": str(tmp_path.parent / f"{tmp_path.name}-state")}
    run = ("session", "run", *NEW)
    done = brenner(*run, *roster("mine"), "--json", cwd=tmp_path / "sub", **state)
    ended = [json.loads(line) for line in done.out.splitlines()]
    assert [each["outcome"] for each in ended if each.get("state") == "ended"] == ["passed"]
    done = brenner(*run, *roster("gone"), cwd=tmp_path, **state)
    assert (done.code, "`./nothing`, the program of BlueLake, does not exist" in done.err) == (
        3,
        True,
    )


def test_the_advice_for_an_unknown_program_works(tmp_path: Path) -> None:
    """Outside a project, too, where it creates one first."""
    done = brenner("session", "run", *NEW, "--to", "BlueLake", cwd=tmp_path)
    assert done.code == 2
    (fix,) = [line for line in done.err.splitlines() if "AGENT_WITHOUT_DRIVER" in line]
    (command, *_) = re.findall("`(brenner [^`]+)`", fix.partition("→")[2])
    advised = [each.strip().removeprefix("brenner ") for each in command.split("&&")]
    assert advised == ["init", "mail register BlueLake --program claude-code"]
    assert [brenner(*each.split(), cwd=tmp_path).code for each in advised] == [0, 0]
    done = brenner("session", "run", *NEW, "--to", "BlueLake", "--dry-run", cwd=tmp_path, PATH="")
    assert "`claude`, the program of BlueLake, is not on PATH" in done.err
