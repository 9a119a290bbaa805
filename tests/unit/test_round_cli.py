"""`brenner session round`: what is said, in words and as JSON, and how it ends."""

from pathlib import Path

import pytest

import brenner
from brenner.services.start_session import start_session
from mail_shell import HOSTILE, Shell
from session.round_play import NAMES, OPTIONS, QUESTION, THREAD, first_round, published
from terminal import in_terminal

KEYS = [
    *("thread_id", "status", "round", "kickoffs", "registered", "roster", "neighbours"),
    *("violations", "summary", "valid"),
]


@pytest.fixture
def played(shell: Shell) -> Shell:
    """A session with v1."""
    for variable in ("ROSTER", "ROSTER_MODE", "ROSTER_NAME", "ROSTER_PRESET"):
        shell.patch.delenv(f"BRENNER_{variable}", raising=False)
    with brenner.open(str(shell.folder)) as workspace:
        first_round(workspace)
    return shell


def test_says_what_was_done_and_what_to_do_next(played: Shell) -> None:
    """One line for each kickoff, one line what to do next; the same again sends nothing."""
    done = played("session", "round", THREAD)
    assert (done.code, done.err) == (0, "")
    after = (
        f"  To see whose turn it is: `brenner session status {THREAD}`",
        f"  When deltas have arrived, publish v2: `brenner compile {THREAD}`",
    )
    assert done.out.splitlines() == [
        f"Sent message 7 to BlueLake (hypothesis_generator) in {THREAD}.",
        f"Sent message 8 to RedSky (test_designer) in {THREAD}.",
        f"Sent message 9 to GreenDog (adversarial_critic) in {THREAD}.",
        *after,
    ]
    again = played("session", "round", THREAD)
    assert again.out.splitlines() == [
        "Already sent: message 7 to BlueLake (hypothesis_generator).",
        "Already sent: message 8 to RedSky (test_designer).",
        "Already sent: message 9 to GreenDog (adversarial_critic).",
        f"Nothing was sent: all kickoffs of {THREAD} were sent before.",
        *after,
    ]


def test_json(played: Shell, tmp_path: Path) -> None:
    """One document, with the number of the round; the texts may come from files."""
    (tmp_path / "focus.md").write_text("The mechanism of H2\n", "utf-8")
    done = played("session", "round", THREAD, "--focus", "@focus.md", "--dry-run", "--json")
    assert (done.code, list(done.json)) == (0, KEYS)
    assert (done.json["status"], done.json["round"]) == ("dry_run", 2)
    assert [each["to"] for each in done.json["kickoffs"]] == [[name] for name in NAMES]
    assert "- **Focus Area**: The mechanism of H2\n" in done.json["kickoffs"][0]["body"]
    sent = played("session", "round", THREAD, "--to", "RedSky", "--json")
    assert [each["message_id"] for each in sent.json["kickoffs"]] == [7]


def test_dry_run_shows_them_whole(played: Shell) -> None:
    """Every kickoff, then that nothing was sent."""
    done = played("session", "round", THREAD, "--dry-run")
    assert done.code == 0
    assert done.out.count("# Round 2 Kickoff") == 3
    assert f"Preview of 3 kickoffs in {THREAD}. Nothing was sent." in done.out


def test_refined_question_gives_the_edit(played: Shell) -> None:
    """The delta that makes it the artifact's question stands below the warning."""
    done = played("session", "round", THREAD, "--question", "Do cells forget?")
    assert done.code == 0
    assert "warning QUESTION_DIFFERS" in done.err
    assert '"statement": "Do cells forget?"' in done.err


def test_closed_session(played: Shell) -> None:
    """Refused; with --reopen the advice is to compile with it as well."""
    with brenner.open(str(played.folder)) as workspace:
        published(workspace, close=True)
    refused = played("session", "round", THREAD, "--json")
    assert (refused.code, refused.codes, list(refused.json)[:3]) == (
        1,
        ["SESSION_CLOSED"],
        ["thread_id", "status", "round"],
    )
    done = played("session", "round", THREAD, "--reopen")
    assert done.code == 0
    assert f"publish v3: `brenner compile --reopen {THREAD}`" in done.out


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--excerpt", "1", "--excerpt-file", "x.md"], 2, "cannot be used together"),
        (["--focus", "-", "--question", "-"], 2, "only once"),
        (["--question", " "], 2, "--question needs a text"),
        (["--focus", "@nowhere.md"], 2, "--focus"),
        (["--excerpt-file", "nowhere.md"], 2, "--excerpt-file"),
        (["--excerpt", "42"], 1, "NO_SOURCE_TEXT"),
        (["--to", "NewHill"], 1, "MISSING_ROSTER_ENTRY"),
        (["--constraints", "[[fill in: bounds]]"], 1, "TEMPLATE_NOT_FILLED_IN"),
    ],
)
def test_wrong_usage_and_refusals(played: Shell, options: list[str], code: int, words: str) -> None:
    """Nothing is sent."""
    done = played("session", "round", THREAD, *options)
    assert done.code == code
    assert words in done.err
    assert len(played("mail", "thread", THREAD, "--json").json["messages"]) == 6


@pytest.mark.parametrize("option", ["--spawn", "--broadcast"])
def test_terminal_that_cannot_be_opened(played: Shell, tmp_path: Path, option: str) -> None:
    """It is known before anything is sent."""
    played.patch.setenv("PATH", str(tmp_path / "nothing"))
    done = played("session", "round", THREAD, option)
    assert (done.code, "NO_TERMINAL_PROGRAM" in done.err) == (3, True)
    assert len(played("mail", "thread", THREAD, "--json").json["messages"]) == 6


def test_without_a_store(shell: Shell) -> None:
    """An unknown thread is an error, and no store is made."""
    done = shell("session", "round", THREAD)
    assert (done.code, "UNKNOWN_THREAD" in done.err) == (1, True)
    assert list(shell.folder.iterdir()) == []


def test_thread_that_begins_with_a_hyphen(shell: Shell, tmp_path: Path) -> None:
    """Commands in the kickoff and in the advice do not take it for an option."""
    thread = "-bead.1"
    with brenner.open(str(shell.folder)) as workspace:
        start_session(workspace, OPTIONS._replace(thread_id=thread))
    shell("session", "round", "--", thread)
    body = (
        "**Base Version**: v0\n\n```delta\n"
        '{"operation": "ADD", "section": "hypothesis_slate", "target_id": null, "payload": '
        '{"name": "a", "claim": "b", "mechanism": "c", "anchors": ["§1"]}, "rationale": "d"}'
        "\n```\n"
    )
    text = f"Thread: {thread}\nFrom: BlueLake\nTo: Operator\nSubject: DELTA[gpt]: x\n\n{body}"
    (tmp_path / "d.md").write_text(text, "utf-8")
    assert shell("mail", "send", "d.md").code == 0
    assert shell("compile", "--", thread).code == 0
    done = shell("session", "round", "--", thread)
    assert done.code == 0
    assert "`brenner session status -- -bead.1`" in done.out
    shown = shell("mail", "show", "6", "--json").json
    assert f"`brenner artifact show -- {thread}`" in str(shown)


def test_hostile_text_in_a_terminal(played: Shell) -> None:
    """What agents and operator wrote is shown so that no terminal obeys it, at 80 columns."""
    asked = ("session", "round", THREAD, "--focus", HOSTILE, "--dry-run", "--no-pager")
    shown = in_terminal(80, "--project", str(played.folder), *asked, NO_COLOR="1")
    assert "\x1b" not in shown
    assert max(map(len, shown.replace("\r", "").split("\n"))) <= 80
    assert "Round 2 Kickoff" in shown
    assert QUESTION in shown
