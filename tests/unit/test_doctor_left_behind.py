"""Mail in the store inside the project, when its home is another one: it is said."""

import re
import shlex
from pathlib import Path

import pytest

from brenner.diagnostics.catalogue import CATALOGUE
from brenner.services.doctor.checks import without_doctor_advice
from program import brenner
from session.workspaces import kickoff, new_workspace, write

OTHER = "sqlite:///other.sqlite3"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two messages, in the store inside it."""
    with new_workspace(tmp_path) as workspace:
        kickoff(workspace)
        write(workspace, "BlueLake", "INFO: Here", "I am here.\n")
    return tmp_path


def doctor(project: Path, *arguments: str) -> dict[str, dict[str, str]]:
    """The checks by name."""
    done = brenner("doctor", "--json", *arguments, cwd=project)
    return {each["name"]: each for each in done.json["checks"]}


def test_said_until_it_is_there(project: Path) -> None:
    """With a command that brings it over; then nothing is said."""
    assert "left_behind" not in doctor(project)
    found = doctor(project, "--store", OTHER)["left_behind"]
    assert (found["status"], found["id"]) == ("warning", "MAIL_LEFT_BEHIND")
    assert found["detail"].startswith(
        "The store inside the project, `.brenner/mail.sqlite3`, contains 2 messages."
    )
    done = brenner("init", "--store", OTHER, "--operator", "Ada", cwd=project)
    assert done.code == 0
    (command,) = re.findall(r"`brenner (mail copy [^`]*)`", done.err)
    assert command == "mail copy --from sqlite:///.brenner/mail.sqlite3"  # the settings say where
    document = brenner("init", "--json", cwd=project).json
    assert [each["id"] for each in document["violations"]] == ["MAIL_LEFT_BEHIND"]
    assert brenner(*shlex.split(command), cwd=project).code == 0
    assert brenner("init", cwd=project).err == ""
    assert "left_behind" not in doctor(project)


def test_store_that_nothing_remembers(project: Path) -> None:
    """Then the command names it, and the folder, if one is elsewhere."""
    (project / "below").mkdir()
    asked = ("init", "--store", OTHER, "--project", "..")
    done = brenner(*asked, cwd=project / "below")
    (command,) = re.findall(r"`brenner (mail copy [^`]*)`", done.err)
    assert brenner(*shlex.split(command), cwd=project / "below").code == 0
    again = brenner(*asked, cwd=project / "below")
    assert (again.err, "2 messages" in again.out) == ("", True)


def test_what_cannot_be_read_is_passed_over(project: Path) -> None:
    """It is a hint, and no reason to fail."""
    (project / ".brenner" / "mail.sqlite3").write_bytes(b"no database" * 1000)
    done = brenner("init", "--store", OTHER, cwd=project)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "fix", [code.fix for code in CATALOGUE.values() if "`brenner doctor`" in code.fix]
)
def test_the_doctor_does_not_send_to_the_doctor(fix: str) -> None:
    """An advice that names it is given without that."""
    found = without_doctor_advice(fix) or ""
    assert "brenner doctor" not in found
    assert found.removesuffix("{suggestion}").endswith(".")
    assert len(found) > 20
