"""The palette: all that one can go to from a page. A script filters it over any page; the page
`/palette` lists the same.

It has the actions that are possible now, pages, sessions, items and agents. Guests get those of
their session only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple
from brenner.session.overview import describe_phase, urgency_key
from brenner.text import cut
from brenner.web import links
from brenner.web.layout import session_or_none
from brenner.web.rendering import section_name
from brenner.web.request import Document, Page, PageResult, RequestContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.session.overview import Overview
    from brenner.web.item_index import IndexedItem
    from brenner.web.sessions import Session

_MAX_SESSIONS, _MAX_ITEMS, _MAX_AGENTS = 200, 2_000, 100
_MAX_NAME = 160


def page(context: RequestContext) -> PageResult:
    """Return all entries, grouped by kind."""
    thread_id = context.parameters.get("thread")
    session = session_or_none(context) if thread_id else None
    is_guest = context.guest_of is not None
    groups = (
        ("Actions", _actions(context, session)),
        (
            "Pages of this session",
            _tabs(thread_id, is_guest=is_guest) if thread_id else (),
        ),
        ("Pages", _pages(context)),
        ("Items of this session", _items(context, [thread_id] if thread_id else [])),
        ("Sessions", _sessions(context)),
        ("Agents", _agents(context, session)),
        ("Items of other sessions", _items_elsewhere(context, thread_id)),
    )
    found = [
        {"name": name, "entries": [each.to_json() for each in entries]} for name, entries in groups
    ]
    document = {
        "thread_id": thread_id,
        "groups": [each for each in found if each["entries"]],
        "search": links.search(None, None, thread_id if context.guest_of is not None else None),
    }
    return Page("pages/palette.html", "Go to", document, is_live=False)


class PaletteEntry(NamedTuple):
    """Something that one can go to: what it is called, and where it leads.

    `key` is the key that does the same. `session` is the session, or that of an item.
    """

    title: str
    link: str
    id: str = ""
    detail: str = ""
    key: str = ""
    session: str | None = None
    killed: bool = False

    def to_json(self) -> Document:
        return {**self._asdict(), "title": cut(self.title, _MAX_NAME)}


# Actions


def _actions(context: RequestContext, session: Session | None) -> Iterator[PaletteEntry]:
    """Yield the actions of the operator that are possible now."""
    if not context.site.is_lab or context.guest_of is not None:
        return
    if context.login is None:
        yield PaletteEntry("Log in to the lab", links.lab("login"))
        return
    for action, title in _session_actions(session) if session else ():
        yield PaletteEntry(title, links.lab(action, session.thread_id if session else ""))
    yield PaletteEntry("Start a session", links.lab("start"))


def _session_actions(session: Session) -> Iterator[tuple[str, str]]:
    status = session.status
    if status.applies and not status.cancelled and status.compile_blocker is None:
        yield "compile", "Compile"
    if status.version:
        if session.persistence.status != _COMMITTED:
            yield "persist", "Persist Artifact"
        if not status.is_over:
            yield "round", "Start next round"
            yield "complete", "Complete session"
            yield "critique", "Send critique"
    yield "reply", "Write message"
    if any(each.debtor == session.workspace.project.operator for each in status.open_acks):
        yield "acknowledge", "Acknowledge"
    if not status.is_over:
        yield "cancel", "Cancel session"


_COMMITTED = "Persisted"


# Pages


def _tabs(thread_id: str, *, is_guest: bool) -> Iterator[PaletteEntry]:
    for number, tab in enumerate(links.TABS):
        link = links.session(thread_id, tab if number else "")
        yield PaletteEntry(tab.capitalize(), link, key=str(number + 1))
    yield PaletteEntry("Cited sources", links.session(thread_id, "excerpts"))
    if not is_guest:
        yield PaletteEntry(
            "Decide", links.session(thread_id, "decide"), key=str(len(links.TABS) + 1)
        )
    yield PaletteEntry("Search this session", links.search(None, None, thread_id))


def _pages(context: RequestContext) -> Iterator[PaletteEntry]:
    if context.guest_of is None:
        yield PaletteEntry("All sessions", links.HOME, key="g h")
        yield PaletteEntry("Search", links.SEARCH)
        yield PaletteEntry("Genealogy", links.GENEALOGY, detail="which item comes from which")
        yield PaletteEntry("Connect an agent", links.CONNECT)
        project = context.site.workspace.project
        if project.source_text:
            yield PaletteEntry("Source text", links.SOURCE)
        if project.evidence_pack:
            yield PaletteEntry("Evidence pack", links.EVIDENCE)
        if context.site.is_lab and context.login is not None:
            yield PaletteEntry("Lab", links.LAB, detail="what waits for you")
    yield PaletteEntry("Help", links.HELP, key="?")


# Sessions, items, agents


def _sessions(context: RequestContext) -> Iterator[PaletteEntry]:
    """Yield the sessions, most urgent first as on the home page."""
    deadline = context.site.workspace.project.ack_deadline
    rows = context.site.reading.listing().sessions.values()
    seen = [each for each in rows if context.may_see(each.thread_id)]
    for each in sorted(seen, key=lambda row: urgency_key(row, context.now, deadline))[
        :_MAX_SESSIONS
    ]:
        yield _session(each)


def _session(row: Overview) -> PaletteEntry:
    title = row.question or row.thread_id
    phase = describe_phase(row)[0]
    return PaletteEntry(title, links.session(row.thread_id), detail=phase, session=row.thread_id)


def _items(
    context: RequestContext, threads: Iterable[str], most: int = _MAX_ITEMS
) -> Iterator[PaletteEntry]:
    """Yield the items of sessions, newest session first, up to a maximum."""
    for thread_id in threads:
        found = context.site.reading.items(thread_id)[:most]
        yield from map(_item, found)
        most -= len(found)
        if most <= 0:
            return


def _item(item: IndexedItem) -> PaletteEntry:
    return PaletteEntry(
        item.name,
        links.item(item.session, item.id),
        item.id,
        section_name(item.section),
        session=item.session,
        killed=item.killed is not None,
    )


def _items_elsewhere(context: RequestContext, thread_id: str | None) -> Iterator[PaletteEntry]:
    names = context.site.reading.listing().sessions
    others = [name for name in names if name != thread_id and context.may_see(name)]
    return _items(context, others)


def _agents(context: RequestContext, session: Session | None) -> Iterator[PaletteEntry]:
    """Yield the agents of the session, else all agents with what they have sent."""
    if session is not None:
        link = links.session(session.thread_id, "agents")
        for each in session.status.participants[:_MAX_AGENTS]:
            yield PaletteEntry(each.name, link, detail=each.role or "")
    elif context.guest_of is None:
        for agent in context.site.workspace.mailbox.agents()[:_MAX_AGENTS]:
            yield PaletteEntry(agent.name, links.search(f"from:{agent.name}"), detail="messages")
