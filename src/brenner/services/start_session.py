"""Start a session: check the kickoffs of all recipients, then send the missing ones.

An agent that has the kickoff of this question gets no second one. So repeating the command finishes
an interrupted one.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import UTC, date, datetime
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from brenner.artifact.merge.resolve import KickoffMessage, parse_posted
from brenner.artifact.model import Artifact
from brenner.diagnostics.codes import messages as message_codes
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.codes.artifacts import FILE_AHEAD_OF_MAIL
from brenner.diagnostics.codes.mail import SENT_TO_NOBODY, THREAD_MOVED
from brenner.diagnostics.codes.publishing import KICKOFFS_OVERTAKEN
from brenner.diagnostics.codes.stores import HOME_CANNOT
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
from brenner.mail.model import Profile
from brenner.mail.rules import merge_profile
from brenner.mail.sealed import independent_round_of
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import BodySection, find_section, has_visible_text, parse_sections
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Message, StoredMessage, render_message_file
from brenner.protocol.roster import Mode, Roster, role_of_agent
from brenner.protocol.thread_ids import (
    ThreadKind,
    check_thread_id,
    classify_thread_id,
    cross_reference,
    generate_thread_id,
    is_valid_thread_id,
    without_id_advice,
)
from brenner.protocol.validate import check_message
from brenner.services.compile import read_project_source
from brenner.services.publish import cancelled_note
from brenner.services.rosters import RosterRequest, resolve_roster
from brenner.services.send_checks import refuse_secrets
from brenner.services.session_files import read_session_file
from brenner.services.version_store import load_history
from brenner.session.excerpts import (
    embed_text,
    excerpt_of,
    excerpt_of_pack,
    one_line,
    within_limit,
)
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from brenner.text import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.protocol.roster_resolve import ResolvedRoster
    from brenner.services.workspace import Workspace

# Preparing kickoffs: the roster, the excerpt, registration of the recipients


_NAME_RECIPIENTS = "Name the recipients: `--to NAME --role ROLE` for each, a roster, or a preset."


def roster_diagnostics(resolved: ResolvedRoster) -> list[Diagnostic]:
    """Return the diagnostics of the roster, with an error if it names no recipient."""
    found = list(resolved.diagnostics)
    if not resolved.recipients and not resolved.errors:
        found.append(SENT_TO_NOBODY.at()._replace(fix=_NAME_RECIPIENTS))
    return found


def load_excerpt(
    workspace: Workspace, text: str, sections: str | None, evidence: Sequence[str] = ()
) -> tuple[str, list[Diagnostic]]:
    """Return the excerpt: a text, or sections of the project's source text, and its diagnostics.

    The excerpts of the evidence pack with the anchors in `evidence` follow. Raise if the source
    text or the pack cannot be read.
    """
    if sections is None:
        excerpt = within_limit(text)
    else:
        source = read_project_source(workspace.project)
        if isinstance(source, Diagnostic):
            raise RequestError(source)
        path = workspace.project.source_text or ""
        excerpt = (
            codes.NO_SOURCE_TEXT.at() if source is None else excerpt_of(source, path, sections)
        )
    if isinstance(excerpt, Diagnostic):
        return "", [excerpt]
    return _with_evidence(workspace, excerpt, evidence) if evidence else (excerpt, [])


def _with_evidence(
    workspace: Workspace, excerpt: str, anchors: Sequence[str]
) -> tuple[str, list[Diagnostic]]:
    from brenner.services.evidence import require_pack  # only for excerpts of the evidence pack

    quoted, found = excerpt_of_pack(require_pack(workspace.project).pack, anchors)
    whole = within_limit("\n\n".join(filter(None, (excerpt.strip("\n"), quoted))))
    found += [whole] if isinstance(whole, Diagnostic) else []
    return ("" if isinstance(whole, Diagnostic) else whole), found


def find_newcomers(
    workspace: Workspace, resolved: ResolvedRoster, *, register: bool
) -> tuple[list[Profile], list[Diagnostic]]:
    """Return the agents to register, and errors for names that cannot be registered.

    A store registers the operator itself. The roster has reported invalid names. On a server that
    shares names between projects, only the sender is registered without `register`.
    """
    known = {workspace.project.operator, *(agent.name for agent in workspace.mailbox.agents())}
    names = dict.fromkeys([workspace.actor, *filter(AGENT_NAME.fullmatch, resolved.recipients)])
    missing = [name for name in names if name not in known]
    if Capability.PROJECT_NAMES in workspace.mailbox.lacks and not register:
        strangers = [name for name in missing if name != workspace.actor]
        if strangers:
            return [], [codes.RECIPIENTS_NOT_REGISTERED.at(names=", ".join(strangers))]
    newcomers, found = [], []
    for name in missing:
        entry = resolved.roster.entry(name)
        program, model = (entry.program, entry.model) if entry else (None, None)
        try:
            newcomers.append(merge_profile(Profile(name, program or "", model or ""), None, known))
        except RequestError as refused:
            found.append(refused.diagnostic)
        known.add(name)
    return newcomers, found


# A thread that kickoffs are sent to
#
# Every send is conditional on the thread being unchanged since it was read. So two simultaneous
# commands send no kickoff twice. Stores without exact positions cannot guarantee that.


_MOST_TRIES = 200


class BaseKickoffThread(ABC):
    """A thread that kickoffs are sent to, with the position up to which it was read."""

    def __init__(
        self, mailbox: Mailbox, thread_id: str, position: int = 0, arrival: int = 0
    ) -> None:
        self.thread_id = thread_id
        self._mailbox = mailbox
        self._position = position
        self._arrival = arrival

    @abstractmethod
    def reached(self) -> dict[str, KickoffMessage]:
        """Return the kickoff of each agent that has one."""

    @abstractmethod
    def conflict(self) -> Diagnostic | None:
        """Return why nothing can be sent to the thread; None if it can."""

    @abstractmethod
    def _process(self, news: tuple[StoredMessage, ...]) -> None:
        """Process the content of new messages."""

    def read(self) -> None:
        self._take(self._mailbox.thread_arrivals(self.thread_id, self._arrival))

    def _take(self, news: tuple[StoredMessage, ...]) -> None:
        self._position += len(news)
        self._arrival = max((each.arrival for each in news), default=self._arrival)
        self._process(news)

    def _take_sent(self, stored: StoredMessage) -> None:
        """Add the message that was just sent, and others that may have come in between."""
        if Capability.CONDITIONAL_SENDS in self._mailbox.lacks:
            with suppress(UnavailableError):  # the kickoff was sent anyway
                self.read()
        if stored.arrival > self._arrival:
            self._take((stored,))

    def send(self, message: Message) -> StoredMessage | None:
        """Send a kickoff to the recipients that have none; return None if all have one."""
        refuse_secrets(self._mailbox, message.subject, message.body)
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
                self._take_sent(stored)
                return stored
        raise moved


# The thread of a session to start: its question, and the agents that have a kickoff
#
# Two simultaneous starts do not send two questions; see `BaseKickoffThread`.


_END_MARKS = " ?!.…"


class SessionThread(BaseKickoffThread):
    """The thread of a session to start; `question` is the one to ask."""

    def __init__(self, mailbox: Mailbox, thread_id: str, question: str) -> None:
        super().__init__(mailbox, thread_id)
        self._question = question
        self._kickoffs: list[KickoffMessage] = []
        self.read()

    def _process(self, news: tuple[StoredMessage, ...]) -> None:
        self._kickoffs += sent_kickoffs(news)

    @property
    def is_new(self) -> bool:
        return self._position == 0

    @property
    def has_question(self) -> bool:
        return bool(self._kickoffs) and is_same_question(self._first.question, self._question)

    @property
    def has_same_wording(self) -> bool:
        """Return whether the thread asks the question in exactly the same words."""
        return bool(self._kickoffs) and one_line(self._first.question) == one_line(self._question)

    @property
    def existing_wording(self) -> str | None:
        """Return the thread's own wording of the question, if it differs."""
        is_respelt = self.has_question and not self.has_same_wording
        return self._first.question if is_respelt else None

    @property
    def first(self) -> StoredMessage | None:
        return self._first.posted if self._kickoffs else None

    def conflict(self) -> Diagnostic | None:
        """Return an error if the thread is about another question, or None."""
        if not self._kickoffs or self.has_question:
            return None
        first = self._first
        return codes.OTHER_QUESTION.at(
            thread_id=self.thread_id, id=first.posted.id, question=one_line(first.question)
        )

    def wording_note(self) -> Diagnostic | None:
        """Return a note if the thread has the question in a different wording, or None."""
        words = self.existing_wording
        if words is None:
            return None
        return codes.QUESTION_RESPELT.at(
            thread_id=self.thread_id, id=self._first.posted.id, question=one_line(words)
        )

    def reached(self) -> dict[str, KickoffMessage]:
        """Return the kickoff of each agent that was asked the question."""
        return {
            name: each
            for each in reversed(self._kickoffs)
            if is_same_question(each.question, self._question)
            for name in each.posted.message.recipients
        }

    @property
    def _first(self) -> KickoffMessage:
        """Return the first kickoff with a question: it decides what the thread is about (R15)."""
        return min(self._kickoffs, key=lambda each: (each.posted.at, each.posted.id))


def find_or_create_thread(
    mailbox: Mailbox, question: str, asked: str, today: date
) -> SessionThread:
    """Return today's thread with this question, preferably in the same words; else a new one.

    `asked` is the question as the kickoff contains it. A new thread is named after the question.
    """
    threads = [each.thread_id for each in mailbox.threads()]
    alike: SessionThread | None = None
    for thread_id in threads:
        if thread_id.startswith(f"RS-{today:%Y%m%d}-"):
            thread = SessionThread(mailbox, thread_id, asked)
            if thread.has_same_wording:
                return thread
            alike = alike or (thread if thread.has_question else None)
    if alike is not None:
        return alike
    return SessionThread(mailbox, generate_thread_id(question, today, set(threads)), asked)


def is_same_question(one: str, other: str) -> bool:
    """Return whether two questions are equal but for case, spaces and final punctuation."""
    return _normalised(one) == _normalised(other)


def _normalised(question: str) -> str:
    words = one_line(question)
    return (words.rstrip(_END_MARKS) or words).casefold()


def sent_kickoffs(messages: tuple[StoredMessage, ...]) -> Iterator[KickoffMessage]:
    for stored in messages:
        if stored.type == KICKOFF.name:
            brought = parse_posted(stored)
            if isinstance(brought, KickoffMessage) and brought.question:
                yield brought


# Sending kickoffs to the recipients that have none


class KickoffState(StrEnum):
    """The state of one kickoff. It is unknown if the server was lost while it stored one."""

    SENT = "sent"
    SENT_BEFORE = "sent_before"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    DRY_RUN = "dry_run"


class KickoffDelivery(NamedTuple):
    """A kickoff, and its stored message once it is sent.

    `role` is the role of its recipients; None in a session without roles.
    """

    message: Message
    stored: StoredMessage | None
    state: KickoffState
    role: str | None


def role_in_kickoff(roster: Roster, name: str) -> str | None:
    return None if roster.mode == Mode.UNIFIED else role_of_agent(roster, name)


def split_by_delivery(
    message: Message, thread: BaseKickoffThread, roster: Roster
) -> Iterator[KickoffDelivery]:
    """Yield a kickoff as it was sent to some recipients before, and as it goes to the others."""
    reached = thread.reached()
    before: dict[int, list[str]] = {}
    for name in message.recipients:
        if name in reached:
            before.setdefault(reached[name].posted.id, []).append(name)
    for names in before.values():
        earlier = reached[names[0]]
        sent = earlier.posted.message._replace(recipients=tuple(names))
        role = role_in_kickoff(earlier.roster or roster, names[0])
        yield KickoffDelivery(sent, earlier.posted, KickoffState.SENT_BEFORE, role)
    missing = tuple(name for name in message.recipients if name not in reached)
    if missing:
        to_them = message._replace(recipients=missing)
        yield KickoffDelivery(
            to_them, None, KickoffState.NOT_SENT, role_in_kickoff(roster, missing[0])
        )


def send_missing(
    thread: BaseKickoffThread, kickoffs: Iterable[KickoffDelivery], roster: Roster
) -> tuple[tuple[KickoffDelivery, ...], BrennerError | None]:
    """Send the missing kickoffs one by one. After the first failure, leave the rest unsent."""
    done: list[KickoffDelivery] = []
    failed: BrennerError | None = None
    for each in kickoffs:
        if each.state is not KickoffState.NOT_SENT or failed:
            done.append(each)
            continue
        try:
            done += _send_one(each.message, thread, roster)
        except BrennerError as error:
            failed = error
            # The message may have been stored.
            is_unknown = isinstance(error, UnknownOutcomeError | AlteredError)
            done.append(each._replace(state=KickoffState.UNKNOWN) if is_unknown else each)
    return tuple(done), failed


def _send_one(message: Message, thread: BaseKickoffThread, roster: Roster) -> list[KickoffDelivery]:
    """Send one kickoff. Another process may have sent it to some of its recipients."""
    stored = thread.send(message)
    split = list(split_by_delivery(message, thread, roster))
    return [
        each._replace(state=KickoffState.SENT)
        if stored and each.stored and each.stored.id == stored.id
        else each
        for each in split
    ]


# Checking the texts of kickoffs, and comparing them with the thread's first one


_COMPARED_SECTIONS = {
    "session": ("Context", "Excerpt", "Initial Hypotheses", "Constraints"),
    "round": ("Research Question", "Excerpt", "Constraints"),
}
_OUTPUTS_SECTION = "Requested Outputs"
_NO_EXCERPT = "The kickoff has no excerpt."
_EXCERPT_FIX = (
    "Add the passages that agents should cite: `--excerpt-file FILE`, or for sections of the "
    "project's source text `--excerpt 42,45-47`."
)


def check_kickoffs(messages: Iterable[Message]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the kickoffs. Line numbers count in their bodies.

    They share the operator's texts, so the same fault in several is reported once.
    """
    reported: set[str] = set()
    for message in messages:
        found = [each for each in _check_kickoff(message) if each.id not in reported]
        reported |= {each.id for each in found}
        yield from found


def _check_kickoff(message: Message) -> Iterator[Diagnostic]:
    text = render_message_file(message)
    lines_before = text.partition("\n\n")[0].count("\n") + 2
    for found in check_message(text, message.sender).violations:
        line = max(0, (found.line or 0) - lines_before) or None
        if found.code is message_codes.PLACEHOLDER_LEFT:
            places = f"line {line}" if line else "in its subject"
            yield message_codes.TEMPLATE_NOT_FILLED_IN.at(line, placeholders=places)
        elif found.code is message_codes.MISSING_RECOMMENDED_SECTION:
            # In a kickoff that is always the excerpt. No line: the operator gave options.
            yield found._replace(line=None, message=_NO_EXCERPT, fix=_EXCERPT_FIX)
        else:
            yield found._replace(line=line)


def changed_texts(
    what: Literal["session", "round"],
    first: StoredMessage | None,
    kickoffs: Sequence[KickoffDelivery],
    messages: Sequence[Message],
    *,
    has_outputs: bool,
) -> Iterator[Diagnostic]:
    """Yield a warning if texts differ from those of the first kickoff of the session or round.

    The new messages differ only in the parts for a role; default outputs belong to a role, too.
    """
    if first is None or not messages:
        return
    names = (*_COMPARED_SECTIONS[what], *([_OUTPUTS_SECTION] if has_outputs else []))
    before, now = (_section_texts(each.body, names) for each in (first.message, messages[0]))
    others = [name for name in names if now[name] != before[name]]
    if not others:
        return
    missing = [
        name
        for each in kickoffs
        if each.state is KickoffState.NOT_SENT
        for name in each.message.recipients
    ]
    effect = "The new text is not sent."
    if missing:
        effect = f"The new text is sent only to {', '.join(missing)}."
    words = ", ".join(f"`## {name}`" for name in others)
    yield codes.CONTEXT_DIFFERS.at(id=first.id, what=what, sections=words, effect=effect)


def _section_texts(body: str, names: Iterable[str]) -> Mapping[str, str]:
    """Return the text under each of these headings, on one line; empty if there is none."""
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = parse_sections(parse_blocks(body))
    return {name: _section_text(find_section(found, name), lines) for name in names}


def _section_text(section: BodySection | None, lines: list[str]) -> str:
    seen = [block for block in section.contents if has_visible_text(block)] if section else []
    return one_line("\n".join(lines[seen[0].line - 1 : seen[-1].end])) if seen else ""


# The result of kickoffs, of a session or of a round


class StartStatus(StrEnum):
    SENT = "sent"
    NOTHING = "nothing_to_send"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    DRY_RUN = "dry_run"


class Started(NamedTuple):
    """The result of starting a session or a round.

    `registered` are the newly registered names, or those that would be. `failed` is an error after
    the first kickoff was sent. `round` is the number of a later round. `digest` identifies the
    kickoffs to send.
    """

    thread_id: str | None
    status: StartStatus
    kickoffs: tuple[KickoffDelivery, ...]
    registered: tuple[str, ...]
    roster: Roster
    diagnostics: tuple[Diagnostic, ...]
    failed: BrennerError | None = None
    round: int | None = None
    digest: str = ""

    @property
    def recipients(self) -> tuple[str, ...]:
        return tuple(name for each in self.kickoffs for name in each.message.recipients)


def changed_roles(kickoffs: Iterable[KickoffDelivery], roster: Roster) -> Iterator[Diagnostic]:
    """Yield a warning for each agent that keeps the other role of its earlier kickoff."""
    for each in kickoffs:
        for name in each.message.recipients:
            role = role_in_kickoff(roster, name)
            if each.stored and each.role != role:
                before, now = each.role or "participant", role or "participant"
                yield codes.ROLE_CHANGED.at(name=name, id=each.stored.id, before=before, role=now)


def left_out_of_roster(
    thread: BaseKickoffThread, kickoffs: Iterable[KickoffDelivery], roster: Roster
) -> list[Diagnostic]:
    """Return a warning for agents that were asked before and are not in the new roster."""
    if all(each.stored for each in kickoffs):  # nothing will be sent
        return []
    names = sorted(name for name in thread.reached() if name not in roster.names)
    return [codes.LEFT_OUT_OF_ROSTER.at(names=joined(names))] if names else []


def kickoffs_digest(kickoffs: Iterable[KickoffDelivery], base: int = 0) -> str:
    """Return a digest of all kickoffs to send, and of the message of the base version."""
    messages = [
        [each.message.thread_id, each.message.recipients, each.message.subject, each.message.body]
        for each in kickoffs
        if each.stored is None
    ]
    return sha256(json.dumps([base, messages]).encode()).hexdigest()


def without_duplicates(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return each diagnostic once: the check of a kickoff repeats that of the thread's ID."""
    return tuple({(each.id, each.message): each for each in reversed([*found])}.values())[::-1]


def send_if_sound(
    workspace: Workspace,
    thread: BaseKickoffThread | None,
    started: Started,
    newcomers: Iterable[Profile],
    seen: str | None,
) -> Started:
    """Register unknown agents, then send the missing kickoffs, unless there is an error.

    In a dry run, return what would be sent, and which names would be registered. Raise if the
    kickoffs differ from the previewed ones, whose digest is `seen`; None means no preview.
    """
    if thread is None or any(each.severity is ERROR for each in started.diagnostics):
        return started
    if started.status is StartStatus.DRY_RUN:
        unsent = KickoffState.DRY_RUN
        kickoffs = [e if e.stored else e._replace(state=unsent) for e in started.kickoffs]
        names = tuple(profile.name for profile in newcomers)
        return started._replace(kickoffs=tuple(kickoffs), registered=names)
    if seen not in (None, started.digest):
        raise RequestError(KICKOFFS_OVERTAKEN.at(thread_id=started.thread_id or ""))
    registered = [workspace.mailbox.register(profile) for profile in newcomers]
    done, failed = send_missing(thread, started.kickoffs, started.roster)
    is_sent = any(each.state is KickoffState.SENT for each in done)
    started = started._replace(
        status=StartStatus.SENT if is_sent else StartStatus.NOTHING,
        kickoffs=done,
        registered=tuple(agent.name for agent, before in registered if before is None),
    )
    return _with_failure(started, failed) if failed else started


def _with_failure(started: Started, failed: BrennerError) -> Started:
    """Return the incomplete result.

    Raise the error if no recipient has a kickoff, neither from now nor from before.
    """
    missed = [
        each
        for each in started.kickoffs
        if each.state in (KickoffState.NOT_SENT, KickoffState.UNKNOWN)
    ]
    reached = [each for each in started.kickoffs if each not in missed]
    if not reached:
        raise failed
    found = failed.diagnostic
    error = codes.KICKOFF_INCOMPLETE.at(
        reached=_recipient_names(reached),
        missed=_recipient_names(missed),
        reason=found.message,
        hint=found.fix,
    )
    return started._replace(
        status=StartStatus.INCOMPLETE,
        diagnostics=(*started.diagnostics, error._replace(also=(found.id,))),
        failed=failed,
    )


def _recipient_names(kickoffs: Iterable[KickoffDelivery]) -> str:
    return ", ".join(
        f"{name} (may have arrived)" if each.state is KickoffState.UNKNOWN else name
        for each in kickoffs
        for name in each.message.recipients
    )


class StartOptions(NamedTuple):
    """The question to ask, and the recipients. An empty text means not given.

    The excerpt is a text, or `sections` of the project's source text, such as `42,45-47`, then the
    excerpts of the evidence pack with the anchors in `evidence`. Without
    `thread_id` and `bead` the thread gets an ID from the question and from `today`. `register`
    allows registering recipients on a server that shares names between projects. `seen` is the
    digest of the previewed kickoffs; if they have changed, nothing is sent. `independent` states an
    independent first round (R33).
    """

    question: str
    context: str
    wish: RosterRequest = RosterRequest()
    title: str = ""
    excerpt: str = ""
    sections: str | None = None
    evidence: tuple[str, ...] = ()
    hypotheses: str = ""
    constraints: str = ""
    outputs: str = ""
    thread_id: str | None = None
    bead: str | None = None
    dry_run: bool = False
    register: bool = False
    today: date | None = None
    seen: str | None = None
    independent: bool = False


def start_session(workspace: Workspace, options: StartOptions) -> Started:
    """Send the kickoffs of a session to all recipients that have none.

    All checks run before the first kickoff is sent; with an error, none is sent.
    """
    resolved = resolve_roster(workspace.project, os.environ, options.wish)
    roster = resolved.roster
    thread, about_thread = _find_thread(workspace, options)
    excerpt, about_excerpt = load_excerpt(
        workspace, options.excerpt, options.sections, options.evidence
    )
    newcomers, about_names = find_newcomers(workspace, resolved, register=options.register)
    about_file = _file_diagnostics(workspace, thread) if thread and thread.is_new else []
    is_independent, about_round = _independence(workspace, thread, options)
    found = [
        *roster_diagnostics(resolved),
        *about_thread,
        *about_file,
        *about_excerpt,
        *about_names,
        *about_round,
    ]
    operator = workspace.project.operator
    if operator in resolved.recipients:
        found.append(codes.OPERATOR_AS_RECIPIENT.at(name=operator))
    kickoffs: list[KickoffDelivery] = []
    can_compose = resolved.recipients and not (resolved.errors or about_excerpt or about_names)
    if thread and can_compose:
        plan = _plan(workspace, options, resolved)
        base = 0 if thread.is_new else _latest_number(workspace, thread.thread_id)
        plan = plan._replace(thread_id=thread.thread_id, excerpt=excerpt, base=base)
        plan = plan._replace(question=thread.existing_wording or options.question)
        plan = plan._replace(is_independent=is_independent)
        messages = compose_kickoffs(plan)
        kickoffs = [
            each for message in messages for each in split_by_delivery(message, thread, roster)
        ]
        found += (*check_kickoffs(messages), *changed_roles(kickoffs, roster))
        found += left_out_of_roster(thread, kickoffs, roster)
        first = thread.first if thread.has_question else None
        has_outputs = bool(options.outputs.strip())
        found += changed_texts("session", first, kickoffs, messages, has_outputs=has_outputs)
    started = Started(
        thread.thread_id if thread else None,
        StartStatus.DRY_RUN if options.dry_run else StartStatus.REFUSED,
        tuple(kickoffs),
        (),
        roster,
        without_duplicates(found if not thread or thread.is_new else without_id_advice(found)),
        digest=kickoffs_digest(kickoffs),
    )
    done = send_if_sound(workspace, thread, started, newcomers, options.seen)
    if thread is None or thread.is_new or not is_repeated(done):
        return done
    history = load_history(workspace.mailbox, thread.thread_id, workspace.project.operator)
    return done._replace(diagnostics=(*done.diagnostics, *cancelled_note(history)))


def is_repeated(done: Started) -> bool:
    """Return whether every kickoff was sent before, so that none reopens a cancelled session."""
    is_nothing = done.status in (StartStatus.NOTHING, StartStatus.DRY_RUN)
    return is_nothing and all(each.stored for each in done.kickoffs)


# The thread and the plan of the kickoffs


def _find_thread(
    workspace: Workspace, options: StartOptions
) -> tuple[SessionThread | None, list[Diagnostic]]:
    """Return the thread of the session: the requested one, one with the question, or a new one."""
    thread_id = options.bead if options.thread_id is None else options.thread_id
    asked = embed_text(options.question)
    if thread_id is None:
        today = options.today or datetime.now(UTC).date()
        thread = find_or_create_thread(workspace.mailbox, options.question, asked, today)
        return thread, _as_list(thread.wording_note())
    found = check_thread_id(thread_id)
    if not is_valid_thread_id(thread_id):
        return None, found
    if options.bead is not None and classify_thread_id(thread_id) is not ThreadKind.ENGINEERING:
        reason = "it is the ID of a session or a topic, not of a bead; use `--thread-id`"
        return None, [
            message_codes.INVALID_BEAD_ID.at(thread_id=thread_id, reason=reason, suggestion="")
        ]
    thread = SessionThread(workspace.mailbox, thread_id, asked)
    return thread, [*found, *_as_list(thread.conflict()), *_as_list(thread.wording_note())]


def _independence(
    workspace: Workspace, thread: SessionThread | None, options: StartOptions
) -> tuple[bool, list[Diagnostic]]:
    """Return whether the kickoffs state an independent first round, and why they cannot (R33).

    The first kickoff decides for the whole thread, so further ones repeat what it states.
    """
    reason = workspace.mailbox.lacks.get(Capability.SEALS)
    if options.independent and reason is not None:
        return False, [HOME_CANNOT.at(ability=Capability.SEALS, reason=reason)]
    if thread is None or thread.is_new:
        return options.independent, []
    found = independent_round_of(workspace.mailbox, thread.thread_id)
    if found is None and options.independent:
        return False, [codes.INDEPENDENCE_TOO_LATE.at(thread_id=thread.thread_id)]
    return found is not None and found.ended_by is None, []


def _file_diagnostics(workspace: Workspace, thread: SessionThread) -> list[Diagnostic]:
    """Return a warning if a session of this ID has a file but no mail here: it would start over."""
    artifact = read_session_file(workspace.project, thread.thread_id)
    version = artifact.metadata.version if isinstance(artifact, Artifact) else 0
    if not version:
        return []
    path = cross_reference(thread.thread_id).artifact_path
    ends = "has no version of it"
    return [FILE_AHEAD_OF_MAIL.at(path=path, value=str(version), ends=ends)]


def _as_list(found: Diagnostic | None) -> list[Diagnostic]:
    return [found] if found else []


def _plan(workspace: Workspace, options: StartOptions, resolved: ResolvedRoster) -> KickoffPlan:
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


def _latest_number(workspace: Workspace, thread_id: str) -> int:
    """Return the number of the version that contributions to an existing thread build on."""
    return load_history(workspace.mailbox, thread_id, workspace.project.operator).number
