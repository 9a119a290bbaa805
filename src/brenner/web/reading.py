"""Sessions as pages read them: each as it stood at one moment, everything worked out once."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import Self, TypeVar

from brenner.artifact.ledger import Entry
from brenner.artifact.merge import Merge
from brenner.artifact.render import render_artifact
from brenner.diagnostics.errors import BrennerError
from brenner.lint.report import LintReport
from brenner.lint.run import lint
from brenner.mail.model import Stored
from brenner.mail.open import store_of
from brenner.session.chain import Chain
from brenner.session.contributions import Survival, survivals
from brenner.session.rebuild import text_hash
from brenner.session.refusal_replies import told_of_refusals
from brenner.session.refused import Place
from brenner.session.rounds import Round, rounds_of
from brenner.session.settled import Settled, settled
from brenner.session.standing import to_come
from brenner.thread.posted import in_thread_order
from brenner.web.kept_sessions import Kept
from brenner.web.place import Place as MailPlace
from brenner.web.place import place_of
from brenner.web.store import Store
from brenner.web.worked_out import Few, once, worked_out
from brenner.workflows.desk import Desk
from brenner.workflows.ledgers import VersionLedger, gathered, ledgers_in
from brenner.workflows.persist import Persistence, persistence_of, version_digest
from brenner.workflows.session_status import Followed, load_status, with_news
from brenner.workflows.sessions import Listing, listing
from brenner.workflows.source_text import readable_source, source_of
from brenner.workflows.version_texts import version_texts
from brenner.workflows.versions import History, LoadedVersion, Target, history_of, load_version

_T = TypeVar("_T")
_ASKED_AGAIN = timedelta(seconds=5)
_LONG = 500  # messages
MOST_VERSIONS = 4  # of a session, beside the latest


class Session:
    """One session at one moment. What nobody asks for is not worked out."""

    def __init__(self, desk: Desk, followed: Followed, before: "Session | None" = None) -> None:
        self.desk = desk
        self.followed = followed
        self.status = followed.status
        self.chain = followed.chain
        self.messages = followed.messages  # in the order in which they came in
        self._versions: Few[LoadedVersion] = Few(MOST_VERSIONS)
        self._made: dict[object, object] = {}
        self._lints: Few[LintReport] = Few(1)
        self._passing: dict[object, object] = {}
        self._persistence: tuple[datetime, Persistence] | None = None
        if before is not None and _same_versions(before.chain, followed.chain):
            kept = vars(before)
            vars(self).update({name: kept[name] for name in _OF_VERSIONS if name in kept})

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

    @worked_out
    def latest(self) -> LoadedVersion | None:
        """The latest version with who set what; None before the first."""
        return self.version(self.chain.number) if self.chain.versions else None

    def version(self, number: int) -> LoadedVersion:
        """A version with who set what; one that does not exist is refused."""
        target = Target(self.thread_id, number)
        return self._versions.get(number, lambda: load_version(self.desk, target, with_state=True))

    @property
    def history(self) -> History:
        """All versions; files and git are asked again after some seconds."""
        slot = int(time.monotonic() / _ASKED_AGAIN.total_seconds())
        if slot not in self._passing:
            self._passing = {slot: True}
        return once(self._passing, "history", self._listed)

    def _listed(self) -> History:
        return history_of(self.desk, self.chain, self.digests)

    @worked_out
    def digests(self) -> Mapping[int, bytes]:
        """What stands for the text of each version, in files and in git."""
        artifacts = {number: each.artifact for number, each in self.ledgers.items()}
        return {
            number: version_digest(render_artifact(artifact))
            for number, artifact in artifacts.items()
            if artifact is not None
        }

    @worked_out
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """What became of the blocks that each version has read."""
        operator = self.desk.project.operator
        found = ledgers_in(self.thread_id, self.messages, operator)
        return {each.number: each for each in found}

    @worked_out
    def merged(self) -> Merge:
        """What the next version would be, as the thread stands."""
        return self.followed.merged or to_come(self.chain, self.desk.project.operator)

    @property
    def expected(self) -> tuple[Entry, ...]:
        """What would become of the blocks that no version has read."""
        return self.merged.ledger

    @worked_out
    def settled(self) -> Mapping[Place, Settled]:
        """The refused blocks that were corrected or dismissed since."""
        read = [self.ledgers[number].entries for number in sorted(self.ledgers)]
        return settled(self.chain, self.messages, [*read, self.expected])

    @worked_out
    def survivals(self) -> Mapping[str, Survival]:
        """What stands of everybody's work in the latest version."""
        state = self.latest.state if self.latest else None
        return survivals(state) if state else {}

    @property
    def lint(self) -> LintReport | None:
        """What the linter says of the latest version; the source text may have changed since."""
        if not self.chain.versions:
            return None
        source = source_of(self.desk.project)
        return self._lints.get(source if isinstance(source, str) else None, self._linted)

    def _linted(self) -> LintReport:
        return lint(self.chain.state.artifact, source=readable_source(self.desk.project))

    @worked_out
    def rounds(self) -> tuple[Round, ...]:
        """The messages by rounds."""
        is_over = self.status.round == self.chain.number
        return rounds_of(self.chain, self.messages, is_over=is_over)

    @worked_out
    def told(self) -> frozenset[int]:
        """The messages whose authors have been mailed what is refused in them."""
        return told_of_refusals(self.messages)

    @worked_out
    def text(self) -> str:
        """The text of the latest version, also of one that is too large for its message."""
        latest = self.chain.latest
        if latest is None:
            return ""
        text = render_artifact(self.chain.state.artifact)
        if text_hash(text) == latest.artifact_sha256:
            return text
        return version_texts(self.desk.mailbox, self.chain, latest.operator)(latest.number) or ""

    def once(self, work: "Callable[[Session], _T]") -> _T:
        """What a page makes of this session, made once."""
        return once(self._made, work, lambda: work(self))

    def persistence(self, now: datetime) -> Persistence:
        """How far the latest version has come; git is asked again after some seconds."""
        if self._persistence is None or now - self._persistence[0] > _ASKED_AGAIN:
            found = persistence_of(self.desk.project, self.thread_id, self.text)
            self._persistence = (now, found)
        return self._persistence[1]


# What follows from the versions alone: a message that is none of them changes nothing of it.
_OF_VERSIONS = ("latest", "ledgers", "digests", "survivals", "text", "_versions", "_lints")


def _same_versions(before: Chain, after: Chain) -> bool:
    """Whether nothing has become a version since, nor claims to be one."""
    return (
        before.versions == after.versions
        and before.spare == after.spare
        and before.unrecorded == after.unrecorded
        and before.broken == after.broken
    )


class Reading:
    """The sessions of a project, for all who look; each is worked out once for every state.

    One that is `at` a place is for one visit: whatever comes in meanwhile, it sees no session twice
    with different mail in it.
    """

    def __init__(self, desk: Desk, store: Store | None = None) -> None:
        self.desk = desk
        self.store = store or Store(desk, store_of(desk.project).shown)
        self.place: MailPlace | None = None
        self.kept = Kept(desk, _with_news)
        self._listings: Few[Listing] = Few(2)  # of now, and of who began a moment ago
        self._seen: dict[str, Session] = {}
        self._is_preparing = threading.Lock()

    def at(self, place: MailPlace) -> Self:
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
        if session.position > _LONG and "ledgers" not in vars(session):
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
    session = Session(desk, followed, before)
    if "ledgers" not in vars(session) and "ledgers" in vars(before):
        _hand_on(before.ledgers, found, session)
    return session


def _hand_on(known: Mapping[int, VersionLedger], found: list[VersionLedger], to: Session) -> None:
    """The ledgers that were known, with those of new versions, where no other version is there."""
    numbers = [version.number for version in to.chain.versions]
    new = {each.number: each for each in found}
    kept = {} if len(new) == len(numbers) else dict(known)  # all of them may have been rebuilt
    if list({**kept, **new}) == numbers and not kept.keys() & new.keys():
        vars(to)["ledgers"] = {**kept, **new}
