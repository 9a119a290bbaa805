"""What is wrong or odd in the texts of kickoffs: each alone, and beside the thread's first one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from brenner.diagnostics.codes.messages import (
    MISSING_RECOMMENDED_SECTION,
    PLACEHOLDER_LEFT,
    TEMPLATE_NOT_FILLED_IN,
)
from brenner.diagnostics.codes.sessions import CONTEXT_DIFFERS
from brenner.diagnostics.model import Diagnostic
from brenner.mail.model import Stored
from brenner.markdown.blocks import blocks
from brenner.protocol.body import Section, find_section, is_seen, sections
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.validate import check_message
from brenner.session.kickoff_text import one_line
from brenner.workflows.kickoff_thread import KickoffThread
from brenner.workflows.send_kickoffs import Addressed, State

SESSION_TEXTS = ("Context", "Excerpt", "Initial Hypotheses", "Constraints")
ROUND_TEXTS = ("Research Question", "Excerpt", "Constraints")
_OUTPUTS = "Requested Outputs"
_EXCERPT = (
    "Better give the passages that agents shall cite: `--excerpt-file FILE`, or for sections of "
    "the project's source text `--excerpt 42,45-47`."
)


def about_messages(messages: Iterable[Message]) -> Iterator[Diagnostic]:
    """What the check says of the kickoffs; lines count in their bodies.

    They share what the operator wrote, so that what is wrong with several of them is told once.
    """
    told: set[str] = set()
    for message in messages:
        found = [each for each in _about(message) if each.id not in told]
        told |= {each.id for each in found}
        yield from found


def _about(message: Message) -> Iterator[Diagnostic]:
    text = render_message_file(message)
    lines_before = text.partition("\n\n")[0].count("\n") + 2
    for found in check_message(text, message.sender).violations:
        line = max(0, (found.line or 0) - lines_before) or None
        if found.code is PLACEHOLDER_LEFT:
            places = f"line {line}" if line else "in its subject"
            yield TEMPLATE_NOT_FILLED_IN.at(line, placeholders=places)
        elif found.code is MISSING_RECOMMENDED_SECTION:  # a kickoff has but one, the excerpt
            yield found._replace(line=line, fix=_EXCERPT)
        else:
            yield found._replace(line=line)


class Beginning(NamedTuple):
    """The kickoff with which a session or a round began, and what is compared with it.

    Outputs that the operator says nothing of belong to a role, and are not compared.
    """

    what: str
    stored: Stored
    names: tuple[str, ...]


def beginning_of(thread: KickoffThread, *, has_outputs: bool) -> Beginning | None:
    """That of a session whose thread has the question already."""
    if thread.first is None or not thread.has_the_question:
        return None
    return Beginning("session", thread.first, compared(SESSION_TEXTS, has_outputs=has_outputs))


def compared(names: tuple[str, ...], *, has_outputs: bool) -> tuple[str, ...]:
    """The sections that are compared."""
    return (*names, *([_OUTPUTS] if has_outputs else []))


def told_otherwise(
    beginning: Beginning | None, message: Message, kickoffs: Iterable[Addressed]
) -> Iterator[Diagnostic]:
    """A warning where the texts are not those of the kickoff with which it began.

    `message` is any of the new ones; they differ only in what belongs to a role.
    """
    if beginning is None:
        return
    first, names = beginning.stored, beginning.names
    before, now = (_texts(each.body, names) for each in (first.message, message))
    others = [name for name in names if now[name] != before[name]]
    if not others:
        return
    missing = [
        name
        for each in kickoffs
        if each.state is State.NOT_SENT
        for name in each.message.recipients
    ]
    effect = "Nobody gets the new ones."
    if missing:
        effect = f"The new ones are for {', '.join(missing)} only; the others keep theirs."
    words = ", ".join(f"`## {name}`" for name in others)
    yield CONTEXT_DIFFERS.at(id=first.id, what=beginning.what, sections=words, effect=effect)


def _texts(body: str, names: Iterable[str]) -> Mapping[str, str]:
    """What stands under these headings, each on one line; nothing where there is none."""
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = sections(blocks(body))
    return {name: _text(find_section(found, name), lines) for name in names}


def _text(section: Section | None, lines: list[str]) -> str:
    seen = [block for block in section.contents if is_seen(block)] if section else []
    return one_line("\n".join(lines[seen[0].line - 1 : seen[-1].end])) if seen else ""
