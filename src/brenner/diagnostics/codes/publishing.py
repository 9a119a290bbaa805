"""Codes for publishing (publish document; rulings R10, R17 to R19, R22), persisting and git."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_PUBLISH_SPEC = "artifact_publish_spec_v0.1, Validation Rules"

AP_001 = error(
    "AP-001",
    "The subject `{subject}` does not have the form `COMPILED: vN description`.",
    "Write `COMPILED: v`, the version number, and a few words about what is new, as in "
    "`COMPILED: v3 added T4`.",
    _PUBLISH_SPEC,
)
AP_002 = error(
    "AP-002",
    "The version is v{version}, but the next version of this thread is v{expected}.",
    "Let `brenner compile THREAD` set the number. By hand, write v{expected} in the subject, "
    "the title, the metadata and the front matter.",
    f"{_PUBLISH_SPEC}; R17",
)
AP_003 = error(
    "AP-003",
    "The thread ID in the body is {value}, but the message is in `{thread_id}`.",
    "Write `- **Thread ID**: {thread_id}` under `## Metadata`, or send the message to the "
    "right thread.",
    _PUBLISH_SPEC,
)
AP_004 = error(
    "AP-004",
    "The COMPILED message lists no contributor.",
    "Under `## Contributors`, list each agent whose deltas were merged, with its number of "
    "deltas and the items.",
    _PUBLISH_SPEC,
)
AP_005 = error(
    "AP-005",
    "The artifact path is {value}. It must be `artifacts/{thread_id}.md`.",
    "Under `## Persistence`, set **Artifact Path** to `artifacts/{thread_id}.md`.",
    _PUBLISH_SPEC,
)
AP_006 = error(
    "AP-006",
    "The COMPILED message contains neither the artifact nor a link to it{reason}.",
    "Under `## Full Artifact`, put the artifact in one fenced block with the info string "
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
    "Add `## Validation Status` with the results of schema and linter, and whether there is "
    "a third alternative.",
    _PUBLISH_SPEC,
)
AP_009 = warning(
    "AP-009",
    "The message refers to v{version}, which does not exist in this thread. The latest is "
    "v{latest}.",
    "Write the version that you read, such as `**Base Version**: v{latest}`. `brenner "
    "artifact history THREAD` lists the versions.",
    f"{_PUBLISH_SPEC}; R11",
)
AP_010 = error(
    "AP-010",
    "{place} says {value}, but the COMPILED message is v{version}.",
    "Write the same number in the subject, the title, the metadata, the front matter and the "
    "record. Or let `brenner compile THREAD` write them.",
    _PUBLISH_SPEC,
)
INVALID_COMPILED_AT = error(
    "INVALID_COMPILED_AT",
    "`Compiled At` is not an ISO 8601 time: {reason}.",
    "Write the time with its time zone under `## Metadata`, as in `- **Compiled At**: "
    "2025-12-30T14:00:00Z`.",
    "artifact_publish_spec_v0.1, Validation",
)
COMPILED_MISMATCH = error(
    "COMPILED_MISMATCH",
    "{place} says {value}, but {other} {expected}.",
    "Write {expected} there. Or let `brenner compile THREAD` write the message.",
    "artifact_publish_spec_v0.1, COMPILED Message Extended Schema; R10, R18",
)
COMPILED_WITHOUT_RECORD = warning(
    "COMPILED_WITHOUT_RECORD",
    "This COMPILED message has no record, so it is not a version. The deltas before it are "
    "still unread.",
    "If another program compiled the thread, adopt its artifact: `brenner session adopt "
    "{thread_id}`. Otherwise compile: `brenner compile {thread_id}`.",
    "R10",
)
RECORD_MISMATCH = error(
    "RECORD_MISMATCH",
    "v{version} cannot be rebuilt from its record. First difference: {difference}.",
    "See the difference: `brenner artifact verify {thread_id}`. Then void the version "
    "(`brenner session void {thread_id}@v{version}`) or keep it as it is (`brenner session "
    "adopt {thread_id}`). Until then, nothing is compiled.",
    "R10",
)
RECORD_NEWER = error(
    "RECORD_NEWER",
    "v{version} cannot be read: its record has format {format}, which is newer than this program.",
    "Update Brenner: `pip install --upgrade brenner`. Do not void or adopt the version: a newer "
    "Brenner can read it. Until then, nothing is compiled here.",
    "R26",
)
VERSION_MISSING = error(
    "VERSION_MISSING",
    "v{version} (message {id}, from {sender}) does not follow from the versions in this "
    "store: {reason}.",
    "Import an archive that contains the missing message: `brenner mail import FILE "
    "--accept-decisions`. Without one, discard v{version}: `brenner session void "
    "{thread_id}@v{version}`. Its contributions then become part of the next version. If you "
    "know that {sender} published v{version}, keep it: `brenner session adopt {thread_id}`. "
    "Until then, nothing is compiled.",
    "R10",
)
VOID_VERSION = warning(
    "VOID_VERSION",
    "This COMPILED message is void: {reason}. Messages that only it included are unread.",
    "Run `brenner compile {thread_id}` to include the unread deltas in the next version. "
    "`brenner artifact history {thread_id}` lists the valid versions.",
    "R10, R17",
)
SESSION_CLOSED = error(
    "SESSION_CLOSED",
    "The session `{thread_id}` is complete: it was closed with v{version}.",
    "To continue it, repeat the command with `--reopen`. For a new question, start a new "
    "session. Its items can refer to this one with `references`.",
    "R18",
)
LATE_DELTAS = warning(
    "LATE_DELTAS",
    "Deltas arrived after the end of the session `{thread_id}`. They are not in v{version}.",
    "To include them in a next version: `brenner compile {thread_id} --reopen`. Otherwise do "
    "nothing.",
    "R18",
)
NOT_SAVED_FOR_AGENT = warning(
    "NOT_SAVED_FOR_AGENT",
    "v{version} is not saved: `[persist]` saves it for the operator, and `{name}` compiles it.",
    "To save it: `brenner compile {thread_id}{options}`.",
    "R19",
)
SESSION_CANCELLED = error(
    "SESSION_CANCELLED",
    "The operator cancelled the session `{thread_id}` in message {id}: {reason}",
    "To continue it, repeat the command with `--reopen`, or send a KICKOFF to its thread.",
    "R25",
)
NO_VERSION_TO_CLOSE = error(
    "NO_VERSION_TO_CLOSE",
    "Cannot complete the session `{thread_id}`: it has no version yet.",
    "When agents have sent deltas, publish the first version: `brenner compile {thread_id}`. "
    "Then complete the session.",
    "R18",
)
ARTIFACT_TOO_LARGE_TO_INLINE = info(
    "ARTIFACT_TOO_LARGE_TO_INLINE",
    "The artifact has {size} bytes, and a message can contain at most {most}. The message "
    "contains a link and the hash instead.",
    "No action is needed. `brenner artifact show {thread_id}@v{version}` rebuilds the artifact "
    "from the mail, and the hash proves that it is the same.",
    "R22",
)

# Previews that are out of date when the operator confirms them

PREVIEW_OVERTAKEN = error(
    "PREVIEW_OVERTAKEN",
    "`{thread_id}` changed after the preview: {news}. Nothing was published.",
    "Check the updated preview. If you agree, publish it.",
    "R17",
)
VERSION_NOT_LATEST = error(
    "VERSION_NOT_LATEST",
    "v{version} is no longer the latest version of `{thread_id}`: {latest}. Nothing was written.",
    "Check the updated preview. If you agree, save that version.",
    "R19",
)
KICKOFFS_OVERTAKEN = error(
    "KICKOFFS_OVERTAKEN",
    "The kickoffs for `{thread_id}` changed after the preview: new mail arrived, or a "
    "session was started. Nothing was sent.",
    "Check the updated kickoffs. If you agree, send them.",
    "message body, KICKOFF",
)
FILE_OVERTAKEN = error(
    "FILE_OVERTAKEN",
    "`{path}` changed after the preview. Nothing was written.",
    "Check what would be overwritten now. If you agree, overwrite it.",
    "R19",
)

# Persisting: errors of writing the artifact's file (ruling R19)
NOT_A_REPOSITORY = error(
    "NOT_A_REPOSITORY",
    "Cannot commit: `{path}` is not in a git repository.",
    "Run `git init` in the project, name the right project with `--project`, or leave out "
    "`--commit` and `--push`.",
    "R19",
)
BAD_ARTIFACT_PATH = error(
    "BAD_ARTIFACT_PATH",
    "Cannot write the artifact to `{path}`: {reason}.",
    "Make `artifacts` a folder inside the project that you may write to. It must not be a "
    "link that leads out of the project.",
    "thread_subject_conventions_v0.1, Artifact storage layout; R19",
)
ARTIFACT_FILE_NEWER = error(
    "ARTIFACT_FILE_NEWER",
    "`{path}` contains v{value}, which is newer than v{version}.",
    "Check that this is the right store: it may lack messages that the file includes. Import "
    "them (`brenner mail import FILE`), or restore the older file from git.",
    "R19",
)
ARTIFACT_FILE_EDITED = error(
    "ARTIFACT_FILE_EDITED",
    "`{path}` contains changes that are in no version. It was not overwritten.",
    "To keep them, {advice}. To discard them, use `--force`.",
    "R19",
)
ARTIFACT_FILE_FOREIGN = error(
    "ARTIFACT_FILE_FOREIGN",
    "`{path}` is not a version of this thread: {reason}. It was not overwritten.",
    "Move it to another place and run the command again. To discard it, use `--force`.",
    "R19",
)
ARCHIVE_FILE_FOREIGN = error(
    "ARCHIVE_FILE_FOREIGN",
    "`{path}` was not overwritten: {reason}.",
    "If it is a mail archive with messages that are missing here, import it: `brenner mail import "
    "{path}`. Otherwise move it to another place. To discard it, use `--force`.",
    "R19",
)
ARTIFACT_NOT_WRITTEN = error(
    "ARTIFACT_NOT_WRITTEN",
    "Cannot write `{path}`: {reason}. Its previous content is unchanged.",
    "Fix that (for example, free space on the disk), then run the command again.",
    "R19",
)
ARTIFACT_BUSY = error(
    "ARTIFACT_BUSY",
    "`{thread_id}` has been locked for more than {seconds} seconds{holder}.",
    "Wait until that process ends, or stop it if it hangs. Then run the command again.",
    "R19",
)

# Git: errors of committing and pushing an artifact (ruling R19)

_GIT_SPEC = "artifact_publish_spec_v0.1, Persistence Workflow; R19"

GIT_MISSING = error(
    "GIT_MISSING",
    "Cannot run the program `git`: {reason}.",
    "Install git, or leave out `--commit` and `--push`: the file is written without git.",
    _GIT_SPEC,
)
BARE_REPOSITORY = error(
    "BARE_REPOSITORY",
    "Cannot commit in `{path}`: it is inside a bare repository or git's own folder, where "
    "there are no files.",
    "Work in a clone of it: `git clone {path} FOLDER`, then use `--project FOLDER`.",
    _GIT_SPEC,
)
NO_GIT_IDENTITY = error(
    "NO_GIT_IDENTITY",
    "Git has no name and email for commits: {reason}.",
    "Set both: `git config --global user.name NAME` and `git config --global user.email EMAIL`.",
    _GIT_SPEC,
)
ARTIFACT_IGNORED = error(
    "ARTIFACT_IGNORED",
    "Git ignores `{path}`: {rule}.",
    "Remove the rule. Or add these lines at the end of `{file}`, in this order: {lines}. Or "
    "leave out `--commit` and `--push`.",
    _GIT_SPEC,
)
GIT_OPERATION_IN_PROGRESS = error(
    "GIT_OPERATION_IN_PROGRESS",
    "Cannot commit in `{path}`: {operation} is in progress, and a commit would become part of it.",
    "Finish or abort it (`git status` shows how), then run the command again.",
    _GIT_SPEC,
)
DETACHED_HEAD = warning(
    "DETACHED_HEAD",
    "No branch is checked out in `{path}` (detached HEAD), so the commit is on no branch.",
    "To keep the commit, create a branch: `git switch --create NAME`.",
    _GIT_SPEC,
)
COMMITTED_IN_INNER_REPOSITORY = info(
    "COMMITTED_IN_INNER_REPOSITORY",
    "The artifact is in the repository `{path}`, inside the repository `{outer}`. The commit "
    "is in the inner one only.",
    "If the inner one is a submodule, the outer one still refers to the commit before. To "
    "update it: `git -C {outer} add {path}`, then commit there.",
    _GIT_SPEC,
)
GIT_LOCKED = error(
    "GIT_LOCKED",
    "The repository `{path}` was locked for more than {seconds} seconds ({reason}).",
    "Wait until the other git process ends and run the command again. If no git process is "
    "running and a lock file is named above, delete that file.",
    _GIT_SPEC,
)
HOOK_FAILED = error(
    "HOOK_FAILED",
    "The git hook `{hook}` rejected the commit: {reason}",
    "Fix what the hook reports, or change the hook, and run the command again. The file is "
    "written, but not committed.",
    _GIT_SPEC,
)
SIGNING_FAILED = error(
    "SIGNING_FAILED",
    "Git could not sign the commit (`commit.gpgsign` is set): {reason}",
    "Unlock the key, or correct `user.signingkey`. Then run the command again. The file is "
    "written, but not committed.",
    _GIT_SPEC,
)
COMMIT_DIFFERS = error(
    "COMMIT_DIFFERS",
    "`{path}` was committed with other content than the version: a hook or another process "
    "changed it.",
    "Exclude `artifacts/` from hooks, then run the command again with `--force`: it writes "
    "and commits the version unchanged.",
    _GIT_SPEC,
)
GIT_FAILED = error(
    "GIT_FAILED",
    "`git {command}` failed: {reason}",
    "Fix what git reports, then run the command again. It continues where it stopped.",
    _GIT_SPEC,
)
GIT_TIMEOUT = error(
    "GIT_TIMEOUT",
    "`git {command}` did not end within {seconds} seconds and was stopped.",
    "Find the cause (a hook, the network, a slow disk), then run the command again. It "
    "continues where it stopped.",
    _GIT_SPEC,
)
NO_PUSH_DESTINATION = error(
    "NO_PUSH_DESTINATION",
    "Cannot push: {reason}.",
    "Set the destination: {advice}. Or leave out `--push`.",
    _GIT_SPEC,
)
PUSH_REJECTED = error(
    "PUSH_REJECTED",
    "The version is committed, but `{remote}` rejected the push: {reason}",
    "Get the new commits (`git pull --rebase --autostash`), then run the same command again: "
    "it pushes, and reports that in the thread.",
    _GIT_SPEC,
)
PUSH_FAILED = error(
    "PUSH_FAILED",
    "The version is committed, but the push to `{remote}` failed: {reason}",
    "Fix that (the network, the credentials, a hook), then run the same command again: it "
    "pushes, and reports that in the thread. Git cannot ask for a password here.",
    _GIT_SPEC,
)
