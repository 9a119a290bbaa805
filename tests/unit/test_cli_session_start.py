"""`brenner session start`: what is said, in words and as JSON, and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from brenner.cli.session.start import report
from brenner.diagnostics.codes.sessions import KICKOFF_INCOMPLETE
from brenner.diagnostics.codes.stores import STORE_FULL
from brenner.diagnostics.model import UnavailableError
from brenner.services.start_session import KickoffDelivery, KickoffState, Started, StartStatus
from brenner.session.kickoff import compose_kickoffs
from kickoffs import CONTEXT, EXCERPT, PLAN, QUESTION, ROSTER, SECTIONS, THREAD, headings
from mail_shell import HOSTILE, Shell, store_of
from program import files
from terminal import in_terminal

KEYS = [
    *("thread_id", "status", "kickoffs", "registered", "roster", "neighbours"),
    *("violations", "summary", "valid", "created_project"),
]
THREE = [
    *("--to", "BlueLake", "--role", "hypothesis_generator"),
    *("--to", "RedSky", "--role", "test_designer"),
    *("--to", "GreenDog", "--role", "adversarial_critic"),
]


@pytest.fixture
def asked(shell: Shell, tmp_path: Path) -> list[str]:
    """What to ask whom, in the usual thread."""
    for variable in ("ROSTER", "ROSTER_MODE", "ROSTER_NAME", "ROSTER_PRESET"):
        shell.patch.delenv(f"BRENNER_{variable}", raising=False)
    (tmp_path / "excerpt.md").write_text(EXCERPT, "utf-8")
    texts = ["--question", QUESTION, "--context", CONTEXT, "--excerpt-file", "excerpt.md"]
    return ["session", "start", *texts, "--thread-id", THREAD, *THREE]


def test_says_what_was_done_and_what_to_do_next(shell: Shell, asked: list[str]) -> None:
    """One line for each kickoff, one line what to do next; the same again sends nothing."""
    done = shell(*asked)
    place = f"`{shell.folder}`, store `.brenner/mail.sqlite3`"
    assert (done.code, done.err) == (0, f"Created a mailbox in {place}.\n")
    after = (
        f"  To see whose turn it is: `brenner session status {THREAD}`",
        f"  When deltas have arrived, publish a version: `brenner compile {THREAD}`",
    )
    assert done.out.splitlines() == [
        "Registered BlueLake, RedSky and GreenDog.",
        f"Sent message 1 to BlueLake (hypothesis_generator) in {THREAD}.",
        f"Sent message 2 to RedSky (test_designer) in {THREAD}.",
        f"Sent message 3 to GreenDog (adversarial_critic) in {THREAD}.",
        *after,
    ]
    again = shell(*asked)
    assert (again.code, again.err) == (0, "")
    assert again.out.splitlines() == [
        "Already sent: message 1 to BlueLake (hypothesis_generator).",
        "Already sent: message 2 to RedSky (test_designer).",
        "Already sent: message 3 to GreenDog (adversarial_critic).",
        f"Nothing was sent: all kickoffs of {THREAD} were sent before.",
        *after,
    ]


def test_json(shell: Shell, asked: list[str]) -> None:
    """The stable form, of a dry run, of what was sent, of what was sent before."""
    tried = shell(*asked, "--dry-run", "--json")
    done = shell(*asked, "--json")
    again = shell(*asked, "--json")
    for each in (tried, done, again):
        assert (each.code, each.err, list(each.json)) == (0, "", KEYS)
        assert (each.json["thread_id"], each.json["valid"]) == (THREAD, True)
        assert each.json["summary"] == {"errors": 0, "warnings": 0, "info": 0}
        assert [list(kickoff) for kickoff in each.json["kickoffs"]] == [
            ["to", "role", "subject", "message_id", "status", "body"]
        ] * 3
        assert each.json["roster"]["entries"][1] == {"agentName": "RedSky", "role": "test_designer"}
    documents = (tried.json, done.json, again.json)
    assert [each["status"] for each in documents] == ["dry_run", "sent", "nothing_to_send"]
    assert [each["registered"] for each in documents] == [
        *(["BlueLake", "RedSky", "GreenDog"], ["BlueLake", "RedSky", "GreenDog"], [])
    ]
    assert [[k["status"] for k in each["kickoffs"]] for each in documents] == [
        *(["dry_run"] * 3, ["sent"] * 3, ["sent_before"] * 3)
    ]
    assert [[k["message_id"] for k in each["kickoffs"]] for each in documents] == [
        *([None] * 3, [1, 2, 3], [1, 2, 3])
    ]
    assert len({tuple(k["body"] for k in each["kickoffs"]) for each in documents}) == 1
    first = done.json["kickoffs"][0]
    assert (first["to"], first["role"]) == (["BlueLake"], "hypothesis_generator")


def test_dry_run_shows_all_and_writes_nothing(shell: Shell, asked: list[str]) -> None:
    """Every message whole; not even a store is made."""
    done = shell(*asked, "--dry-run")
    assert (done.code, done.err) == (0, "")
    whole = shell(*asked, "--dry-run", "--json").json["kickoffs"]
    for kickoff in whole:
        for line in kickoff["body"].split("\n"):
            assert f"    {line}".rstrip() in done.out
    assert done.out.startswith("1 of 3  to BlueLake  hypothesis_generator\n    KICKOFF: How do ")
    assert done.out.endswith(
        f"Preview of 3 kickoffs in {THREAD}. Nothing was sent.\n"
        "  Would register BlueLake, RedSky and GreenDog.\n"
    )
    assert files(shell.folder) == []


def test_refused_kickoff_leaves_nothing_behind(shell: Shell, asked: list[str]) -> None:
    """The document's words for a recipient without a role; exit code 1; no store."""
    for dry in ([], ["--dry-run"]):
        done = shell(*asked, "--to", "GreenValley", *dry)
        assert done.code == 1
        assert (
            "kickoff  error MISSING_ROSTER_ENTRY  Missing roster entry for recipient: GreenValley"
            in done.err
        )
        as_json = shell(*asked, "--to", "GreenValley", "--json", *dry)
        assert (as_json.code, as_json.codes) == (1, ["MISSING_ROSTER_ENTRY"])
        assert list(as_json.json) == KEYS
        assert (as_json.json["status"], as_json.json["valid"]) == (
            "dry_run" if dry else "refused",
            False,
        )
    assert "Nothing was sent: 1 error." in shell(*asked, "--to", "GreenValley").err
    assert "Nothing would be sent: 1 error." in shell(*asked, "--to", "X", "--dry-run").out
    assert files(shell.folder) == []


def test_nobody_has_a_role(shell: Shell, asked: list[str]) -> None:
    """All get the same prompt, with the documented warning; nothing is guessed from the name."""
    alone = asked[: asked.index("--to")]
    done = shell(*alone, "--to", "ClaudeOne", "--to", "Bob")
    assert done.code == 0
    assert "kickoff  warning NO_ROSTER  No roster was given, so all agents " in done.err
    assert "Sent message 1 to ClaudeOne and Bob in " in done.out


def test_unified_beside_a_roster(shell: Shell, asked: list[str]) -> None:
    """A roster is whole (rule 3); the way to mend it is one that works."""
    alone = asked[: asked.index("--to")]
    entry = '[[roster.entries]]\nagentName = "BlueLake"\nrole = "test_designer"\n'
    (shell.folder / "brenner.toml").write_text(entry, "utf-8")
    unified = [*alone, "--unified", "--to", "BlueLake", "--to", "Bob"]
    done = shell(*unified)
    assert (done.code, "In unified mode, any of the three roles is fine" in done.err) == (1, True)
    assert shell("init").code == 0
    again = shell(*unified, "--role", "adversarial_critic")
    assert (again.code, again.err) == (0, "")
    assert "Sent message 1 to BlueLake and Bob in " in again.out
    (shell.folder / "brenner.toml").unlink()
    other = shell(*alone[:-1], "RS-20251230-another-session", *unified[len(alone) :])
    assert other.code == 0
    assert "UNIFIED_WITHOUT_ROLES" in other.err


def test_another_context_is_told(shell: Shell, asked: list[str]) -> None:
    """Not ignored in silence: the warning stands beside what was left to send."""
    assert shell(*asked).code == 0
    done = shell(*asked, "--context", "Something else is known.")
    assert done.code == 0
    assert "kickoff  warning CONTEXT_DIFFERS  Message 1, which started the session," in done.err
    assert f"Nothing was sent: all kickoffs of {THREAD} were sent before." in done.out


def test_another_question(shell: Shell, asked: list[str]) -> None:
    """The question that is there is shown, and how to go on."""
    assert shell(*asked).code == 0
    done = shell(*asked, "--question", "Do cells forget?")
    assert done.code == 1
    assert (
        f"already has another question, in message 1: “{QUESTION}”  → For a new session,"
        in done.err
    )
    assert shell.mail("thread", THREAD, "--json").json["position"] == 3


def test_texts_from_files_and_the_standard_input(shell: Shell, tmp_path: Path) -> None:
    """`@FILE`, `-` and plain text; a bead names the thread; everything stands in its section."""
    (tmp_path / "q.md").write_text("Why?\n", "utf-8")
    (tmp_path / "h.md").write_bytes(b"\xef\xbb\xbf- One\r\n- Two\r\n")
    done = shell(
        *("session", "start", "--json", "--bead", "brenner_bot-5so.1", "--title", "A title"),
        *("--question", "@q.md", "--context", "-", "--hypotheses", "@h.md"),
        *("--constraints", "Soon.", "--outputs", "A table.", "--excerpt-file", "q.md"),
        *("--to", "ClaudeOne"),
        stdin=b"# Background\n\nMuch.\n",
    )
    assert done.code == 0
    assert done.codes == ["NO_ROSTER", "EXCERPT_WITHOUT_CITATION"]
    (kickoff,) = done.json["kickoffs"]
    body = kickoff["body"]
    assert kickoff["role"] is None
    assert body.startswith("# A title\n")
    assert "\n## Research Question\n\nWhy?\n\n## Context\n\n\\# Background\n\nMuch.\n\n" in body
    assert "\n## Excerpt\n\n> Why?\n\n## Initial Hypotheses\n\n- One\n- Two\n\n" in body
    assert "\n## Constraints\n\nSoon.\n\n## Requested Outputs\n\nA table.\n\n" in body
    assert done.json["thread_id"] == "brenner_bot-5so.1"


def test_alias(shell: Shell, asked: list[str]) -> None:
    """`orchestrate start` is the conventions document's name for it."""
    assert shell("orchestrate", *asked[1:], "--json").json["status"] == "sent"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([], "A kickoff needs --question and --context."),
        (["--question", "x"], "A kickoff needs --context."),
        (["--question", " ", "--context", "x"], "--question needs a text"),
        (["--question", "-", "--context", "-"], "The standard input can be read only once."),
        (
            ["--question", "x", "--context", "x", "--thread-id", "a", "--bead", "a"],
            "--thread-id and --bead cannot be used together.",
        ),
        (
            ["--question", "x", "--context", "x", "--excerpt", "4", "--excerpt-file", "e"],
            "--excerpt-file and --excerpt cannot be used together.",
        ),
        (["--question", "x", "--context", "x", "--role", "test_designer"], "before the first --to"),
    ],
)
def test_wrong_usage(shell: Shell, said: list[str], words: str) -> None:
    """Exit code 2, and what is missing."""
    done = shell("session", "start", *said)
    assert done.code == 2
    assert words in done.err
    assert files(shell.folder) == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--context", "@none.md"),
        ("--excerpt-file", "none.md"),
        ("--question", "@"),
        ("--outputs", "@bad"),
    ],
)
def test_file_that_cannot_be_read(
    shell: Shell, asked: list[str], tmp_path: Path, option: str, value: str
) -> None:
    """Exit code 2; the option is named; nothing is sent."""
    (tmp_path / "bad").write_bytes(b"\xff")
    done = shell(*asked, option, value)
    assert done.code == 2
    assert done.err.startswith(option)
    as_json = shell(*asked, option, value, "--json")
    assert (as_json.code, as_json.json["status"], as_json.json["valid"]) == (2, "refused", False)
    assert as_json.codes[0] in ("UNREADABLE_INPUT", "NOT_UTF8")
    assert not store_of(shell.folder).exists()


def test_source_text_that_cannot_be_read(shell: Shell, asked: list[str]) -> None:
    """The settings are at fault: exit code 2."""
    (shell.folder / "brenner.toml").write_text('source_text = "none.md"\n', "utf-8")
    asked = [each for each in asked if each not in ("--excerpt-file", "excerpt.md")]
    done = shell(*asked, "--excerpt", "42")
    assert (done.code, "INVALID_SETTINGS" in done.err) == (2, True)
    assert not store_of(shell.folder).exists()


def test_nothing_in_a_text_is_obeyed(shell: Shell, asked: list[str]) -> None:
    """What a terminal would obey is spelled out, in a dry run, in an error, as JSON."""
    hostile = HOSTILE.replace("\x85", "")
    for more in (["--dry-run"], ["--dry-run", "--json"], []):
        done = shell(*asked, "--context", hostile, "--title", hostile, *more)
        assert done.code == 0
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(done.out + done.err)


def test_in_a_terminal(shell: Shell, asked: list[str]) -> None:
    """It fits into 80 columns, in colour and without."""
    for variables in ({}, {"NO_COLOR": "1"}):
        shown = in_terminal(
            80, "--project", str(shell.folder), *asked, "--dry-run", "--no-pager", **variables
        )
        plain = shown.replace("\r", "")
        assert ("\x1b[" in plain) is not bool(variables)
        if variables:
            assert max(map(len, plain.split("\n"))) <= 80


def incomplete() -> Started:
    """A kickoff that has reached one of two, as a full disk leaves it."""
    first, second, _ = compose_kickoffs(PLAN)
    error = UnavailableError(STORE_FULL.at(path="mail.sqlite3"))
    told = KICKOFF_INCOMPLETE.at(
        reached="BlueLake",
        missed="PurpleMountain",
        reason=error.diagnostic.message,
        hint="Make room.",
    )
    kickoffs = (
        KickoffDelivery(first, None, KickoffState.SENT_BEFORE, "hypothesis_generator"),
        KickoffDelivery(second, None, KickoffState.NOT_SENT, "test_designer"),
    )
    return Started(THREAD, StartStatus.INCOMPLETE, kickoffs, (), ROSTER, (told,), error)


def test_incomplete_kickoff_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Who got it, who did not, what to do; the exit code of what failed."""
    assert report(incomplete(), as_json=False, pager=False) == 3
    out, err = capsys.readouterr()
    assert "The kickoff to PurpleMountain (test_designer) was not sent." in out
    assert out.endswith("  To send the missing kickoffs, run the same command again.\n")
    assert "The kickoff was sent to BlueLake, but not to PurpleMountain" in err
    assert report(incomplete(), as_json=True, pager=False) == 3
    assert '"status": "incomplete"' in capsys.readouterr().out


def test_several_at_once(shell: Shell, asked: list[str]) -> None:
    """However many start the same session in the same moment, each recipient is asked once."""
    command = [sys.executable, "-m", "brenner", "--project", str(shell.folder), *asked]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
    ]
    said = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0] * 4, said
    messages = shell.mail("thread", THREAD, "--json").json["messages"]
    assert sorted(message["to"] for message in messages) == [["BlueLake"], ["GreenDog"], ["RedSky"]]


def test_sections_of_what_was_sent(shell: Shell, asked: list[str]) -> None:
    """What is stored has the document's sections, and passes the check of a thread."""
    assert shell(*asked, "--hypotheses", "- One", "--constraints", "None").code == 0
    first, *_ = compose_kickoffs(PLAN._replace(hypotheses="- One", constraints="None"))
    assert headings(first) == SECTIONS
    checked = shell("check", "--thread", THREAD, "--json")
    assert checked.code == 0
    assert [each["violations"] for each in checked.json["results"]] == [[]] * 3
