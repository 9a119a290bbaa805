"""Two versions of a thread to compare; v0 is the empty artifact before the first one (R11)."""

from functools import cached_property

from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import empty_state


class Side:
    """A version as far as comparing needs it. Its text follows from it, byte for byte (R10)."""

    def __init__(self, number: int, artifact: Artifact) -> None:
        self.number = number
        self.artifact = artifact

    @cached_property
    def text(self) -> str:
        """As it was published."""
        return render_artifact(self.artifact)


def side_of_nothing(thread_id: str) -> Side:
    """The thread before its first version."""
    return Side(0, empty_state(thread_id).artifact)
