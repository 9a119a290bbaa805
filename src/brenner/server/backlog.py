"""What clients have been sent and have not read, all of them together.

An answer that nobody reads stays in memory until its client is given up, and a client that reads
a byte now and then is not. A few of them do no harm. Where they are many, those who have let us
wait for longest are hung up on, and everybody else goes on.
"""

from asyncio import Transport

_MOST_BYTES = 128 * 1024 * 1024


class Backlog:
    """The connections that read more slowly than we write, in the order in which they began to."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._waiting: dict[Transport, None] = {}

    def joined(self, transport: Transport) -> None:
        """One more. It has its answer itself, however long that is: the others make room."""
        self._waiting[transport] = None
        sizes = {each: each.get_write_buffer_size() for each in self._waiting}
        held = sum(sizes.values())
        for each, size in sizes.items():
            if held <= self._most or each is transport:
                return
            held -= size
            self.left(each)
            each.abort()

    def left(self, transport: Transport) -> None:
        """It has read enough, or is gone."""
        self._waiting.pop(transport, None)
