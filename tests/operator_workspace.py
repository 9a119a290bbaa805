"""The fixture `desk`: the operator in a new project, whatever the environment says of rosters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import brenner
from brenner.services.workspace import Workspace

SETTINGS = (
    *("AGENT_NAME", "BRENNER_STORE", "BRENNER_ROSTER", "BRENNER_ROSTER_MODE"),
    *("BRENNER_ROSTER_NAME", "BRENNER_ROSTER_PRESET"),
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """The operator in a new project."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    with brenner.open(str(tmp_path)) as workspace:
        yield workspace
