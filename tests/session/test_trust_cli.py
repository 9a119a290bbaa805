"""Who is sure to have sent what, wherever a message or what came of it is shown."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from brenner.cli.session.watch import TextView
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Envelope, Importance, Message, Trust
from brenner.services.watch import WatchOptions
from brenner.session.routing import Route, RouteStep
from mail_shell import THREAD, Shell, store_of
from status_sessions import add

KICKOFF = "# Fate\n\n## Research Question\nWhat decides?\n"
ASKED = "## Question\nWhich?\n\n## Urgency\nSoon\n"
OPERATOR, LAKE, CREEK = "Operator", "BlueLake", "RedCreek"
STRANGE = Envelope(Importance.URGENT, (CREEK,), Trust.UNVERIFIED)
KNOWN = Envelope(Importance.LOW, trust=Trust.VERIFIED)
MESSAGES = (
    (Message(THREAD, OPERATOR, (LAKE, CREEK), "KICKOFF: Fate", KICKOFF), Envelope()),
    (Message(THREAD, LAKE, (OPERATOR, CREEK), "DELTA[opus]: x", add("Gradient")), STRANGE),
    (Message(THREAD, CREEK, (OPERATOR,), "DELTA[opus]: y", add("Noise")), KNOWN),
    (Message(THREAD, LAKE, (OPERATOR, CREEK), "QUESTION: Which?", ASKED), STRANGE),
)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project in which one of two contributions is by nobody knows whom, since two days."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    at = datetime.now(UTC) - timedelta(days=2)
    folder = tmp_path / "project"
    store_of(folder).parent.mkdir(parents=True)
    with SqliteMailbox.create(store_of(folder), clock=lambda: at) as mailbox:
        for name in (OPERATOR, LAKE, CREEK):
            mailbox.register(Profile(name))
        for message, envelope in MESSAGES:
            mailbox.send(message, envelope=envelope)
    return Shell(folder, monkeypatch)


def test_in_a_thread(shell: Shell) -> None:
    """Each message says it on its first line; what was written here says nothing."""
    heads = [line for line in shell.mail("thread", THREAD).out.splitlines() if " → " in line]
    ends = [line.split("Z")[-1].strip() for line in heads]
    assert ends == ["", "urgent  unverified", "low  verified", "urgent  unverified"]
    raw = shell.mail("thread", THREAD, "--raw").out
    assert raw.count("  unverified\n") == 2


def test_in_a_message(shell: Shell) -> None:
    """After the name; copies stand apart."""
    shown = [line.split() for line in shell.mail("show", "2").out.splitlines()]
    for line in ("From BlueLake unverified", "To Operator", "Cc RedCreek", "Importance urgent"):
        assert line.split() in shown
    assert "From  BlueLake" not in shell.mail("show", "1").out
    plain = shell.mail("show", "1").out
    assert not any(word in plain for word in ("verified", "Importance", "Cc"))
    assert "  verified\n" in shell.mail("show", "3").out


def test_in_tables(shell: Shell) -> None:
    """A mark, which the legend explains; what is urgent says so before its subject."""
    inbox = shell.mail("inbox").out
    rows = {line.split()[1]: line for line in inbox.splitlines() if "DELTA" in line}
    assert [line.split()[0] for line in (rows["2"], rows["3"])] == ["•?", "•"]
    assert "urgent DELTA[opus]: x" in rows["2"]
    assert "low DELTA[opus]: y" in rows["3"]
    assert "\n? unverified: " in inbox
    found = shell.mail("search", "from:BlueLake").out
    assert all(line.startswith("?") for line in found.splitlines() if "DELTA" in line)
    assert "\n? unverified: " in found
    assert "?" not in shell.mail("search", "from:RedCreek").out
    assert "BlueLake unverified" in shell.mail("pending").out


def test_as_json(shell: Shell) -> None:
    """The stable words; who gets a copy is among the recipients."""
    messages = shell.mail("thread", THREAD, "--json").json["messages"]
    told = [[each[key] for key in ("trust", "local", "importance", "cc")] for each in messages]
    assert told == [
        ["local", True, "normal", []],
        ["unverified", False, "urgent", [CREEK]],
        ["verified", False, "low", []],
        ["unverified", False, "urgent", [CREEK]],
    ]
    assert messages[1]["to"] == [OPERATOR, CREEK]


def test_a_copy_is_trusted_no_better(shell: Shell) -> None:
    """Who sends a message again for its author does not know more of her."""
    shell.mail("pending", "--resend")
    messages = shell.mail("thread", THREAD, "--json").json["messages"]
    again = [each for each in messages if each["reply_to"] == 4]
    assert [each["trust"] for each in again] == ["unverified"]
    assert [each["importance"] for each in again] == ["urgent"]


def test_where_a_session_stands(shell: Shell) -> None:
    """Which of its messages anybody may have sent."""
    status = shell("session", "status", THREAD).out
    assert "Unverified    messages 2 (DELTA, BlueLake) and 4 (QUESTION, BlueLake)\n" in status
    assert shell("session", "status", THREAD, "--json").json["unverified"] == [2, 4]


def test_what_is_new_stands_out(shell: Shell) -> None:
    """What came in before the latest version is counted; what makes an artifact comes first."""
    assert shell("compile", THREAD).code == 0
    assert "Unverified  2 older\n" in shell("session", "status", THREAD).out
    note = Message(THREAD, CREEK, (OPERATOR,), "Lunch?", "At noon?")
    delta = Message(THREAD, LAKE, (OPERATOR,), "DELTA[opus]: z", add("Drift"))
    kickoff = Message(THREAD, OPERATOR, (LAKE,), "KICKOFF: Fate", KICKOFF)
    with SqliteMailbox.open(store_of(shell.folder)) as mailbox:
        for message in (note, delta, kickoff):
            mailbox.send(message, envelope=STRANGE._replace(cc=()))
    new = "messages 8 (KICKOFF, Operator), 7 (DELTA, BlueLake) and 6 (mail, RedCreek); 2 older\n"
    assert f"Unverified  {new}" in shell("session", "status", THREAD).out
    document = shell("session", "status", THREAD, "--json").json
    assert document["unverified"] == [2, 4, 6, 7, 8]


def test_a_version_that_anybody_may_have_published(shell: Shell) -> None:
    """It is new until the next one; what it read is not."""
    assert shell("compile", THREAD).code == 0
    shell.mail("export", "mail.jsonl")
    folder = shell.folder.with_name("imported")
    folder.mkdir()
    imported = Shell(folder, shell.patch)
    imported.mail("import", "mail.jsonl")
    status = imported("session", "status", THREAD).out
    assert "Unverified  message 5 (COMPILED, Operator); 4 older\n" in status


def test_what_a_version_is_made_of(shell: Shell) -> None:
    """Whoever publishes is told, and who reads what became of a block, or who set a field."""
    tried = shell("compile", THREAD, "--dry-run", "--json").json
    assert tried["unverified"] == [2]
    done = shell("compile", THREAD)
    assert "  Unverified    message 2: its sender is not verified\n" in done.out
    body = shell.mail("show", "5", "--raw").out
    assert "\nUnverified (any client may have sent it): message 2 (BlueLake).\n" in body
    assert shell("artifact", "verify", THREAD).code == 0
    ledger = shell("artifact", "ledger", THREAD).out
    assert [line.endswith("unverified") for line in ledger.splitlines() if " ADD " in line] == [
        True,
        False,
    ]
    entries = shell("artifact", "ledger", THREAD, "--json").json["entries"]
    assert [each["trust"] for each in entries] == ["unverified", "verified"]
    blame = shell("artifact", "blame", THREAD).out
    assert {line.split()[1] for line in blame.splitlines() if "unverified" in line} == {LAKE}
    fields = shell("artifact", "blame", THREAD, "--json", "--history").json["fields"]
    whose = {(each["agent"], each["trust"], each["history"][0]["trust"]) for each in fields}
    assert whose >= {(LAKE, "unverified", "unverified"), (CREEK, "verified", "verified")}
    one = shell("artifact", "blame", THREAD, "H1.claim").out
    assert "  unverified\n" in one


@pytest.fixture
def other(shell: Shell) -> Shell:
    """A project without mail."""
    folder = shell.folder.with_name("other")
    folder.mkdir()
    return Shell(folder, shell.patch)


def test_an_artifact_does_not_depend_on_it(shell: Shell, other: Shell) -> None:
    """The same mail makes the same bytes, whoever vouches for it; the archive beside it, too."""
    keep = ("compile", THREAD, "--persist", "--archive")
    assert shell(*keep).code == 0
    shell.mail("export", "mail.jsonl")
    other.mail("import", "mail.jsonl")
    assert other(*keep).code == 0
    here, there = (
        {
            path.relative_to(each.folder): path.read_bytes()
            for path in (each.folder / "artifacts").rglob("*.*")
        }
        for each in (shell, other)
    )
    assert len(here) == 2
    assert here == there


def test_an_import_is_unverified(shell: Shell, other: Shell) -> None:
    """Whatever the archive says; what else stood on it is as it was."""
    shell.mail("export", "mail.jsonl")
    other.mail("import", "mail.jsonl")
    here, there = (one.mail("thread", THREAD, "--json").json["messages"] for one in (shell, other))
    assert {each["trust"] for each in there} == {"unverified"}
    for key in ("importance", "cc", "to", "hash"):
        assert [each[key] for each in there] == [each[key] for each in here]


def test_while_it_is_watched(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """On the line of the message, before its subject."""
    with SqliteMailbox.open(store_of(shell.folder)) as mailbox:
        messages = mailbox.thread(THREAD).messages
    for stored in messages[:3]:
        route = Route(stored.type, RouteStep.NOTHING, "nothing follows")
        TextView(WatchOptions(THREAD)).message(stored, route, None)
    first, second, third = capsys.readouterr().out.splitlines()[::2]
    assert first.endswith("  1  Operator  KICKOFF: Fate")
    assert second.endswith("  2  BlueLake  unverified  urgent  DELTA[opus]: x")
    assert third.endswith("  3  RedCreek  verified  low  DELTA[opus]: y")
