"""Tools for identity and files: the project, registration, agents, reservations."""

from __future__ import annotations

import secrets
from itertools import islice
from typing import TYPE_CHECKING

from brenner import __version__
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.mail import INVALID_NAME, NAME_TAKEN
from brenner.diagnostics.codes.serving import PROFILE_NOT_KEPT
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.limits import MOST_AGENTS
from brenner.mail.agent_mail.mirror import UNKNOWN
from brenner.mail.mailbox import Capability
from brenner.mail.model import Agent, Profile, Reservation, ReservationRequest
from brenner.mail.reservations import validate_request
from brenner.mail.rules import (
    check_same_agent,
    generate_name,
    merge_profile,
    name_problem,
    suggest_names,
)
from brenner.mail.search import Query
from brenner.mcp import agent_mail_format
from brenner.mcp.agent_mail_format import (
    JsonObject,
    format_time,
    inbox,
    project_slug,
    since_time,
)
from brenner.mcp.errors import with_tool_fix
from brenner.mcp.identity import (
    authenticate,
    authenticate_writer,
    check_connection,
    check_granted,
    name_of_connection,
    registered_name,
)
from brenner.mcp.tool import Argument, ArgumentKind, Call, Tool, ToolResult
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Trust
from brenner.services.identity import claim_name, secret_digest, stored_digest
from brenner.text import closest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Registration: the first claim of a name gets its secret


_TAKEN = (
    "If you are {name}, pass its secret as `registration_token`. If the secret is lost, ask the "
    "operator for a new one (`brenner agent secret {name} --new`). Otherwise register another "
    "name, for example {suggestions}."
)
_NOTHING_SAID = "an unknown program"
_COLLECTOR = "Agent Mail reserves it for the inbox that gets a copy of every message"
_MOST_TRIES = 20


class Registration(NamedTuple):
    """A registered agent. The secret is set only if the caller has just claimed the name.

    `failed` says why the profile could not be stored although the name was claimed. `near` is an
    existing name that is almost the new one.
    """

    agent: Agent
    is_verified: bool
    secret: str | None = None
    failed: BrennerError | None = None
    near: str = ""

    def __repr__(self) -> str:
        return f"Registration({self.agent.name}, is_verified={self.is_verified})"


def register(call: Call, profile: Profile, token: str = "") -> Registration:
    """Register the given name. Without one, use the name of the connection's secret, else a new
    name.

    An unclaimed name is claimed, also one that a session was started with. Without its secret, a
    claimed name can only be registered again unchanged.
    """
    if not profile.name:
        own = name_of_connection(call)
        if own is None:
            return register_new(call, profile)
        profile = profile._replace(name=own)
    known = _known(call)
    if call.caller.grants is not None:  # the run has registered it, and knows its program
        authenticate(call, profile.name, token)
        return Registration(known[profile.name], is_verified=True)
    if profile.name != call.workspace.project.operator:
        first = _claim_first(call, profile, token, known)
        if first:
            return first
    trust = authenticate_writer(call, profile.name, token, protects=False)
    try:
        agent = _update_profile(call, profile, trust)
    except RequestError as refused:
        if refused.diagnostic.code != NAME_TAKEN:
            raise
        raise _name_taken(call, profile.name) from None
    return Registration(agent, trust is Trust.VERIFIED)


def _update_profile(call: Call, profile: Profile, trust: Trust) -> Agent:
    """Update the profile of a registered agent if the caller is authenticated.

    A name with a secret cannot be changed without it: other agents rely on what they read.
    """
    mailbox = call.workspace.mailbox
    if trust is not Trust.VERIFIED and stored_digest(mailbox, profile.name) is not None:
        agent = mailbox.agent(profile.name)
        check_same_agent(profile, agent, _known(call))
        return agent
    return mailbox.register(profile, update=trust is Trust.VERIFIED)[0]


def register_new(call: Call, profile: Profile) -> Registration:
    """Register a new name: the given one, else a generated one.

    If two callers get the same generated name at once, one of them retries.
    """
    if profile.name:
        if profile.name == call.workspace.project.operator:
            authenticate(call, profile.name)
        added = None if profile.name in _known(call) else _register_free(call, profile)
        if added is None:
            raise _name_taken(call, profile.name)
        return added
    for _ in range(_MOST_TRIES):
        name = generate_name((*_known(call), call.workspace.project.operator), secrets.token_hex())
        added = _register_free(call, profile._replace(name=name))
        if added:
            return added
    raise _name_taken(call, name)


def _claim_first(
    call: Call, profile: Profile, token: str, known: Mapping[str, Agent]
) -> Registration | None:
    """Return the registration of the first claim of a name; None if it is already claimed."""
    mailbox, name = call.workspace.mailbox, profile.name
    is_claimed = name in known and stored_digest(mailbox, name) is not None
    if token and not is_claimed:
        raise RequestError(codes.WRONG_SECRET.at(name=name))
    if name not in known:
        added = _register_free(call, profile)
        near = closest(name, known, 1) or ""
        return added._replace(near=near) if added else None
    if is_claimed:
        return None
    check_connection(call, name)
    # Refuse what cannot be stored before the name is claimed, or its secret would be lost.
    merge_profile(profile, known[name], known)
    secret = _claim(call, name)
    if secret is None:
        return None
    try:
        agent, _ = mailbox.register(profile, update=True)
    except BrennerError as error:
        return Registration(known[name], is_verified=True, secret=secret, failed=error)
    return Registration(agent, is_verified=True, secret=secret)


def _register_free(call: Call, profile: Profile) -> Registration | None:
    """Return the registration of a free name; None if it was taken meanwhile."""
    mailbox = call.workspace.mailbox
    check_granted(call, profile.name)
    _check_new(call, profile.name)
    check_connection(call, profile.name)
    has_secrets = Capability.SECRETS not in mailbox.lacks
    if not has_secrets:
        authenticate(call, profile.name)  # raises in strict mode: no agent can have a secret here
    try:
        agent, before = mailbox.register(profile)
    except RequestError as refused:
        if refused.diagnostic.code != NAME_TAKEN:
            raise
        return None
    secret = None if before else _claim(call, profile.name)
    if before or (has_secrets and secret is None):
        return None
    return Registration(agent, secret is not None, secret)


def _claim(call: Call, name: str) -> str | None:
    """Claim a name, bind it to the connection and return its secret; None if it is already
    claimed.
    """
    secret = claim_name(call.workspace.mailbox, name)
    if secret is not None:
        call.caller.bindings.bind(call.caller.connection, name, secret_digest(secret))
    return secret


def _check_new(call: Call, name: str) -> None:
    """Raise RequestError if the name is invalid, reserved, or looks like another agent's or the
    operator's; or if there are too many agents.
    """
    names = {*_known(call), call.workspace.project.operator}
    if len(names) > MOST_AGENTS:
        raise RequestError(codes.TOO_MANY_AGENTS.at(most=MOST_AGENTS))
    found = name_problem(name, names)
    if found is None and name == f"global-inbox-{project_slug(call.workspace.project)}":
        others = suggest_names("", names)
        found = INVALID_NAME.at(name=name, reason=_COLLECTOR, suggestions=others)
    if found:
        raise RequestError(found)


def _known(call: Call) -> dict[str, Agent]:
    return {agent.name: agent for agent in call.workspace.mailbox.agents()}


def _name_taken(call: Call, name: str) -> RequestError:
    """Return the error of a taken name, with a free one to use instead."""
    known = _known(call)
    others = suggest_names(name, {*known, call.workspace.project.operator})
    owner = " ".join(filter(None, known[name][1:3])) if name in known else ""
    found = NAME_TAKEN.at(name=name, owner=owner or _NOTHING_SAID, suggestions=others)
    return RequestError(found._replace(fix=_TAKEN.format(name=name, suggestions=others)))


# File reservations, which are advisory: they show two agents that they edit the same files


NOTHING_RESERVED: JsonObject = {"granted": [], "conflicts": []}
_AN_HOUR = 3600
_MOST_HOLDERS = 20


def reserve(call: Call, name: str, request: ReservationRequest) -> JsonObject:
    """Reserve files. Return what was granted and the conflicts, in the form of Agent Mail."""
    reserved = call.workspace.mailbox.reserve(name, request)
    return {
        "granted": [_granted_json(each) for each in reserved.granted],
        "conflicts": [_conflict_json(pattern, held) for pattern, held in reserved.conflicts],
    }


def _conflict_json(pattern: str, held: Sequence[Reservation]) -> JsonObject:
    """Return the holders of the same files, up to a limit, with the number of the others."""
    conflict = {
        "path": pattern,
        "holders": [_holder_json(each) for each in held[:_MOST_HOLDERS]],
    }
    left = len(held) - _MOST_HOLDERS
    return conflict | ({"further_holders": left} if left > 0 else {})


def _granted_json(one: Reservation) -> JsonObject:
    return {
        "id": one.id,
        "path_pattern": one.pattern,
        "exclusive": one.exclusive,
        "reason": one.reason,
        "expires_ts": format_time(one.expires_at),
    }


def _holder_json(one: Reservation) -> JsonObject:
    return {
        "agent": one.agent,
        "path_pattern": one.pattern,
        "exclusive": one.exclusive,
        "expires_ts": format_time(one.expires_at),
    }


def _reserve(call: Call) -> ToolResult:
    name = registered_name(call, "agent_name")
    authenticate_writer(call, name, call.text("registration_token"))
    seconds = call.number("ttl_seconds")
    wish = ReservationRequest(
        call.texts("paths"),
        _AN_HOUR if seconds is None else seconds,
        exclusive=call.flag("exclusive") is not False,
        reason=call.text("reason"),
    )
    return ToolResult(reserve(call, name, wish))


def _release(call: Call) -> ToolResult:
    """Release reservations by path or ID; all of the agent's own if neither is given."""
    name = registered_name(call, "agent_name")
    authenticate_writer(call, name, call.text("registration_token"))
    total, at = call.workspace.mailbox.release(
        name, patterns=call.texts("paths") or None, ids=_ids(call) or None
    )
    return ToolResult({"released": total, "released_at": format_time(at)})


def _ids(call: Call) -> list[int]:
    given = call.arguments.get("file_reservation_ids")
    return [each for each in given if isinstance(each, int)] if isinstance(given, list) else []


_WHO = (Argument("project_key"), Argument("agent_name", required=True))
_TOKEN = Argument("registration_token")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "file_reservation_paths",
        "Reserve files that you edit. Advisory: conflicts list other agents with the same files.",
        (
            *_WHO,
            Argument("paths", ArgumentKind.TEXTS, "globs", required=True),
            Argument("ttl_seconds", ArgumentKind.NUMBER, default=_AN_HOUR),
            Argument("exclusive", ArgumentKind.FLAG, default=True),
            Argument("reason"),
            _TOKEN,
        ),
        _reserve,
    ),
    Tool(
        "release_file_reservations",
        "Release your reservations: the given ones, or all.",
        (
            *_WHO,
            Argument("paths", ArgumentKind.TEXTS),
            Argument("file_reservation_ids", ArgumentKind.NUMBERS),
            _TOKEN,
        ),
        _release,
    ),
)


# The note after a registration: how to authenticate, and which names a session waits for


_KEEP = (
    "Store registration_token: it is shown only once. It verifies your messages. Pass it in every "
    "call, as `sender_token` or `registration_token`"
)
_REMEMBERED = ". On this connection you need not pass it again."
_UNVERIFIED = (
    "You did not pass the secret of this name: your messages are marked as unverified, and the "
    "agent's profile was not changed."
)
_MOST_KICKOFFS, _MOST_NAMES = 50, 10


def registration_note(call: Call, registered: Registration, *, was_named: bool) -> str:
    """Return the note for the result of a registration; empty if there is nothing to say."""
    said = [_trust_note(call, registered)]
    if registered.near:
        said.append(
            f"A similar name exists: {registered.near}. If that is you, register it instead."
        )
    if registered.secret is not None and not was_named:
        said.append(_awaited_note(call, registered.agent.name))
    return " ".join(filter(None, said))


def _trust_note(call: Call, registered: Registration) -> str:
    if registered.secret is not None:
        return _KEEP + ("." if call.caller.connection is None else _REMEMBERED)
    return "" if registered.is_verified else _UNVERIFIED


def _awaited_note(call: Call, name: str) -> str:
    """Return which agents a session waits for. Skip it on an error: the secret must be returned."""
    try:
        others = (each for each in _unclaimed(call) if each != name)
        names = sorted(islice(others, _MOST_NAMES))
    except BrennerError:
        return ""
    if not names:
        return ""
    listed = ", ".join(names)
    return f"A session waits for {listed}. If that is your name, register it instead."


def _unclaimed(call: Call) -> Iterator[str]:
    """Yield the agents that a kickoff names and that no caller has claimed."""
    mailbox = call.workspace.mailbox
    known = {each.name for each in mailbox.agents()}
    kickoffs = mailbox.search(Query(types=(KICKOFF.name,)), limit=_MOST_KICKOFFS).messages
    asked = dict.fromkeys(name for each in kickoffs for name in each.message.recipients)
    others = (name for name in asked if name in known and name != call.workspace.project.operator)
    return (name for name in others if stored_digest(mailbox, name) is None)


_MOST_MAIL = 10


def _health(call: Call) -> ToolResult:
    """Return the health of the server. It queries the store."""
    return ToolResult(
        {
            "status": "ok",
            "environment": "brenner",
            "version": __version__,
            "project": agent_mail_format.key_of(call.workspace.project),
            "messages": call.workspace.mailbox.position(),
            "identity": "strict" if call.caller.is_strict else "open",
        }
    )


def _ensure_project(call: Call) -> ToolResult:
    return ToolResult(agent_mail_format.project_json(call))


def _register(call: Call) -> ToolResult:
    """Register an agent. Faults are refused before the name is claimed, or its secret would be
    lost.
    """
    since = since_time(call.text("inbox_since_ts"), "inbox_since_ts")
    registered = register(call, _profile(call, "name"), call.text("registration_token"))
    agent = _registration_json(call, registered, was_named=bool(call.text("name")))
    if not call.flag("auto_fetch_inbox"):
        return ToolResult(agent)
    value: JsonObject = {"agent": agent, "inbox": []}
    try:
        value["inbox"] = inbox(
            call,
            registered.agent.name,
            _number(call, "inbox_limit", _MOST_MAIL),
            urgent_only=bool(call.flag("inbox_urgent_only")),
            include_bodies=bool(call.flag("inbox_include_bodies")),
            since=since,
        )
    except BrennerError as error:
        value["violations"] = [with_tool_fix(error.diagnostic).to_json()]
    return ToolResult(value)


def _create_identity(call: Call) -> ToolResult:
    return ToolResult(_registration_json(call, register_new(call, _profile(call, "name_hint"))))


def _whois(call: Call) -> ToolResult:
    mailbox = call.workspace.mailbox
    shape = agent_mail_format.agent_with_number(mailbox, mailbox.agent(call.text("agent_name")))
    return ToolResult(shape | {"recent_commits": []})


def _start_session(call: Call) -> ToolResult:
    """Return everything that an agent needs to begin, in one call.

    Once the name is registered, return a result even if the rest fails, or the secret would be
    lost.
    """
    files = ReservationRequest(
        call.texts("file_reservation_paths"),
        _number(call, "file_reservation_ttl_seconds", _AN_HOUR),
        reason=call.text("file_reservation_reason"),
    )
    if files.patterns:
        validate_request(files)
    project = agent_mail_format.project_json(call)
    registered = register(call, _profile(call, "agent_name"), call.text("registration_token"))
    name = registered.agent.name
    value: JsonObject = {
        "project": project,
        "agent": _registration_json(call, registered, was_named=bool(call.text("agent_name"))),
        "file_reservations": NOTHING_RESERVED,
        "inbox": [],
    }
    try:
        if files.patterns:
            value["file_reservations"] = reserve(call, name, files)
        limit = _number(call, "inbox_limit", _MOST_MAIL)
        value["inbox"] = inbox(call, name, limit)
    except BrennerError as error:
        value["violations"] = [with_tool_fix(error.diagnostic).to_json()]
    return ToolResult(value)


def _profile(call: Call, name: str) -> Profile:
    """Return the profile in the call. `unknown` counts as missing."""
    said = [call.text(each) for each in ("program", "model")]
    program, model = ("" if each == UNKNOWN else each for each in said)
    return Profile(call.text(name), program, model, call.text("task_description"))


def _registration_json(
    call: Call, registered: Registration, *, was_named: bool = True
) -> JsonObject:
    """Return the agent, with its secret if the caller has just claimed the name.

    This must not fail: the caller is registered and needs the secret.
    """
    agent, failed = registered.agent, registered.failed
    try:
        shape = agent_mail_format.agent_with_number(call.workspace.mailbox, agent)
    except BrennerError as error:
        shape, failed = agent_mail_format.agent_json(agent), failed or error
    shape["verified"] = registered.is_verified
    if registered.secret is not None:
        shape["registration_token"] = registered.secret
    if said := registration_note(call, registered, was_named=was_named):
        shape["note"] = said
    if failed:
        found = failed.diagnostic
        if registered.failed:
            found = PROFILE_NOT_KEPT.at(name=agent.name, reason=found.message)
        shape["violations"] = [with_tool_fix(found).to_json()]
    return shape


def _number(call: Call, name: str, default: int) -> int:
    given = call.number(name)
    return default if given is None else given


_KEY = Argument("project_key")
_PROGRAM = (Argument("program", required=True), Argument("model", required=True))
_TASK = Argument("task_description")
_UNUSED_POLICY = Argument("attachments_policy")

AGENT_TOOLS_TOOLS: tuple[Tool, ...] = (
    Tool("health_check", "Check whether the server and its store work.", (), _health, True),
    Tool(
        "ensure_project",
        "Show the project of this server.",
        (Argument("human_key"),),
        _ensure_project,
        True,
    ),
    Tool(
        "register_agent",
        "Register a name, or get a new one. The first to register a name gets its secret "
        "(registration_token).",
        (
            *(_KEY, *_PROGRAM, Argument("name"), _TASK, _TOKEN),
            *(_UNUSED_POLICY, Argument("force_reclaim", ArgumentKind.FLAG)),
            Argument("auto_fetch_inbox", ArgumentKind.FLAG),
            Argument("inbox_limit", ArgumentKind.NUMBER),
            Argument("inbox_urgent_only", ArgumentKind.FLAG),
            Argument("inbox_since_ts"),
            Argument("inbox_include_bodies", ArgumentKind.FLAG),
        ),
        _register,
    ),
    Tool(
        "create_agent_identity",
        "Register a new name that no agent has, and get its secret.",
        (_KEY, *_PROGRAM, Argument("name_hint"), _TASK, _UNUSED_POLICY),
        _create_identity,
    ),
    Tool(
        "whois",
        "Show one agent.",
        (
            *(_KEY, Argument("agent_name", required=True)),
            Argument("include_recent_commits", ArgumentKind.FLAG),
            Argument("commit_limit", ArgumentKind.NUMBER),
        ),
        _whois,
        True,
    ),
    Tool(
        "macro_start_session",
        "Start: register, reserve files and read the inbox in one call.",
        (
            *(Argument("human_key"), *_PROGRAM, _TASK, Argument("agent_name"), _TOKEN),
            Argument("file_reservation_paths", ArgumentKind.TEXTS),
            Argument("file_reservation_reason", default="macro-session"),
            Argument("file_reservation_ttl_seconds", ArgumentKind.NUMBER),
            Argument("inbox_limit", ArgumentKind.NUMBER),
        ),
        _start_session,
    ),
)
