"""JSON requests of scripts to the lab: what is not understood does nothing, and says so."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from brenner.diagnostics.codes.stores import OUTCOME_UNKNOWN, SERVER_UNREACHABLE
from brenner.diagnostics.model import RequestError, UnavailableError, UnknownOutcomeError
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web.lab import compile as persisting
from brenner.web.lab import decide, messages, start
from brenner.web.lab import routes as acting
from brenner.web.lab.actions import Action, ActionResult
from brenner.web.lab.cancel import CANCEL_ACTION
from brenner.web.lab.compile import COMPILE_ACTION, COMPLETE_ACTION
from brenner.web.lab.routes import ACTIONS
from brenner.web.request import Page, parse_form, parse_json
from operator_workspace import SETTINGS
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, kickoff, new_workspace
from web.lab_visits import Meddling, Operator

if TYPE_CHECKING:
    from brenner.mail.mailbox import Mailbox

Json = dict[str, Any]
WRONG, CONFLICT, AWAY = 422, 409, 503
NO_NUMBERS: tuple[object, ...] = (2.0, "2x", "", None, True, -1, [2], {})
ROLES = ("hypothesis_generator", "test_designer")
ROWS = {
    "agent.1.name": ANN,
    "agent.1.role": ROLES[0],
    "agent.2.name": BEA,
    "agent.2.role": ROLES[1],
    "mode": "role_separated",
}
ROSTER = [{"agentName": name, "role": role} for name, role in zip((ANN, BEA), ROLES, strict=True)]
LETTER = {"to": [ANN], "subject": "INFO: By a script", "body": "Hello."}
CRITIQUE = {
    "to": [ANN],
    "title": "Too simple",
    "target": "H1",
    "severity": "Major",
    "attack": "It explains everything.",
    "evidence": "None.",
}
START = {
    "question": "How do cells know their fate?",
    "context": "Cells that look alike become different.",
    "thread_id": "RS-20261116-other",
    "excerpt": "§42: the cells count.",
}


_ROW = re.compile(r"\| `/lab/sessions/THREAD/(\w+)` \| (.*) \|")


def test_the_documentation_has_every_key() -> None:
    """Of every action that scripts can ask for."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "server.md").read_text("utf-8")
    rows = {name: set(re.findall(r"`([\w.]+)`", keys)) for name, keys in _ROW.findall(text)}
    assert rows["complete"] == {"conclusion", "anyway"}  # and "the same"
    rows["complete"] |= rows["compile"]
    rows["persist"].remove("message_id")  # as the answer calls it
    taken = {each.name: each.schema for each in ACTIONS if each.schema}
    assert rows == {name: set(takes) - {"dry_run"} for name, takes in taken.items()}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A session with one version, something new to compile, and a question to the operator."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    with new_workspace(tmp_path) as here:
        kickoff(here)
        contribute(here, ANN, add("Gradient"))
        compile_thread(here, THREAD, CompileOptions())
        contribute(here, BEA, add("Clock"), edit("H99", claim="None"), base="v1")
        to = (here.project.operator,)
        body = "## Question\nHow long?\n"
        here.mailbox.send(Message(THREAD, BEA, to, "QUESTION: How long?", body))
        yield here


@pytest.fixture
def operator(workspace: Workspace) -> Operator:
    return Operator(workspace, THREAD)


def state(workspace: Workspace) -> tuple[int, bool]:
    """How much mail there is, and whether anything was persisted."""
    return workspace.mailbox.position(), (workspace.project.folder / "artifacts").exists()


def page_of(answer: ActionResult | Page) -> Page:
    assert isinstance(answer, Page), answer
    return answer


def found(page: Page) -> list[str]:
    violations = page.document["violations"]
    assert isinstance(violations, list)
    return [each["id"] for each in violations]


GOOD: tuple[tuple[Action, Mapping[str, object]], ...] = (
    (COMPILE_ACTION, {}),
    (COMPLETE_ACTION, {}),
    (CANCEL_ACTION, {"reason": "Answered elsewhere."}),
    (persisting.PERSIST_ACTION, {}),
    (messages.REPLY_ACTION, LETTER),
    (messages.ACKNOWLEDGE_ACTION, {"message": 5}),
    (messages.CRITIQUE_ACTION, CRITIQUE),
    (start.NEXT_ROUND_ACTION, ROWS),
    (decide.DISMISS_ACTION, {"block": "4.2", "reason": "A typo."}),
    (decide.CHANGE_ACTION, {"item": "H1", "field": "claim", "value": "It acts from afar"}),
    (start.START_ACTION, {**START, "roster": ROSTER}),
)


def test_every_action_is_tried_here() -> None:
    """But the two that need an overdue ACK and a cancellation: see test_lab_decide."""
    tried = {action.name for action, _ in GOOD} | {"remind", "reopen"}
    assert tried == {action.name for action in ACTIONS}


@pytest.mark.parametrize(("action", "said"), GOOD, ids=lambda each: getattr(each, "name", ""))
def test_a_dry_run_does_nothing(
    operator: Operator, action: Action, said: Mapping[str, object]
) -> None:
    """The same without it does something; so it was the dry run that kept it from that."""
    before = state(operator.workspace)
    page = page_of(operator.request(action, {**said, "dry_run": True, "once": "k"}))
    assert page.status == 200, page.document
    assert state(operator.workspace) == before
    done = operator.request(action, {**said, "dry_run": False, "once": "k"})
    assert isinstance(done, ActionResult), done.document
    assert done.is_done
    assert state(operator.workspace) != before


@pytest.mark.parametrize(("action", "said"), GOOD, ids=lambda each: getattr(each, "name", ""))
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"dryrun": True}, "UNKNOWN_ARGUMENT"),
        ({"then": "add"}, "UNKNOWN_ARGUMENT"),
        ({"dry_run": "true"}, "WRONG_ARGUMENT_TYPE"),
        ({"dry_run": 1}, "WRONG_ARGUMENT_TYPE"),
        ({"once": 7}, "WRONG_ARGUMENT_TYPE"),
    ],
)
def test_what_nobody_reads_is_refused(
    operator: Operator, action: Action, said: Mapping[str, object], more: Json, code: str
) -> None:
    before = state(operator.workspace)
    page = page_of(operator.request(action, {**said, **more}))
    assert (page.status, code in found(page)) == (WRONG, True)
    assert state(operator.workspace) == before


@pytest.mark.parametrize(
    ("action", "said"),
    [
        *((COMPILE_ACTION, {"position": each}) for each in NO_NUMBERS),
        *(
            (COMPILE_ACTION, {name: "false"})
            for name in ("strict", "reopen", "notify", "commit", "push")
        ),
        (COMPILE_ACTION, {"persist": 1}),
        (COMPILE_ACTION, {"version": 1}),
        (COMPLETE_ACTION, {"position": "first"}),
        *((persisting.PERSIST_ACTION, {"version": each}) for each in ("7x", 1.0, None, "v1")),
        *(
            (persisting.PERSIST_ACTION, {name: "no"})
            for name in ("commit", "push", "archive", "force")
        ),
        (start.NEXT_ROUND_ACTION, {**ROWS, "base": "1."}),
        (start.NEXT_ROUND_ACTION, {**ROWS, "reopen": "no"}),
        (start.NEXT_ROUND_ACTION, {**ROWS, "preset": "default-3-agent"}),
        (start.NEXT_ROUND_ACTION, {**ROWS, "agent.1.role": ["critic"]}),
        (start.NEXT_ROUND_ACTION, {**ROWS, "agent.4.name": "GreenDog"}),
        (start.NEXT_ROUND_ACTION, {**ROWS, "agent.51.name": "GreenDog"}),
        (messages.REPLY_ACTION, {**LETTER, "to": {"name": ANN}}),
        (messages.REPLY_ACTION, {**LETTER, "to": [1]}),
        (messages.REPLY_ACTION, {**LETTER, "message": "last"}),
        (messages.REPLY_ACTION, {**LETTER, "acknowledge": "no"}),
        (messages.REPLY_ACTION, {**LETTER, "ack": "never"}),
        (messages.CRITIQUE_ACTION, {**CRITIQUE, "attack": None, "evidence": 3}),
        (messages.ACKNOWLEDGE_ACTION, {"message": [5, "x"]}),
        (messages.ACKNOWLEDGE_ACTION, {"message": 5.0}),
    ],
)
def test_guards_and_boxes_that_cannot_be_read(
    operator: Operator, action: Action, said: Mapping[str, object]
) -> None:
    """None of them counts as one that is not there."""
    before = state(operator.workspace)
    page = page_of(operator.request(action, said))
    known = {"UNKNOWN_ARGUMENT", "WRONG_ARGUMENT_TYPE", "MISSING_ARGUMENT"}
    assert (page.status, bool(known & set(found(page)))) == (WRONG, True)
    assert page.document["valid"] is False
    assert state(operator.workspace) == before


@pytest.mark.parametrize(
    ("action", "said"),
    [
        *((COMPILE_ACTION, {"position": each}) for each in ("5x", "5.0", "", "९")),
        *((COMPILE_ACTION, {"position": "5", "commit": each}) for each in ("no", "false", "on")),
        *((persisting.PERSIST_ACTION, {"version": each}) for each in ("7x", "", "v1")),
        (persisting.PERSIST_ACTION, {"version": "1", "push": "no"}),
        (start.NEXT_ROUND_ACTION, {**ROWS, "base": "x"}),
    ],
)
def test_the_same_in_forms(operator: Operator, action: Action, said: Mapping[str, str]) -> None:
    before = state(operator.workspace)
    page = operator.again(action, said)
    assert cast("Json", page.document["fault"])["id"] == "FORM_UNREADABLE"
    assert page.status == CONFLICT
    assert state(operator.workspace) == before


def test_numbers_as_text_are_understood(operator: Operator) -> None:
    done = operator.request(COMPILE_ACTION, {"position": "5", "commit": False, "strict": None})
    assert isinstance(done, ActionResult), done.document
    assert done.document["version"] == 2
    assert isinstance(operator.request(persisting.PERSIST_ACTION, {"version": "2"}), ActionResult)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (COMPILE_ACTION, {"position": 4}),
        (persisting.PERSIST_ACTION, {"version": 7}),
        (start.NEXT_ROUND_ACTION, {**ROWS, "base": 7}),
    ],
)
def test_a_dry_run_minds_the_guard(
    operator: Operator, action: Action, said: Mapping[str, object]
) -> None:
    contribute(operator.workspace, ANN, add("Late"), base="v1")
    page = page_of(operator.request(action, {**said, "dry_run": True}))
    assert page.status in (WRONG, CONFLICT)


def test_a_preview_minds_the_keys(operator: Operator) -> None:

    form, sent = parse_json(b'{"strict": "false"}')
    visit = acting.with_key(operator.visit()._replace(form=form, sent=sent), is_script=True)
    page = acting.preview_page(COMPILE_ACTION, visit, is_part=False)
    assert (page.status, found(page)) == (WRONG, ["WRONG_ARGUMENT_TYPE"])


def test_false_says_that_no_ack_is_wanted(operator: Operator) -> None:
    question = {"subject": "QUESTION: Why?", "body": "## Question\nWhy?\n"}
    for said, wanted in ((False, False), (True, True), ("no", False)):
        done = operator.request(messages.REPLY_ACTION, {**LETTER, **question, "ack": said})
        assert isinstance(done, ActionResult), done.document
        stored = operator.workspace.mailbox.thread(THREAD).messages[-1]
        assert stored.message.ack_required is wanted


# Once


def test_a_key_sees_what_is_nested(operator: Operator) -> None:
    """Another roster under the same key is another request, and nobody is told that it was sent."""
    said = [{**START, "roster": [{"agentName": ANN, "role": role}], "once": "k"} for role in ROLES]
    first = operator.request(start.START_ACTION, said[0])
    assert isinstance(first, ActionResult), first.document
    other = page_of(operator.request(start.START_ACTION, said[1]))
    assert other.status == CONFLICT
    assert cast("Json", other.document["fault"])["id"] == "FORM_CHANGED"
    turned = dict(reversed(said[0].items()))
    assert operator.request(start.START_ACTION, turned) is first


def failing(operator: Operator, at: int, error: Exception) -> None:
    """From now on the mailbox fails at one message."""

    def fail(count: int) -> None:
        if count == at:
            raise error

    mailbox = cast("Mailbox", Meddling(operator.workspace.mailbox, fail))
    operator.site = operator.site._replace(workspace=operator.workspace._replace(mailbox=mailbox))


def away() -> UnavailableError:
    words = {"where": "The store", "reason": "it is away", "advice": "Wait"}
    return UnavailableError(SERVER_UNREACHABLE.at(None, **words))


@pytest.mark.parametrize(
    ("action", "said"),
    [(start.NEXT_ROUND_ACTION, ROWS), (start.START_ACTION, {**START, "roster": ROSTER})],
)
def test_what_is_sent_in_part_is_no_success(
    operator: Operator, action: Action, said: Mapping[str, object]
) -> None:
    before = operator.workspace.mailbox.position()
    failing(operator, 2, away())
    page = page_of(operator.request(action, said))
    assert operator.workspace.mailbox.position() == before + 1
    assert (page.status, "KICKOFF_INCOMPLETE" in found(page)) == (AWAY, True)
    again = operator.request(action, said)
    assert isinstance(again, ActionResult), again.document
    assert operator.workspace.mailbox.position() == before + 2


def test_after_an_answer_that_got_lost_the_form_is_good(operator: Operator) -> None:
    """The version was published. The form that comes back is of the thread as it is now; under the
    old key it would be refused each time.
    """
    mailbox = operator.workspace.mailbox
    send = mailbox.send

    class Losing(Meddling):
        def send(self, *arguments: object, **options: object) -> object:
            send(*arguments, **options)  # type: ignore[arg-type]
            words = {"where": "The store", "reason": "it is away", "what": "the message"}
            raise UnknownOutcomeError(OUTCOME_UNKNOWN.at(None, **words))

    sound = operator.site
    key = str(operator.form(COMPILE_ACTION).document["once"])
    losing = cast("Mailbox", Losing(mailbox, lambda _: None))
    operator.site = sound._replace(workspace=operator.workspace._replace(mailbox=losing))
    page = operator.again(COMPILE_ACTION, {"position": "5"}, key)
    operator.site = sound
    assert (page.status, mailbox.thread(THREAD).position) == (AWAY, 6)
    assert page.document["once"] != key
    contribute(operator.workspace, ANN, add("Late"), base="v2")
    page = operator.again(COMPILE_ACTION, {"position": "6"}, str(page.document["once"]))
    assert cast("Json", page.document["fault"])["id"] != "FORM_CHANGED"
    seen = cast("Json", page.document["preview"])
    fields = {"position": str(seen["position"])}
    done = operator.done(COMPILE_ACTION, fields, str(page.document["once"]))
    assert done.document["version"] == 3


def test_the_same_form_keeps_its_key(operator: Operator) -> None:
    """What comes back for another reason than news is the form that it was."""
    key = str(operator.form(COMPILE_ACTION).document["once"])
    page = operator.again(COMPILE_ACTION, {"position": "5", "commit": "yes"}, key)
    assert page.document["once"] == key


# What cannot be read at all


@pytest.mark.parametrize(
    "body",
    [
        b'{"body": "\\ud83d"}',
        b'{"\\udc80": 1}',
        b'{"a": {"b": ["\\ud800"]}}',
        b'{"dry_run": true, "dry_run": false}',
        b'{"position": NaN}',
        b'{"position": Infinity}',
    ],
)
def test_unreadable_objects(body: bytes) -> None:
    with pytest.raises(RequestError) as refused:
        parse_json(body)
    assert refused.value.diagnostic.id == "FORM_UNREADABLE"


def test_a_form_without_a_key(operator: Operator) -> None:

    visit = operator.visit()._replace(form=parse_form(b"to=BlueLake&subject=INFO%3A+x&body=y"))
    page = page_of(acting.submit(messages.REPLY_ACTION, visit))
    assert cast("Json", page.document["fault"])["id"] == "FORM_UNKNOWN"
    assert page.status == CONFLICT


def test_registering_is_tried_too(operator: Operator) -> None:
    """A dry run makes nobody known."""
    said = {
        **ROWS,
        "agent.3.name": "GreenDog",
        "agent.3.role": ROLES[1],
        "register": True,
        "dry_run": True,
    }
    page = page_of(operator.request(start.NEXT_ROUND_ACTION, said))
    assert page.status == 200, page.document
    names = [each.name for each in operator.workspace.mailbox.agents()]
    assert "GreenDog" not in names
