"""Start a session: a kickoff for each recipient, checked before the first of them is sent.

Whoever has got the kickoff of this question gets no second one, so that running the same command
again finishes what was interrupted.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from brenner.artifact.merge.resolve import Kickoff, read_posted
from brenner.artifact.model import Artifact
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.codes.artifacts import FILE_AHEAD_OF_MAIL
from brenner.diagnostics.codes.mail import SENT_TO_NOBODY, THREAD_MOVED
from brenner.diagnostics.codes.messages import (
    INVALID_BEAD_ID,
    MISSING_RECOMMENDED_SECTION,
    PLACEHOLDER_LEFT,
    TEMPLATE_NOT_FILLED_IN,
)
from brenner.diagnostics.codes.publishing import KICKOFFS_OVERTAKEN
from brenner.diagnostics.codes.sessions import (
    CONTEXT_DIFFERS,
    KICKOFF_INCOMPLETE,
    LEFT_OUT_OF_ROSTER,
    NO_SOURCE_TEXT,
    RECIPIENTS_NOT_REGISTERED,
    ROLE_CHANGED,
)
from brenner.diagnostics.model import (
    ERROR,
    AlteredError,
    BrennerError,
    Diagnostic,
    RequestError,
    UnavailableError,
    UnknownOutcomeError,
)
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Profile, StoredMessage
from brenner.mail.rules import registration
from brenner.markdown.blocks import blocks
from brenner.protocol.body import Section, find_section, is_seen, sections
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.roster import Mode, Roster, role_in
from brenner.protocol.roster_resolve import Resolved
from brenner.protocol.thread_ids import (
    ThreadKind,
    check_thread_id,
    classify_thread_id,
    cross_reference,
    generate_thread_id,
    is_valid,
)
from brenner.protocol.validate import check_message
from brenner.services.compile import source_of
from brenner.services.rosters import RosterWish, resolve_roster
from brenner.services.sessions import read_session_file
from brenner.services.version_store import load_history
from brenner.services.workspace import Workspace
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from brenner.session.kickoff_text import embedded, excerpt_of, one_line, within_limit
from brenner.text import joined

# What kickoffs need beside their words: somebody to ask, known to the store, and an excerpt.


_WHOM = "Name whom to ask: `--to NAME --role ROLE` for each, a roster, or a preset."


def about_roster(resolved: Resolved) -> list[Diagnostic]:
    """What is wrong or odd about the roster; also that it names nobody."""
    found = list(resolved.diagnostics)
    if not resolved.recipients and not resolved.errors:
        found.append(SENT_TO_NOBODY.at()._replace(fix=_WHOM))
    return found


def excerpt_for(
    workspace: Workspace, text: str, sections: str | None
) -> tuple[str, list[Diagnostic]]:
    """The excerpt: a text, or sections of the project's source text.

    A source text that cannot be read stops everything.
    """
    if sections is None:
        excerpt = within_limit(text)
    else:
        source = source_of(workspace.project)
        if isinstance(source, Diagnostic):
            raise RequestError(source)
        path = workspace.project.source_text or ""
        excerpt = NO_SOURCE_TEXT.at() if source is None else excerpt_of(source, path, sections)
    return ("", [excerpt]) if isinstance(excerpt, Diagnostic) else (excerpt, [])


def newcomers_among(
    workspace: Workspace, resolved: Resolved, *, register: bool
) -> tuple[list[Profile], list[Diagnostic]]:
    """Who is not known yet, and which of the names cannot be made known.

    A store that is written to knows the operator. A recipient whose name is none was told by the
    roster. Where a name may be another project's, only the sender's is taken without being asked.
    """
    known = {workspace.project.operator, *(agent.name for agent in workspace.mailbox.agents())}
    names = dict.fromkeys([workspace.actor, *filter(AGENT_NAME.fullmatch, resolved.recipients)])
    missing = [name for name in names if name not in known]
    if Capability.OWN_NAMES in workspace.mailbox.lacks and not register:
        strangers = [name for name in missing if name != workspace.actor]
        if strangers:
            return [], [RECIPIENTS_NOT_REGISTERED.at(names=", ".join(strangers))]
    newcomers, found = [], []
    for name in missing:
        entry = resolved.roster.entry(name)
        program, model = (entry.program, entry.model) if entry else (None, None)
        try:
            newcomers.append(registration(Profile(name, program or "", model or ""), None, known))
        except RequestError as refused:
            found.append(refused.diagnostic)
        known.add(name)
    return newcomers, found


# A thread into which kickoffs go, each only to those who have not got theirs.
#
# Every send is conditional on the thread as it was read, so that of two who ask the same at once
# nobody gets a kickoff twice. A home that cannot promise that does its best.


_MOST_TRIES = 200


class Asked(NamedTuple):
    """A KICKOFF with a question, as it was written, and the roster that it tells."""

    stored: StoredMessage
    question: str
    roster: Roster | None


class AskingThread(ABC):
    """A thread, read up to some message: so many there are, and that was the last to come in."""

    def __init__(
        self, mailbox: Mailbox, thread_id: str, position: int = 0, arrival: int = 0
    ) -> None:
        self.thread_id = thread_id
        self._mailbox = mailbox
        self._position = position
        self._arrival = arrival

    @abstractmethod
    def reached(self) -> dict[str, Asked]:
        """Who has been asked already, and in which kickoff."""

    @abstractmethod
    def conflict(self) -> Diagnostic | None:
        """Why nothing can be sent into it; None where it can."""

    @abstractmethod
    def _hear(self, news: tuple[StoredMessage, ...]) -> None:
        """Take note of what the messages say."""

    def read(self) -> None:
        """Take in what has come since it was last read."""
        self._take(self._mailbox.thread_arrivals(self.thread_id, self._arrival))

    def _take(self, news: tuple[StoredMessage, ...]) -> None:
        self._position += len(news)
        self._arrival = max((each.arrival for each in news), default=self._arrival)
        self._hear(news)

    def _take_own(self, stored: StoredMessage) -> None:
        """Take in what was just sent; where others may have got in between, them too."""
        if Capability.EXACT_POSITIONS in self._mailbox.lacks:
            with suppress(UnavailableError):  # it was sent all the same
                self.read()
        if stored.arrival > self._arrival:
            self._take((stored,))

    def send(self, message: Message) -> StoredMessage | None:
        """Send a kickoff to those of its recipients who have not got one; None if all have."""
        for _ in range(_MOST_TRIES):
            conflict = self.conflict()
            if conflict:
                raise RequestError(conflict)
            reached = self.reached()
            missing = tuple(name for name in message.recipients if name not in reached)
            if not missing:
                return None
            to_them = message._replace(recipients=missing)
            try:
                stored = self._mailbox.send(to_them, position=self._position).stored
            except RequestError as refused:
                if refused.diagnostic.code is not THREAD_MOVED:
                    raise
                moved = refused
                self.read()
            else:
                self._take_own(stored)
                return stored
        raise moved


# A thread as the kickoff of a session finds it: what it asks already, and whom that has reached.
#
# Of two who start the same session at once nobody sends two questions; see `asking_thread`.


_END_MARKS = " ?!.…"


class KickoffThread(AskingThread):
    """A thread, read as far as it went; `question` is the one that is to be asked in it."""

    def __init__(self, mailbox: Mailbox, thread_id: str, question: str) -> None:
        super().__init__(mailbox, thread_id)
        self._question = question
        self._asked: list[Asked] = []
        self.read()

    def _hear(self, news: tuple[StoredMessage, ...]) -> None:
        self._asked += asked_in(news)

    @property
    def is_new(self) -> bool:
        """Whether nobody has written to it yet."""
        return self._position == 0

    @property
    def has_the_question(self) -> bool:
        """Whether it is about the question that is to be asked."""
        return bool(self._asked) and is_same_question(self._first.question, self._question)

    @property
    def has_its_words(self) -> bool:
        """Whether it asks in the very words in which the question is to be asked."""
        return bool(self._asked) and one_line(self._first.question) == one_line(self._question)

    @property
    def other_words(self) -> str | None:
        """The question in the thread's words, where it has the question in others."""
        is_respelt = self.has_the_question and not self.has_its_words
        return self._first.question if is_respelt else None

    @property
    def first(self) -> StoredMessage | None:
        """The kickoff with which the session began."""
        return self._first.stored if self._asked else None

    def conflict(self) -> Diagnostic | None:
        """That it is about another question; None where it is not."""
        if not self._asked or self.has_the_question:
            return None
        first = self._first
        return codes.OTHER_QUESTION.at(
            thread_id=self.thread_id, id=first.stored.id, question=one_line(first.question)
        )

    def respelt(self) -> Diagnostic | None:
        """That its question is the one that is to be asked, in other letters; None where not."""
        words = self.other_words
        if words is None:
            return None
        return codes.QUESTION_RESPELT.at(
            thread_id=self.thread_id, id=self._first.stored.id, question=one_line(words)
        )

    def reached(self) -> dict[str, Asked]:
        """Who has been asked the question, and in which kickoff."""
        return {
            name: each
            for each in reversed(self._asked)
            if is_same_question(each.question, self._question)
            for name in each.stored.message.recipients
        }

    @property
    def _first(self) -> Asked:
        """The first kickoff with a question decides what the thread is about (R15)."""
        return min(self._asked, key=lambda each: (each.stored.at, each.stored.id))


def thread_of_today(mailbox: Mailbox, question: str, asked: str, today: date) -> KickoffThread:
    """A thread of today that has this question, best in these words; else a new one.

    `asked` is the question as the kickoff says it. A new thread is named after it.
    """
    threads = [each.thread_id for each in mailbox.threads()]
    alike: KickoffThread | None = None
    for thread_id in threads:
        if thread_id.startswith(f"RS-{today:%Y%m%d}-"):
            thread = KickoffThread(mailbox, thread_id, asked)
            if thread.has_its_words:
                return thread
            alike = alike or (thread if thread.has_the_question else None)
    if alike is not None:
        return alike
    return KickoffThread(mailbox, generate_thread_id(question, today, set(threads)), asked)


def is_same_question(one: str, other: str) -> bool:
    """Whether they have the same words; case, blanks and the marks at the end do not count."""
    return _compared(one) == _compared(other)


def _compared(question: str) -> str:
    words = one_line(question)
    return (words.rstrip(_END_MARKS) or words).casefold()


def asked_in(messages: tuple[StoredMessage, ...]) -> Iterator[Asked]:
    """Those of the messages that ask a question."""
    for stored in messages:
        if stored.type == KICKOFF.name:
            brought = read_posted(stored.posted)
            if isinstance(brought, Kickoff) and brought.question:
                yield Asked(stored, brought.question, brought.roster)


# Send kickoffs: each to those of its recipients who have not got one yet.


class State(StrEnum):
    """What became of one kickoff. Where a server was lost while it stored one, nobody knows."""

    SENT = "sent"
    SENT_BEFORE = "sent_before"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    DRY_RUN = "dry_run"


class Addressed(NamedTuple):
    """A kickoff, and the message that it has become in the mailbox, if it has.

    `role` is the one that it is for; in a session without roles there is none.
    """

    message: Message
    stored: StoredMessage | None
    state: State
    role: str | None


def role_told(roster: Roster, name: str) -> str | None:
    """The role that a kickoff tells an agent."""
    return None if roster.mode == Mode.UNIFIED else role_in(roster, name)


def addressed(message: Message, thread: AskingThread, roster: Roster) -> Iterator[Addressed]:
    """A kickoff as it went to some before, and as it goes to those who have not got one."""
    reached = thread.reached()
    before: dict[int, list[str]] = {}
    for name in message.recipients:
        if name in reached:
            before.setdefault(reached[name].stored.id, []).append(name)
    for names in before.values():
        asked = reached[names[0]]
        sent = asked.stored.message._replace(recipients=tuple(names))
        role = role_told(asked.roster or roster, names[0])
        yield Addressed(sent, asked.stored, State.SENT_BEFORE, role)
    missing = tuple(name for name in message.recipients if name not in reached)
    if missing:
        to_them = message._replace(recipients=missing)
        yield Addressed(to_them, None, State.NOT_SENT, role_told(roster, missing[0]))


def send_missing(
    thread: AskingThread, kickoffs: Iterable[Addressed], roster: Roster
) -> tuple[tuple[Addressed, ...], BrennerError | None]:
    """Send one after the other; at the first that fails the rest stays as it is."""
    done: list[Addressed] = []
    failed: BrennerError | None = None
    for each in kickoffs:
        if each.state is not State.NOT_SENT or failed:
            done.append(each)
            continue
        try:
            done += _sent(each.message, thread, roster)
        except BrennerError as error:
            failed = error
            is_unknown = isinstance(
                error, UnknownOutcomeError | AlteredError
            )  # what is there is to be looked at
            done.append(each._replace(state=State.UNKNOWN) if is_unknown else each)
    return tuple(done), failed


def _sent(message: Message, thread: AskingThread, roster: Roster) -> list[Addressed]:
    """The kickoff, sent; also where somebody else was quicker with some of its recipients."""
    stored = thread.send(message)
    split = list(addressed(message, thread, roster))
    return [
        each._replace(state=State.SENT)
        if stored and each.stored and each.stored.id == stored.id
        else each
        for each in split
    ]


# What is wrong or odd in the texts of kickoffs: each alone, and beside the thread's first one.


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
    stored: StoredMessage
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


# What comes of the kickoffs of a session, or of one of its rounds: sent, tried, or broken off.


class Status(StrEnum):
    """How starting a session ended."""

    SENT = "sent"
    NOTHING = "nothing_to_send"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    DRY_RUN = "dry_run"


class Started(NamedTuple):
    """What was done. `registered` are the names that were made known, or would be.

    `failed` is what went wrong after the first kickoff had gone out. `round` is the number of a
    later round, where the kickoffs are of one. `digest` stands for what would be sent.
    """

    thread_id: str | None
    status: Status
    kickoffs: tuple[Addressed, ...]
    registered: tuple[str, ...]
    roster: Roster
    diagnostics: tuple[Diagnostic, ...]
    failed: BrennerError | None = None
    round: int | None = None
    digest: str = ""

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody whom the kickoffs are for."""
        return tuple(name for each in self.kickoffs for name in each.message.recipients)


def changed_roles(kickoffs: Iterable[Addressed], roster: Roster) -> Iterator[Diagnostic]:
    """Whoever was told another role before gets no second kickoff, so the operator must know."""
    for each in kickoffs:
        for name in each.message.recipients:
            role = role_told(roster, name)
            if each.stored and each.role != role:
                before, now = each.role or "one of all", role or "one of all"
                yield ROLE_CHANGED.at(name=name, id=each.stored.id, before=before, role=now)


def left_out(
    thread: AskingThread, kickoffs: Iterable[Addressed], roster: Roster
) -> list[Diagnostic]:
    """Those who were asked before, and whom the roster that is about to be told has not."""
    if all(each.stored for each in kickoffs):  # nothing is told
        return []
    names = sorted(name for name in thread.reached() if name not in roster.names)
    return [LEFT_OUT_OF_ROSTER.at(names=joined(names))] if names else []


def digest_of(kickoffs: Iterable[Addressed], base: int = 0) -> str:
    """What stands for all that would be sent, and for the message of the version beneath it."""
    letters = [
        [each.message.thread_id, each.message.recipients, each.message.subject, each.message.body]
        for each in kickoffs
        if each.stored is None
    ]
    return sha256(json.dumps([base, letters]).encode()).hexdigest()


def check_as_seen(started: Started, seen: str | None) -> None:
    """Refuse to send other kickoffs than somebody has looked at; None is whoever did not look."""
    if seen is not None and seen != started.digest:
        raise RequestError(KICKOFFS_OVERTAKEN.at(thread_id=started.thread_id or ""))


def once(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each once: of the thread's ID the check of a kickoff says what was said before."""
    return tuple({(each.id, each.message): each for each in reversed([*found])}.values())[::-1]


def tried(started: Started, newcomers: Iterable[Profile]) -> Started:
    """What a dry run says: what would be sent, and who would be registered."""
    kickoffs = (
        each if each.stored else each._replace(state=State.DRY_RUN) for each in started.kickoffs
    )
    registered = tuple(profile.name for profile in newcomers)
    return started._replace(kickoffs=tuple(kickoffs), registered=registered)


def send_all(
    workspace: Workspace, thread: AskingThread, started: Started, newcomers: Iterable[Profile]
) -> Started:
    """Register whom nobody knows yet, then send what is missing."""
    registered = [workspace.mailbox.register(profile) for profile in newcomers]
    kickoffs, failed = send_missing(thread, started.kickoffs, started.roster)
    is_sent = any(each.state is State.SENT for each in kickoffs)
    started = started._replace(
        status=Status.SENT if is_sent else Status.NOTHING,
        kickoffs=kickoffs,
        registered=tuple(each.agent.name for each in registered if each.before is None),
    )
    return _incomplete(started, failed) if failed else started


def _incomplete(started: Started, failed: BrennerError) -> Started:
    """What to say where it broke off; where nobody was reached, that is all there is to say."""
    missed = [each for each in started.kickoffs if each.state in (State.NOT_SENT, State.UNKNOWN)]
    reached = [each for each in started.kickoffs if each not in missed]
    if not reached:
        raise failed
    found = failed.diagnostic
    told = KICKOFF_INCOMPLETE.at(
        reached=_names(reached), missed=_names(missed), reason=found.message, hint=found.fix
    )
    return started._replace(
        status=Status.INCOMPLETE,
        diagnostics=(*started.diagnostics, told._replace(also=(found.id,))),
        failed=failed,
    )


def _names(kickoffs: Iterable[Addressed]) -> str:
    return ", ".join(
        f"{name} (or perhaps it has)" if each.state is State.UNKNOWN else name
        for each in kickoffs
        for name in each.message.recipients
    )


__all__ = ["StartOptions", "Started", "Status", "start_session"]


class StartOptions(NamedTuple):
    """What to ask, and whom. An empty text is one that was not given.

    The excerpt is a text, or `sections` of the project's source text, such as `42,45-47`. Without
    `thread_id` and `bead` the thread gets an ID from the question and from `today`. `register` says
    that the recipients' names may be made known also where they belong to a whole server. `seen` is
    the digest of what somebody looked at; where something else would be sent by now, nothing is.
    """

    question: str
    context: str
    wish: RosterWish = RosterWish()
    title: str = ""
    excerpt: str = ""
    sections: str | None = None
    hypotheses: str = ""
    constraints: str = ""
    outputs: str = ""
    thread_id: str | None = None
    bead: str | None = None
    dry_run: bool = False
    register: bool = False
    today: date | None = None
    seen: str | None = None


def start_session(workspace: Workspace, options: StartOptions) -> Started:
    """Send the kickoffs of a session to all who have not got theirs.

    All that can be wrong with them is found out before the first is sent; then none is.
    """
    resolved = resolve_roster(workspace.project, os.environ, options.wish)
    roster = resolved.roster
    thread, about_thread = _thread(workspace, options)
    excerpt, about_excerpt = excerpt_for(workspace, options.excerpt, options.sections)
    newcomers, about_names = newcomers_among(workspace, resolved, register=options.register)
    about_file = _about_file(workspace, thread) if thread and thread.is_new else []
    found = [*about_roster(resolved), *about_thread, *about_file, *about_excerpt, *about_names]
    kickoffs: list[Addressed] = []
    if thread and not (resolved.errors or about_excerpt or about_names):
        plan = _plan(workspace, options, resolved)
        base = 0 if thread.is_new else _latest(workspace, thread.thread_id)
        plan = plan._replace(thread_id=thread.thread_id, excerpt=excerpt, base=base)
        plan = plan._replace(question=thread.other_words or options.question)
        messages = compose_kickoffs(plan)
        kickoffs = [each for message in messages for each in addressed(message, thread, roster)]
        found += (*about_messages(messages), *changed_roles(kickoffs, roster))
        found += left_out(thread, kickoffs, roster)
        beginning = beginning_of(thread, has_outputs=bool(options.outputs.strip()))
        for message in messages[:1]:
            found += told_otherwise(beginning, message, kickoffs)
    started = Started(
        thread.thread_id if thread else None,
        Status.DRY_RUN if options.dry_run else Status.REFUSED,
        tuple(kickoffs),
        (),
        roster,
        once(found),
        digest=digest_of(kickoffs),
    )
    if thread is None or any(each.severity is ERROR for each in found):
        return started
    if options.dry_run:
        return tried(started, newcomers)
    check_as_seen(started, options.seen)
    return send_all(workspace, thread, started, newcomers)


# What is asked for, and what is wrong with it


def _thread(
    workspace: Workspace, options: StartOptions
) -> tuple[KickoffThread | None, list[Diagnostic]]:
    """The thread of the session: the one that is asked for, that has the question, or a new one."""
    thread_id = options.bead if options.thread_id is None else options.thread_id
    asked = embedded(options.question)
    if thread_id is None:
        today = options.today or datetime.now(UTC).date()
        thread = thread_of_today(workspace.mailbox, options.question, asked, today)
        return thread, _as_list(thread.respelt())
    found = check_thread_id(thread_id)
    if not is_valid(thread_id):
        return None, found
    if options.bead is not None and classify_thread_id(thread_id) is not ThreadKind.ENGINEERING:
        reason = "it names no bead but a session or a topic, which `--thread-id` takes"
        return None, [INVALID_BEAD_ID.at(thread_id=thread_id, reason=reason, suggestion="")]
    thread = KickoffThread(workspace.mailbox, thread_id, asked)
    return thread, [*found, *_as_list(thread.conflict()), *_as_list(thread.respelt())]


def _about_file(workspace: Workspace, thread: KickoffThread) -> list[Diagnostic]:
    """That a session of this ID has a file, and its mail is not here: it would begin anew."""
    artifact = read_session_file(workspace.project, thread.thread_id)
    held = artifact.metadata.version if isinstance(artifact, Artifact) else 0
    if not held:
        return []
    path = cross_reference(thread.thread_id).artifact_path
    ends = "has no version of it"
    return [FILE_AHEAD_OF_MAIL.at(path=path, value=str(held), ends=ends)]


def _as_list(found: Diagnostic | None) -> list[Diagnostic]:
    return [found] if found else []


def _plan(workspace: Workspace, options: StartOptions, resolved: Resolved) -> KickoffPlan:
    return KickoffPlan(
        thread_id="",
        sender=workspace.actor,
        roster=resolved.roster,
        recipients=resolved.recipients,
        question=options.question,
        context=options.context,
        title=options.title,
        hypotheses=options.hypotheses,
        constraints=options.constraints,
        outputs=options.outputs,
    )


def _latest(workspace: Workspace, thread_id: str) -> int:
    """The version that a contribution to an older thread builds on."""
    return load_history(workspace.mailbox, thread_id, workspace.project.operator).history.number
