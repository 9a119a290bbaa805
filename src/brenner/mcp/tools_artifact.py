"""`brenner_artifact`: the latest version, whole or in part, and the changes since another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.codes.serving import INVALID_ARGUMENT
from brenner.diagnostics.model import RequestError
from brenner.mcp.identity import AGENT, TOKEN, note_fetched, reader_of
from brenner.mcp.tool import Argument, ArgumentKind, Call, Tool, ToolResult
from brenner.mcp.untrusted_text import ForeignText, framed_result, plain_or_foreign, text_author
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.messages import iso
from brenner.services import agent_task as parts
from brenner.services.artifact_pages import (
    Page,
    Piece,
    json_pages,
    markdown_pages,
    outline,
    pages_of,
)
from brenner.services.receive import has_session_mail
from brenner.services.versions import LoadedVersion, Target, load_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.model import Item
    from brenner.artifact.state import Blame, Source
    from brenner.mail.mailbox import Mailbox

MARKDOWN, JSON = "markdown", "json"
# The base that the next contribution states if `base` is missing
_UNNAMED = (
    "To build on it with `brenner_post`, pass your name as `agent` here, or `base: {0}` there."
)
_BASE = "The next `brenner_post` of {agent}{where} uses v{0} as its base."
_UNPROVEN = (
    "You have not passed the secret of {agent}, so only posts without the secret use v{0} as their "
    "base. To post with it, pass `sender_token` here, too, or `base: {0}` there."
)


def run_artifact(call: Call) -> ToolResult:
    """Show the artifact, and record which version the caller has seen: the base of its next
    delta.
    """
    thread_id, reader = call.text("thread_id").strip(), reader_of(call)
    try:
        loaded = load_version(call.workspace, Target(thread_id), with_state=True)
    except RequestError as refused:
        if refused.diagnostic.code is not NO_VERSION_YET:
            raise
        return _no_version(call.workspace.mailbox, thread_id)
    part = parts.find_part(loaded.artifact, thread_id, call.text("section"), call.text("item"))
    since = call.number("since")
    shown = _whole(call, loaded, part) if since is None else _since(call, loaded, part, since)
    number = loaded.number or 0
    is_base, following = False, _UNNAMED.format(number)
    if reader:
        agent, trust, is_proven = reader
        note_fetched(call, agent, trust, thread_id, number)
        is_base = is_proven or call.caller.connection is not None
        where = "" if is_proven else " over this connection"
        following = (_BASE if is_base else _UNPROVEN).format(number, agent=agent, where=where)
    base = {"base_of_your_next_post": number if is_base else None}
    hints = [*_page_hints(shown), following]
    value = {**_head(loaded, part), **base, **shown, "hints": hints}
    return framed_result(value, (*_lines(value), *hints))


def _no_version(mailbox: Mailbox, thread_id: str) -> ToolResult:
    is_session = has_session_mail(mailbox, thread_id)
    said = (
        f"{thread_id} has no version yet. The operator compiles the first one when deltas have "
        "arrived. Read the kickoff in your inbox, and contribute with `brenner_post`."
        if is_session
        else f"{thread_id} is not a session: it has no kickoff and no delta. "
        "`brenner_task` without thread_id lists the sessions that wait for you."
    )
    return framed_result({"thread_id": thread_id, "version": None, "next": said}, [said])


def _head(loaded: LoadedVersion, part: parts.ArtifactPart) -> dict[str, object]:
    message, (section, item_id) = loaded.message, part
    return {
        "thread_id": loaded.thread_id,
        "version": loaded.number,
        "message_id": message.id if message else None,
        "published": iso(message.at) if message else None,
        "section": section.id if section else None,
        "item": plain_or_foreign(item_id, ITEM_ID) if item_id else None,
        "notes": [{"id": each.id, "message": ForeignText(each.message)} for each in loaded.notes],
    }


def _whole(call: Call, loaded: LoadedVersion, part: parts.ArtifactPart) -> dict[str, object]:
    pages = (
        json_pages(parts.part_json(loaded, part))
        if call.text("format") == JSON
        else markdown_pages(parts.part_markdown(loaded, part))
    )
    blame = loaded.state.blame if loaded.state else {}
    sources = _sources(parts.items_in(loaded.artifact, part), blame)
    authors = authors_of(call.workspace.mailbox, sources)
    page, about = _page(call, pages)
    return {**about, "artifact": ForeignText(page.text, authors)}


def _since(
    call: Call, loaded: LoadedVersion, part: parts.ArtifactPart, number: int
) -> dict[str, object]:
    old = parts.load_earlier(call.workspace, loaded.thread_id, number)
    found = parts.changes_since(old, loaded, part)
    changed = parts.find_change_sources(found, loaded.state.blame if loaded.state else {})
    pages = (
        json_pages(parts.changes_json(found, old, loaded.artifact))
        if call.text("format") == JSON
        else pages_of(
            Piece(each[0].id, ("\n" if count else "") + parts.changes_markdown([each]))
            for count, each in enumerate(changed)
        )
    )
    sources = [each.source for _, by in changed for _, each in by if each]
    authors = authors_of(call.workspace.mailbox, sources)
    page, about = _page(call, pages)
    return {
        "since": number,
        "changed_items": len(found.items),
        **about,
        "changes": ForeignText(page.text, authors) if found.items else None,
    }


def _page(call: Call, pages: Sequence[Page]) -> tuple[Page, dict[str, object]]:
    """Return the page that the caller wants, and where it is among the others."""
    wanted, count = call.number("page"), len(pages)
    number = 1 if wanted is None else wanted
    if not 1 <= number <= count:
        expected = f"a number from 1 to {count}" if count > 1 else "1, the only page"
        raise RequestError(INVALID_ARGUMENT.at(name="page", value=number, expected=expected))
    about = {"characters": sum(len(each.text) for each in pages), "page": number, "pages": count}
    return pages[number - 1], about | ({"outline": outline(pages)} if count > 1 else {})


def _page_hints(shown: Mapping[str, object]) -> Iterator[str]:
    page, pages = shown["page"], shown["pages"]
    if isinstance(page, int) and isinstance(pages, int) and pages > 1:
        following = f"The next one is `page`: {page + 1}. " if page < pages else ""
        yield (
            f"This is page {page} of {pages}. {following}`section` or `item` shows a part, `since` "
            "only what is new."
        )


def _sources(items: Iterable[Item], blame: Blame) -> Iterator[Source]:
    for item in items:
        for change in blame.get(item.id, {}).values():
            yield change.source


def authors_of(mailbox: Mailbox, sources: Iterable[Source]) -> tuple[str, ...]:
    """Return the authors of what is shown, with the trust in each of their messages."""
    messages = dict.fromkeys((each.agent, each.message_id) for each in sources)
    return tuple(dict.fromkeys(author_of(mailbox, *each) for each in messages))


def author_of(mailbox: Mailbox, agent: str, message_id: int) -> str:
    """Return the author of a message, as far as the store knows it."""
    try:
        return text_author(agent, mailbox.message(message_id).envelope.trust)
    except RequestError:
        return text_author(agent)


def _lines(value: dict[str, object]) -> Iterator[str | ForeignText]:
    since = value.get("since")
    changed = (
        f", {value['changed_items']} items changed since v{since}" if since is not None else ""
    )
    size = value["characters"]
    yield f"{value['thread_id']} v{value['version']}{changed} ({size} characters)"
    rows = value.get("outline")
    for row in rows if isinstance(rows, list) else ():
        yield f"Page {row['page']}: {', '.join(row['items'])}"
    shown = value.get("artifact") or value.get("changes")
    if isinstance(shown, ForeignText):
        yield shown
    notes = value["notes"]
    for note in notes if isinstance(notes, list) else ():
        yield f"{note['id']}:"
        yield note["message"]


TOOL = Tool(
    "brenner_artifact",
    "Show the latest version of a thread's artifact, or one section or item of it. With `since`: "
    "what changed after that version, and who changed it.",
    (
        Argument("thread_id", required=True),
        Argument("section"),
        Argument("item", about="e.g. H2"),
        Argument("since", ArgumentKind.VERSION),
        Argument("page", ArgumentKind.NUMBER),
        Argument("format", default=MARKDOWN, choices=(MARKDOWN, JSON)),
        AGENT,
        TOKEN,
    ),
    run_artifact,
    is_read_only=True,
)
