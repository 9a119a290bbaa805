"""Export a mailbox to an archive, and import one: all of it or nothing, where a home can do so."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Literal

from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_RECORD_BYTES
from brenner.mail.abilities import Ability
from brenner.mail.archive import jsonl, mbox
from brenner.mail.archive.record import HOPELESS
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Agent, Record, Restored

Form = Literal["jsonl", "mbox"]
_PORTION = 64 * 1024


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


def import_archive(
    mailbox: Mailbox, lines: Iterable[bytes], form: Form, name: str, where: str = "the store"
) -> Restored | tuple[Diagnostic, ...]:
    """Take an archive in, or say everything that is wrong with it.

    `where` is how the home is called, should it take messages one by one and break off.
    """
    decode = mbox.decode if form == "mbox" else jsonl.decode
    entries = decode(lines, name)
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
        if Ability.AS_THEY_WERE in mailbox.lacks:
            return _sent_anew(mailbox, agents, list(_sound(rest, faults)), where)
        return mailbox.restore(agents, _sound(rest, faults))
    except _Stopped as stop:
        if stop.__cause__ is not None:
            raise stop.__cause__ from None
        return tuple(faults)


def _sent_anew(
    mailbox: Mailbox, agents: list[Agent], records: list[Record], where: str
) -> Restored:
    """Send what is not there yet, to a home that gives ids and times of its own."""
    from brenner.workflows.copy_anew import Anew, send_anew
    from brenner.workflows.copy_compare import paired, seen

    known = paired(tuple(seen(records)), tuple(seen(mailbox.records())))
    new = [record for record in records if record.stored.id not in known]
    to = Anew(mailbox, where, must_go_on=False, step=lambda _: None)
    return send_anew(to, agents, new, len(known)).restored


class _Stopped(Exception):
    """The archive has faults, or cannot be read on; the store takes back what it has taken in."""


def _sound(
    entries: Iterable[Agent | Record | Diagnostic], faults: list[Diagnostic]
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
                yield entry
    except OSError as error:  # it is the archive's, not the store's
        raise _Stopped from error
    if faults:
        raise _Stopped
