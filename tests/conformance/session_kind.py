"""The case kind `session`: a session from its kickoff to a commit, played with real workflows.

A scene is played in one home of the contract suite and a project of its own. Beside what a case
states, this holds after every step: stored messages have not changed; what is refused, and what
only looks, leaves mail and files as they were; what we publish passes our own check, holds its
exact bytes and one record in canonical JSON, and all places in it agree.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.model import BrennerError
from conformance.mail_expectations import EXPECTATIONS as OF_MAIL
from conformance.session_actions import ACTIONS, Action, only_looks, write
from conformance.session_expectations import EXPECTATIONS
from conformance.session_scene import SessionScene
from conformance.session_shorthand import scene_of
from mail.backends import Backend

_KEYS = {
    *("file", "name", "proves", "kind", "codes", "start", "scene", "agents", "settings"),
    *("needs", "homes"),
}
Actions = tuple[tuple[re.Pattern[str], Action], ...]
Looks = tuple[tuple[re.Pattern[str], Callable[[SessionScene, re.Match[str]], None]], ...]


def check_session(
    case: dict[str, Any],
    home: Backend,
    folder: Path,
    more_actions: Actions = (),
    more_looks: Looks = (),
) -> None:
    """Play the scene and compare everything that the case states."""
    assert case.keys() <= _KEYS
    with SessionScene(case, home, folder) as scene:
        play(scene, case, more_actions, more_looks)


def play(
    scene: SessionScene, case: dict[str, Any], more_actions: Actions = (), more_looks: Looks = ()
) -> None:
    """Play all steps of a scene, some of which only cases of another kind have."""
    actions, looks = (*more_actions, *ACTIONS), (*more_looks, *EXPECTATIONS, *OF_MAIL)
    for number, step in enumerate(scene_of(case), 1):
        try:
            _play(scene, scene.filled(step), actions, looks)
        except (AssertionError, BrennerError) as error:
            error.add_note(f"in step {number} of {case['name']}: {step}")
            raise
    scene.looked()
    scene.check_thoroughly()


def _play(scene: SessionScene, step: str | list[str], actions: Actions, looks: Looks) -> None:
    head, *lines = [step] if isinstance(step, str) else step
    done, _, outcome = head.partition(" ⇒ ")
    for pattern, act in actions:
        if found := pattern.fullmatch(done):
            work = partial(act, scene, found, outcome, lines)
            if only_looks(done, outcome):
                scene.watch()
                work()
            else:
                _act(scene, work)
            return
    if lines:
        _act(scene, lambda: write(scene, [head, *lines]))
        return
    assert not outcome, f"not in the shorthand: {head}"
    for shape, look in looks:
        if found := shape.fullmatch(done):
            scene.looks()
            look(scene, found)
            return
    pytest.fail(f"not in the shorthand: {done}")


def _act(scene: SessionScene, work: Callable[[], None]) -> None:
    scene.looked()
    work()
    scene.check_stores()
