"""`session start --broadcast` with a real tmux: the words are really typed into the panes."""

import sys

import pytest

from integrations.terminals import DOTTED, PROGRAMS, TRUST, Terminals, asked, eventually, written

SESSION = "brenner_bot-5so_1_4_1"


def line(name: str, thread_id: str = DOTTED) -> str:
    """What an agent is told, without Enter."""
    return (
        f"{name}: there is mail for you in the thread {thread_id}. Call the tool brenner_task of "
        f"the MCP server brenner with agent {name} and thread_id {thread_id} to see what to do."
    )


def typed_line(name: str, thread_id: str = DOTTED) -> str:
    """What is typed to an agent; a carriage return is Enter."""
    return f"{line(name, thread_id)}\r"


def arguments(name: str, thread_id: str = DOTTED) -> list[str]:
    """What the program of an agent that is opened is called with."""
    words = {"RedSky": ["--no-daemon"], "GreenDog": ["-i"]}
    return [*words.get(name, ()), line(name, thread_id)]


@pytest.mark.parametrize("thread_id", [DOTTED, "-brenner_bot-5so.1"])
def test_who_is_opened_gets_the_line_as_an_argument(at_work: Terminals, thread_id: str) -> None:
    """Nothing is typed to a program that starts; the other session is not told."""
    at_work.tmux("new-session", "-d", "-s", "other", "-n", "BlueLake", "--", "/bin/cat")
    done = at_work(*asked(thread_id, "--spawn", "--broadcast"))
    assert done.code == 0
    assert "Notified BlueLake, RedSky and GreenDog of new mail.\n" in done.out
    for name in PROGRAMS:
        assert at_work.started(name)["argv"] == arguments(name, thread_id)
        assert at_work.typed(name) == ""
    assert "mail" not in at_work.screen("other", "BlueLake")


def test_a_dialog_at_the_start_is_not_answered(at_work: Terminals) -> None:
    """The line waits behind it, in the program's hands; nobody but the operator presses Enter."""
    at_work.with_agents("claude", "codex", "gemini", dialog=TRUST)
    done = at_work(*asked(DOTTED, "--spawn", "--broadcast", "--json"))
    assert (done.code, done.json["neighbours"]["broadcast"]["told"]) == (0, list(PROGRAMS))
    for name in PROGRAMS:
        assert at_work.started(name)["argv"] == arguments(name)
        assert at_work.typed(name) == ""
        assert not (at_work.records / f"{name}.accepted").exists()


def test_a_dialog_in_a_pane_that_runs(at_work: Terminals) -> None:
    """It receives nothing, and the report says why; the others are told."""
    at_work.with_agents("codex", dialog=TRUST)
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    for name in PROGRAMS:
        at_work.started(name)
    for dry in ([], ["--dry-run"]):
        done = at_work(*asked(DOTTED, "--broadcast", "--json", *dry))
        assert (done.code, done.codes[0]) == (3, "BROADCAST_INCOMPLETE")
        assert done.json["neighbours"]["broadcast"] == {
            "told": ["BlueLake", "GreenDog"],
            "all_panes": False,
            "not_told": [
                {"agent": "RedSky", "reason": "its screen shows a dialog; answer it first"}
            ],
        }
    said = at_work(*asked(DOTTED, "--broadcast"))
    assert "Notified BlueLake and GreenDog of new mail.\n" in said.out
    assert "RedSky (its screen shows a dialog; answer it first)" in said.err
    assert at_work.typed("RedSky") == ""
    at_work.tmux("send-keys", "-t", f"={SESSION}:=RedSky", "Enter")
    eventually((at_work.records / "RedSky.accepted").exists)
    eventually(lambda: ">" in at_work.screen(SESSION, "RedSky"))
    again = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert again.json["neighbours"]["broadcast"]["told"] == list(PROGRAMS)
    eventually(lambda: at_work.typed("RedSky") == f"\r{typed_line('RedSky')}")


def test_a_text_that_waits_in_the_prompt(at_work: Terminals) -> None:
    """Enter would send it together with the line."""
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    for name in PROGRAMS:
        at_work.started(name)
    at_work.tmux("send-keys", "-t", f"={SESSION}:=BlueLake", "-l", "rm -r")
    eventually(lambda: "rm -r" in at_work.screen(SESSION, "BlueLake"))
    done = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert done.json["neighbours"]["broadcast"]["not_told"] == [
        {"agent": "BlueLake", "reason": "its screen shows no empty prompt"}
    ]
    assert at_work.typed("BlueLake") == "rm -r"


def test_a_command_of_the_operator(at_work: Terminals) -> None:
    """A known program gets the line, another one where its command has a place for it."""
    at_work.with_agents("mine", "other")
    commands = (
        'claude-code = "claude --model opus"',
        'codex-cli = ["mine", "--prompt={line}", "-x"]',
        'gemini-cli = "other --fast"',
    )
    written(at_work.project, "[programs]", *commands)
    done = at_work(*asked(DOTTED, "--spawn", "--broadcast", "--json"))
    assert (done.code, done.codes[0]) == (3, "BROADCAST_INCOMPLETE")
    assert done.json["neighbours"]["broadcast"]["told"] == ["BlueLake", "RedSky"]
    assert "its command in `[programs]` has no `{line}`" in done.out
    assert at_work.started("BlueLake")["argv"] == [line("BlueLake"), "--model", "opus"]
    assert at_work.started("RedSky")["argv"] == [f"--prompt={line('RedSky')}", "-x"]
    assert at_work.started("GreenDog")["argv"] == ["--fast"]
    assert [at_work.typed(name) for name in PROGRAMS] == ["", "", ""]
    eventually(lambda: ">" in at_work.screen(SESSION, "GreenDog"))
    again = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert again.json["neighbours"]["broadcast"]["told"] == list(PROGRAMS)


def test_a_place_for_the_line_without_a_line(at_work: Terminals) -> None:
    at_work.with_agents("mine")
    written(at_work.project, "[programs]", 'codex-cli = ["mine", "--prompt={line}", "-x"]')
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    assert at_work.started("RedSky")["argv"] == ["-x"]


def test_a_session_that_runs_already(at_work: Terminals) -> None:
    """Without `--spawn`; who was not asked is not told."""
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    for name in PROGRAMS:
        at_work.started(name)
    only = dict(list(PROGRAMS.items())[:1])
    done = at_work(*asked(DOTTED, "--broadcast", "--json", programs=only))
    assert (done.code, done.json["status"]) == (0, "nothing_to_send")
    assert done.json["neighbours"] == {
        "program": "tmux",
        "session": SESSION,
        "attach": f"tmux attach -t '={SESSION}'",
        "status": "done",
        "spawn": None,
        "broadcast": {"told": ["BlueLake"], "all_panes": False, "not_told": []},
    }
    eventually(lambda: at_work.typed("BlueLake") == typed_line("BlueLake"))
    assert at_work.typed("RedSky") == ""


def test_no_session(at_work: Terminals) -> None:
    """The mail is out, and that nobody was told is said; the exit code is 3."""
    done = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert (done.code, done.json["status"], done.codes[0]) == (3, "sent", "NO_TERMINAL_SESSION")
    told = done.json["neighbours"]["broadcast"]
    assert (told["told"], [each["agent"] for each in told["not_told"]]) == ([], list(PROGRAMS))
    said = at_work(*asked(DOTTED, "--broadcast"))
    assert said.code == 3
    assert (
        f"The messages were sent. The agents were not notified: no session `{SESSION}` runs"
        in said.err
    )
    assert "Told" not in said.out
    tried = at_work(*asked(DOTTED, "--broadcast", "--dry-run"))
    assert (tried.code, "The mail is out" in tried.err) == (3, False)


def test_who_cannot_be_told(at_work: Terminals) -> None:
    """No window, a window in copy mode, one that takes no input: said, never passed over."""
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    for name in PROGRAMS:
        at_work.started(name)
    at_work.tmux("kill-window", "-t", f"={SESSION}:=BlueLake")
    at_work.tmux("copy-mode", "-t", f"={SESSION}:=RedSky")
    done = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert (done.code, done.codes[0]) == (3, "BROADCAST_INCOMPLETE")
    assert done.json["neighbours"]["broadcast"] == {
        "told": ["GreenDog"],
        "all_panes": False,
        "not_told": [
            {"agent": "BlueLake", "reason": "it has no window in the session"},
            {"agent": "RedSky", "reason": "its window is in copy mode (press `q` to leave it)"},
        ],
    }
    eventually(lambda: at_work.typed("GreenDog") == typed_line("GreenDog"))
    at_work.tmux("select-pane", "-d", "-t", f"={SESSION}:=GreenDog")
    again = at_work(*asked(DOTTED, "--broadcast"))
    assert "GreenDog (its window accepts no input)" in again.err
    assert at_work.typed("GreenDog") == typed_line("GreenDog")


def test_a_window_that_was_split(at_work: Terminals) -> None:
    """The words go to the agent's own pane, whichever is in front, under whatever name."""
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    for name in PROGRAMS:
        at_work.started(name)
    at_work.tmux("split-window", "-t", f"={SESSION}:=BlueLake", "--", "/bin/cat")
    at_work.tmux("rename-window", "-t", f"={SESSION}:=BlueLake", "notes | of mine")
    assert at_work(*asked(DOTTED, "--broadcast")).code == 0
    eventually(lambda: at_work.typed("BlueLake") == typed_line("BlueLake"))


def test_a_program_that_is_not_installed_is_not_told(at_work: Terminals) -> None:
    """The shell in its window would not understand; the others are told."""
    at_work.without("codex")
    done = at_work(*asked(DOTTED, "--spawn", "--broadcast", "--json"))
    errors = [each["id"] for each in done.json["violations"] if each["severity"] == "error"]
    assert (done.code, errors) == (3, ["BROADCAST_INCOMPLETE"])
    assert done.json["neighbours"]["broadcast"]["told"] == ["BlueLake", "GreenDog"]
    assert "there is mail" not in at_work.screen(SESSION, "RedSky")


# Windows that somebody else opened

_SLEEP = ("-c", "import time; time.sleep(1000)")


def test_windows_that_are_not_ours(at_work: Terminals) -> None:
    """Notified is who runs in the window of its name; a shell, or another program, would obey."""
    at_work.tmux("new-session", "-d", "-s", "bot-1", "-n", "BlueLake", "--", "/bin/sh")
    at_work.tmux("new-window", "-d", "-t", "=bot-1:", "-n", "RedSky", "--", "/bin/cat", "-")
    theirs = ("/usr/bin/env", "AGENT_NAME=GreenDog", str(at_work.path / "gemini"))
    at_work.tmux("new-window", "-d", "-t", "=bot-1:", "-n", "GreenDog", "--", *theirs)
    at_work.started("GreenDog")
    done = at_work(*asked("bot-1", "--broadcast", "--json"))
    assert (done.code, done.codes[0]) == (3, "BROADCAST_INCOMPLETE")
    assert done.json["neighbours"]["broadcast"] == {
        "told": ["GreenDog"],
        "all_panes": False,
        "not_told": [
            {"agent": "BlueLake", "reason": "its window contains only a shell"},
            {"agent": "RedSky", "reason": "its window runs `cat`, which is not its program"},
        ],
    }
    eventually(lambda: at_work.typed("GreenDog") == typed_line("GreenDog", "bot-1"))
    for name in ("BlueLake", "RedSky"):
        assert "there is mail" not in at_work.screen("bot-1", name)
    said = at_work(*asked("bot-1", "--broadcast"))
    assert "Notified GreenDog of new mail.\n" in said.out
    assert "BlueLake (its window contains only a shell" in said.err


def test_a_shell_in_the_place_of_our_program(at_work: Terminals) -> None:
    """The window has our marks, and somebody has put a shell there: it is not told, nor is what
    she runs in it, unless that is the agent's program.
    """
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    for name in PROGRAMS:
        at_work.started(name)
    at_work.tmux("respawn-pane", "-k", "-t", f"={SESSION}:=BlueLake", "--", "/bin/sh")
    at_work.tmux("send-keys", "-t", f"={SESSION}:=RedSky", "C-d")
    eventually(lambda: "codex ended with" in at_work.screen(SESSION, "RedSky"))
    at_work.tmux("send-keys", "-t", f"={SESSION}:=RedSky", "/bin/stty sane", "C-j")
    at_work.tmux("send-keys", "-t", f"={SESSION}:=RedSky", "/bin/cat", "C-j")
    eventually(lambda: _runs(at_work, "RedSky", "cat"))
    done = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert done.json["neighbours"]["broadcast"]["told"] == ["GreenDog"]
    at_work.tmux("send-keys", "-t", f"={SESSION}:=RedSky", "C-c")
    eventually(lambda: _runs(at_work, "RedSky", "sh"))
    (at_work.records / "RedSky.json").unlink()
    at_work.tmux("send-keys", "-t", f"={SESSION}:=RedSky", "codex", "Enter")
    at_work.started("RedSky")
    again = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert again.json["neighbours"]["broadcast"]["told"] == ["RedSky", "GreenDog"]
    eventually(lambda: at_work.typed("RedSky") == typed_line("RedSky"))
    assert "there is mail" not in at_work.screen(SESSION, "BlueLake")


def _runs(at_work: Terminals, window: str, command: str) -> bool:
    asked_for = ("-t", f"={SESSION}:={window}", "#{pane_current_command}")
    return at_work.tmux("display-message", "-p", *asked_for) == [command]


@pytest.mark.parametrize("name", ["a|b", "a\nb", "a\n%0|@0|RedSky|||||1|||bot-2|c|d|e"])
def test_a_program_with_an_odd_name(at_work: Terminals, name: str) -> None:
    """Nothing in it passes for something else that tmux tells, such as whose session it is."""
    odd = at_work.path / name.replace("/", "_")
    odd.symlink_to(sys.executable)
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    for each in PROGRAMS:
        at_work.started(each)
    at_work.tmux("new-window", "-d", "-t", f"={SESSION}:", "-n", "x", "--", str(odd), *_SLEEP)
    at_work.tmux("kill-window", "-t", f"={SESSION}:=RedSky")
    done = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert done.json["neighbours"]["broadcast"] == {
        "told": ["BlueLake", "GreenDog"],
        "all_panes": False,
        "not_told": [{"agent": "RedSky", "reason": "it has no window in the session"}],
    }
    eventually(lambda: at_work.typed("GreenDog") == typed_line("GreenDog"))
