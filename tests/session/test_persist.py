"""A version becomes a file, a commit, a push, a message: once each (R19)."""

from pathlib import Path

import pytest

from brenner.artifact.parse import parse_artifact
from brenner.diagnostics.model import UnavailableError
from brenner.persist.artifact_file import canonical_text
from brenner.protocol.messages import Message
from brenner.protocol.validate import check_stored
from brenner.services.compile import persist_summary
from brenner.services.persist import PersistOptions, persist
from session.repositories import (
    ANN,
    BEA,
    BOSS,
    COMMIT,
    PATH,
    PUSH,
    THREAD,
    WRITE,
    Bench,
    bench,
    git,
    raised,
    settings,
    text_of,
    untouched,
)

__all__ = ["bench", "settings"]
SUBJECT = "INFO: Artifact v{} persisted to repository"


def with_remote(bench: Bench) -> Path:
    """Another repository, to which the branch is pushed."""
    remote = bench.folder.parent / "remote.git"
    git(bench.folder.parent, "init", "--quiet", "--bare", str(remote))
    bench.git("remote", "add", "origin", str(remote))
    bench.git("push", "--quiet", "--set-upstream", "origin", "main")
    return remote


def test_written(bench: Bench) -> None:
    """The file is the version with the id of its message; git is not touched."""
    before = untouched(bench.folder, [PATH])
    done = bench.persist(2, WRITE)
    text = bench.file.read_text("utf-8")
    assert canonical_text(text) == text_of(2)
    assert parse_artifact(text).artifact.metadata.agent_mail_message_id == 4
    assert (done.persistence, done.words) == (("Pending", PATH, None), "Written")
    assert untouched(bench.folder, [PATH]) == before
    assert bench.git("status", "--porcelain").split() == ["??", "artifacts/"]
    assert bench.leftovers() == []


def test_committed(bench: Bench) -> None:
    """The document's message, the file alone, and nothing left to commit."""
    done = bench.persist(1)
    assert bench.log() == [f"artifact({THREAD}): v1 - Round 1: added H4.", "Begin"]
    assert bench.git("show", "--format=", "--name-only").split() == [PATH]
    assert done.persistence == ("Persisted", PATH, bench.git("rev-parse", "HEAD").strip())
    assert bench.git("status", "--porcelain") == ""
    assert bench.git("show", f"HEAD:{PATH}").encode() == bench.file.read_bytes()


def test_the_message(bench: Bench) -> None:
    """As in the publish document: path, commit, status; it passes our own check."""
    done = bench.persist(2)
    assert done.info
    assert done.is_new_info
    commit = bench.git("rev-parse", "HEAD")[:12]
    message = done.info.message
    assert message.body == (
        f"# Artifact Persisted\n\n- **Path**: {PATH}\n- **Git Commit**: {commit}\n"
        "- **Status**: Committed\n"
    )
    assert (message.subject, message.sender) == (SUBJECT.format(2), BOSS)
    assert message.recipients == (ANN, BEA)
    assert check_stored(message).violations == ()


def test_a_message_without_a_commit_names_none(bench: Bench) -> None:
    done = bench.persist(2, WRITE)
    assert done.info
    assert "Git Commit" not in done.info.message.body
    assert check_stored(done.info.message).violations == ()


def test_again_changes_nothing(bench: Bench) -> None:
    """R19: the same command again finds everything done; the commit is the one that was made."""
    first = bench.persist(2)
    stamp = bench.file.stat().st_mtime_ns
    (bench.folder / "later.md").write_text("x", "utf-8")
    bench.git("add", "later.md")
    bench.git("commit", "--quiet", "--message=Later")
    again = bench.persist(2)
    assert again == first._replace(is_new_info=False, is_new=False)
    assert bench.file.stat().st_mtime_ns == stamp
    assert len(bench.log()) == 3
    assert len(bench.infos()) == 1


def test_committed_is_said_only_of_a_new_commit(bench: Bench) -> None:
    """Of a repetition the summary says that nothing, or nothing but the push, was done."""
    with_remote(bench)
    said = [
        persist_summary(bench.persist(2, options)).partition(":")[0]
        for options in (WRITE, WRITE, COMMIT, COMMIT, PUSH)
    ]
    assert said == [
        "Written",
        "No changes",
        "Committed",
        "Nothing to commit",
        "Pushed, without a new commit",
    ]


def test_step_by_step(bench: Bench) -> None:
    """Written, then committed, then pushed: each is said once, and less is not said after more."""
    with_remote(bench)
    for options in (WRITE, COMMIT, PUSH, PUSH, COMMIT, WRITE):
        bench.persist(1, options)
    words = [(SUBJECT.format(1), each) for each in ("Written", "Committed", "Committed and pushed")]
    assert bench.words() == words
    assert bench.log()[1:] == ["Begin"]


def test_less_is_not_said_after_more(bench: Bench) -> None:
    """Who only writes what is committed already has nothing new to tell."""
    bench.persist(1)
    done = bench.persist(1, WRITE)
    assert (done.words, done.is_new_info) == ("Written", False)
    assert done.persistence.status == "Persisted"
    assert bench.words() == [(SUBJECT.format(1), "Committed")]


def test_said_once_whoever_persists(bench: Bench) -> None:
    """Also by somebody else, to others, and after a rebase: once per thread, version and words."""
    bench.persist(1)
    bench.git("commit", "--quiet", "--amend", "--message=Reworded")
    workspace = bench.workspace._replace(actor=ANN)
    done = persist(workspace, bench.version(1), bench.text, COMMIT, (BEA, BOSS))
    assert not done.is_new_info
    assert done.persistence.commit == bench.git("rev-parse", "HEAD").strip()
    assert bench.persist(1).info == done.info
    assert len(bench.infos()) == 1


def test_somebody_else_s_words_are_another_message(bench: Bench) -> None:
    """Only a message that says the same of the same version counts as said."""
    for subject, words in (
        (SUBJECT.format(2), "Committed"),
        (SUBJECT.format(1), "Committed soon"),
        ("INFO: Persisted", "Committed"),
    ):
        body = f"- **Status**: {words}\n"
        bench.mailbox.send(Message(THREAD, ANN, (BOSS,), subject, body))
    assert bench.persist(1).is_new_info


def test_version_after_version(bench: Bench) -> None:
    """Updated in place; the history of the file is the history of the versions."""
    states = [bench.persist(number) for number in (1, 2, 3)]
    subjects = bench.git("log", "--format=%s", "--", PATH).splitlines()
    assert [subject.split(" - ")[0] for subject in subjects] == [
        f"artifact({THREAD}): v{number}" for number in (3, 2, 1)
    ]
    commits = bench.git("log", "--format=%H", "--", PATH).splitlines()
    assert [state.persistence.commit for state in states] == commits[::-1]


def test_other_files_stay_as_they_are(bench: Bench) -> None:
    """R19: what is staged, changed, announced, deleted or new stays exactly so."""
    folder = bench.folder
    for name in ("both.md", "dirty.md", "gone.md", "renamed.md", "mode.sh"):
        (folder / name).write_text(f"{name}\n", "utf-8")
    bench.git("add", "--all")
    bench.git("commit", "--quiet", "--message=Files")
    (folder / "both.md").write_text("staged\n", "utf-8")
    (folder / "staged.md").write_text("staged\n", "utf-8")
    bench.git("add", "both.md", "staged.md")
    (folder / "both.md").write_text("and changed again\n", "utf-8")
    (folder / "dirty.md").write_text("changed\n", "utf-8")
    (folder / "announced.md").write_text("soon\n", "utf-8")
    bench.git("add", "--intent-to-add", "announced.md")
    bench.git("rm", "--quiet", "gone.md")
    bench.git("mv", "renamed.md", "new name.md")
    bench.git("update-index", "--chmod=+x", "mode.sh")
    (folder / "untracked.md").write_text("new\n", "utf-8")
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "notes.md").write_text("mine\n", "utf-8")
    for number in (1, 2):
        before = untouched(folder, [PATH])
        bench.persist(number)
        assert untouched(folder, [PATH]) == before
        assert bench.git("show", "--format=", "--name-only").split() == [PATH]
        assert bench.git("status", "--porcelain", "--", PATH) == ""


@pytest.mark.parametrize("staged", ["add", "rm", "reset"])
def test_the_index_agrees_whatever_it_held(bench: Bench, staged: str) -> None:
    """Also where the version is committed already, or something else was staged for the file."""
    bench.persist(1)
    if staged == "add":
        bench.file.write_text("something else\n", "utf-8")
        bench.git("add", PATH)
        bench.git("show", f"HEAD:{PATH}")
        bench.file.write_text(bench.git("show", f"HEAD:{PATH}"), "utf-8")
    elif staged == "rm":
        bench.git("rm", "--quiet", "--cached", PATH)
    else:
        bench.git("reset", "--quiet", "--soft", "HEAD~1")
        bench.git("reset", "--quiet")
    assert bench.git("status", "--porcelain") != ""
    bench.persist(1)
    assert bench.git("status", "--porcelain") == ""
    assert bench.log().count(f"artifact({THREAD}): v1 - Round 1: added H4.") == 1
    bench.persist(2)
    assert bench.git("status", "--porcelain") == ""


def test_first_commit_of_a_repository(tmp_path: Path, settings: Path) -> None:
    """Where there is no commit yet, this is the first, and what is staged waits."""
    bench = Bench.make(tmp_path / "project")
    bench.git("init", "--quiet")
    (bench.folder / "README.md").write_text("x\n", "utf-8")
    bench.git("add", "README.md")
    bench.check(1)
    done = bench.persist(1)
    assert done.persistence.commit == bench.git("rev-parse", "HEAD").strip()
    assert bench.git("status", "--porcelain").split() == ["A", "README.md"]
    assert bench.log() == [f"artifact({THREAD}): v1 - Round 1: added H4."]


@pytest.mark.parametrize("thread_id", ["-odd-id", "--all", "a.b", "-", "x" * 252])
def test_odd_thread_ids(tmp_path: Path, settings: Path, thread_id: str) -> None:
    """R1: an ID that looks like an option is a name; the longest one still has a lock."""
    bench = Bench.make(tmp_path / "project", thread_id, versions=1)
    bench.git("init", "--quiet")
    bench.check(1)
    done = bench.persist(1)
    assert done.words == "Committed"
    assert bench.log() == [f"artifact({thread_id}): v1 - Round 1: added H4."]
    assert bench.git("status", "--porcelain") == ""


def test_in_a_folder_of_the_repository(tmp_path: Path, settings: Path) -> None:
    """The project need not be the whole repository; its folder's name may look like a pattern."""
    top = tmp_path / "everything"
    for name in ("a[b]*", "ab"):
        (top / name).mkdir(parents=True)
    git(top, "init", "--quiet")
    other = Bench.make(top / "ab")
    other.persist(1, WRITE)
    git(top, "add", "ab/artifacts")
    git(top, "commit", "--quiet", "--message=Begin")
    other.persist(2, WRITE)
    bench = Bench.make(top / "a[b]*")
    bench.persist(1)
    assert git(top, "show", "--format=", "--name-only", "-z").rstrip("\0") == f"a[b]*/{PATH}"
    assert git(top, "status", "--porcelain").split() == ["M", f"ab/{PATH}"]


def test_a_linked_folder_inside_the_project(bench: Bench) -> None:
    """`artifacts` may be a link that stays inside; the commit has the real path."""
    (bench.folder / "papers" / "here").mkdir(parents=True)
    (bench.folder / "artifacts").symlink_to("papers/here")
    done = bench.persist(1)
    assert done.persistence.status == "Persisted"
    assert bench.git("show", "--format=", "--name-only").split() == [f"papers/here/{THREAD}.md"]


def test_the_same_version_with_another_id_is_not_committed_again(bench: Bench) -> None:
    """The same mail has other ids in another store; comparisons ignore them (R18)."""
    first = bench.persist(1)
    other = bench.version(1)._replace(message_id=3)
    again = persist(bench.workspace, other, bench.text, COMMIT, (ANN,))
    assert again.persistence == first.persistence
    assert "\nagent_mail_message_id: 2\n" in bench.file.read_text("utf-8")
    bench.file.write_text(text_of(1), "utf-8")
    assert bench.persist(1, WRITE).persistence == first.persistence
    assert "\nagent_mail_message_id: 2\n" in bench.file.read_text("utf-8")


# Pushing


def test_pushed(bench: Bench) -> None:
    remote = with_remote(bench)
    bench.git("branch", "other")
    bench.check(1, PUSH)
    done = bench.persist(1, PUSH)
    assert done.words == "Committed and pushed"
    assert git(remote, "rev-parse", "main") == bench.git("rev-parse", "main")
    assert git(remote, "branch", "--list").split() == ["*", "main"]
    assert bench.words() == [(SUBJECT.format(1), "Committed and pushed")]


def test_push_means_commit(bench: Bench) -> None:
    with_remote(bench)
    assert bench.persist(1, PersistOptions(push=True)).words == "Committed and pushed"


def test_a_rejected_push_is_finished_later(bench: Bench) -> None:
    """R19: Committed is said, and the error; after a pull the same command finishes."""
    remote = with_remote(bench)
    clone = bench.folder.parent / "clone"
    git(bench.folder.parent, "clone", "--quiet", str(remote), str(clone))
    (clone / "theirs.md").write_text("x", "utf-8")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=Theirs")
    git(clone, "push", "--quiet")
    with pytest.raises(UnavailableError) as error:
        bench.persist(1, PUSH)
    assert raised(error) == "PUSH_REJECTED"
    assert "fetch first" in error.value.diagnostic.message
    assert bench.words() == [(SUBJECT.format(1), "Committed")]
    bench.git("pull", "--quiet", "--rebase")
    done = bench.persist(1, PUSH)
    assert done.words == "Committed and pushed"
    assert [words for _, words in bench.words()] == ["Committed", "Committed and pushed"]
    assert len(bench.log()) == 3
    assert git(remote, "rev-parse", "main") == bench.git("rev-parse", "main")


def test_a_failing_push_is_finished_later(bench: Bench) -> None:
    remote = with_remote(bench)
    away = remote.rename(remote.with_name("away.git"))
    with pytest.raises(UnavailableError) as error:
        bench.persist(1, PUSH)
    assert raised(error) == "PUSH_FAILED"
    assert "does not appear to be a git repository" in error.value.diagnostic.message
    assert bench.words() == [(SUBJECT.format(1), "Committed")]
    away.rename(remote)
    assert bench.persist(1, PUSH).words == "Committed and pushed"
