"""Other sessions, as far as the references of one need them (delta document; R21).

A session is looked up in the mail, by its latest published version, and in `artifacts/`. Only what
is referred to is loaded: who refers to no other session pays nothing.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, cast

from brenner.artifact.ledger import Entry
from brenner.artifact.merging.circles import NOWHERE, Elsewhere, Node
from brenner.artifact.merging.contribution import Contribution, read_posted
from brenner.artifact.model import Artifact, Item
from brenner.artifact.state import State
from brenner.delta.model import DeltaBlock
from brenner.diagnostics.codes.delta_format import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic
from brenner.session.chain import Chain
from brenner.session.reference_faults import unknown_item, unknown_session
from brenner.session.reference_graph import Edge, Known, known_by_artifact, united
from brenner.thread.ids import is_valid
from brenner.thread.posted import Posted
from brenner.workflows.chains import load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.session_files import read_session_file, session_files

NOBODY = Known("")


class KnownSession(NamedTuple):
    """A session that could be found. In the mail it may have no version yet, and so no artifact.

    One that only a file tells of has no `state`: nobody knows who set what.
    """

    thread_id: str
    artifact: Artifact | None
    state: State | None
    source: Literal["mail", "file"]
    version: int | None


class Sessions:
    """The sessions of a project, each looked up once."""

    def __init__(self, desk: Desk) -> None:
        self._mailbox, self._project = desk.mailbox, desk.project
        self._mail: dict[str, KnownSession | None] = {}
        self._files: dict[str, Artifact | None] = {}
        self._items: dict[tuple[str, str], dict[str, Item]] = {}
        self._problems: dict[str, Diagnostic] = {}

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """What could not be read of what was looked at."""
        return tuple(self._problems.values())

    def find(self, thread_id: str) -> KnownSession | None:
        """The session: as its mail has it, else as its file does."""
        if not is_valid(thread_id):
            return None
        in_mail = self._in_mail(thread_id)
        if in_mail and in_mail.artifact:
            return in_mail
        artifact = self.file(thread_id)
        if artifact is None:
            return in_mail
        return KnownSession(thread_id, artifact, None, "file", artifact.metadata.version)

    def item(self, node: Node) -> Item | None:
        """An item of a session. Where the mail lacks it, the file may have it."""
        known = self.find(node.session)
        if known is None or known.artifact is None:
            return None
        found = self._held(known.source, known.thread_id, known.artifact).get(node.item)
        if found or known.source == "file":
            return found
        artifact = self.file(node.session)
        return self._held("file", node.session, artifact).get(node.item) if artifact else None

    def known(self, thread_id: str) -> Known | None:
        """The session as a graph needs it: what its mail says, and what its file has besides."""
        found = self.find(thread_id)
        if found is None:
            return None
        if found.artifact is None:
            return Known(thread_id)
        known = known_by_artifact(thread_id, found.artifact)
        artifact = self.file(thread_id) if found.source == "mail" else None
        return united(known, known_by_artifact(thread_id, artifact)) if artifact else known

    def names(self) -> tuple[str, ...]:
        """All sessions that there are, in mail and files; for finding the one that was meant."""
        listed = session_files(self._project)
        files = () if isinstance(listed, Diagnostic) else listed
        return tuple(dict.fromkeys((*(each.thread_id for each in self._mailbox.threads()), *files)))

    def _in_mail(self, thread_id: str) -> KnownSession | None:
        if thread_id not in self._mail:
            self._mail[thread_id] = self._loaded(thread_id)
        return self._mail[thread_id]

    def _loaded(self, thread_id: str) -> KnownSession | None:
        if not self._mailbox.thread(thread_id, limit=1).position:
            return None
        chain = load_chain(self._mailbox, thread_id, self._project.operator).chain
        if not chain.versions:
            return KnownSession(thread_id, None, None, "mail", None)
        return KnownSession(thread_id, chain.state.artifact, chain.state, "mail", chain.number)

    def file(self, thread_id: str) -> Artifact | None:
        """What the session's file in `artifacts/` holds, where there is one that can be read."""
        if thread_id not in self._files:
            read = read_session_file(self._project, thread_id)
            if isinstance(read, Diagnostic):
                self._problems[thread_id] = read
            self._files[thread_id] = None if isinstance(read, Diagnostic) else read
        return self._files[thread_id]

    def _held(self, source: str, thread_id: str, artifact: Artifact) -> dict[str, Item]:
        key = (source, thread_id)
        if key not in self._items:
            self._items[key] = {item.id: item for _section, item in artifact.all_items()}
        return self._items[key]


# What a merge has to know


def elsewhere_for(desk: Desk, chain: Chain, sessions: Sessions | None = None) -> Elsewhere:
    """The references of other sessions through which this one could close a circle.

    From what its items and its unread messages refer to on, item by item; what leads back to this
    session the merge knows itself, and better.
    """
    unread = [filed.posted for filed in chain.unread]
    return reached(chain.state.artifact, unread, sessions or Sessions(desk))


def reached(artifact: Artifact, unread: Iterable[Posted], sessions: Sessions) -> Elsewhere:
    """What can be reached, through other sessions, from an artifact and messages to it."""
    own = artifact.metadata.session_id or ""
    given = [each.edge.target for posted in unread for each in given_in(posted)]
    if not given:  # only a new reference closes a circle
        return NOWHERE
    waiting = deque(dict.fromkeys((*given, *_named_in(artifact))))
    references: dict[Node, tuple[Node, ...]] = {}
    while waiting:
        node = waiting.popleft()
        if node in references or node.session == own:
            continue
        item = sessions.item(node)
        targets = dict.fromkeys(_targets(item)) if item else {}
        references[node] = tuple(targets)
        waiting.extend(targets)
    return Elsewhere({node: targets for node, targets in references.items() if targets})


def _named_in(artifact: Artifact) -> Iterator[Node]:
    for _section, item in artifact.all_items():
        yield from _targets(item)


def _targets(item: Item) -> Iterator[Node]:
    for reference in item.references:
        yield Node(reference.session, reference.item)


class Given(NamedTuple):
    """A reference in a message: the block and its place in the list there. An item that is still
    to be added has no ID; its name stands for it.
    """

    block: DeltaBlock
    place: int
    edge: Edge


def given_in(posted: Posted) -> Iterator[Given]:
    """The references in the delta blocks of a message."""
    body = posted.message.body
    if "references" not in body and "\\u" not in body:  # JSON may spell a letter out
        return
    read = read_posted(posted)
    for block in read.blocks if isinstance(read, Contribution) else ():
        delta = block.delta
        if delta is None:
            continue
        payload = delta.payload
        called = delta.target_id or payload.get("name") or payload.get("condition") or ""
        origin = Node(posted.message.thread_id, str(called))
        given = cast("Iterable[dict[str, str]]", payload.get("references", ()))
        for place, each in enumerate(given):
            target = Node(each["session"], each["item"])
            yield Given(block, place, Edge(origin, target, each["relation"]))


# What leads nowhere


def unresolved(
    desk: Desk, artifact: Artifact, sessions: Sessions | None = None
) -> tuple[Diagnostic, ...]:
    """The references of an artifact to sessions and items that are not known (yet)."""
    own = artifact.metadata.session_id or ""
    held = {item.id for _section, item in artifact.all_items()}
    edges = [
        Edge(Node(own, item.id), Node(reference.session, reference.item), reference.relation)
        for _section, item in artifact.all_items()
        for reference in item.references
        if reference.session != own or reference.item not in held
    ]
    return leading_nowhere(edges, sessions or Sessions(desk), known_by_artifact(own, artifact))


def not_told(found: Iterable[Diagnostic], ledger: Iterable[Entry]) -> tuple[Diagnostic, ...]:
    """What a ledger does not tell already: of a word that is no ID it does so itself."""
    told = {
        entry.item_id
        for entry in ledger
        if any(each.code is UNKNOWN_REFERENCE for each in entry.diagnostics)
    }
    return tuple(
        each for each in found if each.item not in told or UNKNOWN_REFERENCE.id not in each.also
    )


def leading_nowhere(
    edges: Iterable[Edge], sessions: Sessions, own: Known = NOBODY
) -> tuple[Diagnostic, ...]:
    """Of these references those that lead nowhere; of its `own` session more may be known."""
    found: list[Diagnostic] = []
    names: tuple[str, ...] | None = None
    for edge in edges:
        session = edge.target.session
        if session == own.session:
            if edge.target.item not in own.items:
                found.append(unknown_item(edge, own))
        elif sessions.item(edge.target) is None:
            known = sessions.known(session)
            if known is None:
                names = sessions.names() if names is None else names
                found.append(unknown_session(edge, names))
            else:
                found.append(unknown_item(edge, known))
    return tuple(found)
