"""Codes for publishing (publish document; rulings R10, R17 to R19, R22), persisting and git."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_PUBLISH_SPEC = "artifact_publish_spec_v0.1, Validation Rules"

AP_001 = error(
    "AP-001",
    "The subject `{subject}` is not `COMPILED: v`, a number from 1 on, and a few words.",
    "Write `COMPILED: v`, the number, and in a few words what is new.",
    _PUBLISH_SPEC,
)
AP_002 = error(
    "AP-002",
    "The version is v{version}, but the next one of this thread is v{expected}.",
    "Let `brenner compile THREAD` give the number. By hand, write v{expected} in the subject, "
    "the title, the metadata and the front matter.",
    f"{_PUBLISH_SPEC}; R17",
)
AP_003 = error(
    "AP-003",
    "The thread ID in the body is {value}, but the message is in `{thread_id}`.",
    "Write `- **Thread ID**: {thread_id}` under `## Metadata`, or send the message to the "
    "thread that it is about.",
    _PUBLISH_SPEC,
)
AP_004 = error(
    "AP-004",
    "The COMPILED message lists no contributor.",
    "List under `## Contributors` each agent whose deltas were merged, with the number of "
    "deltas and the items.",
    _PUBLISH_SPEC,
)
AP_005 = error(
    "AP-005",
    "The artifact path is {value}; it must be `artifacts/{thread_id}.md`.",
    "Write `artifacts/{thread_id}.md` as **Artifact Path** under `## Persistence`.",
    _PUBLISH_SPEC,
)
AP_006 = error(
    "AP-006",
    "The COMPILED message has neither the artifact nor a link to it{reason}.",
    "Put the artifact under `## Full Artifact`, in one fenced block with the info string "
    "`markdown`, or a link to its file.",
    f"{_PUBLISH_SPEC}; R22",
)
AP_007 = warning(
    "AP-007",
    "The COMPILED message has no `## Statistics` section with counts.",
    "Add `## Statistics` with the number of active items of each section.",
    _PUBLISH_SPEC,
)
AP_008 = warning(
    "AP-008",
    "The COMPILED message has no `## Validation Status` section.",
    "Add `## Validation Status` with what schema and linter say and whether there is a third "
    "alternative.",
    _PUBLISH_SPEC,
)
AP_009 = warning(
    "AP-009",
    "The message refers to v{version}, which this thread does not have; the latest is v{latest}.",
    "Write the version that you read, such as `**Base Version**: v{latest}`. "
    "`brenner artifact history THREAD` lists them.",
    f"{_PUBLISH_SPEC}; R11",
)
AP_010 = error(
    "AP-010",
    "{place} says {value}, but the COMPILED message is v{version}.",
    "Write the same number in the subject, the title, the metadata and the front matter, or "
    "let `brenner compile THREAD` write them.",
    _PUBLISH_SPEC,
)
INVALID_COMPILED_AT = error(
    "INVALID_COMPILED_AT",
    "`Compiled At` is not a time in ISO 8601: {reason}.",
    "Write the time with its zone under `## Metadata`, as in "
    "`- **Compiled At**: 2025-12-30T14:00:00Z`.",
    "artifact_publish_spec_v0.1, Validation",
)
COMPILED_WITHOUT_RECORD = warning(
    "COMPILED_WITHOUT_RECORD",
    "This COMPILED message has no record, so it is not a version; the deltas before it "
    "still count as unread.",
    "If another program compiled the thread, take it over with "
    "`brenner session adopt {thread_id}`. Otherwise compile it: `brenner compile {thread_id}`.",
    "R10",
)
RECORD_MISMATCH = error(
    "RECORD_MISMATCH",
    "v{version} cannot be rebuilt from its record. The first difference: {difference}.",
    "Look at it with `brenner artifact verify {thread_id}`. Then void the version "
    "(`brenner session void`) or take it as it is (`brenner session adopt`); until then nothing "
    "is compiled.",
    "R10",
)
VERSION_MISSING = error(
    "VERSION_MISSING",
    "v{version} (message {id}, from {sender}) does not follow from the versions in this "
    "store: {reason}.",
    "Import an archive that has the missing message: `brenner mail import FILE "
    "--accept-decisions`. If there is none, discard v{version} with `brenner session void "
    "{thread_id}@v{version}`: its contributions go into the next version. Only if you know that "
    "{sender} has published v{version}, keep it as it is with `brenner session adopt "
    "{thread_id}`. Until then nothing is compiled.",
    "R10",
)
VOID_VERSION = warning(
    "VOID_VERSION",
    "This COMPILED message is void: {reason}. What only it had read counts as unread.",
    "Run `brenner compile {thread_id}`: it brings the unread deltas into the next version. "
    "`brenner artifact history {thread_id}` lists the versions that count.",
    "R10, R17",
)
SESSION_CLOSED = error(
    "SESSION_CLOSED",
    "The session `{thread_id}` was closed with v{version}.",
    "To go on with it, repeat the command with `--reopen`. For a new question start a new "
    "session, whose items can name this one's under `references`.",
    "R18",
)
NO_VERSION_TO_CLOSE = error(
    "NO_VERSION_TO_CLOSE",
    "The session `{thread_id}` has no version yet, so it cannot be completed.",
    "Once deltas have come in that apply, `brenner compile {thread_id}` publishes the first; "
    "then complete it.",
    "R18",
)
ARTIFACT_TOO_LARGE_TO_INLINE = info(
    "ARTIFACT_TOO_LARGE_TO_INLINE",
    "The artifact has {size} bytes; a message holds {most}. The message gives a link and "
    "the hash instead.",
    "Nothing has to be done. `brenner artifact show {thread_id}@v{version}` rebuilds it from "
    "the mail, and the hash proves that it is the same.",
    "R22",
)

# Previews that are out of date when the operator confirms them

PREVIEW_OVERTAKEN = error(
    "PREVIEW_OVERTAKEN",
    "`{thread_id}` is not what it was when you looked: {news}. Nothing was published.",
    "Look at what would be published now; if you agree, publish that.",
    "R17",
)
VERSION_NOT_LATEST = error(
    "VERSION_NOT_LATEST",
    "v{version} is not the latest version of `{thread_id}` any more: {latest}. Nothing was "
    "written.",
    "Look at what would be written now; if you agree, persist that.",
    "R19",
)
KICKOFFS_OVERTAKEN = error(
    "KICKOFFS_OVERTAKEN",
    "What would be sent in `{thread_id}` is not what you looked at: something has come in "
    "or has been started meanwhile. Nothing was sent.",
    "Look at the kickoffs as they are now; if you agree, send those.",
    "message body, KICKOFF",
)
FILE_OVERTAKEN = error(
    "FILE_OVERTAKEN",
    "`{path}` has changed since you looked, and it was to be written over. Nothing was written.",
    "Look at what would be written over now; if you agree, do that.",
    "R19",
)

# Persisting: errors of writing the artifact's file (ruling R19)
NOT_A_REPOSITORY = error(
    "NOT_A_REPOSITORY",
    "`{path}` is not in a git repository, so nothing can be committed.",
    "Run `git init` in the project, name the right one with `--project`, or leave out "
    "`--commit` and `--push`.",
    "R19",
)
BAD_ARTIFACT_PATH = error(
    "BAD_ARTIFACT_PATH",
    "The artifact cannot be written to `{path}`: {reason}.",
    "Make `artifacts` a folder of the project that you may write to, without links that lead "
    "out of it.",
    "thread_subject_conventions_v0.1, Artifact storage layout; R19",
)
ARTIFACT_FILE_NEWER = error(
    "ARTIFACT_FILE_NEWER",
    "`{path}` holds v{value}, which is newer than v{version}.",
    "See whether this is the right store: it may lack mail that the file was compiled from. "
    "Import it (`brenner mail import`), or bring back the older file from git.",
    "R19",
)
ARTIFACT_FILE_EDITED = error(
    "ARTIFACT_FILE_EDITED",
    "`{path}` has changes that are in no version; it is not written over.",
    "To keep them, {advice}. To drop them, use `--force`.",
    "R19",
)
ARTIFACT_FILE_FOREIGN = error(
    "ARTIFACT_FILE_FOREIGN",
    "`{path}` is no version of this thread, and is not written over: {reason}.",
    "Move it to another place and run the command again. To give it up, use `--force`.",
    "R19",
)
ARCHIVE_FILE_FOREIGN = error(
    "ARCHIVE_FILE_FOREIGN",
    "`{path}` is not written over: {reason}.",
    "If it is an archive of mail that is missing here, import it with `brenner mail import`. "
    "Else move it to another place. To give it up, use `--force`.",
    "R19",
)
ARTIFACT_NOT_WRITTEN = error(
    "ARTIFACT_NOT_WRITTEN",
    "`{path}` could not be written: {reason}. What was there before is still there.",
    "Mend what is said there (make room on the disk, for example), then run the command again.",
    "R19",
)
ARTIFACT_BUSY = error(
    "ARTIFACT_BUSY",
    "`{thread_id}` has been locked for more than {seconds} seconds{holder}.",
    "Wait until it is done, or end it if it hangs; then run the command again.",
    "R19",
)

# Git: errors of committing and pushing an artifact (ruling R19)

_GIT_SPEC = "artifact_publish_spec_v0.1, Persistence Workflow; R19"

GIT_MISSING = error(
    "GIT_MISSING",
    "The program `git` cannot be run: {reason}.",
    "Install git, or leave out `--commit` and `--push`: the file is written without it.",
    _GIT_SPEC,
)
BARE_REPOSITORY = error(
    "BARE_REPOSITORY",
    "`{path}` is inside a bare repository, or inside git's own folder; there are no files "
    "to commit there.",
    "Work in a clone of it: `git clone {path} FOLDER`, then `--project FOLDER`.",
    _GIT_SPEC,
)
NO_GIT_IDENTITY = error(
    "NO_GIT_IDENTITY",
    "Git does not know who commits: {reason}.",
    "Tell it: `git config --global user.name NAME` and `git config --global user.email EMAIL`.",
    _GIT_SPEC,
)
ARTIFACT_IGNORED = error(
    "ARTIFACT_IGNORED",
    "Git ignores `{path}`: {rule}.",
    "Take the rule out. Or let this file pass: add at the end of `{file}`, each on a line of "
    "its own, {lines}. Or leave out `--commit` and `--push`.",
    _GIT_SPEC,
)
GIT_OPERATION_IN_PROGRESS = error(
    "GIT_OPERATION_IN_PROGRESS",
    "In `{path}` {operation} is under way; a commit now would become part of it.",
    "Finish it or give it up first (`git status` says how), then run the command again.",
    _GIT_SPEC,
)
DETACHED_HEAD = warning(
    "DETACHED_HEAD",
    "No branch is checked out in `{path}` (a detached HEAD), so the commit is on none.",
    "Keep it: `git switch --create NAME` makes a branch of where you are.",
    _GIT_SPEC,
)
COMMITTED_IN_INNER_REPOSITORY = info(
    "COMMITTED_IN_INNER_REPOSITORY",
    "The artifact belongs to the repository `{path}`, which lies inside `{outer}`; the "
    "commit is in the inner one only.",
    "If it is a submodule, the outer one still points to the commit before: "
    "`git add {path}` there, and commit it when you want it to follow.",
    _GIT_SPEC,
)
GIT_LOCKED = error(
    "GIT_LOCKED",
    "The repository `{path}` stayed locked for more than {seconds} seconds ({reason}).",
    "Wait until the other git is done and run the command again. If none is running, one was "
    "killed: remove the lock file that is named there.",
    _GIT_SPEC,
)
HOOK_FAILED = error(
    "HOOK_FAILED",
    "The hook `{hook}` has refused the commit: {reason}",
    "Mend what the hook says, or change the hook, and run the command again. The file is "
    "written; only its commit is missing.",
    _GIT_SPEC,
)
SIGNING_FAILED = error(
    "SIGNING_FAILED",
    "Git is told to sign commits (`commit.gpgsign`), and could not: {reason}",
    "Unlock the key first, so that nothing has to be asked, or set `user.signingkey` right; "
    "then run the command again. The file is written; only its commit is missing.",
    _GIT_SPEC,
)
COMMIT_DIFFERS = error(
    "COMMIT_DIFFERS",
    "`{path}` was committed, but not as the version has it: a hook, or somebody at the "
    "same time, has changed it.",
    "Let hooks leave `artifacts/` alone, then run the command again with `--force`: it writes "
    "and commits the version as it is.",
    _GIT_SPEC,
)
GIT_FAILED = error(
    "GIT_FAILED",
    "`git {command}` has failed: {reason}",
    "Mend what git says, then run the command again: it goes on where it stopped.",
    _GIT_SPEC,
)
GIT_TIMEOUT = error(
    "GIT_TIMEOUT",
    "`git {command}` was not done after {seconds} seconds, and was ended.",
    "See what holds it up (a hook, a network, a slow disk), then run the command again: it "
    "goes on where it stopped.",
    _GIT_SPEC,
)
NO_PUSH_DESTINATION = error(
    "NO_PUSH_DESTINATION",
    "`--push` has nowhere to push to: {reason}.",
    "Say where it goes: {advice}. Or leave out `--push`.",
    _GIT_SPEC,
)
PUSH_REJECTED = error(
    "PUSH_REJECTED",
    "The version is committed, but `{remote}` has rejected the push: {reason}",
    "Take over what is new there (`git pull --rebase --autostash`), then run the same command "
    "again: it pushes, and says so in the thread.",
    _GIT_SPEC,
)
PUSH_FAILED = error(
    "PUSH_FAILED",
    "The version is committed, but the push to `{remote}` has failed: {reason}",
    "Mend what is said there (the network, the credentials, a hook), then run the same command "
    "again: it pushes, and says so in the thread. Nobody can be asked for a password here.",
    _GIT_SPEC,
)
