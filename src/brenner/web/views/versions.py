"""Pages of the versions: the history, the comparison of two versions, and the ledger of delta
blocks.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby, islice
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

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
from brenner.artifact.model import LAYOUT_BY_SECTION, Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import diff_json, item_change_json
from brenner.artifact.state import BlockOutcome, Conflict, Entry, count_outcomes
from brenner.artifact.text_diff import (
    Mark,
    TextSpan,
    line_spans,
    side_by_side,
    split_lines,
    unified_diff,
)
from brenner.diagnostics.model import worst_first
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.delta.schema import EDIT
from brenner.protocol.grammar import VERSION
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import iso
from brenner.services.versions import (
    ListedVersion,
    verification_json,
    verification_summary,
    verify,
    version_list_json,
)
from brenner.session.overview import misplaced_json
from brenner.text import thread_argument
from brenner.web import links
from brenner.web.compare import (
    SEEN_PARAMETER,
    last_visit_document,
    mark_seen_link,
    requested_pair,
    seen_cookie,
    version_before,
    version_numbers,
    version_side,
)
from brenner.web.contributions import changed_fields
from brenner.web.items import conflicts_by_item
from brenner.web.layout import session_document
from brenner.web.messages import NOT_REPEATED, repeated_blocks
from brenner.web.rendering import list_page_document, requested_page, session_page_links
from brenner.web.request import Document, Download, Page, PageResult, Redirect, RequestContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from brenner.markdown.blocks import Block
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
    session, versions = context.session, context.session.version_list
    found = requested_page(context, len(versions), _MAX_VERSIONS)
    shown = tuple(found.slice(versions[::-1]))
    document = version_list_json(session.history, shown)
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
    words = "No version yet."
    if found.versions:
        words = verification_summary(found.versions, found.altered)
    return verification_json(found, found.versions) | {"sentence": words}


# Changes between two versions, by item and field


_MAX_ITEMS = 100
_MAX_UNCHANGED = 200


def items_document(context: RequestContext, old: Artifact, new: Artifact) -> dict[str, object]:
    """Return the keys of `artifact diff --json` for one page of the items, with their marks."""
    found = diff(old, new)
    list_page = requested_page(context, len(found.items), _MAX_ITEMS)
    numbers = old.metadata.version or 0, new.metadata.version or 0
    entries = _entries(context.session, *numbers)
    known = context.session.ledgers.get(numbers[1])
    conflicts = conflicts_by_item(known.state.conflicts if known else ())
    bare = found._replace(items=())
    query = dict(zip(("from", "to"), numbers, strict=True))
    paging = list_page_document(list_page, session_page_links(context.thread_id, "diff", query))
    return diff_json(bare, old.metadata, new.metadata) | {
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


def changed_items(
    changed: Iterable[ItemChange],
    entries: Iterable[Entry],
    conflicts: Mapping[str, Iterable[Conflict]] = MappingProxyType({}),
) -> list[dict[str, object]]:
    """Return items with the keys of `artifact diff --json`, marks and the authors in `entries`."""
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
            {
                "label": label,
                "marks": marks_json(replaced_spans(marks)),
                "conflict": disputed.get(label),
            }
            for label, marks in item_spans(change)
        ],
    }


_LEAST_SHARE = 0.5  # of a text that is left, or it counts as replaced


def replaced_spans(marks: TextSpans) -> TextSpans:
    """Return the old and the new text as wholes if less than half of the words are left.

    Words of both that alternate are hard to read.
    """
    old, new = (
        "".join(span.text for span in marks if span.mark is not other)
        for other in (Mark.INSERTED, Mark.REMOVED)
    )
    left = sum(len(span.text) for span in marks if span.mark is Mark.SAME)
    is_edited = left >= _LEAST_SHARE * max(len(old), len(new))
    if is_edited or old == new or not (old and new):
        return marks
    return TextSpan(Mark.REMOVED, old), TextSpan(Mark.INSERTED, new)


def marks_json(marks: TextSpans) -> list[dict[str, str]]:
    return [{"mark": span.mark.value, "text": span.text} for span in marks]


def _authors(entries: Iterable[Entry]) -> Mapping[str, list[dict[str, object]]]:
    found: dict[str, dict[tuple[str, int], None]] = {}
    for entry in entries:
        if entry.state is BlockOutcome.APPLIED and entry.item_id:
            found.setdefault(entry.item_id, {})[entry.agent, entry.message_id] = None
    return {
        item: [{"agent": agent, "message_id": message} for agent, message in pairs]
        for item, pairs in found.items()
    }


def _unchanged_items(found: Diff, new: Artifact) -> list[dict[str, str]]:
    """Return the items that did not change, up to a limit."""
    changed = {(change.section, change.id) for change in found.items}
    unchanged: Iterable[dict[str, str]] = (
        {"id": item.id, "section": section.id, "title": item.title}
        for section, item in new.all_items()
        if item.fields and (section.id, item.id) not in changed
    )
    return list(islice(unchanged, _MAX_UNCHANGED))


# Two versions compared as text: in two columns, or as a unified diff


_MAX_ROWS = 400
_MAX_LINES = 2_000


def columns_document(context: RequestContext, old: Artifact, new: Artifact) -> dict[str, object]:
    """Return the changed rows, and those around them."""
    before, after = split_lines(render_artifact(old)), split_lines(render_artifact(new))
    pairs, skipped = side_by_side(before, after)
    list_page = requested_page(context, len(pairs), _MAX_ROWS)
    query = {"from": old.metadata.version, "to": new.metadata.version, "form": "text"}
    paging = list_page_document(list_page, session_page_links(context.thread_id, "diff", query))
    rows = []
    for pair in list_page.slice(pairs):
        left, right = line_spans(pair, before, after)
        rows.append(
            {
                "skipped": pair.skipped,
                "same": pair.is_same,
                "old": None if pair.old is None else pair.old + 1,
                "new": None if pair.new is None else pair.new + 1,
                "left": marks_json(left),
                "right": marks_json(right),
            }
        )
    return {
        "rows": rows,
        "skipped": skipped if list_page.number == list_page.pages else 0,
        "part": paging,
        "next": paging["next"],
    }


def plain_text(context: RequestContext, old: Artifact, new: Artifact) -> str:
    """Return a unified diff, as the command line prints it."""
    names = [f"{context.thread_id}@v{each.metadata.version}" for each in (old, new)]
    return unified_diff(render_artifact(old), render_artifact(new), *names)


def plain_document(context: RequestContext, old: Artifact, new: Artifact) -> dict[str, object]:
    """Return the first lines of a unified diff, and the address of all of it."""
    lines = split_lines(plain_text(context, old, new))
    numbers = old.metadata.version or 0, new.metadata.version or 0
    raw = links.diff(context.thread_id, *numbers, form="plain", raw=1)
    return {
        "text": "".join(lines[:_MAX_LINES]),
        "raw": raw,
        "lines": len(lines),
        "shown": min(len(lines), _MAX_LINES),
        "next": raw if len(lines) > _MAX_LINES else None,
    }


# The page that compares two versions


ITEMS, TEXT, PLAIN = "items", "text", "plain"
_DOCUMENTS: Mapping[str, Callable[[RequestContext, Artifact, Artifact], dict[str, object]]] = (
    MappingProxyType({ITEMS: items_document, TEXT: columns_document, PLAIN: plain_document})
)


def diff_page(context: RequestContext) -> PageResult:
    session = context.session
    before, after, previous = requested_pair(context)
    old, new = version_side(session, before), version_side(session, after)
    form = context.query.get("form", ITEMS)
    form = form if form in _DOCUMENTS else ITEMS
    if form == PLAIN and context.query.get("raw") == "1":
        return Download(plain_text(context, old, new), "text/plain; charset=utf-8")
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        "form": form,
        "from": before,
        "to": after,
        "choices": version_choices(session),
        "since": _since(context, previous, after),
        "steps": _steps(context, before, after, form),
        **_DOCUMENTS[form](context, old, new),
    }
    title = f"v{before} → v{after}"
    return Page("pages/diff.html", title, document)


def _since(
    context: RequestContext, previous: tuple[int, datetime] | None, new: int
) -> dict[str, object] | None:
    """Return the last visit if the page compares with it. Its fields are None if there was none."""
    if context.query.get("since") != "look":
        return None
    version, at = previous or (None, None)
    return {
        "version": version,
        "at": iso(at) if at else None,
        "seen": mark_seen_link(context.session) if version not in (None, new) else None,
    }


def _steps(context: RequestContext, old: int, new: int, form: str) -> dict[str, str | None]:
    """Return the addresses of the comparisons before and after, and of this one backwards."""
    session = context.session
    thread_id = session.thread_id
    unchanged = None if form == ITEMS else form
    earlier, later = min(old, new), max(old, new)
    after = min((each for each in version_numbers(session) if each > later), default=None)
    return {
        "earlier": links.diff(thread_id, version_before(session, earlier), earlier, form=unchanged)
        if earlier
        else None,
        "later": links.diff(thread_id, later, after, form=unchanged) if after else None,
        "back": links.diff(thread_id, new, old, form=unchanged),
    }


# The page `/sessions/T/ledger`: every delta block with its outcome


_BLOCKS_PER_PAGE = 200
_MAX_FILTER_CHOICES = 24
_MAX_BLOCK_TEXT = 4_000  # characters of a refused block; the rest is in its message
_MAX_PAGE_TEXT = 60_000  # characters of all refused blocks on one page
UNREAD = "unread"  # value of `?version=` for blocks that no version has read
_LEDGER_TAB = "ledger"


_Row: TypeAlias = "tuple[int | None, Entry]"  # an entry, and the version that has read it


def ledger_page(context: RequestContext) -> PageResult:
    """Return the delta blocks by version, newest first."""
    session = context.session
    everything = session.cached(ledger_rows)
    wanted = _requested_filters(context)
    found = [
        row
        for row in everything
        if all(_FILTERS[name](row) == value for name, value in wanted.items())
    ]
    shown = requested_page(context, len(found), _BLOCKS_PER_PAGE)
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        # The block, such as `7.2`, is to be added
        "dismiss": None
        if context.guest_of is not None
        else f"brenner session dismiss {thread_argument(session.thread_id)}",
        "blocks": len(everything),
        **session.cached(_counts),
        "versions": list(session.ledgers),
        "aside": [
            ignored.to_json() for _, ignored in session.history.ignored_blocks[:_MAX_FILTER_CHOICES]
        ],
        "misplaced": [
            row | {"says": _misplaced_words(row)}
            for row in misplaced_json(session.status.misplaced[:_MAX_FILTER_CHOICES])
        ],
        "misplaced_count": len(session.status.misplaced),
        "taken_as_read": list(session.cached(taken_as_read)),
        "filters": _filters(session, wanted),
        "found": len(found),
        **list_page_document(shown, session_page_links(session.thread_id, _LEDGER_TAB, wanted)),
        "groups": list(_groups(session, shown.slice(found))),
    }
    return Page("pages/ledger.html", "Ledger", document)


def _misplaced_words(row: Mapping[str, object]) -> str:
    found = (row["operation"], row["target_id"] or row["section"], row["name"])
    return " ".join(str(each) for each in found if each) or "unreadable"


def ledger_rows(session: Session) -> list[_Row]:
    """Return every block of the session: unread ones, then version by version."""
    newest_first = sorted(session.ledgers.values(), key=lambda each: -each.number)
    return [
        *((None, entry) for entry in session.unread_entries),
        *((each.number, entry) for each in newest_first for entry in each.entries),
    ]


def _counts(session: Session) -> Mapping[str, int]:
    return count_outcomes(tuple(entry for _, entry in session.cached(ledger_rows)))


def taken_as_read(session: Session) -> tuple[int, ...]:
    """Return the messages that an adopted version counts as read: their blocks are in no ledger."""
    known = {entry.message_id for _, entry in session.cached(ledger_rows)}
    others = (each for each in session.stored if each.type == DELTA.name and each.id not in known)
    return tuple(
        each.id for each in others if any(map(is_delta_fence, parse_blocks(each.message.body)))
    )


# Filters


# The value that each filter compares; the page shows them in this order
_FILTERS: Mapping[str, Callable[[_Row], str]] = MappingProxyType(
    {
        "outcome": lambda row: row[1].state.value,
        "version": lambda row: UNREAD if row[0] is None else str(row[0]),
        "agent": lambda row: row[1].agent,
    }
)


def _requested_filters(context: RequestContext) -> dict[str, str]:
    """Return the requested filters. A version may be written as `v3`."""
    given = {name: context.query.get(name, "") for name in _FILTERS}
    version = VERSION.fullmatch(given["version"])
    given["version"] = version[1] if version else given["version"]
    return {name: value for name, value in given.items() if value}


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


def _groups(session: Session, shown: Sequence[_Row]) -> Iterator[Document]:
    """Yield the rows of a page by version, with the outcomes of all blocks of the version."""
    trusts = {each.id: each.envelope.trust for each in session.stored}
    open_refusals = {(each.message_id, each.block) for each in session.status.refusals}
    texts = _refused_texts(session, [entry for _, entry in shown])
    repeated = repeated_blocks(entry for _, entry in shown)
    for version, group in groupby(shown, key=itemgetter(0)):
        entries = session.unread_entries if version is None else session.ledgers[version].entries
        rows = [
            _row_document(session, version, entry)
            | {
                "trust": trust.value if (trust := trusts.get(entry.message_id)) else None,
                "open": (entry.message_id, entry.block) in open_refusals,
                "sent": texts.get((entry.message_id, entry.block)),
                **repeated.get((entry.message_id, entry.block), NOT_REPEATED),
            }
            for _, entry in group
        ]
        counts = count_outcomes(entries)
        yield {"version": version, "blocks": len(entries), **counts, "entries": rows}


def _row_document(session: Session, version: int | None, entry: Entry) -> dict[str, object]:
    """Return `Entry.to_json` with the words of the page."""
    is_refused = entry.state is BlockOutcome.REFUSED
    settled = session.resolved.get((entry.message_id, entry.block)) if is_refused else None
    return {
        **entry.to_json(),
        "violations": [found.to_json() for found in sorted(entry.diagnostics, key=worst_first)],
        "version": version,
        "trust": None,
        "says": describe_block(entry),
        "fields": changed_fields(session, entry.message_id, entry.block)
        if entry.operation == EDIT
        else [],
        "outcome": describe_outcome(entry, is_read=version is not None),
        "settled": {"how": settled[0], "message_id": settled[1]} if settled else None,
    }


def _refused_texts(
    session: Session, entries: Iterable[Entry]
) -> Mapping[tuple[int, int], Document]:
    bodies = {each.id: each.message.body for each in session.messages}
    fences: dict[int, list[Block]] = {}
    found: dict[tuple[int, int], Document] = {}
    left = _MAX_PAGE_TEXT
    for entry in entries:
        if entry.state is not BlockOutcome.REFUSED:
            continue
        number, block = entry.message_id, entry.block
        if number not in fences:
            fences[number] = list(filter(is_delta_fence, parse_blocks(bodies.get(number, ""))))
        text = fences[number][block - 1].text if block <= len(fences[number]) else ""
        most = min(_MAX_BLOCK_TEXT, left)
        found[number, block] = {"text": text[:most], "is_cut": len(text) > most}
        left -= min(len(text), most)
    return found
