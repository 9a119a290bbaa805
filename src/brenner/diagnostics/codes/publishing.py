"""Codes for publishing (publish document; rulings R10, R17 to R19, R22), persisting and git."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_PUBLISH_SPEC = "artifact_publish_spec_v0.1, Validation Rules"

AP_001 = Code(
    id="AP-001",
    severity=ERROR,
    title="The subject of a COMPILED does not give its version",
    message="The subject `{subject}` is not `COMPILED: v`, a number from 1 on, and a few words.",
    fix="Write `COMPILED: v`, the number, and in a few words what is new.",
    why="The list of versions is the list of COMPILED subjects. One without its number is in no "
    "place of it.",
    spec=_PUBLISH_SPEC,
    example=Example(
        "text", "COMPILED: third artifact", "COMPILED: v3 added T4 viability assay from gpt delta"
    ),
)
AP_002 = Code(
    id="AP-002",
    severity=ERROR,
    title="The version is not the next one",
    message="The version is v{version}, but the next one of this thread is v{expected}.",
    fix="Let `brenner compile THREAD` give the number. By hand, write v{expected} in the subject, "
    "the title, the metadata and the front matter.",
    why="Versions count 1, 2, 3 without gaps and without repeats. Otherwise “v3” is no longer one "
    "artifact.",
    spec=f"{_PUBLISH_SPEC}; R17",
    example=Example(
        "text",
        "COMPILED: v1 initial artifact\nCOMPILED: v1 integrated critique",
        "COMPILED: v1 initial artifact\nCOMPILED: v2 integrated critique",
    ),
)
AP_003 = Code(
    id="AP-003",
    severity=ERROR,
    title="The thread ID in the body is not the message's",
    message="The thread ID in the body is {value}, but the message is in `{thread_id}`.",
    fix="Write `- **Thread ID**: {thread_id}` under `## Metadata`, or send the message to the "
    "thread that it is about.",
    why="An artifact that is posted to the wrong thread would become the base of other people's "
    "work.",
    spec=_PUBLISH_SPEC,
    example=Example(
        "text",
        "Thread: RS-20251230-cell-fate\n\n## Metadata\n- **Thread ID**: RS-20251228-initial",
        "Thread: RS-20251230-cell-fate\n\n## Metadata\n- **Thread ID**: RS-20251230-cell-fate",
    ),
)
AP_004 = Code(
    id="AP-004",
    severity=ERROR,
    title="No contributor is listed",
    message="The COMPILED message lists no contributor.",
    fix="List under `## Contributors` each agent whose deltas were merged, with the number of "
    "deltas and the items.",
    why="Agents see from the list whether their work arrived, and readers see whose it is.",
    spec=_PUBLISH_SPEC,
    example=Example(
        "text",
        "## Contributors\n\n## Statistics",
        "## Contributors\n| Agent | Delta Count | Items Added/Modified |\n|---|---|---|\n"
        "| BlueLake | 2 | H3, T2 |\n\n## Statistics",
    ),
)
AP_005 = Code(
    id="AP-005",
    severity=ERROR,
    title="The artifact path is not the thread's",
    message="The artifact path is {value}; it must be `artifacts/{thread_id}.md`.",
    fix="Write `artifacts/{thread_id}.md` as **Artifact Path** under `## Persistence`.",
    why="One thread has one file, and its name is the thread ID. With another path there would be "
    "two files, and nobody could tell which one counts.",
    spec=_PUBLISH_SPEC,
    example=Example(
        "text",
        "- **Artifact Path**: `artifacts/cell-fate-v3.md`",
        "- **Artifact Path**: `artifacts/RS-20251230-cell-fate.md`",
    ),
)
AP_006 = Code(
    id="AP-006",
    severity=ERROR,
    title="The artifact is not in the message",
    message="The COMPILED message has neither the artifact nor a link to it{reason}.",
    fix="Put the artifact under `## Full Artifact`, in one fenced block with the info string "
    "`markdown`, or a link to its file.",
    why="The message is the version. Without the artifact there is nothing to read and no base for "
    "the next round.",
    spec=f"{_PUBLISH_SPEC}; R22",
    example=Example(
        "text",
        "## Full Artifact\n\nsee above",
        "## Full Artifact\n\n```markdown\n---\nversion: 3\n---\n\n"
        "# Brenner Protocol Artifact: RS-20251230-cell-fate\n…\n```",
    ),
)
AP_007 = Code(
    id="AP-007",
    severity=WARNING,
    title="The statistics are missing",
    message="The COMPILED message has no `## Statistics` section with counts.",
    fix="Add `## Statistics` with the number of active items of each section.",
    why="The counts show at a glance what the version holds and what it still lacks.",
    spec=_PUBLISH_SPEC,
    example=Example(
        "text",
        "## Validation Status\n…",
        "## Statistics\n- Research Thread: 1\n- Hypotheses: 3\n- Predictions: 3\n- Tests: 2\n"
        "- Assumptions: 3\n- Anomalies: 0\n- Critiques: 2\n\n## Validation Status\n…",
    ),
)
AP_008 = Code(
    id="AP-008",
    severity=WARNING,
    title="The validation status is missing",
    message="The COMPILED message has no `## Validation Status` section.",
    fix="Add `## Validation Status` with what schema and linter say and whether there is a third "
    "alternative.",
    why="A version may have errors, and early ones do. The reader has to be told.",
    spec=_PUBLISH_SPEC,
    example=Example(
        "text",
        "## Persistence\n…",
        "## Validation Status\n- Schema: PASS\n- Linter: 2 warnings, 0 errors\n"
        "- Third Alternative: Present\n\n## Persistence\n…",
    ),
)
AP_009 = Code(
    id="AP-009",
    severity=WARNING,
    title="The message refers to a version that does not exist",
    message="The message refers to v{version}, which this thread does not have; the latest is "
    "v{latest}.",
    fix="Write the version that you read, such as `**Base Version**: v{latest}`. "
    "`brenner artifact history THREAD` lists them.",
    why="The version says which items the IDs in a DELTA or a CRITIQUE mean. One that does not "
    "exist says nothing.",
    spec=f"{_PUBLISH_SPEC}; R11",
    example=Example(
        "text",
        "**Base Version**: v7\n(the latest is v2)",
        "**Base Version**: v2",
    ),
)
AP_010 = Code(
    id="AP-010",
    severity=ERROR,
    title="The message or its front matter gives two versions",
    message="{place} says {value}, but the COMPILED message is v{version}.",
    fix="Write the same number in the subject, the title, the metadata and the front matter, or "
    "let `brenner compile THREAD` write them.",
    why="The file travels without the message. If the two disagree, nobody knows which version the "
    "file is, nor whether it may be written over.",
    spec=_PUBLISH_SPEC,
    example=Example(
        "text",
        "COMPILED: v3 added T4\n\n---\nversion: 2\n---",
        "COMPILED: v3 added T4\n\n---\nversion: 3\n---",
    ),
)
INVALID_COMPILED_AT = Code(
    id="INVALID_COMPILED_AT",
    severity=ERROR,
    title="The time of compilation is missing or not in ISO 8601",
    message="`Compiled At` is not a time in ISO 8601: {reason}.",
    fix="Write the time with its zone under `## Metadata`, as in "
    "`- **Compiled At**: 2025-12-30T14:00:00Z`.",
    why="Readers in other zones must be able to place the version in the course of the session.",
    spec="artifact_publish_spec_v0.1, Validation",
    example=Example(
        "text",
        "- **Compiled At**: yesterday at 2 pm",
        "- **Compiled At**: 2025-12-30T14:00:00Z",
    ),
)
COMPILED_WITHOUT_RECORD = Code(
    id="COMPILED_WITHOUT_RECORD",
    severity=WARNING,
    title="A COMPILED message has no record",
    message="This COMPILED message has no record, so it is not a version; the deltas before it "
    "still count as unread.",
    fix="If another program compiled the thread, take it over with "
    "`brenner session adopt {thread_id}`. Otherwise compile it: `brenner compile {thread_id}`.",
    why="The record says which messages a version has read. Without it the version cannot be "
    "rebuilt, and nobody knows which deltas are in it.",
    spec="R10",
    example=Example(
        "text",
        "COMPILED: v1 initial artifact\n(posted by another program, no `brenner-record` block)",
        "brenner session adopt RS-20251230-cell-fate",
    ),
)
RECORD_MISMATCH = Code(
    id="RECORD_MISMATCH",
    severity=ERROR,
    title="A version cannot be rebuilt from its record",
    message="v{version} cannot be rebuilt from its record. The first difference: {difference}.",
    fix="Look at it with `brenner artifact verify {thread_id}`. Then void the version "
    "(`brenner session void`) or take it as it is (`brenner session adopt`); until then nothing "
    "is compiled.",
    why="Every version must follow from the mail alone. One that does not was altered, or messages "
    "are missing, and what is built on it would carry the fault on.",
    spec="R10",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate\n(v2 does not rebuild: the claim of H2 differs)",
        "brenner session void RS-20251230-cell-fate@v2\nbrenner compile RS-20251230-cell-fate",
    ),
)
VERSION_MISSING = Code(
    id="VERSION_MISSING",
    severity=ERROR,
    title="A version is missing from the thread",
    message="v{version} (message {id}, from {sender}) does not follow from the versions in this "
    "store: {reason}.",
    fix="Import an archive that has the missing message: `brenner mail import FILE "
    "--accept-decisions`. If there is none, discard v{version} with `brenner session void "
    "{thread_id}@v{version}`: its contributions go into the next version. Only if you know that "
    "{sender} has published v{version}, keep it as it is with `brenner session adopt "
    "{thread_id}`. Until then nothing is compiled.",
    why="Each version is built on the one before it. A compile without the missing one would reuse "
    "its number, and two artifacts would have the same version.",
    spec="R10",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate\n(the store has v1 and v3, but not v2)",
        "brenner mail import cell-fate.jsonl --accept-decisions\n"
        "brenner compile RS-20251230-cell-fate",
    ),
)
VOID_VERSION = Code(
    id="VOID_VERSION",
    severity=WARNING,
    title="A COMPILED message is void",
    message="This COMPILED message is void: {reason}. What only it had read counts as unread.",
    fix="Run `brenner compile {thread_id}`: it brings the unread deltas into the next version. "
    "`brenner artifact history {thread_id}` lists the versions that count.",
    why="One number must mean one artifact. Where two programs compiled at once, the message with "
    "the lowest ID is the version; one that does not rebuild the operator may void.",
    spec="R10, R17",
    example=Example(
        "text",
        "message 40, COMPILED: v3 added T4\nmessage 41, COMPILED: v3 added T4 and C2",
        "message 40, COMPILED: v3 added T4\nmessage 43, COMPILED: v4 added C2",
    ),
)
SESSION_CLOSED = Code(
    id="SESSION_CLOSED",
    severity=ERROR,
    title="The session is closed",
    message="The session `{thread_id}` was closed with v{version}.",
    fix="To go on with it, repeat the command with `--reopen`. For a new question start a new "
    "session, whose items can name this one's under `references`.",
    why="The last version of a closed session is what others rely on. It must not be overtaken by "
    "a late message without somebody meaning it.",
    spec="R18",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate",
        "brenner compile RS-20251230-cell-fate --reopen",
    ),
)
NO_VERSION_TO_CLOSE = Code(
    id="NO_VERSION_TO_CLOSE",
    severity=ERROR,
    title="There is no version to close",
    message="The session `{thread_id}` has no version yet, so it cannot be completed.",
    fix="Once deltas have come in that apply, `brenner compile {thread_id}` publishes the first; "
    "then complete it.",
    why="Completing a session publishes its last version as closed. Without a version there is "
    "nothing to publish.",
    spec="R18",
    example=Example(
        "text",
        "brenner session complete RS-20251230-cell-fate",
        "brenner compile RS-20251230-cell-fate\nbrenner session complete RS-20251230-cell-fate",
    ),
)
ARTIFACT_TOO_LARGE_TO_INLINE = Code(
    id="ARTIFACT_TOO_LARGE_TO_INLINE",
    severity=INFO,
    title="The artifact is too large for the message",
    message="The artifact has {size} bytes; a message holds {most}. The message gives a link and "
    "the hash instead.",
    fix="Nothing has to be done. `brenner artifact show {thread_id}@v{version}` rebuilds it from "
    "the mail, and the hash proves that it is the same.",
    why="Mail servers refuse or cut very long messages, and a cut artifact would be worse than "
    "none.",
    spec="R22",
    example=Example(
        "text",
        "## Full Artifact\n\n```markdown\n(several megabytes)\n```",
        "## Full Artifact\n\n[artifacts/RS-20251230-cell-fate.md]"
        "(artifacts/RS-20251230-cell-fate.md), SHA-256 `9f86d081…`",
    ),
)

PUBLISH_CODES = (
    AP_001,
    AP_002,
    AP_003,
    AP_004,
    AP_005,
    AP_006,
    AP_007,
    AP_008,
    AP_009,
    AP_010,
    INVALID_COMPILED_AT,
    COMPILED_WITHOUT_RECORD,
    RECORD_MISMATCH,
    VERSION_MISSING,
    VOID_VERSION,
    SESSION_CLOSED,
    NO_VERSION_TO_CLOSE,
    ARTIFACT_TOO_LARGE_TO_INLINE,
)


# Previews that are out of date when the operator confirms them


PREVIEW_OVERTAKEN = Code(
    id="PREVIEW_OVERTAKEN",
    severity=ERROR,
    title="The thread has moved on since the preview",
    message="`{thread_id}` is not what it was when you looked: {news}. Nothing was published.",
    fix="Look at what would be published now; if you agree, publish that.",
    why="A version is published as it was shown. What came in between may change it, or may be "
    "the version itself, published by somebody else.",
    spec="R17",
    example=Example(
        "text",
        "compile, previewed at 14 messages    (the 15th is a DELTA)",
        "compile, previewed at 15 messages",
    ),
)
VERSION_NOT_LATEST = Code(
    id="VERSION_NOT_LATEST",
    severity=ERROR,
    title="The version is not the latest any more",
    message="v{version} is not the latest version of `{thread_id}` any more: {latest}. Nothing was "
    "written.",
    fix="Look at what would be written now; if you agree, persist that.",
    why="What is persisted is the latest version. Whoever saw an older one has not seen this.",
    spec="R19",
    example=Example("text", "persist v2    (v3 was published)", "persist v3"),
)

KICKOFFS_OVERTAKEN = Code(
    id="KICKOFFS_OVERTAKEN",
    severity=ERROR,
    title="The kickoffs are not those of the preview any more",
    message="What would be sent in `{thread_id}` is not what you looked at: something has come in "
    "or has been started meanwhile. Nothing was sent.",
    fix="Look at the kickoffs as they are now; if you agree, send those.",
    why="A kickoff speaks for the operator. It quotes critiques and what was refused, so whatever "
    "comes in between would go out in her name unseen.",
    spec="message body, KICKOFF",
    example=Example(
        "text",
        "a round, previewed    (then a CRITIQUE comes in, which its kickoffs quote)",
        "a round, previewed with that CRITIQUE in it",
    ),
)
FILE_OVERTAKEN = Code(
    id="FILE_OVERTAKEN",
    severity=ERROR,
    title="The file is not what it was in the preview",
    message="`{path}` has changed since you looked, and it was to be written over. Nothing was "
    "written.",
    fix="Look at what would be written over now; if you agree, do that.",
    why="Whoever gives up what is in a file has to have seen it.",
    spec="R19",
    example=Example(
        "text",
        "persist, write over    (then somebody edits the file)",
        "persist, write over, with the edit seen",
    ),
)

PREVIEW_CODES: tuple[Code, ...] = (
    *(PREVIEW_OVERTAKEN, VERSION_NOT_LATEST, KICKOFFS_OVERTAKEN, FILE_OVERTAKEN),
)


# Persisting: errors of writing the artifact's file (ruling R19)


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

PERSIST_CODES = (
    NOT_A_REPOSITORY,
    BAD_ARTIFACT_PATH,
    ARTIFACT_FILE_NEWER,
    ARTIFACT_FILE_EDITED,
    ARTIFACT_FILE_FOREIGN,
    ARCHIVE_FILE_FOREIGN,
    ARTIFACT_NOT_WRITTEN,
    ARTIFACT_BUSY,
)


# Git: errors of committing and pushing an artifact (ruling R19)


_GIT_SPEC = "artifact_publish_spec_v0.1, Persistence Workflow; R19"
_COMMIT = "brenner compile RS-20251230-cell-fate --persist --commit"
_PUSH = f"{_COMMIT} --push"

GIT_MISSING = Code(
    id="GIT_MISSING",
    severity=ERROR,
    title="There is no git",
    message="The program `git` cannot be run: {reason}.",
    fix="Install git, or leave out `--commit` and `--push`: the file is written without it.",
    why="Commits are made by the git program itself, so that your hooks, filters and signatures "
    "hold.",
    spec=_GIT_SPEC,
    example=Example("text", _COMMIT, f"apt install git\n{_COMMIT}"),
)
BARE_REPOSITORY = Code(
    id="BARE_REPOSITORY",
    severity=ERROR,
    title="The repository has no files",
    message="`{path}` is inside a bare repository, or inside git's own folder; there are no files "
    "to commit there.",
    fix="Work in a clone of it: `git clone {path} FOLDER`, then `--project FOLDER`.",
    why="A commit is made of files in a work tree. A bare repository has none.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        "brenner --project /srv/research.git compile RS-20251230-cell-fate --persist --commit",
        f"git clone /srv/research.git\ncd research\n{_COMMIT}",
    ),
)
NO_GIT_IDENTITY = Code(
    id="NO_GIT_IDENTITY",
    severity=ERROR,
    title="Git does not know who commits",
    message="Git does not know who commits: {reason}.",
    fix="Tell it: `git config --global user.name NAME` and `git config --global user.email EMAIL`.",
    why="Every commit has an author. This is found out before the version is posted.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        _COMMIT,
        f"git config user.name Ada\ngit config user.email ada@example.org\n{_COMMIT}",
    ),
)
ARTIFACT_IGNORED = Code(
    id="ARTIFACT_IGNORED",
    severity=ERROR,
    title="Git is told to ignore the artifact",
    message="Git ignores `{path}`: {rule}.",
    fix="Take the rule out. Or let this file pass: add at the end of `{file}`, each on a line of "
    "its own, {lines}. Or leave out `--commit` and `--push`.",
    why="Somebody has said that the file is not to be committed. That is not overruled in silence.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        ".gitignore:\nartifacts/",
        ".gitignore:\nartifacts/\n!/artifacts/\n/artifacts/*\n!/artifacts/RS-20251230-cell-fate.md",
    ),
)
GIT_OPERATION_IN_PROGRESS = Code(
    id="GIT_OPERATION_IN_PROGRESS",
    severity=ERROR,
    title="Git is in the middle of something else",
    message="In `{path}` {operation} is under way; a commit now would become part of it.",
    fix="Finish it or give it up first (`git status` says how), then run the command again.",
    why="A commit in the middle of a merge, rebase, cherry-pick, revert or bisect ends it, or is "
    "lost with it.",
    spec=_GIT_SPEC,
    example=Example("text", f"git merge side\n{_COMMIT}", f"git merge --continue\n{_COMMIT}"),
)
DETACHED_HEAD = Code(
    id="DETACHED_HEAD",
    severity=WARNING,
    title="The commit is on no branch",
    message="No branch is checked out in `{path}` (a detached HEAD), so the commit is on none.",
    fix="Keep it: `git switch --create NAME` makes a branch of where you are.",
    why="As soon as something else is checked out, nothing leads to the commit any more, and git "
    "removes it one day.",
    spec=_GIT_SPEC,
    example=Example(
        "text", f"git checkout v1.0\n{_COMMIT}", f"git switch --create cell-fate\n{_COMMIT}"
    ),
)
COMMITTED_IN_INNER_REPOSITORY = Code(
    id="COMMITTED_IN_INNER_REPOSITORY",
    severity=INFO,
    title="The artifact belongs to a repository inside another one",
    message="The artifact belongs to the repository `{path}`, which lies inside `{outer}`; the "
    "commit is in the inner one only.",
    fix="If it is a submodule, the outer one still points to the commit before: "
    "`git add {path}` there, and commit it when you want it to follow.",
    why="The commit goes to the repository that holds the file. What the outer one points to is "
    "for its operator to decide.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        f"(artifacts is a submodule)\n{_COMMIT}",
        f'{_COMMIT}\ngit add artifacts\ngit commit -m "Follow the artifacts"',
    ),
)
GIT_LOCKED = Code(
    id="GIT_LOCKED",
    severity=ERROR,
    title="Another git is at work",
    message="The repository `{path}` stayed locked for more than {seconds} seconds ({reason}).",
    fix="Wait until the other git is done and run the command again. If none is running, one was "
    "killed: remove the lock file that is named there.",
    why="Git lets one process at a time change a repository. A lock that somebody else holds is "
    "never broken. The file is written; only its commit is missing.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        f"(git commit waits for its editor)\n{_COMMIT}",
        f"(the editor is closed)\n{_COMMIT}",
    ),
)
HOOK_FAILED = Code(
    id="HOOK_FAILED",
    severity=ERROR,
    title="A hook has refused the commit",
    message="The hook `{hook}` has refused the commit: {reason}",
    fix="Mend what the hook says, or change the hook, and run the command again. The file is "
    "written; only its commit is missing.",
    why="Hooks are your own rules for commits, and hold for ours as for all others.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        f"{_COMMIT}\n(the hook wants a ticket number)",
        f"(the hook lets `artifact(…)` pass)\n{_COMMIT}",
    ),
)
SIGNING_FAILED = Code(
    id="SIGNING_FAILED",
    severity=ERROR,
    title="The commit could not be signed",
    message="Git is told to sign commits (`commit.gpgsign`), and could not: {reason}",
    fix="Unlock the key first, so that nothing has to be asked, or set `user.signingkey` right; "
    "then run the command again. The file is written; only its commit is missing.",
    why="Where signatures are asked for, a commit without one would be turned down later. Nobody "
    "can be asked for a passphrase here.",
    spec=_GIT_SPEC,
    example=Example("text", _COMMIT, f"echo | gpg --clearsign    (unlocks the key)\n{_COMMIT}"),
)
COMMIT_DIFFERS = Code(
    id="COMMIT_DIFFERS",
    severity=ERROR,
    title="The commit holds something else than the version",
    message="`{path}` was committed, but not as the version has it: a hook, or somebody at the "
    "same time, has changed it.",
    fix="Let hooks leave `artifacts/` alone, then run the command again with `--force`: it writes "
    "and commits the version as it is.",
    why="A version is the same, byte for byte, wherever it is. A file that a program has tidied "
    "up is no longer that version.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        "pre-commit:\nfix-whitespace artifacts/*.md && git add artifacts",
        "pre-commit:\n(artifacts/ left out)",
    ),
)
GIT_FAILED = Code(
    id="GIT_FAILED",
    severity=ERROR,
    title="Git has failed",
    message="`git {command}` has failed: {reason}",
    fix="Mend what git says, then run the command again: it goes on where it stopped.",
    why="Git knows best what is wrong with its repository, so its own words are given.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        "fatal: detected dubious ownership in repository at '/srv/research'",
        f"git config --global --add safe.directory /srv/research\n{_COMMIT}",
    ),
)
GIT_TIMEOUT = Code(
    id="GIT_TIMEOUT",
    severity=ERROR,
    title="Git took too long",
    message="`git {command}` was not done after {seconds} seconds, and was ended.",
    fix="See what holds it up (a hook, a network, a slow disk), then run the command again: it "
    "goes on where it stopped.",
    why="A command that waits for ever helps nobody, least of all where no person looks at it.",
    spec=_GIT_SPEC,
    example=Example(
        "text",
        f"{_PUSH}\n(the server does not answer)",
        f"{_PUSH}\n(the server is there again)",
    ),
)
NO_PUSH_DESTINATION = Code(
    id="NO_PUSH_DESTINATION",
    severity=ERROR,
    title="There is nowhere to push to",
    message="`--push` has nowhere to push to: {reason}.",
    fix="Say where it goes: {advice}. Or leave out `--push`.",
    why="Where your work goes is your decision, so no destination is guessed. This is found out "
    "before the version is posted.",
    spec=_GIT_SPEC,
    example=Example("text", _PUSH, f"git push --set-upstream origin main\n{_PUSH}"),
)
PUSH_REJECTED = Code(
    id="PUSH_REJECTED",
    severity=ERROR,
    title="The push was rejected",
    message="The version is committed, but `{remote}` has rejected the push: {reason}",
    fix="Take over what is new there (`git pull --rebase --autostash`), then run the same command "
    "again: it pushes, and says so in the thread.",
    why="The other repository has commits that yours has not. They are never overwritten.",
    spec=_GIT_SPEC,
    example=Example("text", _PUSH, f"git pull --rebase --autostash\n{_PUSH}"),
)
PUSH_FAILED = Code(
    id="PUSH_FAILED",
    severity=ERROR,
    title="The push has failed",
    message="The version is committed, but the push to `{remote}` has failed: {reason}",
    fix="Mend what is said there (the network, the credentials, a hook), then run the same command "
    "again: it pushes, and says so in the thread. Nobody can be asked for a password here.",
    why="The commit is safe in your repository. The thread says Committed, and no more.",
    spec=_GIT_SPEC,
    example=Example("text", _PUSH, f"ssh-add\n{_PUSH}"),
)

GIT_CODES = (
    GIT_MISSING,
    BARE_REPOSITORY,
    NO_GIT_IDENTITY,
    ARTIFACT_IGNORED,
    GIT_OPERATION_IN_PROGRESS,
    DETACHED_HEAD,
    COMMITTED_IN_INNER_REPOSITORY,
    GIT_LOCKED,
    HOOK_FAILED,
    SIGNING_FAILED,
    COMMIT_DIFFERS,
    GIT_FAILED,
    GIT_TIMEOUT,
    NO_PUSH_DESTINATION,
    PUSH_REJECTED,
    PUSH_FAILED,
)
