"""The sessions of a project as references need them: which items they have, what these refer to.

A session is looked up in the mail, by its latest published version, and in `artifacts/`. Of the
mail the row that the list of sessions keeps is enough, as long as it is true.
"""

from collections.abc import Mapping
from typing import NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Artifact, Killed, Reference
from brenner.diagnostics.model import Diagnostic
from brenner.mail.mailbox import Ability
from brenner.protocol.thread_ids import is_valid
from brenner.session.references import Known, known_by_artifact, known_by_overview, united
from brenner.workflows.chains import load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.session_files import read_session_file, session_files
from brenner.workflows.sessions import Rows


class _Held(NamedTuple):
    """A session in one place, with what each of its items refers to."""

    known: Known
    references: Mapping[str, tuple[Reference, ...]]


class Sessions:
    """The sessions of a project, each looked up once."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._rows = desk, Rows(desk)
        self._mail: dict[str, _Held | None] = {}
        self._files: dict[str, Artifact | None] = {}
        self._filed: dict[str, _Held | None] = {}
        self._problems: dict[str, Diagnostic] = {}

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """What could not be read of what was looked at."""
        return tuple(dict.fromkeys(self._problems.values()))

    def is_unreadable(self, thread_id: str) -> bool:
        """Whether all that could tell of the session is a file that cannot be read."""
        held = self._in_mail(thread_id)
        if held and held.known.items:
            return False
        self.file(thread_id)
        return thread_id in self._problems

    def known(self, thread_id: str) -> Known | None:
        """The session: what its mail says, and what its file has besides."""
        mail, file = self._in_mail(thread_id), self._in_file(thread_id)
        if mail and file:
            return united(mail.known, file.known)
        held = mail or file
        return held.known if held else None

    def has(self, node: Node) -> bool:
        """Whether there is such an item."""
        return self._holding(node) is not None

    def references(self, node: Node) -> tuple[Reference, ...]:
        """What an item refers to. What the mail says of it holds; what it lacks a file may have."""
        held = self._holding(node)
        return held.references.get(node.item, ()) if held else ()

    def killed(self, node: Node) -> Killed | None:
        """Who killed an item, and why; None where it is active or unknown."""
        held = self._holding(node)
        return held.known.killed.get(node.item) if held else None

    def names(self) -> tuple[str, ...]:
        """All sessions that there are, in mail and files; for finding the one that was meant."""
        listed = session_files(self._desk.project)
        files = () if isinstance(listed, Diagnostic) else listed
        threads = self._desk.mailbox.threads()
        return tuple(dict.fromkeys((*(each.thread_id for each in threads), *files)))

    def file(self, thread_id: str) -> Artifact | None:
        """What the session's file in `artifacts/` holds, where there is one that can be read."""
        if thread_id not in self._files:
            read = read_session_file(self._desk.project, thread_id)
            if isinstance(read, Diagnostic):
                self._problems[thread_id] = read
            self._files[thread_id] = None if isinstance(read, Diagnostic) else read
        return self._files[thread_id]

    def keep(self) -> None:
        """Keep the rows that had to be worked out: the next one finds them."""
        self._rows.keep()

    def _holding(self, node: Node) -> _Held | None:
        """Where the item is; a file is opened only where the mail lacks it."""
        held = self._in_mail(node.session)
        if held is None or node.item not in held.known.items:
            held = self._in_file(node.session)
        return held if held and node.item in held.known.items else None

    def _in_mail(self, thread_id: str) -> _Held | None:
        if thread_id not in self._mail:
            known = self._loaded(thread_id) if is_valid(thread_id) else None
            self._mail[thread_id] = _held(known) if known else None
        return self._mail[thread_id]

    def _loaded(self, thread_id: str) -> Known | None:
        """By its row; where none can be kept, the chain alone is less work."""
        mailbox = self._desk.mailbox
        if Ability.KEEPING not in mailbox.lacks:
            row = self._rows.find(thread_id)
            if row is None:
                return None
            return known_by_overview(row.overview) if row.overview else Known(thread_id)
        if not mailbox.thread(thread_id, limit=1).position:
            return None
        chain = load_chain(mailbox, thread_id, self._desk.project.operator).chain
        if not chain.versions:
            return Known(thread_id)
        return known_by_artifact(thread_id, chain.state.artifact)

    def _in_file(self, thread_id: str) -> _Held | None:
        if thread_id not in self._filed:
            artifact = self.file(thread_id)
            known = known_by_artifact(thread_id, artifact) if artifact else None
            self._filed[thread_id] = _held(known) if known else None
        return self._filed[thread_id]


def _held(known: Known) -> _Held:
    references: dict[str, tuple[Reference, ...]] = {}
    for item, reference in known.references:
        references[item] = (*references.get(item, ()), reference)
    return _Held(known, references)
