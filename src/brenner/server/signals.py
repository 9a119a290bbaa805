"""Termination signals: Ctrl-C, SIGTERM, and SIGHUP of a closing terminal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FINE = 0
# A closing terminal sends SIGHUP, often twice. Under nohup it is ignored.
HANG_UP = getattr(signal, "SIGHUP", None)  # not on Windows
_Handler = Callable[[int, FrameType | None], None]


@contextmanager
def signal_handlers(handler: _Handler, *, with_ctrl_c: bool = True) -> Iterator[None]:
    """Install the handler for termination signals, in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM, *([signal.SIGINT] if with_ctrl_c else [])]
    if HANG_UP is not None and signal.getsignal(HANG_UP) is not signal.SIG_IGN:
        numbers.append(HANG_UP)
    before = {each: signal.signal(each, handler) for each in numbers}
    try:
        yield
    finally:
        for each, old in before.items():
            signal.signal(each, old)


@contextmanager
def exit_on_signal() -> Iterator[None]:
    """Exit with code 0 on SIGTERM or SIGHUP while no request is open yet. Ctrl-C works as usual."""
    with signal_handlers(_exit_on_signal, with_ctrl_c=False):
        yield


def _exit_on_signal(_number: int, _frame: FrameType | None) -> NoReturn:
    # Not an exception: raised inside a callback of an import, Python would print and ignore it.
    os._exit(FINE)
