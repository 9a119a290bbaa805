"""A genealogy as JSON; keys are only ever added."""

from collections.abc import Callable, Iterable

from brenner.artifact.merge.draft import Node
from brenner.protocol.messages import iso
from brenner.session.genealogy import (
    Describe,
    FirstProposed,
    Genealogy,
    Reach,
    between,
)
from brenner.session.genealogy_facts import Described, Kill, Proposal, SessionFacts
from brenner.session.reference_graph import Edge

DescribeSession = Callable[[str], SessionFacts]


def genealogy_json(
    found: Genealogy,
    describe: Describe,
    describe_session: DescribeSession,
    firsts: Iterable[FirstProposed],
) -> dict[str, object]:
    """The stable form. A direction that nobody asked for is null."""
    first = [_first_json(each) for each in firsts]
    return {
        "target": {"session": found.session, "item": found.item},
        "sessions": [_session_json(describe_session(each)) for each in found.sessions],
        "nodes": [_node_json(describe(node)) for node in found.nodes],
        "edges": [_edge_json(edge) for edge in found.edges],
        "between": [
            {"from": each.origin, "to": each.target, "relations": dict(each.relations)}
            for each in between(found.edges)
        ],
        "ancestors": _reach_json(found.ancestors),
        "descendants": _reach_json(found.descendants),
        "left_out": {
            "ancestors": found.ancestors.left_out if found.ancestors else 0,
            "descendants": found.descendants.left_out if found.descendants else 0,
        },
        "first_proposed": first[0] if found.item and first else None,
        "items": [] if found.item else first,
        "circles": [[_edge_json(edge) for edge in circle] for circle in found.circles],
    }


def _name_json(node: Node) -> dict[str, object]:
    return {"session": node.session, "item": node.item}


def _edge_json(edge: Edge) -> dict[str, object]:
    return {
        "from": _name_json(edge.origin),
        "to": _name_json(edge.target),
        "relation": edge.relation,
    }


def _reach_json(reach: Reach | None) -> list[dict[str, object]] | None:
    if reach is None:
        return None
    return [_name_json(node) | {"steps": reach.steps[node]} for node in reach.found]


def _session_json(facts: SessionFacts) -> dict[str, object]:
    return {
        "session": facts.session,
        "source": facts.source,
        "version": facts.version,
        "status": facts.status,
        "phase": facts.phase,
        "question": facts.question or None,
    }


def _node_json(known: Described) -> dict[str, object]:
    return {
        **_name_json(known.node),
        "title": known.title or None,
        "section": known.section,
        "fate": known.fate.value,
        "proposed": _proposal_json(known.proposal),
        "killed": _kill_json(known.kill),
    }


def _proposal_json(proposal: Proposal | None) -> dict[str, object] | None:
    if proposal is None:
        return None
    return {**proposal._asdict(), "at": iso(proposal.at) if proposal.at else None}


def _kill_json(kill: Kill | None) -> dict[str, object] | None:
    return kill._asdict() if kill else None


def _first_json(first: FirstProposed) -> dict[str, object]:
    """Who first proposed an item: one, or several at the same instant."""
    return {
        **_name_json(first.item),
        "earliest": [
            {**_name_json(each.node), **(_proposal_json(each.proposal) or {})}
            for each in first.earliest
        ],
        "not_known": [_name_json(node) for node in first.not_known],
        "is_certain": len(first.earliest) == 1 and not first.not_known,
    }
