"""Write docs/reference/codes.md from the catalogue; with --check, compare it."""

import sys
from pathlib import Path

from brenner.diagnostics.catalogue import CATALOGUE, chapters
from brenner.diagnostics.model import Code
from brenner.markdown.escape import render_fence
from brenner.text import escape_control_lines, template_text

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "codes.md"
_LONGEST_EXAMPLE_LINE = 200


def page() -> str:
    """The whole page."""
    about = (
        "This page is for everyone who gets a code in a message, and for programs that react to "
        f"one. It lists all {len(CATALOGUE)} codes. `brenner explain CODE` prints the same entry. "
        "A code never changes its meaning. `make docs` writes this page from the catalogue."
    )
    parts = ["# The codes", "", about, ""]
    for title, chapter in chapters().items():
        names = ", ".join(f"[`{code.id}`](#{code.id.lower()})" for code in chapter)
        parts += [f"- **{title}**: {names}"]
    for title, chapter in chapters().items():
        parts += ["", f"## {title}"]
        for code in chapter:
            parts += ["", *entry(code)]
    return "\n".join(parts) + "\n"


def entry(code: Code) -> list[str]:
    """One code."""
    also = f" · also {', '.join(f'`{other}`' for other in code.also)}" if code.also else ""
    retired = f" · retired in {code.retired}" if code.retired else ""
    return [
        f"### {code.id}",
        "",
        f"**{code.title}.** {code.severity.capitalize()} · since {code.since}{retired}{also}",
        "",
        f"- Says: {_literal(template_text(code.message))}",
        f"- Fix: {_literal(template_text(code.fix))}",
        f"- Why: {code.why}",
        f"- Specification: {code.spec}",
        "",
        "Wrong:",
        "",
        _example(code.example.wrong),
        "Right:",
        "",
        _example(code.example.right).rstrip("\n"),
    ]


def _literal(text: str) -> str:
    """Places such as <name> are text here, not HTML."""
    return text.replace("<", "\\<")


def _example(text: str) -> str:
    lines = escape_control_lines(text).split("\n")
    cut = [
        line if len(line) <= _LONGEST_EXAMPLE_LINE else line[:_LONGEST_EXAMPLE_LINE] + "…"
        for line in lines
    ]
    return render_fence("\n".join(cut) or "(nothing)", "text", mark="~")


def main() -> int:
    """Write the page, or compare it."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), "utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text("utf-8") == page():
        return 0
    print("docs/reference/codes.md is not up to date: run `make docs`.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
