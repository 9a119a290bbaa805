"""The case kind `session`: a session from its kickoff to a commit, played with real workflows.

A scene is played in one home of the contract suite and a project of its own. Beside what a case
states, this holds after every step: stored messages have not changed; what is refused, and what
only looks, leaves mail and files as they were; what we publish passes our own check, holds its
exact bytes and one record in canonical JSON, and all places in it agree.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.errors import BrennerError
from conformance.mail_expectations import EXPECTATIONS as OF_MAIL
from conformance.session_actions import ACTIONS, write
from conformance.session_expectations import EXPECTATIONS
from conformance.session_scene import SessionScene
from conformance.session_shorthand import scene_of
from mail.homes import Home

_KEYS = {"file", "name", "proves", "kind", "codes", "start", "scene", "agents", "settings"}


def check_session(case: dict[str, Any], home: Home, folder: Path) -> None:
    """Play the scene and compare everything that the case states."""
    assert case.keys() <= _KEYS
    with SessionScene(case, home, folder) as scene:
        for number, step in enumerate(scene_of(case), 1):
            try:
                _play(scene, scene.filled(step))
            except (AssertionError, BrennerError) as error:
                error.add_note(f"in step {number} of {case['name']}: {step}")
                raise
        scene.looked()


def _play(scene: SessionScene, step: str | list[str]) -> None:
    head, *lines = [step] if isinstance(step, str) else step
    done, _, outcome = head.partition(" ⇒ ")
    if lines and " reposts " not in head:
        _act(scene, lambda: write(scene, [head, *lines]))
        return
    for pattern, act in ACTIONS:
        if found := pattern.fullmatch(done):
            _act(scene, partial(act, scene, found, outcome, lines))
            return
    assert not outcome, f"not in the shorthand: {head}"
    for pattern, look in (*EXPECTATIONS, *OF_MAIL):
        if found := pattern.fullmatch(done):
            scene.looks()
            look(scene, found)
            return
    pytest.fail(f"not in the shorthand: {done}")


def _act(scene: SessionScene, work: Callable[[], None]) -> None:
    scene.looked()
    work()
    scene.check_stores()
