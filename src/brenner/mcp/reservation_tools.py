"""The tools of agents that edit files: say which, and see who else does.

A reservation keeps nobody from anything. It tells two agents of each other before they meet.
"""

from collections.abc import Sequence

from brenner.mail.model import Reservation, Reserved, Wish
from brenner.mcp import project_key
from brenner.mcp.directory import written
from brenner.mcp.identity import acting
from brenner.mcp.shapes import Shape
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool

NOTHING_RESERVED: Shape = {"granted": [], "conflicts": []}
_AN_HOUR = 3600
_MOST_HOLDERS = 20


def reserve(call: Call, name: str, wish: Wish) -> Shape:
    """What was granted, and who has the same files, in the form of Agent Mail."""
    return _shape(call.desk.mailbox.reserve(name, wish))


def _shape(reserved: Reserved) -> Shape:
    return {
        "granted": [_granted(each) for each in reserved.granted],
        "conflicts": [_conflict(pattern, held) for pattern, held in reserved.conflicts],
    }


def _conflict(pattern: str, held: Sequence[Reservation]) -> Shape:
    """Who has the same files; of very many, some, and how many more there are."""
    told = {"path": pattern, "holders": [_holder(each) for each in held[:_MOST_HOLDERS]]}
    left = len(held) - _MOST_HOLDERS
    return told | ({"further_holders": left} if left > 0 else {})


def _granted(one: Reservation) -> Shape:
    return {
        "id": one.id,
        "path_pattern": one.pattern,
        "exclusive": one.exclusive,
        "reason": one.reason,
        "expires_ts": written(one.expires_at),
    }


def _holder(one: Reservation) -> Shape:
    return {
        "agent": one.agent,
        "path_pattern": one.pattern,
        "exclusive": one.exclusive,
        "expires_ts": written(one.expires_at),
    }


def _reserve(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    name = call.text("agent_name")
    acting(call, name, call.text("registration_token"))
    seconds = call.number("ttl_seconds")
    wish = Wish(
        call.texts("paths"),
        _AN_HOUR if seconds is None else seconds,
        exclusive=call.flag("exclusive") is not False,
        reason=call.text("reason"),
    )
    return Answer(reserve(call, name, wish))


def _release(call: Call) -> Answer:
    """Those named by their paths or ids; all of one's own where neither is given."""
    project_key.check(call, call.text("project_key"))
    name = call.text("agent_name")
    acting(call, name, call.text("registration_token"))
    released = call.desk.mailbox.release(
        name, patterns=call.texts("paths") or None, ids=_ids(call) or None
    )
    return Answer({"released": released.total, "released_at": written(released.at)})


def _ids(call: Call) -> list[int]:
    given = call.arguments.get("file_reservation_ids")
    return [each for each in given if isinstance(each, int)] if isinstance(given, list) else []


_WHO = (Argument("project_key"), Argument("agent_name", required=True))
_TOKEN = Argument("registration_token")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "file_reservation_paths",
        "Say which files you edit. Advisory: conflicts name who else does.",
        (
            *_WHO,
            Argument("paths", Kind.TEXTS, "globs", required=True),
            Argument("ttl_seconds", Kind.NUMBER, default=_AN_HOUR),
            Argument("exclusive", Kind.FLAG, default=True),
            Argument("reason"),
            _TOKEN,
        ),
        _reserve,
    ),
    Tool(
        "release_file_reservations",
        "End your reservations: these, or all.",
        (
            *_WHO,
            Argument("paths", Kind.TEXTS),
            Argument("file_reservation_ids", Kind.NUMBERS),
            _TOKEN,
        ),
        _release,
    ),
)
