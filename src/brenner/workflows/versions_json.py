"""The versions of a thread as JSON, the same for every front end. Keys are only ever added."""

from collections.abc import Sequence

from brenner.diagnostics.model import Summary
from brenner.workflows.versions import History, ListedVersion, Verification, VerifiedVersion


def history_json(found: History) -> dict[str, object]:
    """Every version, and the COMPILED messages that are none."""
    others = [other.to_json() for other in found.others]
    return {
        "thread_id": found.thread_id,
        "versions": [_listed(version) for version in found.versions],
        "void": others,
        "unread": found.unread,
        "violations": others,
        "summary": Summary.of(found.others)._asdict(),
    }


def _listed(version: ListedVersion) -> dict[str, object]:
    return {
        "version": version.number,
        "compiled_at": version.compiled_at,
        "compiled_by": version.compiled_by,
        "message_id": version.message.id,
        "status": version.status,
        "summary": version.summary,
        "persistence": version.persistence._asdict(),
    }


def verification_json(
    found: Verification,
    asked: Sequence[VerifiedVersion],
    archive: str | None = None,
    *,
    files: bool = False,
) -> dict[str, object]:
    """What came of rebuilding the versions that were asked for."""
    return {
        "thread_id": found.thread_id,
        "versions": [
            {
                "version": each.number,
                "ok": each.ok,
                "artifact_sha256": each.artifact_sha256,
                "difference": each.difference or None,
            }
            for each in asked
        ],
        "ok": is_verified(found, asked, files=files),
        "archive": archive,
        "altered": list(found.altered),
        "files": [
            {**each._asdict(), "difference": each.difference or None} for each in found.files
        ],
        "violations": [note.to_json() for note in found.notes],
        "summary": Summary.of(found.notes)._asdict(),
    }


def is_verified(
    found: Verification, asked: Sequence[VerifiedVersion], *, files: bool = False
) -> bool:
    """Whether the versions that were asked for follow from mail that is as it was stored.

    With `files` the persisted file and its commits must also equal their versions.
    """
    is_as_stored = all(each.ok for each in asked) and not found.altered
    return is_as_stored and not (files and any(not each.ok for each in found.files))


def verification_words(asked: Sequence[VerifiedVersion], altered: Sequence[int] = ()) -> str:
    """What came of it in one sentence."""
    wrong = next((each.number for each in asked if not each.ok), None)
    if wrong is not None:
        return f"v{wrong} does not follow from the mail; nothing is compiled until that is settled."
    all_of = {1: "The version follows", 2: "Both versions follow"}
    words = all_of.get(len(asked), f"All {len(asked)} versions follow")
    if altered:
        ids = ", ".join(map(str, altered))
        which = f"message {ids} does" if len(altered) == 1 else f"messages {ids} do"
        return f"{words} from the mail, but {which} not match the stored hash."
    return f"{words} from the mail, byte for byte."
