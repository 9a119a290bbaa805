"""Codes of calls that do not fit a tool or resource: its name, its arguments. And our failures."""

from brenner.diagnostics.model import ERROR, Code, Example

_SPEC = "Model Context Protocol, tools and resources; Agent Mail, the subset that agents use"
_SEND = '"project_key": "/home/ada/lab", "sender_name": "BlueLake", "to": ["RedStone"]'

UNKNOWN_TOOL = Code(
    id="UNKNOWN_TOOL",
    severity=ERROR,
    title="There is no such tool",
    message="Unknown tool: {tool}",
    fix="Nothing was done.{suggestion} `tools/list` names all tools.",
    why="A call that does nothing must not look like one that worked.",
    spec=_SPEC,
    example=Example("text", "mail_send", "send_message"),
)
UNKNOWN_RESOURCE = Code(
    id="UNKNOWN_RESOURCE",
    severity=ERROR,
    title="There is no such resource",
    message="Unknown resource: '{uri}'.",
    fix="There are {known}.{suggestion}",
    why="An address that means nothing is not an empty inbox.",
    spec=_SPEC,
    example=Example("text", "resource://inboxes/BlueLake", "resource://inbox/BlueLake"),
)
UNKNOWN_ARGUMENT = Code(
    id="UNKNOWN_ARGUMENT",
    severity=ERROR,
    title="The tool or resource takes no such argument",
    message="`{where}` takes no argument `{argument}`.",
    fix="Leave it out, or use the name that was meant.{suggestion} There are: {known}.",
    why="What is passed under a wrong name would be lost without a word.",
    spec=_SPEC,
    example=Example("text", f'{{{_SEND}, "body": "…"}}', f'{{{_SEND}, "body_md": "…"}}'),
)
MISSING_ARGUMENT = Code(
    id="MISSING_ARGUMENT",
    severity=ERROR,
    title="A required argument is missing",
    message="`{where}` needs the argument `{argument}`: {expected}.",
    fix="Call it again with `{argument}`.",
    why="Without it the call has no meaning; nothing is guessed.",
    spec=_SPEC,
    example=Example("text", '{"message_id": 12}', '{"message_id": 12, "agent_name": "BlueLake"}'),
)
WRONG_ARGUMENT_TYPE = Code(
    id="WRONG_ARGUMENT_TYPE",
    severity=ERROR,
    title="An argument is of the wrong type",
    message="`{argument}` has to be {expected}; it is {given}.",
    fix="Pass {expected}.",
    why="A number as text, one text for a list, and JSON in a text are understood. More would be "
    "a guess.",
    spec=_SPEC,
    example=Example("text", '{"message_id": "the last one"}', '{"message_id": 12}'),
)
NOT_A_CHOICE = Code(
    id="NOT_A_CHOICE",
    severity=ERROR,
    title="An argument is none of the listed words",
    message="`{argument}` cannot be `{given}`.",
    fix="Use one of: {choices}.{suggestion}",
    why="A word that nobody knows has no effect, or the wrong one.",
    spec=_SPEC,
    example=Example("text", '{"importance": "hugely"}', '{"importance": "urgent"}'),
)
UNREADABLE_ARGUMENT = Code(
    id="UNREADABLE_ARGUMENT",
    severity=ERROR,
    title="An argument holds what no message can hold",
    message="`{argument}` has {what} in it.",
    fix="Take it out, and call again.",
    why="Not every store can keep it, and what comes out has to be what went in.",
    spec=_SPEC,
    example=Example("text", '{"body_md": "half a character: \\ud83d"}', '{"body_md": "whole: 🙂"}'),
)
ARGUMENTS_TOO_LARGE = Code(
    id="ARGUMENTS_TOO_LARGE",
    severity=ERROR,
    title="The arguments are nested too deep, or too many",
    message="The arguments have more than {most}.",
    fix="Send less at once: several calls are fine.",
    why="How much we take is decided before anything is read (ruling R5).",
    spec=_SPEC,
    example=Example("text", "[[[[…]]]]", "[…]"),
)
TOOL_FAILED = Code(
    id="TOOL_FAILED",
    severity=ERROR,
    title="A tool or resource failed, by a fault of the program",
    message="Internal error in `{where}` ({kind}): a fault of Brenner's, not of your call.",
    fix="Whether it was done is not known: look before you call it again. The operator finds the "
    "reason in the server's log under {reference}.",
    why="A failure is never told as a success, nor is an agent to mend what is not hers.",
    spec=_SPEC,
    example=Example("text", "Internal error in `send_message` (KeyError)", "fetch_inbox(…)"),
)

CODES = (
    UNKNOWN_TOOL,
    UNKNOWN_RESOURCE,
    UNKNOWN_ARGUMENT,
    MISSING_ARGUMENT,
    WRONG_ARGUMENT_TYPE,
    NOT_A_CHOICE,
    UNREADABLE_ARGUMENT,
    ARGUMENTS_TOO_LARGE,
    TOOL_FAILED,
)
