"""What the forms of the lab say: everything that will happen, and which box a fault is about."""

import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, cast

import pytest

from brenner.diagnostics.catalogue import CATALOGUE
from brenner.persist import commit
from brenner.services import persist
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.text import did_you_mean
from brenner.web.lab import compile as compile_forms
from brenner.web.lab import messages as reply
from brenner.web.lab import start
from brenner.web.lab.actions import Action
from brenner.web.rendering import form_fix, form_words, page_fix, without_command
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
        f"{PATH}, commits only that and announces it in the thread with an INFO message. "
        f"1 block will be rejected, and {BEA} will get the errors."
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
    assert "none: it contains no new delta" in html
    assert "opus 0" not in html


def test_a_button_that_would_do_nothing_says_so(operator: Operator) -> None:
    assert DISABLED not in operator.html(operator.form(compile_forms.COMPILE_ACTION))
    compile_thread(operator.workspace, THREAD, CompileOptions())
    page = operator.form(compile_forms.COMPILE_ACTION)
    assert DISABLED in operator.html(page)
    assert "Update preview" in operator.html(page)
    position = str(cast("Json", page.document["preview"])["position"])
    again = operator.again(compile_forms.COMPILE_ACTION, {"position": position})
    assert "No changes were made." in operator.html(again)
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
    commit = git(operator.workspace.project.folder, "rev-parse", "HEAD")[:12]
    html = operator.html(page)
    assert f"v2 is committed in <code>{commit}</code>, but the file contains manual changes" in html
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
    assert "Result of the earlier form" in operator.html(page)
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
    "code",
    [
        *("SESSION_CLOSED", "MISSING_ROSTER_ENTRY", "NOT_A_REPOSITORY", "ARTIFACT_FILE_FOREIGN"),
        "THREAD_MOVED",
    ],
)
def test_a_fix_names_what_the_form_has(code: str) -> None:
    known = CATALOGUE[code]
    assert "--" in known.fix
    assert "--" not in form_fix({"id": code, "fix": known.fix})


def test_parts_of_sentences_are_called_as_the_form_calls_them() -> None:
    known = CATALOGUE
    assert "untick “Commit the file”" in form_words(known["ARTIFACT_IGNORED"].fix)
    assert "--" not in form_words(known["NO_PUSH_DESTINATION"].message)
    assert "--" not in form_words(known["COMMIT_DIFFERS"].fix)


@pytest.mark.parametrize(
    "code", ["GIT_FAILED", "STORE_FULL", "STORE_BUSY", "COMPILE_OVERTAKEN", "KICKOFF_INCOMPLETE"]
)
def test_a_form_is_sent_again_instead_of_a_command(code: str) -> None:
    fix = form_fix({"id": code, "fix": CATALOGUE[code].fix})
    assert "command" in CATALOGUE[code].fix
    assert "command" not in fix
    assert "ry again" in fix or "The same form" in fix


def test_a_reworded_fix_keeps_the_suggestion() -> None:
    found = CATALOGUE["UNKNOWN_RECIPIENT"].at(
        name="BleuLake", argument="BleuLake", suggestion=did_you_mean("BlueLake")
    )
    assert form_fix(found.to_json()) == (
        "Correct the name, or let the agent register first. Did you mean `BlueLake`?"
    )


def test_every_replaced_phrase_occurs() -> None:
    words = tomllib.loads(resources.files("brenner.web").joinpath("form_words.toml").read_text())
    fixes = "\n".join(code.fix for code in CATALOGUE.values())
    advice = "\n".join(Path(str(each.__file__)).read_text("utf-8") for each in (commit, persist))
    assert [each for each in words["phrases"] if each not in fixes + advice] == []


@pytest.mark.parametrize(
    "code", ["UNKNOWN_THREAD", "LINK_EXPIRED", "NOT_LOGGED_IN", "CONFLICTING_EDIT", "VOID_VERSION"]
)
def test_the_fix_of_an_error_page_is_no_command(code: str) -> None:
    """The page has a link instead."""
    known = CATALOGUE[code]
    assert "`brenner" in known.fix
    assert "`" not in page_fix({"id": code, "fix": known.fix})


def test_all_reworded_fixes_are_of_known_codes() -> None:
    words = tomllib.loads(resources.files("brenner.web").joinpath("form_words.toml").read_text())
    assert [
        code for part in ("fixes", "pages") for code in words[part] if code not in CATALOGUE
    ] == []


@pytest.mark.parametrize(
    ("fix", "shown"),
    [
        ("Free space, then repeat the command. All is safe.", "Free space. All is safe."),
        ("Check the server. Then run the command again.", "Check the server."),
        ("Repeat the command. If not, ask.", "Reload the page. If not, ask."),
    ],
)
def test_the_fix_of_an_unavailable_store_repeats_no_command(fix: str, shown: str) -> None:
    assert without_command(fix) == shown
