"""What a thread is about, read off its lines. No model is asked: nothing is made up."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from brenner.mail.model import Stored
from brenner.mcp.directory import written

_MOST_LISTED = 20  # of each kind
_MOST_EXAMPLES = 3
_MOST_OF_A_BODY = 10_000
_MOST_OF_ALL = 1_000_000
_IN_PART = "Of long messages only the beginning was read."
_POINT = re.compile(r"\s{0,8}(?:[-*+]|[0-9]{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)")
_ACTION = re.compile(r"\b(?:TODO|ACTION|FIXME|NEXT|BLOCKED)\b")
_MENTION = re.compile(r"(?<![\w@.])@([A-Za-z][A-Za-z0-9_-]{0,63})")
_DONE = ("x", "X")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")


class Head(NamedTuple):
    """The beginning of a message, and whether it is all of it."""

    stored: Stored
    is_whole: bool


def heads(newest_first: Iterable[Stored]) -> tuple[Head, ...]:
    """What a summary is read off, oldest first. Of very much, the oldest gives its sender only."""
    left = _MOST_OF_ALL
    found = []
    for each in newest_first:
        body = each.message.body
        text = body[: min(_MOST_OF_A_BODY, left)]
        left -= len(text)
        cut = each._replace(message=each.message._replace(body=text))
        found.append(Head(cut, is_whole=len(text) == len(body)))
    return tuple(reversed(found))


def summary_of(read: Sequence[Head]) -> dict[str, object]:
    """Who wrote, the points of their lists, what is to be done, whom they name."""
    messages = [each.stored for each in read]
    lines = [line for each in messages for line in _lines(each.message.body)]
    points = [point for line in lines if (point := _POINT.fullmatch(line))]
    boxes = [point[1] for point in points if point[1]]
    mentions = Counter(name for line in lines for name in _MENTION.findall(line))
    return {
        "participants": sorted({each.message.sender for each in messages}),
        "key_points": _first(point[2].strip() for point in points),
        "action_items": _first(line.strip() for line in lines if _is_action(line)),
        "total_messages": len(messages),
        "open_actions": sum(box not in _DONE for box in boxes),
        "done_actions": sum(box in _DONE for box in boxes),
        "mentions": [
            {"name": name, "count": count}
            for name, count in sorted(mentions.items(), key=lambda each: (-each[1], each[0]))
        ][:_MOST_LISTED],
        **({} if all(each.is_whole for each in read) else {"notice": _IN_PART}),
    }


def examples_of(read: Sequence[Head]) -> list[dict[str, object]]:
    """The first messages, each in a line."""
    return [
        {
            "id": each.id,
            "subject": each.message.subject,
            "from": each.message.sender,
            "created_ts": written(each.at),
        }
        for each in (head.stored for head in read[:_MOST_EXAMPLES])
    ]


def _lines(body: str) -> Iterator[str]:
    """The lines outside of fences: code and deltas are no points of a list."""
    fence = ""
    for line in body.splitlines():
        mark = _FENCE.match(line)
        if fence:
            is_end = mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if is_end else fence
        elif mark:
            fence = mark[1]
        else:
            yield line


def _is_action(line: str) -> bool:
    point = _POINT.fullmatch(line)
    return bool(point and point[1]) or _ACTION.search(line) is not None


def _first(texts: Iterable[str]) -> list[str]:
    """Each once, and not too many of them."""
    return list(dict.fromkeys(texts))[:_MOST_LISTED]
