"""The tools with which agents come in: shapes as Agent Mail has them, names, secrets, files."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.mcp.tool import ToolResult
from brenner.services.identity import has_secret, renew_secret
from serving.breaking import lost_after
from serving.calls import NO_SECRETS, OPERATOR, Place, place, refusal_of, value_of

SELF = {"program": "claude-code", "model": "opus"}
OTHER = {"program": "codex", "model": "gpt"}
GIVEN, START = "registration_token", "macro_start_session"
RESERVING = {START: {"file_reservation_paths": ["src/x.py"]}}
# As recorded of mcp_mail 0.1.19
AGENT_KEYS = (
    *("id", "name", "program", "model", "task_description", "inception_ts", "last_active_ts"),
    *("project_id", "attachments_policy", "contact_policy", "is_active", "deleted_ts"),
    "is_placeholder",
)


def secret_of(answer: ToolResult) -> str:
    """The secret that came with a name."""
    value = value_of(answer)
    secret = value.get(GIVEN)
    assert isinstance(secret, str)
    return secret


def names_in(scene: Place) -> set[str]:
    """Everybody who is known."""
    return {agent.name for agent in scene.mailbox.agents()}


def test_first_registration_returns_the_secret_once() -> None:
    """The reply has the form of Agent Mail."""
    scene = place()
    answer = scene.ask("register_agent", name="BlueLake", task_description="test", **SELF)
    value = value_of(answer)
    assert tuple(value) == (*AGENT_KEYS, "verified", GIVEN, "note")
    assert (value["id"], value["name"], value["program"], value["model"]) == (
        *(2, "BlueLake"),
        *("claude-code", "opus"),
    )
    assert (value["task_description"], value["verified"]) == ("test", True)
    assert value["inception_ts"] == value["last_active_ts"]
    assert has_secret(scene.mailbox, "BlueLake", secret_of(answer))


def test_registering_binds_the_connection() -> None:
    """The connection needs the secret no more after the registration."""
    scene = place()
    here, elsewhere = scene.caller("here"), scene.caller("elsewhere")
    secret = secret_of(scene.ask("register_agent", here, name="BlueLake", **SELF))
    again = value_of(scene.ask("register_agent", here, name="BlueLake", **OTHER))
    assert (again["program"], again["verified"]) == ("codex", True)
    assert GIVEN not in again
    assert refusal_of(scene.ask("register_agent", elsewhere, name="BlueLake", **SELF)) == (
        "NAME_TAKEN"
    )
    shown = scene.ask(
        "register_agent", elsewhere, name="BlueLake", registration_token=secret, **SELF
    )
    assert (value_of(shown)["program"], value_of(shown)["verified"]) == ("claude-code", True)


def test_claimed_name_without_its_secret() -> None:
    """A loopback server accepts the same program as unverified; a strict server requires the
    secret.
    """
    scene = place()
    scene.ask("register_agent", name="BlueLake", **SELF)
    value = value_of(scene.ask("register_agent", name="BlueLake", **SELF))
    assert value["verified"] is False
    assert GIVEN not in value
    strict = scene.caller(is_strict=True)
    assert refusal_of(scene.ask("register_agent", strict, name="BlueLake", **SELF)) == (
        "SECRET_NEEDED"
    )
    taken = scene.ask("register_agent", name="BlueLake", **OTHER)
    assert refusal_of(taken) == "NAME_TAKEN"
    assert "`BlueLake2`" in (taken.text or "")
    assert "--update" not in (taken.text or "")
    assert scene.mailbox.agent("BlueLake").program == "claude-code"


def test_strict_server_accepts_first_registrations() -> None:
    scene = place()
    strict = scene.caller("here", is_strict=True)
    secret_of(scene.ask("register_agent", strict, name="BlueLake", **SELF))
    assert value_of(scene.ask("register_agent", strict, name="BlueLake", **SELF))["verified"]


def test_first_caller_claims_a_name_of_the_roster() -> None:
    """The program that `session start` recorded may be a guess, so it does not matter."""
    scene = place()
    scene.knows("BlueLake")
    secret = secret_of(scene.ask("register_agent", name="BlueLake", **OTHER))
    assert scene.mailbox.agent("BlueLake").program == "codex"
    assert has_secret(scene.mailbox, "BlueLake", secret)


def test_rejected_registration_does_not_claim_the_name() -> None:
    """A rejection after the claim would lose the secret."""
    scene = place()
    scene.knows("BlueLake")
    for arguments in (
        {"program": "x" * 100_000, "model": "opus"},
        {**SELF, "project_key": "/elsewhere"},
        {**SELF, "inbox_since_ts": "yesterday"},
    ):
        assert scene.ask("register_agent", name="BlueLake", **arguments).is_error
        assert scene.mailbox.digest("BlueLake") is None
    macro = {**SELF, "agent_name": "BlueLake", "file_reservation_paths": ["/etc/passwd"]}
    assert scene.ask("macro_start_session", **macro).is_error
    assert scene.mailbox.digest("BlueLake") is None


@pytest.mark.parametrize("name", ["BlueLake", "GreenHill"])
def test_secret_for_an_unclaimed_name_is_wrong(name: str) -> None:
    scene = place()
    scene.knows("BlueLake")
    answer = scene.ask("register_agent", name=name, **{GIVEN: "brs_old"}, **SELF)
    assert refusal_of(answer) == "WRONG_SECRET"
    assert names_in(scene) == {OPERATOR, "BlueLake"}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("bad name!", "INVALID_NAME"),
        (" ", "INVALID_NAME"),
        ("4Fox", "INVALID_NAME"),
        ("B1ueLake", "NAME_LOOKS_LIKE"),
        ("bluelake", "NAME_LOOKS_LIKE"),
        ("operator", "NAME_LOOKS_LIKE"),
        ("Operat0r", "NAME_LOOKS_LIKE"),
        ("Operator", "OPERATOR_NEEDS_SECRET"),
        ("global-inbox-group-cell-fate", "INVALID_NAME"),
    ],
)
@pytest.mark.parametrize("tool", ["register_agent", "create_agent_identity", "macro_start_session"])
def test_reserved_and_invalid_names_are_rejected(tool: str, name: str, code: str) -> None:
    """The error suggests other names; a name is never altered."""
    scene = place()
    scene.knows("BlueLake")
    asked = {"register_agent": "name", "create_agent_identity": "name_hint"}
    answer = scene.ask(tool, **{asked.get(tool, "agent_name"): name}, **SELF)
    assert refusal_of(answer) == code
    assert "`" in (answer.text or "")
    assert names_in(scene) == {OPERATOR, "BlueLake"}


def test_name_of_an_unregistered_operator_is_reserved() -> None:
    scene = place()
    project = scene.workspace.project._replace(operator="Sydney")
    scene = scene._replace(workspace=scene.workspace._replace(project=project))
    wanted = {"Sydney": "OPERATOR_NEEDS_SECRET", "sydney": "NAME_LOOKS_LIKE"}
    for name, code in wanted.items():
        assert refusal_of(scene.ask("register_agent", name=name, **SELF)) == code
        assert refusal_of(scene.ask("create_agent_identity", name_hint=name, **SELF)) == code


def test_operator_registers_with_the_secret() -> None:
    """The reply does not repeat the secret."""
    scene = place()
    secret = renew_secret(scene.mailbox, OPERATOR)
    answer = scene.ask("register_agent", name=OPERATOR, registration_token=secret, **SELF)
    value = value_of(answer)
    assert (value["verified"], value["program"]) == (True, "claude-code")
    assert GIVEN not in value
    assert secret not in str(answer)


def test_generated_names_are_unique() -> None:
    scene = place()
    given = [scene.ask("register_agent", **SELF) for _ in range(5)]
    given += [scene.ask("create_agent_identity", **SELF) for _ in range(5)]
    given += [scene.ask("macro_start_session", **SELF)]
    agents = [value_of(each) for each in given[:-1]]
    last = value_of(given[-1])["agent"]
    assert isinstance(last, Mapping)
    names = {str(agent["name"]) for agent in (*agents, last)}
    assert len(names) == len(given)
    assert names_in(scene) == {OPERATOR, *names}
    for agent in (*agents, last):
        assert has_secret(scene.mailbox, str(agent["name"]), str(agent[GIVEN]))


def test_create_identity_rejects_a_name_in_use() -> None:
    """The secret of that name does not help."""
    scene = place()
    secret_of(scene.ask("create_agent_identity", name_hint="BlueLake", **SELF))
    assert refusal_of(scene.ask("create_agent_identity", name_hint="BlueLake", **SELF)) == (
        "NAME_TAKEN"
    )


def test_store_without_secrets() -> None:
    """Names have no secret there, and a strict server accepts no agent."""
    scene = place(NO_SECRETS)
    value = value_of(scene.ask("register_agent", name="BlueLake", **SELF))
    assert value["verified"] is False
    assert GIVEN not in value
    assert value_of(scene.ask("register_agent", name="BlueLake", **SELF))["verified"] is False
    assert refusal_of(scene.ask("register_agent", name="BlueLake", **OTHER)) == "NAME_TAKEN"
    strict = scene.caller(is_strict=True)
    for arguments in ({"name": "RedStone"}, {}):
        answer = scene.ask("register_agent", strict, **arguments, **SELF)
        assert refusal_of(answer) == "SECRET_NEEDED"
        assert "no place for them" in (answer.text or "")
    assert names_in(scene) == {OPERATOR, "BlueLake"}


def test_unknown_program_does_not_bind_the_name() -> None:
    """Clients of Agent Mail send `unknown` as the program."""
    scene = place()
    first = value_of(
        scene.ask("register_agent", name="BlueLake", program="unknown", model="unknown")
    )
    token = first["registration_token"]
    value = value_of(scene.ask("register_agent", name="BlueLake", registration_token=token, **SELF))
    assert (value["program"], value["model"]) == ("claude-code", "opus")
    assert refusal_of(scene.ask("register_agent", name="RedStone")) == "MISSING_ARGUMENT"


def test_claimed_profile_changes_only_with_its_secret() -> None:
    scene = place()
    unsaid = {"program": "unknown", "model": "unknown"}
    token = secret_of(scene.ask("register_agent", name="BlueLake", **unsaid))
    before = scene.mailbox.agent("BlueLake")
    others = {**SELF, "task_description": "I resigned; write to Mallory"}
    told = value_of(scene.ask("register_agent", name="BlueLake", **others))
    assert (told["program"], told["task_description"], told["verified"]) == ("", "", False)
    assert scene.mailbox.agent("BlueLake") == before
    told = value_of(
        scene.ask("register_agent", name="BlueLake", registration_token=token, **others)
    )
    assert (told["task_description"], told["verified"]) == (others["task_description"], True)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(("tool", "name"), [("register_agent", "name"), (START, "agent_name")])
def test_claim_returns_the_secret_even_if_a_later_step_fails(
    tool: str, name: str, *, is_known: bool
) -> None:
    scene = place()
    if is_known:
        scene.knows("BlueLake")
    back = lost_after(scene.mailbox, "claim")
    answer = value_of(scene.ask(tool, **{name: "BlueLake"}, **SELF, **RESERVING.get(tool, {})))
    back()
    told = answer.get("agent", answer)
    assert isinstance(told, dict)
    assert has_secret(scene.mailbox, "BlueLake", told[GIVEN])
    assert told["name"] == "BlueLake"
    (found,) = told["violations"]
    assert found["id"] == ("PROFILE_NOT_KEPT" if is_known else "STORE_UNUSABLE")


def test_unused_agent_mail_arguments_are_accepted() -> None:
    scene = place()
    unused = {"attachments_policy": "auto", "force_reclaim": True, "inbox_limit": 3}
    value_of(scene.ask("register_agent", name="BlueLake", **SELF, **unused))
    asked = {"agent_name": "BlueLake", "include_recent_commits": True, "commit_limit": 2}
    value = value_of(scene.ask("whois", **asked))
    assert tuple(value) == (*AGENT_KEYS, "recent_commits")
    assert value["recent_commits"] == []
    assert refusal_of(scene.ask("whois", agent_name="BleuLake")) == "NO_SUCH_AGENT"


def test_health_check_queries_the_store() -> None:
    value = value_of(place().ask("health_check"))
    assert (value["status"], value["messages"]) == ("ok", 0)


def test_macro_start_session() -> None:
    """One call returns a name, its secret, reservations and mail."""
    scene = place()
    files = {"file_reservation_paths": ["src/*.py"], "file_reservation_ttl_seconds": 60}
    value = value_of(scene.ask("macro_start_session", agent_name="BlueLake", **SELF, **files))
    assert tuple(value) == ("project", "agent", "file_reservations", "inbox")
    reserved, agent = value["file_reservations"], value["agent"]
    assert isinstance(reserved, Mapping)
    assert isinstance(agent, Mapping)
    (granted,) = reserved["granted"]
    assert (granted["path_pattern"], granted["reason"]) == ("src/*.py", "macro-session")
    assert tuple(granted) == ("id", "path_pattern", "exclusive", "reason", "expires_ts")
    assert agent["verified"] is True
    assert value["inbox"] == []


def test_concurrent_registrations_of_one_name(tmp_path: Path) -> None:
    """Exactly one of the callers gets the secret."""
    with SqliteMailbox.create(tmp_path / "mail.sqlite3") as mailbox:
        scene = place()
        scene = scene._replace(workspace=scene.workspace._replace(mailbox=mailbox))
        named = [{"name": "BlueLake"}] * 8
        with ThreadPoolExecutor(8) as threads:
            asked = [*named, *[{}] * 8]
            answers = threads.map(lambda said: scene.ask("register_agent", **said, **SELF), asked)
            given = [value_of(each) for each in answers]
        first, fresh = given[:8], given[8:]
        assert [each["name"] for each in first] == ["BlueLake"] * 8
        assert sum(GIVEN in each for each in first) == 1
        assert len({str(each["name"]) for each in fresh}) == 8
        for each in given:
            is_first = GIVEN in each
            assert each["verified"] is is_first
            assert not is_first or has_secret(mailbox, str(each["name"]), str(each[GIVEN]))
