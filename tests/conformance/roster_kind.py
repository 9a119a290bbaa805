"""The case kind `roster`: what rosters are read, validated, found and written as (R20).

Files are real, flags are read as a command reads them, the environment is what the case says.
Beside what a case states, a roster that is valid survives JSON and a message, whole.
"""

import json
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from brenner.cli.roster import roster_options
from brenner.config import find_project
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.roster import (
    Roster,
    RosterEntry,
    RosterPreset,
    read_configuration,
    render_configuration,
    validate_roster,
    validate_roster_coverage,
)
from brenner.protocol.roster_config import read_preset, read_roster, roster_json
from brenner.protocol.roster_resolve import ResolvedRoster
from brenner.services.rosters import RosterRequest, resolve_roster

Case = dict[str, Any]
TEXTS: dict[str, str] = tomllib.loads((Path(__file__).parent / "rosters.toml").read_text("utf-8"))[
    "text"
]
_KEYS = {
    *("file", "name", "proves", "kind", "codes", "ignore", "says"),
    *("input", "preset", "body", "flags", "environment", "session", "files"),
    *("recipients", "entries", "mode", "roster_name", "json", "section", "never", "errors"),
}
_TEXT = re.compile("<<([a-z0-9-]+)>>")


def check_roster(case: Case, folder: Path) -> None:
    """Read, validate or resolve what the case gives, and compare everything that it states."""
    assert case.keys() <= _KEYS
    if "preset" in case:
        found = _preset(case)
    elif "body" in case:
        found = _body(case)
    elif "input" in case:
        found = _roster(case)
    else:
        found = _sources(case, folder)
    ignored = set(case.get("ignore", []))
    codes = [each.id for each in found if each.id not in ignored]
    assert Counter(codes) == Counter(case["codes"]), [(each.id, each.message) for each in found]
    for text in case.get("says", []):
        assert any(text in f"{each.message} {each.fix}" for each in found), text
    if "errors" in case:
        errors = [each.message for each in found if each.severity is ERROR]
        assert errors == case["errors"]


def filled(text: str) -> str:
    """`<<pair>>` stands for a text of rosters.toml, line ends around it and all."""
    return _TEXT.sub(lambda found: TEXTS[found[1]], text)


# By itself


def _roster(case: Case) -> Sequence[Diagnostic]:
    roster = read_roster(json.loads(filled(case["input"])), "the case")
    if not isinstance(roster, Roster):
        return roster
    result = validate_roster(roster)
    coverage = validate_roster_coverage(roster, case.get("recipients", roster.names))
    found = [*result.violations, *coverage.violations]
    for each in (result, coverage):
        assert each.valid == (not each.errors)
        words = tuple(one.message for one in each.violations if one.severity is ERROR)
        assert each.errors == words
    _compare(case, roster)
    if result.valid:
        _check_survives(roster)
        _check_written(case, roster)
    return found


def _preset(case: Case) -> Sequence[Diagnostic]:
    said = json.loads(case["preset"])
    preset = read_preset(said, "the case")
    if not isinstance(preset, RosterPreset):
        return preset
    assert (preset.id, preset.name) == (said["id"], said["name"])
    assert preset.description == said.get("description")
    assert preset.placeholder_names == tuple(said.get("placeholderNames", ()))
    assert [_words(each) for each in preset.entries] == case["entries"]
    return ()


def _body(case: Case) -> Sequence[Diagnostic]:
    roster = read_configuration(parse_blocks(case["body"]))
    assert (roster is not None) == ("entries" in case), roster
    if roster:
        _compare(case, roster)
    return ()


def _compare(case: Case, roster: Roster) -> None:
    if "mode" in case:
        assert roster.mode == case["mode"]
    if "roster_name" in case:
        assert roster.name == case["roster_name"]
    if "json" in case:
        assert roster_json(roster) == json.loads(case["json"])
    if "entries" in case:
        assert [_entry(each) for each in roster.entries] == case["entries"]


def _check_survives(roster: Roster) -> None:
    """As JSON and as a section of a message, it is read back the same."""
    assert read_roster(json.loads(json.dumps(roster_json(roster))), "the case") == roster
    body = f"# Title\n\n{render_configuration(roster)}\n## Context\nTwo camps.\n"
    assert read_configuration(parse_blocks(body)) == roster


def _check_written(case: Case, roster: Roster) -> None:
    written = render_configuration(roster)
    lines = [re.sub(r"\s*\|\s*", " | ", line).strip() for line in written.splitlines()]
    for line in case.get("section", []):
        assert line in lines, written
    for text in case.get("never", []):
        assert text not in written, written


def _entry(entry: RosterEntry) -> str:
    """`BlueLake: test_designer, claude-code, Opus 4.5`."""
    return f"{entry.agent_name}: {_words(entry)}"


def _words(entry: RosterEntry) -> str:
    """`test_designer, claude-code, Opus 4.5`; what nobody says at the end is left out."""
    said = [entry.role, entry.program or "-", entry.model or "-"]
    while said[-1] == "-":
        said.pop()
    return ", ".join(said)


# The five sources


def _sources(case: Case, folder: Path) -> Sequence[Diagnostic]:
    for name, text in case.get("files", {}).items():
        (folder / name).write_text(filled(text), "utf-8")
    wish = wish_of(filled(case.get("flags", "")), folder)
    if "session" in case:
        session = read_roster(json.loads(filled(case["session"])), "the case")
        assert isinstance(session, Roster)
        wish = wish._replace(session=session)
    environment = {name: filled(text) for name, text in case.get("environment", {}).items()}
    try:
        project = find_project(str(folder), environment)
        resolved = resolve_roster(project, environment, wish)
    except RequestError as refused:
        return [refused.diagnostic]
    _compare_resolved(case, resolved)
    return resolved.diagnostics


def _compare_resolved(case: Case, resolved: ResolvedRoster) -> None:
    assert bool(resolved.errors) == ("entries" not in case), resolved
    if resolved.errors:
        return
    if "recipients" in case:
        assert list(resolved.recipients) == case["recipients"]
    assert set(resolved.recipients) <= set(resolved.roster.names)
    found = {
        f"{_entry(each)} ← {resolved.origins[each.agent_name].source}"
        for each in resolved.roster.entries
    }
    wanted = set(case["entries"])
    assert {line if line in wanted else line.partition(" ← ")[0] for line in found} == wanted
    said: Case = {name: case[name] for name in ("mode", "roster_name") if name in case}
    _compare(said, resolved.roster)


@click.command()
@roster_options
def _options(*, wish: RosterRequest) -> RosterRequest:
    """The options as a command has them."""
    return wish


def wish_of(flags: str, folder: Path) -> RosterRequest:
    """What is asked for, from a line as it is typed; a file is one of the case's folder."""
    words: Iterable[str] = (
        f"@{folder / word[1:]}" if word.startswith("@") else word for word in shlex.split(flags)
    )
    wish = _options.main(list(words), standalone_mode=False)
    assert isinstance(wish, RosterRequest)
    return wish
