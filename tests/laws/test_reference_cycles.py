"""References never close a circle, through any number of sessions (R21)."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.artifact.merge.engine import merge
from brenner.config import find_project
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.delta.schema import RELATIONS
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.references import check_references, load_external_references, load_graph
from brenner.services.version_store import load_history
from brenner.services.workspace import Workspace
from brenner.session.references import ItemStatus, find_cycles
from brenner.session.versions import replay
from laws.reference_cycles import Model, Relation, Said, closure

SESSIONS = ("RS-20260101-first-idea", "RS-20260102-second-idea", "RS-20260103-third-idea")
UNKNOWN = "RS-20260104-never-held"
FEWER = settings(max_examples=settings().max_examples // 8)  # several sessions are a large example
SECTION = "adversarial_critique"
CIRCULAR = "CIRCULAR_REFERENCE"


# Circles in a graph

Graph = dict[tuple[str, str], list[tuple[str, str]]]
nodes = st.tuples(st.sampled_from("ABC"), st.sampled_from("123"))
graphs = st.dictionaries(nodes, st.lists(nodes, max_size=4), max_size=9)


@given(graphs)
def test_a_circle_is_found_in_every_knot(
    graph: Graph,
) -> None:
    """A knot is what leads to one another in the closure; each has one circle, and it is one."""
    edges = {(node, target) for node, targets in graph.items() for target in targets}
    leads = closure(edges)
    knotted = {node for node in (*graph, *(end for _, end in edges)) if (node, node) in leads}
    knots = {
        frozenset(other for other in knotted if {(one, other), (other, one)} <= leads)
        for one in knotted
    }
    found = find_cycles(graph)
    assert len(found) == len(knots)
    assert sorted(min(knot) for knot in knots) == [way[0] for way in found]
    for way in found:
        assert len(set(way)) == len(way)
        assert set(zip(way, (*way[1:], way[0]), strict=True)) <= edges


@given(graphs, st.randoms(use_true_random=False))
def test_circles_do_not_depend_on_the_order(graph: Graph, shuffle: random.Random) -> None:
    """The same graph, written down otherwise, has the same circles."""
    items = [(node, shuffle.sample(targets, len(targets))) for node, targets in graph.items()]
    shuffle.shuffle(items)
    assert find_cycles(dict(items)) == find_cycles(graph)


@pytest.mark.thorough
@pytest.mark.parametrize("length", [1, 2, 100_000])
def test_a_circle_of_any_length(length: int) -> None:
    """Nothing is recursive."""
    graph = {(str(each),): [(str((each + 1) % length),)] for each in range(length)}
    [way] = find_cycles(graph)
    assert len(way) == length


# Sessions, compiled round by round

items = st.integers(1, 3).map("C{}".format)  # few, so that they often meet
references = st.tuples(
    st.sampled_from((*SESSIONS, *SESSIONS, *SESSIONS, UNKNOWN)), items, st.sampled_from(RELATIONS)
)
blocks = st.tuples(
    st.sampled_from(("EDIT", "EDIT", "EDIT", "EDIT", "ADD", "REPLACE", "KILL")),
    items,
    st.lists(references, min_size=1, max_size=3).map(tuple),
)
messages = st.tuples(st.sampled_from(SESSIONS), st.lists(blocks, min_size=2, max_size=3))
rounds = st.lists(
    st.tuples(st.lists(messages, min_size=2, max_size=4), st.sampled_from(SESSIONS)),
    min_size=5,
    max_size=9,
)
Blocks = list[tuple[str, str, tuple[Relation, ...]]]
Rounds = list[tuple[list[tuple[str, Blocks]], str]]


class Played:
    """The same sessions in a mailbox and in the model."""

    def __init__(self, folder: Path) -> None:
        mailbox = MemoryMailbox()
        for name in ("Operator", "BlueLake"):
            mailbox.register(Profile(name))
        self.workspace = Workspace(mailbox, find_project(str(folder), {}), "Operator")
        self.model = Model(SESSIONS)
        self._count = 0
        for session in SESSIONS:
            self.write(session, [("ADD", "", ()), ("ADD", "", ())])
            self.compile(session)

    def write(self, session: str, said: Blocks) -> None:
        """A message, in so far as what it says of its own session makes sense."""
        texts = list(self._texts(session, said))
        if texts:
            body = "".join(f"```delta\n{text}\n```\n\n" for text in texts)
            message = Message(session, "BlueLake", ("Operator",), "DELTA[opus]: More", body)
            self.workspace.mailbox.send(message)

    def _texts(self, session: str, said: Blocks) -> Iterator[str]:
        known = self.model.published[session]
        unread = self.model.unread[session]
        for operation, item, listed in said:
            mine = tuple(each for each in listed if each[0] != session or each[1] in known)
            self._count += 1
            if operation == "ADD":
                added = sum(each.operation == "ADD" for each in unread)
                item = f"C{len(known) + added + 1}"  # noqa: PLW2901  (the ID that it gets)
            elif item not in known:
                continue
            replaces = operation == "REPLACE"
            unread.append(Said("EDIT" if replaces else operation, item, mine, replaces))
            yield self._text(unread[-1])

    def _text(self, said: Said) -> str:
        texts = (f"{name} {self._count}" for name in ("a", "b", "c", "d"))
        payload: dict[str, object] = dict(
            zip(("name", "attack", "evidence", "current_status"), texts, strict=True)
        )
        payload["references"] = [
            dict(zip(("session", "item", "relation"), each, strict=True))
            for each in said.references
        ]
        if said.replaces:
            payload["references_replace"] = True
        if said.operation == "KILL":
            payload = {"reason": f"No {self._count}"}
        target = None if said.operation == "ADD" else said.item
        delta = {"operation": said.operation, "section": SECTION, "target_id": target}
        return json.dumps({**delta, "payload": payload, "rationale": "So it is"})

    def compile(self, session: str) -> None:
        """Publish, in both; they agree on what is left out and on what stands."""
        is_new = bool(self.model.unread[session])
        expected = self.model.compile(session)
        done = compile_thread(self.workspace, session, CompileOptions())
        assert done.failed is None
        if done.status != "published":
            assert not is_new or not expected
            return
        told = [each for entry in done.ledger for each in entry.diagnostics if each.id == CIRCULAR]
        assert self._left_out(session) == expected
        assert len(told) == len(expected)
        assert self.published(session) == self.model.published[session]

    def _left_out(self, session: str) -> list[Relation]:
        newest = self.workspace.mailbox.thread(session).messages[-1].message.body
        record = json.loads(newest.rpartition("```brenner-record\n")[2].partition("\n```")[0])
        return [
            (each["session"], each["item"], each["relation"])
            for each in record["references_left_out"]
        ]

    def published(self, session: str) -> dict[str, list[Relation]]:
        """What the latest version has."""
        artifact = load_history(self.workspace.mailbox, session, "Operator").state.artifact
        return {
            item.id: [(each.session, each.item, each.relation) for each in item.references]
            for item in artifact.sections[SECTION]
        }


@FEWER
@given(rounds)
def test_exactly_what_would_close_a_circle_is_left_out(script: Rounds) -> None:
    """A reference is left out if, and only if, it leads back, given all that stands before it."""
    with TemporaryDirectory() as folder:
        both = Played(Path(folder))
        for sent, session in script:
            for thread, said in sent:
                both.write(thread, said)
            both.compile(session)
        assert all(one != other for one, other in closure(both.model.edges()))
        graph = load_graph(both.workspace)[0]
        assert {(edge.origin, edge.target) for edge in graph.edges} == both.model.edges()
        assert graph.circles() == ()
        _check_states(both)
        _check_rebuilt(both.workspace)


def _check_states(both: Played) -> None:
    """Where references lead is what the model has."""
    checked = check_references(both.workspace)
    for edge, leads in checked.references:
        place = tuple(edge.target)
        known = both.model.published.get(place[0])
        if known is None:
            assert leads is ItemStatus.UNKNOWN_SESSION
        elif place[1] not in known:
            assert leads is ItemStatus.UNKNOWN_ITEM
        else:
            is_killed = place in both.model.killed
            assert leads is (ItemStatus.KILLED if is_killed else ItemStatus.ACTIVE)


def _check_rebuilt(workspace: Workspace) -> None:
    """Each thread gives the same versions where there is no other session."""
    for session in SESSIONS:
        here = load_history(workspace.mailbox, session, "Operator")
        alone = replay(
            session,
            list(workspace.mailbox.thread_arrivals(session, 0)),
            "Operator",
        )
        assert alone.broken_version is None
        assert alone.versions == here.versions
        assert alone.state.artifact == here.state.artifact


@FEWER
@given(st.lists(messages, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_in_which_a_round_is_read_does_not_matter(
    sent: list[tuple[str, Blocks]], shuffle: random.Random
) -> None:
    """Messages have their order in themselves: the same ones leave the same out."""
    with TemporaryDirectory() as folder:
        both = Played(Path(folder))
        for thread, said in sent:
            both.write(thread, said)
        for session in SESSIONS:
            history = load_history(both.workspace.mailbox, session, "Operator")
            elsewhere = load_external_references(both.workspace, history)
            posted = list(history.unread)
            one = merge(history.state, posted, elsewhere=elsewhere)
            other = merge(history.state, shuffle.sample(posted, len(posted)), elsewhere=elsewhere)
            assert (one.artifact, one.left_out) == (other.artifact, other.left_out)
            both.compile(session)
