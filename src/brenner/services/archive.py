"""Export a mailbox to an archive, and import one: all of it or nothing, where a home can do so."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import IO, Literal, NamedTuple

from brenner.diagnostics.codes.stores import COPY_BROKE_OFF, DECISIONS_IN_ARCHIVE
from brenner.diagnostics.model import Diagnostic, UnavailableError
from brenner.limits import MOST_RECORD_BYTES
from brenner.mail.archive import jsonl, mbox
from brenner.mail.archive.jsonl import HOPELESS, decode, encode
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Agent, Record, Restored, StoredMessage
from brenner.mail.rules import SMOOTHED
from brenner.persist.artifact_file import VersionText
from brenner.protocol.message_types import COMPILED, KICKOFF
from brenner.services.version_store import filed
from brenner.session.decisions import is_decision, voided_by
from brenner.session.rebuild import CompiledCandidate
from brenner.session.versions import candidate_of

Form = Literal["jsonl", "mbox"]
_PORTION = 64 * 1024
_MOST_NAMED = 20
_FINISH = (
    "Once the server answers again, repeat the command with `--accept-decisions`: part of the "
    "archive is there now. It goes on where it stopped, and sends nothing twice."
)


# Export


class Outgoing:
    """The whole mailbox in portions of bytes, once; `messages` counts those that went by."""

    def __init__(self, mailbox: Mailbox, form: Form) -> None:
        self.messages = 0
        self._form = form
        self._records = mailbox.records()
        self._agents = mailbox.agents()  # after that moment: whoever wrote one of them is there

    def __iter__(self) -> Iterator[bytes]:
        if self._form == "mbox":
            return mbox.encode(self._agents, self._counted())
        return (line.encode() for line in jsonl.encode(self._agents, self._counted()))

    def _counted(self) -> Iterator[Record]:
        for record in self._records:
            self.messages += 1
            yield record


def export_archive(mailbox: Mailbox, form: Form) -> Outgoing:
    """The whole mailbox as an archive, as this moment sees it."""
    return Outgoing(mailbox, form)


# Import


def archive_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file. One that is longer than a record may be is cut, but stays too long."""
    while line := file.readline(MOST_RECORD_BYTES + 1):
        if len(line) <= MOST_RECORD_BYTES:
            yield line
            continue
        yield line[:-1] + b"\n"
        while line and not line.endswith(b"\n"):
            line = file.readline(_PORTION)


def begins_archive(line: bytes) -> bool:
    """Whether a first line is one of an archive that can be read: else the rest is not needed."""
    found = [next(decode([line], "")) for decode in (jsonl.decode, mbox.decode)]
    return not all(isinstance(each, Diagnostic) and each.code in HOPELESS for each in found)


class ImportOptions(NamedTuple):
    """How to import. `where` is what the store is called, should the import break off.

    `operator` is whose decisions count. `now` bounds the times of messages; None takes any time.
    """

    where: str = "the store"
    operator: str | None = None
    accept_decisions: bool = False
    now: datetime | None = None


def import_archive(
    mailbox: Mailbox,
    lines: Iterable[bytes],
    form: Form,
    name: str,
    options: ImportOptions = ImportOptions(),  # noqa: B008  a frozen value
) -> Restored | tuple[Diagnostic, ...]:
    """Take an archive in, or say everything that is wrong with it."""
    decode = mbox.decode if form == "mbox" else jsonl.decode
    entries = decode(lines, name, options.now and options.now + SMOOTHED)
    gate = _Gate(mailbox, options)
    faults: list[Diagnostic] = []
    agents: list[Agent] = []
    rest: Iterator[Agent | Record | Diagnostic] = iter(())
    for entry in entries:
        if isinstance(entry, Record):
            rest = chain([entry], entries)
            break
        if isinstance(entry, Agent):
            agents.append(entry)
        else:
            faults.append(entry)
    try:
        records = _sound(rest, faults, gate)
        if Capability.AS_THEY_WERE in mailbox.lacks:
            restored = _sent_anew(mailbox, agents, list(records), options.where)
        else:
            restored = mailbox.restore(agents, records)
        return restored._replace(accepted=gate.accepted)
    except _Stopped as stop:
        if stop.__cause__ is not None:
            raise stop.__cause__ from None
        return tuple(faults)


def _sent_anew(
    mailbox: Mailbox, agents: list[Agent], records: list[Record], where: str
) -> Restored:
    """Send what is not there yet, to a home that gives ids and times of its own."""
    from brenner.services.copy_mail import Anew, paired, seen, send_anew

    known = paired(tuple(seen(records)), tuple(seen(mailbox.records())))
    new = [record for record in records if record.stored.id not in known]
    to = Anew(mailbox, where, must_go_on=False, step=lambda _: None)
    try:
        return send_anew(to, agents, new, len(known)).restored
    except UnavailableError as failure:
        if failure.diagnostic.code is COPY_BROKE_OFF:
            failure.diagnostic = failure.diagnostic._replace(fix=_FINISH)
        raise


class _Gate:
    """Decides which messages of an archive may lead or decide in their thread.

    All of them, where the archive brings a thread that is not here yet. Into a thread that is here
    they come only where the operator accepts them: else a line in a file could void a version.
    """

    def __init__(self, mailbox: Mailbox, options: ImportOptions) -> None:
        self._mailbox = mailbox
        self._options = options
        self._is_here: dict[str, bool] = {}
        self._known: dict[str, Counter[tuple[int, str]]] = {}
        self._refused: dict[str, list[str]] = {}
        self.accepted = 0

    def passed(self, record: Record) -> Record:
        """Return the record as it is to be stored: with whether its decision counts."""
        stored = record.stored
        thread_id, candidate = stored.message.thread_id, _version_in(stored)
        if thread_id not in self._is_here:  # before the first message of it is taken in
            self._is_here[thread_id] = self._mailbox.thread(thread_id, limit=1).position > 0
        what = _leads(stored, candidate)
        is_asked = bool(what) and self._is_here[thread_id] and self._is_new(stored)
        if is_asked:
            self.accepted += 1
            named = f"message {stored.id} ({stored.message.sender} {what})"
            self._refused.setdefault(thread_id, []).append(named)
        decides = self._decides(stored, is_accepted=is_asked and self._options.accept_decisions)
        return record._replace(stored=stored._replace(decides=decides))

    def refusals(self) -> Iterator[Diagnostic]:
        """Yield what was not accepted, by thread."""
        if self._options.accept_decisions:
            return
        for thread_id, found in self._refused.items():
            left = len(found) - _MOST_NAMED
            named = ", ".join(found[:_MOST_NAMED]) + (f" and {left} more" if left > 0 else "")
            yield DECISIONS_IN_ARCHIVE.at(thread_id=thread_id, named=named)

    def _is_new(self, stored: StoredMessage) -> bool:
        """Whether the message is not here yet; a copy of one that is here is new."""
        thread_id = stored.message.thread_id
        if thread_id not in self._known:
            here = self._mailbox.thread_arrivals(thread_id, 0)
            self._known[thread_id] = Counter(map(self._key, here))
        self._known[thread_id][self._key(stored)] -= 1
        return self._known[thread_id][self._key(stored)] < 0

    def _key(self, stored: StoredMessage) -> tuple[int, str]:
        """By what the store knows a message: by its content alone where ids are new."""
        is_anew = Capability.AS_THEY_WERE in self._mailbox.lacks
        return 0 if is_anew else stored.origin_id, stored.content_hash

    def _decides(self, stored: StoredMessage, *, is_accepted: bool) -> bool | None:
        """Return what the archive says.

        An older archive says nothing. There a decision counts from now on that the operator
        accepts, or that is in the name of this project's operator. Others count by name: the first
        version may name their sender as the operator, and only a replay of the whole thread shows
        which version that is.
        """
        if not is_decision(stored.message):
            return None
        counts = is_accepted or stored.message.sender == self._options.operator
        return True if stored.decides is None and counts else stored.decides


def _version_in(stored: StoredMessage) -> CompiledCandidate | None:
    found = candidate_of(filed(stored)) if stored.type == COMPILED.name else None
    return found if isinstance(found, CompiledCandidate) else None


def _publishes(candidate: CompiledCandidate | None) -> str:
    record = candidate.record if candidate else None
    if record and record.adopted:
        return f"adopts an artifact as v{record.version}"
    if record and record.status == "closed":
        return f"closes the session with v{record.version}"
    return f"publishes v{candidate.number}" if candidate else "publishes a version"


def _leads(stored: StoredMessage, candidate: CompiledCandidate | None) -> str | None:
    """Say what a message does to its session; None for one that only contributes."""
    if stored.type == KICKOFF.name:
        return "asks for a round"
    if stored.type == COMPILED.name:
        return _publishes(candidate)
    if not is_decision(stored.message):
        return None
    voided = sorted({each.version for each in voided_by(stored.message)})
    if voided:
        return f"voids {', '.join(f'v{number}' for number in voided[:_MOST_NAMED])}"
    return "dismisses rejected blocks"


class _Stopped(Exception):
    """The archive has faults, or cannot be read on; the store takes back what it has taken in."""


def _sound(
    entries: Iterable[Agent | Record | Diagnostic], faults: list[Diagnostic], gate: _Gate
) -> Iterator[Record]:
    """The records; at the end, whether there was anything wrong."""
    try:
        for entry in entries:
            if isinstance(entry, Diagnostic):
                faults.append(entry)
            elif isinstance(entry, Agent):
                message = f"the agent {entry.name} came after a message, and would be lost"
                raise TypeError(message)
            elif not faults:
                yield gate.passed(entry)
    except OSError as error:  # it is the archive's, not the store's
        raise _Stopped from error
    faults += gate.refusals()
    if faults:
        raise _Stopped


# The mail of a thread as an archive beside its artifact, so that the repository can verify it.
#
# It holds the thread up to the COMPILED message of the version and nothing that is personal, that
# changes from day to day, or that only this store knows: nobody's reading marks or current task,
# not
# who was registered when. So the same version gives the same bytes.


def thread_archive(mailbox: Mailbox, version: VersionText) -> bytes:
    """The archive of a version that is posted, in the order in which its mail came in."""
    last = mailbox.message(version.message_id)
    arrived = mailbox.thread_arrivals(version.thread_id, 0)
    messages = [stored for stored in arrived if stored.arrival <= last.arrival]
    records = (Record(_for_all(stored)) for stored in messages)
    return "".join(encode(_agents(mailbox, messages), records)).encode()


def _for_all(stored: StoredMessage) -> StoredMessage:
    """Whoever reads an archive has not seen who wrote the mail, so it does not matter who has."""
    return stored._replace(is_local=False, envelope=stored.envelope._replace(trust=None))


def _agents(mailbox: Mailbox, messages: list[StoredMessage]) -> list[Agent]:
    """Who wrote to the thread, or was written to, by name: known since they were first named."""
    since: dict[str, datetime] = {}
    for stored in messages:
        for name in (stored.message.sender, *stored.message.recipients):
            since[name] = min(stored.at, since.get(name, stored.at))
    return [
        agent._replace(task="", registered_at=since[agent.name])
        for agent in mailbox.agents()
        if agent.name in since
    ]


def archive_obstacle(mailbox: Mailbox, thread_id: str, file: Path, name: str) -> str | None:
    """Why an archive that is there should not be written over: it has what this mailbox has not."""
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
        return f"it is not an archive of mail that can be read{place}"
    held = {item.stored.content_hash for item in items if isinstance(item, Record)}
    known = {stored.content_hash for stored in mailbox.thread_arrivals(thread_id, 0)}
    missing = len(held - known)
    return f"{missing} of its messages are not in this mailbox" if missing else None


# Whether two stores are one and the same, however they are written.
