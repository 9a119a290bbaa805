"""All references between the items of all sessions: the graph of them, and what is wrong in it.

What each session refers to is kept with its row in the list of sessions. A file is read where
there is no version in the mail, or where something refers to an item that the mail lacks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from brenner.diagnostics.model import Diagnostic, Severity, Summary, worst_first
from brenner.mail.rules import unknown_thread
from brenner.session.overview import Overview
from brenner.session.references import (
    Edge,
    Known,
    Leads,
    Names,
    ReferenceGraph,
    circle,
    dangling,
    known_by_artifact,
    known_by_overview,
    to_killed,
    united,
)
from brenner.workflows.chains import check_usable
from brenner.workflows.desk import Desk
from brenner.workflows.known_sessions import Sessions
from brenner.workflows.session_files import session_files
from brenner.workflows.sessions import Progress, overviews


def _silent(_doing: str, _done: int, _total: int | None) -> None:
    """Who does not look needs no progress."""


class LoadedGraph(NamedTuple):
    """The graph of everything that is known; `problems` are the files that cannot be read."""

    graph: ReferenceGraph
    sessions: Sessions
    problems: tuple[Diagnostic, ...]

    def nowhere(self, edges: Iterable[Edge]) -> Iterator[tuple[Edge, Diagnostic]]:
        """Of these references those that lead nowhere. What a file that cannot be read may hold is
        not said to be missing: the file is among the problems.
        """
        names = Names(self.graph.sessions)
        for edge in edges:
            is_there = self.graph.has(edge.target)
            if not is_there and not self.sessions.is_unreadable(edge.target.session):
                yield edge, dangling(edge, self.graph, names)


def load_graph(
    desk: Desk, progress: Progress = _silent, rows: Mapping[str, Overview] | None = None
) -> LoadedGraph:
    """The graph over the mail and `artifacts/`; `rows` are those of the mail, for who has them."""
    sessions = Sessions(desk)
    rows = overviews(desk, progress) if rows is None else rows
    known = {name: known_by_overview(row) for name, row in rows.items()}
    listed = session_files(desk.project)
    problems = [listed] if isinstance(listed, Diagnostic) else []
    for name in () if isinstance(listed, Diagnostic) else listed:
        artifact = None if name in known and known[name].items else sessions.file(name)
        if artifact:
            known[name] = known_by_artifact(name, artifact)
    _complete(known, sessions)
    every = tuple(dict.fromkeys((*problems, *sessions.problems)))
    return LoadedGraph(ReferenceGraph(known.values()), sessions, every)


def _complete(known: dict[str, Known], sessions: Sessions) -> None:
    """Look for what is referred to and not there yet; what is found may refer to more."""
    looked_for: set[str] = set()
    fresh = list(known.values())
    while fresh:
        names = dict.fromkeys(_missing(fresh, known))
        fresh = []
        for name in names:
            if name not in looked_for:
                looked_for.add(name)
                found = _looked_up(name, known.get(name), sessions)
                if found:
                    known[name] = found
                    fresh.append(found)


def _missing(fresh: Iterable[Known], known: dict[str, Known]) -> Iterator[str]:
    for each in fresh:
        for _item, reference in each.references:
            there = known.get(reference.session)
            if there is None or reference.item not in there.items:
                yield reference.session


def _looked_up(name: str, there: Known | None, sessions: Sessions) -> Known | None:
    """What more there is to know of a session: it may be a conversation, or have a larger file."""
    if there is None:
        return sessions.known(name)
    artifact = sessions.file(name)
    return united(there, known_by_artifact(name, artifact)) if artifact else None


# The check


class Checked(NamedTuple):
    """A reference, and where it leads."""

    edge: Edge
    leads: Leads


class Found(NamedTuple):
    """What is to be said about a session's references, the worst first."""

    session: str
    violations: tuple[Diagnostic, ...]


class CheckedReferences(NamedTuple):
    """All references that were looked at; what was found, by session; circles as the ways round."""

    references: tuple[Checked, ...]
    found: tuple[Found, ...]
    circles: tuple[tuple[Edge, ...], ...]
    problems: tuple[Diagnostic, ...]

    @property
    def violations(self) -> tuple[Diagnostic, ...]:
        """Everything, in the order in which it is shown."""
        return (*(each for found in self.found for each in found.violations), *self.problems)

    @property
    def summary(self) -> Summary:
        """How many of each severity."""
        return Summary.of(self.violations)


def check_references(
    desk: Desk, threads: Sequence[str] = (), progress: Progress = _silent
) -> CheckedReferences:
    """Look at the references of all sessions, or of these; circles that go through them."""
    for thread_id in threads:
        check_usable(thread_id)
    loaded = load_graph(desk, progress)
    graph = loaded.graph
    for thread_id in threads:
        if thread_id not in graph.sessions:
            raise unknown_thread(thread_id, graph.sessions)
    wanted = set(threads) or graph.sessions.keys()
    edges = [edge for edge in graph.edges if edge.origin.session in wanted]
    circles = [way for way in graph.circles() if any(edge.origin.session in wanted for edge in way)]
    return CheckedReferences(
        tuple(Checked(edge, graph.leads(edge)) for edge in edges),
        tuple(_found(loaded, edges, circles)),
        tuple(circles),
        loaded.problems,
    )


def _found(
    loaded: LoadedGraph, edges: Sequence[Edge], circles: Sequence[tuple[Edge, ...]]
) -> Iterator[Found]:
    """What is to be said, by session: the one with the worst first, else in their order."""
    by_session: dict[str, list[Diagnostic]] = {}
    for way in circles:
        by_session.setdefault(way[0].origin.session, []).append(
            circle(way, loaded.graph.killed_on(way))
        )
    for edge, found in (*loaded.nowhere(edges), *_to_killed(loaded.graph, edges)):
        by_session.setdefault(edge.origin.session, []).append(found)
    sorted_ones = [
        Found(session, tuple(sorted(found, key=worst_first)))
        for session, found in sorted(by_session.items())
    ]
    yield from sorted(sorted_ones, key=lambda each: _RANK[each.violations[0].severity])


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def _to_killed(graph: ReferenceGraph, edges: Iterable[Edge]) -> Iterator[tuple[Edge, Diagnostic]]:
    for edge in edges:
        killed = graph.killed(edge.target)
        if killed:
            yield edge, to_killed(edge, killed)
