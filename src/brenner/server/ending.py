"""The signals that end a server: Ctrl-C, a request to end, and the end of the terminal."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FINE = 0
# Whoever closes a terminal sends it, often twice; who wants a server to outlive that ignores it.
HANG_UP = getattr(signal, "SIGHUP", None)  # not on Windows
_Handler = Callable[[int, FrameType | None], None]


@contextmanager
def handled(handler: _Handler, *, with_ctrl_c: bool = True) -> Iterator[None]:
    """Whoever tells us to end is heard by the handler; only the main thread hears anything."""
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
def ends_before_it_serves() -> Iterator[None]:
    """Nothing is under way yet, so it ends at once, and all is well; Ctrl-C is as everywhere."""
    with handled(_end, with_ctrl_c=False):
        yield


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(FINE)
