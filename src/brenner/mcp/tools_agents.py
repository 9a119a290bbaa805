"""The tools with which agents come in: the project, names, who is who."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from brenner import __version__
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.mail import INVALID_NAME, NAME_TAKEN
from brenner.diagnostics.codes.serving import PROFILE_NOT_KEPT
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError
from brenner.limits import MOST_AGENTS
from brenner.mail.agent_mail.mirror import UNSAID
from brenner.mail.mailbox import Capability
from brenner.mail.model import (
    Agent,
    Profile,
    Reservation,
    ReservationRequest,
    ReservationResult,
    Trust,
)
from brenner.mail.reservations import checked
from brenner.mail.rules import check_same_agent, fresh_name, name_refusal, registration, suggestions
from brenner.mail.search import Query
from brenner.mcp import agent_mail_format
from brenner.mcp.agent_mail_format import (
    InboxWish,
    Shape,
    acting,
    check_connection,
    inbox,
    since_time,
    slug,
    written,
)
from brenner.mcp.errors import in_tools
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.protocol.message_types import KICKOFF
from brenner.services.identity import claim, digest_of, kept_digest, name_of_secret
from brenner.text import closest

# Names for agents: who comes first gets a secret with it, and nobody is given another's name.


_TAKEN = (
    "If you are {name}: show the secret of the name as `registration_token`; if it is lost, the "
    "operator makes a new one: `brenner agent secret {name} --new`. Otherwise register another "
    "name, such as {suggestions}."
)
_NOTHING_SAID = "one that has named no program"
_COLLECTOR = "it is what Agent Mail calls the one who gets a copy of everything"
_MOST_TRIES = 20


class Registration(NamedTuple):
    """An agent under its name. The secret is there only for who has claimed the name just now.

    `failed` is why the profile could not be kept, where the name was claimed all the same. `near`
    is a name that was there before and is nearly that of who is new.
    """

    agent: Agent
    is_verified: bool
    secret: str | None = None
    failed: BrennerError | None = None
    near: str = ""

    def __repr__(self) -> str:
        return f"Registration({self.agent.name}, is_verified={self.is_verified})"


def register(call: Call, profile: Profile, token: str = "") -> Registration:
    """Register a name as asked for, or not at all; without a name, that of the secret that came
    with the connection, else a new one.

    A name that nobody has claimed is claimed: also one that a session was started with. Without
    its secret, one that is claimed can only be registered as it is, and stays so.
    """
    if not profile.name:
        own = _of_the_connection(call)
        if own is None:
            return register_new(call, profile)
        profile = profile._replace(name=own)
    known = _known(call)
    if profile.name != call.workspace.project.operator:
        first = _first(call, profile, token, known)
        if first:
            return first
    trust = acting(call, profile.name, token)
    try:
        agent = _again(call, profile, trust)
    except RequestError as refused:
        if refused.diagnostic.code != NAME_TAKEN:
            raise
        raise _taken(call, profile.name) from None
    return Registration(agent, trust is Trust.VERIFIED)


def _of_the_connection(call: Call) -> str | None:
    """Who has shown a secret with the connection is somebody already."""
    secret = call.caller.secret
    return name_of_secret(call.workspace.mailbox, secret) if secret else None


def _again(call: Call, profile: Profile, trust: Trust) -> Agent:
    """Who is registered already, with what she says of herself now, if it is she who says it.

    Of a name that has a secret nobody changes anything without it: others go by what they read.
    """
    mailbox = call.workspace.mailbox
    if trust is not Trust.VERIFIED and kept_digest(mailbox, profile.name) is not None:
        agent = mailbox.agent(profile.name)
        check_same_agent(profile, agent, _known(call))
        return agent
    return mailbox.register(profile, update=trust is Trust.VERIFIED).agent


def register_new(call: Call, profile: Profile) -> Registration:
    """Register a name that nobody has: the one asked for, else one of ours.

    Of two who are given the same one in the same moment, one tries again.
    """
    if profile.name:
        if profile.name == call.workspace.project.operator:
            acting(call, profile.name)
        added = None if profile.name in _known(call) else _added(call, profile)
        if added is None:
            raise _taken(call, profile.name)
        return added
    for _ in range(_MOST_TRIES):
        name = fresh_name((*_known(call), call.workspace.project.operator), secrets.token_hex())
        added = _added(call, profile._replace(name=name))
        if added:
            return added
    raise _taken(call, name)


def _first(
    call: Call, profile: Profile, token: str, known: Mapping[str, Agent]
) -> Registration | None:
    """The registration of who is the first to claim a name; None where it is claimed already."""
    mailbox, name = call.workspace.mailbox, profile.name
    is_claimed = name in known and kept_digest(mailbox, name) is not None
    if token and not is_claimed:
        raise RequestError(codes.WRONG_SECRET.at(name=name))
    if name not in known:
        added = _added(call, profile)
        near = closest(name, known, 1) or ""
        return added._replace(near=near) if added else None
    if is_claimed:
        return None
    check_connection(call, name)
    # What cannot be kept is refused before the name is claimed: the secret would be lost.
    registration(profile, known[name], known)
    secret = _claimed(call, name)
    if secret is None:
        return None
    try:
        agent = mailbox.register(profile, update=True).agent
    except BrennerError as error:
        return Registration(known[name], is_verified=True, secret=secret, failed=error)
    return Registration(agent, is_verified=True, secret=secret)


def _added(call: Call, profile: Profile) -> Registration | None:
    """The registration of a name that nobody has; None where somebody has it by now."""
    mailbox = call.workspace.mailbox
    _check_new(call, profile.name)
    check_connection(call, profile.name)
    has_secrets = Capability.SECRETS not in mailbox.lacks
    if not has_secrets:
        acting(call, profile.name)  # where nobody is believed without one, nobody comes in
    try:
        agent, before = mailbox.register(profile)
    except RequestError as refused:
        if refused.diagnostic.code != NAME_TAKEN:
            raise
        return None
    secret = None if before else _claimed(call, profile.name)
    if before or (has_secrets and secret is None):
        return None
    return Registration(agent, secret is not None, secret)


def _claimed(call: Call, name: str) -> str | None:
    """The secret of a name that nobody had claimed; from now on the connection speaks for it."""
    secret = claim(call.workspace.mailbox, name)
    if secret is not None:
        call.caller.bindings.bind(call.caller.connection, name, digest_of(secret))
    return secret


def _check_new(call: Call, name: str) -> None:
    """Refuse what cannot be a name beside the known ones, and the operator's, known or not."""
    names = {*_known(call), call.workspace.project.operator}
    if len(names) > MOST_AGENTS:
        raise RequestError(codes.TOO_MANY_AGENTS.at(most=MOST_AGENTS))
    found = name_refusal(name, names)
    if found is None and name == f"global-inbox-{slug(call.workspace.project)}":
        others = suggestions("", names)
        found = INVALID_NAME.at(name=name, reason=_COLLECTOR, suggestions=others)
    if found:
        raise RequestError(found)


def _known(call: Call) -> dict[str, Agent]:
    return {agent.name: agent for agent in call.workspace.mailbox.agents()}


def _taken(call: Call, name: str) -> RequestError:
    """Who has a name keeps it, and others are told what else to call themselves."""
    known = _known(call)
    others = suggestions(name, {*known, call.workspace.project.operator})
    owner = " ".join(filter(None, known[name][1:3])) if name in known else ""
    found = NAME_TAKEN.at(name=name, owner=owner or _NOTHING_SAID, suggestions=others)
    return RequestError(found._replace(fix=_TAKEN.format(name=name, suggestions=others)))


# The tools of agents that edit files: say which, and see who else does.
#
# A reservation keeps nobody from anything. It tells two agents of each other before they meet.


NOTHING_RESERVED: Shape = {"granted": [], "conflicts": []}
_AN_HOUR = 3600
_MOST_HOLDERS = 20


def reserve(call: Call, name: str, wish: ReservationRequest) -> Shape:
    """What was granted, and who has the same files, in the form of Agent Mail."""
    return _shape(call.workspace.mailbox.reserve(name, wish))


def _shape(reserved: ReservationResult) -> Shape:
    return {
        "granted": [_granted(each) for each in reserved.granted],
        "conflicts": [_conflict(pattern, held) for pattern, held in reserved.conflicts],
    }


def _conflict(pattern: str, held: Sequence[Reservation]) -> Shape:
    """Who has the same files; of very many, some, and how many more there are."""
    told = {"path": pattern, "holders": [_holder(each) for each in held[:_MOST_HOLDERS]]}
    left = len(held) - _MOST_HOLDERS
    return told | ({"further_holders": left} if left > 0 else {})


def _granted(one: Reservation) -> Shape:
    return {
        "id": one.id,
        "path_pattern": one.pattern,
        "exclusive": one.exclusive,
        "reason": one.reason,
        "expires_ts": written(one.expires_at),
    }


def _holder(one: Reservation) -> Shape:
    return {
        "agent": one.agent,
        "path_pattern": one.pattern,
        "exclusive": one.exclusive,
        "expires_ts": written(one.expires_at),
    }


def _reserve(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    name = call.text("agent_name")
    acting(call, name, call.text("registration_token"))
    seconds = call.number("ttl_seconds")
    wish = ReservationRequest(
        call.texts("paths"),
        _AN_HOUR if seconds is None else seconds,
        exclusive=call.flag("exclusive") is not False,
        reason=call.text("reason"),
    )
    return Answer(reserve(call, name, wish))


def _release(call: Call) -> Answer:
    """Those named by their paths or ids; all of one's own where neither is given."""
    agent_mail_format.check(call, call.text("project_key"))
    name = call.text("agent_name")
    acting(call, name, call.text("registration_token"))
    released = call.workspace.mailbox.release(
        name, patterns=call.texts("paths") or None, ids=_ids(call) or None
    )
    return Answer({"released": released.total, "released_at": written(released.at)})


def _ids(call: Call) -> list[int]:
    given = call.arguments.get("file_reservation_ids")
    return [each for each in given if isinstance(each, int)] if isinstance(given, list) else []


_WHO = (Argument("project_key"), Argument("agent_name", required=True))
_TOKEN = Argument("registration_token")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "file_reservation_paths",
        "Say which files you edit. Advisory: conflicts name who else does.",
        (
            *_WHO,
            Argument("paths", Kind.TEXTS, "globs", required=True),
            Argument("ttl_seconds", Kind.NUMBER, default=_AN_HOUR),
            Argument("exclusive", Kind.FLAG, default=True),
            Argument("reason"),
            _TOKEN,
        ),
        _reserve,
    ),
    Tool(
        "release_file_reservations",
        "End your reservations: these, or all.",
        (
            *_WHO,
            Argument("paths", Kind.TEXTS),
            Argument("file_reservation_ids", Kind.NUMBERS),
            _TOKEN,
        ),
        _release,
    ),
)


# What somebody is told who has registered: how to stay believed, and who else she might be.


_KEEP = (
    "Keep registration_token: it is shown this once. With it your messages are verified: pass it "
    "in every call, as `sender_token` to send and as `registration_token` in other tools"
)
_REMEMBERED = ", unless it comes over this very connection, which knows you by now."
_UNVERIFIED = (
    "No secret of the name was shown: what you send is marked as unverified, and what is known of "
    "the name is what you see here."
)
_MOST_KICKOFFS, _MOST_NAMES = 50, 10


def note(call: Call, registered: Registration, *, was_named: bool) -> str:
    """What goes with the answer; empty where there is nothing to say."""
    said = [_believed(call, registered)]
    if registered.near:
        said.append(f"There is {registered.near}, too; if you are it, register that name.")
    if registered.secret is not None and not was_named:
        said.append(_awaited(call, registered.agent.name))
    return " ".join(filter(None, said))


def _believed(call: Call, registered: Registration) -> str:
    if registered.secret is not None:
        return _KEEP + ("." if call.caller.connection is None else _REMEMBERED)
    return "" if registered.is_verified else _UNVERIFIED


def _awaited(call: Call, name: str) -> str:
    """Who is waited for; what cannot be looked up is left out, for the secret has to be told."""
    try:
        others = (each for each in _unclaimed(call) if each != name)
        names = sorted(islice(others, _MOST_NAMES))
    except BrennerError:
        return ""
    if not names:
        return ""
    listed = ", ".join(names)
    return f"A session waits for {listed}; if you are one of them, register that name."


def _unclaimed(call: Call) -> Iterator[str]:
    """Those whom a kickoff has asked, and whose names nobody has claimed."""
    mailbox = call.workspace.mailbox
    known = {each.name for each in mailbox.agents()}
    kickoffs = mailbox.search(Query(types=(KICKOFF.name,)), limit=_MOST_KICKOFFS).messages
    asked = dict.fromkeys(name for each in kickoffs for name in each.message.recipients)
    others = (name for name in asked if name in known and name != call.workspace.project.operator)
    return (name for name in others if kept_digest(mailbox, name) is None)


_AGENT_TOOLS_AN_HOUR, _MOST_MAIL = 3600, 10


def _health(call: Call) -> Answer:
    """Healthy is what can be used: the store is asked."""
    return Answer(
        {
            "status": "ok",
            "environment": "brenner",
            "version": __version__,
            "project": agent_mail_format.key_of(call.workspace.project),
            "messages": call.workspace.mailbox.position(),
            "identity": "strict" if call.caller.is_strict else "open",
        }
    )


def _ensure_project(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("human_key"))
    return Answer(agent_mail_format.shape(call))


def _register(call: Call) -> Answer:
    """What is wrong in the call is refused before a name is claimed: else its secret is lost."""
    agent_mail_format.check(call, call.text("project_key"))
    since = since_time(call.text("inbox_since_ts"), "inbox_since_ts")
    registered = register(call, _profile(call, "name"), call.text("registration_token"))
    agent = _agent_tools_shape(call, registered, was_named=bool(call.text("name")))
    if not call.flag("auto_fetch_inbox"):
        return Answer(agent)
    wish = InboxWish(
        registered.agent.name,
        _number(call, "inbox_limit", _MOST_MAIL),
        urgent_only=bool(call.flag("inbox_urgent_only")),
        include_bodies=bool(call.flag("inbox_include_bodies")),
        since=since,
    )
    value: Shape = {"agent": agent, "inbox": []}
    try:
        value["inbox"] = inbox(call.workspace.mailbox, wish)
    except BrennerError as error:
        value["violations"] = [in_tools(error.diagnostic).to_json()]
    return Answer(value)


def _create_identity(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    return Answer(_agent_tools_shape(call, register_new(call, _profile(call, "name_hint"))))


def _whois(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    mailbox = call.workspace.mailbox
    shape = agent_mail_format.one(mailbox, mailbox.agent(call.text("agent_name")))
    return Answer(shape | {"recent_commits": []})


def _start_session(call: Call) -> Answer:
    """Everything with which an agent begins, in one call.

    Once the name is registered there is an answer, whatever becomes of the rest: a secret that is
    not told is lost.
    """
    agent_mail_format.check(call, call.text("human_key"))
    files = ReservationRequest(
        call.texts("file_reservation_paths"),
        _number(call, "file_reservation_ttl_seconds", _AGENT_TOOLS_AN_HOUR),
        reason=call.text("file_reservation_reason"),
    )
    if files.patterns:
        checked(files)
    project = agent_mail_format.shape(call)
    registered = register(call, _profile(call, "agent_name"), call.text("registration_token"))
    name = registered.agent.name
    value: Shape = {
        "project": project,
        "agent": _agent_tools_shape(call, registered, was_named=bool(call.text("agent_name"))),
        "file_reservations": NOTHING_RESERVED,
        "inbox": [],
    }
    try:
        if files.patterns:
            value["file_reservations"] = reserve(call, name, files)
        limit = _number(call, "inbox_limit", _MOST_MAIL)
        value["inbox"] = inbox(call.workspace.mailbox, InboxWish(name, limit))
    except BrennerError as error:
        value["violations"] = [in_tools(error.diagnostic).to_json()]
    return Answer(value)


def _profile(call: Call, name: str) -> Profile:
    """What an agent says of itself. Who says `unknown` says nothing."""
    said = [call.text(each) for each in ("program", "model")]
    program, model = ("" if each == UNSAID else each for each in said)
    return Profile(call.text(name), program, model, call.text("task_description"))


def _agent_tools_shape(call: Call, registered: Registration, *, was_named: bool = True) -> Shape:
    """The agent; its secret is told to who has claimed the name, here and nowhere else.

    Whatever fails now: who is registered hears so, and gets the secret.
    """
    agent, failed = registered.agent, registered.failed
    try:
        shape = agent_mail_format.one(call.workspace.mailbox, agent)
    except BrennerError as error:
        shape, failed = agent_mail_format.agent_shape(agent), failed or error
    shape["verified"] = registered.is_verified
    if registered.secret is not None:
        shape["registration_token"] = registered.secret
    if said := note(call, registered, was_named=was_named):
        shape["note"] = said
    if failed:
        found = _not_kept(registered) if registered.failed else failed.diagnostic
        shape["violations"] = [in_tools(found).to_json()]
    return shape


def _not_kept(registered: Registration) -> Diagnostic:
    reason = registered.failed.diagnostic.message if registered.failed else ""
    return PROFILE_NOT_KEPT.at(name=registered.agent.name, reason=reason)


def _number(call: Call, name: str, default: int) -> int:
    given = call.number(name)
    return default if given is None else given


_KEY = Argument("project_key")
_AGENT_TOOLS_TOKEN = Argument("registration_token")
_PROGRAM = (Argument("program", required=True), Argument("model", required=True))
_TASK = Argument("task_description")
_UNUSED_POLICY = Argument("attachments_policy")

AGENT_TOOLS_TOOLS: tuple[Tool, ...] = (
    Tool("health_check", "Whether the server and its mail can be used.", (), _health, True),
    Tool(
        "ensure_project",
        "The project that this server serves.",
        (Argument("human_key"),),
        _ensure_project,
        True,
    ),
    Tool(
        "register_agent",
        "Take a name, or get a new one, and its secret (registration_token) if you are the first.",
        (
            *(_KEY, *_PROGRAM, Argument("name"), _TASK, _AGENT_TOOLS_TOKEN),
            *(_UNUSED_POLICY, Argument("force_reclaim", Kind.FLAG)),
            Argument("auto_fetch_inbox", Kind.FLAG),
            Argument("inbox_limit", Kind.NUMBER),
            Argument("inbox_urgent_only", Kind.FLAG),
            Argument("inbox_since_ts"),
            Argument("inbox_include_bodies", Kind.FLAG),
        ),
        _register,
    ),
    Tool(
        "create_agent_identity",
        "Get a name that nobody has, and its secret.",
        (_KEY, *_PROGRAM, Argument("name_hint"), _TASK, _UNUSED_POLICY),
        _create_identity,
    ),
    Tool(
        "whois",
        "One agent.",
        (
            *(_KEY, Argument("agent_name", required=True)),
            Argument("include_recent_commits", Kind.FLAG),
            Argument("commit_limit", Kind.NUMBER),
        ),
        _whois,
        True,
    ),
    Tool(
        "macro_start_session",
        "Begin: register, reserve files, and read the inbox.",
        (
            *(Argument("human_key"), *_PROGRAM, _TASK, Argument("agent_name"), _AGENT_TOOLS_TOKEN),
            Argument("file_reservation_paths", Kind.TEXTS),
            Argument("file_reservation_reason", default="macro-session"),
            Argument("file_reservation_ttl_seconds", Kind.NUMBER),
            Argument("inbox_limit", Kind.NUMBER),
        ),
        _start_session,
    ),
)
