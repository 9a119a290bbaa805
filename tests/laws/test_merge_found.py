"""What random histories found, one way or the other: short threads that stay permanent cases.

In each of them the merge agrees with the reference model after every version.
"""

from typing import NamedTuple

import pytest

from brenner.artifact.merge.engine import merge
from brenner.artifact.state import empty_state
from brenner.protocol.messages import StoredMessage
from histories import TWO_BASES, kickoff, moment
from laws.agreement import assert_same
from laws.reference_merge import replay
from laws.reference_model import Compiled
from sample_messages import THREAD_ID, Draft, edit, hypothesis, kill, opening, row, spoiled, to

H, P, RT = "hypothesis_slate", "predictions_table", "research_thread"
ITEMS = opening("BlueLake", ("one", "two"))
ASKED = ("Do cells count?", "Two camps.")


class At(NamedTuple):
    """A message whose store time is not in the order of the numbers."""

    minute: int
    draft: Draft


Sent = Draft | At | tuple[str, str]


def blue(*blocks: str, base: str = "") -> Draft:
    """A message of BlueLake's."""
    return Draft("BlueLake", base, blocks)


def red(*blocks: str, base: str = "") -> Draft:
    """A message of RedSky's."""
    return Draft("RedSky", base, blocks)


CONTEXT = [edit(RT, "RT", context=text) for text in ("one", "two", " ")]
NAMED = blue(hypothesis("z", "a", references=to("@p")), row({"@a": "grows"}, "p"))
TWICE = red(hypothesis("new"), hypothesis("new"))
REPLACED = red(
    edit(P, "P1", predictions={"H2": "x"}), edit(P, "P1", predictions={"H1": "y"}, replace=True)
)
CLAIM = edit(H, "H1", claim="x")

# R9: deltas apply one after the other, by their place in the message.
# R8: what is a change by her, and what a message stands for that comes again.
# R11: of two bases that are stated the first is taken; names and numbers of one item.
# R12: who set what stands; only an edit closes a conflict.
FOUND: dict[str, list[list[Sent]]] = {
    "an edit before the ADD of its item": [
        [blue(edit(H, "@a", claim="1"), hypothesis("x", "a"), edit(H, "@a", claim="2"))]
    ],
    "a kill before the ADD of its item makes no room": [
        [opening("BlueLake", ("one", "two", "three", "four", "five"))],
        [blue(kill(H, "@b"), hypothesis("x"), hypothesis("y", "b"))],
    ],
    "the first of two bases": [
        [ITEMS],
        [red(hypothesis("new"), edit(H, "H1", claim="mine"), base="v0\n\n**Base Version**: v1")],
    ],
    "the first of two bases does not exist": [[red(hypothesis("new"), base=TWO_BASES)]],
    "a key that her own replace has dropped": [[ITEMS], [REPLACED, REPLACED]],
    "ADDs that name each other come again": [[NAMED], [NAMED]],
    "equal ADDs of one message come again": [[TWICE], [TWICE]],
    "to say again what stands is no change by her": [
        [ITEMS],
        [red(CLAIM, base="v1"), red(CLAIM, base="v0"), red(CLAIM, base="v1")],
    ],
    "a resent edit does not win over what came between": [
        [ITEMS],
        [
            red(CLAIM, base="v1"),
            red(CLAIM, base="v0"),
            blue(edit(H, "H1", claim="y")),
            red(CLAIM, base="v1"),
        ],
    ],
    "who agrees in a conflict has not set the value": [
        [blue(CONTEXT[1]), red(CONTEXT[0]), blue(CONTEXT[0])]
    ],
    "whoever adds to a disputed list has set what stands": [
        [
            red(edit(RT, "RT", anchors=["§2", "§3"])),
            blue(edit(RT, "RT", anchors=[], replace=True)),
            Draft("GreenHill", "", (edit(RT, "RT", anchors=["§2"]),)),
        ]
    ],
    "a kickoff closes no conflict": [[red(CONTEXT[1]), blue(CONTEXT[2]), ASKED]],
    "a kickoff closes no conflict of a version before": [
        [red(CONTEXT[1]), blue(CONTEXT[2])],
        [ASKED],
    ],
    "two agents add at once and mean their own": [
        [ITEMS],
        [
            blue(hypothesis("epi"), row({"H1": "a", "H3": "b"}), base="v1"),
            red(hypothesis("geo"), row({"H2": "a", "H3": "b"}), base="v1"),
        ],
    ],
    "by the thread she goes on with its numbers": [
        [ITEMS],
        [
            blue(hypothesis("epi")),
            red(hypothesis("geo"), row({"H3": "a", "H4": "b"}), kill(H, "H3")),
        ],
    ],
    "a number of another session is never rewritten": [
        [ITEMS],
        [
            blue(hypothesis("epi")),
            red(hypothesis("geo", references=to("H3", "RS-20251228-initial")), base="v1"),
            red(edit(H, "H1", references=to("H3")), base="v1"),
        ],
    ],
    "a message that comes again reads as the first one did": [
        [
            red(hypothesis("new"), row({"H1": "a"}), edit(H, "H2", claim="x")),
            blue(hypothesis("epi")),
        ],
        [red(hypothesis("new"), row({"H1": "b"}), edit(H, "H2", claim="y"), base="v0")],
    ],
    "what comes again takes no number in the thread": [
        [
            red(hypothesis("new")),
            blue(hypothesis("epi")),
            red(hypothesis("new"), hypothesis("geo"), row({"H3": "a"})),
        ]
    ],
    "a late message knows nothing of what was sent after it": [
        [At(20, ITEMS)],
        [At(1, red(edit(H, "H1", claim="mine"))), At(2, red(hypothesis("new"), row({"H1": "a"})))],
    ],
    "what was published stands, whatever the clock of its messages": [
        [At(20, ITEMS)],
        [red(edit(H, "H1", claim="mine"), base="v0"), red(hypothesis("new"), row({"H3": "a"}))],
    ],
    "an ID that can mean two items": [
        [ITEMS],
        [blue(hypothesis("epi")), red(hypothesis("geo"), row({"H3": "a"}), kill(H, "H3"))],
    ],
    "an ADD that cannot be read keeps its number": [
        [ITEMS],
        [red(spoiled(hypothesis("new"), 0), row({"H3": "a"}), row({"H1": "a"}))],
    ],
    "twins come again, and an edit of the second": [
        [TWICE],
        [red(hypothesis("new", "a"), hypothesis("new", "b"), edit(H, "@b", claim="mine"))],
    ],
    "a conflict closes on a base that has it": [
        [blue(CONTEXT[1]), red(CONTEXT[0])],
        [blue(CONTEXT[0])],
    ],
    "a conflict is joined on an older base": [
        [blue(CONTEXT[1]), red(CONTEXT[0])],
        [Draft("GreenHill", "v0", (CONTEXT[1],)), blue(CONTEXT[0], base="v0")],
    ],
    "a name and a number for one item": [
        [ITEMS],
        [blue(hypothesis("one", "a"), row({"H1": "a", "@a": "b"}))],
    ],
    "a resent message with one block corrected": [
        [ITEMS],
        [
            red(hypothesis("new"), row({"H3": "a", "H8": "b"})),
            red(hypothesis("new"), row({"H3": "a"})),
        ],
    ],
}


def stored(message: Sent, number: int) -> StoredMessage:
    """Messages come a minute after each other, unless it is said otherwise."""
    at = moment(number)
    if isinstance(message, At):
        return message.draft.posted(number, moment(message.minute))
    if isinstance(message, Draft):
        return message.posted(number, at)
    return kickoff(number, at, *message)


@pytest.mark.parametrize("rounds", FOUND.values(), ids=FOUND)
def test_found(rounds: list[list[Sent]]) -> None:
    """Each version is published a minute after its last message."""
    state, number = empty_state(THREAD_ID), 0
    read: list[list[StoredMessage]] = []
    compiled: list[Compiled] = []
    for messages in rounds:
        read.append([stored(message, number + n) for n, message in enumerate(messages, 1)])
        result = merge(state, read[-1])
        assert_same(result, replay(THREAD_ID, read, compiled))
        number += len(messages) + 1
        compiled.append(Compiled(number, moment(number)))
        state = result.publish(message_id=number, at=moment(number))
