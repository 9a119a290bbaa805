"""The one project of a server: by which keys it is known, and that others are refused."""

from pathlib import Path

import pytest

from brenner.config import Project
from serving.calls import FOLDER, OPERATOR, place, refusal_of, value_of

SELF = {"program": "claude-code", "model": "opus"}


@pytest.mark.parametrize(
    "key", ["", str(FOLDER), f"{FOLDER}/", f"{FOLDER}/src/deep", "group-cell-fate"]
)
def test_keys_of_the_project(key: str) -> None:
    """However it is named, it is the one."""
    value = value_of(place().ask("ensure_project", human_key=key))
    assert tuple(value) == ("id", "slug", "human_key", "created_at")
    assert (value["id"], value["slug"], value["human_key"]) == (1, "group-cell-fate", str(FOLDER))


@pytest.mark.parametrize(
    "key", ["/group", "/group/cell-fate-2", f"{FOLDER}/../other", "cell-fate", ".", "~", "/"]
)
def test_keys_of_other_projects(key: str) -> None:
    """They are refused, with the key to use, by every tool."""
    scene = place()
    calls: dict[str, dict[str, object]] = {
        "ensure_project": {"human_key": key},
        "register_agent": {"project_key": key, **SELF},
        "create_agent_identity": {"project_key": key, **SELF},
        "macro_start_session": {"human_key": key, **SELF},
        "whois": {"project_key": key, "agent_name": OPERATOR},
        "file_reservation_paths": {"project_key": key, "agent_name": OPERATOR, "paths": ["a"]},
        "release_file_reservations": {"project_key": key, "agent_name": OPERATOR},
    }
    for tool, arguments in calls.items():
        answer = scene.ask(tool, **arguments)
        assert refusal_of(answer) == "OTHER_PROJECT"
        assert str(FOLDER) in (answer.text or "")
    assert [agent.name for agent in scene.mailbox.agents()] == [OPERATOR]


def test_links_are_followed(tmp_path: Path) -> None:
    """A folder has one key, by whichever way one comes to it; what leads out of it is another."""
    folder, outside, link = (tmp_path / each for each in ("project", "outside", "link"))
    folder.mkdir()
    outside.mkdir()
    link.symlink_to(folder)
    (folder / "way-out").symlink_to(outside)
    scene = place()
    scene = scene._replace(workspace=scene.workspace._replace(project=Project(folder)))
    value = value_of(scene.ask("ensure_project", human_key=str(link)))
    assert value["human_key"] == str(folder)
    answer = scene.ask("ensure_project", human_key=str(folder / "way-out"))
    assert refusal_of(answer) == "OTHER_PROJECT"
