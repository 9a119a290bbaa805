"""What every home holds to when it takes a message in. Pure: the clock's time is an argument."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import count
from zlib import crc32

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.limits import MOST_BODY_BYTES, MOST_KEY_BYTES, MOST_PROFILE_BYTES
from brenner.mail.model import (
    Agent,
    Envelope,
    InboxFilter,
    PendingAck,
    Profile,
    Received,
    Restored,
    Since,
    StoredMessage,
    Trust,
)
from brenner.mail.search import Query
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import COMPILED, DELTA, INFO, KICKOFF, UNFILLED_NAME
from brenner.protocol.messages import Message, in_thread_order
from brenner.session.decisions import is_decision
from brenner.text import closest, did_you_mean

# A clock that is set back a little must not put an answer before its question. One that is set
# back by more was wrong before, and is right now.
SMOOTHED = timedelta(hours=1)


def next_time(now: datetime, last: datetime | None) -> datetime:
    """The time of a new message, given the last one that this store gave."""
    return last if last and now < last <= now + SMOOTHED else now


def prepared(message: Message) -> Message:
    """The message as it is stored: each recipient once."""
    return message._replace(recipients=tuple(dict.fromkeys(message.recipients)))


def prepared_envelope(envelope: Envelope, message: Message) -> Envelope:
    """The envelope as it is stored. Copies go to recipients, and what is not told is not trusted.

    A copy for anybody else would be lost in silence: that is a mistake of the program.
    """
    copies = tuple(dict.fromkeys(envelope.cc))
    strangers = [name for name in copies if name not in message.recipients]
    if strangers:
        reason = f"copies for {', '.join(strangers)}, to whom the message does not go"
        raise ValueError(reason)
    return envelope._replace(cc=copies, trust=envelope.trust or Trust.UNVERIFIED)


def in_thread(message: Message, message_id: int) -> Message:
    """The message as the one of that id: without a thread it begins one, called after it."""
    return message if message.thread_id else message._replace(thread_id=str(message_id))


def check_storable(message: Message, known: Collection[str], key: str | None = None) -> None:
    """Refuse what no home could keep whole, or could deliver to nobody."""
    found = _first_refusal(message, known) or _check_key(key)
    if found:
        raise RequestError(found)


def _first_refusal(message: Message, known: Collection[str]) -> Diagnostic | None:
    fields = {
        "thread": message.thread_id,
        "subject": message.subject,
        "body": message.body,
    }
    for what, text in fields.items():
        found = unstorable(what, text, MOST_BODY_BYTES)
        if found:
            return found
    return (
        unknown_sender(message.sender, known)
        or next(iter(unknown_recipients(message, known)), None)
        or (None if message.recipients else codes.SENT_TO_NOBODY.at())
    )


def unstorable(what: str, text: str, most: int) -> Diagnostic | None:
    """Why a text cannot be kept as it is, in any home."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return codes.UNSTORABLE_TEXT.at(what=what, reason="it holds half of a character")
    if "\0" in text:
        return codes.UNSTORABLE_TEXT.at(what=what, reason="it holds a NUL character")
    if size > most:
        return codes.FIELD_TOO_LONG.at(what=what, most=most)
    return None


def _check_key(key: str | None) -> Diagnostic | None:
    return unstorable("key", key, MOST_KEY_BYTES) if key is not None else None


def unknown_sender(name: str, known: Collection[str]) -> Diagnostic | None:
    """Who sends must be registered."""
    if name in known:
        return None
    return codes.UNKNOWN_SENDER.at(name=name, suggestion=did_you_mean(closest(name, known)))


def unknown_recipients(message: Message, known: Collection[str]) -> list[Diagnostic]:
    """A message to somebody who does not exist would be lost in silence."""
    return [
        codes.UNKNOWN_RECIPIENT.at(name=name, suggestion=did_you_mean(closest(name, known)))
        for name in message.recipients
        if name not in known
    ]


def no_such_agent(name: str, known: Collection[str]) -> RequestError:
    """Somebody asked about a name that is not registered."""
    return RequestError(
        codes.NO_SUCH_AGENT.at(name=name, suggestion=did_you_mean(closest(name, known)))
    )


def unknown_thread(thread_id: str, known: Iterable[str]) -> RequestError:
    """Somebody asked about a thread that nobody has written to."""
    suggestion = did_you_mean(closest(thread_id, known))
    return RequestError(codes.UNKNOWN_THREAD.at(thread=thread_id, suggestion=suggestion))


def check_reply(reply_to: StoredMessage, message: Message) -> None:
    """An answer stands in the thread of its question."""
    if reply_to.message.thread_id != message.thread_id:
        thread = reply_to.message.thread_id
        raise RequestError(codes.REPLY_ELSEWHERE.at(id=reply_to.id, thread=thread))


def decides(message: Message, operator: str | None) -> bool | None:
    """Return whether a decision counts, now that it is stored; None where there is none.

    Settled here, it does not depend on what the operator is called later.
    """
    if operator is None or not is_decision(message):
        return None
    return message.sender == operator


def check_same(
    key: str, first: StoredMessage, message: Message, reply_to: int | None, envelope: Envelope
) -> None:
    """A key that was used before must come with the same message.

    How urgent it is and for whom it is a copy belong to it. How its sender is known does not: who
    repeats a send may have shown a secret meanwhile.
    """
    again = in_thread(message, first.id)
    if not is_same(first, again, envelope) or first.reply_to != reply_to:
        found = codes.KEY_REUSED.at(key=key, id=first.id)
        raise RequestError(found._replace(message_id=first.id))


def is_same(first: StoredMessage, message: Message, envelope: Envelope) -> bool:
    """Whether it is that message, with the same on its envelope."""
    return first.message == message and first.envelope == envelope._replace(
        trust=first.envelope.trust
    )


def check_position(thread_id: str, expected: int | Since | None, position: int) -> None:
    """A conditional send goes through only if nobody has written to the thread meanwhile."""
    if isinstance(expected, int) and expected != position:
        raise RequestError(
            codes.THREAD_MOVED.at(thread=thread_id, expected=expected, position=position)
        )


def overtaking(since: Since, arrived: Iterable[StoredMessage]) -> StoredMessage | None:
    """Return the first of these messages that breaks the condition, or None.

    Other mail never does: otherwise any agent could keep versions from being published.
    """
    return next((each for each in arrived if _overtakes(since, each)), None)


def _overtakes(since: Since, stored: StoredMessage) -> bool:
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


def check_since(thread_id: str, since: Since, arrived: Iterable[StoredMessage]) -> None:
    """Refuse a conditional send if one of the messages that came in breaks its condition."""
    found = overtaking(since, arrived)
    if found:
        words = {"thread": thread_id, "type": found.type or "", "id": str(found.id)}
        raise RequestError(codes.VERSION_OVERTAKEN.at(None, **words)._replace(message_id=found.id))


def check_recipient(stored: StoredMessage, name: str) -> None:
    """Only a recipient can mark or acknowledge a message."""
    if name not in stored.message.recipients:
        recipients = ", ".join(stored.message.recipients)
        raise RequestError(codes.NOT_A_RECIPIENT.at(id=stored.id, name=name, recipients=recipients))


def check_reader(query: Query, reader: str | None) -> None:
    """Some filters ask about somebody's own inbox."""
    for name, is_asked in (("is:unread", query.is_unread), ("needs:ack", query.needs_ack)):
        if is_asked and reader is None:
            raise RequestError(codes.FILTER_NEEDS_READER.at(filter=name))


def fits(wanted: InboxFilter, received: Received) -> bool:
    """Whether a message of an inbox is one of those asked for."""
    stored = received.stored
    return (
        not (wanted.unread and received.is_read)
        and (received.owes_ack or not wanted.owed)
        and (not wanted.types or stored.type in wanted.types)
        and wanted.thread_id in (None, stored.message.thread_id)
    )


def grouped_debts(open_debts: Iterable[tuple[str, StoredMessage]]) -> tuple[PendingAck, ...]:
    """Debts by debtor and content, the oldest first: copies of a message are owed once."""
    copies: dict[tuple[str, str], list[StoredMessage]] = {}
    for debtor, stored in open_debts:
        copies.setdefault((debtor, stored.content_hash), []).append(stored)
    debts = []
    for (debtor, _), group in copies.items():
        group.sort(key=order)
        debts.append(PendingAck(debtor, group[0], group[-1], len(group)))
    return tuple(sorted(debts, key=lambda debt: (order(debt.first), debt.debtor)))


def order(stored: StoredMessage) -> tuple[datetime, int]:
    """The sort key of a thread and, backwards, of an inbox (R9)."""
    return in_thread_order(stored.posted)


# Agents' names: which may be registered, and what else to call oneself.
#
# A name is kept as it is or refused, never changed. Two names that a reader takes for one cannot
# both exist: that is decided by their skeletons, in which characters that look alike are the same.


_MOST_CHARACTERS = 64
_MOST_READ = 256  # of a longer one; the normal form of a run of marks takes more than linear time
_FRESH = 2
# Small letters, because case does not count: with it `I`, `l` and `1` make `i` one of them.
# Each stands for what it looks like, so that `vvv`, `vw` and `wv` are one.
_SHAPES = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "5": "s", "8": "b", "m": "rn", "w": "vv", "_": "", "-": ""},
)
# Letters of other alphabets that look like one of ours
_LOOKS_LIKE = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХѴаеѕіјорсухѵһԁԛԝ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυχ" + "օսհո" + "ɑɡɩ",
        "ABESIJKMHOPCTYXVaesijopcyxvhdqw" + "ABEZHIKMNOPTYXaivopux" + "ouhn" + "agi",
        strict=True,
    )
)
# Letters that are written with others where a keyboard does not have them
_WRITTEN = dict(zip("øØłŁđĐıðÐ", "oOlLdDidD", strict=True)) | dict(
    zip("ßæÆœŒþÞ", ("ss", "ae", "Ae", "oe", "Oe", "th", "Th"), strict=True)
)
_QUOTES = "'\""
_JOINING = ("Pc", "Pd", "Po", "Sm")  # `opus-4.5` is `opus-4-5`, whereas `"Fox"` is `Fox`
_ADJECTIVES = (
    *("Amber", "Brave", "Bright", "Calm", "Clear", "Coral", "Crisp", "Gentle"),
    *("Golden", "Green", "Kind", "Lively", "Noble", "Quiet", "Silver", "Swift"),
)
_NOUNS = (
    *("Beacon", "Bridge", "Cedar", "Creek", "Falcon", "Field", "Forest", "Garden"),
    *("Harbour", "Heron", "Island", "Meadow", "River", "Stone", "Summit", "Valley"),
)
_PAIRS = tuple(adjective + noun for adjective in _ADJECTIVES for noun in _NOUNS)
_STRIDE = 101  # has no divisor in common with the number of pairs, so each comes once


def name_refusal(name: str, known: Iterable[str]) -> Diagnostic | None:
    """Why a name cannot be registered beside the known ones; None where it can, or is."""
    names = tuple(known)
    if not AGENT_NAME.fullmatch(name) or name == UNFILLED_NAME:
        return codes.INVALID_NAME.at(
            name=name, reason=_reason(name), suggestions=suggestions(name, names)
        )
    shape = skeleton(name)
    alike = [other for other in names if skeleton(other) == shape]
    if not alike or name in alike:
        return None
    return codes.NAME_LOOKS_LIKE.at(name=name, other=alike[0], suggestions=suggestions(name, names))


def suggestions(name: str, known: Iterable[str]) -> str:
    """Names that are valid, free and not to be mistaken for a known one, as a text.

    First the name itself, as it was probably meant, with a number where it is taken. One that only
    looks like a known name would with a number look like that one's.
    """
    names = set(known)
    taken = {skeleton(other) for other in (*names, UNFILLED_NAME)}
    meant = name if AGENT_NAME.fullmatch(name) else _meant(name)
    found = []
    if meant and skeleton(meant) not in taken:
        found.append(meant)
    elif meant in names:
        found.append(_numbered(meant, taken))
    taken.update(map(skeleton, found))
    return ", ".join(f"`{each}`" for each in (*found, *_fresh(name, taken)))


def fresh_name(known: Iterable[str], seed: str) -> str:
    """A name of ours that is free, for who asks for none; another seed gives another one."""
    return _fresh(seed, {skeleton(other) for other in (*known, UNFILLED_NAME)})[0]


def _fresh(name: str, taken: set[str]) -> list[str]:
    """Names of ours, always the same ones for a name, though others for another one."""
    start = crc32(name.encode("utf-8", "surrogatepass"))
    turns = (_PAIRS[(start + _STRIDE * turn) % len(_PAIRS)] for turn in range(len(_PAIRS)))
    free = [pair for pair in turns if skeleton(pair) not in taken][:_FRESH]
    while len(free) < _FRESH:
        used = taken | {skeleton(each) for each in free}
        free.append(_numbered(_PAIRS[start % len(_PAIRS)], used))
    return free


def skeleton(name: str) -> str:
    """What a reader sees of a name at a glance; equal for names that look alike."""
    return name.lower().translate(_SHAPES)


def _numbered(name: str, taken: set[str]) -> str:
    """The name with the first number that makes it free."""
    stem = name.rstrip("0123456789")
    numbered = (stem[: _MOST_CHARACTERS - len(str(n))] + str(n) for n in count(2))
    return next(each for each in numbered if skeleton(each) not in taken)


def _reason(name: str) -> str:
    """The first thing, in words, that keeps a name from being one."""
    if name == UNFILLED_NAME:
        return "it is what a template leaves to be filled in"
    if not name.strip():
        return "it is blank" if name else "it is empty"
    wrong = re.search(r"[^A-Za-z0-9_-]", name)
    if wrong:
        return _about(wrong[0])
    if len(name) > _MOST_CHARACTERS:
        return f"it has {len(name)} characters, and {_MOST_CHARACTERS} are the most"
    return f"it begins with `{name[0]}`, not with a letter"


def _about(character: str) -> str:
    """What is wrong with a character that no name may hold."""
    called = unicodedata.name(character, f"U+{ord(character):04X}")
    looks_like = _LOOKS_LIKE.get(character)
    is_mark = unicodedata.category(character).startswith("M")
    answers = (
        (character.isspace(), "it has a blank or a line break in it"),
        (looks_like, f"`{character}` only looks like `{looks_like}`; it is {called}"),
        (not character.isprintable(), f"it has a hidden character in it, {called}"),
        (is_mark, f"it has a mark in it that belongs to the letter before, {called}"),
        (character.isalpha(), f"`{character}` is not one of the letters A to Z"),
        (character.isnumeric(), f"`{character}` is not one of the digits 0 to 9"),
        (True, f"`{character}` is neither a letter nor a digit, `_` or `-`"),
    )
    return next(answer for holds, answer in answers if holds)


def _meant(name: str) -> str | None:
    """The valid name that an invalid one stands for, where one can see it."""
    read = name[:_MOST_READ]
    letters = [_letter(each) for each in unicodedata.normalize("NFKD", read)]
    if None in letters:
        return None
    joined = re.sub(r"-{2,}", "-", "".join(filter(None, letters)))
    rest = joined.lstrip("0123456789_-")
    lead = joined.removesuffix(rest).strip("_-")
    meant = (rest + lead)[:_MOST_CHARACTERS].rstrip("_-")
    return meant if AGENT_NAME.fullmatch(meant) else None


def _letter(character: str) -> str | None:
    """What to write for a character; None where that is anybody's guess."""
    if re.match(r"[A-Za-z0-9_-]", character):
        return character
    kind = unicodedata.category(character)
    known = _LOOKS_LIKE.get(character) or _WRITTEN.get(character)
    if known or character.isalnum() or (kind in ("Cc", "Cs") and not character.isspace()):
        return known
    return "-" if kind in _JOINING and character not in _QUOTES else ""


# Who may have which name. Pure: what is known already is an argument.


def registration(profile: Profile, known: Agent | None, names: Collection[str]) -> Profile:
    """The profile to keep, from what is asked for and what is known under that name already."""
    for what, text in zip(("program", "model", "task"), profile[1:], strict=True):
        found = unstorable(what, text, MOST_PROFILE_BYTES)
        if found:
            raise RequestError(found)
    if known:
        return Profile(
            profile.name,
            profile.program or known.program,
            profile.model or known.model,
            profile.task or known.task,
        )
    check_free(profile.name, names)
    return profile


def check_free(name: str, known: Iterable[str]) -> None:
    """A new name is kept as it is or refused, never changed."""
    found = name_refusal(name, known)
    if found:
        raise RequestError(found)


def check_same_agent(asked: Profile, known: Agent, names: Collection[str]) -> None:
    """Another program or model under a known name is most often another agent."""
    stated = (asked.program or known.program, asked.model or known.model)
    if (known.program or stated[0], known.model or stated[1]) != stated:
        owner = " ".join(filter(None, (known.program, known.model)))
        others = suggestions(asked.name, names)
        raise RequestError(codes.NAME_TAKEN.at(name=asked.name, owner=owner, suggestions=others))


# Taking messages over from another store: which id each gets here. Pure.


# New messages get the ids above the highest. One record with the last id that there is would
# leave none for them; up to here there are more than any store will use, and more stay above.
MOST_KEPT_ID = 2**48


class Landing:
    """Follows an archive record by record, and maps its ids to those of this store.

    An id stays where it is free and not beyond all measure; after the first one that does not, the
    later ones of the archive move too, so that they keep their order. Links to messages that are
    neither in the archive nor here are dropped: they would point to a stranger.
    """

    def __init__(self, highest_id: int) -> None:
        self._highest = highest_id
        self._here: dict[int, int] = {}
        self._added = 0
        self._skipped = 0
        self._renumbered: list[tuple[int, int]] = []

    def skip(self, stored: StoredMessage, known_id: int) -> None:
        """The message is here already, under that id."""
        self._here[stored.id] = known_id
        self._skipped += 1

    def land(self, stored: StoredMessage, arrival: int, is_taken: bool) -> StoredMessage:
        """The message as it is stored here."""
        is_behind = bool(self._renumbered) and stored.id > self._renumbered[0][0]
        must_move = is_taken or is_behind or stored.id > MOST_KEPT_ID
        new_id = self._highest + 1 if must_move else stored.id
        self._highest = max(self._highest, new_id)
        self._added += 1
        if new_id != stored.id:
            self._renumbered.append((stored.id, new_id))
        landed = stored._replace(
            id=new_id,
            arrival=arrival,
            reply_to=self._here.get(stored.reply_to) if stored.reply_to else None,
            acknowledges=tuple(
                self._here[target] for target in stored.acknowledges if target in self._here
            ),
            is_local=False,
            envelope=stored.envelope._replace(trust=Trust.UNVERIFIED),
        )
        self._here[stored.id] = new_id  # from now on: a message has no link to itself
        return landed

    def restored(self, new_agents: list[str]) -> Restored:
        """What was done in all."""
        return Restored(
            self._added, self._skipped, tuple(self._renumbered), tuple(sorted(new_agents))
        )


def strangers(stored: StoredMessage, known: Collection[str]) -> list[Agent]:
    """Names in a message that nobody has registered: known from now on, by name only."""
    names = dict.fromkeys((stored.message.sender, *stored.message.recipients))
    return [Agent(name, "", "", "", stored.at) for name in names if name not in known]


def linked_ids(stored: StoredMessage) -> tuple[int, ...]:
    """The messages that a message refers to."""
    return (*stored.acknowledges, *([stored.reply_to] if stored.reply_to else []))


def true_links(landed: StoredMessage, linked: Mapping[int, StoredMessage]) -> StoredMessage:
    """The message without links that no store would have given it: into other threads, or an
    acknowledgement by what is no ACK, or of what its sender never got.
    """
    message = landed.message
    near = {
        target
        for target in linked_ids(landed)
        if linked[target].message.thread_id == message.thread_id
    }
    return landed._replace(
        reply_to=landed.reply_to if landed.reply_to in near else None,
        acknowledges=tuple(
            target
            for target in landed.acknowledges
            if target in near
            and landed.type == "ACK"
            and message.sender in linked[target].message.recipients
        ),
    )
