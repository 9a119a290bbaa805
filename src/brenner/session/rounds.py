"""The messages of a thread by rounds: round N is what goes before version N, and that itself.

After the end there is no further round: what is still said belongs to the last one.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from brenner.protocol.messages import in_thread_order
from brenner.session.chain import Chain, Published
from brenner.session.rebuild import Filed


class Round(NamedTuple):
    """One round; its `version` is there once it is published, and ends it."""

    number: int
    messages: tuple[Filed, ...]
    version: Published | None = None


def rounds_of(
    chain: Chain, messages: Iterable[Filed], *, is_over: bool = False
) -> tuple[Round, ...]:
    """All rounds, the first one first; what came after the last version is the round to come,
    unless the session `is_over`.
    """
    ends = [(version.at, version.message_id) for version in chain.versions]
    found: list[list[Filed]] = [[] for _ in range(len(ends) + 1)]
    for filed in sorted(messages, key=lambda each: in_thread_order(each.posted)):
        found[bisect_left(ends, in_thread_order(filed.posted))].append(filed)
    if is_over and ends:
        after = found.pop()
        found[-1] += after
    versions = (*chain.versions, None)[: len(found)]
    # A thread that another program began may have a first version that is not v1
    first = chain.versions[0].number if chain.versions else 1
    rounds = [
        Round(version.number if version else first + index, tuple(some), version)
        for index, (some, version) in enumerate(zip(found, versions, strict=True))
    ]
    return tuple(each for each in rounds if each.messages)
