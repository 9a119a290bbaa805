"""The source text that a project names, for anchors and excerpts (companion, Anchors)."""

from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.limits import MOST_BODY_BYTES
from brenner.lint.context import SourceText, read_source_text

MOST_SOURCE_BYTES = 4 * MOST_BODY_BYTES  # a book has about one megabyte


def source_of(project: Project) -> str | Diagnostic | None:
    """The whole text; None where the project names none; or why it cannot be read."""
    if project.source_text is None:
        return None
    file = project.folder / project.source_text
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_SOURCE_BYTES + 1)
        if len(raw) > MOST_SOURCE_BYTES:
            return _unusable(project, f"it is larger than {MOST_SOURCE_BYTES} bytes")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _unusable(project, "it is not UTF-8")
    except OSError as error:
        return _unusable(project, (error.strerror or type(error).__name__).lower())


def source_text_of(project: Project) -> SourceText | None:
    """The sections that it has, for the linter; one that cannot be read is refused."""
    text = source_of(project)
    if isinstance(text, Diagnostic):
        raise Refused(text)
    return read_source_text(text, project.source_text or "") if text is not None else None


def readable_source(project: Project) -> SourceText | None:
    """The same for who only looks: anchors are then checked for their form alone."""
    text = source_of(project)
    return read_source_text(text, project.source_text or "") if isinstance(text, str) else None


def _unusable(project: Project, reason: str) -> Diagnostic:
    said = f"`source_text` names `{project.source_text}`, which cannot be read: {reason}"
    return codes.INVALID_SETTINGS.at(path=str(project.folder / SETTINGS_FILE), reason=said)
