"""`brenner refs check`: references that lead nowhere, in a circle, or to a killed item."""

import sys

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import CONTENT, FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.progress import Progress
from brenner.cli.sentences import advise, say
from brenner.services.references import Checked, CheckedReferences, check_references
from brenner.session.references import Edge, Leads
from brenner.text import grouped


@click.command(
    "check",
    cls=Reporting,
    always={"references": [], "circles": []},
    epilog=examples(
        "brenner refs check", "brenner refs check RS-20251230-cell-fate RS-20251231-vesicles"
    ),
)
@click.argument("threads", nargs=-1, metavar="[THREAD]...")
@common_options
def check(settings: Settings, threads: tuple[str, ...]) -> int:
    """List the references between items that lead nowhere, in a circle, or to a killed item.

    Sessions are looked up in the mail and in `artifacts/` of the project. With THREAD only the
    references of these sessions are looked at. What is not known yet is a warning, a killed item
    an info, a circle an error.

    Exit code 0: no circle; 1: references go in a circle.
    """
    with desk(settings) as here, Progress() as progress:
        checked = check_references(here, threads, progress)
    if settings.as_json:
        write_json(_document(checked))
    else:
        _write(checked)
    return CONTENT if checked.summary.errors else FINE


# JSON


def _document(checked: CheckedReferences) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    violations = [
        {"session": found.session} | each.to_json()
        for found in checked.found
        for each in found.violations
    ]
    violations += [each.to_json() for each in checked.problems]
    return {
        "references": [_reference(each) for each in checked.references],
        "circles": [[_step(edge) for edge in way] for way in checked.circles],
        "violations": violations,
        "summary": checked.summary._asdict(),
        "valid": not checked.summary.errors,
    }


def _reference(checked: Checked) -> dict[str, str]:
    return _step(checked.edge) | {"state": str(checked.leads)}


def _step(edge: Edge) -> dict[str, str]:
    return {
        "session": edge.origin.session,
        "item": edge.origin.item,
        "relation": edge.relation,
        "target_session": edge.target.session,
        "target_item": edge.target.item,
    }


# For people


def _write(checked: CheckedReferences) -> None:
    """Session by session, then the files, then the figures."""
    out = sys.stdout
    for found in checked.found:
        for each in found.violations:
            write_diagnostics([each], f"{found.session} {each.item or ''}".rstrip(), out)
    write_diagnostics(checked.problems, "brenner", out)
    say(_verdict(checked))
    if not checked.references:
        advise(
            "A delta says in `references` which item of which session its own comes from; "
            "`brenner explain UNKNOWN_REFERENCE` shows one."
        )


def _verdict(checked: CheckedReferences) -> str:
    count = len(checked.references)
    if not count:
        return "No item refers to another one yet."
    sessions = len({each.edge.origin.session for each in checked.references})
    leads = [each.leads for each in checked.references]
    killed = leads.count(Leads.TO_KILLED)
    nowhere = leads.count(Leads.NO_SESSION) + leads.count(Leads.NO_ITEM)
    said = [f"{nowhere} {'leads' if nowhere == 1 else 'lead'} nowhere yet"] if nowhere else []
    if not nowhere:
        said.append("all lead somewhere" if count > 1 else "it leads somewhere")
    if killed:
        said.append(f"{killed} to {'a killed item' if killed == 1 else 'killed items'}")
    if checked.circles:
        said.append(grouped(len(checked.circles), "circle"))
    figures = f"{grouped(count, 'reference')} in {grouped(sessions, 'session')}"
    return f"{figures}; {', '.join(said)}."
