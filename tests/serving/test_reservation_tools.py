"""Files that agents are at work on: granted to all, and who comes second is told."""

from typing import Any

import pytest

from serving.calls import OPERATOR, place, refusal_of, value_of


def test_reservations() -> None:
    """Who comes second gets the files all the same, and hears of who has them."""
    scene = place()
    for name in ("BlueLake", "RedStone"):
        scene.knows(name)
    first = {"agent_name": "BlueLake", "paths": ["src/*.py"], "ttl_seconds": 600}
    value_of(scene.ask("file_reservation_paths", **first))
    second = {"agent_name": "RedStone", "paths": ["src/a.py", "b"], "exclusive": False}
    value = value_of(scene.ask("file_reservation_paths", **second))
    granted, conflicts = value["granted"], value["conflicts"]
    assert isinstance(granted, list)
    assert isinstance(conflicts, list)
    assert [each["path_pattern"] for each in granted] == ["src/a.py", "b"]
    assert [each["path"] for each in conflicts] == ["src/a.py"]
    (holder,) = conflicts[0]["holders"]
    assert tuple(holder) == ("agent", "path_pattern", "exclusive", "expires_ts")
    assert (holder["agent"], holder["path_pattern"]) == ("BlueLake", "src/*.py")
    one = {"agent_name": "RedStone", "file_reservation_ids": [granted[0]["id"]]}
    assert value_of(scene.ask("release_file_reservations", **one))["released"] == 1
    rest = {"agent_name": "RedStone", "paths": [], "file_reservation_ids": []}
    assert value_of(scene.ask("release_file_reservations", **rest))["released"] == 1
    assert [each.agent for each in scene.mailbox.reservations()] == ["BlueLake"]


def test_very_many_holders() -> None:
    """Some are told, and how many more there are."""
    scene = place()
    for name in ("BlueLake", "RedStone"):
        scene.knows(name)
    names = [f"src/{number}.py" for number in range(30)]
    value_of(scene.ask("file_reservation_paths", agent_name="BlueLake", paths=names))
    asked = {"agent_name": "RedStone", "paths": ["src"]}
    value: Any = scene.ask("file_reservation_paths", **asked).value
    (conflict,) = value["conflicts"]
    assert (len(conflict["holders"]), conflict["further_holders"]) == (20, 10)


@pytest.mark.parametrize(
    ("tool", "more"),
    [("file_reservation_paths", {"paths": ["a"]}), ("release_file_reservations", {})],
)
def test_files_are_reserved_by_who_one_is(tool: str, more: dict[str, object]) -> None:
    """In nobody else's name with a wrong secret, nor in the operator's without hers."""
    scene = place()
    scene.knows("BlueLake", "brs_own")
    wanted = {
        ("BlueLake", "brs_own"): None,
        ("BlueLake", "brs_other"): "WRONG_SECRET",
        (OPERATOR, ""): "OPERATOR_NEEDS_SECRET",
        ("Nobody", ""): "NO_SUCH_AGENT",
    }
    for (name, token), code in wanted.items():
        answer = scene.ask(tool, agent_name=name, registration_token=token, **more)
        assert (refusal_of(answer) if answer.is_error else None) == code
