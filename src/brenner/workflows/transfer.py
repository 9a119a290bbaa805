"""Export a mailbox to an archive, and import one: all of it or nothing."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from brenner.diagnostics.model import Diagnostic
from brenner.mail.archive import jsonl, mbox
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Agent, Record, Restored

Form = Literal["jsonl", "mbox"]


def export_archive(mailbox: Mailbox, form: Form) -> Iterator[bytes]:
    """The whole mailbox in portions of bytes."""
    agents, records = mailbox.agents(), mailbox.records()
    if form == "mbox":
        return mbox.encode(agents, records)
    return (line.encode() for line in jsonl.encode(agents, records))


def import_archive(
    mailbox: Mailbox, lines: Iterable[bytes], form: Form, name: str
) -> Restored | tuple[Diagnostic, ...]:
    """Take an archive in, or say everything that is wrong with it."""
    decode = mbox.decode if form == "mbox" else jsonl.decode
    entries = decode(lines, name)
    faults: list[Diagnostic] = []
    agents: list[Agent] = []
    rest: Iterator[Agent | Record | Diagnostic] = iter(())
    for entry in entries:
        if not isinstance(entry, Agent):
            rest = chain([entry], entries)
            break
        agents.append(entry)
    try:
        return mailbox.restore(agents, _sound(rest, faults))
    except _Faulty:
        return tuple(faults)


class _Faulty(Exception):
    """The archive has faults; the store takes back what it has taken in."""


def _sound(
    entries: Iterable[Agent | Record | Diagnostic], faults: list[Diagnostic]
) -> Iterator[Record]:
    """The records; at the end, whether there was anything wrong."""
    for entry in entries:
        if isinstance(entry, Record):
            if not faults:
                yield entry
        elif isinstance(entry, Diagnostic):
            faults.append(entry)
    if faults:
        raise _Faulty
