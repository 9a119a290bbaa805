"""What follows from the versions of a session alone, worked out once for all who look."""

from collections.abc import Mapping, Sequence

from brenner.artifact.render import render_artifact
from brenner.lint.linter import LintReport, lint
from brenner.services.compile import readable_source, source_of
from brenner.services.persist import version_digest
from brenner.services.sessions import Followed
from brenner.services.version_store import VersionLedger, ledgers_in, version_texts
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.services.workspace import Desk
from brenner.session.rebuild import text_hash
from brenner.session.status import Survival, survivals
from brenner.session.versions import Chain
from brenner.web.worked_out import Few, worked_out

MOST_VERSIONS = 4  # of a session, beside the latest


class OfVersions:
    """A message that is no version changes nothing of it: a session hands it on as it is."""

    def __init__(self, desk: Desk, followed: Followed) -> None:
        self._desk = desk
        self._chain = followed.chain
        self._messages = followed.messages
        self._thread_id = followed.status.thread_id
        self._versions: Few[LoadedVersion] = Few(MOST_VERSIONS)
        self._lints: Few[LintReport] = Few(1)

    @worked_out
    def latest(self) -> LoadedVersion | None:
        """The latest version with who set what; None before the first."""
        return self.version(self._chain.number) if self._chain.versions else None

    def version(self, number: int) -> LoadedVersion:
        """A version with who set what; one that does not exist is refused."""
        target = Target(self._thread_id, number)
        return self._versions.get(number, lambda: load_version(self._desk, target, with_state=True))

    @worked_out
    def ledgers(self) -> Mapping[int, VersionLedger]:
        """What became of the blocks that each version has read."""
        operator = self._desk.project.operator
        found = ledgers_in(self._thread_id, self._messages, operator)
        return {each.number: each for each in found}

    @property
    def has_ledgers(self) -> bool:
        """Whether somebody has asked for the ledgers, which take longest."""
        return OfVersions.ledgers.known(self) is not None

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

    @worked_out
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

    def after(self, followed: Followed, found: Sequence[VersionLedger]) -> "OfVersions":
        """The same once there is news; `found` are the ledgers of the versions in it."""
        if _same_versions(self._chain, followed.chain):
            return self
        new = OfVersions(self._desk, followed)
        ledgers = OfVersions.ledgers.known(self)
        together = _together(ledgers, found, followed.chain) if ledgers is not None else None
        if together is not None:
            OfVersions.ledgers.give(new, together)
        return new


def _same_versions(before: Chain, after: Chain) -> bool:
    """Whether nothing has become a version since, nor claims to be one."""
    return (
        before.versions == after.versions
        and before.spare == after.spare
        and before.unrecorded == after.unrecorded
        and before.broken == after.broken
    )


def _together(
    known: Mapping[int, VersionLedger], found: Sequence[VersionLedger], chain: Chain
) -> Mapping[int, VersionLedger] | None:
    """The ledgers that were known, with those of new versions, where no other version is there."""
    numbers = [version.number for version in chain.versions]
    new = {each.number: each for each in found}
    kept = {} if len(new) == len(numbers) else known  # all of them may have been rebuilt
    together = {**kept, **new}
    return together if list(together) == numbers and not kept.keys() & new.keys() else None
