"""What is said to who wants to connect an agent: commands that there are, and that work here."""

import re
import shlex
import tomllib
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.catalogue import CATALOGUE
from brenner.mail.memory import MemoryMailbox
from brenner.mcp.errors import IN_TOOLS
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings, address_for_agents
from brenner.services.client_settings import CLIENTS, OTHER
from brenner.services.workspace import Workspace
from brenner.web.rendering import render_html
from brenner.web.request import Page, RequestContext
from brenner.web.views import project as connect
from commands import in_code, in_marks, incomplete, unknown
from mail_shell import Shell

ROOT = Path(__file__).parents[2]
# The others are made from the catalogue and from the help
GENERATED = {ROOT / "docs" / "reference" / name for name in ("codes.md", "commands.md")}
PAGES = [*sorted(ROOT.glob("*.md")), *sorted({*(ROOT / "docs").rglob("*.md")} - GENERATED)]
_REMARK = re.compile(r"\s{2,}\(.*\)$|\s+> \S+$")  # of an example, or where its output goes
EVERYWHERE = "0.0.0.0"  # noqa: S104
TOKEN = "s3cret-of-the-endpoint"  # noqa: S105  (made up)
SERVED = {
    "as usual": (ServeSettings(), ""),
    "another port": (ServeSettings(port=9001), "--url http://127.0.0.1:9001/mcp/"),
    "a token": (ServeSettings(token=TOKEN), "--token"),
    "both": (ServeSettings(port=9001, token=TOKEN), "--url http://127.0.0.1:9001/mcp/ --token"),
    "IPv6": (ServeSettings("::1"), "--url 'http://[::1]:8765/mcp/'"),
    "one address": (
        ServeSettings("192.0.2.7", token=TOKEN),
        "--url http://192.0.2.7:8765/mcp/ --token",
    ),
    "a name": (
        ServeSettings(EVERYWHERE, token=TOKEN, hosts=("lab.example:443",)),
        "--url http://lab.example:8765/mcp/ --token",
    ),
    "behind a proxy": (ServeSettings(hosts=("lab.example",)), ""),
    "everywhere": (
        ServeSettings(EVERYWHERE, 9001, TOKEN),
        "--url http://ADDRESS:9001/mcp/ --token",
    ),
    "everywhere, IPv6": (
        ServeSettings("::", token=TOKEN),
        "--url http://ADDRESS:8765/mcp/ --token",
    ),
}


@pytest.mark.parametrize(("settings", "options"), SERVED.values(), ids=SERVED)
def test_the_whole_command(settings: ServeSettings, options: str) -> None:
    """With all that the client cannot know; what has to be filled in is said."""
    way = address_for_agents(settings)
    assert way.command("codex") == f"brenner agent config --client codex {options}".rstrip()
    assert ("--allow-host NAME" in way.remark) == ("ADDRESS" in options)
    assert TOKEN not in str(way)


def test_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it prints leads to the server, and bears its token."""
    for name in ("AGENT_NAME", "BRENNER_STORE", "BRENNER_SERVE_URL", "BRENNER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    shell = Shell(tmp_path, monkeypatch)
    for settings, _ in SERVED.values():
        way = address_for_agents(settings)
        _, *words = shlex.split(way.command("codex"))
        done = shell(*words)
        assert done.code == 0
        assert f'url = "{way.url}"' in done.out
        assert ("bearer_token_env_var" in done.out) == way.wants_token


@pytest.mark.parametrize(("settings", "options"), SERVED.values(), ids=SERVED)
def test_on_the_page(settings: ServeSettings, options: str) -> None:
    """Every command on it exists; there is one for each client, with what this server needs."""
    project = Project(Path("/group/<cell> fate"))
    site = site_of(Workspace(MemoryMailbox(), project, project.operator), settings)
    visit = RequestContext(site, "/connect", datetime.now(UTC))
    page = connect.connect_page(visit)
    assert isinstance(page, Page)
    written = render_html(page, visit)
    text = unescape(written)
    named = in_code(text)
    assert [found for each in named for found in unknown(each)] == []
    configs = [each for each in named if each.startswith("agent config")]
    writing = {each: "" if each == OTHER else "--write" for each in CLIENTS}
    wanted = [("agent config --client", each, options, writing[each]) for each in CLIENTS]
    assert configs == [" ".join(filter(None, words)) for words in wanted]
    assert ("--allow-host NAME" in text) == ("ADDRESS" in options)
    assert TOKEN not in text
    assert "<cell>" not in written


def test_commands_that_fixes_name_exist() -> None:
    """Whoever is told what to do can do it."""
    texts = [text for code in CATALOGUE.values() for text in (code.message, code.fix, code.why)]
    named = [each for text in texts for each in in_marks(text)]
    assert len(named) > 50
    assert [found for each in named for found in unknown(each)] == []


def test_commands_in_fixes_run_as_they_are_written() -> None:
    """No argument is missing: in fixes, in their words for tools, pages and forms, in examples."""
    page_words = tomllib.loads((ROOT / "src/brenner/web/form_words.toml").read_text("utf-8"))
    texts = [
        *(text for code in CATALOGUE.values() for text in (code.message, code.fix)),
        *IN_TOOLS.values(),
        *(text for words in page_words.values() for text in words.values()),
    ]
    named = [each for text in texts for each in in_marks(text)]
    assert len(named) > 100
    assert [found for each in named for found in incomplete(each)] == []
    lines = [line for code in CATALOGUE.values() for line in code.example.right.splitlines()]
    shown = [_REMARK.sub("", each) for each in lines if each.startswith("brenner ")]
    whole = [each.removeprefix("brenner ") for each in shown if "…" not in each]
    assert len(whole) > 50
    assert [found for each in whole for found in incomplete(each)] == []


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_commands_that_pages_name_exist(file: Path) -> None:
    """With the options that they are shown with."""
    named = in_marks(file.read_text("utf-8"))
    assert [found for each in named for found in unknown(each)] == []


@pytest.mark.parametrize("said", ["mail threads", "session status --url x", "agents"])
def test_what_there_is_not(said: str) -> None:
    """The test would notice."""
    assert [*unknown(said)] != []
    assert [*incomplete(said)] != []


@pytest.mark.parametrize("said", ["mail import", "session", "session cancel T", "mail thread x y"])
def test_what_cannot_be_run(said: str) -> None:
    assert [*unknown(said)] == []
    assert [*incomplete(said)] != []
