"""A store that is lost at the worst moment: right after it has done what it was asked to."""

from collections.abc import Callable

from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.model import UnavailableError
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox

_METHODS = [
    name
    for name, each in vars(Mailbox).items()
    if callable(each) and not name.startswith("_") and name != "close"
]


def lost_after(mailbox: MemoryMailbox, done: str) -> Callable[[], None]:
    """From the next `done` on, whatever is asked of the store fails; what brings it back."""
    is_lost = False

    def wrapped(name: str) -> Callable[..., object]:
        works = getattr(mailbox, name)

        def method(*given: object, **named: object) -> object:
            nonlocal is_lost
            if is_lost:
                raise UnavailableError(STORE_UNUSABLE.at(path="mail", reason="it is gone"))
            answer = works(*given, **named)
            is_lost = name == done
            return answer

        return method

    for name in _METHODS:
        setattr(mailbox, name, wrapped(name))

    def back() -> None:
        for name in _METHODS:
            delattr(mailbox, name)

    return back
