"""Rules shared by all mail backends: storing messages, agent names, and ids of imported
messages.

All functions are pure; the current time is an argument.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING
from zlib import crc32

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.limits import MOST_BODY_BYTES, MOST_KEY_BYTES, MOST_PROFILE_BYTES
from brenner.mail.model import (
    Agent,
    InboxFilter,
    InboxMessage,
    PendingAck,
    Profile,
    RestoreResult,
    UnchangedSince,
)
from brenner.protocol.acknowledgements import SettledDebts, debts_settled_by
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import COMPILED, DELTA, INFO, KICKOFF, UNFILLED_NAME
from brenner.protocol.messages import Envelope, Message, StoredMessage, Trust, thread_order_key
from brenner.session.decisions import ends_session, is_decision
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from brenner.mail.search import Query

# If the clock is set back by less, new messages get the last time, so that a reply never precedes
# its question. If it is set back by more, it was wrong before.
MAX_CLOCK_SETBACK = timedelta(hours=1)


def next_time(now: datetime, last: datetime | None) -> datetime:
    """Return the time of a new message, given the last time that this store used."""
    return last if last and now < last <= now + MAX_CLOCK_SETBACK else now


def normalize_message(message: Message) -> Message:
    return message._replace(recipients=tuple(dict.fromkeys(message.recipients)))


def normalize_envelope(envelope: Envelope, message: Message) -> Envelope:
    """Return the envelope with each copy once, and with missing trust as unverified.

    Raise ValueError for a copy to an agent that is no recipient: the copy would be lost, so this is
    a bug of the caller.
    """
    copies = tuple(dict.fromkeys(envelope.cc))
    not_recipients = [name for name in copies if name not in message.recipients]
    if not_recipients:
        reason = f"copies for {', '.join(not_recipients)}, to whom the message does not go"
        raise ValueError(reason)
    return envelope._replace(cc=copies, trust=envelope.trust or Trust.UNVERIFIED)


def with_thread_id(message: Message, message_id: int) -> Message:
    """Return the message with a thread; without one it starts a thread named after its id."""
    return message if message.thread_id else message._replace(thread_id=str(message_id))


def check_storable(message: Message, known: Collection[str], key: str | None = None) -> None:
    """Raise RequestError if no backend can store or deliver the message."""
    found = _message_problem(message, known) or _key_problem(key)
    if found:
        raise RequestError(found)


def _message_problem(message: Message, known: Collection[str]) -> Diagnostic | None:
    fields = {
        "thread": message.thread_id,
        "subject": message.subject,
        "body": message.body,
    }
    for what, text in fields.items():
        found = text_problem(what, text, MOST_BODY_BYTES)
        if found:
            return found
    return (
        unknown_sender(message.sender, known)
        or next(iter(unknown_recipients(message, known)), None)
        or (None if message.recipients else codes.SENT_TO_NOBODY.at())
    )


def text_problem(what: str, text: str, most: int) -> Diagnostic | None:
    """Return why no backend can store a text unchanged, or None."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return codes.UNSTORABLE_TEXT.at(
            what=what, reason="it contains half of a character (a lone surrogate)"
        )
    if "\0" in text:
        return codes.UNSTORABLE_TEXT.at(what=what, reason="it contains a NUL character")
    if size > most:
        return codes.FIELD_TOO_LONG.at(what=what, most=most)
    return None


def _key_problem(key: str | None) -> Diagnostic | None:
    return text_problem("key", key, MOST_KEY_BYTES) if key is not None else None


def unknown_sender(name: str, known: Collection[str]) -> Diagnostic | None:
    if name in known:
        return None
    return codes.UNKNOWN_SENDER.at(None, **_unknown_name_words(name, known))


def unknown_recipients(message: Message, known: Collection[str]) -> list[Diagnostic]:
    """Return a diagnostic for each recipient that is not registered: its copy would be lost."""
    return [
        codes.UNKNOWN_RECIPIENT.at(None, **_unknown_name_words(name, known))
        for name in message.recipients
        if name not in known
    ]


def unknown_agent_error(name: str, known: Collection[str]) -> RequestError:
    found = codes.NO_SUCH_AGENT.at(None, **_unknown_name_words(name, known))
    same = next((each for each in known if each.casefold() == name.casefold()), None)
    if same:  # a look-alike could not be registered
        found = found._replace(fix=f"Write the name as it is registered: `{same}`.")
    return RequestError(found)


def _unknown_name_words(name: str, known: Collection[str]) -> dict[str, str]:
    """Return the parameters of an unknown name. Only a valid name goes into a command."""
    argument = name if AGENT_NAME.fullmatch(name) else "NAME"
    return {"name": name, "argument": argument, "suggestion": did_you_mean(closest(name, known))}


def unknown_thread_error(thread_id: str, known: Iterable[str]) -> RequestError:
    suggestion = did_you_mean(closest(thread_id, known))
    return RequestError(codes.UNKNOWN_THREAD.at(thread=thread_id, suggestion=suggestion))


def check_reply(reply_to: StoredMessage, message: Message) -> None:
    """Raise RequestError if a reply is not in the thread of the message it answers."""
    if reply_to.message.thread_id != message.thread_id:
        thread = reply_to.message.thread_id
        raise RequestError(codes.REPLY_ELSEWHERE.at(id=reply_to.id, thread=thread))


def counts_as_decision(message: Message, operator: str | None) -> bool | None:
    """Return whether a decision counts as the operator's.

    Return None if the message is no decision, or if the operator is not known. The result is
    stored, so it does not depend on a later change of the operator's name.
    """
    if operator is None or not is_decision(message):
        return None
    return message.sender == operator


def debts_settled_on_arrival(stored: StoredMessage, operator: str | None) -> SettledDebts | None:
    """Return the debts of its thread that a message settles, although it is no ACK (R24)."""
    operators = () if operator is None else (operator,)
    return debts_settled_by(stored.message, ends_session=ends_session(stored, operators))


def check_key_reuse(
    key: str, first: StoredMessage, message: Message, reply_to: int | None, envelope: Envelope
) -> None:
    """Raise RequestError if an idempotency key is reused with another message.

    Importance and copies must match, too. Trust need not: the sender may have authenticated
    meanwhile.
    """
    repeated = with_thread_id(message, first.id)
    if not is_same_message(first, repeated, envelope) or first.reply_to != reply_to:
        found = codes.KEY_REUSED.at(key=key, id=first.id)
        raise RequestError(found._replace(message_id=first.id))


def is_same_message(first: StoredMessage, message: Message, envelope: Envelope) -> bool:
    """Return whether message and envelope equal those stored, apart from trust."""
    return first.message == message and first.envelope == envelope._replace(
        trust=first.envelope.trust
    )


def check_position(thread_id: str, expected: int | UnchangedSince | None, position: int) -> None:
    """Raise RequestError if the thread does not have the expected number of messages."""
    if isinstance(expected, int) and expected != position:
        raise RequestError(
            codes.THREAD_MOVED.at(thread=thread_id, expected=expected, position=position)
        )


def find_overtaking(
    since: UnchangedSince, arrived: Iterable[StoredMessage]
) -> StoredMessage | None:
    """Return the first of these messages that breaks the condition, or None.

    Other mail never does: otherwise any agent could keep versions from being published.
    """
    return next((each for each in arrived if _overtakes(since, each)), None)


def _overtakes(since: UnchangedSince, stored: StoredMessage) -> bool:
    if stored.arrival <= since.arrival:
        return False
    if stored.type == COMPILED.name:
        return True
    if stored.type in (KICKOFF.name, DELTA.name):
        return since.contributions
    counts = stored.decides
    if counts is None:
        counts = stored.message.sender in since.operators
    return stored.type == INFO.name and counts and is_decision(stored.message)


def check_unchanged_since(
    thread_id: str, since: UnchangedSince, arrived: Iterable[StoredMessage]
) -> None:
    """Raise RequestError if one of the messages that arrived breaks the condition of a send."""
    found = find_overtaking(since, arrived)
    if found:
        words = {"thread": thread_id, "type": found.type or "", "id": str(found.id)}
        raise RequestError(codes.VERSION_OVERTAKEN.at(None, **words)._replace(message_id=found.id))


def check_recipient(stored: StoredMessage, name: str) -> None:
    """Raise RequestError if the agent did not receive the message: it cannot mark it."""
    if name not in stored.message.recipients:
        recipients = stored.message.recipients
        near = did_you_mean(closest(name, recipients, 1))
        found = codes.NOT_A_RECIPIENT.at(
            id=stored.id, name=name, recipients=", ".join(recipients), suggestion=near
        )
        raise RequestError(found)


def check_reader(query: Query, reader: str | None) -> None:
    """Raise RequestError if a filter concerns an inbox and no reader is given."""
    for name, is_asked in (("is:unread", query.is_unread), ("needs:ack", query.needs_ack)):
        if is_asked and reader is None:
            raise RequestError(codes.FILTER_NEEDS_READER.at(filter=name))


def matches_filter(wanted: InboxFilter, received: InboxMessage) -> bool:
    stored = received.stored
    return (
        not (wanted.unread and received.is_read)
        and (received.owes_ack or not wanted.owed)
        and (not wanted.types or stored.type in wanted.types)
        and wanted.thread_id in (None, stored.message.thread_id)
    )


def group_pending_acks(pending: Iterable[tuple[str, StoredMessage]]) -> tuple[PendingAck, ...]:
    """Group pending acknowledgements by debtor and content, oldest first."""
    copies: dict[tuple[str, str], list[StoredMessage]] = {}
    for debtor, stored in pending:
        copies.setdefault((debtor, stored.content_hash), []).append(stored)
    grouped = []
    for (debtor, _), group in copies.items():
        group.sort(key=message_order)
        grouped.append(PendingAck(debtor, group[0], group[-1], len(group)))
    return tuple(sorted(grouped, key=lambda debt: (message_order(debt.first), debt.debtor)))


def message_order(stored: StoredMessage) -> tuple[datetime, int]:
    """Return the sort key of a thread and, reversed, of an inbox (R9)."""
    return thread_order_key(stored)


# Agent names: validation and suggestions
#
# A name is stored unchanged or rejected. Two names that look alike cannot both exist: their
# skeletons are compared, in which confusable characters are equal.


_MOST_NAME_CHARACTERS = 64
_MOST_NORMALIZED_CHARACTERS = 256  # normalizing a run of marks takes more than linear time
_GENERATED_COUNT = 2
# In lower case, because case is ignored: then `I`, `l`, `1` and `i` are one. Each character maps to
# what it looks like, so that `vvv`, `vw` and `wv` are equal.
_CONFUSABLES = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "5": "s", "8": "b", "m": "rn", "w": "vv", "_": "", "-": ""},
)
# Letters of other alphabets that look like an ASCII letter
_HOMOGLYPHS = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХѴаеѕіјорсухѵһԁԛԝ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυχ" + "օսհո" + "ɑɡɩ",
        "ABESIJKMHOPCTYXVaesijopcyxvhdqw" + "ABEZHIKMNOPTYXaivopux" + "ouhn" + "agi",
        strict=True,
    )
)
# Letters with a usual ASCII spelling
_TRANSLITERATIONS = dict(zip("øØłŁđĐıðÐ", "oOlLdDidD", strict=True)) | dict(
    zip("ßæÆœŒþÞ", ("ss", "ae", "Ae", "oe", "Oe", "th", "Th"), strict=True)
)
_QUOTES = "'\""
_HYPHEN_CATEGORIES = ("Pc", "Pd", "Po", "Sm")  # `opus-4.5` becomes `opus-4-5`
_ADJECTIVES = (
    *("Amber", "Brave", "Bright", "Calm", "Clear", "Coral", "Crisp", "Gentle"),
    *("Golden", "Green", "Kind", "Lively", "Noble", "Quiet", "Silver", "Swift"),
)
_NOUNS = (
    *("Beacon", "Bridge", "Cedar", "Creek", "Falcon", "Field", "Forest", "Garden"),
    *("Harbour", "Heron", "Island", "Meadow", "River", "Stone", "Summit", "Valley"),
)
_GENERATED_NAMES = tuple(adjective + noun for adjective in _ADJECTIVES for noun in _NOUNS)
_STRIDE = 101  # coprime to the number of names, so that each occurs once


def name_problem(name: str, known: Iterable[str]) -> Diagnostic | None:
    """Return why a name cannot be registered beside the known names, or None."""
    names = tuple(known)
    if not AGENT_NAME.fullmatch(name) or name == UNFILLED_NAME:
        return codes.INVALID_NAME.at(
            name=name, reason=_invalid_name_reason(name), suggestions=suggest_names(name, names)
        )
    shape = skeleton(name)
    alike = [other for other in names if skeleton(other) == shape]
    if not alike or name in alike:
        return None
    return codes.NAME_LOOKS_LIKE.at(
        name=name, other=alike[0], suggestions=suggest_names(name, names)
    )


def suggest_names(name: str, known: Iterable[str]) -> str:
    """Return, as text, valid free names that do not look like a known name.

    The first is the given name, repaired, with a number if it is taken. A name that only looks like
    a known one gets no number: with it, it would still look like that one.
    """
    names = set(known)
    taken = {skeleton(other) for other in (*names, UNFILLED_NAME)}
    repaired = name if AGENT_NAME.fullmatch(name) else _repair_name(name)
    found = []
    if repaired and skeleton(repaired) not in taken:
        found.append(repaired)
    elif repaired in names:
        found.append(_append_number(repaired, taken))
    taken.update(map(skeleton, found))
    return ", ".join(f"`{each}`" for each in (*found, *_generate_names(name, taken)))


def generate_name(known: Iterable[str], seed: str) -> str:
    """Return a free generated name; it depends on the seed."""
    return _generate_names(seed, {skeleton(other) for other in (*known, UNFILLED_NAME)})[0]


def _generate_names(name: str, taken: set[str]) -> list[str]:
    """Return free generated names, always the same for a given name."""
    start = crc32(name.encode("utf-8", "surrogatepass"))
    turns = (
        _GENERATED_NAMES[(start + _STRIDE * turn) % len(_GENERATED_NAMES)]
        for turn in range(len(_GENERATED_NAMES))
    )
    free = [pair for pair in turns if skeleton(pair) not in taken][:_GENERATED_COUNT]
    while len(free) < _GENERATED_COUNT:
        used = taken | {skeleton(each) for each in free}
        free.append(_append_number(_GENERATED_NAMES[start % len(_GENERATED_NAMES)], used))
    return free


def skeleton(name: str) -> str:
    """Return a form of the name that is equal for names that look alike."""
    return name.lower().translate(_CONFUSABLES)


def _append_number(name: str, taken: set[str]) -> str:
    """Return the name with the first number that makes it free."""
    stem = name.rstrip("0123456789")
    numbered = (stem[: _MOST_NAME_CHARACTERS - len(str(n))] + str(n) for n in count(2))
    return next(each for each in numbered if skeleton(each) not in taken)


def _invalid_name_reason(name: str) -> str:
    if name == UNFILLED_NAME:
        return "it is the placeholder of a template"
    if not name.strip():
        return "it contains only spaces" if name else "it is empty"
    wrong = re.search(r"[^A-Za-z0-9_-]", name)
    if wrong:
        return _describe_character(wrong[0])
    if len(name) > _MOST_NAME_CHARACTERS:
        return f"it has {len(name)} characters (at most {_MOST_NAME_CHARACTERS})"
    return f"it starts with `{name[0]}`, not with a letter"


def _describe_character(character: str) -> str:
    """Return what is wrong with a character that is not allowed in names."""
    called = unicodedata.name(character, f"U+{ord(character):04X}")
    looks_like = _HOMOGLYPHS.get(character)
    is_mark = unicodedata.category(character).startswith("M")
    answers = (
        (character.isspace(), "it contains a space or a line break"),
        (looks_like, f"`{character}` only looks like `{looks_like}`; it is {called}"),
        (not character.isprintable(), f"it contains a hidden character, {called}"),
        (is_mark, f"it contains a combining mark, {called}"),
        (character.isalpha(), f"`{character}` is not one of the letters A to Z"),
        (character.isnumeric(), f"`{character}` is not one of the digits 0 to 9"),
        (True, f"`{character}` is not a letter, a digit, `_` or `-`"),
    )
    return next(answer for holds, answer in answers if holds)


def _repair_name(name: str) -> str | None:
    """Return the valid name that an invalid one probably means, or None."""
    read = name[:_MOST_NORMALIZED_CHARACTERS]
    letters = [_transliterate(each) for each in unicodedata.normalize("NFKD", read)]
    if None in letters:
        return None
    joined = re.sub(r"-{2,}", "-", "".join(filter(None, letters)))
    rest = joined.lstrip("0123456789_-")
    lead = joined.removesuffix(rest).strip("_-")
    repaired = (rest + lead)[:_MOST_NAME_CHARACTERS].rstrip("_-")
    return repaired if AGENT_NAME.fullmatch(repaired) else None


def _transliterate(character: str) -> str | None:
    """Return the ASCII replacement of a character, or None if there is no obvious one."""
    if re.match(r"[A-Za-z0-9_-]", character):
        return character
    kind = unicodedata.category(character)
    known = _HOMOGLYPHS.get(character) or _TRANSLITERATIONS.get(character)
    if known or character.isalnum() or (kind in ("Cc", "Cs") and not character.isspace()):
        return known
    return "-" if kind in _HYPHEN_CATEGORIES and character not in _QUOTES else ""


# Registration


def merge_profile(profile: Profile, known: Agent | None, names: Collection[str]) -> Profile:
    """Return the profile to store: the given one, completed from the registered one."""
    for what, text in zip(("program", "model", "task"), profile[1:], strict=True):
        found = text_problem(what, text, MOST_PROFILE_BYTES)
        if found:
            raise RequestError(found)
    if known:
        return Profile(
            profile.name,
            profile.program or known.program,
            profile.model or known.model,
            profile.task or known.task,
        )
    check_name_available(profile.name, names)
    return profile


def check_name_available(name: str, known: Iterable[str]) -> None:
    """Raise RequestError if a new name is invalid, or looks like a known name.

    A name is never changed silently. The caller has checked that the name itself is not registered.
    """
    found = name_problem(name, known)
    if found:
        raise RequestError(found)


def check_same_agent(profile: Profile, known: Agent, names: Collection[str]) -> None:
    """Raise RequestError for another program or model: most often it is another agent."""
    stated = (profile.program or known.program, profile.model or known.model)
    if (known.program or stated[0], known.model or stated[1]) != stated:
        owner = " ".join(filter(None, (known.program, known.model)))
        others = suggest_names(profile.name, names)
        raise RequestError(codes.NAME_TAKEN.at(name=profile.name, owner=owner, suggestions=others))


# Ids and links of imported messages


# New messages get ids above the highest one. A record with a huge id would leave none for them, so
# only ids up to this one are preserved.
HIGHEST_PRESERVED_ID = 2**48


class ImportIdMap:
    """Maps the ids of an archive to ids of this store, record by record.

    An id stays if it is free and not too large. After the first id that changes, all later ones
    change too, so that the order stays. Links to messages that are neither in the archive nor here
    are dropped: they would point to another message.
    """

    def __init__(self, highest_id: int) -> None:
        self._highest = highest_id
        self._here: dict[int, int] = {}
        self._added = 0
        self._skipped = 0
        self._renumbered: list[tuple[int, int]] = []

    def skip(self, stored: StoredMessage, known_id: int) -> None:
        """Record that the message exists here under `known_id`."""
        self._here[stored.id] = known_id
        self._skipped += 1

    def assign(self, stored: StoredMessage, arrival: int, is_taken: bool) -> StoredMessage:
        """Return the message with its id, arrival and links in this store."""
        is_behind = bool(self._renumbered) and stored.id > self._renumbered[0][0]
        must_move = is_taken or is_behind or stored.id > HIGHEST_PRESERVED_ID
        new_id = self._highest + 1 if must_move else stored.id
        self._highest = max(self._highest, new_id)
        self._added += 1
        if new_id != stored.id:
            self._renumbered.append((stored.id, new_id))
        imported = stored._replace(
            id=new_id,
            arrival=arrival,
            reply_to=self._here.get(stored.reply_to) if stored.reply_to else None,
            acknowledges=tuple(
                self._here[target] for target in stored.acknowledges if target in self._here
            ),
            is_local=False,
            envelope=stored.envelope._replace(trust=Trust.UNVERIFIED),
        )
        self._here[stored.id] = new_id  # only now: a message has no link to itself
        return imported

    def result(self, new_agents: list[str]) -> RestoreResult:
        return RestoreResult(
            self._added, self._skipped, tuple(self._renumbered), tuple(sorted(new_agents))
        )


def unregistered_agents(stored: StoredMessage, known: Collection[str]) -> list[Agent]:
    """Return an agent with a name only for each name in a message that is not registered."""
    names = dict.fromkeys((stored.message.sender, *stored.message.recipients))
    return [Agent(name, "", "", "", stored.at) for name in names if name not in known]


def linked_ids(stored: StoredMessage) -> tuple[int, ...]:
    return (*stored.acknowledges, *([stored.reply_to] if stored.reply_to else []))


def drop_invalid_links(
    imported: StoredMessage, linked: Mapping[int, StoredMessage]
) -> StoredMessage:
    """Return the message without links that no store would have set.

    These are links to other threads, acknowledgements by a message that is no ACK, and
    acknowledgements of a message that the sender did not receive.
    """
    message = imported.message
    in_same_thread = {
        target
        for target in linked_ids(imported)
        if linked[target].message.thread_id == message.thread_id
    }
    return imported._replace(
        reply_to=imported.reply_to if imported.reply_to in in_same_thread else None,
        acknowledges=tuple(
            target
            for target in imported.acknowledges
            if target in in_same_thread
            and imported.type == "ACK"
            and message.sender in linked[target].message.recipients
        ),
    )
