"""Why a store's file cannot be read or written: files, permissions, other processes."""
# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114, PTH115, PTH202

import os
from pathlib import Path
from shlex import quote
from typing import NamedTuple


class Obstacle(NamedTuple):
    """What is in the way, and how to get it out of the way."""

    reason: str
    fix: str


def why_no_folder(store: Path) -> str | None:
    """Why what stands where the store's folder should be is none."""
    folder = _nearest(store.parent)
    if os.path.isdir(folder):
        return None
    is_link = os.path.islink(folder)
    what = f": it is a link to `{os.readlink(folder)}`, and there is none" if is_link else ""
    return f"`{folder}` is not a folder{what}"


def obstacle_to_reading(path: Path) -> Obstacle | None:
    """Why a file that has that name, in a folder, cannot be opened."""
    folder = _nearest(path.parent)
    if not os.access(folder, os.X_OK):
        return Obstacle(
            f"you may not look into the folder `{folder}`{_rights(folder)}",
            f"`chmod u+rwx {quote(str(folder))}`, or ask its owner.",
        )
    if os.path.islink(path) and not os.path.exists(path):
        return Obstacle(
            f"it is a link to `{os.readlink(path)}`, where nothing is",
            "Bring back what it leads to, or remove the link.",
        )
    if os.path.lexists(path) and not os.path.isfile(path):
        kind = "it is a folder" if os.path.isdir(path) else "it is not a file"
        return Obstacle(kind, "Name the file of a store: `--store sqlite:///PATH`.")
    if os.path.lexists(path) and not os.access(path, os.R_OK):
        return Obstacle(
            f"you may not read it{_rights(path)}",
            f"`chmod u+rw {quote(str(path))}`, or ask its owner.",
        )
    return None


def obstacle_to_making(path: Path) -> Obstacle | None:
    """Why a file that is not there, in a folder that one may look into, cannot be made."""
    folder = _nearest(path.parent)
    if os.access(folder, os.W_OK):
        return None
    return Obstacle(
        f"it is not there, and you may not write to `{folder}`{_rights(folder)}",
        f"`chmod u+w {quote(str(folder))}`, or choose another `--store sqlite:///PATH`.",
    )


def obstacle_to_writing(path: Path) -> Obstacle | None:
    """Which of the files, or their folder, cannot be written. SQLite keeps two beside its own."""
    files = [path.parent, path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]
    locked = [each for each in files if os.path.exists(each) and not os.access(each, os.W_OK)]
    if not locked:
        return None
    return Obstacle(
        "you may not write " + ", ".join(f"`{each}`{_rights(each)}" for each in locked),
        f"`chmod u+w {' '.join(quote(str(each)) for each in locked)}`, or ask the owner.",
    )


def obstacle_by_others(path: Path) -> Obstacle | None:
    """Which other processes have the file open: those that this user may see, on Linux."""
    names = {str(path), f"{path}-wal", f"{path}-shm"}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_open = any(os.readlink(file) in names for file in (process / "fd").iterdir())
            name = (process / "comm").read_text("utf-8", "replace").strip()
        except OSError:  # it is somebody else's, or has just ended
            continue
        if is_open and process.name != str(os.getpid()):
            found.append(f"process {process.name} (`{name}`)")
    if not found:
        return None
    have = "has" if len(found) == 1 else "have"
    return Obstacle(
        f"{', '.join(sorted(found))} {have} it open",
        "Wait until it is done, or end it if it hangs; then repeat the command.",
    )


def obstacle_by_emptiness(path: Path) -> Obstacle | None:
    """Whether there is a file and nothing in it: a copy that failed, or a wrong command."""
    if not os.path.isfile(path) or os.path.getsize(path):
        return None
    name = quote(str(path))
    return Obstacle(
        "nothing was ever stored in it, or all of it was lost",
        f"Move it away: `mv {name} {quote(f'{path}.empty')}`. Then bring a backup back, or start "
        "a new store with `brenner init`.",
    )


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that is there."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))


def _nearest(path: Path) -> Path:
    """The same, where a link that leads nowhere is there too."""
    return next(each for each in (path, *path.parents) if os.path.lexists(each))


def _rights(path: Path) -> str:
    """` (mode 0600, of root)`; nothing where not even that can be seen."""
    try:
        seen = path.stat()
    except OSError:
        return ""
    try:
        owner = path.owner()
    except (KeyError, NotImplementedError):
        owner = f"user {seen.st_uid}"
    return f" (mode {seen.st_mode & 0o7777:04o}, of {owner})"
