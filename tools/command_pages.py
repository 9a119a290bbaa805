"""Write docs/reference/commands.md and man/*.1 from the help of the program.

With --check, report whether they are up to date. Both are generated from the commands themselves,
as `--help` is: the same words, the same order.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import click

from brenner import __version__
from brenner.cli.help import epilog_lines, option_rows, sections_of
from brenner.cli.main import cli
from brenner.cli.options import LazyGroup

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "commands.md"
MANUAL = ROOT / "man"
_KEEP_LINES = "\b\n"  # click does not wrap such a paragraph
_INTRODUCTION = (
    "For everyone who runs `brenner`: all commands with their options and examples. "
    "`brenner help COMMAND` prints the same. This page is generated (`make docs`)."
)
_MANUAL_WIDTH = 70  # of the lines in a page, before escaping


class Entry(NamedTuple):
    """The help of one command, in parts."""

    path: str
    about: str
    usage: str
    paragraphs: tuple[str, ...]
    sections: dict[str, list[tuple[str, str]]]  # the commands of a group
    title: str  # of the lines: examples or exit codes
    lines: list[str]
    options: list[tuple[str, str]]


def entries() -> list[Entry]:
    """Return all commands, each group before its commands."""
    context = click.Context(cli, info_name="brenner", help_option_names=["-h", "--help"])
    return list(_entries(cli, context, "Run a research group of AI coding agents by mail."))


def _entries(command: click.Command, context: click.Context, about: str) -> Iterator[Entry]:
    yield _entry(command, context, about)
    if isinstance(command, LazyGroup):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            below = click.Context(found, parent=context, info_name=name)
            yield from _entries(found, below, command.table[name][3])


def _entry(command: click.Command, context: click.Context, about: str) -> Entry:
    title, lines = epilog_lines(command)
    return Entry(
        path=context.command_path,
        about=about,
        usage=" ".join(command.collect_usage_pieces(context)),
        paragraphs=tuple(inspect.cleandoc(command.help or "").split("\n\n")),
        sections=sections_of(command) if isinstance(command, LazyGroup) else {},
        title=title,
        lines=lines,
        options=option_rows(command, context),
    )


# Markdown


def commands_page() -> str:
    """Return the reference page of all commands."""
    top, *others = entries()
    parts = [
        "# Commands",
        "",
        _INTRODUCTION,
        "",
    ]
    for section, rows in top.sections.items():
        names = ", ".join(f"[`{name}`](#brenner-{name.replace(' ', '-')})" for name, _ in rows)
        parts += [f"- **{section}**: {names}"]
    parts += ["", "## Options of all commands", "", *_options(top)]
    parts += ["", f"## {top.title}", "", *_table(top.lines)]
    for entry in others:
        parts += ["", *_markdown(entry)]
    return "\n".join(parts) + "\n"


def _markdown(entry: Entry) -> list[str]:
    level = "#" * entry.path.count(" ")
    parts = [f"#{level} {entry.path}", "", f"    {entry.path} {entry.usage}", ""]
    parts += [*"\n\n".join(_plain(each) for each in entry.paragraphs).split("\n")]
    for section, rows in entry.sections.items():
        parts += ["", f"{section}:", ""]
        parts += [
            f"- [`{name}`](#{f'{entry.path} {name}'.replace(' ', '-')}): {about}"
            for name, about in rows
        ]
    if entry.lines:
        parts += ["", f"{entry.title}:", "", *(f"    {line}" for line in entry.lines)]
    if entry.options:
        parts += ["", "Options:", "", *_options(entry)]
    return parts


def _options(entry: Entry) -> list[str]:
    return [f"- `{name}`: {' '.join(about.split())}" for name, about in entry.options]


def _table(lines: list[str]) -> list[str]:
    rows = [line.split(maxsplit=1) for line in lines]
    return ["| code | meaning |", "|---|---|", *(f"| {code} | {about} |" for code, about in rows)]


def _plain(paragraph: str) -> str:
    """Return a paragraph of a docstring as one line; lines that were kept stay apart."""
    if paragraph.startswith(_KEEP_LINES):
        return paragraph.removeprefix(_KEEP_LINES).replace("\n", "  \n")
    return " ".join(paragraph.split())


# Manual pages


def manual_pages() -> dict[str, str]:
    """Return the manual pages by file name: one for the program, one for each command or group."""
    top, *others = entries()
    groups: dict[str, list[Entry]] = {}
    for entry in others:
        groups.setdefault(entry.path.split()[1], []).append(entry)
    pages = {"brenner.1": _manual([top], list(groups))}
    return pages | {
        f"brenner-{name}.1": _manual(group, [each for each in groups if each != name])
        for name, group in groups.items()
    }


def _manual(group: list[Entry], others: list[str]) -> str:
    first, *below = group
    name = first.path.replace(" ", "-")
    parts = [
        '.\\" Generated by tools/command_pages.py (make docs).',
        f'.TH {name.upper()} 1 "" "brenner {__version__}" "Brenner manual"',
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(first.about.rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{_roff(first.path)}\\fR {_roff(first.usage)}",
        ".SH DESCRIPTION",
        *_roff_paragraphs(first),
        *_roff_parts(first, ".SH"),
    ]
    for entry in below:
        parts += [f'.SH "{_roff(entry.path.upper())}"', f"\\fB{_roff(entry.path)}\\fR "]
        parts[-1] += _roff(entry.usage)
        parts += [".PP", *_roff_paragraphs(entry), *_roff_parts(entry, ".SS")]
    if first.path != "brenner":
        parts += [".SH COMMON OPTIONS", "All commands also accept the options in"]
        parts += [".BR brenner (1)."]
    links = ["brenner", *(f"brenner-{each}" for each in others)]
    parts += [".SH SEE ALSO", *_see_also(links if first.path != "brenner" else links[1:])]
    return "\n".join(parts) + "\n"


def _roff_parts(entry: Entry, macro: str) -> list[str]:
    """Return the commands, examples and options of a command."""
    parts: list[str] = []
    for section, rows in entry.sections.items():
        parts += [f'{macro} "{_roff(section)}"', *_definitions(rows)]
    lines = [macro + f' "{_roff(entry.title)}"', ".EX", *map(_roff, entry.lines), ".EE"]
    options = [macro + " Options", *_definitions(entry.options)]
    shown = [(lines, entry.lines), (options, entry.options)]
    for each, content in reversed(shown) if entry.path == "brenner" else shown:
        parts += each if content else []
    return parts


def _definitions(rows: list[tuple[str, str]]) -> list[str]:
    return [
        line
        for name, about in rows
        for line in (".TP", f"\\fB{_roff(name)}\\fR", *_roff_text(about))
    ]


def _roff_paragraphs(entry: Entry) -> list[str]:
    parts: list[str] = []
    for number, paragraph in enumerate(entry.paragraphs):
        parts += [".PP"] if number else []
        if paragraph.startswith(_KEEP_LINES):
            kept = paragraph.removeprefix(_KEEP_LINES).split("\n")
            parts += [".nf", *map(_roff, kept), ".fi"]
        else:
            parts += _roff_text(paragraph)
    return parts


def _roff_text(text: str) -> list[str]:
    """Return a paragraph as lines. A sentence begins a new line, as is usual in manual pages."""
    sentences = re.split(r"(?<=[.?]) +(?=[A-Z`-])", " ".join(text.split()))
    return [
        _roff(line)
        for sentence in sentences
        for line in wrap(sentence, _MANUAL_WIDTH, break_long_words=False, break_on_hyphens=False)
    ]


def _see_also(pages: list[str]) -> list[str]:
    return [f".BR {_roff(page)} (1){',' if page != pages[-1] else ''}" for page in pages]


def _roff(text: str) -> str:
    """Escape a line for roff, so that hyphens and quotes can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    for character, name in (("'", "aq"), ("`", "ga"), ("^", "ha"), ("~", "ti")):
        text = text.replace(character, f"\\({name}")
    text = re.sub(r'"', r"\\(dq", text).replace("§", "\\(sc").replace("…", "...")
    return f"\\&{text}" if text.startswith(".") else text


def main() -> int:
    """Write the pages, or compare them."""
    wanted = {PAGE: commands_page()}
    wanted |= {MANUAL / name: text for name, text in manual_pages().items()}
    extra = [file for file in MANUAL.glob("*") if file not in wanted]
    if "--check" in sys.argv[1:]:
        stale = [
            file
            for file, text in wanted.items()
            if not file.is_file() or file.read_text("utf-8") != text
        ]
        for file in (*stale, *extra):
            print(f"{file.relative_to(ROOT)} is not up to date: run `make docs`.")
        return 1 if stale or extra else 0
    for file in extra:
        file.unlink()
    for file, text in wanted.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
