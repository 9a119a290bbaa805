"""Starting a session in the lab: the form, its preview, what is sent, and the same as JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from click.testing import CliRunner

from brenner.cli.main import cli
from brenner.diagnostics.codes.mail import SENT_TO_NOBODY
from brenner.diagnostics.model import UnavailableError
from brenner.services.workspace import Workspace, workspace_in
from brenner.web.lab.actions import ActionResult
from brenner.web.lab.start import START_ACTION
from brenner.web.request import Page
from operator_workspace import SETTINGS, workspace
from session.workspaces import project_in
from web.lab_visits import Meddling, Operator, fields_of, violations

if TYPE_CHECKING:
    from brenner.mail.mailbox import Mailbox

__all__ = ["workspace"]

HYPOTHESES, TESTS, CRITIC = "hypothesis_generator", "test_designer", "adversarial_critic"
TYPED = {
    "question": "How do cells know their fate?",
    "context": "Cells that look alike become different.\nTransplants behave in two ways.",
    "excerpt": "§42: the cells count.",
    "hypotheses": "H: place\nH: descent",
    "constraints": "Two weeks",
    "outputs": "Three hypotheses",
    "title": "Cell fate",
    "mode": "role_separated",
    "roster_name": "Ours",
    "agent.1.name": "BlueLake",
    "agent.1.role": HYPOTHESES,
    "agent.1.program": "codex-cli",
    "agent.1.model": "GPT-5.2",
    "agent.1.notes": "quick",
    "agent.2.name": "RedSky",
    "agent.2.role": TESTS,
}
ROSTER = """
[[roster.entries]]
agentName = "RedSky"
role = "adversarial_critic"
program = "gemini-cli"
"""


def desk_of(folder: Path) -> Workspace:
    """The operator in a project whose file says something of rosters."""
    return workspace_in(project_in(folder), None, create=True)


@pytest.fixture
def operator(workspace: Workspace) -> Operator:
    return Operator(workspace)


def mail(workspace: Workspace) -> list[tuple[str, tuple[str, ...]]]:
    """Every message: its thread and its recipients."""
    threads = [each.thread_id for each in workspace.mailbox.threads()]
    return [
        (thread, stored.message.recipients)
        for thread in threads
        for stored in workspace.mailbox.thread(thread).messages
    ]


# The form


def test_the_form_begins_with_the_roles_of_the_default_preset(operator: Operator) -> None:
    page = operator.form(START_ACTION)
    rows = cast("list[dict[str, str]]", page.document["agents"])
    assert [(row["name"], row["role"]) for row in rows] == [
        ("", HYPOTHESES),
        ("", TESTS),
        ("", CRITIC),
    ]
    assert page.document["roles"] == [HYPOTHESES, TESTS, CRITIC]
    assert page.document["preview"] is None
    assert page.document["violations"] == []


def test_the_form_begins_with_the_roster_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "brenner.toml").write_text(ROSTER, "utf-8")
    with desk_of(tmp_path) as workspace:
        rows = cast(
            "list[dict[str, str]]", Operator(workspace).form(START_ACTION).document["agents"]
        )
    assert [(row["name"], row["role"], row["program"]) for row in rows] == [
        ("RedSky", CRITIC, "gemini-cli")
    ]


@pytest.mark.parametrize(
    ("then", "names", "focus"),
    [
        ("add", ["BlueLake", "RedSky", ""], "agent.3.name"),
        ("drop.1", ["RedSky"], "agent.1.name"),
        ("drop.9", ["BlueLake", "RedSky"], "agent.2.name"),
        ("preset", ["BlueLake", "RedSky", ""], "agent.1.name"),
    ],
)
def test_buttons_of_the_roster_send_nothing_and_lose_nothing(
    operator: Operator, then: str, names: list[str], focus: str
) -> None:
    fields = TYPED | {"preset": "default-3-agent"}
    page = operator.again(START_ACTION, {**fields, "then": then})
    rows = cast("list[dict[str, str]]", page.document["agents"])
    assert ([row["name"] for row in rows], page.document["focus"]) == (names, focus)
    texts = {name: text for name, text in TYPED.items() if "." not in name}
    kept = fields_of(page)
    if then == "preset":
        assert kept["roster_name"] == "Default 3-Agent Setup"
        texts.pop("roster_name")
    assert {name: kept.get(name) for name in texts} == texts
    assert mail(operator.workspace) == []


def test_what_comes_back_is_what_was_typed(operator: Operator) -> None:
    page = operator.again(START_ACTION, TYPED | {"agent.2.name": "no name"})
    assert fields_of(page) | {"preset": ""} == {
        **{f"agent.2.{key}": "" for key in ("program", "model", "notes")},
        **TYPED,
        "agent.2.name": "no name",
        "preset": "",
    }


# What is wrong


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"question": " \n "}, ("FIELD_EMPTY", "question")),
        ({"context": ""}, ("FIELD_EMPTY", "context")),
        ({"sections": "42"}, ("FIELDS_CONTRADICT", "sections")),
        ({"excerpt": "", "sections": "42"}, ("NO_SOURCE_TEXT", "sections")),
        ({"agent.2.name": "Red Sky"}, ("INVALID_AGENT_NAME", "agent.2.name")),
        ({"agent.2.name": "BlueLake"}, ("DUPLICATE_AGENT", "agent.2.name")),
        ({"agent.2.name": ""}, ("FIELD_EMPTY", "agent.2.name")),
        ({"agent.2.role": "boss"}, ("INVALID_ROLE", "agent.2.role")),
        ({"agent.2.role": ""}, ("MISSING_ROSTER_ENTRY", "agent.2.role")),
        ({"mode": "chaos"}, ("UNKNOWN_ROSTER_MODE", "agents")),
        ({"thread_id": "RS-1"}, ("INVALID_RS_THREAD_ID", "thread_id")),
    ],
)
def test_faults_stand_beside_their_fields_and_nothing_is_sent(
    operator: Operator, changes: dict[str, str], found: tuple[str, str]
) -> None:
    page = operator.again(START_ACTION, TYPED | changes)
    assert page.status == 422
    assert found in violations(page)
    assert mail(operator.workspace) == []
    html = operator.html(page)
    assert html.count(f'<a href="#{found[1]}">') == 1
    assert html.index('id="faults"') < html.index('<form id="action"')
    assert f'id="{found[1]}"' in html
    assert f'id="at-{found[1].replace(".", "-")}"><p class="wrong-here error">' in html


def test_whoever_names_nobody_does_not_mean_the_whole_project(tmp_path: Path) -> None:
    (tmp_path / "brenner.toml").write_text(ROSTER, "utf-8")
    nobody = {name: text for name, text in TYPED.items() if "." not in name}
    with desk_of(tmp_path) as workspace:
        page = Operator(workspace).again(START_ACTION, nobody)
        assert violations(page) == [(SENT_TO_NOBODY.id, "agents")]
        assert mail(workspace) == []


# The sources of the roster (R20)


def roles_sent(done: ActionResult) -> dict[str, str]:
    kickoffs = cast("list[dict[str, Any]]", done.document["kickoffs"])
    return {each["to"][0]: each["role"] for each in kickoffs}


def test_a_role_of_the_form_beats_the_project_and_an_empty_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "brenner.toml").write_text(ROSTER, "utf-8")
    with desk_of(tmp_path) as workspace:
        operator = Operator(workspace)
        beats = operator.preview(START_ACTION, TYPED)
        leaves = operator.preview(START_ACTION, TYPED | {"agent.2.role": ""})
    for seen, role, program in ((beats, TESTS, None), (leaves, CRITIC, "gemini-cli")):
        entries = cast("dict[str, Any]", seen["started"])["roster"]["entries"]
        entry = next(each for each in entries if each["agentName"] == "RedSky")
        assert (entry["role"], entry.get("program")) == (role, program)


def test_the_environment_beats_the_form_and_that_is_said(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = json.dumps([{"agentName": "RedSky", "role": CRITIC}])
    monkeypatch.setenv("BRENNER_ROSTER", beats)
    seen = operator.preview(START_ACTION, TYPED)
    found = cast("list[dict[str, str]]", seen["violations"])
    [told] = [each for each in found if each["id"] == "ROSTER_VALUE_OVERRIDDEN"]
    assert "`test_designer` for RedSky from the session has no effect" in told["message"]
    assert roles_sent(operator.done(START_ACTION, TYPED)) == {
        "BlueLake": HYPOTHESES,
        "RedSky": CRITIC,
    }


def test_one_prompt_for_all_needs_no_roles(operator: Operator) -> None:
    same = TYPED | {"mode": "unified", "agent.1.role": "", "agent.2.role": ""}
    done = operator.done(START_ACTION, same)
    [kickoff] = cast("list[dict[str, Any]]", done.document["kickoffs"])
    assert (kickoff["to"], kickoff["role"]) == (["BlueLake", "RedSky"], None)


# Preview and sending


def test_the_preview_is_the_dry_run(operator: Operator) -> None:
    seen = operator.preview(START_ACTION, TYPED)
    started = cast("dict[str, Any]", seen["started"])
    assert started["status"] == "dry_run"
    assert started["thread_id"] == "RS-20261116-cells-know-fate"
    assert [each["to"] for each in started["kickoffs"]] == [["BlueLake"], ["RedSky"]]
    assert "## Your Role" in started["kickoffs"][0]["body"]
    assert seen["would"] == (
        "Sends 2 kickoffs to BlueLake and RedSky in RS-20261116-cells-know-fate, and registers "
        "BlueLake and RedSky."
    )
    assert mail(operator.workspace) == []
    assert [agent.name for agent in operator.workspace.mailbox.agents()] == ["Operator"]
    sent = operator.done(START_ACTION, TYPED)
    kickoffs = cast("list[dict[str, Any]]", sent.document["kickoffs"])
    assert [each["body"] for each in kickoffs] == [each["body"] for each in started["kickoffs"]]


def test_a_form_is_sent_once(operator: Operator) -> None:
    key = operator.login.once.key()
    first = operator.done(START_ACTION, TYPED, key)
    assert operator.done(START_ACTION, TYPED, key) is first
    assert first.says == ("Sent 2 kickoffs to BlueLake and RedSky in RS-20261116-cells-know-fate.")
    assert len(mail(operator.workspace)) == 2
    another = operator.done(START_ACTION, TYPED)  # as from a second tab
    assert another.says.startswith("Nothing was sent")
    assert len(mail(operator.workspace)) == 2
    assert [each.envelope.trust for each in _stored(operator.workspace)] == ["verified", "verified"]


def test_who_was_asked_before_and_is_not_in_the_roster_any_more_is_named(
    operator: Operator,
) -> None:
    """More agents are asked; the roster that is told last is the session's own."""
    operator.done(START_ACTION, TYPED)
    one = {name: value for name, value in TYPED.items() if not name.startswith("agent.")}
    more = one | {"agent.1.name": "GreenDog", "agent.1.role": "adversarial_critic"}
    seen = operator.preview(START_ACTION, more)
    found = {each["id"]: each for each in cast("list[dict[str, Any]]", seen["violations"])}
    told = found["LEFT_OUT_OF_ROSTER"]
    assert "BlueLake and RedSky took part in this session before" in told["message"]
    whole = TYPED | {"agent.3.name": "GreenDog", "agent.3.role": "adversarial_critic"}
    found = operator.preview(START_ACTION, whole)["violations"]  # type: ignore[assignment]
    assert "LEFT_OUT_OF_ROSTER" not in [each["id"] for each in found]
    assert operator.done(START_ACTION, whole).document["status"] == "sent"
    assert len(mail(operator.workspace)) == 3


def test_a_thread_that_somebody_else_has_taken_meanwhile_is_shown_first(
    operator: Operator,
) -> None:
    """What is sent goes where the preview said."""
    seen = operator.preview(START_ACTION, TYPED)
    fields = TYPED | {name: str(seen[name]) for name in ("seen", "seen_of")}
    thread = "RS-20261116-cells-know-fate"
    operator.done(START_ACTION, TYPED | {"question": "Do cells know fate?", "thread_id": thread})
    page = operator.again(START_ACTION, fields)
    assert cast("dict[str, Any]", page.document["fault"])["id"] == "KICKOFFS_OVERTAKEN"
    assert len(mail(operator.workspace)) == 2
    after = cast("dict[str, Any]", page.document["preview"])
    assert after["started"]["thread_id"] == f"{thread}-2"
    again = TYPED | {name: after[name] for name in ("seen", "seen_of")}
    assert operator.done(START_ACTION, again).document["thread_id"] == f"{thread}-2"


def _stored(workspace: Workspace) -> list[Any]:
    return list(workspace.mailbox.thread("RS-20261116-cells-know-fate").messages)


def test_a_kickoff_that_breaks_off_says_who_has_got_it(operator: Operator) -> None:
    def fail_second(count: int) -> None:
        if count == 2:
            raise UnavailableError(SENT_TO_NOBODY.at())

    healthy = operator.workspace
    broken = cast("Mailbox", Meddling(healthy.mailbox, fail_second))
    operator.site = operator.site._replace(workspace=healthy._replace(mailbox=broken))
    key = operator.login.once.key()
    page = operator.again(START_ACTION, TYPED, key)
    partly = cast("dict[str, Any]", page.document["partly"])
    assert [each["status"] for each in partly["became"]] == ["sent", "not_sent"]
    assert "Not all kickoffs were sent." in operator.html(page)
    kept = fields_of(page)
    assert kept["thread_id"] == "RS-20261116-cells-know-fate"
    done = operator.done(START_ACTION, kept, key)  # the store is back: what is missing goes out
    assert [to for _, to in mail(healthy)] == [("BlueLake",), ("RedSky",)]
    assert done.is_done


def test_while_the_store_is_away_nothing_typed_is_lost(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise UnavailableError(SENT_TO_NOBODY.at())

    for name in ("send", "threads", "agents", "thread", "thread_arrivals"):
        monkeypatch.setattr(type(operator.workspace.mailbox), name, away)
    page = operator.again(START_ACTION, TYPED)
    assert page.status == 503
    assert page.document["fault"] is not None
    assert fields_of(page)["context"] == TYPED["context"]


def test_hostile_texts_stay_texts(operator: Operator) -> None:
    # A product that no random token of the page contains by chance, as "49" once was.
    harm = '"><script>alert(1)</script>{{ 1234567*7654321 }}</textarea>\u202e'
    page = operator.again(START_ACTION, dict.fromkeys(TYPED, harm))
    html = operator.html(page)
    assert "<script>alert" not in html
    assert str(1234567 * 7654321) not in html


# The same as JSON


REQUEST: dict[str, object] = {
    "question": TYPED["question"],
    "context": TYPED["context"],
    "excerpt": TYPED["excerpt"],
    "title": "Cell fate",
    "thread_id": "RS-20261116-cell-fate",
    "roster": {
        "name": "Ours",
        "entries": [
            {"agentName": "BlueLake", "role": HYPOTHESES, "program": "codex-cli"},
            {"agentName": "RedSky", "role": TESTS},
        ],
    },
}


def test_a_request_answers_as_the_command_line_does(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    twin = tmp_path / "twin"
    twin.mkdir()
    excerpt = twin / "excerpt.md"
    excerpt.write_text(TYPED["excerpt"], "utf-8")
    said = ["--question", TYPED["question"], "--context", TYPED["context"], "--json"]
    said += ["--excerpt-file", str(excerpt), "--title", "Cell fate", "--project", str(twin)]
    said += ["--thread-id", "RS-20261116-cell-fate", "--roster", json.dumps(REQUEST["roster"])]
    ran = CliRunner().invoke(cli, ["session", "start", *said])
    assert ran.exit_code == 0, ran.output
    answer = operator.request(START_ACTION, REQUEST)
    assert isinstance(answer, ActionResult)
    expected = json.loads(ran.output)
    assert expected.pop("created_project") is None  # it was named; a server has one already
    assert {key: answer.document[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"contxt": "x"}, "UNKNOWN_ARGUMENT"),
        ({"question": None}, "FIELD_EMPTY"),
        ({"question": 7}, "WRONG_ARGUMENT_TYPE"),
        ({"dry_run": "no"}, "WRONG_ARGUMENT_TYPE"),
        ({"recipients": "BlueLake"}, "WRONG_ARGUMENT_TYPE"),
        ({"sections": "42"}, "FIELDS_CONTRADICT"),
        ({"bead": "br-7"}, "FIELDS_CONTRADICT"),
        ({"roster": [{"agentName": "BlueLake"}]}, "MALFORMED_ROSTER"),
        ({"roster": {"entries": [], "mode": "role_separated"}}, "EMPTY_ROSTER"),
        ({"recipients": ["GreenDog"]}, "MISSING_ROSTER_ENTRY"),
    ],
)
def test_a_request_with_a_slip_sends_nothing(
    operator: Operator, changes: dict[str, object], found: str
) -> None:
    answer = operator.request(START_ACTION, REQUEST | changes)
    assert isinstance(answer, Page)
    document = cast("dict[str, Any]", answer.document)
    assert answer.status == 422
    assert found in [each["id"] for each in document["violations"]]
    assert (document["status"], document["valid"]) == ("refused", False)
    assert mail(operator.workspace) == []


def test_a_request_can_be_a_dry_run(operator: Operator) -> None:
    answer = operator.request(START_ACTION, REQUEST | {"dry_run": True, "once": "a-key"})
    assert isinstance(answer, Page)
    assert (answer.status, answer.document["status"]) == (200, "dry_run")
    assert mail(operator.workspace) == []


def test_a_preset_gives_its_places_to_the_recipients_of_a_request(operator: Operator) -> None:
    names = ["BlueLake", "RedSky", "GreenDog"]
    wish = {key: value for key, value in REQUEST.items() if key != "roster"}
    answer = operator.request(
        START_ACTION, {**wish, "preset": "default-3-agent", "recipients": names}
    )
    assert isinstance(answer, ActionResult)
    assert roles_sent(answer) == dict(zip(names, (HYPOTHESES, TESTS, CRITIC), strict=True))
