"""The page `/sessions/T/ledger`: every delta block, and what became of it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.diff import block_words, outcome_words
from brenner.artifact.state import Entry, Outcome, counts
from brenner.diagnostics.model import worst_first
from brenner.markdown.blocks import blocks
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.grammar import VERSION
from brenner.protocol.message_types import DELTA
from brenner.text import thread_argument
from brenner.web import links
from brenner.web.frame import session_document
from brenner.web.page import Answer, Document, Page
from brenner.web.paging import in_session, part, part_json
from brenner.web.reading import Session
from brenner.web.visit import Visit

_ON_A_PAGE = 200
_MOST_CHOICES = 24
_MOST_SENT = 4_000  # characters of a refused block; the rest is in its message
_MOST_TEXT = 60_000  # of all refused blocks on one page together
UNREAD = "unread"  # what `?version=` calls the blocks that no version has read
_TAB = "ledger"


class Line(NamedTuple):
    """A block, and the version that has read it; None where none has."""

    version: int | None
    entry: Entry


def page(visit: Visit) -> Answer:
    """Blocks by version, the newest first."""
    session = visit.session
    everything = session.once(lines)
    wanted = _wanted(visit)
    found = [line for line in everything if _fits(line, wanted)] if wanted else everything
    shown = part(visit, len(found), _ON_A_PAGE)
    document = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "dismiss": None if visit.guest_of is not None else _dismiss(session.thread_id),
        "blocks": len(everything),
        **session.once(_counts),
        "versions": list(session.ledgers),
        "aside": [each.diagnostic.to_json() for each in session.chain.aside[:_MOST_CHOICES]],
        "taken_as_read": list(session.once(taken_as_read)),
        "filters": _filters(session, wanted),
        "found": len(found),
        **part_json(shown, in_session(session.thread_id, _TAB, wanted)),
        "groups": list(_groups(session, shown.of(found))),
    }
    return Page("pages/ledger.html", "Ledger", document)


def _dismiss(thread_id: str) -> str:
    """The command that lets a refused block be; which one, `7.2`, is to be added."""
    return f"brenner session dismiss {thread_argument(thread_id)}"


def lines(session: Session) -> list[Line]:
    """Every block of the session: those that no version has read, then version by version."""
    unread = [Line(None, entry) for entry in session.expected]
    newest_first = sorted(session.ledgers.values(), key=lambda each: -each.number)
    return unread + [Line(each.number, entry) for each in newest_first for entry in each.entries]


def _counts(session: Session) -> Mapping[str, int]:
    return counts(tuple(line.entry for line in session.once(lines)))


def taken_as_read(session: Session) -> tuple[int, ...]:
    """The messages whose blocks are in no ledger: an adopted version counts them as read."""
    known = {line.entry.message_id for line in session.once(lines)}
    others = (each for each in session.stored if each.type == DELTA.name and each.id not in known)
    return tuple(each.id for each in others if any(map(is_delta_fence, blocks(each.message.body))))


# Filters


def _of_version(line: Line) -> str:
    return UNREAD if line.version is None else str(line.version)


# What each filter looks at; the choices stand in this order
_FILTERS: Mapping[str, Callable[[Line], str]] = MappingProxyType(
    {
        "outcome": lambda line: line.entry.state.value,
        "version": _of_version,
        "agent": lambda line: line.entry.agent,
    }
)


def _wanted(visit: Visit) -> dict[str, str]:
    """What was asked for, by filter; a version may be written as `v3`."""
    given = {name: visit.asked.get(name, "") for name in _FILTERS}
    version = VERSION.fullmatch(given["version"])
    given["version"] = version[1] if version else given["version"]
    return {name: value for name, value in given.items() if value}


def _fits(line: Line, wanted: Mapping[str, str]) -> bool:
    return all(_FILTERS[name](line) == value for name, value in wanted.items())


def kinds(session: Session) -> Counter[tuple[str, ...]]:
    """How many blocks there are of each outcome, version and agent, the newest version first."""
    of = tuple(_FILTERS.values())
    return Counter(tuple(value_of(line) for value_of in of) for line in session.once(lines))


def _filters(session: Session, wanted: Mapping[str, str]) -> Document:
    """What can be chosen, with the number of blocks under the other filters.

    A filter has a bounded number of choices: versions the newest, agents who sent most.
    """
    found: dict[str, object] = {}
    for place, name in enumerate(_FILTERS):
        others = {key: value for key, value in wanted.items() if key != name}
        every, fitting = Counter[str](), Counter[str]()
        for kind, count in session.once(kinds).items():
            every[kind[place]] += count
            is_fitting = all(
                others.get(key, each) == each for key, each in zip(_FILTERS, kind, strict=True)
            )
            fitting[kind[place]] += count * is_fitting
        known = list(every) if name == "version" else [each for each, _ in every.most_common()]
        values = [each.value for each in Outcome] if name == "outcome" else known[:_MOST_CHOICES]
        chosen = [wanted[name]] if name in wanted and wanted[name] not in values else []
        found[name] = [
            {
                "value": value,
                "blocks": fitting[value],
                "is_chosen": wanted.get(name) == value,
                "address": links.session(session.thread_id, _TAB, **{**others, name: value}),
                "without": links.session(session.thread_id, _TAB, **others),
            }
            for value in [*values, *chosen]
        ]
    return found


# Rows


def _groups(session: Session, shown: Sequence[Line]) -> Iterator[Document]:
    """The rows of a page, each version with how its blocks ended in all."""
    rows = _Rows(session)
    for version, group in groupby(shown, key=lambda line: line.version):
        entries = session.expected if version is None else session.ledgers[version].entries
        yield {
            "version": version,
            "blocks": len(entries),
            **counts(entries),
            "entries": [rows.row(line) for line in group],
        }


class _Rows:
    """Entries as the page has them; the texts of refused blocks are looked up in their messages."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._trusts = {
            each.id: each.envelope.trust.value if each.envelope.trust else None
            for each in session.stored
        }
        self._bodies = {each.posted.id: each.posted.message.body for each in session.messages}
        self._open = {(each.message_id, each.block) for each in session.status.refusals}
        self._fences: dict[int, list[str]] = {}
        self._room = _MOST_TEXT

    def row(self, line: Line) -> Document:
        """`Entry.to_json` with what the page says of it in words."""
        entry = line.entry
        faults = sorted(entry.diagnostics, key=worst_first)
        row: dict[str, object] = {
            **entry.to_json(),
            "violations": [found.to_json() for found in faults],
            "version": line.version,
            "trust": self._trusts.get(entry.message_id),
            "says": block_words(entry),
            "outcome": outcome_words(entry, is_read=line.version is not None),
            "settled": None,
            "open": (entry.message_id, entry.block) in self._open,
            "sent": None,
        }
        if entry.state is Outcome.REFUSED:
            settled = self._session.settled.get((entry.message_id, entry.block))
            row["settled"] = (
                {"how": settled.how.value, "message_id": settled.message_id} if settled else None
            )
            row["sent"] = self._sent(entry)
        return row

    def _sent(self, entry: Entry) -> Document:
        """What its author wrote, cut where it is long."""
        number = entry.message_id
        if number not in self._fences:
            found = filter(is_delta_fence, blocks(self._bodies.get(number, "")))
            self._fences[number] = [fence.text for fence in found]
        fences = self._fences[number]
        text = fences[entry.block - 1] if entry.block <= len(fences) else ""
        most = max(0, min(_MOST_SENT, self._room))
        self._room -= min(len(text), most)
        return {"text": text[:most], "is_cut": len(text) > most}
