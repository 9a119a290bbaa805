"""Values that are worked out when they are first asked for: by one thread, and the others wait."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, overload

import anyio
import anyio.to_thread

from brenner.artifact.merge.engine import Merge
from brenner.artifact.render import render_artifact
from brenner.artifact.state import Entry
from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.codes.web import MAIL_AWAY
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.lint.linter import LintReport, lint
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import StoredMessage
from brenner.mail.open import store_of
from brenner.protocol.messages import in_thread_order
from brenner.services.compile import readable_source, source_of
from brenner.services.persist import Persistence, persistence_of, version_digest
from brenner.services.references import load_graph
from brenner.services.sessions import Followed, Listing, listing, load_status, with_news
from brenner.services.version_store import VersionLedger, gathered, ledgers_in, version_texts
from brenner.services.versions import (
    LoadedVersion,
    Target,
    VersionList,
    list_versions,
    load_version,
)
from brenner.services.workspace import Workspace
from brenner.session.participants import Round, rounds_of
from brenner.session.rebuild import text_hash
from brenner.session.references import ReferenceGraph
from brenner.session.refused_blocks import BlockPlace
from brenner.session.status import (
    ResolvedBlocks,
    Survival,
    merge_unread,
    resolved_blocks,
    survivals,
    told_of_refusals,
)
from brenner.session.versions import VersionHistory

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # noqa: N801  it is used as `property` is
    """A property that is worked out once for each object.

    Each value has a lock of its own, so that nobody waits for what she has not asked for.
    """

    def __init__(self, work: Callable[[Any], _T]) -> None:
        self._work = work
        self.__doc__ = work.__doc__
        self.name = work.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[_T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...
    def __get__(self, instance: object | None, owner: type) -> "cached_property[_T] | _T":
        if instance is None:
            return self
        # What is in the dictionary of the object is found there, and this is not called again.
        return get_or_compute(vars(instance), self.name, lambda: self._work(instance))

    def known(self, instance: object) -> _T | None:
        """What was worked out for that object already."""
        return vars(instance).get(self.name)

    def give(self, instance: object, value: _T) -> None:
        """Let that object have a value that is known from elsewhere."""
        vars(instance)[self.name] = value


def get_or_compute(made: dict[Any, Any], name: Hashable, work: Callable[[], _T]) -> _T:
    """What is under that name; where there is nothing yet, one works it out."""
    found = made.get(name, _NOTHING)
    if found is _NOTHING:
        with made.setdefault((_LOCK, name), threading.RLock()):
            try:
                found = made.get(name, _NOTHING)
                if found is _NOTHING:
                    found = made[name] = work()
            finally:  # nothing stays of what cannot be worked out
                made.pop((_LOCK, name), None)
    value: _T = found
    return value


_LOCK, _NOTHING = "lock of", object()


class LRUCache(Generic[_T]):
    """Values that are worked out once, as long as they are among the few asked for last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._slots: OrderedDict[Hashable, dict[Any, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, name: Hashable, work: Callable[[], _T]) -> _T:
        """What is under that name; who has it keeps it, also when it has gone from here."""
        with self._lock:
            slot = self._slots.setdefault(name, {})
            self._slots.move_to_end(name)
            while len(self._slots) > self._most:
                self._slots.popitem(last=False)
        try:
            return get_or_compute(slot, name, work)
        finally:
            with self._lock:
                if name not in slot and self._slots.get(name) is slot:
                    del self._slots[name]


class TTLCache(Generic[_T]):
    """A value that is worked out again once it is some seconds old: what changes without mail."""

    seconds = 5.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[float, _T] | None = None

    def get(self, work: Callable[[], _T]) -> _T:
        """The value; one works it out, and the others wait."""
        with self._lock:
            now = time.monotonic()
            if self._kept is None or now - self._kept[0] >= self.seconds:
                self._kept = (now, work())
            return self._kept[1]


# How far a store had come: how many messages, and which one was the last.
#
# The number alone would do, as long as nobody puts another store in the place of ours. The mark
# says
# whether it is still the one that somebody has seen.


_DIGITS = 12
_TEXT = re.compile(r"([0-9]{1,15})(?:-([0-9a-f]{1,64}))?", re.ASCII)


class Place(NamedTuple):
    """So many messages had come in; `mark` is the beginning of the last one's hash."""

    position: int
    mark: str = ""

    def __str__(self) -> str:
        """As a page and an event carry it."""
        return f"{self.position}-{self.mark}" if self.mark else str(self.position)

    def is_of(self, other: "Place") -> bool:
        """Whether both can be of one store, where they are equally far."""
        return not self.mark or not other.mark or self.mark == other.mark

    def has(self, other: "Place") -> bool:
        """Whether all mail up to the other place is there at this one."""
        if self.position == other.position:
            return self.is_of(other)
        return self.position > other.position


def read_place(text: str) -> Place | None:
    """What somebody says to have seen; None where it is no place."""
    match = _TEXT.fullmatch(text)
    return Place(int(match[1]), match[2] or "") if match else None


def place_after(stored: StoredMessage) -> Place:
    """The place with that message as the last."""
    return Place(stored.arrival, stored.content_hash[:_DIGITS])


def place_of(mailbox: Mailbox, position: int | None = None) -> Place:
    """Where a mailbox is, or was when so many messages had come in."""
    position = mailbox.position() if position is None else position
    found = mailbox.arrivals(position - 1, 1) if position else ()
    return place_after(found[0]) if found else Place(position)


# Sessions that stay in memory: all who look at one share it, and a new message costs what is new.
#
# Page functions run in several threads. One of them works a session out, those who want the same
# one
# wait for it.


MOST_SESSIONS = 100
MOST_MESSAGES = 40_000  # of all of them together


class _Session(Protocol):
    followed: Followed


_S = TypeVar("_S", bound=_Session)


class _Slot(Generic[_S]):
    """A session, and the place up to which it has all mail."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.session: _S | None = None
        self.place = Place(0)


class SessionCache(Generic[_S]):
    """The sessions that were looked at last. `make` makes one, or one from the one before."""

    def __init__(
        self,
        workspace: Workspace,
        make: Callable[[Workspace, str, _S | None, Sequence[StoredMessage]], _S],
    ) -> None:
        self._desk = workspace
        self._make = make
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot[_S]] = OrderedDict()

    def __contains__(self, thread_id: object) -> bool:
        return thread_id in self._slots

    def get(self, thread_id: str, place: Place) -> _S:
        """A session with all mail up to there, perhaps with more; an unknown one is refused."""
        with self._lock:
            slot = self._slots.setdefault(thread_id, _Slot())
            self._slots.move_to_end(thread_id)
        try:
            with slot.lock:
                slot.session = session = self._current(slot, thread_id, place)
        finally:
            with self._lock:
                if slot.session is None and self._slots.get(thread_id) is slot:
                    del self._slots[thread_id]
                self._make_room()
        return session

    def _current(self, slot: _Slot[_S], thread_id: str, place: Place) -> _S:
        before = slot.session
        if before is None or not self._is_same_store(slot.place, place):
            slot.session = None
            session = self._make(self._desk, thread_id, None, ())
            slot.place = _further(place, session.followed.stored)
            return session
        if place.position <= slot.place.position:
            return before
        found = self._desk.mailbox.thread_arrivals(thread_id, slot.place.position)
        news = [each for each in found if each.arrival <= place.position]
        session = self._make(self._desk, thread_id, before, news) if news else before
        slot.place = place
        return session

    def _is_same_store(self, then: Place, now: Place) -> bool:
        """Whether what was read is of the store that is there now."""
        if then.position == now.position:
            return then.is_of(now)
        mailbox = self._desk.mailbox
        if then.position > now.position and mailbox.position() < then.position:
            return False
        return then.is_of(place_of(mailbox, then.position))

    def _make_room(self) -> None:
        """The ones that nobody has looked at for longest go."""
        sizes = {name: _size(slot) for name, slot in self._slots.items()}
        held = sum(sizes.values())
        for name in list(self._slots)[:-1]:
            if len(self._slots) <= MOST_SESSIONS and held <= MOST_MESSAGES:
                return
            held -= sizes[name]
            del self._slots[name]


def _size(slot: _Slot[_S]) -> int:
    return len(slot.session.followed.stored) if slot.session else 0


def _further(place: Place, stored: Sequence[StoredMessage]) -> Place:
    """What was read may be more than was asked for."""
    last = max(stored, key=lambda each: each.arrival)
    return place if last.arrival <= place.position else place_after(last)


# What follows from the versions of a session alone, worked out once for all who look.


MOST_VERSIONS = 4  # of a session, beside the latest


class VersionCache:
    """A message that is no version changes nothing of it: a session hands it on as it is."""

    def __init__(self, workspace: Workspace, followed: Followed) -> None:
        self._desk = workspace
        self._chain = followed.history
        self._messages = followed.messages
        self._thread_id = followed.status.thread_id
        self._versions: LRUCache[LoadedVersion] = LRUCache(MOST_VERSIONS)
        self._lints: LRUCache[LintReport] = LRUCache(1)

    @cached_property
    def latest(self) -> LoadedVersion | None:
        """The latest version with who set what; None before the first."""
        return self.version(self._chain.number) if self._chain.versions else None

    def version(self, number: int) -> LoadedVersion:
        """A version with who set what; one that does not exist is refused."""
        target = Target(self._thread_id, number)
        return self._versions.get(number, lambda: load_version(self._desk, target, with_state=True))

    @cached_property
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """What became of the blocks that each version has read."""
        operator = self._desk.project.operator
        found = ledgers_in(self._thread_id, self._messages, operator)
        return {each.number: each for each in found}

    @property
    def has_ledgers(self) -> bool:
        """Whether somebody has asked for the ledgers, which take longest."""
        return VersionCache.ledgers.known(self) is not None

    @cached_property
    def digests(self) -> Mapping[int, bytes]:
        """What stands for the text of each version, in files and in git."""
        artifacts = {number: each.artifact for number, each in self.ledgers.items()}
        return {
            number: version_digest(render_artifact(artifact))
            for number, artifact in artifacts.items()
            if artifact is not None
        }

    @cached_property
    def survivals(self) -> Mapping[str, Survival]:
        """What stands of everybody's work in the latest version."""
        state = self.latest.state if self.latest else None
        return survivals(state) if state else {}

    @property
    def lint(self) -> LintReport | None:
        """What the linter says of the latest version; the source text may have changed since."""
        if not self._chain.versions:
            return None
        source = source_of(self._desk.project)
        return self._lints.get(source if isinstance(source, str) else None, self._linted)

    def _linted(self) -> LintReport:
        return lint(self._chain.state.artifact, source=readable_source(self._desk.project))

    @cached_property
    def text(self) -> str:
        """The text of the latest version, also of one that is too large for its message."""
        latest = self._chain.latest
        if latest is None:
            return ""
        text = render_artifact(self._chain.state.artifact)
        if text_hash(text) == latest.artifact_sha256:
            return text
        texts = version_texts(self._desk.mailbox, self._chain, latest.operator)
        return texts(latest.number) or ""

    def after(self, followed: Followed, found: Sequence[VersionLedger]) -> "VersionCache":
        """The same once there is news; `found` are the ledgers of the versions in it."""
        if _same_versions(self._chain, followed.history):
            return self
        new = VersionCache(self._desk, followed)
        ledgers = VersionCache.ledgers.known(self)
        together = _together(ledgers, found, followed.history) if ledgers is not None else None
        if together is not None:
            VersionCache.ledgers.give(new, together)
        return new


def _same_versions(before: VersionHistory, after: VersionHistory) -> bool:
    """Whether nothing has become a version since, nor claims to be one."""
    return (
        before.versions == after.versions
        and before.spare == after.spare
        and before.unrecorded == after.unrecorded
        and before.broken == after.broken
    )


def _together(
    known: Mapping[int, VersionLedger], found: Sequence[VersionLedger], history: VersionHistory
) -> Mapping[int, VersionLedger] | None:
    """The ledgers that were known, with those of new versions, where no other version is there."""
    numbers = [version.number for version in history.versions]
    new = {each.number: each for each in found}
    kept = {} if len(new) == len(numbers) else known  # all of them may have been rebuilt
    together = {**kept, **new}
    return together if list(together) == numbers and not kept.keys() & new.keys() else None


# The store as the pages see it: whether it can be reached, and how far it has come.
#
# A server that is gone is not asked by everybody: one asks from time to time, and the others are
# told at once that it is away.


_PATIENCE = 5.0  # seconds until a store that says nothing is taken for one that is away
_ASKED_EVERY = 1.0  # seconds, while it is away
_SAME_SECONDS = 1.0  # after which it is looked whether it is still the same store
_MOST_AT_ONCE = 4


class Absence(NamedTuple):
    """The store is away: since when, and what is known of it."""

    since: datetime
    why: Diagnostic

    def to_json(self) -> dict[str, object]:
        """What scripts are told."""
        return {
            "since": self.since.isoformat(),
            "code": self.why.id,
            "message": self.why.message,
            "fix": self.why.fix,
        }

    def for_guests(self) -> "Absence":
        """The same without where the mail is kept, and what is wrong there."""
        return self._replace(why=MAIL_AWAY.at())

    @property
    def error(self) -> UnavailableError:
        """The same, to be raised."""
        return UnavailableError(self.why)


class Store:
    """The mailbox of a desk, from any thread."""

    patience = _PATIENCE

    def __init__(
        self, workspace: Workspace, shown: str = "", clock: Callable[[], float] = time.monotonic
    ):
        self.workspace = workspace
        self.shown = shown
        self._clock = clock
        self._lock = threading.Lock()
        self._absence: Absence | None = None
        self._asked_at = 0.0
        self._is_asking = 0
        self._last: tuple[Place, float] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def absence(self) -> Absence | None:
        """Why it cannot be used; None where it can."""
        return self._absence

    def lost(self, error: UnavailableError) -> Absence:
        """It could not be used; that it is away is known from the first time on."""
        with self._lock:
            since = self._absence.since if self._absence else datetime.now(UTC)
            self._absence = Absence(since, error.diagnostic)
            self._asked_at = self._clock()
            return self._absence

    def found(self) -> None:
        """It answers."""
        with self._lock:
            self._absence = None

    def look(self) -> Place:
        """How far it has come; raises `Unavailable` where it does not answer."""
        try:
            place = self._look()
        except UnavailableError as error:
            self.lost(error)
            raise
        self.found()
        return place

    def _look(self) -> Place:
        """The mark is looked up where the position is another one, or some time has gone by."""
        mailbox, last, now = self.workspace.mailbox, self._last, self._clock()
        position = mailbox.position()
        if last and last[0].position == position and now - last[1] < _SAME_SECONDS:
            return last[0]
        place = place_of(mailbox, position)
        self._last = (place, now)
        return place

    async def place(self) -> Place | Absence:
        """The same for a request, within the time that somebody waits for a page."""
        with self._lock:
            if self._absence and not self._may_ask():
                return self._absence
            self._asked_at = self._clock()
        self._limiter = self._limiter or anyio.CapacityLimiter(_MOST_AT_ONCE)
        with anyio.move_on_after(self.patience):
            return await anyio.to_thread.run_sync(
                self._asked, abandon_on_cancel=True, limiter=self._limiter
            )
        reason = f"it has not answered within {self.patience:g} seconds"
        return self.lost(UnavailableError(STORE_UNUSABLE.at(path=self.shown, reason=reason)))

    def _may_ask(self) -> bool:
        """Whether it is time to look for a store that is away, and nobody does already."""
        return not self._is_asking and self._clock() - self._asked_at >= _ASKED_EVERY

    def _asked(self) -> Place | Absence:
        """Counted from here on: who gave up before it was her turn has never asked."""
        with self._lock:
            self._is_asking += 1
        try:
            return self.look()
        except UnavailableError as error:
            return self.lost(error)
        except BrennerError as error:
            return self.lost(UnavailableError(error.diagnostic))
        finally:
            with self._lock:
                self._is_asking -= 1


# Sessions as pages read them: each as it stood at one moment, everything worked out once.


_LONG = 500  # messages


class Session:
    """One session at one moment. What nobody asks for is not worked out."""

    def __init__(
        self, workspace: Workspace, followed: Followed, known: VersionCache | None = None
    ) -> None:
        self.workspace = workspace
        self.followed = followed
        self.status = followed.status
        self.history = followed.history
        self.messages = followed.messages  # in the order in which they came in
        self.of_versions = known or VersionCache(workspace, followed)
        self._made: dict[object, object] = {}
        self._history: TTLCache[VersionList] = TTLCache()
        self._persistence: TTLCache[Persistence] = TTLCache()

    @property
    def thread_id(self) -> str:
        """Its thread."""
        return self.status.thread_id

    @property
    def position(self) -> int:
        """How many messages it had."""
        return self.status.position

    @cached_property
    def stored(self) -> tuple[StoredMessage, ...]:
        """The messages as the mailbox has them, in the order of the thread (R9)."""
        return tuple(sorted(self.followed.stored, key=lambda each: in_thread_order(each.posted)))

    @property
    def latest(self) -> LoadedVersion | None:
        """The latest version with who set what; None before the first."""
        return self.of_versions.latest

    def version(self, number: int) -> LoadedVersion:
        """A version with who set what; one that does not exist is refused."""
        return self.of_versions.version(number)

    @property
    def version_list(self) -> VersionList:
        """All versions; files and git are asked again after some seconds."""
        digests = self.of_versions.digests
        return self._history.get(lambda: list_versions(self.workspace, self.history, digests))

    @property
    def persistence(self) -> Persistence:
        """How far the latest version has come; git is asked again after some seconds."""
        project, text = self.workspace.project, self.text
        return self._persistence.get(lambda: persistence_of(project, self.thread_id, text))

    @property
    def text(self) -> str:
        """The text of the latest version, also of one that is too large for its message."""
        return self.of_versions.text

    @property
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """What became of the blocks that each version has read."""
        return self.of_versions.ledgers

    @cached_property
    def merged(self) -> Merge:
        """What the next version would be, as the thread stands."""
        return self.followed.merged or merge_unread(self.history, self.workspace.project.operator)

    @property
    def expected(self) -> tuple[Entry, ...]:
        """What would become of the blocks that no version has read."""
        return self.merged.ledger

    @cached_property
    def settled(self) -> Mapping[BlockPlace, ResolvedBlocks]:
        """The refused blocks that were corrected or dismissed since."""
        read = [self.ledgers[number].entries for number in sorted(self.ledgers)]
        return resolved_blocks(self.history, self.messages, [*read, self.expected])

    @property
    def survivals(self) -> Mapping[str, Survival]:
        """What stands of everybody's work in the latest version."""
        return self.of_versions.survivals

    @property
    def lint(self) -> LintReport | None:
        """What the linter says of the latest version; the source text may have changed since."""
        return self.of_versions.lint

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """The messages by rounds."""
        is_over = self.status.round == self.history.number
        return rounds_of(self.history, self.messages, is_over=is_over)

    @cached_property
    def told(self) -> frozenset[int]:
        """The messages whose authors have been mailed what is refused in them."""
        return told_of_refusals(self.messages)

    def once(self, work: "Callable[[Session], _T]") -> _T:
        """What a page makes of this session, made once."""
        return get_or_compute(self._made, work, lambda: work(self))


class SessionRepository:
    """The sessions of a project, for all who look; each is worked out once for every state.

    One that is `at` a place is for one visit: whatever comes in meanwhile, it sees no session twice
    with different mail in it.
    """

    def __init__(self, workspace: Workspace, store: Store | None = None) -> None:
        self.workspace = workspace
        self.store = store or Store(workspace, store_of(workspace.project).shown)
        self.place: Place | None = None
        self.kept = SessionCache(workspace, _with_news)
        self._listings: LRUCache[Listing] = LRUCache(2)  # of now, and of who began a moment ago
        self._graphs: LRUCache[TTLCache[ReferenceGraph]] = LRUCache(2)
        self._seen: dict[str, Session] = {}
        self._is_preparing = threading.Lock()

    def at(self, place: Place) -> Self:
        """The same, for one visit, with all mail up to there."""
        pinned = copy(self)
        vars(pinned).update(place=place, _seen={})
        return pinned

    def session(self, thread_id: str) -> Session:
        """A session as it stands now; an unknown one is refused."""
        if self.place is None:
            return self.kept.get(thread_id, place_of(self.workspace.mailbox))
        place = self.place
        session = get_or_compute(self._seen, thread_id, lambda: self.kept.get(thread_id, place))
        if session.position > _LONG and not session.of_versions.has_ledgers:
            _beside(partial(self._prepare, session))
        return session

    def begin(self) -> threading.Thread:
        """What takes longest of the session that was heard of last, before anybody looks."""
        return _beside(self._newest)

    def _newest(self) -> None:
        mailbox = self.workspace.mailbox
        with suppress(BrennerError):  # whoever looks will be told
            for each in mailbox.threads(limit=1):
                if each.position > _LONG:
                    self._prepare(self.kept.get(each.thread_id, place_of(mailbox)))

    def _prepare(self, session: Session) -> None:
        """Who looks at a long session will want what takes longest of it: one at a time."""
        if self._is_preparing.acquire(blocking=False):
            try:
                _ = session.ledgers
            finally:
                self._is_preparing.release()

    def listing(self) -> Listing:
        """All sessions, one row each, and what is left out."""
        place = self.place or place_of(self.workspace.mailbox)
        return self._listings.get(place, lambda: listing(self.workspace, follow=self._followed))

    def references(self) -> ReferenceGraph:
        """Which item comes from which, over all sessions; files are read again after some seconds.

        Most of it follows from the listing, and is kept as long.
        """
        place = self.place or place_of(self.workspace.mailbox)
        return self._graphs.get(place, TTLCache).get(self._graph)

    def _graph(self) -> ReferenceGraph:
        return load_graph(self.workspace, rows=self.listing().sessions).graph

    def _followed(self, _desk: Workspace, thread_id: str) -> Followed:
        return self.kept.get(thread_id, self.place or place_of(self.workspace.mailbox)).followed


def _beside(work: Callable[[], None]) -> threading.Thread:
    """In a thread of its own, which keeps nobody from ending."""
    thread = threading.Thread(target=work, name="sessions", daemon=True)
    thread.start()
    return thread


def _with_news(
    workspace: Workspace, thread_id: str, before: Session | None, news: Sequence[StoredMessage]
) -> Session:
    """A session, or the one that it became with new messages."""
    if before is None:
        return Session(workspace, load_status(workspace, thread_id))
    found: list[VersionLedger] = []
    followed = with_news(before.followed, news, workspace.project.operator, gathered(found))
    return Session(workspace, followed, before.of_versions.after(followed, found))
