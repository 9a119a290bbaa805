"""`session start --spawn` with a real tmux: a window for each agent, its program in it."""

import os

import pytest

from integrations.terminals import DOTTED, PROGRAMS, Terminals, asked, eventually, written


@pytest.mark.parametrize(
    ("thread_id", "session"),
    [
        (DOTTED, "brenner_bot-5so_1_4_1"),
        ("-brenner_bot-5so.1", "-brenner_bot-5so_1"),
        ("--help", "--help"),
        ("RS-20251230-cell-fate-places", "RS-20251230-cell-fate-places"),
        ("a" * 252, "a" * 252),
        ("7", "7"),
    ],
)
def test_a_window_for_each_agent(at_work: Terminals, thread_id: str, session: str) -> None:
    """Named after it, in the project's folder, with its name in the environment."""
    done = at_work(*asked(thread_id, "--spawn"))
    assert (done.code, "error" in done.err) == (0, False)
    assert at_work.tmux("list-sessions", "-F", "#{session_name}") == [session]
    assert at_work.windows(session) == list(PROGRAMS)
    for name in PROGRAMS:
        started = at_work.started(name)
        assert started["argv"] == ["--no-daemon"] * (name == "RedSky")
        assert started["cwd"] == str(at_work.project)
        assert started["env"]["AGENT_NAME"] == name
        assert started["env"]["PATH"] == str(at_work.path)
        assert "BRENNER_STORE" not in started["env"]
        assert at_work.typed(name) == ""
    assert f"Sent message 1 to BlueLake (hypothesis_generator) in {thread_id[:200]}" in done.out
    assert (
        "Started BlueLake (claude), RedSky (codex --no-daemon) and GreenDog (gemini) in" in done.out
    )
    assert f"To see them: `tmux attach -t '={session}'`" in done.out


def test_json_and_running_twice(at_work: Terminals) -> None:
    """The second time all mail was sent before and everybody is there; a lost window comes back."""
    first = at_work(*asked(DOTTED, "--spawn", "--json"))
    names = list(PROGRAMS)
    opened = [
        {"agent": "BlueLake", "program": "claude-code", "command": ["claude"]},
        {"agent": "RedSky", "program": "codex-cli", "command": ["codex", "--no-daemon"]},
        {"agent": "GreenDog", "program": "gemini-cli", "command": ["gemini"]},
    ]
    session = "brenner_bot-5so_1_4_1"
    nothing = {"left_untouched": False, "not_opened": []}
    assert (first.code, first.json["status"], first.json["valid"]) == (0, "sent", True)
    assert first.json["neighbours"] == {
        "program": "tmux",
        "session": session,
        "attach": f"tmux attach -t '={session}'",
        "status": "done",
        "spawn": {"opened": opened, "open_before": [], **nothing},
        "broadcast": None,
    }
    again = at_work(*asked(DOTTED, "--spawn", "--json"))
    assert (again.code, again.json["status"]) == (0, "nothing_to_send")
    assert again.json["neighbours"]["spawn"] == {"opened": [], "open_before": names, **nothing}
    at_work.tmux("kill-window", "-t", f"={session}:=RedSky")
    third = at_work(*asked(DOTTED, "--spawn", "--json")).json["neighbours"]["spawn"]
    assert third == {"opened": opened[1:2], "open_before": ["BlueLake", "GreenDog"], **nothing}
    assert sorted(at_work.windows(session)) == sorted(names)


def test_another_thread_with_a_name_that_begins_alike(at_work: Terminals) -> None:
    """Tmux would take the beginning of a name for the whole; we do not."""
    at_work(*asked("bot-5so.1", "--spawn"))
    done = at_work(*asked("bot-5so", "--spawn"))
    assert done.code == 0
    assert sorted(at_work.tmux("list-sessions", "-F", "#{session_name}")) == [
        "bot-5so",
        "bot-5so_1",
    ]


def test_a_session_of_another_thread_is_left_alone(at_work: Terminals) -> None:
    """Tmux has one name for two threads: their agents are not mixed up, and no mail goes out."""
    at_work(*asked("bot-5so.1", "--spawn"))
    done = at_work(*asked("bot-5so_1", "--spawn", "--broadcast", "--json"))
    assert (done.code, done.json["status"], done.json["kickoffs"]) == (3, "refused", [])
    assert [each["id"] for each in done.json["violations"]] == ["OTHER_TERMINAL_SESSION"]
    assert at_work.windows("bot-5so_1") == list(PROGRAMS)
    assert [at_work.typed(name) for name in PROGRAMS] == [""] * 3


def test_a_session_that_somebody_opened_by_hand(at_work: Terminals) -> None:
    """It stays as it is and gets windows for those who have none."""
    at_work.tmux("new-session", "-d", "-s", "bot-1", "-n", "RedSky", "--", "/bin/sleep", "1000")
    done = at_work(*asked("bot-1", "--spawn", "--json")).json["neighbours"]["spawn"]
    assert done["open_before"] == ["RedSky"]
    assert at_work.windows("bot-1") == ["RedSky", "BlueLake", "GreenDog"]


def test_a_shell_that_somebody_opened_by_hand(at_work: Terminals) -> None:
    """It has the agent's name, but nobody is there."""
    at_work.tmux("new-session", "-d", "-s", "bot-1", "-n", "RedSky", "--", "/bin/sh")
    done = at_work(*asked("bot-1", "--spawn", "--broadcast", "--json")).json["neighbours"]
    only_a_shell = "its window contains only a shell"
    assert done["spawn"]["open_before"] == []
    assert done["spawn"]["not_opened"] == [{"agent": "RedSky", "reason": only_a_shell}]
    assert done["broadcast"]["told"] == ["BlueLake", "GreenDog"]
    assert "there is mail" not in at_work.screen("bot-1", "RedSky")


def test_the_store_that_was_named_is_passed_on(at_work: Terminals) -> None:
    """Whoever works in the panes finds the same mail."""
    done = at_work(*asked(DOTTED, "--spawn", "--store", "sqlite:///other.sqlite3"))
    assert done.code == 0
    store = f"sqlite:///{at_work.base}/other.sqlite3"
    assert at_work.started("BlueLake")["env"]["BRENNER_STORE"] == store


def test_a_server_with_another_environment(at_work: Terminals) -> None:
    """What counts is the PATH of who opens the session, not of who started tmux days ago."""
    os.environ["PATH"] = "/nowhere"  # set back by the fixture
    at_work.tmux("new-session", "-d", "-s", "old", "--", "/bin/sleep", "1000")
    os.environ["PATH"] = str(at_work.path)
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    assert at_work.started("RedSky")["env"]["PATH"] == str(at_work.path)


def test_a_program_that_is_not_installed(at_work: Terminals) -> None:
    """Its window has a shell that says so; the command says so too."""
    at_work.without("codex")
    done = at_work(*asked(DOTTED, "--spawn", "--json"))
    assert done.code == 0
    assert "PROGRAM_NOT_FOUND" in done.codes
    session = done.json["neighbours"]["session"]
    eventually(lambda: "not found. This is a shell." in at_work.screen(session, "RedSky"))
    at_work.tmux("send-keys", "-t", f"={session}:=RedSky", "-l", "echo I am $AGENT_NAME")
    at_work.tmux("send-keys", "-t", f"={session}:=RedSky", "Enter")
    eventually(lambda: "\nI am RedSky" in at_work.screen(session, "RedSky"))


def test_a_program_that_ends(at_work: Terminals) -> None:
    """Its window stays, with a shell, and is neither opened again nor told."""
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    at_work.started("BlueLake")
    session = "brenner_bot-5so_1_4_1"
    at_work.tmux("send-keys", "-t", f"={session}:=BlueLake", "C-d")
    eventually(lambda: "claude ended with exit code 0" in at_work.screen(session, "BlueLake"))
    eventually(
        lambda: (
            "1" in at_work.tmux("list-panes", "-s", "-t", f"={session}", "-F", "#{@brenner_ended}")
        )
    )
    again = at_work(*asked(DOTTED, "--spawn", "--broadcast", "--json"))
    assert again.code == 0
    assert again.json["neighbours"]["spawn"]["not_opened"] == [
        {"agent": "BlueLake", "reason": "its window contains only a shell"}
    ]
    assert again.json["neighbours"]["broadcast"]["told"] == ["RedSky", "GreenDog"]
    assert "there is mail" not in at_work.screen(session, "BlueLake")
    alone = at_work(*asked(DOTTED, "--broadcast", "--json"))
    assert (alone.code, alone.codes[0]) == (3, "BROADCAST_INCOMPLETE")


def test_only_configured_commands_are_run(at_work: Terminals) -> None:
    """What a roster calls a program is looked up, never run; `[programs]` adds and overrides."""
    at_work.with_agents("evil").with_agents("mine")
    written(at_work.project, "[programs]", "claude-code = \"mine --fast 'a b' ;\"")
    programs = {"BlueLake": "claude-code", "RedSky": "evil", "GreenDog": "touch x; mine"}
    done = at_work(*asked(DOTTED, "--spawn", "--json", programs=programs))
    assert done.code == 0
    assert at_work.started("BlueLake")["argv"] == ["--fast", "a b", ";"]
    assert at_work.windows("brenner_bot-5so_1_4_1") == ["BlueLake"]
    assert [each["agent"] for each in done.json["neighbours"]["spawn"]["not_opened"]] == [
        "RedSky",
        "GreenDog",
    ]
    assert done.codes.count("AGENT_NOT_OPENED") == 2


def test_programs_from_the_register(at_work: Terminals) -> None:
    """A roster that names no program leaves it to what the agents are registered as."""
    at_work("mail", "register", "BlueLake", "--program", "codex-cli")
    texts = ["--question", "How?", "--context", "Because."]
    roles = ["--to", "BlueLake", "--role", "test_designer"]
    ours = ["session", "start", "--thread-id", "bot-1", *texts, *roles]
    assert at_work(*ours, "--spawn").code == 0
    assert at_work.windows("bot-1") == ["BlueLake"]
    assert at_work.started("BlueLake")["argv"] == ["--no-daemon"]


def test_nobody_to_open_is_refused_before_anything_is_sent(at_work: Terminals) -> None:
    """A session without agents would look as if somebody were at work."""
    for dry in ([], ["--dry-run"]):
        done = at_work(*asked("bot-1", "--spawn", "--json", *dry, programs={"BlueLake": "vi"}))
        assert (done.code, done.codes) == (1, ["NOBODY_TO_OPEN"])
        assert (done.json["status"], done.json["kickoffs"]) == ("refused", [])
        assert list(at_work.project.iterdir()) == []


@pytest.mark.parametrize("option", ["--spawn", "--broadcast"])
def test_without_tmux_and_ntm(terminals: Terminals, option: str) -> None:
    """Known to fail, so refused before anything is sent."""
    done = terminals(*asked("bot-1", option))
    assert done.code == 3
    assert f"NO_TERMINAL_PROGRAM  `{option}` needs ntm or tmux" in done.err
    assert list(terminals.project.iterdir()) == []
    as_json = terminals(*asked("bot-1", option, "--json"))
    assert (as_json.code, as_json.codes) == (3, ["NO_TERMINAL_PROGRAM"])
    assert terminals(*asked("bot-1")).code == 0


def test_tmux_that_fails_after_the_mail(terminals: Terminals) -> None:
    """The mail is out, and that is said; so is what failed."""
    terminals.with_program("tmux", err="server exited unexpectedly\n", code=1)
    done = terminals(*asked("bot-1", "--spawn", "--broadcast", "--json"))
    assert (done.code, done.json["status"], done.json["valid"]) == (3, "sent", False)
    assert [each["status"] for each in done.json["kickoffs"]] == ["sent"] * 3
    assert (done.codes[0], done.json["summary"]["errors"]) == ("SPAWN_FAILED", 1)
    assert done.json["neighbours"]["status"] == "failed"
    assert done.json["neighbours"]["broadcast"]["told"] == []
    said = terminals(*asked("bot-1", "--spawn"))
    assert (said.code, "The messages were sent. tmux could not open `bot-1`" in said.err) == (
        3,
        True,
    )
    assert "server exited unexpectedly" in said.err
    assert "Opened" not in said.out


def test_dry_run_opens_nothing(at_work: Terminals) -> None:
    """It says what would be opened, and who would be told."""
    done = at_work(*asked(DOTTED, "--spawn", "--broadcast", "--dry-run"))
    assert done.code == 0
    assert done.out.endswith(
        "Would start BlueLake (claude), RedSky (codex --no-daemon) and GreenDog (gemini) in "
        "brenner_bot-5so_1_4_1, with tmux.\n"
        "Would notify BlueLake, RedSky and GreenDog of new mail.\n"
    )
    assert at_work.tmux("list-sessions", is_fine=False) == []
    assert list(at_work.project.iterdir()) == []
    as_json = at_work(*asked(DOTTED, "--spawn", "--dry-run", "--json")).json["neighbours"]
    assert (as_json["status"], len(as_json["spawn"]["opened"])) == ("dry_run", 3)


def test_a_killed_server_is_started_again(at_work: Terminals) -> None:
    """A socket that nobody listens at is as no session."""
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    (pid,) = at_work.tmux("display-message", "-p", "#{pid}")
    os.kill(int(pid), 9)
    eventually(lambda: not at_work.tmux("list-sessions", is_fine=False))
    again = at_work(*asked(DOTTED, "--spawn", "--json"))
    assert (again.code, len(again.json["neighbours"]["spawn"]["opened"])) == (0, 3)
    assert at_work.windows("brenner_bot-5so_1_4_1") == list(PROGRAMS)


@pytest.mark.parametrize("name", ["a b'c", "#{pane_id}#(touch made)", "ü→", "a;"])
def test_a_folder_with_an_odd_name(at_work: Terminals, name: str) -> None:
    """Nothing in it is read as shell, nor as a format of tmux."""
    folder = at_work.project / name
    folder.mkdir()
    at_work.shell.folder = folder
    for _ in range(2):
        assert at_work(*asked("bot-1", "--spawn")).code == 0
    assert at_work.started("BlueLake")["cwd"] == str(folder)
    assert [each.name for each in folder.iterdir()] == [".brenner"]
