"""Compiling and completing in the lab: what is published is what was shown."""

from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from brenner.diagnostics.model import RequestError
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web.lab.compile import COMPILE_ACTION as ACTION
from brenner.web.lab.compile import COMPLETE_ACTION, MAX_BLOCKS, MAX_ITEMS
from brenner.web.request import Page
from session.workspaces import (
    ANN,
    BEA,
    THREAD,
    add,
    contribute,
    edit,
    kickoff,
    new_workspace,
    write,
)
from web.lab_visits import Meddling, Operator

if TYPE_CHECKING:
    from brenner.mail.mailbox import Mailbox

Json = dict[str, Any]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A session with one delta that applies, and one that does not."""
    with new_workspace(tmp_path) as here:
        kickoff(here)
        contribute(here, ANN, add("Gradient"))
        contribute(here, BEA, edit("H9", claim="none"))
        yield here


@pytest.fixture
def operator(workspace: Workspace) -> Operator:
    return Operator(workspace, THREAD)


def versions(workspace: Workspace) -> list[str]:
    messages = workspace.mailbox.thread(THREAD).messages
    return [each.message.subject for each in messages if each.type == "COMPILED"]


def seen(page: Page) -> Json:
    return cast("Json", page.document["preview"])


def position(page: Page) -> dict[str, str]:
    """What a form says of the thread that it was made of."""
    return {name: str(seen(page)[name]) for name in ("position", "since")}


def test_the_preview_shows_everything_and_publishes_nothing(operator: Operator) -> None:
    page = operator.form(ACTION)
    compiled = seen(page)["compiled"]
    assert (compiled["status"], compiled["version"]) == ("dry_run", 1)
    assert compiled["would"] == (
        f"Publishes v1 of {THREAD} in its thread. 1 block will be rejected."
    )
    assert [each["id"] for each in compiled["items"]] == ["RT", "H1"]
    assert compiled["items"][1]["by"] == [{"agent": ANN, "message_id": 2}]
    assert [each["outcome"] for each in compiled["ledger"]] == [
        "would be rejected",
        "would be applied as H1",
    ]
    assert compiled["ledger"][0]["violations"][0]["id"] == "INVALID_TARGET"
    assert not compiled["lint"]["valid"]
    assert "artifact_markdown" not in compiled
    assert seen(page)["position"] == 3
    html = operator.html(page)
    assert '<input type="hidden" name="position" value="3" form="action">' in html
    assert versions(operator.workspace) == []


def test_what_was_shown_is_published_once(operator: Operator) -> None:
    fields = position(operator.form(ACTION))
    key = operator.login.once.key()
    done = operator.done(ACTION, fields, key)
    assert done.is_done
    assert done.says == f"Published v1 of {THREAD}, as message 4."
    assert operator.done(ACTION, fields, key) is done
    assert len(versions(operator.workspace)) == 1
    assert (done.document["version"], done.document["message_id"]) == (1, 4)
    assert [words for _, words in done.to][:2] == ["Open v1", "Show changes"]


def test_a_form_that_has_shown_nothing_publishes_nothing(operator: Operator) -> None:
    page = operator.again(ACTION, {})
    assert seen(page)["compiled"]["version"] == 1
    assert versions(operator.workspace) == []


def test_a_script_may_publish_without_looking(operator: Operator) -> None:
    answer = operator.request(ACTION, {"persist": False})
    assert not isinstance(answer, Page)
    assert answer.document["status"] == "published"


def test_every_preview_names_what_came_in_since_the_form_was_opened(operator: Operator) -> None:
    """Who ticks a box sees a newer thread, and is told so, however many boxes she ticks."""
    fields = position(operator.form(ACTION))
    contribute(operator.workspace, BEA, add("Clock"))
    for box in ("strict", "notify"):
        found = cast("Json", operator.preview(ACTION, fields | {box: "yes"}))
        assert [each["message_id"] for each in found["news"]] == [4]
        assert (found["since"], found["position"]) == (3, 4)
        fields = {name: str(found[name]) for name in fields}
    assert seen(operator.form(ACTION))["news"] == []


def test_a_delta_that_came_meanwhile_is_shown_first(operator: Operator) -> None:
    fields = position(operator.form(ACTION))
    contribute(operator.workspace, BEA, add("Clock"))
    page = operator.again(ACTION, fields)
    assert page.status == 409
    assert cast("Json", page.document["fault"])["id"] == "PREVIEW_OVERTAKEN"
    assert (
        "message 4 (DELTA from RedSky) arrived" in cast("Json", page.document["fault"])["message"]
    )
    assert [each["message_id"] for each in cast("list[Json]", seen(page)["news"])] == [4]
    assert versions(operator.workspace) == []
    assert [each["id"] for each in seen(page)["compiled"]["items"]] == ["RT", "H1", "H2"]
    assert operator.done(ACTION, position(page)).document["version"] == 1


def test_of_two_tabs_one_publishes(operator: Operator) -> None:
    fields = position(operator.form(ACTION))
    assert operator.done(ACTION, fields).is_done
    page = operator.again(ACTION, fields)  # the other tab, with a key of its own
    assert "(COMPILED from Operator) arrived" in cast("Json", page.document["fault"])["message"]
    assert len(versions(operator.workspace)) == 1


def test_an_acknowledgement_that_came_meanwhile_is_in_nobodys_way(operator: Operator) -> None:
    fields = position(operator.form(ACTION))
    operator.workspace._replace(actor=ANN).acknowledge(1)
    assert operator.done(ACTION, fields).is_done
    assert len(versions(operator.workspace)) == 1


@pytest.mark.parametrize(
    ("meanwhile", "is_published"),
    [
        (lambda workspace: contribute(workspace, BEA, add("Clock")), False),
        (lambda workspace: write(workspace, BEA, "INFO: Reading", "I read.\n"), True),
        (lambda workspace: compile_thread(workspace, THREAD, CompileOptions()), False),
    ],
    ids=["delta", "info", "version"],
)
def test_what_comes_in_the_very_moment_of_publishing_counts_too(
    workspace: Workspace, meanwhile: Callable[[Workspace], object], is_published: bool
) -> None:
    def meddle(count: int) -> None:
        if count == 1:
            meanwhile(workspace)

    slow = workspace._replace(mailbox=cast("Mailbox", Meddling(workspace.mailbox, meddle)))
    options = CompileOptions(position=3)
    if is_published:
        assert compile_thread(slow, THREAD, options).version == 1
        return
    before = len(versions(workspace))
    with pytest.raises(RequestError) as raised:
        compile_thread(slow, THREAD, options)
    assert raised.value.diagnostic.id == "PREVIEW_OVERTAKEN"
    assert len(versions(workspace)) - before <= 1  # that of the other one, at most
    assert all(
        each.message.sender == "Operator"
        for each in workspace.mailbox.thread(THREAD).messages
        if each.type == "COMPILED"
    )


def test_a_thread_that_has_become_shorter_is_not_what_was_seen(workspace: Workspace) -> None:
    with pytest.raises(RequestError) as raised:
        compile_thread(workspace, THREAD, CompileOptions(position=99))
    assert "fewer messages" in raised.value.diagnostic.message
    assert compile_thread(workspace, THREAD, CompileOptions(dry_run=True, position=3)).version == 1


def test_strict_publishes_nothing_and_says_why(operator: Operator) -> None:
    fields = position(operator.form(ACTION)) | {"strict": "yes"}
    page = operator.again(ACTION, fields)
    assert page.status == 422
    assert seen(page)["compiled"]["would"].endswith("rejected (“Strict” is selected).")
    assert cast("Json", page.document["fields"])["strict"]
    assert versions(operator.workspace) == []


def test_authors_of_refused_blocks_are_told_where_asked_for(operator: Operator) -> None:
    done = operator.done(ACTION, position(operator.form(ACTION)) | {"notify": "yes"})
    assert [each["to"] for each in cast("list[Json]", done.document["notified"])] == [[BEA]]


def test_a_version_is_kept_where_asked_for(operator: Operator) -> None:
    done = operator.done(ACTION, position(operator.form(ACTION)) | {"persist": "yes"})
    assert f"Written: v1 is in artifacts/{THREAD}.md" in done.says
    assert (operator.workspace.project.folder / "artifacts" / f"{THREAD}.md").exists()


def test_what_is_kept_is_said_before(operator: Operator) -> None:
    """Also where there is nothing to publish, and only the file is missing."""
    page = operator.form(ACTION)
    then = f" Then it writes v1 to artifacts/{THREAD}.md"
    assert then in would(operator, {"persist": "yes"})
    assert then not in would(operator, {})
    operator.done(ACTION, position(page))
    told = "announces it in the thread with an INFO message."
    assert would(operator, {"persist": "yes"}).endswith(f"is v1.{then} and {told}")
    ticked = {"persist": "yes", "archive": "yes"}
    assert would(operator, ticked).endswith(f"{then}, saves the messages next to it and {told}")


def would(operator: Operator, ticked: dict[str, str]) -> str:
    compiled = operator.preview(ACTION, ticked)["compiled"]
    return str(cast("Json", compiled)["would"])


def test_what_is_known_to_fail_publishes_nothing(operator: Operator) -> None:
    """There is no repository, so nothing can be committed."""
    fields = position(operator.form(ACTION)) | {"commit": "yes"}
    page = operator.again(ACTION, fields)
    assert "Nothing was published." in cast("Json", page.document["fault"])["message"]
    assert versions(operator.workspace) == []
    assert operator.preview(ACTION, {"commit": "yes"})["compiled"] is None


def test_what_fails_after_publishing_is_said_beside_it(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file comes in the way between the check and the writing."""
    folder = operator.workspace.project.folder / "artifacts"

    def obstruct(count: int) -> None:
        if count == 1:
            folder.write_text("no folder", "utf-8")

    workspace = operator.workspace
    slow = workspace._replace(mailbox=cast("Mailbox", Meddling(workspace.mailbox, obstruct)))
    fields = position(operator.form(ACTION)) | {"persist": "yes"}
    operator.site = operator.site._replace(workspace=slow)
    done = operator.done(ACTION, fields)
    assert not done.is_done
    assert done.document["heading"] == "Partly done"
    assert done.says.startswith(f"Published v1 of {THREAD}, as message 4. The steps after")
    assert len(versions(workspace)) == 1


def test_nothing_to_compile_is_said(operator: Operator) -> None:
    operator.done(ACTION, position(operator.form(ACTION)))
    page = operator.form(ACTION)
    assert seen(page)["compiled"]["would"].startswith(f"Nothing to compile in {THREAD}")
    again = operator.again(ACTION, position(page))
    assert again.status == 422
    assert len(versions(operator.workspace)) == 1


def critique(number: int) -> Json:
    payload = {"attack": "a", "evidence": "e", "current_status": "open"}
    return {
        "operation": "ADD",
        "section": "adversarial_critique",
        "target_id": None,
        "payload": {"name": f"Critique {number}", **payload},
        "rationale": "r",
    }


def test_a_large_version_is_shown_in_part(operator: Operator) -> None:
    contribute(operator.workspace, ANN, *map(critique, range(250)))
    compiled = seen(operator.form(ACTION))["compiled"]
    assert (len(compiled["items"]), compiled["more_items"]) == (MAX_ITEMS, 252 - MAX_ITEMS)
    assert (len(compiled["ledger"]), compiled["more_blocks"]) == (MAX_BLOCKS, 252 - MAX_BLOCKS)
    assert compiled["ledger"][0]["state"] == "refused"


def test_an_unknown_thread_has_no_preview(workspace: Workspace) -> None:
    page = Operator(workspace, "RS-20250101-nobody-wrote").form(ACTION)
    assert seen(page)["fault"]["id"] == "UNKNOWN_THREAD"


def test_hostile_names_stay_texts(operator: Operator) -> None:
    harm = "<script>alert(1)</script>"
    contribute(operator.workspace, ANN, add(harm))
    subject = f"DELTA[opus]: {harm}"
    operator.workspace.mailbox.send(Message(THREAD, BEA, (ANN,), subject, "nothing"))
    fields = {"position": "1"}
    page = operator.again(ACTION, fields)
    assert harm not in operator.html(page)


# The end of a session


def test_a_session_is_completed_with_what_was_shown(operator: Operator) -> None:
    operator.done(ACTION, position(operator.form(ACTION)))
    contribute(operator.workspace, BEA, add("Clock"), base="v1")
    page = operator.form(COMPLETE_ACTION)
    assert seen(page)["compiled"]["would"] == (
        f"Publishes v2 of {THREAD} in its thread, and closes the session."
    )
    done = operator.done(COMPLETE_ACTION, position(page))
    assert done.says.endswith("and closed the session.")
    assert "Start the next round" not in [words for _, words in done.to]
    contribute(operator.workspace, ANN, add("Late"), base="v2")
    closed = operator.form(ACTION)
    assert seen(closed)["fault"]["id"] == "SESSION_CLOSED"
    reopened = operator.preview(ACTION, {"reopen": "yes"})
    done = operator.done(ACTION, {"reopen": "yes", "position": str(reopened["position"])})
    assert done.document["version"] == 3


def test_without_a_version_there_is_nothing_to_complete(operator: Operator) -> None:
    page = operator.form(COMPLETE_ACTION)
    assert seen(page)["fault"]["id"] == "NO_VERSION_TO_CLOSE"
    assert seen(page)["position"] is None


def test_completing_asks_about_what_is_unanswered(workspace: Workspace, operator: Operator) -> None:
    """The form lists it, and a conclusion that was previewed is sent before the last version."""
    contribute(workspace, ANN, add("Time"))
    test = {"name": "Graft", "procedure": "x", "discriminates": "H1 vs H2"}
    found = {"outcome": "new", "potency": "passed", "contradicts": ["H1"]}
    blocks = {
        "ADD": {**test, "expected_outcomes": {"H1": "old", "H2": "new"}},
        "EDIT": {"results": [found]},
    }
    for operation, payload in blocks.items():
        target = "T1" if operation == "EDIT" else None
        about = {"section": "discriminative_tests", "target_id": target, "rationale": "why"}
        contribute(workspace, BEA, {"operation": operation, "payload": payload, **about})
        compile_thread(workspace, THREAD, CompileOptions())
    first = operator.form(COMPLETE_ACTION)
    compiled = seen(first)["compiled"]
    assert [each["fact"] for each in compiled["unanswered"]] == ["T1 contradicts H1"]
    assert "NO_CONCLUSION" in [each["id"] for each in compiled["violations"]]
    assert not seen(first)["can_act"]
    wish = {"conclusion": "Place decides"}
    refused = operator.again(COMPLETE_ACTION, {**wish, **position(first)})
    assert refused.status != HTTPStatus.OK
    assert len(versions(workspace)) == 2
    wish |= {"anyway": "yes"}
    preview = cast("Json", operator.preview(COMPLETE_ACTION, wish))
    assert (preview["can_act"], preview["compiled"]["conclusion"]) == (True, "Place decides")
    guards = {name: str(preview[name]) for name in ("position", "since", "seen")}
    done = operator.done(COMPLETE_ACTION, {**wish, **guards})
    assert done.is_done
    *_, conclusion, last = workspace.mailbox.thread(THREAD).messages
    assert conclusion.message.subject.startswith("DELTA[human]: Conclusion")
    assert "## Left Unanswered\n- T1 contradicts H1" in last.message.body
