"""The delta blocks of a message, and what became of each: the ledger, seen from its mail."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from brenner.artifact.diff import block_words, outcome_words
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.diagnostics.truncate import of_message
from brenner.mail.model import Stored
from brenner.markdown.blocks import Block
from brenner.protocol.delta.parse import could_hold_strays, read_blocks
from brenner.protocol.delta.schema import DeltaBlock
from brenner.protocol.message_types import DELTA
from brenner.services.version_store import filed
from brenner.session.versions import asides_of
from brenner.web.page import Document
from brenner.web.reading import Session

_ASIDE, _UNKNOWN = "aside", "unknown"
_NOT_CONTRIBUTED = "no contribution"
_TAKEN_AS_READ = "taken as read, with a version that another program compiled"


class Fate(NamedTuple):
    """What became of a block, and the version that has read it; None where none has."""

    version: int | None
    entry: Entry


class Blocks(NamedTuple):
    """The blocks of a message that are shown, and what is to be said of the others."""

    shown: Sequence[Document]
    total: int
    counts: Mapping[str, int]
    faults: list[Document]


def fates(session: Session) -> Mapping[int, Sequence[Fate]]:
    """What became of the blocks of every message, or would become of them."""
    found: dict[int, list[Fate]] = {}
    for number in sorted(session.ledgers):
        for entry in session.ledgers[number].entries:
            found.setdefault(entry.message_id, []).append(Fate(number, entry))
    for entry in session.expected:
        found.setdefault(entry.message_id, []).append(Fate(None, entry))
    return found


def blocks_of(
    session: Session, stored: Stored, found: list[Block], *, most: int, most_sent: int
) -> Blocks:
    """Those of one message; of many, the refused ones before all others."""
    if "delta" not in stored.message.body:
        return Blocks([], 0, {}, _strays(stored, found))
    if stored.type != DELTA.name:
        return _asides(stored, found, most, most_sent)
    read = read_blocks(found, stored.message.thread_id)
    known = {fate.entry.block: fate for fate in session.once(fates).get(stored.id, ())}
    row = _Rows(session, stored, known, most_sent)
    ordered = sorted(read, key=lambda block: not row.is_refused(block))[:most]
    shown = [row.of(block) for block in sorted(ordered, key=lambda block: block.number)]
    states = [row.state(block) for block in read]
    counts = {state: states.count(state) for state in dict.fromkeys((*Outcome, *states))}
    return Blocks(shown, len(read), counts, _strays(stored, found))


class _Rows:
    """The blocks of one message as documents."""

    def __init__(
        self, session: Session, stored: Stored, known: Mapping[int, Fate], most_sent: int
    ) -> None:
        self._session, self._stored = session, stored
        self._known, self._most = known, most_sent

    def state(self, block: DeltaBlock) -> str:
        """How it ended, in a word."""
        fate = self._known.get(block.number)
        return fate.entry.state.value if fate else _UNKNOWN

    def is_refused(self, block: DeltaBlock) -> bool:
        """Whether somebody may have to do something about it."""
        return self.state(block) == Outcome.REFUSED

    def of(self, block: DeltaBlock) -> Document:
        """The keys of the ledger, what was written, and what to say of it."""
        fate = self._known.get(block.number)
        row = dict(_written(block, self._most))
        if fate is None:
            return row | {"state": _UNKNOWN, "version": None, "outcome": _TAKEN_AS_READ}
        faults = sorted(fate.entry.diagnostics, key=worst_first)
        settled = self._session.settled.get((self._stored.id, block.number))
        return row | {
            **fate.entry.to_json(),
            "violations": [found.to_json() for found in faults],
            "version": fate.version,
            "words": block_words(fate.entry),
            "outcome": outcome_words(fate.entry, is_read=fate.version is not None),
            "settled": settled._asdict() if settled else None,
        }


def _written(block: DeltaBlock, most: int) -> Document:
    """What its author wrote; the text as it was sent where it is no JSON object."""
    value = block.value if isinstance(block.value, dict) else {}
    text = block.fence.text
    is_small = len(text) <= most
    said = [block.written(key) for key in ("operation", "target_id", "section")]
    return {
        "block": block.number,
        "line": block.line,
        "item_id": None,
        "words": " ".join(filter(None, said)) or "not readable",
        "violations": [],
        "settled": None,
        "payload": value.get("payload") if is_small else None,
        "rationale": block.written("rationale") if is_small else None,
        "local_id": block.written("local_id"),
        "sent": text[:most],
        "sent_is_cut": not is_small,
    }


def _asides(stored: Stored, found: list[Block], most: int, most_sent: int) -> Blocks:
    """Blocks in a message that is no DELTA contribute nothing, and that is said of each."""
    said = [each.diagnostic for each in asides_of(filed(stored))]
    of_all = {"state": _ASIDE, "version": None, "outcome": _NOT_CONTRIBUTED}
    pairs = zip(read_blocks(found), said, strict=True)
    shown = [
        {**_written(block, most_sent), **of_all, "violations": [diagnostic.to_json()]}
        for block, diagnostic in islice(pairs, most)
    ]
    return Blocks(shown, len(said), {_ASIDE: len(said)} if said else {}, [])


def _strays(stored: Stored, found: list[Block]) -> list[Document]:
    """What looks like a contribution in a DELTA, and is none."""
    return [each.to_json() for each in of_message(_stray_diagnostics(stored, found))]


def _stray_diagnostics(stored: Stored, found: list[Block]) -> Iterator[Diagnostic]:
    if stored.type != DELTA.name or not could_hold_strays(stored.message.body, found):
        return
    from brenner.protocol.delta.stray import find_strays

    for each in find_strays(stored.message.body, found):
        yield each.diagnostic._replace(message_id=stored.id)
