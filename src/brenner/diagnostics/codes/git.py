"""Codes of git: what keeps an artifact from being committed or pushed (ruling R19)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_SPEC = "artifact_publish_spec_v0.1, Persistence Workflow; R19"
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
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
    spec=_SPEC,
    example=Example("text", _PUSH, f"ssh-add\n{_PUSH}"),
)

CODES = (
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
