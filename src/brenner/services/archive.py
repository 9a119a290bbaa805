"""Export a mailbox to an archive, import one, and archive a thread beside its artifact.

An import takes all or nothing, in stores that can do so.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import IO, TYPE_CHECKING, Literal

from brenner.diagnostics.codes.stores import COPY_BROKE_OFF, DECISIONS_IN_ARCHIVE
from brenner.diagnostics.model import Diagnostic, UnavailableError
from brenner.limits import MOST_RECORD_BYTES
from brenner.mail.archive.jsonl import FATAL_CODES, decode, encode
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Agent, MessageRecord, RestoreResult
from brenner.mail.rules import MAX_CLOCK_SETBACK
from brenner.protocol.message_types import COMPILED, KICKOFF
from brenner.session.decisions import cancellation_reason, is_decision, voids_in
from brenner.session.rebuild import CompiledCandidate
from brenner.session.versions import candidate_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from brenner.persist.artifact_file import VersionText
    from brenner.protocol.messages import StoredMessage

Form = Literal["jsonl", "mbox"]
_CHUNK_BYTES = 64 * 1024
_MOST_NAMED = 20
_FINISH = (
    "When the server answers again, repeat the command with `--accept-decisions`, because part of "
    "the archive is already there. It continues where it stopped, and sends nothing twice."
)


# Export


class ArchiveExport:
    """The whole mailbox as chunks of bytes, to iterate once; `messages` counts those written."""

    def __init__(self, mailbox: Mailbox, form: Form) -> None:
        self.messages = 0
        self._form = form
        self._records = mailbox.records()
        self._agents = mailbox.agents()  # read after the records: so all their senders are included

    def __iter__(self) -> Iterator[bytes]:
        if self._form == "mbox":
            from brenner.mail.archive import mbox  # the standard library's mail is slow to load

            return mbox.encode(self._counted())
        return (line.encode() for line in encode(self._agents, self._counted()))

    def _counted(self) -> Iterator[MessageRecord]:
        for record in self._records:
            self.messages += 1
            yield record


# Import


def archive_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file. A line over the limit is truncated, but stays over the limit."""
    while line := file.readline(MOST_RECORD_BYTES + 1):
        if len(line) <= MOST_RECORD_BYTES:
            yield line
            continue
        yield line[:-1] + b"\n"
        while line and not line.endswith(b"\n"):
            line = file.readline(_CHUNK_BYTES)


def is_archive_start(line: bytes) -> bool:
    """Return whether a first line can begin a readable archive; if not, the rest is not needed."""
    found = next(decode([line], ""))
    return not (isinstance(found, Diagnostic) and found.code in FATAL_CODES)


def import_archive(  # noqa: PLR0913
    mailbox: Mailbox,
    lines: Iterable[bytes],
    name: str,
    *,
    where: str = "the store",
    operator: str | None = None,
    accept_decisions: bool = False,
    now: datetime | None = None,
) -> RestoreResult | tuple[Diagnostic, ...]:
    """Import an archive of JSON lines, or return everything that is wrong with it.

    `where` is the store's name for error messages. `operator` is whose decisions count. `now`
    limits the times of messages; None allows any time.
    """
    entries = decode(lines, name, now and now + MAX_CLOCK_SETBACK)
    gate = _DecisionFilter(mailbox, operator, accept_decisions=accept_decisions)
    faults: list[Diagnostic] = []
    agents: list[Agent] = []
    rest: Iterator[Agent | MessageRecord | Diagnostic] = iter(())
    for entry in entries:
        if isinstance(entry, MessageRecord):
            rest = chain([entry], entries)
            break
        if isinstance(entry, Agent):
            agents.append(entry)
        else:
            faults.append(entry)
    try:
        records = _valid_records(rest, faults, gate)
        if Capability.EXACT_RESTORE in mailbox.lacks:
            restored = _send_as_new(mailbox, agents, list(records), where)
        else:
            restored = mailbox.restore(agents, records)
        return restored._replace(accepted=gate.accepted)
    except _ImportStopped as stop:
        if stop.__cause__ is not None:
            raise stop.__cause__ from None
        return tuple(faults)


def _send_as_new(
    mailbox: Mailbox, agents: list[Agent], records: list[MessageRecord], where: str
) -> RestoreResult:
    """Send the missing messages to a store that assigns its own ids and times."""
    from brenner.services.copy_mail import fingerprints, match_messages, send_as_new

    known = match_messages(tuple(fingerprints(records)), tuple(fingerprints(mailbox.records())))
    new = [record for record in records if record.stored.id not in known]
    try:
        return send_as_new(mailbox, where, agents, new, len(known))[0]
    except UnavailableError as failure:
        if failure.diagnostic.code is COPY_BROKE_OFF:
            failure.diagnostic = failure.diagnostic._replace(fix=_FINISH)
        raise


class _DecisionFilter:
    """Decides which messages of an archive may lead or decide in their thread.

    In a thread that is not in the store yet, all of them. In an existing thread, only if the
    operator accepts them: otherwise a line in a file could void a version.
    """

    def __init__(self, mailbox: Mailbox, operator: str | None, *, accept_decisions: bool) -> None:
        self._mailbox = mailbox
        self._operator = operator
        self._accepts = accept_decisions
        self._is_here: dict[str, bool] = {}
        self._known: dict[str, Counter[tuple[int, str]]] = {}
        self._refused: dict[str, list[str]] = {}
        self.accepted = 0

    def with_decision(self, record: MessageRecord) -> MessageRecord:
        """Return the record to store, with whether its decision counts."""
        stored = record.stored
        thread_id, candidate = stored.message.thread_id, _candidate_in(stored)
        if thread_id not in self._is_here:  # before its first message is imported
            self._is_here[thread_id] = self._mailbox.thread(thread_id, limit=1).position > 0
        what = _leading_action(stored, candidate)
        is_asked = bool(what) and self._is_here[thread_id] and self._is_new(stored)
        if is_asked:
            self.accepted += 1
            named = f"message {stored.id} ({stored.message.sender} {what})"
            self._refused.setdefault(thread_id, []).append(named)
        decides = self._decides(stored, is_accepted=is_asked and self._accepts)
        return record._replace(stored=stored._replace(decides=decides))

    def refusals(self) -> Iterator[Diagnostic]:
        """Yield an error per thread for decisions that were not accepted."""
        if self._accepts:
            return
        for thread_id, found in self._refused.items():
            left = len(found) - _MOST_NAMED
            named = ", ".join(found[:_MOST_NAMED]) + (f" and {left} more" if left > 0 else "")
            yield DECISIONS_IN_ARCHIVE.at(thread_id=thread_id, named=named)

    def _is_new(self, stored: StoredMessage) -> bool:
        """Return whether the message is not stored yet; a second copy of a stored one is new."""
        thread_id = stored.message.thread_id
        if thread_id not in self._known:
            here = self._mailbox.thread_arrivals(thread_id, 0)
            self._known[thread_id] = Counter(map(self._key, here))
        self._known[thread_id][self._key(stored)] -= 1
        return self._known[thread_id][self._key(stored)] < 0

    def _key(self, stored: StoredMessage) -> tuple[int, str]:
        """Return how the store identifies a message: by its content alone if ids are new."""
        is_anew = Capability.EXACT_RESTORE in self._mailbox.lacks
        return 0 if is_anew else stored.origin_id, stored.content_hash

    def _decides(self, stored: StoredMessage, *, is_accepted: bool) -> bool | None:
        """Return whether a decision counts, as the archive says.

        An older archive says nothing. Then a decision counts if the operator accepts it, or if its
        sender has the name of this project's operator. Others count by name: the first version may
        name their sender as the operator, and only a replay of the whole thread shows which version
        that is.
        """
        if not is_decision(stored.message):
            return None
        counts = is_accepted or stored.message.sender == self._operator
        return True if stored.decides is None and counts else stored.decides


def _candidate_in(stored: StoredMessage) -> CompiledCandidate | None:
    found = candidate_of(stored) if stored.type == COMPILED.name else None
    return found if isinstance(found, CompiledCandidate) else None


def _publish_action(candidate: CompiledCandidate | None) -> str:
    record = candidate.record if candidate else None
    if record and record.adopted:
        return f"adopts an artifact as v{record.version}"
    if record and record.status == "closed":
        return f"closes the session with v{record.version}"
    return f"publishes v{candidate.number}" if candidate else "publishes a version"


def _leading_action(stored: StoredMessage, candidate: CompiledCandidate | None) -> str | None:
    """Return what a message does to its session; None if it only contributes."""
    if stored.type == KICKOFF.name:
        return "starts a round"
    if stored.type == COMPILED.name:
        return _publish_action(candidate)
    if not is_decision(stored.message):
        return None
    voided = sorted({each.version for each in voids_in(stored.message)})
    if voided:
        return f"voids {', '.join(f'v{number}' for number in voided[:_MOST_NAMED])}"
    if cancellation_reason(stored.message) is not None:
        return "cancels the session"
    return "dismisses rejected blocks"


class _ImportStopped(Exception):
    """The archive has faults, or cannot be read on; the store rolls back."""


def _valid_records(
    entries: Iterable[Agent | MessageRecord | Diagnostic],
    faults: list[Diagnostic],
    gate: _DecisionFilter,
) -> Iterator[MessageRecord]:
    """Yield the records; raise at the end if there were faults."""
    try:
        for entry in entries:
            if isinstance(entry, Diagnostic):
                faults.append(entry)
            elif isinstance(entry, Agent):
                message = f"the agent {entry.name} comes after a message and would be lost"
                raise TypeError(message)
            elif not faults:
                yield gate.with_decision(entry)
    except OSError as error:  # from reading the archive, not the store
        raise _ImportStopped from error
    faults += gate.refusals()
    if faults:
        raise _ImportStopped


# The archive of a thread beside its artifact, so that the repository can verify the version
#
# It contains the thread up to the COMPILED message of the version. It has no data that is personal,
# changes daily or is local to this store: no read marks, no current tasks, no registration times.
# So the same version gives the same bytes.


def thread_archive(mailbox: Mailbox, version: VersionText) -> bytes:
    """Return the archive of a posted version, in order of arrival."""
    last = mailbox.message(version.message_id)
    arrived = mailbox.thread_arrivals(version.thread_id, 0)
    messages = [stored for stored in arrived if stored.arrival <= last.arrival]
    records = (MessageRecord(_without_local_data(stored)) for stored in messages)
    return "".join(encode(_agents(mailbox, messages), records)).encode()


def _without_local_data(stored: StoredMessage) -> StoredMessage:
    """Remove the trust in the sender: a reader of the archive cannot verify it."""
    return stored._replace(is_local=False, envelope=stored.envelope._replace(trust=None))


def _agents(mailbox: Mailbox, messages: list[StoredMessage]) -> list[Agent]:
    """Return the senders and recipients in the thread, registered since their first message."""
    since: dict[str, datetime] = {}
    for stored in messages:
        for name in (stored.message.sender, *stored.message.recipients):
            since[name] = min(stored.at, since.get(name, stored.at))
    return [
        agent._replace(task="", registered_at=since[agent.name])
        for agent in mailbox.agents()
        if agent.name in since
    ]


def archive_conflict(mailbox: Mailbox, thread_id: str, file: Path, name: str) -> str | None:
    """Return why an existing archive should not be overwritten; None if it has only known mail."""
    try:
        with file.open("rb") as opened:
            items = list(decode(archive_lines(opened), name))
    except FileNotFoundError:
        return None
    except OSError as error:
        return (error.strerror or type(error).__name__).lower()
    faults = [item for item in items if isinstance(item, Diagnostic)]
    if faults:
        place = f" (line {faults[0].line})" if faults[0].line else ""
        return f"it is not a readable mail archive{place}"
    archived = {item.stored.content_hash for item in items if isinstance(item, MessageRecord)}
    known = {stored.content_hash for stored in mailbox.thread_arrivals(thread_id, 0)}
    missing = len(archived - known)
    return f"{missing} of its messages are not in this store" if missing else None
