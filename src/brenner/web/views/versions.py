"""Pages of the versions: the history, the comparison of two versions, and the ledger of delta
blocks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.diff import (
    Diff,
    ItemChange,
    TextSpans,
    changed_ids,
    describe_block,
    describe_outcome,
    diff,
    field_label,
    field_spans,
    item_spans,
    summary,
    unchanged_sentence,
)
from brenner.artifact.model import LAYOUT_BY_SECTION
from brenner.artifact.serialize import diff_json, item_change_json
from brenner.artifact.state import BlockOutcome, Conflict, Entry, count_outcomes
from brenner.artifact.text_diff import LinePair, SideBySide, side_by_side, split_lines, unified_diff
from brenner.diagnostics.model import worst_first
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.grammar import VERSION
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import iso
from brenner.services.versions import (
    ComparedVersion,
    ListedVersion,
    verification_json,
    verification_summary,
    verify,
    version_list_json,
)
from brenner.text import thread_argument
from brenner.web import links
from brenner.web.compare import (
    SEEN_PARAMETER,
    VersionPair,
    last_visit_document,
    mark_seen_link,
    requested_pair,
    seen_cookie,
    version_before,
    version_numbers,
    version_side,
)
from brenner.web.items import conflicts_by_item
from brenner.web.layout import session_document
from brenner.web.rendering import list_page_document, requested_page, session_page_links
from brenner.web.request import Document, Download, Page, PageResult, Redirect, RequestContext
from brenner.web.sessions import Session

_MAX_VERSIONS = 100
_MAX_CHOICES = 300  # versions in a menu; more are typed


def page(context: RequestContext) -> PageResult:
    """Return every version, latest first."""
    session = context.session
    if SEEN_PARAMETER in context.query:
        cookie = seen_cookie(context)
        there = links.session(session.thread_id, "versions")
        return Redirect(there, (cookie,) if cookie else ())
    is_verified = context.query.get("verify") == "1"
    document = {
        "session": session_document(context),
        **history_document(context),
        "look": last_visit_document(context),
        "choices": version_choices(session),
        "compared": [version_before(session, session.history.number), session.history.number],
        "verified": _verify(session) if is_verified else None,
    }
    return Page("pages/versions.html", "Versions", document, is_live=not is_verified)


def version_choices(session: Session) -> list[int]:
    """Return the versions to choose from, none if they are too many for a list."""
    known = [0, *version_numbers(session)]
    return known if len(known) <= _MAX_CHOICES else []


def history_document(context: RequestContext) -> dict[str, object]:
    """Return one page of the history, latest version first."""
    session, history = context.session, context.session.version_list
    found = requested_page(context, len(history.versions), _MAX_VERSIONS)
    shown = tuple(found.slice(history.versions[::-1]))
    document = version_list_json(history._replace(versions=shown))
    listed = cast("list[dict[str, object]]", document["versions"])
    documents = [
        each | _version_extras(session, version)
        for each, version in zip(listed, shown, strict=True)
    ]
    paging = list_page_document(found, session_page_links(session.thread_id, "versions", {}))
    return document | {"versions": documents, "part": paging, "next": paging["next"]}


def _version_extras(session: Session, version: ListedVersion) -> dict[str, object]:
    """Return what the history does not have of a version: block counts and lint findings."""
    ledger = session.ledgers.get(version.number)
    latest = session.status.version
    is_latest = version.number == session.history.number
    known = latest if is_latest else None
    return {
        "latest": is_latest,
        "before": version_before(session, version.number),
        "blocks": count_outcomes(ledger.entries) if ledger else None,
        "lint": {"errors": known.errors, "warnings": known.warnings} if known else None,
    }


def _verify(session: Session) -> dict[str, object]:
    """Rebuild every version from the mail alone, and return the result."""
    found = verify(session.workspace, session.thread_id)
    words = "There is no version yet."
    if found.versions:
        words = verification_summary(found.versions, found.altered)
    return verification_json(found, found.versions) | {"sentence": words}


# Changes between two versions, by item and field


_MAX_ITEMS = 100
_MAX_UNCHANGED = 200


def items_document(
    context: RequestContext, old: ComparedVersion, new: ComparedVersion
) -> dict[str, object]:
    """Return the keys of `artifact diff --json` for one page of the items, with their marks."""
    found = diff(old.artifact, new.artifact)
    list_page = requested_page(context, len(found.items), _MAX_ITEMS)
    entries = _entries(context.session, old.number, new.number)
    conflicts = _conflicts(context.session, new.number)
    bare = found._replace(items=())
    query = {"from": old.number, "to": new.number}
    paging = list_page_document(list_page, session_page_links(context.thread_id, "diff", query))
    return diff_json(bare, old.artifact.metadata, new.artifact.metadata) | {
        "sentence": summary(found),
        "changes": changed_ids(found),
        "items": changed_items(list_page.slice(found.items), entries, conflicts),
        "metadata_marks": [
            {"label": each.field, "marks": marks_json(field_spans(each))} for each in found.metadata
        ],
        "same": unchanged_sentence(found.unchanged),
        "unchanged_items": _unchanged_items(found, new),
        "part": paging,
        "next": paging["next"],
    }


def _entries(session: Session, old: int, new: int) -> Iterator[Entry]:
    """Yield the blocks that were read after the one version and up to the other."""
    for number, ledger in session.ledgers.items():
        if old < number <= new:
            yield from ledger.entries


def _conflicts(session: Session, number: int) -> Mapping[str, tuple[Conflict, ...]]:
    """Return the open conflicts in a version, by item."""
    known = session.ledgers.get(number)
    return conflicts_by_item(known.conflicts if known else ())


def changed_items(
    changed: Iterable[ItemChange],
    entries: Iterable[Entry],
    conflicts: Mapping[str, Iterable[Conflict]] = MappingProxyType({}),
) -> list[dict[str, object]]:
    """Return items under the keys of `artifact diff --json`, with marks and the authors in
    `entries`.
    """
    authors = _authors(entries)
    return [
        item_change_json(each)
        | _marks_document(each, conflicts.get(each.id, ()))
        | {"by": authors.get(each.id, [])}
        for each in changed
    ]


def _marks_document(change: ItemChange, conflicts: Iterable[Conflict]) -> dict[str, object]:
    """Return labels and marks of a changed item. A disputed field has its conflict."""
    disputed = {field_label(change.section, each.path): each.to_json() for each in conflicts}
    return {
        "heading": LAYOUT_BY_SECTION[change.section].heading,
        "marks": [
            {"label": label, "marks": marks_json(marks), "conflict": disputed.get(label)}
            for label, marks in item_spans(change)
        ],
    }


def marks_json(marks: TextSpans) -> list[dict[str, str]]:
    """Return spans of a text with their marks."""
    return [{"mark": span.mark.value, "text": span.text} for span in marks]


def _authors(entries: Iterable[Entry]) -> Mapping[str, list[dict[str, object]]]:
    """Return the authors and messages that changed each item."""
    found: dict[str, dict[tuple[str, int], None]] = {}
    for entry in entries:
        if entry.state is BlockOutcome.APPLIED and entry.item_id:
            found.setdefault(entry.item_id, {})[entry.agent, entry.message_id] = None
    return {
        item: [{"agent": agent, "message_id": message} for agent, message in pairs]
        for item, pairs in found.items()
    }


def _unchanged_items(found: Diff, new: ComparedVersion) -> list[dict[str, str]]:
    """Return the items that did not change, up to a limit."""
    changed = {(change.section, change.id) for change in found.items}
    unchanged: Iterable[dict[str, str]] = (
        {"id": item.id, "section": section.id, "title": item.title}
        for section, item in new.artifact.all_items()
        if item.fields and (section.id, item.id) not in changed
    )
    return list(islice(unchanged, _MAX_UNCHANGED))


# Two versions compared as text: in two columns, or as a unified diff


_MAX_ROWS = 400
_MAX_LINES = 2_000


class _DiffRow(NamedTuple):
    """A row of the side-by-side diff. `skipped` counts the equal lines before it that are
    hidden.
    """

    pair: LinePair
    skipped: int


def columns_document(
    context: RequestContext, old: ComparedVersion, new: ComparedVersion
) -> dict[str, object]:
    """Return the changed rows, and those around them."""
    found = side_by_side(old.text, new.text)
    rows = list(_diff_rows(found))
    list_page = requested_page(context, len(rows), _MAX_ROWS)
    query = {"from": old.number, "to": new.number, "form": "text"}
    paging = list_page_document(list_page, session_page_links(context.thread_id, "diff", query))
    return {
        "rows": [_diff_row_document(found, row) for row in list_page.slice(rows)],
        "skipped": found.skipped if list_page.number == list_page.pages else 0,
        "part": paging,
        "next": paging["next"],
    }


def _diff_rows(found: SideBySide) -> Iterator[_DiffRow]:
    for stretch in found.hunks:
        for number, pair in enumerate(stretch.pairs):
            yield _DiffRow(pair, 0 if number else stretch.skipped)


def _diff_row_document(found: SideBySide, row: _DiffRow) -> dict[str, object]:
    left, right = found.spans_of(row.pair)
    pair = row.pair
    return {
        "skipped": row.skipped,
        "same": pair.is_same,
        "old": None if pair.old is None else pair.old + 1,
        "new": None if pair.new is None else pair.new + 1,
        "left": marks_json(left),
        "right": marks_json(right),
    }


def plain_text(context: RequestContext, old: ComparedVersion, new: ComparedVersion) -> str:
    """Return a unified diff, as the command line prints it."""
    names = [f"{context.thread_id}@v{each.number}" for each in (old, new)]
    return unified_diff(old.text, new.text, *names)


def plain_document(
    context: RequestContext, old: ComparedVersion, new: ComparedVersion
) -> dict[str, object]:
    """Return the first lines of a unified diff, and the address of all of it."""
    lines = split_lines(plain_text(context, old, new))
    raw = links.diff(context.thread_id, old.number, new.number, form="plain", raw=1)
    return {
        "text": "".join(lines[:_MAX_LINES]),
        "raw": raw,
        "lines": len(lines),
        "shown": min(len(lines), _MAX_LINES),
        "next": raw if len(lines) > _MAX_LINES else None,
    }


# The page that compares two versions


ITEMS, TEXT, PLAIN = "items", "text", "plain"
_DOCUMENTS: Mapping[
    str, Callable[[RequestContext, ComparedVersion, ComparedVersion], dict[str, object]]
] = MappingProxyType({ITEMS: items_document, TEXT: columns_document, PLAIN: plain_document})


def diff_page(context: RequestContext) -> PageResult:
    """Return what changed from one version to another."""
    session = context.session
    pair = requested_pair(context)
    old, new = version_side(session, pair.old), version_side(session, pair.new)
    form = context.query.get("form", ITEMS)
    form = form if form in _DOCUMENTS else ITEMS
    if form == PLAIN and context.query.get("raw") == "1":
        return Download(plain_text(context, old, new), "text/plain; charset=utf-8")
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        "form": form,
        "from": pair.old,
        "to": pair.new,
        "choices": version_choices(session),
        "since": _since(context, pair),
        "steps": _steps(context, pair, form),
        **_DOCUMENTS[form](context, old, new),
    }
    title = f"v{pair.old} → v{pair.new}"
    return Page("pages/diff.html", title, document)


def _since(context: RequestContext, pair: VersionPair) -> dict[str, object] | None:
    """Return the last visit if the page compares with it. Its fields are None if there was none."""
    if context.query.get("since") != "look":
        return None
    previous = pair.last_visit
    return {
        "version": previous.version if previous else None,
        "at": iso(previous.at) if previous else None,
        "seen": mark_seen_link(context.session)
        if previous and previous.version != pair.new
        else None,
    }


def _steps(context: RequestContext, pair: VersionPair, form: str) -> dict[str, str | None]:
    """Return the addresses of the comparisons before and after, and of this one backwards."""
    session = context.session
    thread_id = session.thread_id
    unchanged = None if form == ITEMS else form
    earlier, later = min(pair.old, pair.new), max(pair.old, pair.new)
    after = min((each for each in version_numbers(session) if each > later), default=None)
    return {
        "earlier": links.diff(thread_id, version_before(session, earlier), earlier, form=unchanged)
        if earlier
        else None,
        "later": links.diff(thread_id, later, after, form=unchanged) if after else None,
        "back": links.diff(thread_id, pair.new, pair.old, form=unchanged),
    }


# The page `/sessions/T/ledger`: every delta block with its outcome


_BLOCKS_PER_PAGE = 200
_MAX_FILTER_CHOICES = 24
_MAX_BLOCK_TEXT = 4_000  # characters of a refused block; the rest is in its message
_MAX_PAGE_TEXT = 60_000  # characters of all refused blocks on one page
UNREAD = "unread"  # value of `?version=` for blocks that no version has read
_LEDGER_TAB = "ledger"


class LedgerRow(NamedTuple):
    """A ledger entry, and the version that has read it (None if none has)."""

    version: int | None
    entry: Entry


def ledger_page(context: RequestContext) -> PageResult:
    """Return the delta blocks by version, newest first."""
    session = context.session
    everything = session.cached(ledger_rows)
    wanted = _requested_filters(context)
    found = [row for row in everything if _matches(row, wanted)] if wanted else everything
    shown = requested_page(context, len(found), _BLOCKS_PER_PAGE)
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        "dismiss": None if context.guest_of is not None else _dismiss_command(session.thread_id),
        "blocks": len(everything),
        **session.cached(_counts),
        "versions": list(session.ledgers),
        "aside": [
            each.diagnostic.to_json()
            for each in session.history.ignored_blocks[:_MAX_FILTER_CHOICES]
        ],
        "taken_as_read": list(session.cached(taken_as_read)),
        "filters": _filters(session, wanted),
        "found": len(found),
        **list_page_document(shown, session_page_links(session.thread_id, _LEDGER_TAB, wanted)),
        "groups": list(_groups(session, shown.slice(found))),
    }
    return Page("pages/ledger.html", "Ledger", document)


def _dismiss_command(thread_id: str) -> str:
    """Return the command that dismisses a refused block. The block, such as `7.2`, is to be
    added.
    """
    return f"brenner session dismiss {thread_argument(thread_id)}"


def ledger_rows(session: Session) -> list[LedgerRow]:
    """Return every block of the session: unread ones, then version by version."""
    unread = [LedgerRow(None, entry) for entry in session.unread_entries]
    newest_first = sorted(session.ledgers.values(), key=lambda each: -each.number)
    return unread + [
        LedgerRow(each.number, entry) for each in newest_first for entry in each.entries
    ]


def _counts(session: Session) -> Mapping[str, int]:
    return count_outcomes(tuple(row.entry for row in session.cached(ledger_rows)))


def taken_as_read(session: Session) -> tuple[int, ...]:
    """Return the messages whose blocks are in no ledger, because an adopted version counts them
    as read.
    """
    known = {row.entry.message_id for row in session.cached(ledger_rows)}
    others = (each for each in session.stored if each.type == DELTA.name and each.id not in known)
    return tuple(
        each.id for each in others if any(map(is_delta_fence, parse_blocks(each.message.body)))
    )


# Filters


def _version_value(row: LedgerRow) -> str:
    return UNREAD if row.version is None else str(row.version)


# The value that each filter compares; the page shows them in this order
_FILTERS: Mapping[str, Callable[[LedgerRow], str]] = MappingProxyType(
    {
        "outcome": lambda row: row.entry.state.value,
        "version": _version_value,
        "agent": lambda row: row.entry.agent,
    }
)


def _requested_filters(context: RequestContext) -> dict[str, str]:
    """Return the requested filters. A version may be written as `v3`."""
    given = {name: context.query.get(name, "") for name in _FILTERS}
    version = VERSION.fullmatch(given["version"])
    given["version"] = version[1] if version else given["version"]
    return {name: value for name, value in given.items() if value}


def _matches(row: LedgerRow, wanted: Mapping[str, str]) -> bool:
    return all(_FILTERS[name](row) == value for name, value in wanted.items())


def row_counts(session: Session) -> Counter[tuple[str, ...]]:
    """Count the blocks of each outcome, version and agent, newest version first."""
    of = tuple(_FILTERS.values())
    return Counter(tuple(value_of(row) for value_of in of) for row in session.cached(ledger_rows))


def _filters(session: Session, wanted: Mapping[str, str]) -> Document:
    """Return the choices of each filter, with the number of blocks under the other filters.

    The number of choices is bounded: the newest versions, and the agents with most blocks.
    """
    found: dict[str, object] = {}
    for place, name in enumerate(_FILTERS):
        others = {key: value for key, value in wanted.items() if key != name}
        every, fitting = Counter[str](), Counter[str]()
        for kind, count in session.cached(row_counts).items():
            every[kind[place]] += count
            is_fitting = all(
                others.get(key, each) == each for key, each in zip(_FILTERS, kind, strict=True)
            )
            fitting[kind[place]] += count * is_fitting
        known = list(every) if name == "version" else [each for each, _ in every.most_common()]
        values = (
            [each.value for each in BlockOutcome]
            if name == "outcome"
            else known[:_MAX_FILTER_CHOICES]
        )
        chosen = [wanted[name]] if name in wanted and wanted[name] not in values else []
        found[name] = [
            {
                "value": value,
                "blocks": fitting[value],
                "is_chosen": wanted.get(name) == value,
                "address": links.session(session.thread_id, _LEDGER_TAB, **{**others, name: value}),
                "without": links.session(session.thread_id, _LEDGER_TAB, **others),
            }
            for value in [*values, *chosen]
        ]
    return found


# Rows


def _groups(session: Session, shown: Sequence[LedgerRow]) -> Iterator[Document]:
    """Yield the rows of a page by version, with the outcomes of all blocks of the version."""
    documents = _LedgerDocuments(session)
    for version, group in groupby(shown, key=lambda row: row.version):
        entries = session.unread_entries if version is None else session.ledgers[version].entries
        yield {
            "version": version,
            "blocks": len(entries),
            **count_outcomes(entries),
            "entries": [documents.document(row) for row in group],
        }


class _LedgerDocuments:
    """Documents of ledger rows. The texts of refused blocks come from their messages."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._trusts = {
            each.id: each.envelope.trust.value if each.envelope.trust else None
            for each in session.stored
        }
        self._bodies = {each.posted.id: each.posted.message.body for each in session.messages}
        self._open_refusals = {(each.message_id, each.block) for each in session.status.refusals}
        self._fences: dict[int, list[str]] = {}
        self._text_left = _MAX_PAGE_TEXT

    def document(self, row: LedgerRow) -> Document:
        """Return `Entry.to_json` with the words of the page."""
        entry = row.entry
        faults = sorted(entry.diagnostics, key=worst_first)
        document: dict[str, object] = {
            **entry.to_json(),
            "violations": [found.to_json() for found in faults],
            "version": row.version,
            "trust": self._trusts.get(entry.message_id),
            "says": describe_block(entry),
            "outcome": describe_outcome(entry, is_read=row.version is not None),
            "settled": None,
            "open": (entry.message_id, entry.block) in self._open_refusals,
            "sent": None,
        }
        if entry.state is BlockOutcome.REFUSED:
            settled = self._session.resolved.get((entry.message_id, entry.block))
            document["settled"] = (
                {"how": settled.how.value, "message_id": settled.message_id} if settled else None
            )
            document["sent"] = self._sent(entry)
        return document

    def _sent(self, entry: Entry) -> Document:
        """Return what the author wrote, cut if it is long."""
        number = entry.message_id
        if number not in self._fences:
            found = filter(is_delta_fence, parse_blocks(self._bodies.get(number, "")))
            self._fences[number] = [fence.text for fence in found]
        fences = self._fences[number]
        text = fences[entry.block - 1] if entry.block <= len(fences) else ""
        most = max(0, min(_MAX_BLOCK_TEXT, self._text_left))
        self._text_left -= min(len(text), most)
        return {"text": text[:most], "is_cut": len(text) > most}
