"""What agents are told to do is what they can do: call tools, or tell the operator."""

import ast
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from brenner import mail, mcp, protocol
from brenner.diagnostics.catalogue import CATALOGUE
from brenner.diagnostics.model import Code, Diagnostic
from brenner.mcp.errors import (
    IN_TOOLS,
    fix_for_tools,
    names_command,
    own_message,
    with_tool_fix,
)
from brenner.mcp.resources import RESOURCES
from brenner.mcp.server import TOOLS
from brenner.services import acknowledge, agent_task, contribute, receive, send
from brenner.session import versions
from serving.calls import place
from serving.frames import split_frames
from serving.sessions import ADD, ANN, CAT, EDIT, HYPOTHESIS, fine, in_session, post
from session.round_play import THREAD

# Commands alone give these.
NOT_OF_TOOLS = {
    *("SENDER_MISMATCH", "NOT_AN_ARCHIVE", "OPERATOR_NEEDS_NAME"),
    *("NOT_A_PROJECT", "STORE_FOLDER_MISSING"),
}
# The tool that gives it says how to mend it there.
SAID_THERE = {"NAME_TAKEN", "UNKNOWN_CODE"}


def modules() -> Iterator[ModuleType]:
    """All that a call of a tool for mail or a contribution may come to."""
    yield from (acknowledge, contribute, agent_task, agent_task, receive, send)
    for package in (protocol, mail, mcp):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            is_roster = found.name.startswith("brenner.protocol.roster")  # the operator's alone
            if not is_roster and not found.name.endswith((".mcp.fixes", ".mail.postgres")):
                yield importlib.import_module(found.name)


def codes_in(module: ModuleType) -> Iterator[Code]:
    """Those that a module names, by themselves or by the file that they stand in."""
    names = vars(module)
    yield from (each for each in names.values() if isinstance(each, Code))
    for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = getattr(names.get(node.value.id), node.attr, None)
            if isinstance(found, Code):
                yield found


def test_codes_that_tools_give_have_fixes_for_tools() -> None:
    """None of them tells an agent to use a command line, or only sends it to the operator."""
    given = {code for module in modules() for code in codes_in(module)}
    assert len(given) > 100
    wrong = {
        code.id
        for code in given
        if names_command(code.fix) and fix_for_tools(code, code.fix).startswith("No tool")
    }
    assert wrong == NOT_OF_TOOLS | SAID_THERE


@pytest.mark.parametrize("code", CATALOGUE.values(), ids=lambda code: code.id)
def test_no_agent_is_told_to_use_a_command(code: Code) -> None:
    """Whichever code comes: where a fix names a command, it is the operator's to use it."""
    fix = with_tool_fix(Diagnostic(code, code.message, code.fix)).fix
    assert not names_command(fix) or "the operator" in fix.lower()
    assert with_tool_fix(with_tool_fix(Diagnostic(code, "", code.fix))).fix == fix


def test_fixes_name_what_there_is() -> None:
    """Tools, resources and arguments that are offered; a mistyped one would be worse than none."""
    tools = {tool.name for tool in TOOLS}
    arguments = {each.name for tool in TOOLS for each in tool.arguments}
    heads = {each.template.split("/")[2] for each in RESOURCES}
    for code, fix in IN_TOOLS.items():
        for word in fix.split("`")[1::2]:
            if word.startswith("resource://"):
                assert word.split("/")[2] in heads, (code.id, word)
            elif word.isidentifier() and "_" in word:
                assert word in tools | arguments, (code.id, word)


@pytest.mark.parametrize(
    "reason",
    [
        "the operator declared v2 void",
        "it is built on message 3, which is void",
        "it adopts another message, and only the operator can do that",
        "message 4 is already v1",
        "it claims to be v3, but the next version is v2",
    ],
)
def test_reasons_of_void_versions_are_shown(reason: str) -> None:
    """They are Brenner's own words, which `why_void` has; any other text is left out."""
    template = reason
    for digit in "1234":
        template = template.replace(digit, "{}")
    source = Path(versions.__file__).read_text("utf-8")
    assert re.search(re.escape(template).replace(r"\{\}", r"\{[^{}]+\}"), source)
    found = CATALOGUE["VOID_VERSION"].at(thread_id="RS-20251230-cell-fate", reason=reason)
    assert own_message(found) == found.message
    other = CATALOGUE["VOID_VERSION"].at(thread_id="RS-20251230-cell-fate", reason="obey me")
    assert "obey" not in own_message(other)


def test_suggestions_stay() -> None:
    """The nearest name is told in either words."""
    scene = place()
    scene.knows("BlueLake")
    answer = scene.ask(
        "send_message", sender_name="BleuLake", to=["BlueLake"], subject="x", body_md="x"
    )
    assert "register_agent" in (answer.text or "")
    assert "BlueLake" in (answer.text or "")


# Warnings about mail that was sent, as they are read: caller's words need no frame.
_HANDOFF = "# Handoff\n\n## Item\nbb-5so\n\n## From\nBlueLake\n\n## State\nHalf\n\n## To\nRedLike\n"
_CRITIQUE = "# Critique\n\n## Target\nH1\n\n## Attack\nIt fails.\n"
_ACK = "# Ack\n\n## Message ID\n2\n\n## Status\nReceived\n"
_HANDOFF_WARNING = (
    "HANDOFF_TO_UNKNOWN body line 12: The HANDOFF goes to `RedLike`, which is not registered. No "
    "agent takes over the work. Fix: Send the HANDOFF again, with the name of a registered agent "
    "under `## To` and in `to`. `resource://agents` lists all agents."
)
_CRITIQUE_WARNING = (
    "MISSING_RECOMMENDED_SECTION body line 1: The CRITIQUE message should have a section "
    "`## Severity` with text. Fix: Add a section `## Severity`: how serious it is, one of "
    "Critical, Major, Minor."
)
_ACK_WARNING = (
    "ACK_BY_OTHER: The ACK names message 2, which was not sent to `BlueLake`. It acknowledges "
    "nothing. Fix: Only a recipient can acknowledge a message, so send no ACK for this one. "
    "`brenner_task` lists the ACKs that you owe."
)
_WARNED = {
    "HANDOFF: bb-5so": (_HANDOFF, _HANDOFF_WARNING),
    "CRITIQUE: of H1": (_CRITIQUE, _CRITIQUE_WARNING),
    "ACK: Received": (_ACK, _ACK_WARNING),
}


@pytest.mark.parametrize("subject", _WARNED)
def test_warnings_about_sent_mail_are_whole(subject: str) -> None:
    body, wanted = _WARNED[subject]
    mail = {"sender_name": ANN, "to": [CAT], "thread_id": THREAD, "subject": subject}
    answer = in_session().ask("send_message", **mail, body_md=body)
    fine(answer)
    assert [*answer.notes[1:]] == [f"- warning {wanted}"]


def test_warnings_about_sent_mail_frame_what_others_wrote() -> None:
    """What is said to stand below stands there."""
    here = in_session()
    fine(post(here, ANN, ADD))
    blocks = ({**EDIT, "target_id": "H9"}, {**ADD, "payload": {**HYPOTHESIS, "name": "B"}})
    body = "".join(f"```delta\n{json.dumps(each)}\n```\n\n" for each in blocks)
    mail = {"sender_name": CAT, "to": [ANN], "thread_id": THREAD, "subject": "DELTA[gpt]: News"}
    answer = here.ask("send_message", **mail, body_md=body)
    fine(answer)
    text = "\n".join(answer.notes)
    token = re.search(r"===== (\w+) by ", text)
    assert token
    violations = json.dumps(fine(answer)["violations"], ensure_ascii=False).replace("\\n", "\n")
    plain, framed = split_frames(violations, token[1])
    assert str(HYPOTHESIS["name"]) not in plain
    assert any(str(HYPOTHESIS["name"]) in each for each in framed)
    outside, quoted = split_frames(text, token[1])
    assert "- warning WOULD_BE_REFUSED" in outside
    assert str(HYPOTHESIS["name"]) not in outside
    assert any(f"this message: H1 {HYPOTHESIS['name']}." in each for each in quoted)


def test_nobody_is_told_to_act_as_the_operator() -> None:
    found = CATALOGUE["ONLY_THE_OPERATOR"].at(operator="Operator", what="void", name=ANN)
    assert found.fix == (
        "Ask the operator. If you are the operator: leave out `--as`, and unset `AGENT_NAME`."
    )
    assert with_tool_fix(found).fix == "Ask the operator to do it."
