"""`brenner docs`: the pages of the documentation, which are installed with the program."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import brenner
from brenner.cli.options import EXIT_OK, EXIT_USAGE, Command, Settings, common_options, examples
from brenner.cli.output import failure_json, write_diagnostics, write_json
from brenner.cli.terminal import pager_option, write_lines
from brenner.diagnostics.codes.messages import WRONG_USAGE
from brenner.lazy_pattern import lazy_pattern
from brenner.text import closest, escape_control

INDEX = "README"
_GLOSSARY_ROW = lazy_pattern(r"(?m)^\| \*\*(.+?)\*\* \|")


@click.command(
    "docs",
    cls=Command,
    epilog=examples(
        "brenner docs", "brenner docs tutorial", "brenner docs codes", "brenner docs --path"
    ),
)
@click.argument("page", required=False, metavar="[PAGE]")
@click.option("--path", "is_path", is_flag=True, help="Print where the page or the folder is.")
@pager_option
@common_options
def command(settings: Settings, page: str | None, is_path: bool, pager: bool) -> int:
    """Show a page of the documentation. Without PAGE, show the index.

    PAGE is a name such as `tutorial` or `how-to/connect-agents`. A part that fits only one page
    is enough. A terminal gets a simple layout; a pipe gets the Markdown.
    """
    folder = docs_folder()
    if is_path and page is None and not settings.as_json:
        sys.stdout.write(f"{folder}\n")
        return EXIT_OK
    names = page_names(folder)
    found = find_page(page or INDEX, names)
    if len(found) != 1:
        return _report_unknown(settings, page or INDEX, found, names)
    file = folder / f"{found[0]}.md"
    if settings.as_json:
        text = file.read_text("utf-8")
        write_json({"page": found[0], "path": str(file), "text": text, "pages": names})
    elif is_path:
        sys.stdout.write(f"{file}\n")
    elif sys.stdout.isatty():
        from brenner.cli.markdown_view import page_lines  # only in a terminal

        write_lines(page_lines(file.read_text("utf-8")), pager=pager)
    else:
        sys.stdout.write(file.read_text("utf-8"))
    return EXIT_OK


def docs_folder() -> Path:
    """Return the folder of the pages: in the package, or in the repository."""
    package = Path(brenner.__file__).parent
    for folder in (package / "docs", package.parents[1] / "docs"):
        if folder.is_dir():
            return folder
    message = "The documentation is not installed. Install the package again."
    raise click.UsageError(message)


def is_in_glossary(word: str) -> bool:
    """Return whether the glossary explains a word. Case and a plural do not count."""
    try:
        text = (docs_folder() / "glossary.md").read_text("utf-8")
    except (OSError, click.UsageError):
        return False
    listed = (match[1] for match in _GLOSSARY_ROW.finditer(text.casefold()))
    known = {each for words in listed for each in words.split(", ")}
    wanted = word.casefold().replace("-", " ").replace("_", " ").strip()
    return not known.isdisjoint({wanted, wanted.removesuffix("s")})


def page_names(folder: Path) -> list[str]:
    """Return the names of all pages, such as `how-to/connect-agents`; those at the top first."""
    files = sorted(folder.rglob("*.md"), key=lambda file: (len(file.parts), file))
    return [file.relative_to(folder).with_suffix("").as_posix() for file in files]


def find_page(wanted: str, names: list[str]) -> list[str]:
    """Return the pages of that name, or else those with that part in their name."""
    part = wanted.removesuffix(".md").removeprefix("docs/").casefold().replace(" ", "-")
    tests = (
        lambda name: name == part,
        lambda name: _last_part(name) == part,
        lambda name: part in name,
    )
    for test in tests:
        found = [name for name in names if test(name.casefold())]
        if found:
            return found
    return []


def _report_unknown(settings: Settings, wanted: str, found: list[str], names: list[str]) -> int:
    """Report a name that fits no page, or several, with the pages to choose from."""
    shown = escape_control(wanted)
    reason = f"`{shown}` fits several pages."
    if not found:
        near = closest(wanted, names) or closest(wanted, [_last_part(name) for name in names])
        reason = f"Unknown page `{shown}`.{f' Did you mean `{near}`?' if near else ''}"
    problem = WRONG_USAGE.at(reason=reason, command="brenner docs")
    if settings.as_json:
        write_json({**failure_json(problem), "pages": names})
        return EXIT_USAGE
    write_diagnostics([problem], "brenner", sys.stderr)
    sys.stderr.write("Pages:\n")
    sys.stderr.writelines(f"  {name}\n" for name in found or names)
    return EXIT_USAGE


def _last_part(name: str) -> str:
    return name.rpartition("/")[2]
