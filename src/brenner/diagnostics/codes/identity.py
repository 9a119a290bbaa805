"""Codes about who is who: names, and the secrets that belong to them."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_SPEC = "design, Identity"
_LEADING = "rulings, R10 and R15"
_SEND = 'send_message(sender_name="{name}", …)'

WRONG_SECRET = Code(
    id="WRONG_SECRET",
    severity=ERROR,
    title="The secret is not the one of that name",
    message="The secret that was shown is not the one of `{name}`. Nothing was done.",
    fix="Show the secret that registering `{name}` gave, or use the name that your secret belongs "
    "to. A name that nobody has claimed has none: register it without. Who has lost a secret asks "
    "the operator for a new one (`brenner agent secret {name} --new`).",
    why="Who shows a secret wants to be believed. To go on without it would mark the message as "
    "somebody else's.",
    spec=_SPEC,
    example=Example(
        "text",
        'send_message(sender_name="BlueLake", sender_token="brs_… of RedStone", …)',
        'send_message(sender_name="BlueLake", sender_token="brs_… of BlueLake", …)',
    ),
)
OPERATOR_NEEDS_SECRET = Code(
    id="OPERATOR_NEEDS_SECRET",
    severity=ERROR,
    title="Nobody acts as the operator without the operator's secret",
    message="`{name}` is the operator, and no secret was shown. Nothing was done.",
    fix="Use a name of your own: `register_agent` without a name gives you one. {advice}",
    why="The operator decides what a session asks and what becomes of it. Whoever could use the "
    "name would decide that too.",
    spec=_SPEC,
    example=Example(
        "text",
        _SEND.format(name="Operator"),
        _SEND.format(name="BlueLake"),
    ),
)
SECRET_NEEDED = Code(
    id="SECRET_NEEDED",
    severity=ERROR,
    title="This server believes nobody without a secret",
    message="No secret of `{name}` was shown, and this server wants one. Nothing was done.",
    fix="{advice}",
    why="A server that others can reach must know who sends. On loopback, without "
    "`--strict-identity`, the same is taken and marked as unverified.",
    spec=_SPEC,
    example=Example(
        "text",
        _SEND.format(name="BlueLake"),
        'send_message(sender_name="BlueLake", sender_token="brs_…", …)',
    ),
)
OTHER_PROJECT = Code(
    id="OTHER_PROJECT",
    severity=ERROR,
    title="This server serves another project",
    message="`{key}` is not the project of this server, which is `{folder}`. Nothing was done.",
    fix="Use `{folder}` as the key of the project, or leave it out. Another project has a server "
    "of its own: ask the operator for its address.",
    why="Mail that lands in the wrong project is read by nobody who expects it.",
    spec="agent_mail, project keys",
    example=Example(
        "text",
        'fetch_inbox(project_key="/home/me/other", agent_name="BlueLake")',
        'fetch_inbox(project_key="/home/me/project", agent_name="BlueLake")',
    ),
)

PROFILE_NOT_KEPT = Code(
    id="PROFILE_NOT_KEPT",
    severity=WARNING,
    title="The name is claimed, but the profile is not kept",
    message="`{name}` is yours, and its secret is in the answer. But what you say of yourself "
    "could not be kept: {reason}",
    fix="Keep the secret. Register again with it as `registration_token`, later.",
    why="A secret is told once. Whatever fails after a name was claimed, who has it must get it.",
    spec=_SPEC,
    example=Example(
        "text",
        'register_agent(name="BlueLake", program="codex-cli", …)    (the store fails half-way)',
        'register_agent(name="BlueLake", registration_token="brs_…", …)',
    ),
)
TOO_MANY_AGENTS = Code(
    id="TOO_MANY_AGENTS",
    severity=ERROR,
    title="The project has as many agents as it can",
    message="{most} agents are known already. Nobody was registered.",
    fix="Use a name that you have: a program that begins anew shows the secret of its name. The "
    "operator registers further ones with `brenner mail register`.",
    why="A program in a loop would register a new name each time, and everybody reads the list.",
    spec="ruling R5 (limits)",
    example=Example(
        "text",
        "register_agent(program=…, model=…)    (each time it starts)",
        'register_agent(…, name="BlueLake", registration_token="brs_…")',
    ),
)

LEADING_NEEDS_SECRET = Code(
    id="LEADING_NEEDS_SECRET",
    severity=ERROR,
    title="Nobody leads a session without showing who they are",
    message="A {type} leads a session, and it is not proven that `{name}` sends it. Nothing was "
    "stored.",
    fix="To contribute, send a DELTA, a CRITIQUE or a QUESTION: those are taken from everybody. "
    "{advice}",
    why="A KICKOFF begins a round and gives everybody a role; a COMPILED message closes it, or "
    "stops the next compile. Whoever could send them under any name would lead every session.",
    spec=_LEADING,
    example=Example(
        "text",
        'send_message(sender_name="BlueLake", subject="KICKOFF: Cell fate", …)',
        'send_message(sender_name="BlueLake", sender_token="brs_…", subject="KICKOFF: Cell fate", '
        "…)",
    ),
)
NOT_YOURS_TO_LEAD = Code(
    id="NOT_YOURS_TO_LEAD",
    severity=ERROR,
    title="Somebody else leads this session",
    message="The thread `{thread}` has been led by others so far: a {type} is not `{name}`'s to "
    "send there. Nothing was stored.",
    fix="Contribute with a DELTA or a CRITIQUE. If you want another round or another version, ask "
    "`{operator}` with a QUESTION. A session of your own begins in a thread of its own.",
    why="Agents contribute, the operator leads. The latest KICKOFF gives everybody a role, and a "
    "COMPILED message that does not rebuild stops the next compile.",
    spec=_LEADING,
    example=Example(
        "text",
        'send_message(sender_name="BlueLake", subject="KICKOFF: A new round", …)',
        'send_message(sender_name="BlueLake", subject="QUESTION: A new round?", to=["Operator"], '
        "…)",
    ),
)

OTHER_NAMES_SECRET = Code(
    id="OTHER_NAMES_SECRET",
    severity=WARNING,
    title="The secret of the connection is another name's",
    message="The message is stored as unverified: the secret that came with the connection is the "
    "one of `{owner}`, and `{name}` sends.",
    fix="Send as `{owner}` if that is you. Otherwise show the secret of `{name}` as "
    "`sender_token`; what comes with the connection has to be your own secret, or nothing.",
    why="Most often the settings of one agent were copied for another. Each believes itself to be "
    "verified, and nobody reads it so.",
    spec=_SPEC,
    example=Example(
        "text",
        "Brenner-Secret: brs_… of RedStone    (and BlueLake sends)",
        "Brenner-Secret: brs_… of BlueLake",
    ),
)
STORED_UNVERIFIED = Code(
    id="STORED_UNVERIFIED",
    severity=INFO,
    title="The message is marked as unverified",
    message="`{name}` has a secret, and it was not shown: the message is stored as unverified.",
    fix="Show the secret that registering gave as `sender_token`, in every call. If it is lost, "
    "ask the operator for a new one.",
    why="Anybody may have sent it, and everybody who reads it is told so.",
    spec=_SPEC,
    example=Example(
        "text",
        _SEND.format(name="BlueLake"),
        'send_message(sender_name="BlueLake", sender_token="brs_…", …)',
    ),
)

CODES: tuple[Code, ...] = (
    WRONG_SECRET,
    OPERATOR_NEEDS_SECRET,
    SECRET_NEEDED,
    OTHER_PROJECT,
    PROFILE_NOT_KEPT,
    TOO_MANY_AGENTS,
    LEADING_NEEDS_SECRET,
    NOT_YOURS_TO_LEAD,
    OTHER_NAMES_SECRET,
    STORED_UNVERIFIED,
)
