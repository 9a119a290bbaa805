"""What a person sees of her mail: terminals of 80 and 140 columns, colour, pages, odd text."""

import re
from pathlib import Path

import pytest

from brenner.cli import mail
from brenner.cli.terminal import display_width
from mail_shell import HOSTILE, THREAD, make_message, posted
from terminal import at_terminal, in_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
WIDE_LETTERS = "細胞運命の二分法と勾配の安定性についての長い題名です"
COMMANDS = [
    ["inbox"],
    ["thread", THREAD],
    ["thread", THREAD, "--full"],
    ["show", "1"],
    ["pending"],
    ["search", "gradient"],
    ["agents"],
    ["agents", "BlueLake"],
]


@pytest.fixture
def project(tmp_path: Path) -> list[str]:
    """Mail of every type, with long and wide and hostile text; how to name it."""
    long = "The gradient is not stable under any condition that was tried. " * 8
    posted(
        tmp_path,
        make_message(
            "KICKOFF: " + "Cell fate dichotomy investigation, " * 3, long, "Operator", "RedCreek"
        ),
        make_message("DELTA[opus]: Added H3", f"{long}\n\n```delta\n{{}}\n```\n"),
        make_message("COMPILED: v2", "# v2\n" * 12),
        make_message(f"CRITIQUE: {WIDE_LETTERS}", WIDE_LETTERS * 9),
        make_message("ACK: Received", "## Status\nReceived\n"),
        make_message(f"QUESTION: {HOSTILE}", HOSTILE),
        make_message("Re: " + "e\u0301\u0302\u0303" * 60, "e" + "\u0301" * 500),
        hours_ago=30,
    )
    return ["--project", str(tmp_path)]


def lines_of(shown: str) -> list[str]:
    """What stands on the screen, without styles."""
    return ESCAPE.sub("", shown).splitlines()


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_lines_fit(project: list[str], command: list[str], width: int) -> None:
    """No line is wider than the terminal, whatever it shows; a wide one is used."""
    shown = lines_of(in_terminal(width, *project, "mail", *command))
    assert shown
    assert max(map(display_width, shown)) <= width
    if command[0] in ("inbox", "search"):
        assert ("When" in shown[2] + shown[0]) == (width == 140)
        assert max(map(display_width, shown)) > width - 30


def test_rows_are_cut_not_wrapped(project: list[str]) -> None:
    """A message is one line of the inbox, at any width; what is cut ends in a sign."""
    for width in (30, 80, 140):
        shown = lines_of(in_terminal(width, *project, "mail", "inbox"))
        rows = [line for line in shown if re.match(r"[•! ]{2} +[0-9]", line)]
        assert len(rows) == 7
        assert max(map(display_width, shown[3:12])) <= width
    narrow = lines_of(in_terminal(80, *project, "mail", "inbox"))
    assert any("KICKOFF: Cell fate dichotomy" in line and "…" in line for line in narrow)


@pytest.mark.parametrize("command", [["inbox"], ["thread", THREAD], ["pending"]], ids=" ".join)
def test_colour_only_where_wanted(project: list[str], command: list[str]) -> None:
    """Colour in a terminal, none with NO_COLOR or a dumb one; never colour alone."""
    coloured = in_terminal(80, *project, "mail", *command)
    assert ESCAPE.search(coloured)
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = in_terminal(80, *project, "mail", *command, **environment)
        assert not ESCAPE.search(plain)
        assert plain == ESCAPE.sub("", coloured)


def test_types_have_their_role(project: list[str]) -> None:
    """One style for each role, on the type's word; the quiet ones all through."""
    shown = in_terminal(140, *project, "mail", "inbox")
    for start in (
        "\x1b[36m\x1b[1mKICKOFF:\x1b[0m Cell",
        "\x1b[1mDELTA[opus]:\x1b[0m Added",
        "\x1b[32m\x1b[1mCOMPILED:\x1b[0m v2",
        "\x1b[35m\x1b[1mCRITIQUE:\x1b[0m 細",
        "\x1b[33mQUESTION:\x1b[0m ",
        "\x1b[2mACK: Received\x1b[0m",
    ):
        assert start in shown


def test_found_words_are_marked(project: list[str]) -> None:
    """Underlined where there are styles, between signs where there are none."""
    assert "\x1b[1m\x1b[4mgradient\x1b[0m" in in_terminal(
        80, *project, "mail", "search", "gradient"
    )
    assert "«gradient»" in in_terminal(80, *project, "mail", "search", "gradient", NO_COLOR="1")


RAW = [["show", "6", "--raw"], ["thread", THREAD, "--raw"], ["export"]]


@pytest.mark.parametrize("command", [*COMMANDS, *RAW], ids=" ".join)
def test_nothing_is_executed(project: list[str], command: list[str]) -> None:
    """Our own styles and line ends are all that the terminal obeys, also with --raw."""
    shown = ESCAPE.sub("", in_terminal(80, *project, "mail", *command))
    assert all(each == "\n" or each.isprintable() for each in shown)
    if command in RAW:
        assert "owned" in shown


def test_long_lists_are_paged(tmp_path: Path) -> None:
    """By PAGER where there are more lines than the screen has, and somebody to turn the pages."""
    project = ["--project", str(tmp_path)]
    posted(tmp_path, *(make_message(f"INFO: {number}") for number in range(60)))
    pager = {"PAGER": "sed -u s/^/paged:/"}
    for command in (["inbox"], ["thread", THREAD], ["search", "type:INFO"]):
        paged = at_terminal(80, *project, "mail", *command, **pager)
        assert all(line.startswith("paged:") for line in paged.splitlines())
        for arguments in ([*command, "--no-pager"], [*command, "--limit", "3"]):
            shown = at_terminal(80, *project, "mail", *arguments, **pager)
            assert "paged:" not in shown
        assert "paged:" not in in_terminal(80, *project, "mail", *command, **pager)


def test_times_are_relative_where_one_looks(tmp_path: Path) -> None:
    """Relative in a list, exact where it is asked for."""
    project = ["--project", str(tmp_path)]
    posted(tmp_path, make_message("QUESTION: x?", "x"), hours_ago=30)
    assert "  30 h ago" in in_terminal(140, *project, "mail", "inbox", NO_COLOR="1")
    assert "6 h overdue" in in_terminal(80, *project, "mail", "pending", NO_COLOR="1")
    for command in (["show", "1"], ["thread", THREAD, "--full"]):
        shown = in_terminal(80, *project, "mail", *command, NO_COLOR="1")
        assert re.search(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ \(30 h ago\)", shown)


def test_help_fits() -> None:
    """Every command's help fits into 80 columns and has an example."""
    for name in mail.COMMANDS:
        shown = in_terminal(80, "mail", name, "--help")
        assert max(map(len, shown.splitlines())) <= 80
        assert f"Examples:\n  brenner mail {name}" in shown


DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_names_every_command() -> None:
    """Each has its row, and its document."""
    page = (DOCS / "how-to" / "use-mail.md").read_text("utf-8")
    documents = (DOCS / "reference" / "json.md").read_text("utf-8")
    for name in mail.COMMANDS:
        assert re.search(rf"^\| `mail {name}\b", page, re.MULTILINE)
        assert re.search(rf"^\| `mail {name}` \|", documents, re.MULTILINE)
