"""Sessions as pages read them: each as it stood at one moment, everything worked out once."""

from collections.abc import Mapping
from functools import cached_property

from brenner.lint.report import LintReport
from brenner.lint.run import lint
from brenner.mail.model import Stored
from brenner.workflows.desk import Desk
from brenner.workflows.ledgers import VersionLedger, ledgers
from brenner.workflows.session_status import Followed, load_status
from brenner.workflows.source_text import source_text_of
from brenner.workflows.versions import History, LoadedVersion, Target, history, load_version


class Session:
    """One session at one moment. What nobody asks for is not worked out."""

    def __init__(self, desk: Desk, followed: Followed) -> None:
        self.desk = desk
        self.status = followed.status
        self.chain = followed.chain
        self.messages = followed.messages  # in the order in which they came in
        self._versions: dict[int, LoadedVersion] = {}

    @property
    def thread_id(self) -> str:
        """Its thread."""
        return self.status.thread_id

    @property
    def position(self) -> int:
        """How many messages it had."""
        return self.status.position

    @cached_property
    def stored(self) -> tuple[Stored, ...]:
        """The messages as the mailbox has them, in the order of the thread (R9)."""
        return self.desk.mailbox.thread(self.thread_id).messages

    @cached_property
    def latest(self) -> LoadedVersion | None:
        """The latest version with who set what; None before the first."""
        return self.version(self.chain.number) if self.chain.versions else None

    def version(self, number: int) -> LoadedVersion:
        """A version with who set what; one that does not exist is refused."""
        if number not in self._versions:
            target = Target(self.thread_id, number)
            self._versions[number] = load_version(self.desk, target, with_state=True)
        return self._versions[number]

    @cached_property
    def history(self) -> History:
        """All versions."""
        return history(self.desk, self.thread_id)

    @cached_property
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """What became of the blocks that each version has read."""
        return {each.number: each for each in ledgers(self.desk, self.thread_id)}

    @cached_property
    def lint(self) -> LintReport | None:
        """What the linter says of the latest version."""
        if self.latest is None:
            return None
        return lint(self.latest.artifact, source=source_text_of(self.desk.project))


class Reading:
    """The sessions of a project, for all who look."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def session(self, thread_id: str) -> Session:
        """A session as it stands now; an unknown one is refused."""
        return Session(self.desk, load_status(self.desk, thread_id))
