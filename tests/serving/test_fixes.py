"""What agents are told to do is what they can do: call tools, or tell the operator."""

import ast
import importlib
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
