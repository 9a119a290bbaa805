"""Compilers and authors at work on one thread at once, and what must be true of it afterwards."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from brenner.artifact.state import BlockOutcome
from brenner.protocol.messages import StoredMessage
from brenner.services.version_store import load_ledger
from brenner.services.versions import verify
from brenner.services.workspace import Workspace
from brenner.session.model import VersionRecord
from brenner.session.rebuild import CompiledCandidate
from brenner.session.versions import candidate_of
from mail.processes import ended, release, start
from session.compile_work import THREAD, compile_until, contribute

_PATIENCE = 600  # seconds until processes that hang are a fault; a server may take its time


class Race(NamedTuple):
    """The ids of all contributions, and every version that a compiler says it has published."""

    sent: list[int]
    published: dict[int, int]


def race(folder: Path, compilers: Sequence[str], authors: Sequence[str], each: int) -> Race:
    """Let all of them begin at once; compilers end when nothing is left to compile."""
    total = len(authors) * each
    writing = [start(contribute, folder, name, each) for name in authors]
    compiling = [start(compile_until, folder, name, total) for name in compilers]
    release([*writing, *compiling])
    for child in (*writing, *compiling):
        child.wait(_PATIENCE)
    sent = [int(line) for child in writing for line in ended(child)]
    published = [json.loads(line) for child in compiling for line in ended(child)]
    assert len(sent) == total
    numbers = sorted(number for number, _ in published)
    assert numbers == list(range(1, len(published) + 1))  # gapless, and none twice
    return Race(sent, dict(published))


def record_of(message: StoredMessage) -> VersionRecord:
    """The record of a COMPILED message of ours."""
    found = candidate_of(message)
    assert isinstance(found, CompiledCandidate)
    assert found.record
    return found.record


def check_versions(workspace: Workspace, done: Race) -> None:
    """The versions are those that were said to be, and each contribution is in one of them."""
    verification = verify(workspace, THREAD)
    assert verification.ok
    numbers = sorted(done.published)
    assert [each.number for each in verification.versions] == numbers
    records = [record_of(workspace.mailbox.message(done.published[number])) for number in numbers]
    assert [record.version for record in records] == numbers
    read = Counter(entry.id for record in records for entry in record.messages)
    assert read == Counter(done.sent)  # each once, none left out
    entries = [each for number in numbers for each in load_ledger(workspace, THREAD, number)]
    total = len(done.sent)
    outcomes = Counter(entry.state for entry in entries)
    assert outcomes == {BlockOutcome.APPLIED: total, BlockOutcome.REFUSED: total}
