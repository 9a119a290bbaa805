"""Ctrl-C and its like end a watch: at once where nothing is under way, else when that is done."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STANDARD_ERROR = 2
Handler = Callable[[int, FrameType | None], object] | int | None


class Stopping:
    """Whether somebody wants it to end. What is `held` is done before; a second wish breaks it off.

    A signal that is ignored (as in a script's background) stays ignored.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._wishes = 0
        self._while_held = ""
        self._before: dict[int, Handler] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._asked)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held(self, words: str = "") -> Iterator[None]:
        """Nobody interrupts what is done here; the words are for who tries to."""
        self._depth += 1
        before, self._while_held = self._while_held, words or self._while_held
        try:
            yield
        finally:
            self._depth -= 1
            self._while_held = before
        if self._wishes and not self._depth:
            raise KeyboardInterrupt

    def no_more(self) -> None:
        """It is ending: further wishes change nothing."""
        self._depth += 1
        self._while_held = ""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        self._wishes += 1
        if self._wishes > 1 or not self._depth:
            raise KeyboardInterrupt
        if self._while_held:
            # Not by `sys.stderr`: that may be in the middle of a line.
            os.write(_STANDARD_ERROR, f"\n{self._while_held}\n".encode())
