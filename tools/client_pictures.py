"""Take the pictures of the pages on Claude Code, Codex and Gemini: what an operator meets.

usage: client_pictures.py [PROGRAMS [PICTURES]]

PROGRAMS is a folder with `claude`, `codex` and `gemini`. Each program runs in tmux, in a new
project that `brenner agent config --write` has connected to a server. It has its own home folder,
in which a user seems to be logged in, and a proxy that leads nowhere, so it reaches no model
service. What tmux shows becomes HTML, and Debian's chromium makes the picture.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import Any, NamedTuple

from playwright.sync_api import Browser, sync_playwright

from screenshots import CHROMIUM, CHROMIUM_ARGUMENTS, FOLDER, run_brenner, served

PROGRAMS = Path(__file__).parents[1] / ".agent-programs" / "node_modules" / ".bin"
PATIENCE = 60  # seconds
SHOWN_HOME = "/home/ada"
_KEY = "sk-ant-not-a-real-key-0123456789"
_NOWHERE = "http://127.0.0.1:9"
_LIST = "/mcp"  # in all of them
_TMUX_SETTINGS = """\
set -g default-terminal tmux-256color
set -ga terminal-overrides ",*256col*:Tc"
set -g focus-events on
set -g status off
"""


class Excerpt(NamedTuple):
    """Which lines of a screen a picture shows: from the last one that contains `first`."""

    name: str
    first: str
    last: str


class Client(NamedTuple):
    """A program, what it shows, and how a user's home folder looks after the login."""

    name: str
    command: tuple[str, ...]
    log_in: Callable[[Path, Mapping[str, str]], None]
    question: Excerpt
    prompt: str
    connected: Excerpt
    variables: tuple[tuple[str, str], ...] = ()


def main() -> int:
    """Take all of them."""
    programs = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else PROGRAMS
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER  # noqa: PLR2004
    missing = [each.command[0] for each in CLIENTS if not (programs / each.command[0]).exists()]
    if missing:
        print(f"Not found in {programs}: {', '.join(missing)}.", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        for client in CLIENTS:
            for excerpt, lines in _screens(client, programs):
                _take(browser, lines, folder / f"{excerpt.name}.png")
                print(f"{excerpt.name}.png")
        browser.close()
    return 0


def _screens(client: Client, programs: Path) -> Iterator[tuple[Excerpt, list[str]]]:
    """Yield the question of a program, and its list of servers after the answer."""
    with _new_home() as home:
        project = home / "research" / "cell-fate"
        project.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", project], check=True)
        run_brenner("init", "--project", str(project))
        environment = _environment(home, programs) | dict(client.variables)
        client.log_in(home, environment)
        with served(project) as address, _terminal(client, project, environment) as terminal:
            place = ("--url", f"{address}/mcp/", "--project", str(project))
            run_brenner("agent", "config", "--client", client.name, "--write", "--yes", *place)
            terminal.start()
            terminal.wait_for(client.question.last)
            yield client.question, terminal.excerpt(client.question)
            terminal.press("Enter")
            terminal.wait_for(client.prompt)
            terminal.ask(_LIST, client.connected.last)
            yield client.connected, terminal.excerpt(client.connected)


@contextmanager
def _new_home() -> Iterator[Path]:
    """Make a home folder whose path is as long as the one that the pictures show."""
    length = len(SHOWN_HOME) - len(gettempdir()) - 1
    assert length > 0, "The folder for temporary files has a long path. Set TMPDIR=/tmp."
    home = Path(gettempdir(), token_hex(length)[:length])
    home.mkdir()
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)  # a program that ends may still write


def _environment(home: Path, programs: Path) -> dict[str, str]:
    """Return variables for a program that reaches only this machine."""
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        "COLORTERM": "truecolor",
        "HTTP_PROXY": _NOWHERE,
        "HTTPS_PROXY": _NOWHERE,
        "NO_PROXY": "127.0.0.1,localhost",
    }


# The programs


def _log_in_claude(home: Path, _: Mapping[str, str]) -> None:
    answers = {"approved": [_KEY[-20:]], "rejected": []}
    settings = {"hasCompletedOnboarding": True, "customApiKeyResponses": answers}
    (home / ".claude.json").write_text(json.dumps(settings), "utf-8")


def _log_in_codex(_: Path, environment: Mapping[str, str]) -> None:
    command = ["codex", "login", "--with-api-key"]
    subprocess.run(command, env=environment, input=_KEY.encode(), capture_output=True, check=True)


def _log_in_gemini(home: Path, _: Mapping[str, str]) -> None:
    (home / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings), "utf-8")


CLIENTS = (
    Client(
        "claude-code",
        ("claude",),
        _log_in_claude,
        question=Excerpt("claude-code-question", "Accessing workspace", "Enter to confirm"),
        prompt="? for shortcuts",
        connected=Excerpt("claude-code-connected", "❯ /mcp", "connected · "),
        variables=(
            ("ANTHROPIC_API_KEY", _KEY),
            ("ANTHROPIC_BASE_URL", _NOWHERE),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ),
    ),
    Client(
        "codex",
        ("codex", "--no-daemon"),
        _log_in_codex,
        question=Excerpt("codex-question", "Folder access", "enter continue"),
        prompt="Ask Codex to do anything",
        connected=Excerpt("codex-connected", "MCP Tools", "brenner: connected"),
    ),
    Client(
        "gemini",
        ("gemini",),
        _log_in_gemini,
        question=Excerpt("gemini-question", "╭──", "╰──"),
        prompt="Type your message",
        connected=Excerpt("gemini-connected", "Configured MCP", "mcp_brenner_reply_message"),
        variables=(("GEMINI_API_KEY", _KEY),),
    ),
)


# The terminal


class Terminal:
    """A tmux server with one program, which ends with the context."""

    def __init__(self, client: Client, project: Path, environment: Mapping[str, str]) -> None:
        self._client, self._project, self._environment = client, project, environment
        self._home = environment["HOME"]
        self._settings = Path(self._home, "tmux.conf")
        self._settings.write_text(_TMUX_SETTINGS, "utf-8")

    def start(self) -> None:
        """Start the program."""
        size = ("-x", "100", "-y", "44")
        self._tmux("new-session", "-d", *size, "-c", str(self._project), *self._client.command)

    def end(self) -> None:
        """End the program and the server."""
        self._tmux("kill-server", is_checked=False)

    def press(self, *keys: str) -> None:
        """Press keys, or type a text."""
        self._tmux("send-keys", *keys)

    def wait_for(self, text: str, patience: float = PATIENCE) -> None:
        """Wait until the screen shows a text and does not change any more."""
        if not self._shows(text, patience):
            screen = "\n".join(self.lines())
            message = f"{self._client.name} does not show {text!r}:\n{screen}"
            raise TimeoutError(message)

    def ask(self, command: str, answer: str) -> None:
        """Type a command until its answer is there: Codex connects only after the first prompt."""
        for _ in range(PATIENCE // 5):
            self.press(command)
            self.wait_for(command)
            self.press("Enter")
            if self._shows(answer, 5):
                return
        self.wait_for(answer, 0)

    def _shows(self, text: str, patience: float) -> bool:
        end, before = time.monotonic() + patience, [""]
        while time.monotonic() < end:
            lines = self.lines()
            if lines == before and any(text in _plain(line) for line in lines):
                return True
            before = lines
            time.sleep(0.3)
        return False

    def excerpt(self, which: Excerpt) -> list[str]:
        """Return the lines of an excerpt."""
        lines = self.lines()
        first = max(i for i, line in enumerate(lines) if which.first in _plain(line))
        last = max(i for i, line in enumerate(lines) if which.last in _plain(line))
        return lines[first : last + 1]

    def lines(self) -> list[str]:
        """Return the screen with its colours, as a user with the shown home folder sees it."""
        shown = self._tmux("capture-pane", "-e", "-p").replace(self._home, SHOWN_HOME)
        return _carry_colours(shown.splitlines())

    def _tmux(self, *arguments: str, is_checked: bool = True) -> str:
        command = ["tmux", "-u", "-S", f"{self._home}/tmux", "-f", str(self._settings), *arguments]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=is_checked
        )
        return done.stdout


@contextmanager
def _terminal(client: Client, project: Path, environment: Mapping[str, str]) -> Iterator[Terminal]:
    terminal = Terminal(client, project, environment)
    try:
        yield terminal
    finally:
        terminal.end()


# From the terminal to HTML

_STYLE_CODE = re.compile(r"\x1b\[([\d;]*)m")
_OTHER_CODE = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|\x0e|\x0f")
_BASIC = (
    *("#3b4252", "#bf616a", "#8fbc6f", "#d7ba7d", "#6fa8dc", "#b48ead", "#76c7c0", "#d8dee9"),
    *("#6b7280", "#e06c75", "#98c379", "#e5c07b", "#7cb7ff", "#c678dd", "#8be9e0", "#ffffff"),
)
# No font of Debian's chromium has these.
_DRAWN = {"🟢": "<b style='color:#98c379'>●</b> ", "🔌": "  "}
_PAGE = """\
<meta charset="utf-8"><style>
body {{ margin: 0; background: #1b1f27 }}
pre {{ display: inline-block; margin: 0; padding: 14px 18px; background: #1b1f27; color: #d8dee9;
  font: 14px/1.17 "DejaVu Sans Mono", monospace }}
</style><pre>{}</pre>
"""


def _take(browser: Browser, lines: list[str], path: Path) -> None:
    """Write a picture of these lines."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.set_content(_PAGE.format("\n".join(_html(line) for line in lines)))
    page.locator("pre").screenshot(path=path)
    page.close()


def _plain(line: str) -> str:
    return _STYLE_CODE.sub("", line)


def _carry_colours(lines: list[str]) -> list[str]:
    """Let each line begin with the colours in which the one before it ended."""
    carried, found = "", []
    for line in lines:
        whole = carried + _OTHER_CODE.sub("", line)
        carried = "".join(each[0] for each in _STYLE_CODE.finditer(whole))
        found.append(whole)
    return found


class Style(NamedTuple):
    """How a terminal shows a character."""

    colour: str = ""
    background: str = ""
    is_bold: bool = False
    is_dim: bool = False
    is_italic: bool = False
    is_inverse: bool = False

    @property
    def css(self) -> str:
        """Return the style of an HTML element."""
        colour, background = self.colour, self.background
        if self.is_inverse:
            colour, background = background or "#1b1f27", colour or "#d8dee9"
        parts = (
            (colour, f"color:{colour}"),
            (background, f"background:{background}"),
            (self.is_bold, "font-weight:bold"),
            (self.is_dim, "opacity:.65"),
            (self.is_italic, "font-style:italic"),
        )
        return ";".join(text for is_set, text in parts if is_set)


_SWITCHES: Mapping[int, Mapping[str, Any]] = {
    1: {"is_bold": True},
    2: {"is_dim": True},
    3: {"is_italic": True},
    7: {"is_inverse": True},
    22: {"is_bold": False, "is_dim": False},
    23: {"is_italic": False},
    27: {"is_inverse": False},
    39: {"colour": ""},
    49: {"background": ""},
    **{30 + i: {"colour": _BASIC[i]} for i in range(8)},
    **{40 + i: {"background": _BASIC[i]} for i in range(8)},
    **{90 + i: {"colour": _BASIC[8 + i]} for i in range(8)},
    **{100 + i: {"background": _BASIC[8 + i]} for i in range(8)},
}


def _html(line: str) -> str:
    """Return a line as HTML."""
    style, found = Style(), []
    parts = _STYLE_CODE.split(line)  # text, codes, text, codes, …, text
    for text, codes in zip(parts[::2], [*parts[1::2], ""], strict=True):
        drawn = "".join(_DRAWN.get(each) or _cell(each) for each in text)
        if drawn:
            found.append(f'<span style="{style.css}">{drawn}</span>')
        style = _changed(style, codes)
    return "".join(found)


def _cell(character: str) -> str:
    """Return a character, with two columns if it is wide."""
    if unicodedata.east_asian_width(character) == "W":
        return f'<span style="display:inline-block;width:2ch">{character}</span>'
    return escape(character)


def _changed(style: Style, codes: str) -> Style:
    """Return the style after an SGR sequence."""
    numbers = [int(each or 0) for each in codes.split(";")]
    while numbers:
        code = numbers.pop(0)
        if code == 0:
            style = Style()
        elif code in (38, 48):
            field = "colour" if code == 38 else "background"  # noqa: PLR2004
            changes: dict[str, Any] = {field: _long_colour(numbers)}
            style = style._replace(**changes)
        else:
            style = style._replace(**_SWITCHES.get(code, {}))
    return style


def _long_colour(numbers: list[int]) -> str:
    """Take a colour of 256, or one as red, green and blue, from the front of the numbers."""
    if numbers.pop(0) == 2:  # noqa: PLR2004
        red, green, blue, *rest = numbers
        numbers[:] = rest
        return f"rgb({red},{green},{blue})"
    number = numbers.pop(0)
    if number < 16:  # noqa: PLR2004
        return _BASIC[number]
    if number >= 232:  # noqa: PLR2004
        level = 8 + 10 * (number - 232)
        return f"rgb({level},{level},{level})"
    number -= 16
    levels = (0, 95, 135, 175, 215, 255)
    return f"rgb({levels[number // 36]},{levels[number // 6 % 6]},{levels[number % 6]})"


if __name__ == "__main__":
    sys.exit(main())
