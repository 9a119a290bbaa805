"""`brenner explain`: show what a code means, why it exists and how to fix it, or list all codes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_USAGE, Command, Settings, common_options, examples
from brenner.cli.output import (
    failure_json,
    styled,
    terminal_width,
    wrap_text,
    write_diagnostics,
    write_json,
)
from brenner.diagnostics.catalogue import chapters, closest_code, find_code
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import shown_id
from brenner.text import did_you_mean, escape_control_lines, template_text

if TYPE_CHECKING:
    from brenner.diagnostics.model import Code

_PLAIN_WIDTH = 80


@click.command(
    cls=Command,
    epilog=examples("brenner explain", "brenner explain INVALID_JSON", "brenner explain MB-004"),
)
@click.argument("code", required=False)
@common_options
def command(settings: Settings, code: str | None) -> int:
    """Explain a CODE: what it means, why, and how to fix it.

    Use it when a command, a page or a reply reports a code. Without CODE, list all codes.
    """
    if code is None:
        _list(settings)
        return 0
    found = find_code(code)
    if found is None:
        from brenner.cli.docs import is_in_glossary  # only for an unknown code

        suggestion: str = did_you_mean(closest_code(code))
        if is_in_glossary(code):
            suggestion = " To read what the word means: `brenner docs glossary`."
        unknown = codes.UNKNOWN_CODE.at(code=code, suggestion=suggestion)
        if settings.as_json:
            write_json(failure_json(unknown))
        else:
            write_diagnostics([unknown], "brenner", sys.stderr)
        return EXIT_USAGE
    if settings.as_json:
        write_json(_to_json(found))
    else:
        _write(found)
    return 0


def _list(settings: Settings) -> None:
    if settings.as_json:
        write_json(
            {"codes": [_to_json(code) for chapter in chapters().values() for code in chapter]}
        )
        return
    for title, chapter in chapters().items():
        sys.stdout.write(styled(title, sys.stdout, bold=True) + "\n")
        for code in chapter:
            start = f"  {code.id:<28} {code.severity:<8} "
            width = terminal_width(sys.stdout) or len(start) + len(code.title)
            sys.stdout.write(wrap_text(code.title, start, " " * len(start), width))


def _write(code: Code) -> None:
    out = sys.stdout
    out.write(styled(code.shown_id, out, bold=True) + f"  {code.severity}, since {code.since}\n")
    out.write(f"{code.title}.\n\n")
    parts = {"text": template_text(code.message), "fix": template_text(code.fix), "why": code.why}
    for name, text in (parts | {"spec": code.spec}).items():
        out.write(wrap_text(text, f"  {name:<6}", " " * 8, terminal_width(out) or _PLAIN_WIDTH))
    if code.also:
        out.write(f"  {'also':<6}{', '.join(map(shown_id, code.also))}\n")
    for name, text in (("wrong", code.example.wrong), ("right", code.example.right)):
        out.write(f"\n  {styled(name, out, bold=True)}\n")
        out.write(_indented(text))


def _indented(text: str) -> str:
    lines = escape_control_lines(text.rstrip("\n")).split("\n")
    return "".join(f"    {line}".rstrip() + "\n" for line in lines)


def _to_json(code: Code) -> dict[str, object]:
    return {
        "id": code.id,
        "severity": str(code.severity),
        "title": code.title,
        "message": template_text(code.message),
        "fix": template_text(code.fix),
        "why": code.why,
        "spec": code.spec,
        "also": list(code.also),
        "example": code.example._asdict(),
        "since": code.since,
        "retired": code.retired,
    }
