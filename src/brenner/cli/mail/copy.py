"""`brenner mail copy`: copy all mail of a project to another store, and verify the copy."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_INVALID, EXIT_OK, Settings, common_options, examples
from brenner.cli.output import (
    JsonCommand,
    Progress,
    failure_json,
    note_changes_made,
    write_diagnostics,
    write_json,
)
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import exit_code, location_label
from brenner.config import SETTINGS_FILE, Project, find_project
from brenner.diagnostics.model import BrennerError, Summary
from brenner.mail.mailbox import Capability
from brenner.mail.open import require_project, store_of
from brenner.services.init_project import store_setting
from brenner.store_url import redact_address
from brenner.text import grouped, joined

if TYPE_CHECKING:
    from brenner.services.copy_mail import CopyResult


_MAX_RENUMBERED = 8
_MAX_VERSIONS = 8
_KEPT_WORDS = {Capability.REPLY_LINKS: "links", Capability.READ_MARKS: "read marks"}
_JSON_DEFAULTS = {"from": None, "to": None, "ok": False}


@click.command(
    "copy",
    cls=JsonCommand,
    json_defaults=_JSON_DEFAULTS,
    epilog=examples(
        "brenner mail copy --to postgresql://db.example.org/lab",
        "brenner mail copy --from agent-mail",
        "brenner mail copy --from sqlite:///old.sqlite3 --to agent-mail",
    ),
)
@click.option("--from", "source", metavar="STORE", help="Source (default: the project's store).")
@click.option("--to", "target", metavar="STORE", help="Target (default: the project's store).")
@click.option("--force", is_flag=True, help="Continue past versions and messages with errors.")
@common_options
def copy(settings: Settings, source: str | None, target: str | None, force: bool) -> int:
    """Copy all mail to another store and compare it there. The source is only read.

    Use it to move to PostgreSQL or to an Agent Mail server. STORE is an address as for --store. A
    missing target is created, and mail that it already contains is skipped. Repeat the command
    after an interruption.

    IDs, times, links and read marks stay; an Agent Mail server assigns new IDs and times. Every
    version is verified before and after. A thread that differs between the two stores is not
    copied.
    """
    from brenner.services.copy_mail import copy_mail

    if source is None and target is None:
        message = "Give --to STORE (where to copy the mail) or --from STORE (where it is)."
        raise click.UsageError(message)
    here = _project(settings, source)
    there = _project(settings, target)
    if not settings.as_json:
        for found in here.diagnostics:
            write_diagnostics([found], location_label(found.id), sys.stderr)
    try:
        with Progress() as progress:
            done = copy_mail(here, there, force=force, progress=progress)
    except BrennerError as error:
        if not settings.as_json:
            raise
        document = failure_json(error.diagnostic)
        write_json({**document, "from": _store_name(here), "to": _store_name(there)})
        return exit_code(error)
    note_changes_made()
    if settings.as_json:
        write_json(_document(done, there))
    else:
        _write(done, there, is_own=target is None)
    return EXIT_OK if done.ok else EXIT_INVALID


def _project(settings: Settings, store: str | None) -> Project:
    """Return the project, with the given store if there is one."""
    given = settings.store if store is None else store
    return require_project(find_project(settings.project, os.environ, given))


def _store_name(project: Project) -> str:
    """Return the display name of the store, even if its address is invalid."""
    try:
        return store_of(project).shown
    except BrennerError:
        return redact_address(project.store or "")


def _document(done: CopyResult, target: Project) -> dict[str, object]:
    """Return the stable JSON form. Keys are only ever added."""
    return {
        "from": done.source,
        "to": done.target,
        "ok": done.ok,
        "added": done.restored.added,
        "skipped": done.restored.skipped,
        "renumbered": [{"from": old, "to": new} for old, new in done.restored.renumbered],
        "new_agents": list(done.restored.new_agents),
        "source": done.of_source,
        "target": done.of_target,
        "versions": [
            {
                "thread_id": fact.thread_id,
                "version": fact.number,
                "artifact_sha256": fact.artifact_sha256,
                "ok": fact.ok,
            }
            for fact in done.versions
        ],
        "as_they_were": not done.is_anew,
        "cannot_keep": {str(ability): reason for ability, reason in done.lost.items()},
        "setting": _setting_line(target),
        "valid": done.ok,
        "summary": Summary.of(done.diagnostics)._asdict(),
        "violations": [found.to_json() for found in done.diagnostics],
    }


def _setting_line(target: Project) -> str | None:
    """Return the line for the settings file, or None for the default store."""
    setting = store_setting(target)
    return setting[0] if setting else None


# Text output


def _write(done: CopyResult, target: Project, *, is_own: bool) -> None:
    restored = done.restored
    print_message(_result_text(done))
    if restored.new_agents:
        print_hint(f"New agents: {joined(restored.new_agents)}.")
    if restored.added:
        print_hint(_ids_and_times_text(done))
        for ability, reason in done.lost.items():
            print_hint(f"Lost: {ability} ({reason}).")
    print_hint(_verification_text(done))
    write_diagnostics(done.diagnostics, "brenner", sys.stderr)
    if done.ok:
        print_hint(_next_step(target, is_own=is_own))
    else:
        print_message("The copy is not complete. The source is unchanged: keep it.", sys.stderr)


def _result_text(done: CopyResult) -> str:
    added, skipped = done.restored.added, done.restored.skipped
    places = f"from {done.source} to {done.target}"
    if not done.of_source["messages"]:
        return f"No messages to copy {places}: {_amount_text(done.of_source)}."
    if not added:
        all_of_it = "All messages were" if done.restored.new_agents else "Everything was"
        return f"{all_of_it} already copied {places}: {_amount_text(done.of_source)}."
    there = f"; {skipped:,} {'was' if skipped == 1 else 'were'} already there" if skipped else ""
    compared = _amount_text(done.of_source)
    return f"Copied {grouped(added, 'message')} {places}{there}. Compared: {compared}."


def _amount_text(counts: dict[str, int]) -> str:
    kinds = ("message", "thread", "agent")
    return ", ".join(grouped(counts[f"{kind}s"], kind) for kind in kinds)


def _ids_and_times_text(done: CopyResult) -> str:
    renumbered = done.restored.renumbered
    if done.is_anew:
        ids = f", and so are IDs: {_renumbered_text(renumbered)}" if renumbered else ""
        return f"They were sent again in their order. Times are new{ids}."
    kept = [
        "times",
        "hashes",
        *(words for ability, words in _KEPT_WORDS.items() if ability in done.kept),
    ]
    if renumbered:
        changed = f"Changed message IDs, because some were taken: {_renumbered_text(renumbered)}"
        return f"{joined(kept).capitalize()} are unchanged. {changed}."
    return f"{joined(['IDs', *kept])} are unchanged."


def _renumbered_text(renumbered: tuple[tuple[int, int], ...]) -> str:
    shown = [f"{old} → {new}" for old, new in renumbered[:_MAX_RENUMBERED]]
    left = len(renumbered) - len(shown)
    return ", ".join(shown) + (f" and {left:,} more" if left else "")


def _verification_text(done: CopyResult) -> str:
    """Summarise the verification.

    A version that did not verify before the copy does not verify after it.
    """
    right = len(done.versions) - len(done.unverified)
    if not done.versions:
        return "No versions to verify."
    if not done.unverified:
        words = {1: "The version rebuilds", 2: "Both versions rebuild"}
        text = words.get(right, f"All {right} versions rebuild")
    else:
        wrong = [f"v{fact.number} of {fact.thread_id}" for fact in done.unverified]
        more = len(wrong) - _MAX_VERSIONS
        names = ", ".join(wrong[:_MAX_VERSIONS]) + (f" and {more} more" if more > 0 else "")
        rebuilt = "1 other rebuilds" if right == 1 else f"{right:,} others rebuild"
        text = f"{names} did not rebuild from the mail before. {rebuilt}"
    return f"{text} from the mail, before and after." if done.ok else f"{text} before the copy."


def _next_step(target: Project, *, is_own: bool) -> str:
    setting = None if is_own else store_setting(target)
    if setting is None:
        return "Next: `brenner mail thread`"
    line, lacks_password = setting
    words = f"Next: write `{line}` into {SETTINGS_FILE}, so that every command uses it"
    if lacks_password:
        words += ". Put the password into `PGPASSWORD` or `PGPASSFILE`, not there"
    return f"{words}."
