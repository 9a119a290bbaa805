"""Circles that two sessions close together, and how they are taken apart."""

import pytest

from brenner.cli.compile import report
from brenner.diagnostics.model import RequestError
from brenner.services import compile as compiling
from brenner.services import publish as publishing
from brenner.services.publish import preview_digest
from brenner.services.references import check_references
from session.referring import (
    FIRST,
    SECOND,
    Referring,
    place,
    references_of,
    to,
)
from session.workspaces import edit

__all__ = ["place"]
CIRCLE, CIRCULAR = "CIRCLE_OF_REFERENCES", "CIRCULAR_REFERENCE"


def half_and_half(place: Referring, monkeypatch: pytest.MonkeyPatch) -> compiling.CompileResult:
    """Two sessions refer to each other, and are compiled at once; what the later one says."""
    place.start(FIRST, SECOND)
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1"), to(SECOND, "H2")]))
    place.send(SECOND, edit("H1", references=[to(FIRST, "H1", "refines")]))
    post = publishing.post_version

    def after_the_other(*arguments: object, **more: object) -> object:
        monkeypatch.setattr(compiling, "post_version", post)
        place.compile(SECOND)
        return post(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(compiling, "post_version", after_the_other)
    return place.compile(FIRST)


def test_two_compiles_at_once_can_close_a_circle(
    place: Referring, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither sees what the other is about to publish; the later one sees it afterwards."""
    done = half_and_half(place, monkeypatch)
    checked = check_references(place.workspace)
    assert [*done.notes] == [*checked.violations]
    assert done.status is compiling.CompileStatus.PUBLISHED
    assert report(done, as_json=False) == 1
    said = capsys.readouterr().err
    assert "error CIRCLE_OF_REFERENCES" in said
    assert '`"references_replace": true`' in said
    [way] = checked.circles
    assert [str(edge) for edge in way] == [
        f"{FIRST} H1 extends {SECOND} H1",
        f"{SECOND} H1 refines {FIRST} H1",
    ]
    assert [each.id for each in checked.violations] == ["CIRCLE_OF_REFERENCES"]
    assert check_references(place.workspace, [SECOND]).circles == (way,)


@pytest.mark.parametrize(("session", "left"), [(FIRST, [to(SECOND, "H2")]), (SECOND, [])])
def test_a_circle_can_be_taken_apart_at_each_item(
    place: Referring,
    monkeypatch: pytest.MonkeyPatch,
    session: str,
    left: list[dict[str, str]],
) -> None:
    """As the fix says: the references without the one, in the place of all."""
    half_and_half(place, monkeypatch)
    place.send(session, edit("H1", references=left, references_replace=True))
    done = place.compile(session)
    assert references_of(done, "H1") == [f"extends {each['session']} H2" for each in left]
    assert done.notes == ()
    assert check_references(place.workspace).violations == ()


def test_a_circle_cannot_be_taken_apart_at_a_killed_item(
    place: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fix says so: an EDIT of it would be refused."""
    half_and_half(place, monkeypatch)
    kill = {**edit("H1"), "operation": "KILL", "payload": {"reason": "It was wrong"}}
    for session, said in (
        (FIRST, f"Killed items cannot be edited: `{FIRST} H1`."),
        (SECOND, "All of these items are killed and cannot be edited, so the circle remains."),
    ):
        place.send(session, kill)
        place.compile(session)
        [found] = [
            each for each in check_references(place.workspace).violations if each.id == CIRCLE
        ]
        assert found.fix.endswith(said)


def test_a_version_that_another_session_has_changed_is_not_published_unseen(
    place: Referring,
) -> None:
    """The thread is as it was; what refers elsewhere is not."""
    place.start(FIRST, SECOND)
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    shown = compiling.compile_thread(place.workspace, FIRST, compiling.CompileOptions(dry_run=True))
    options = compiling.CompileOptions(seen=preview_digest(shown.artifact))
    place.send(SECOND, edit("H1", references=[to(FIRST, "H1", "refines")]))
    place.compile(SECOND)
    with pytest.raises(RequestError) as refused:
        compiling.compile_thread(place.workspace, FIRST, options)
    assert refused.value.diagnostic.id == "PREVIEW_OVERTAKEN"
    assert "another session that it refers to has changed" in refused.value.diagnostic.message
    shown = compiling.compile_thread(place.workspace, FIRST, compiling.CompileOptions(dry_run=True))
    options = compiling.CompileOptions(seen=preview_digest(shown.artifact))
    done = compiling.compile_thread(place.workspace, FIRST, options)
    assert done.status is compiling.CompileStatus.PUBLISHED
    assert [each.id for entry in done.ledger for each in entry.diagnostics] == [CIRCULAR]
