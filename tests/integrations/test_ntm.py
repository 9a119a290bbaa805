"""ntm, by a stand-in that records how it is called."""

import pytest

from integrations.terminals import DOTTED, PROGRAMS, TRUST, Terminals, asked

TEXT = (
    "Brenner: there is mail for BlueLake, RedSky, GreenDog in the thread {}. Call the tool "
    "brenner_task of the MCP server brenner with your own name as agent and thread_id {} to see "
    "what to do."
)
_OPEN = ("new-session", "-d", "-s")


def test_spawn_and_broadcast(terminals: Terminals) -> None:
    """One of each program, in the project's folder; nothing is typed into programs that start."""
    terminals.with_program("ntm")
    done = terminals(*asked(DOTTED, "--spawn", "--broadcast"))
    assert done.code == 3
    assert terminals.calls("ntm") == [["spawn", DOTTED, "--cc=1", "--cod=1", "--gmi=1"]]
    assert {each["cwd"] for each in terminals.recorded("ntm")} == {str(terminals.project)}
    assert done.out.splitlines()[4:6] == [
        f"Started BlueLake (claude), RedSky (codex) and GreenDog (gemini) in {DOTTED}, with ntm.",
        f"  To see them: `ntm attach {DOTTED}`",
    ]
    assert "BROADCAST_INCOMPLETE" in done.err
    assert "BlueLake (ntm has just opened it" in done.err


@pytest.mark.parametrize("thread_id", ["-bot.1", "--all", "-"])
def test_ids_that_begin_with_a_hyphen(at_work: Terminals, thread_id: str) -> None:
    """They are never read as an option: flags first, then `--`."""
    at_work.with_program("ntm")
    done = at_work(*asked(thread_id, "--spawn", "--json"))
    assert done.code == 0
    assert done.json["neighbours"]["attach"] == f"ntm attach -- {thread_id}"
    session = thread_id.replace(".", "_")
    at_work.tmux(*_OPEN, session, "--", "/usr/bin/env", str(at_work.path / "claude"))
    at_work.started("nobody")
    assert at_work(*asked(thread_id, "--broadcast")).code == 0
    assert at_work.calls("ntm") == [
        ["spawn", "--cc=1", "--cod=1", "--gmi=1", "--", thread_id],
        ["send", "--all", "--", thread_id, TEXT.format(thread_id, thread_id)],
    ]


def test_a_dialog_in_one_of_the_panes(at_work: Terminals) -> None:
    """Ntm types into all of them at once, so nothing is sent. A shell does not count."""
    at_work.with_program("ntm").with_agents("gemini", dialog=TRUST)
    at_work.tmux(*_OPEN, "bot-1", "-n", "one", "--", "/usr/bin/env", str(at_work.path / "gemini"))
    at_work.tmux("new-window", "-d", "-t", "=bot-1:", "-n", "user", "--", "/bin/sh")
    at_work.started("nobody")
    done = at_work(*asked("bot-1", "--broadcast"))
    assert (done.code, at_work.calls("ntm")) == (3, [])
    assert "ntm: window one: its screen shows a dialog; answer it first" in done.err
    assert at_work.typed("nobody") == ""


def test_without_tmux_nothing_is_typed(terminals: Terminals) -> None:
    """Nobody can look at the screens."""
    terminals.with_program("ntm")
    done = terminals(*asked(DOTTED, "--broadcast"))
    assert (done.code, terminals.calls("ntm")) == (3, [])
    assert "without tmux, Brenner cannot check" in done.err


def test_counts(terminals: Terminals) -> None:
    """So many of each; what is not asked for is left out, and what ntm does not open is said."""
    terminals.with_program("ntm")
    programs = {"BlueLake": "claude-code", "RedSky": "claude-code", "GreenDog": "mine"}
    (terminals.project / "brenner.toml").write_text('[programs]\nmine = "mine"\n', "utf-8")
    done = terminals(*asked(DOTTED, "--spawn", "--json", programs=programs))
    assert terminals.calls("ntm") == [["spawn", DOTTED, "--cc=2"]]
    assert (done.code, done.codes.count("AGENT_NOT_OPENED")) == (0, 1)


def test_a_failure_after_the_mail(terminals: Terminals) -> None:
    """In its own words; the mail is out; nothing is said to nobody."""
    terminals.with_program("ntm", err="Error: tmux is \x1b[31mbroken\n", code=1)
    done = terminals(*asked(DOTTED, "--spawn", "--broadcast"))
    assert done.code == 3
    assert (
        f"The messages were sent. ntm could not open `{DOTTED}` for BlueLake, RedSky, GreenDog: "
        in (done.err)
    )
    assert "Error: tmux is \\x1b[31mbroken" in done.err
    assert [call[0] for call in terminals.calls("ntm")] == ["spawn"]
    alone = terminals(*asked(DOTTED, "--broadcast", "--json"))
    assert (alone.code, alone.codes[0]) == (3, "BROADCAST_INCOMPLETE")
    assert alone.json["neighbours"]["broadcast"]["told"] == []


def test_no_session_for_ntm(terminals: Terminals) -> None:
    """Where tmux can tell that there is no session, that is what is said."""
    terminals.with_tmux().with_program("ntm", err="no such session\n", code=1)
    done = terminals(*asked(DOTTED, "--broadcast", "--json"))
    assert (done.code, done.codes[0]) == (3, "NO_TERMINAL_SESSION")


def test_a_session_that_runs_is_left_as_it_is(at_work: Terminals) -> None:
    """It is not spawned a second time, and is told."""
    at_work.with_program("ntm")
    at_work.tmux(*_OPEN, DOTTED, "--", "/usr/bin/env", str(at_work.path / "claude"))
    at_work.started("nobody")
    done = at_work(*asked(DOTTED, "--spawn", "--broadcast"))
    assert (done.code, [call[0] for call in at_work.calls("ntm")]) == (0, ["send"])
    assert f"The session {DOTTED} is already running and was not changed." in done.out


def test_what_tmux_has_opened_stays_with_tmux(at_work: Terminals) -> None:
    """Also where ntm is installed later: it does not know whose pane is whose."""
    assert at_work(*asked(DOTTED, "--spawn")).code == 0
    at_work.with_program("ntm")
    at_work.tmux("kill-window", "-t", "=brenner_bot-5so_1_4_1:=RedSky")
    done = at_work(*asked(DOTTED, "--spawn", "--broadcast", "--json"))
    assert (done.code, at_work.calls("ntm")) == (0, [])
    assert done.json["neighbours"]["program"] == "tmux"
    assert done.json["neighbours"]["broadcast"]["told"] == list(PROGRAMS)


def test_dry_run(terminals: Terminals) -> None:
    """Nothing is called."""
    terminals.with_program("ntm")
    done = terminals(*asked(DOTTED, "--spawn", "--broadcast", "--dry-run"))
    assert (done.code, terminals.calls("ntm")) == (3, [])
    assert "Would notify" not in done.out


def test_the_store_in_the_environment(terminals: Terminals) -> None:
    """The panes that ntm opens find the same mail."""
    terminals.with_program("ntm")
    terminals(*asked(DOTTED, "--spawn", "--store", "sqlite:///other.sqlite3"))
    (call,) = terminals.recorded("ntm")
    assert call["store"] == f"sqlite:///{terminals.base}/other.sqlite3"
