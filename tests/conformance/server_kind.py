"""The case kind `server`: commands in a project whose mail is on a real server.

Played as `session` cases are, with nothing there at first. Commands go through a door that can be
shut; what is seen is seen past it. All that is checked of every step in session cases is checked
here, too; and a command that ends in an error leaves the server as it was.
"""

from pathlib import Path
from typing import Any

from conformance.server_actions import SERVER_ACTIONS
from conformance.server_expectations import SIGHT
from conformance.server_scene import ServerScene
from conformance.session_kind import play
from mail.backends import AGENT_MAIL, POSTGRESQL, Backend

_KEYS = {
    *("file", "name", "proves", "kind", "codes", "scene", "homes", "folder", "settings"),
    *("agents", "environment", "closed"),
}
SERVERS = (POSTGRESQL, AGENT_MAIL)


def servers_of(case: dict[str, Any]) -> tuple[Backend, ...]:
    """The servers that the case is about; both, unless it says otherwise."""
    return tuple(home for home in SERVERS if home.name in case.get("homes", [home.name]))


def check_server(case: dict[str, Any], home: Backend, folder: Path) -> None:
    """Play the scene and compare everything that the case states."""
    assert case.keys() <= _KEYS
    with ServerScene(case, home, folder) as scene:
        play(scene, case, SERVER_ACTIONS, SIGHT)
