"""What the forms of the lab say: everything that will happen, and which box a fault is about."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from brenner.diagnostics.catalogue import CATALOGUE
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web.lab import compile as compile_forms
from brenner.web.lab import messages as reply
from brenner.web.lab import start
from brenner.web.lab.actions import Action
from brenner.web.rendering import form_fix, form_words
from brenner.web.request import Page
from session.repositories import git, settings, start_repository
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, new_workspace
from web.lab_visits import Operator

__all__ = ["settings"]

Json = dict[str, Any]
PATH = f"artifacts/{THREAD}.md"
DISABLED = 'aria-disabled="true"'


@pytest.fixture
def workspace(tmp_path: Path, settings: Path) -> Iterator[Workspace]:
    """A session with v1 and a delta of which one block applies, in a repository."""
    with new_workspace(tmp_path / "project") as here:
        start_repository(here.project.folder)
        kickoff(here)
        contribute(here, ANN, add("Gradient"))
        compile_thread(here, THREAD, CompileOptions())
        contribute(here, BEA, add("Clock"), edit("H9", claim="none"), base="v1")
        yield here


@pytest.fixture
def operator(workspace: Workspace) -> Operator:
    return Operator(workspace, THREAD)


def would(operator: Operator, action: Action, **ticked: str) -> str:
    compiled = operator.preview(action, ticked)["compiled"]
    return str(cast("Json", compiled)["would"])


def test_everything_that_will_happen_is_said_before(operator: Operator) -> None:
    said = would(operator, compile_forms.COMPLETE_ACTION, persist="yes", commit="yes", notify="yes")
    assert said == (
        f"Publishes v2 of {THREAD} in its thread, and closes the session. Then it writes v2 to "
        f"{PATH}, commits that alone and says so in the thread, in an INFO message. "
        f"1 block will be refused; a message tells {BEA} what is wrong."
    )
    before = operator.workspace.mailbox.position()
    page = operator.form(compile_forms.COMPLETE_ACTION)
    fields = {"persist": "yes", "commit": "yes", "notify": "yes"}
    fields["position"] = str(cast("Json", page.document["preview"])["position"])
    operator.done(compile_forms.COMPLETE_ACTION, fields)
    sent = operator.workspace.mailbox.position() - before
    assert sent == len(["the version", "the INFO message", "what is wrong"])


def test_nobody_contributed_where_there_is_no_delta(operator: Operator) -> None:
    page = operator.form(compile_forms.COMPILE_ACTION)
    assert "nobody" not in operator.html(page)
    compile_thread(operator.workspace, THREAD, CompileOptions())
    html = operator.html(operator.form(compile_forms.COMPLETE_ACTION))
    assert "nobody: no new delta is in it" in html
    assert "opus 0" not in html


def test_a_button_that_would_do_nothing_says_so(operator: Operator) -> None:
    assert DISABLED not in operator.html(operator.form(compile_forms.COMPILE_ACTION))
    compile_thread(operator.workspace, THREAD, CompileOptions())
    page = operator.form(compile_forms.COMPILE_ACTION)
    assert DISABLED in operator.html(page)
    assert "Preview again" in operator.html(page)
    position = str(cast("Json", page.document["preview"])["position"])
    again = operator.again(compile_forms.COMPILE_ACTION, {"position": position})
    assert "Nothing was done." in operator.html(again)
    ticked = operator.preview(compile_forms.COMPILE_ACTION, {"persist": "yes"})
    assert ticked["can_act"]  # the file is missing: that is something to do
    assert DISABLED not in operator.html(operator.form(compile_forms.PERSIST_ACTION))
    (operator.workspace.project.folder / "artifacts").write_text("in the way", "utf-8")
    assert DISABLED in operator.html(operator.form(compile_forms.PERSIST_ACTION))


def test_boxes_are_offered_where_they_do_something(operator: Operator) -> None:
    forms = [
        operator.form(action) for action in (compile_forms.COMPILE_ACTION, start.NEXT_ROUND_ACTION)
    ]
    assert not any('id="reopen"' in operator.html(page) for page in forms)
    assert 'id="register"' not in operator.html(forms[1])
    compile_thread(operator.workspace, THREAD, CompileOptions(close=True))
    contribute(operator.workspace, ANN, add("Late"), base="v2")
    for action in (compile_forms.COMPILE_ACTION, start.NEXT_ROUND_ACTION):
        html = operator.html(operator.form(action))
        assert 'id="reopen"' in html
        assert "tick “Reopen”" in html
        assert "--reopen" not in html


def test_edits_by_hand_can_be_brought_in_from_there(operator: Operator) -> None:
    compile_thread(operator.workspace, THREAD, CompileOptions())
    operator.done(compile_forms.PERSIST_ACTION, {"version": "2", "commit": "yes"})
    file = operator.workspace.project.folder / PATH
    file.write_text(file.read_text("utf-8").replace("Gradient decides", "Gradients decide"))
    page = operator.form(compile_forms.PERSIST_ACTION)
    commit = git(operator.workspace.project.folder, "rev-parse", "HEAD")[:10]
    html = operator.html(page)
    assert f"Commit <code>{commit}</code> has v2; the file was edited by hand since" in html
    assert "--force" not in html
    letter = cast("Json", cast("Json", page.document["preview"])["edits"])
    assert letter["subject"].startswith("DELTA[human]")
    fields = {"to": ANN, "subject": letter["subject"], "body": letter["body"]}
    assert operator.preview(reply.REPLY_ACTION, fields)["valid"]
    operator.done(reply.REPLY_ACTION, fields)
    compile_thread(operator.workspace, THREAD, CompileOptions())
    assert (
        cast("Json", operator.form(compile_forms.PERSIST_ACTION).document["preview"])["fault"]
        is None
    )


def test_a_form_that_was_changed_after_it_was_sent_is_a_new_one(operator: Operator) -> None:
    key = operator.login.once.key()
    fields = {"to": ANN, "subject": "INFO: One", "body": "# Info\n\nOne.\n"}
    operator.done(reply.REPLY_ACTION, fields, key)
    page = operator.again(reply.REPLY_ACTION, {**fields, "subject": "INFO: Two"}, key)
    assert cast("Json", page.document["fault"])["id"] == "FORM_CHANGED"
    assert page.document["earlier"] == f"/lab/done/{key}"
    assert "What became of the form before" in operator.html(page)
    new = str(page.document["once"])
    assert new != key
    operator.done(reply.REPLY_ACTION, {**fields, "subject": "INFO: Two"}, new)
    subjects = [each.message.subject for each in operator.workspace.mailbox.thread(THREAD).messages]
    assert subjects[-2:] == ["INFO: One", "INFO: Two"]


def test_who_comes_back_to_a_form_comes_to_what_is_wrong(operator: Operator) -> None:
    page = operator.again(reply.REPLY_ACTION, {"to": ANN, "subject": "", "body": ""})
    assert 'id="faults" class="summary wrong" tabindex="-1" autofocus' in operator.html(page)
    assert "autofocus" not in operator.html(operator.form(reply.REPLY_ACTION))


def test_commands_in_messages_are_no_raw_marks(workspace: Workspace) -> None:
    operator = Operator(workspace)
    page = operator.again(
        start.START_ACTION, {"agent.1.name": "Red Sky", "agent.1.role": "test_designer"}
    )
    assert _links(operator, page)
    assert not any("`" in each for each in _links(operator, page))


def _links(operator: Operator, page: Page) -> list[str]:
    html = operator.html(page).partition('id="faults"')[2].partition("</ul>")[0]
    return html.split("<a ")[1:]


@pytest.mark.parametrize(
    "code", ["SESSION_CLOSED", "MISSING_ROSTER_ENTRY", "NOT_A_REPOSITORY", "ARTIFACT_FILE_FOREIGN"]
)
def test_a_fix_names_what_the_form_has(code: str) -> None:
    known = CATALOGUE[code]
    assert "--" in known.fix
    assert "--" not in form_fix({"id": code, "fix": known.fix})


def test_parts_of_sentences_are_called_as_the_form_calls_them() -> None:
    known = CATALOGUE
    assert "untick “Commit that file”" in form_words(known["ARTIFACT_IGNORED"].fix)
    assert "--" not in form_words(known["NO_PUSH_DESTINATION"].message)
    assert "--" not in form_words(known["COMMIT_DIFFERS"].fix)
