"""The contract, secrets of names: one for each, a digest of it, and never outside of the store."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Barrier

import pytest

from brenner.config import Project
from brenner.mail.archive import jsonl, mbox
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from mail.backends import (
    AGENT_MAILS,
    POSTGRESQL,
    SECOND_VIEW,
    SQLITE,
    Place,
    postgresql_address,
    sqlite_file,
)
from mail.claiming_work import claim_in_file, claim_in_schema
from mail.other_store import restore
from mail.processes import Child, answered, release, start
from mail.sample_mail import ANN, BEA, error_code, in_backends_with, introduce, make_message, post
from mail_shell import Shell
from stores import store_path

MANY = 6
FIRST, SECOND, *_ = DIGESTS = [sha256(bytes([n])).hexdigest() for n in range(MANY)]


@in_backends_with(Capability.SECRETS)
def test_a_name_is_claimed_once(mailbox: Mailbox) -> None:
    """Who comes second does not get it, and changes nothing; each name has its own."""
    assert mailbox.digest(ANN) is None
    assert mailbox.claim(ANN, FIRST)
    assert not mailbox.claim(ANN, SECOND)
    assert not mailbox.claim(ANN, FIRST)
    assert mailbox.digest(ANN) == FIRST
    assert mailbox.digest(BEA) is None
    assert mailbox.claim(BEA, FIRST)


@in_backends_with(Capability.SECRETS)
def test_a_secret_is_replaced_where_that_is_said(mailbox: Mailbox) -> None:
    """Also where there was none."""
    assert mailbox.claim(ANN, FIRST, replace=True)
    assert mailbox.claim(ANN, SECOND, replace=True)
    assert mailbox.digest(ANN) == SECOND
    assert not mailbox.claim(ANN, FIRST)


@in_backends_with(Capability.SECRETS)
def test_whose_secret_it_is(mailbox: Mailbox) -> None:
    """The one who has it now; of two with the same one, which nobody has, the first by name."""
    assert mailbox.named_by(FIRST) is None
    mailbox.claim(BEA, FIRST)
    assert (mailbox.named_by(FIRST), mailbox.named_by(FIRST.upper())) == (BEA, None)
    mailbox.claim(ANN, FIRST)
    assert mailbox.named_by(FIRST) == min(ANN, BEA)
    for name in (ANN, BEA):
        mailbox.claim(name, SECOND, replace=True)
    assert mailbox.named_by(FIRST) is None


def test_nobody_claims_a_name_that_is_not_known(mailbox: Mailbox) -> None:
    assert error_code(mailbox.digest, "NobodyHere") == "NO_SUCH_AGENT"
    assert error_code(mailbox.claim, "NobodyHere", FIRST) == "NO_SUCH_AGENT"
    assert error_code(mailbox.claim, "NobodyHere", FIRST, replace=True) == "NO_SUCH_AGENT"


@in_backends_with(Capability.SECRETS)
def test_registering_again_leaves_the_secret(mailbox: Mailbox) -> None:
    mailbox.claim(ANN, FIRST)
    mailbox.register(Profile(ANN, "codex", "gpt", "Something else"), update=True)
    post(mailbox, make_message())
    assert mailbox.digest(ANN) == FIRST


@in_backends_with(Capability.SECRETS, SECOND_VIEW)
def test_it_stays(place: Place, mailbox: Mailbox) -> None:
    mailbox.claim(ANN, FIRST)
    other = place.again()
    assert other.digest(ANN) == FIRST
    assert other.claim(ANN, SECOND, replace=True)
    assert mailbox.digest(ANN) == SECOND


@pytest.mark.parametrize("place", AGENT_MAILS, indirect=True, ids=lambda home: home.name)
def test_a_home_without_secrets(mailbox: Mailbox) -> None:
    """Nobody has one there, and nobody is told to have got one."""
    assert mailbox.digest(ANN) is None
    assert error_code(mailbox.claim, ANN, FIRST) == "HOME_CANNOT"
    assert error_code(mailbox.protect, ANN) == "HOME_CANNOT"
    assert not mailbox.is_protected(ANN)
    assert mailbox.digest(ANN) is None
    assert mailbox.named_by(FIRST) is None


@in_backends_with(Capability.SECRETS)
def test_of_many_threads_one_gets_it(mailbox: Mailbox) -> None:
    start_together = Barrier(MANY)

    def claimed(digest: str) -> bool:
        start_together.wait()
        return mailbox.claim(ANN, digest)

    with ThreadPoolExecutor(MANY) as pool:
        answers = list(pool.map(claimed, DIGESTS))
    assert answers.count(True) == 1
    assert mailbox.digest(ANN) == DIGESTS[answers.index(True)]


@pytest.mark.parametrize("place", [SQLITE, POSTGRESQL], indirect=True, ids=lambda home: home.name)
def test_of_many_processes_one_gets_it(place: Place, mailbox: Mailbox) -> None:
    def claims(digest: str) -> Child:
        if place.home is SQLITE:
            return start(claim_in_file, ANN, digest, sqlite_file(place.folder))
        return start(claim_in_schema, ANN, digest, *postgresql_address(place.folder))

    children = [claims(digest) for digest in DIGESTS[:4]]
    release(children)
    said = [answer for child in children for answer in answered(child)]
    assert [digest for has_it, digest in said if has_it] == [mailbox.digest(ANN)]


@in_backends_with(Capability.SECRETS)
def test_a_secret_does_not_leave_with_the_mail(mailbox: Mailbox) -> None:
    """Neither in an archive nor in a copy: there the name is unclaimed."""
    post(mailbox, make_message())
    mailbox.claim(ANN, FIRST)
    written = "".join(jsonl.encode(mailbox.agents(), mailbox.records())).encode()
    written += b"".join(mbox.encode(mailbox.records()))
    assert ANN.encode() in written
    assert FIRST.encode() not in written
    copy = MemoryMailbox()
    restore(copy, mailbox)
    assert copy.digest(ANN) is None


@in_backends_with(Capability.SECRETS)
def test_a_secret_stays_where_mail_comes_in(mailbox: Mailbox) -> None:
    """Mail of the same names from elsewhere takes nobody's secret away."""
    mailbox.claim(ANN, FIRST)
    other = MemoryMailbox()
    introduce(other)
    other.claim(ANN, SECOND)
    post(other, make_message())
    restore(mailbox, other)
    assert mailbox.digest(ANN) == FIRST
    assert mailbox.digest(BEA) is None


def test_no_command_shows_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(tmp_path / "project", monkeypatch)
    shell.folder.mkdir()
    shell.mail("register", ANN)
    number = shell.send("INFO: Hello", "x", "--as", ANN)
    with SqliteMailbox.open(store_path(Project(shell.folder))) as mailbox:
        mailbox.claim(ANN, FIRST)
    archive, copy = tmp_path / "mail.jsonl", tmp_path / "copy.sqlite3"
    commands = (
        ("mail", "agents", "--json"),
        ("mail", "show", str(number), "--json"),
        ("mail", "export", str(archive)),
        ("mail", "copy", "--to", f"sqlite:///{copy}", "--json"),
        ("doctor", "--json"),
    )
    for command in commands:
        done = shell(*command)
        assert FIRST not in done.out + done.err, command
    assert ANN.encode() in copy.read_bytes()
    for file in (archive, *tmp_path.glob("copy.sqlite3*")):
        assert FIRST.encode() not in file.read_bytes()


@in_backends_with(Capability.SECRETS, SECOND_VIEW)
def test_a_protected_name(place: Place, mailbox: Mailbox) -> None:
    """The mark is seen by all that have the store open, and a new secret does not remove it."""
    mailbox.claim(ANN, FIRST)
    mailbox.claim(BEA, SECOND)
    assert not mailbox.is_protected(ANN)
    for _ in range(2):
        mailbox.protect(ANN)
    other = place.again()
    assert (other.is_protected(ANN), other.is_protected(BEA)) == (True, False)
    other.claim(ANN, SECOND, replace=True)
    other.register(Profile(ANN, "codex", "gpt", "Something else"), update=True)
    assert mailbox.is_protected(ANN)


@in_backends_with(Capability.SECRETS)
def test_only_a_name_with_a_secret_is_protected(mailbox: Mailbox) -> None:
    """Without one, the name would be closed to all; in a copy it has none and is free again."""
    mailbox.protect(ANN)
    mailbox.claim(ANN, FIRST)
    assert not mailbox.is_protected(ANN)
    mailbox.protect(ANN)
    copy = MemoryMailbox()
    restore(copy, mailbox)
    assert not copy.is_protected(ANN)


def test_an_unknown_name_is_not_protected(mailbox: Mailbox) -> None:
    assert error_code(mailbox.protect, "NobodyHere") == "NO_SUCH_AGENT"
    assert error_code(mailbox.is_protected, "NobodyHere") == "NO_SUCH_AGENT"
