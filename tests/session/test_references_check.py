"""`brenner refs check`."""

import pytest

from mail_shell import Shell
from session.referring import FIRST, SECOND, THIRD, Referring, hypothesis, place, to
from session.workspaces import add, edit

__all__ = ["place"]


@pytest.fixture
def shell(place: Referring, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The project's commands."""
    return Shell(place.folder, monkeypatch)


def kill(target: str, reason: str) -> dict[str, object]:
    """A KILL of a hypothesis."""
    block = edit(target)
    return {**block, "operation": "KILL", "payload": {"reason": reason}}


def test_nothing_refers_to_anything(place: Referring, shell: Shell) -> None:
    """The empty state says what will appear here."""
    place.start(FIRST)
    done = shell("refs", "check")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No references between items yet.\n")
    assert shell("refs", "check", "--json").json == {
        "references": [],
        "circles": [],
        "violations": [],
        "summary": {"errors": 0, "warnings": 0, "info": 0},
        "valid": True,
    }


def test_all_lead_somewhere(place: Referring, shell: Shell) -> None:
    """Figures, and no more."""
    place.start(FIRST, SECOND, THIRD)
    for session in (SECOND, THIRD):
        place.send(session, edit("H1", references=[to(FIRST, "H1"), to(FIRST, "RT")]))
        place.compile(session)
    done = shell("refs", "check")
    assert (done.code, done.out) == (0, "4 references in 2 sessions: none broken.\n")
    assert shell("refs", "check", SECOND).out == "2 references in 1 session: none broken.\n"


def test_everything_that_can_be_found(place: Referring, shell: Shell) -> None:
    """The session with the worst comes first; the reason of a kill is told."""
    place.start(FIRST, SECOND)
    place.send(FIRST, kill("H2", "It failed at 4 °C."))
    place.compile(FIRST)
    place.send(
        SECOND, edit("H1", references=[to(FIRST, "H2"), to(FIRST, "H9"), to(f"{FIRST}s", "H1")])
    )
    place.compile(SECOND)
    place.file(
        THIRD, hypothesis("H1", f"extends {THIRD} H2"), hypothesis("H2", f"refines {THIRD} H1")
    )
    place.file("RS-20260106-empty").write_text("")
    done = shell("refs", "check", "--json")
    assert done.code == 1
    assert [(each.get("session"), each["id"]) for each in done.json["violations"]] == [
        (THIRD, "CIRCLE_OF_REFERENCES"),
        (SECOND, "UNKNOWN_REFERENCED_ITEM"),
        (SECOND, "UNKNOWN_REFERENCED_SESSION"),
        (SECOND, "REFERENCE_TO_KILLED"),
        (None, "SESSION_FILE_UNREADABLE"),
    ]
    assert done.json["summary"] == {"errors": 1, "warnings": 3, "info": 1}
    assert done.json["valid"] is False
    assert [(each["target_session"], each["state"]) for each in done.json["references"]] == [
        (FIRST, "killed"),
        (FIRST, "unknown_item"),
        (f"{FIRST}s", "unknown_session"),
        (THIRD, "found"),
        (THIRD, "found"),
    ]
    assert done.json["references"][1] == {
        "session": SECOND,
        "item": "H1",
        "relation": "extends",
        "target_session": FIRST,
        "target_item": "H9",
        "state": "unknown_item",
    }
    assert [each["item"] for each in done.json["circles"][0]] == ["H1", "H2"]
    text = shell("refs", "check").out
    assert text.index(f"{THIRD} H1  error CIRCLE_OF_REFERENCES") == 0
    assert "which BlueLake killed: It failed at 4 °C." in text
    assert f"Did you mean `{FIRST}`?" in text
    assert text.endswith("5 references in 2 sessions: 2 broken, 1 to a killed item, 1 circle.\n")
    assert shell("refs", "check", SECOND, FIRST).code == 0


def test_a_thread_that_is_not_there(place: Referring, shell: Shell) -> None:
    """One JSON document, with the keys that it always has."""
    place.start(FIRST)
    done = shell("refs", "check", "--json", "RS-20251228-inital-idea")
    assert (done.code, done.codes) == (1, ["UNKNOWN_THREAD"])
    assert (done.json["references"], done.json["valid"]) == ([], False)
    assert shell("refs", "check", "--json", "RS-../x").codes == ["INVALID_RS_THREAD_ID"]


def test_a_thread_whose_id_begins_with_a_hyphen(place: Referring, shell: Shell) -> None:
    """It is no option."""
    place.start("-bead.1")
    place.send("-bead.1", add("Three", references=[to(SECOND, "H1")]))
    done = place.compile("-bead.1")
    assert done.message
    assert "-bead.1" in shell("refs", "check", "--", "-bead.1").out


def test_a_project_without_mail(place: Referring, shell: Shell) -> None:
    """Who has only the repository can follow what the files say."""
    place.file(FIRST, hypothesis("H1"))
    place.file(SECOND, hypothesis("H1", f"refines {FIRST} H1"))
    place.workspace.close()
    for path in (place.folder / ".brenner").iterdir():
        path.unlink()
    assert shell("refs", "check").out == "1 reference in 1 session: none broken.\n"
