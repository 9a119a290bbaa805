"""The page of a session's versions: the history, what else calls itself one, and verifying."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.diff import (
    Diff,
    ItemChange,
    Marks,
    block_words,
    changes,
    diff,
    field_marks,
    item_marks,
    label_of,
    outcome_words,
    same_words,
    summary,
)
from brenner.artifact.model import LAYOUT_OF
from brenner.artifact.serialize import diff_json, item_change_json
from brenner.artifact.state import Conflict, Entry, Outcome, counts
from brenner.artifact.text_diff import Columns, Pair, columns, lines_of, unified
from brenner.diagnostics.model import worst_first
from brenner.markdown.blocks import blocks
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.grammar import VERSION
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import iso
from brenner.services.versions import (
    ListedVersion,
    Side,
    history_json,
    verification_json,
    verification_words,
    verify,
)
from brenner.text import thread_argument
from brenner.web import compare as looks
from brenner.web import links
from brenner.web.compare import (
    Asked,
    asked_pair,
    before,
    look_document,
    numbers_of,
    seen_link,
    side,
)
from brenner.web.items import by_item
from brenner.web.layout import session_document
from brenner.web.rendering import in_session, part, part_json
from brenner.web.request import Answer, Document, Download, Page, Redirect, RequestContext
from brenner.web.sessions import Session

_MOST = 100
_MOST_CHOICES = 300  # versions that one chooses from a list; more are typed


def page(visit: RequestContext) -> Answer:
    """Every version, the latest first."""
    session = visit.session
    if looks.SEEN in visit.asked:
        cookie = looks.settled(visit)
        there = links.session(session.thread_id, "versions")
        return Redirect(there, (cookie,) if cookie else ())
    is_verified = visit.asked.get("verify") == "1"
    document = {
        "session": session_document(visit),
        **history_document(visit),
        "look": look_document(visit),
        "choices": choices(session),
        "compared": [before(session, session.history.number), session.history.number],
        "verified": _verified(session) if is_verified else None,
    }
    return Page("pages/versions.html", "Versions", document, is_live=not is_verified)


def choices(session: Session) -> list[int]:
    """The versions to choose from; none where they are too many for a list."""
    known = [0, *numbers_of(session)]
    return known if len(known) <= _MOST_CHOICES else []


def history_document(visit: RequestContext) -> dict[str, object]:
    """The history a part at a time, the latest version first."""
    session, history = visit.session, visit.session.version_list
    found = part(visit, len(history.versions), _MOST)
    shown = tuple(found.of(history.versions[::-1]))
    document = history_json(history._replace(versions=shown))
    listed = cast("list[dict[str, object]]", document["versions"])
    told = [each | _beside(session, version) for each, version in zip(listed, shown, strict=True)]
    where = part_json(found, in_session(session.thread_id, "versions", {}))
    return document | {"versions": told, "part": where, "next": where["next"]}


def _beside(session: Session, version: ListedVersion) -> dict[str, object]:
    """What the history does not know of a version: its blocks, and what the linter says."""
    ledger = session.ledgers.get(version.number)
    latest = session.status.version
    is_latest = version.number == session.history.number
    known = latest if is_latest else None
    return {
        "latest": is_latest,
        "before": before(session, version.number),
        "blocks": counts(ledger.entries) if ledger else None,
        "lint": {"errors": known.errors, "warnings": known.warnings} if known else None,
    }


def _verified(session: Session) -> dict[str, object]:
    """Every version rebuilt from the mail alone."""
    found = verify(session.workspace, session.thread_id)
    words = "There is no version yet."
    if found.versions:
        words = verification_words(found.versions, found.altered)
    return verification_json(found, found.versions) | {"sentence": words}


# What changed between two versions, item by item and field by field.


_DIFF_ITEMS_MOST = 100
_MOST_SAME = 200


def items_document(visit: RequestContext, old: Side, new: Side) -> dict[str, object]:
    """The keys of `artifact diff --json`, of one part of the items; and what each looks like."""
    found = diff(old.artifact, new.artifact)
    which = part(visit, len(found.items), _DIFF_ITEMS_MOST)
    entries = _entries(visit.session, old.number, new.number)
    conflicts = _conflicts(visit.session, new.number)
    bare = found._replace(items=())
    asked = {"from": old.number, "to": new.number}
    where = part_json(which, in_session(visit.thread_id, "diff", asked))
    return diff_json(bare, old.artifact.metadata, new.artifact.metadata) | {
        "sentence": summary(found),
        "changes": changes(found),
        "items": changed_items(which.of(found.items), entries, conflicts),
        "metadata_marks": [
            {"label": each.field, "marks": marks_json(field_marks(each))} for each in found.metadata
        ],
        "same": same_words(found.unchanged),
        "unchanged_items": _same(found, new),
        "part": where,
        "next": where["next"],
    }


def _entries(session: Session, old: int, new: int) -> Iterator[Entry]:
    """The blocks that were read after the one version and up to the other."""
    for number, ledger in session.ledgers.items():
        if old < number <= new:
            yield from ledger.entries


def _conflicts(session: Session, number: int) -> Mapping[str, tuple[Conflict, ...]]:
    """What authors disagree on in a version, by item."""
    known = session.ledgers.get(number)
    return by_item(known.conflicts if known else ())


def changed_items(
    changed: Iterable[ItemChange],
    entries: Iterable[Entry],
    conflicts: Mapping[str, Iterable[Conflict]] = MappingProxyType({}),
) -> list[dict[str, object]]:
    """Items under the keys of `artifact diff --json`, with what each looks like and whose blocks,
    of `entries`, did it.
    """
    by = _authors(entries)
    return [
        item_change_json(each)
        | _looks(each, conflicts.get(each.id, ()))
        | {"by": by.get(each.id, [])}
        for each in changed
    ]


def _looks(change: ItemChange, conflicts: Iterable[Conflict]) -> dict[str, object]:
    """What stands on the page beside the values: labels and marks.

    A field on which authors disagree has the conflict, which says whose value stands.
    """
    disputed = {label_of(change.section, each.path): each.to_json() for each in conflicts}
    return {
        "heading": LAYOUT_OF[change.section].heading,
        "marks": [
            {"label": label, "marks": marks_json(marks), "conflict": disputed.get(label)}
            for label, marks in item_marks(change)
        ],
    }


def marks_json(marks: Marks) -> list[dict[str, str]]:
    """Stretches of a text with their marks."""
    return [{"mark": span.mark.value, "text": span.text} for span in marks]


def _authors(entries: Iterable[Entry]) -> Mapping[str, list[dict[str, object]]]:
    """By item, who changed it, in which messages."""
    found: dict[str, dict[tuple[str, int], None]] = {}
    for entry in entries:
        if entry.state is Outcome.APPLIED and entry.item_id:
            found.setdefault(entry.item_id, {})[entry.agent, entry.message_id] = None
    return {
        item: [{"agent": agent, "message_id": message} for agent, message in pairs]
        for item, pairs in found.items()
    }


def _same(found: Diff, new: Side) -> list[dict[str, str]]:
    """The items that did not change, as many as one looks through."""
    changed = {(change.section, change.id) for change in found.items}
    kept: Iterable[dict[str, str]] = (
        {"id": item.id, "section": section.id, "title": item.title}
        for section, item in new.artifact.all_items()
        if item.fields and (section.id, item.id) not in changed
    )
    return list(islice(kept, _MOST_SAME))


# Two versions compared as texts: in two columns, or as `diff -u` prints them.


_MOST_ROWS = 400
_MOST_LINES = 2_000


class _Row(NamedTuple):
    """A row; `skipped` counts the lines before it that are the same and are not shown."""

    pair: Pair
    skipped: int


def columns_document(visit: RequestContext, old: Side, new: Side) -> dict[str, object]:
    """The rows in which something changed, and those around them."""
    found = columns(old.text, new.text)
    rows = list(_rows(found))
    which = part(visit, len(rows), _MOST_ROWS)
    asked = {"from": old.number, "to": new.number, "form": "text"}
    where = part_json(which, in_session(visit.thread_id, "diff", asked))
    return {
        "rows": [_row(found, row) for row in which.of(rows)],
        "skipped": found.skipped if which.number == which.pages else 0,
        "part": where,
        "next": where["next"],
    }


def _rows(found: Columns) -> Iterator[_Row]:
    for stretch in found.stretches:
        for number, pair in enumerate(stretch.pairs):
            yield _Row(pair, 0 if number else stretch.skipped)


def _row(found: Columns, row: _Row) -> dict[str, object]:
    left, right = found.sides(row.pair)
    pair = row.pair
    return {
        "skipped": row.skipped,
        "same": pair.is_same,
        "old": None if pair.old is None else pair.old + 1,
        "new": None if pair.new is None else pair.new + 1,
        "left": marks_json(left),
        "right": marks_json(right),
    }


def plain_text(visit: RequestContext, old: Side, new: Side) -> str:
    """A unified diff, as the command line prints it."""
    names = [f"{visit.thread_id}@v{each.number}" for each in (old, new)]
    return unified(old.text, new.text, *names)


def plain_document(visit: RequestContext, old: Side, new: Side) -> dict[str, object]:
    """A unified diff, its first lines where it is long; all of it is one address further."""
    lines = lines_of(plain_text(visit, old, new))
    raw = links.diff(visit.thread_id, old.number, new.number, form="plain", raw=1)
    return {
        "text": "".join(lines[:_MOST_LINES]),
        "raw": raw,
        "lines": len(lines),
        "shown": min(len(lines), _MOST_LINES),
        "next": raw if len(lines) > _MOST_LINES else None,
    }


# The page that compares two versions: by item and field, side by side, or as plain text.


ITEMS, TEXT, PLAIN = "items", "text", "plain"
_DOCUMENTS: Mapping[str, Callable[[RequestContext, Side, Side], dict[str, object]]] = (
    MappingProxyType({ITEMS: items_document, TEXT: columns_document, PLAIN: plain_document})
)


def diff_page(visit: RequestContext) -> Answer:
    """What changed from one version to another."""
    session = visit.session
    asked = asked_pair(visit)
    old, new = side(session, asked.old), side(session, asked.new)
    form = visit.asked.get("form", ITEMS)
    form = form if form in _DOCUMENTS else ITEMS
    if form == PLAIN and visit.asked.get("raw") == "1":
        return Download(plain_text(visit, old, new), "text/plain; charset=utf-8")
    document = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "form": form,
        "from": asked.old,
        "to": asked.new,
        "choices": choices(session),
        "since": _since(visit, asked),
        "steps": _steps(visit, asked, form),
        **_DOCUMENTS[form](visit, old, new),
    }
    title = f"v{asked.old} → v{asked.new}"
    return Page("pages/diff.html", title, document)


def _since(visit: RequestContext, asked: Asked) -> dict[str, object] | None:
    """Where this is what changed since the last look: which that was; none if there is none."""
    if visit.asked.get("since") != "look":
        return None
    look = asked.look
    return {
        "version": look.version if look else None,
        "at": iso(look.at) if look else None,
        "seen": seen_link(visit.session) if look and look.version != asked.new else None,
    }


def _steps(visit: RequestContext, asked: Asked, form: str) -> dict[str, str | None]:
    """The addresses of the steps before and after this one, and of this one backwards."""
    session = visit.session
    thread_id = session.thread_id
    kept = None if form == ITEMS else form
    earlier, later = min(asked.old, asked.new), max(asked.old, asked.new)
    after = min((each for each in numbers_of(session) if each > later), default=None)
    return {
        "earlier": links.diff(thread_id, before(session, earlier), earlier, form=kept)
        if earlier
        else None,
        "later": links.diff(thread_id, later, after, form=kept) if after else None,
        "back": links.diff(thread_id, asked.new, asked.old, form=kept),
    }


# The page `/sessions/T/ledger`: every delta block, and what became of it.


_ON_A_PAGE = 200
_LEDGER_MOST_CHOICES = 24
_MOST_SENT = 4_000  # characters of a refused block; the rest is in its message
_MOST_TEXT = 60_000  # of all refused blocks on one page together
UNREAD = "unread"  # what `?version=` calls the blocks that no version has read
_TAB = "ledger"


class Line(NamedTuple):
    """A block, and the version that has read it; None where none has."""

    version: int | None
    entry: Entry


def ledger_page(visit: RequestContext) -> Answer:
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
        "aside": [
            each.diagnostic.to_json() for each in session.history.aside[:_LEDGER_MOST_CHOICES]
        ],
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


def _wanted(visit: RequestContext) -> dict[str, str]:
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
        values = (
            [each.value for each in Outcome] if name == "outcome" else known[:_LEDGER_MOST_CHOICES]
        )
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
