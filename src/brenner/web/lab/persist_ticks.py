"""The boxes of a form that say how far a version is to be kept: a file, a commit, a push."""

from collections.abc import Mapping

from brenner.services.persist import PersistOptions
from brenner.web.forms import is_ticked

HOW = ("commit", "push", "archive", "force")
ASKED = ("persist", "commit", "push", "archive")
FILE = "file"  # the field that says which file was seen


def persist_options(form: Mapping[str, str], *, is_meant: bool) -> PersistOptions:
    """How far to go; a push means a commit. A preview, which is not meant, is of any file."""
    said = {name: is_ticked(form, name) for name in HOW}
    seen = form.get(FILE) or None if is_meant else None
    return PersistOptions(**said | {"commit": said["commit"] or said["push"]}, seen=seen)


def wanted(form: Mapping[str, str], *, is_meant: bool) -> PersistOptions | None:
    """The same where it is asked for at all."""
    is_asked = any(is_ticked(form, name) for name in ASKED)
    return persist_options(form, is_meant=is_meant) if is_asked else None
