"""Sessions as pages read them: each as it stood at one moment, everything worked out once."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Self, TypeVar

from brenner.artifact.merge.engine import Merge
from brenner.artifact.state import Entry
from brenner.diagnostics.model import BrennerError
from brenner.lint.linter import LintReport
from brenner.mail.model import Stored
from brenner.mail.open import store_of
from brenner.protocol.messages import in_thread_order
from brenner.services.persist import Persistence, persistence_of
from brenner.services.references import load_graph
from brenner.services.sessions import Followed, Listing, listing, load_status, with_news
from brenner.services.version_store import VersionLedger, gathered
from brenner.services.versions import History, LoadedVersion, history_of
from brenner.services.workspace import Desk
from brenner.session.participants import Round, rounds_of
from brenner.session.references import ReferenceGraph
from brenner.session.refused_blocks import BlockPlace
from brenner.session.status import Settled, Survival, settled, to_come, told_of_refusals
from brenner.web.kept_sessions import Kept
from brenner.web.of_versions import OfVersions
from brenner.web.place import Place, place_of
from brenner.web.store import Store
from brenner.web.worked_out import AWhile, Few, once, worked_out

_T = TypeVar("_T")
_LONG = 500  # messages


class Session:
    """One session at one moment. What nobody asks for is not worked out."""

    def __init__(self, desk: Desk, followed: Followed, known: OfVersions | None = None) -> None:
        self.desk = desk
        self.followed = followed
        self.status = followed.status
        self.chain = followed.chain
        self.messages = followed.messages  # in the order in which they came in
        self.of_versions = known or OfVersions(desk, followed)
        self._made: dict[object, object] = {}
        self._history: AWhile[History] = AWhile()
        self._persistence: AWhile[Persistence] = AWhile()

    @property
    def thread_id(self) -> str:
        """Its thread."""
        return self.status.thread_id

    @property
    def position(self) -> int:
        """How many messages it had."""
        return self.status.position

    @worked_out
    def stored(self) -> tuple[Stored, ...]:
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
    def history(self) -> History:
        """All versions; files and git are asked again after some seconds."""
        digests = self.of_versions.digests
        return self._history.get(lambda: history_of(self.desk, self.chain, digests))

    @property
    def persistence(self) -> Persistence:
        """How far the latest version has come; git is asked again after some seconds."""
        project, text = self.desk.project, self.text
        return self._persistence.get(lambda: persistence_of(project, self.thread_id, text))

    @property
    def text(self) -> str:
        """The text of the latest version, also of one that is too large for its message."""
        return self.of_versions.text

    @property
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """What became of the blocks that each version has read."""
        return self.of_versions.ledgers

    @worked_out
    def merged(self) -> Merge:
        """What the next version would be, as the thread stands."""
        return self.followed.merged or to_come(self.chain, self.desk.project.operator)

    @property
    def expected(self) -> tuple[Entry, ...]:
        """What would become of the blocks that no version has read."""
        return self.merged.ledger

    @worked_out
    def settled(self) -> Mapping[BlockPlace, Settled]:
        """The refused blocks that were corrected or dismissed since."""
        read = [self.ledgers[number].entries for number in sorted(self.ledgers)]
        return settled(self.chain, self.messages, [*read, self.expected])

    @property
    def survivals(self) -> Mapping[str, Survival]:
        """What stands of everybody's work in the latest version."""
        return self.of_versions.survivals

    @property
    def lint(self) -> LintReport | None:
        """What the linter says of the latest version; the source text may have changed since."""
        return self.of_versions.lint

    @worked_out
    def rounds(self) -> tuple[Round, ...]:
        """The messages by rounds."""
        is_over = self.status.round == self.chain.number
        return rounds_of(self.chain, self.messages, is_over=is_over)

    @worked_out
    def told(self) -> frozenset[int]:
        """The messages whose authors have been mailed what is refused in them."""
        return told_of_refusals(self.messages)

    def once(self, work: "Callable[[Session], _T]") -> _T:
        """What a page makes of this session, made once."""
        return once(self._made, work, lambda: work(self))


class Reading:
    """The sessions of a project, for all who look; each is worked out once for every state.

    One that is `at` a place is for one visit: whatever comes in meanwhile, it sees no session twice
    with different mail in it.
    """

    def __init__(self, desk: Desk, store: Store | None = None) -> None:
        self.desk = desk
        self.store = store or Store(desk, store_of(desk.project).shown)
        self.place: Place | None = None
        self.kept = Kept(desk, _with_news)
        self._listings: Few[Listing] = Few(2)  # of now, and of who began a moment ago
        self._graphs: Few[AWhile[ReferenceGraph]] = Few(2)
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
            return self.kept.get(thread_id, place_of(self.desk.mailbox))
        place = self.place
        session = once(self._seen, thread_id, lambda: self.kept.get(thread_id, place))
        if session.position > _LONG and not session.of_versions.has_ledgers:
            _beside(partial(self._prepare, session))
        return session

    def begin(self) -> threading.Thread:
        """What takes longest of the session that was heard of last, before anybody looks."""
        return _beside(self._newest)

    def _newest(self) -> None:
        mailbox = self.desk.mailbox
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
        place = self.place or place_of(self.desk.mailbox)
        return self._listings.get(place, lambda: listing(self.desk, follow=self._followed))

    def references(self) -> ReferenceGraph:
        """Which item comes from which, over all sessions; files are read again after some seconds.

        Most of it follows from the listing, and is kept as long.
        """
        place = self.place or place_of(self.desk.mailbox)
        return self._graphs.get(place, AWhile).get(self._graph)

    def _graph(self) -> ReferenceGraph:
        return load_graph(self.desk, rows=self.listing().sessions).graph

    def _followed(self, _desk: Desk, thread_id: str) -> Followed:
        return self.kept.get(thread_id, self.place or place_of(self.desk.mailbox)).followed


def _beside(work: Callable[[], None]) -> threading.Thread:
    """In a thread of its own, which keeps nobody from ending."""
    thread = threading.Thread(target=work, name="sessions", daemon=True)
    thread.start()
    return thread


def _with_news(
    desk: Desk, thread_id: str, before: Session | None, news: Sequence[Stored]
) -> Session:
    """A session, or the one that it became with new messages."""
    if before is None:
        return Session(desk, load_status(desk, thread_id))
    found: list[VersionLedger] = []
    followed = with_news(before.followed, news, desk.project.operator, gathered(found))
    return Session(desk, followed, before.of_versions.after(followed, found))
