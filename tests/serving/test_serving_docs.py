"""The pages on serving name what there is, and nothing else."""

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from brenner.cli.options import common_options
from brenner.mcp.resources import RESOURCES
from brenner.mcp.server import TOOLS
from brenner.server.settings import ServeSettings
from brenner.services.client_settings import CLIENTS

DOCS = Path(__file__).parents[2] / "docs"
CONNECT = (DOCS / "how-to" / "connect-agents.md").read_text("utf-8")
AGENTS, SERVER, LIMITS, SETTINGS = (
    (DOCS / "reference" / name).read_text("utf-8")
    for name in ("agent-tools.md", "server.md", "limits.md", "settings.md")
)


def rows(page: str, heading: str) -> set[str]:
    """What the tables of a section have in their first column, where it is code."""
    _, _, rest = page.partition(f"\n## {heading}\n")
    section = re.split(r"\n## ", rest)[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def test_tools() -> None:
    """Each has its row."""
    assert rows(AGENTS, "Tools") == {tool.name for tool in TOOLS}


def test_resources() -> None:
    """Each is named, with the name of what stands in its path."""
    for resource in RESOURCES:
        path = re.sub(r"\{\?.*?\}|\*", "", resource.template).removeprefix("resource://")
        assert path in AGENTS


def test_clients() -> None:
    """Each has its row."""
    assert set(CLIENTS) <= rows(CONNECT, "Connect one")


@pytest.mark.parametrize(
    ("module", "name", "page"),
    [
        ("brenner.cli.serve", "command", SERVER),
        ("brenner.cli.mcp", "command", SERVER),
        ("brenner.cli.agent", "secret", SERVER),
        ("brenner.cli.agent", "config", CONNECT),
        ("brenner.cli.doctor", "command", SETTINGS),
    ],
)
def test_options(module: str, name: str, page: str) -> None:
    """Each that is not common to all commands is named."""
    command = getattr(import_module(module), name)
    assert [each for each in options(command) - options(plain) if f"`{each}" not in page] == []


@click.command()
@common_options
def plain(settings: object) -> int:
    """A command with no options of its own."""
    del settings
    return 0


def options(command: click.Command) -> set[str]:
    """What can be given to a command."""
    return {each for parameter in command.params for each in parameter.opts if each[:2] == "--"}


@pytest.mark.parametrize(
    "name", ["most_request_bytes", "most_connections", "requests_a_second", "grace_seconds"]
)
def test_limits(name: str) -> None:
    """Each figure has a row of its own, at the beginning."""
    figure = ServeSettings._field_defaults[name]
    _, _, page = LIMITS.partition("\n## Server\n")
    (row,) = [row for row in page.splitlines() if f"`{name}`" in row]
    assert row.startswith(f"| {figure:,} ")
