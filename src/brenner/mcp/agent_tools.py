"""The tools with which agents come in: the project, names, who is who."""

from brenner import __version__
from brenner.diagnostics.codes.serving import PROFILE_NOT_KEPT
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.agent_mail.mirror import UNSAID
from brenner.mail.model import Profile, Wish
from brenner.mail.reservations import checked
from brenner.mcp import directory, project_key
from brenner.mcp.inboxes import InboxWish, inbox, since_time
from brenner.mcp.registering import Registration, register, register_new
from brenner.mcp.reservation_tools import NOTHING_RESERVED, reserve
from brenner.mcp.shapes import Shape
from brenner.mcp.told import in_tools
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.mcp.welcome import note

_AN_HOUR, _MOST_MAIL = 3600, 10


def _health(call: Call) -> Answer:
    """Healthy is what can be used: the store is asked."""
    return Answer(
        {
            "status": "ok",
            "environment": "brenner",
            "version": __version__,
            "project": project_key.key_of(call.desk.project),
            "messages": call.desk.mailbox.position(),
            "identity": "strict" if call.caller.is_strict else "open",
        }
    )


def _ensure_project(call: Call) -> Answer:
    project_key.check(call, call.text("human_key"))
    return Answer(project_key.shape(call))


def _register(call: Call) -> Answer:
    """What is wrong in the call is refused before a name is claimed: else its secret is lost."""
    project_key.check(call, call.text("project_key"))
    since = since_time(call.text("inbox_since_ts"), "inbox_since_ts")
    registered = register(call, _profile(call, "name"), call.text("registration_token"))
    agent = _shape(call, registered, was_named=bool(call.text("name")))
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
        value["inbox"] = inbox(call.desk.mailbox, wish)
    except BrennerError as error:
        value["violations"] = [in_tools(error.diagnostic).to_json()]
    return Answer(value)


def _create_identity(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    return Answer(_shape(call, register_new(call, _profile(call, "name_hint"))))


def _whois(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    mailbox = call.desk.mailbox
    shape = directory.one(mailbox, mailbox.agent(call.text("agent_name")))
    return Answer(shape | {"recent_commits": []})


def _start_session(call: Call) -> Answer:
    """Everything with which an agent begins, in one call.

    Once the name is registered there is an answer, whatever becomes of the rest: a secret that is
    not told is lost.
    """
    project_key.check(call, call.text("human_key"))
    files = Wish(
        call.texts("file_reservation_paths"),
        _number(call, "file_reservation_ttl_seconds", _AN_HOUR),
        reason=call.text("file_reservation_reason"),
    )
    if files.patterns:
        checked(files)
    project = project_key.shape(call)
    registered = register(call, _profile(call, "agent_name"), call.text("registration_token"))
    name = registered.agent.name
    value: Shape = {
        "project": project,
        "agent": _shape(call, registered, was_named=bool(call.text("agent_name"))),
        "file_reservations": NOTHING_RESERVED,
        "inbox": [],
    }
    try:
        if files.patterns:
            value["file_reservations"] = reserve(call, name, files)
        limit = _number(call, "inbox_limit", _MOST_MAIL)
        value["inbox"] = inbox(call.desk.mailbox, InboxWish(name, limit))
    except BrennerError as error:
        value["violations"] = [in_tools(error.diagnostic).to_json()]
    return Answer(value)


def _profile(call: Call, name: str) -> Profile:
    """What an agent says of itself. Who says `unknown` says nothing."""
    said = [call.text(each) for each in ("program", "model")]
    program, model = ("" if each == UNSAID else each for each in said)
    return Profile(call.text(name), program, model, call.text("task_description"))


def _shape(call: Call, registered: Registration, *, was_named: bool = True) -> Shape:
    """The agent; its secret is told to who has claimed the name, here and nowhere else.

    Whatever fails now: who is registered hears so, and gets the secret.
    """
    agent, failed = registered.agent, registered.failed
    try:
        shape = directory.one(call.desk.mailbox, agent)
    except BrennerError as error:
        shape, failed = directory.agent_shape(agent), failed or error
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
_TOKEN = Argument("registration_token")
_PROGRAM = (Argument("program", required=True), Argument("model", required=True))
_TASK = Argument("task_description")
_UNUSED_POLICY = Argument("attachments_policy")

TOOLS: tuple[Tool, ...] = (
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
            *(_KEY, *_PROGRAM, Argument("name"), _TASK, _TOKEN),
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
            *(Argument("human_key"), *_PROGRAM, _TASK, Argument("agent_name"), _TOKEN),
            Argument("file_reservation_paths", Kind.TEXTS),
            Argument("file_reservation_reason", default="macro-session"),
            Argument("file_reservation_ttl_seconds", Kind.NUMBER),
            Argument("inbox_limit", Kind.NUMBER),
        ),
        _start_session,
    ),
)
