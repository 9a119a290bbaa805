"""The scripted session of the demo gives the same artifact in every home of the mail.

But for message ids and times, which are the home's: each of them is replaced by the place of its
message in the thread, and then nothing may differ.
"""

from pathlib import Path

import pytest

from brenner.services.demo import THREAD
from mail_shell import Shell
from session.backends import HOUSINGS, ProjectBackend, housed
from session.scripted import Outcome, asked, make_ready, outcome, play


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """What comes of it in memory."""
    with pytest.MonkeyPatch.context() as patch:
        return played_in(HOUSINGS[0], tmp_path_factory.mktemp("memory") / "project", patch)


def played_in(housing: ProjectBackend, folder: Path, patch: pytest.MonkeyPatch) -> Outcome:
    make_ready(folder)
    shell = Shell(folder, patch)
    with housed(housing, folder, patch):
        if housing is not HOUSINGS[0]:
            write_before(shell)
        play(shell, patch)
        verified = asked(shell, "artifact", "verify", THREAD)
        assert (verified["ok"], [each["version"] for each in verified["versions"]]) == (
            True,
            [1, 2],
        )
        return outcome(shell)


def write_before(shell: Shell) -> None:
    """Other mail, so that no message of the session has the id that it has in memory."""
    assert shell("mail", "register", "QuietHarbour").code == 0
    said = (
        "--thread",
        "COORD-other",
        "--to",
        "QuietHarbour",
        "--subject",
        "INFO: x",
        "--body",
        "x",
    )
    assert shell("mail", "send", *said).code == 0


@pytest.mark.parametrize("housing", HOUSINGS[1:], ids=lambda housing: housing.home.name)
def test_the_same_artifact_in_every_home(
    housing: ProjectBackend, played: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version for version; also the thread, the ledgers, what the linter says, who wrote what."""
    there = played_in(housing, tmp_path / "project", monkeypatch)
    for name, expected, found in zip(Outcome._fields, played, there, strict=True):
        assert found == expected, name


def test_that_it_could_differ(played: Outcome) -> None:
    """What is compared is not empty: two versions, blocks of all three states, people, times."""
    assert len(played.versions) == len(played.ledgers) == len(played.lint) == 2
    assert [(each["applied"], each["refused"]) for each in played.ledgers] == [(11, 1), (10, 0)]
    assert "<time " in played.versions[0]
    assert "<compiled>" in played.versions[1]
    assert "agent_mail_message_id: <message " in played.file
    assert len(played.thread) == 19
    assert any("Validation error in message <message 10>" in each[2] for each in played.thread)
