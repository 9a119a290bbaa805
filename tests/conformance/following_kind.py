"""The case kind `following`: a session case that also asks where the session stands, starts rounds,
and works in other sessions of the project.
"""

from pathlib import Path
from typing import Any

from conformance.following_actions import FOLLOWING_ACTIONS
from conformance.following_expectations import FOLLOWING
from conformance.session_kind import check_session
from mail.backends import Backend


def check_following(case: dict[str, Any], home: Backend, folder: Path) -> None:
    """Play the scene and compare everything that the case states."""
    check_session(case, home, folder, FOLLOWING_ACTIONS, FOLLOWING)
