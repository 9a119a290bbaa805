"""Refused blocks that the operator dismisses, and the INFO messages that say so."""

from collections.abc import Iterable
from typing import NamedTuple

from brenner.markdown.escape import one_paragraph
from brenner.protocol.message_types import INFO
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.session.declarations import DISMISSAL_FENCE, declaration, declared
from brenner.session.letters import Letter
from brenner.session.status import Refusal

_MOST_NUMBERS = 10


class Dismissal(NamedTuple):
    """A block that is let be: by the content of its message, which no import changes."""

    content_hash: str
    block: int


def compose_dismissal(
    message: Message, content_hash: str, message_id: int, refused: Iterable[int], reason: str
) -> Message:
    """The dismissal of blocks of one message; `message` gives thread, sender and recipients."""
    numbers = list(refused)
    which = _named(numbers)
    why = one_paragraph(reason) or "The operator gave no reason."
    dismissals = (Dismissal(content_hash, each) for each in numbers)
    records = "\n".join(declaration(each._asdict(), DISMISSAL_FENCE) for each in dismissals)
    them, are = ("them", "they are") if len(numbers) > 1 else ("it", "it is")
    body = (
        f"# Refused, and Dismissed\n\n"
        f"The operator dismisses {which} of message {message_id}: {are} not in the artifact, and "
        f"nobody has to correct {them} any more. Whoever wants {them} there all the same sends "
        f"{them} corrected.\n\n## Reason\n{why}\n\n## Record\n{records}"
    )
    subject = compose_subject("INFO", f"{which} of message {message_id} dismissed".capitalize())
    return message._replace(subject=subject, body=body)


def _named(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    if len(numbers) > _MOST_NUMBERS:
        return f"{len(numbers)} refused blocks"
    *first, last = map(str, numbers)
    return f"blocks {', '.join(first)} and {last}"


def dismissed_by(message: Message) -> tuple[Dismissal, ...]:
    """What a message dismisses."""
    return tuple(
        Dismissal(content_hash, block)
        for content_hash, block, _ in declared(message.body, DISMISSAL_FENCE, "block")
    )


class Dismissals:
    """All that the operators of a thread have dismissed. Each is about what stands before it.

    A copy of the message that is sent again after it is the author's new attempt.
    """

    def __init__(self, thread: Iterable[Letter], operators: Iterable[str]) -> None:
        self._letters = {each.id: each for each in thread}
        may = frozenset(operators)
        self._last = {
            dismissal: (each.at, each.id)
            for each in self._letters.values()
            if each.type == INFO.name and each.filed.counts_for(may)
            for dismissal in dismissed_by(each.message)
        }

    def of(self, refusal: Refusal) -> int | None:
        """The message that dismisses a refused block; None where none does."""
        letter = self._letters.get(refusal.message_id)
        if letter is None:
            return None
        last = self._last.get(Dismissal(letter.content, refusal.block))
        return last[1] if last and (letter.at, letter.id) < last else None
