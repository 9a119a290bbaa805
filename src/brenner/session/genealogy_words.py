"""Genealogies in words: relations in both directions, sections, who had an idea first."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.session.genealogy import Direction, FirstProposed
from brenner.session.genealogy_facts import Described


class Said(NamedTuple):
    """A relation as the item says it, and as one says it of what it refers to."""

    up: str
    down: str


RELATION_WORDS = {
    "extends": Said("extends", "extended by"),
    "refines": Said("refines", "refined by"),
    "refutes": Said("refutes", "refuted by"),
    "informed_by": Said("informed by", "informed"),
    "supersedes": Said("supersedes", "superseded by"),
    "replicates": Said("replicates", "replicated by"),
}
_MOST_NAMED = 2
ARROWS = {Direction.ANCESTORS: "←", Direction.DESCENDANTS: "→"}
SECTION_WORDS = {
    "research_thread": "question",
    "hypothesis_slate": "hypothesis",
    "predictions_table": "prediction",
    "discriminative_tests": "test",
    "assumption_ledger": "assumption",
    "anomaly_register": "anomaly",
    "adversarial_critique": "critique",
}


def relation_words(relations: Iterable[str], direction: Direction) -> str:
    """`refines`, `refined by`; several are listed. What is no relation of ours is quoted."""
    is_up = direction is Direction.ANCESTORS
    return ", ".join(_words(each, is_up=is_up) for each in relations)


def _words(relation: str, *, is_up: bool) -> str:
    said = RELATION_WORDS.get(relation)
    if said is None:
        return f'"{relation}"' if is_up else f'"{relation}" said by'
    return said.up if is_up else said.down


def counted_words(relations: Iterable[tuple[str, int]]) -> str:
    """`refines, informed by ×2`: relations as one says them, each with its number from 2 on."""
    return ", ".join(
        _words(name, is_up=True) + (f" ×{count}" if count > 1 else "") for name, count in relations
    )


def first_sentence(first: FirstProposed) -> str:
    """Who had the idea first, and what nobody here can tell, in whole sentences."""
    parts = []
    if first.earliest:
        parts.append(f"First proposed by {_proposals(first)}.")
    if first.not_known:
        parts.append(_not_known(first))
    return " ".join(parts)


def first_words(first: FirstProposed) -> str:
    """The same in one line of a list."""
    others = [node for node in first.not_known if node != first.item]
    if not first.earliest:
        return f"not known here; it goes back to {_named(others)}" if others else "not known here"
    return _proposals(first) + (f"; perhaps earlier as {_named(others)}" if others else "")


def _proposals(first: FirstProposed) -> str:
    if len(first.earliest) == 1:
        return _proposal(first.earliest[0], first.item)
    few = [_proposal(each, first.item) for each in first.earliest[:_MOST_NAMED]]
    more = len(first.earliest) - len(few)
    return "several at the same instant: " + "; ".join([*few, f"{more} more"] if more else few)


def _proposal(known: Described, item: Node) -> str:
    """`BlueLake on 2026-01-05, as RS-… H2 (message 4)`."""
    proposal = known.proposal
    if proposal is None or proposal.at is None:  # then it is none of the earliest
        return str(known.node)
    where = "here" if known.node == item else f"as {known.node}"
    return f"{proposal.agent} on {proposal.at:%Y-%m-%d}, {where} (message {proposal.message_id})"


def _not_known(first: FirstProposed) -> str:
    others = [node for node in first.not_known if node != first.item]
    if not others and first.earliest:
        return f"Who proposed {first.item} itself, and when, is not known here."
    if not others:
        return "Nobody here can tell who proposed it, and when."
    start = "It may be older: it goes back" if first.earliest else "It goes back"
    return f"{start} to {_named(others)}, and who proposed that is not known here."


def _named(nodes: Sequence[Node]) -> str:
    few = [str(node) for node in nodes[:_MOST_NAMED]]
    more = len(nodes) - len(few)
    return " and ".join([*few, f"{more} more"] if more else few)
