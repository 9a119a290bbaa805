"""Two versions of a thread to compare; v0 is the empty artifact before the first one (R11)."""

from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import empty_state


class Side(NamedTuple):
    """A version as far as comparing needs it."""

    number: int
    artifact: Artifact
    text: str


def side_of_nothing(thread_id: str) -> Side:
    """The thread before its first version."""
    artifact = empty_state(thread_id).artifact
    return Side(0, artifact, render_artifact(artifact))
