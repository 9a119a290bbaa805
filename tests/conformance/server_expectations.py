"""What a `server` case may say that it sees beside what `session` cases see: what commands said,
and what another program finds on the server.
"""

import re
from collections.abc import Callable
from typing import Any

from conformance.mail_shorthand import THREAD_ID, listed
from conformance.server_scene import ServerScene
from conformance.session_scene import SessionScene

Found = re.Match[str]
Look = Callable[[SessionScene, Found], None]


def _seen(look: Callable[[ServerScene, Found], None]) -> Look:
    def looked(scene: SessionScene, line: Found) -> None:
        assert isinstance(scene, ServerScene)
        look(scene, line)

    return looked


def _says(scene: ServerScene, line: Found) -> None:
    said = scene.said.casefold()
    assert (line["rest"].casefold() in said) == (not line["never"]), scene.said


def _folder(scene: ServerScene, line: Found) -> None:
    found = (path for path in scene.folder.rglob("*") if not path.is_dir())
    names = sorted(path.relative_to(scene.folder).as_posix() for path in found)
    assert names == listed(line["rest"])


def _nothing(scene: ServerScene, _: Found) -> None:
    assert scene.side.has_nothing()


def _knows(scene: ServerScene, line: Found) -> None:
    assert sorted(each["name"] for each in scene.agent_mail.agents()) == sorted(
        listed(line["rest"])
    )


def _unread(scene: ServerScene, line: Found) -> None:
    found = {each["name"]: each["unread_count"] for each in scene.agent_mail.agents()}
    for name, count in (each.split() for each in listed(line["rest"])):
        assert found[name] == int(count), found


def _has(scene: ServerScene, line: Found) -> None:
    """`Ann: QUESTION: Which rubric?; …`, in its order."""
    found = scene.agent_mail.thread(line["thread"] or THREAD_ID)
    shown = "; ".join(f"{each['from']}: {each['subject']}" for each in found)
    assert shown == line["rest"]


def _message(scene: ServerScene, line: Found) -> dict[str, Any]:
    stored = scene.message(int(line["number"]))
    (found,) = [
        each
        for each in scene.agent_mail.thread(stored.message.thread_id)
        if each["id"] == stored.id
    ]
    assert found["created_ts"] == stored.at.isoformat(timespec="microseconds")
    return dict(found)


def _body(scene: ServerScene, line: Found) -> None:
    assert _message(scene, line)["body_md"] == line["rest"]


def _asks(scene: ServerScene, line: Found) -> None:
    assert _message(scene, line)["ack_required"] is not (line["no"] == "no")


_REST = "(?P<rest>(?s:.*))"
_NUMBER = r"(?P<number>\d+)"
SIGHT: tuple[tuple[re.Pattern[str], Look], ...] = (
    (re.compile(f"it (?P<never>never )?says: {_REST}"), _seen(_says)),
    (re.compile(f"the folder holds: {_REST}"), _seen(_folder)),
    (re.compile("the server has nothing"), _seen(_nothing)),
    (re.compile(f"the server knows: {_REST}"), _seen(_knows)),
    (re.compile(f"unread there: {_REST}"), _seen(_unread)),
    (re.compile(rf"another program finds(?: in (?P<thread>\S+))?: {_REST}"), _seen(_has)),
    (re.compile(f"another program reads of {_NUMBER}: {_REST}"), _seen(_body)),
    (
        re.compile(f"another program hears that {_NUMBER} asks for (?P<no>no|an) ACK"),
        _seen(_asks),
    ),
)
