"""Checks of a message that need the mailbox: names, thread, secrets, and its size.

Every entrance uses them before it stores a message: the command line, the lab, and the tools of
agents.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_UNWARNED_BYTES
from brenner.mail.mailbox import Capability
from brenner.mail.rules import unknown_recipients, unknown_sender, unknown_thread_error
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import (
    ACK,
    COMPILED,
    CRITIQUE,
    DELTA,
    KICKOFF,
    UNFILLED_NAME,
)
from brenner.protocol.thread_ids import ThreadKind, classify_thread_id, suggest_thread_id
from brenner.text import closest_certain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from brenner.diagnostics.model import Diagnostic
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import Message

# Names: registered, and matched without regard to case


def unknown_participants(
    mailbox: Mailbox, message: Message, *, are_names_checked: bool = False
) -> Iterator[Diagnostic]:
    """Yield an error for every name that is not registered, or if there is no recipient.

    With `are_names_checked`, invalid names and missing headers were reported before and are
    skipped. A template placeholder is no name to register.
    """
    names = [message.sender, *message.recipients]
    known = {agent.name for agent in mailbox.agents(names)}
    if not known.issuperset(names):  # suggestions come from all names
        known = {agent.name for agent in mailbox.agents()}
    invalid = {name for name in names if are_names_checked and not _is_a_name(name)}
    sender = None if message.sender in invalid else unknown_sender(message.sender, known)
    yield from [sender] if sender else []
    recipients = tuple(name for name in message.recipients if name not in invalid)
    yield from unknown_recipients(message._replace(recipients=recipients), known)
    if not message.recipients and (message.sender or not are_names_checked):
        yield codes.SENT_TO_NOBODY.at()


def _is_a_name(word: str) -> bool:
    return word != UNFILLED_NAME and AGENT_NAME.fullmatch(word) is not None


def names_matched_by_case(mailbox: Mailbox, names: Iterable[str]) -> dict[str, str]:
    """Return the registered name for each name that differs only by case from exactly one."""
    asked = {name for name in names if _is_a_name(name)}
    if not asked or len(mailbox.agents(asked)) == len(asked):
        return {}
    return match_by_case(asked, [agent.name for agent in mailbox.agents()])


def match_by_case(names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return the known name for each unknown one that differs only by case from exactly one."""
    matched = {}
    for name in names:
        alike = [each for each in known if each.lower() == name.lower()]
        if len(alike) == 1 and name not in alike:
            matched[name] = alike[0]
    return matched


def name_notes(matched: dict[str, str]) -> list[Diagnostic]:
    """Return a note for each name that was replaced by the registered one."""
    return [codes.NAME_MATCHED.at(name=name, other=other) for name, other in matched.items()]


# Threads: only a KICKOFF opens a research thread (R23)


_NEEDS_THREAD = (DELTA.name, CRITIQUE.name, COMPILED.name, ACK.name)
_DIGITS = lazy_pattern(r"[0-9]")


def unknown_thread(mailbox: Mailbox, message: Message) -> Diagnostic | None:
    """Return an error if the message may not open the thread that it names (R23)."""
    is_research = classify_thread_id(message.thread_id) is ThreadKind.RESEARCH
    if message.type == KICKOFF.name or not (is_research or message.type in _NEEDS_THREAD):
        return None
    if thread_exists(mailbox, message.thread_id):
        return None
    known = [each.thread_id for each in mailbox.threads()]
    found = unknown_thread_error(message.thread_id, known).diagnostic
    opening = _RESEARCH_OPENING if is_research else _OPENING.format(type=message.type)
    return found._replace(fix=f"{found.fix} {opening}")


_RESEARCH_OPENING = "Only a KICKOFF opens a research thread: `brenner session start`."
_OPENING = "A message of type {type} cannot open a thread."


def thread_exists(mailbox: Mailbox, thread_id: str) -> bool:
    return mailbox.thread(thread_id, limit=1).position > 0


def certain_thread(mailbox: Mailbox, thread_id: str) -> str | None:
    """Return the existing thread that a malformed or unknown ID certainly means, or None.

    IDs that differ in a digit are never taken for each other: they may be two sessions.
    """
    known = [each.thread_id for each in mailbox.threads()]
    suggested = suggest_thread_id(thread_id)
    if suggested in known:
        return suggested
    meant = closest_certain(thread_id, known)
    same_digits = meant and _DIGITS.findall(meant) == _DIGITS.findall(thread_id)
    return meant if same_digits else None


# Secrets of this project


_MOST_SECRETS = 1_000  # candidates that are looked up; a person copies one
# A secret as `identity.new_secret` makes it, also within a longer word
_SECRET = lazy_pattern(r"(?=(brs_[A-Za-z0-9_-]{43}))")


def secret_errors(mailbox: Mailbox, subject: str, body: str) -> Iterator[Diagnostic]:
    """Yield an error if the text contains the secret of an agent of this project.

    A text that only looks like a secret is no secret: its digest must be stored. A store without
    secrets has none to protect. The secret itself is never shown. Line numbers count in the body.
    """
    if Capability.SECRETS in mailbox.lacks:
        return
    for what, text in (("subject", subject), ("body", body)):
        if "brs_" not in text:
            continue
        for candidate, place in list(_candidates(text).items())[:_MOST_SECRETS]:
            owner = _owner_of(mailbox, candidate)
            if owner is not None:
                line = text.count("\n", 0, place) + 1 if what == "body" else None
                yield codes.SECRET_IN_MESSAGE.at(line, what=what, name=owner)
                break


def _candidates(text: str) -> dict[str, int]:
    """Return the texts in the form of a secret, each with its first place."""
    found: dict[str, int] = {}
    for match in _SECRET.finditer(text):
        found.setdefault(match[1], match.start())
    return found


def _owner_of(mailbox: Mailbox, secret: str) -> str | None:
    from brenner.services.identity import name_of_secret  # only a suspicious text needs it

    return name_of_secret(mailbox, secret)


def refuse_secrets(mailbox: Mailbox, subject: str, body: str) -> None:
    """Raise RequestError if the text contains the secret of an agent of this project."""
    for found in secret_errors(mailbox, subject, body):
        raise RequestError(found)


# Size


def size_warning(body: str) -> Diagnostic | None:
    """Return a warning if the body is so long that its readers see it in parts."""
    if len(body) * 4 <= MOST_UNWARNED_BYTES:  # no character has more than four bytes
        return None
    size = len(body.encode(errors="replace"))
    if size <= MOST_UNWARNED_BYTES:
        return None
    return codes.LARGE_MESSAGE.at(size=size // 1024, most=MOST_UNWARNED_BYTES // 1024)


# A repeated send


_BASE_LINE = lazy_pattern(rf"^\*\*{DELTA.version_field}\*\*: v[^\n]*\n*", re.MULTILINE)


def without_base(body: str) -> str:
    """Return the body without the line that states its base version."""
    return _BASE_LINE.sub("", body, count=1)


def was_sent(mailbox: Mailbox, message: Message) -> bool:
    """Return whether the sender has sent this message before, perhaps with another base."""
    body = without_base(message.body)
    return any(
        each.message.sender == message.sender and without_base(each.message.body) == body
        for each in mailbox.thread_arrivals(message.thread_id, 0)
    )
