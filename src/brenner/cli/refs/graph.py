"""`brenner refs graph`: what an item comes from and what came of it, over all sessions."""

import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.help_text import examples
from brenner.cli.options import Number, Settings, common_options
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.paging import pager_option, write_lines
from brenner.cli.sentences import say
from brenner.diagnostics.model import Summary, worst_first

if TYPE_CHECKING:
    from brenner.services.genealogy import Followed
    from brenner.session.genealogy import Direction

FINE = 0


@click.command(
    "graph",
    cls=Reporting,
    always={
        "target": None,
        "sessions": [],
        "nodes": [],
        "edges": [],
        "between": [],
        "ancestors": None,
        "descendants": None,
        "left_out": {"ancestors": 0, "descendants": 0},
        "first_proposed": None,
        "items": [],
        "circles": [],
    },
    epilog=examples(
        "brenner refs graph RS-20251230-cell-fate H2",
        "brenner refs graph RS-20251230-cell-fate --ancestors --depth 2",
        "brenner refs graph RS-20251230-cell-fate H2 --mermaid > h2.mmd",
    ),
)
@click.argument("thread", metavar="THREAD")
@click.argument("item", required=False, metavar="[ITEM]")
@click.option("--ancestors", is_flag=True, help="Only what it comes from.")
@click.option("--descendants", is_flag=True, help="Only what came of it.")
@click.option("--depth", type=Number(1), metavar="N", help="No further than so many steps.")
@click.option("--mermaid", "as_mermaid", is_flag=True, help="Print a flowchart for Mermaid.")
@pager_option
@common_options
def graph(settings: Settings, thread: str, item: str | None, **options: "bool | int | None") -> int:
    """Show what an ITEM of a THREAD comes from, what came of it, and who proposed it first.

    Without ITEM it is about all items of the session that refer to others or are referred to.
    References are followed through all sessions of the mail and of artifacts/. Exit code 1: there
    is no such thread or item.
    """
    if options["as_mermaid"] and settings.as_json:
        message = "Give either --mermaid or --json."
        raise click.UsageError(message)
    from brenner.cli.artifact.targets import thread_of
    from brenner.cli.mail.desk import desk
    from brenner.cli.progress import Progress
    from brenner.services.genealogy import Asked, follow

    ways = _directions(ancestors=options["ancestors"], descendants=options["descendants"])
    asked = Asked(thread_of(thread), item, ways, options["depth"])
    with desk(settings) as here:
        with Progress() as progress:
            followed = follow(here, asked, progress)
            if settings.as_json or options["as_mermaid"]:  # a tree is written as it is looked up
                followed.look_up(progress)
        if settings.as_json:
            write_json(_document(followed))
        elif options["as_mermaid"]:
            _write_mermaid(followed)
        else:
            _write_text(followed, pager=bool(options["pager"]))
    return FINE


def _directions(*, ancestors: object, descendants: object) -> "tuple[Direction, ...]":
    """Both, unless one is asked for."""
    from brenner.session.genealogy import Direction

    if ancestors and descendants:
        message = "Give --ancestors or --descendants; without them both are shown."
        raise click.UsageError(message)
    if ancestors:
        return (Direction.ANCESTORS,)
    return (Direction.DESCENDANTS,) if descendants else tuple(Direction)


def _document(followed: "Followed") -> dict[str, object]:
    from brenner.session.genealogy import genealogy_json

    sessions = followed.sessions
    document = genealogy_json(followed.genealogy, sessions.item, sessions.facts, followed.firsts())
    found = sorted(followed.diagnostics(), key=worst_first)
    return {
        **document,
        "violations": [each.to_json() for each in found],
        "summary": Summary.of(found)._asdict(),
    }


def _write_mermaid(followed: "Followed") -> None:
    """The flowchart, whole; where Mermaid would not draw it as it is set up, that is said."""
    from brenner.session.genealogy import MOST_CHARACTERS, MOST_EDGES, mermaid

    text = mermaid(followed.genealogy, followed.sessions.item)
    sys.stdout.write(text)
    if len(followed.genealogy.edges) > MOST_EDGES or len(text) > MOST_CHARACTERS:
        say(
            f"Mermaid draws at most {MOST_EDGES} references and {MOST_CHARACTERS:,} characters "
            "unless its maxEdges and maxTextSize say otherwise; `--depth` makes the chart smaller.",
            sys.stderr,
        )
    _write_problems(followed)


def _write_text(followed: "Followed", *, pager: bool) -> None:
    from brenner.cli.refs.genealogy_lines import lines

    write_lines(lines(followed, sys.stdout), pager=pager)
    _write_problems(followed)


def _write_problems(followed: "Followed") -> None:
    """Files that could not be read: what they hold is missing in the answer."""
    write_diagnostics(followed.problems, "artifacts", sys.stderr)
