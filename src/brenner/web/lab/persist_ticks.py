"""The boxes of a form that say how far a version is to be kept: a file, a commit, a push."""

from collections.abc import Mapping

from brenner.web.forms import is_ticked
from brenner.workflows.persist import PersistOptions

HOW = ("commit", "push", "archive", "force")
ASKED = ("persist", "commit", "push", "archive")


def persist_options(form: Mapping[str, str]) -> PersistOptions:
    """How far to go; a push means a commit."""
    said = {name: is_ticked(form, name) for name in HOW}
    return PersistOptions(**said | {"commit": said["commit"] or said["push"]})


def wanted(form: Mapping[str, str]) -> PersistOptions | None:
    """The same where it is asked for at all."""
    is_asked = any(is_ticked(form, name) for name in ASKED)
    return persist_options(form) if is_asked else None
