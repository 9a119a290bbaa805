"""Codes of persisting: what stands in the way of a file (ruling R19)."""

from brenner.diagnostics.model import ERROR, Code, Example

NOT_A_REPOSITORY = Code(
    id="NOT_A_REPOSITORY",
    severity=ERROR,
    title="The project is not in a git repository",
    message="`{path}` is not in a git repository, so nothing can be committed.",
    fix="Run `git init` in the project, name the right one with `--project`, or leave out "
    "`--commit` and `--push`.",
    why="This is found out before the version is posted, so that no message says more than was "
    "done.",
    spec="R19",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate --persist --commit\n(in a plain folder)",
        "git init\nbrenner compile RS-20251230-cell-fate --persist --commit",
    ),
)
BAD_ARTIFACT_PATH = Code(
    id="BAD_ARTIFACT_PATH",
    severity=ERROR,
    title="The artifact cannot be written to its path",
    message="The artifact cannot be written to `{path}`: {reason}.",
    fix="Make `artifacts` a folder of the project that you may write to, without links that lead "
    "out of it.",
    why="The file is written to its one place, `artifacts/` and the thread ID, or not at all. A "
    "way round would leave two files, or touch one outside the project.",
    spec="thread_subject_conventions_v0.1, Artifact storage layout; R19",
    example=Example(
        "text",
        "artifacts -> /srv/elsewhere\n(a link that leads out of the project)",
        "artifacts/\n(a folder of the project)",
    ),
)
ARTIFACT_FILE_NEWER = Code(
    id="ARTIFACT_FILE_NEWER",
    severity=ERROR,
    title="The file holds a newer version",
    message="`{path}` holds v{value}, which is newer than v{version}.",
    fix="See whether this is the right store: it may lack mail that the file was compiled from. "
    "Import it (`brenner mail import`), or bring back the older file from git.",
    why="Writing an older version over a newer one would undo other people's work.",
    spec="R19",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate --persist\n"
        "(the file holds v5, this store has mail up to v3)",
        "brenner mail import cell-fate.jsonl\nbrenner compile RS-20251230-cell-fate --persist",
    ),
)
ARTIFACT_FILE_EDITED = Code(
    id="ARTIFACT_FILE_EDITED",
    severity=ERROR,
    title="The file was edited by hand",
    message="`{path}` has changes that are in no version; it is not written over.",
    fix="To keep them, {advice}. To drop them, use `--force`.",
    why="The artifact is made from mail alone. A change in the file would be lost with the next "
    "version, and would have no author.",
    spec="R19",
    example=Example(
        "text",
        "### H2: Gradient reading\n**Anchors**: §161\n(§161 was typed into the file)",
        "brenner mail send .brenner/RS-20251230-cell-fate.human.md\n"
        "(the `DELTA[human]` that was made of the changes)\n"
        "brenner compile RS-20251230-cell-fate --persist",
    ),
)
ARTIFACT_FILE_FOREIGN = Code(
    id="ARTIFACT_FILE_FOREIGN",
    severity=ERROR,
    title="Another file stands where the artifact belongs",
    message="`{path}` is no version of this thread, and is not written over: {reason}.",
    fix="Move it to another place and run the command again. To give it up, use `--force`.",
    why="The name is the artifact's, but the file may be somebody's work. What is not known to be "
    "in the mail is never written over.",
    spec="R19",
    example=Example(
        "text",
        "artifacts/RS-20251230-cell-fate.md\n(notes that a person wrote)",
        "mv artifacts/RS-20251230-cell-fate.md notes.md\n"
        "brenner compile RS-20251230-cell-fate --persist",
    ),
)
ARCHIVE_FILE_FOREIGN = Code(
    id="ARCHIVE_FILE_FOREIGN",
    severity=ERROR,
    title="The archive beside the artifact holds something else",
    message="`{path}` is not written over: {reason}.",
    fix="If it is an archive of mail that is missing here, import it with `brenner mail import`. "
    "Else move it to another place. To give it up, use `--force`.",
    why="An archive may be the only copy of somebody's mail. One with less in it does not replace "
    "it.",
    spec="R19",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate --persist --archive\n"
        "(the archive there has messages that this mailbox has not)",
        "brenner mail import artifacts/RS-20251230-cell-fate.mail.jsonl\n"
        "brenner compile RS-20251230-cell-fate --persist --archive",
    ),
)
ARTIFACT_NOT_WRITTEN = Code(
    id="ARTIFACT_NOT_WRITTEN",
    severity=ERROR,
    title="The file could not be written",
    message="`{path}` could not be written: {reason}. What was there before is still there.",
    fix="Mend what is said there (make room on the disk, for example), then run the command again.",
    why="The file is written whole beside the old one and then takes its name, so it is never half "
    "there.",
    spec="R19",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate --persist    (the disk is full)",
        "brenner compile RS-20251230-cell-fate --persist    (after making room)",
    ),
)
ARTIFACT_BUSY = Code(
    id="ARTIFACT_BUSY",
    severity=ERROR,
    title="Somebody else is persisting this thread",
    message="`{thread_id}` has been locked for more than {seconds} seconds{holder}.",
    fix="Wait until it is done, or end it if it hangs; then run the command again.",
    why="One process at a time writes an artifact, so that no two mix. A lock ends by itself with "
    "the process that holds it.",
    spec="R19",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate --persist --push    (hangs in a hook)",
        "brenner compile RS-20251230-cell-fate --persist    (after the other one has ended)",
    ),
)

CODES = (
    NOT_A_REPOSITORY,
    BAD_ARTIFACT_PATH,
    ARTIFACT_FILE_NEWER,
    ARTIFACT_FILE_EDITED,
    ARTIFACT_FILE_FOREIGN,
    ARCHIVE_FILE_FOREIGN,
    ARTIFACT_NOT_WRITTEN,
    ARTIFACT_BUSY,
)
