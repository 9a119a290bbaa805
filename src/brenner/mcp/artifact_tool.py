"""`brenner_artifact`: the latest version, whole or in part, and what changed since another one."""

from collections.abc import Iterable, Iterator

from brenner.artifact.model import Item
from brenner.artifact.state import Blame, Source
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mcp.framing import Author, Foreign, answered, word
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.mcp.who import AGENT, TOKEN, Reader, note_fetched, reader_of
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.messages import iso
from brenner.services import agent_task as parts
from brenner.services.receive import has_session_mail
from brenner.services.versions import LoadedVersion, Target, load_version

MARKDOWN, JSON = "markdown", "json"
_LARGE = 40_000  # characters; beyond that it is said how to ask for less


def run(call: Call) -> Answer:
    """Show it, and note which version the caller has seen: her next contribution builds on it."""
    thread_id, reader = call.text("thread_id").strip(), reader_of(call)
    try:
        loaded = load_version(call.desk, Target(thread_id), with_state=True)
    except Refused as refused:
        if refused.diagnostic.code is not NO_VERSION_YET:
            raise
        return _none_yet(call.desk.mailbox, thread_id)
    part = parts.part_of(loaded.artifact, thread_id, call.text("section"), call.text("item"))
    since = call.number("since")
    shown = _whole(call, loaded, part) if since is None else _since(call, loaded, part, since)
    number = loaded.number or 0
    if reader:
        note_fetched(call, reader, thread_id, number)
    is_base = reader is not None and (reader.is_proven or call.caller.connection is not None)
    base = {"base_of_your_next_post": number if is_base else None}
    value = {**_head(loaded, part), **base, **shown}
    return answered(value, (*_lines(value), _base(number, reader, call.caller.connection)))


def _base(number: int, reader: Reader | None, connection: str | None) -> str:
    """What the next contribution states as its base, if `base` is left out."""
    explicit = f"or give `base: {number}` there"
    if reader is None:
        return f"To build on it with `brenner_post`, name yourself here as `agent`, {explicit}."
    if reader.is_proven or connection is not None:
        where = "" if reader.is_proven else " over this connection"
        return f"The next `brenner_post` of {reader.agent}{where} states v{number} as its base."
    return (
        f"You have not shown the secret of {reader.agent}: only what is posted without it states "
        f"v{number} as its base. To post with it, pass `sender_token` here, too, {explicit}."
    )


def _none_yet(mailbox: Mailbox, thread_id: str) -> Answer:
    is_session = has_session_mail(mailbox, thread_id)
    said = (
        f"{thread_id} has no version yet: the operator compiles one once deltas are in. Read the "
        "kickoff in your inbox, and contribute with `brenner_post`."
        if is_session
        else f"{thread_id} is no session: nobody has sent a kickoff or a delta there. "
        "`brenner_task` without thread_id lists the sessions that wait for you."
    )
    return answered({"thread_id": thread_id, "version": None, "next": said}, [said])


def _head(loaded: LoadedVersion, part: parts.Part) -> dict[str, object]:
    message = loaded.message
    return {
        "thread_id": loaded.thread_id,
        "version": loaded.number,
        "message_id": message.id if message else None,
        "published": iso(message.at) if message else None,
        "section": part.section.id if part.section else None,
        "item": word(part.item_id, ITEM_ID) if part.item_id else None,
        "notes": [{"id": each.id, "message": Foreign(each.message)} for each in loaded.notes],
    }


def _whole(call: Call, loaded: LoadedVersion, part: parts.Part) -> dict[str, object]:
    is_json = call.text("format") == JSON
    text = parts.as_json(loaded, part) if is_json else parts.as_markdown(loaded, part)
    blame = loaded.state.blame if loaded.state else {}
    sources = _sources(parts.items_in(loaded.artifact, part), blame)
    authors = authors_of(call.desk.mailbox, sources)
    return {"characters": len(text), "artifact": Foreign(text, authors)}


def _since(call: Call, loaded: LoadedVersion, part: parts.Part, number: int) -> dict[str, object]:
    old = parts.earlier(call.desk, loaded.thread_id, number)
    found = parts.changes_since(old, loaded, part)
    changed = parts.who_changed(found, loaded.state.blame if loaded.state else {})
    is_json = call.text("format") == JSON
    text = (
        parts.changes_json(found, old, loaded.artifact)
        if is_json
        else parts.changes_markdown(changed)
    )
    sources = [each.source for item in changed for _, each in item.by if each]
    authors = authors_of(call.desk.mailbox, sources)
    return {
        "since": number,
        "changed_items": len(found.items),
        "characters": len(text),
        "changes": Foreign(text, authors) if found.items else None,
    }


def _sources(items: Iterable[Item], blame: Blame) -> Iterator[Source]:
    for item in items:
        for change in blame.get(item.id, {}).values():
            yield change.source


def authors_of(mailbox: Mailbox, sources: Iterable[Source]) -> tuple[Author, ...]:
    """Who wrote what is shown, and how far that is believed of each of the messages."""
    messages = dict.fromkeys((each.agent, each.message_id) for each in sources)
    found: dict[Author, None] = {}
    for agent, message_id in messages:
        found[author_of(mailbox, agent, message_id)] = None
    return tuple(found)


def author_of(mailbox: Mailbox, agent: str, message_id: int) -> Author:
    """The author of a message, as far as the store has it."""
    try:
        return Author(agent, mailbox.message(message_id).envelope.trust)
    except Refused:
        return Author(agent)


def _lines(value: dict[str, object]) -> Iterator[str | Foreign]:
    since = value.get("since")
    changed = (
        f", {value['changed_items']} items changed since v{since}" if since is not None else ""
    )
    size = value["characters"]
    yield f"{value['thread_id']} v{value['version']}{changed} ({size} characters)"
    if isinstance(size, int) and size > _LARGE:
        yield "That is much: `section` or `item` narrows it, `since` shows what is new."
    shown = value.get("artifact") or value.get("changes")
    if isinstance(shown, Foreign):
        yield shown
    notes = value["notes"]
    for note in notes if isinstance(notes, list) else ():
        yield f"{note['id']}:"
        yield note["message"]


TOOL = Tool(
    "brenner_artifact",
    "The latest version of a thread's artifact, whole or only a section or item; with `since`, "
    "what changed after that version and who changed it.",
    (
        Argument("thread_id", required=True),
        Argument("section"),
        Argument("item", about="e.g. H2"),
        Argument("since", Kind.VERSION),
        Argument("format", default=MARKDOWN, choices=(MARKDOWN, JSON)),
        AGENT,
        TOKEN,
    ),
    run,
    is_read_only=True,
)
