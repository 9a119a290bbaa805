"""The THREAD argument of a command: a whole thread ID, a unique part of one, or nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.terminal import print_hint
from brenner.protocol.message_types import COMPILED, KICKOFF
from brenner.protocol.thread_ids import ThreadKind, classify_thread_id, is_valid_thread_id
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.workspace import Workspace

_MAX_LISTED = 10
_DATE_DIGITS = 8  # as in RS-20251230-…


def find_thread(here: Workspace, text: str | None) -> str:
    """Return the ID of the thread that an argument names; without one, the only open session.

    A text that is no part of any ID is returned unchanged, so that the command reports it. So is a
    text in the form of a whole ID, which may be a mistyped one, and a short number, which may be
    meant as a version or a message. Raise a usage error if several IDs contain the text.
    """
    if text is None:
        return only_session(here)
    if not text.strip():
        message = "THREAD is empty. Leave it out to use the only open session."
        raise click.UsageError(message)
    if is_valid_thread_id(text) and here.mailbox.thread(text, limit=1).position:
        return text
    found = [] if _is_whole(text) else _ids_with(here, text)
    if len(found) > 1:
        shown = f"`{escape_control(text)}` is part of {_listed(found, 'thread IDs')}"
        message = f"{shown} Type more of the ID."
        raise click.UsageError(message)
    if not found:
        return text
    if found[0] != text:
        shown = f"Interpreted `{escape_control(text)}` as {escape_control(found[0])}."
        print_hint(shown, sys.stderr)
    return found[0]


def _is_whole(text: str) -> bool:
    """Return whether a text is no part of an ID: a whole one, or a number without a date."""
    if classify_thread_id(text) is ThreadKind.ENGINEERING:
        return text.isdigit() and len(text) < _DATE_DIGITS
    return is_valid_thread_id(text)


def find_session(here: Workspace, text: str) -> str:
    """Return the session that an abbreviation names, or the text if it names none.

    A text that is the ID of a thread, or part of several IDs, is returned unchanged.
    """
    if not text.strip() or _is_whole(text) or here.mailbox.thread(text, limit=1).position:
        return text
    wanted = text.casefold()
    known = [each.thread_id for each in here.mailbox.threads()]
    found = [each for each in known if wanted in each.casefold()]
    if len(found) != 1 or not _is_session(here, found[0]):
        return text
    shown = f"Interpreted `{escape_control(text)}` as {escape_control(found[0])}."
    print_hint(shown, sys.stderr)
    return found[0]


def _is_session(here: Workspace, thread_id: str) -> bool:
    thread = here.mailbox.thread_arrivals(thread_id, 0)
    return any(each.type in (KICKOFF.name, COMPILED.name) for each in thread)


def only_session(here: Workspace) -> str:
    """Return the only session that has not ended; if all have ended, the only session."""
    from brenner.mail.open import describe_place
    from brenner.services.sessions import overviews
    from brenner.session.model import ENDED_PHASES
    from brenner.session.overview import NO_SESSIONS, START_COMMAND

    sessions = {key: each.phase for key, each in overviews(here).items() if each.phase}
    unfinished = [key for key, phase in sessions.items() if phase not in ENDED_PHASES]
    candidates = unfinished or list(sessions)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        place = describe_place(here.project)
        message = f"{NO_SESSIONS} in {place}. To start one: `{START_COMMAND}`."
        raise click.UsageError(message)
    message = f"Name one of the {_listed(candidates, 'sessions')}"
    raise click.UsageError(message)


def _ids_with(here: Workspace, text: str) -> list[str]:
    """Return the IDs that are equal to a text, else those that contain it, whatever the case.

    Sessions that only have a file count, too.
    """
    from brenner.services.session_files import sessions_only_in_files

    wanted = text.casefold()
    known = [each.thread_id for each in here.mailbox.threads()]
    known += sessions_only_in_files(here.project, known)
    for candidates in (
        [each for each in known if each == text],
        [each for each in known if each.casefold() == wanted],
        [each for each in known if wanted in each.casefold()],
    ):
        if candidates:
            return candidates
    return []


def _listed(thread_ids: list[str], noun: str) -> str:
    """Return the number of IDs and the first of them: `12 sessions: …, … and 2 more.`"""
    names = ", ".join(escape_control(each) for each in thread_ids[:_MAX_LISTED])
    more = len(thread_ids) - _MAX_LISTED
    return f"{len(thread_ids)} {noun}: {names}{f' and {more} more' if more > 0 else ''}."
