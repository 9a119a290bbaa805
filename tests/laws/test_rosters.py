"""The laws of rosters: round trips, no exceptions, no forged structure, who beats whom."""

import json
from itertools import pairwise
from typing import Any

import cmarkgfm
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.markdown.escape import escape_cell, escape_heading, render_table
from brenner.protocol.roster import (
    BUILT_IN_PRESETS,
    MODES,
    ROLES,
    Mode,
    PartialRoster,
    Roster,
    RosterEntry,
    RosterPreset,
    read_configuration,
    render_configuration,
    validate_roster,
    validate_roster_coverage,
)
from brenner.protocol.roster_config import (
    decode_json,
    decode_json_or_toml,
    decode_toml,
    preset_json,
    read_preset,
    read_roster,
    read_roster_settings,
    roster_json,
    unknown_preset_keys,
    unknown_roster_keys,
)
from brenner.protocol.roster_resolve import (
    RosterLayer,
    RosterOrigin,
    RosterSource,
    resolve_inputs,
)
from strategies import agent_names, any_text, hostile_text

pytestmark = pytest.mark.fuzz

roles = st.sampled_from(ROLES)
texts = st.none() | hostile_text.filter(bool)
times = st.none() | st.datetimes().map(lambda at: at.isoformat()[:19])
entries = st.builds(RosterEntry, agent_names, roles, texts, texts, texts)
several = st.lists(entries, min_size=1, max_size=5, unique_by=lambda entry: entry.agent_name)
rosters = st.builds(Roster, several.map(tuple), st.sampled_from(MODES), texts, times)
places = st.builds(RosterEntry, st.just(""), roles, texts, texts, texts)
presets = st.builds(
    RosterPreset,
    hostile_text.filter(bool),
    hostile_text.filter(bool),
    texts,
    st.lists(places, min_size=1, max_size=3).map(tuple),
    st.lists(agent_names, max_size=3).map(tuple),
)


# Text


@given(rosters)
def test_parse_render_roster(roster: Roster) -> None:
    """parse(render(x)) == x for every valid roster, hostile text included."""
    assert validate_roster(roster).valid
    assert read_configuration(parse_blocks(render_configuration(roster))) == roster


@given(rosters, any_text, any_text)
def test_a_roster_in_a_body(roster: Roster, before: str, after: str) -> None:
    """Headings around it do not change it, whatever stands under them."""
    quoted = "\n".join(f"> {line}" for line in before.splitlines())
    body = (
        f"# Kickoff\n\n## Context\n\n{quoted}\n\n{render_configuration(roster)}\n## Next\n{after}"
    )
    assert read_configuration(parse_blocks(body)) == roster


@given(rosters)
def test_no_text_forges_structure(roster: Roster) -> None:
    """A heading, the lines, the table, whatever the fields hold; a viewer sees as many rows."""
    text = render_configuration(roster)
    assert [block.kind for block in parse_blocks(text)] == [
        BlockKind.HEADING,
        BlockKind.PARAGRAPH,
        BlockKind.PARAGRAPH,
    ]
    html = cmarkgfm.github_flavored_markdown_to_html(text)
    assert html.count("<tr>") == 1 + len(roster.entries)
    assert html.count("<h2>") == 1
    assert html.count("<hr />") == 1


@given(st.lists(any_text, max_size=6), st.lists(st.sampled_from(["Agent", "Role", "x|y", "-"])))
@example(["|", "|\n|"], [])
def test_reading_never_raises(parts: list[str], titles: list[str]) -> None:
    """Any text under the heading is read as a roster or as none."""
    table = f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"
    body = f"## Session Configuration\n\n{table}{'|'.join(parts)}\n"
    read = read_configuration(parse_blocks(body))
    assert read is None or isinstance(read, Roster)
    for part in parts:
        read_configuration(parse_blocks(part))


@given(rosters, st.permutations(["Agent", "Role", "Program", "Model", "Notes", "More"]))
def test_columns_in_any_order(roster: Roster, titles: list[str]) -> None:
    """Columns may stand anywhere, others among them, and text right above the table."""
    rows = []
    for entry in roster.entries:
        cells = dict(zip(("Agent", "Role", "Program", "Model", "Notes"), entry, strict=True))
        rows.append([escape_cell(cells.get(title, "more") or "") for title in titles])
    name = f"**Roster Name**: {escape_heading(roster.name)}\n" if roster.name else ""
    body = f"### session configuration:\n{name}{render_table(titles, rows)}\n"
    assert read_configuration(parse_blocks(body)) == Roster(roster.entries, name=roster.name)


# JSON

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | roles,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("entries", "agentName", "role", "program", "mode", "name", "createdAt"),
                    *("id", "presets", "roster", "defaultPreset", "placeholderNames", "other"),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(rosters)
def test_roster_json_round_trip(roster: Roster) -> None:
    """read(json(x)) == x for every valid roster, by way of text; nothing in it is unknown."""
    value = json.loads(json.dumps(roster_json(roster)))
    assert read_roster(value, "x") == roster
    assert unknown_roster_keys(value, "x") == ()


@given(presets)
def test_preset_json_round_trip(preset: RosterPreset) -> None:
    """The same for presets."""
    value = json.loads(json.dumps(preset_json(preset)))
    assert read_preset(value, "x") == preset
    assert unknown_preset_keys(value, "x") == ()


@given(json_values)
def test_any_value_is_read_or_refused(value: Any) -> None:
    """Reading raises on nothing; what is refused is refused with an error."""
    for read in (read_roster(value, "x"), read_preset(value, "x")):
        if not isinstance(read, Roster | RosterPreset):
            assert read
            assert all(found.severity is ERROR for found in read)
    if isinstance(value, dict):
        read_roster_settings(value, "x")
    unknown_roster_keys(value, "x")


@given(any_text)
@example("[" * 100_000)
@example('{"a": ' * 50_000)
@example("9" * 5_000)
@example('{"a": NaN}')
def test_decoding_never_raises(text: str) -> None:
    """Any text is decoded or refused."""
    for decode in (decode_json, decode_toml, decode_json_or_toml):
        value = decode(text, "x")
        assert not isinstance(value, Diagnostic) or value.severity is ERROR


# Sources

_ORDER = (RosterSource.FLAGS, RosterSource.ENVIRONMENT, RosterSource.SESSION, RosterSource.PROJECT)
names = st.sampled_from(["BlueLake", "RedSky", "GreenValley", "CodexOne", "OpusTwo"])
few = st.lists(st.builds(RosterEntry, names, roles), max_size=3, unique_by=lambda e: e.agent_name)
stated = st.builds(
    PartialRoster,
    few.map(tuple),
    st.none() | st.sampled_from(MODES),
    st.none() | st.sampled_from(["One", "Two"]),
)


Claims = tuple[
    tuple[RosterLayer, ...],
    tuple[str, ...],
    tuple[tuple[str, RosterOrigin], ...],
    dict[str, RosterPreset],
]


@st.composite
def claims(draw: st.DrawFn) -> Claims:
    """Any of the four sources, each saying something or nothing; perhaps a preset."""
    layers = tuple(
        RosterLayer(RosterOrigin(source, str(source)), draw(stated), source if n < 2 else None)
        for n, source in enumerate(_ORDER)
        if draw(st.booleans())
    )
    recipients = tuple(draw(st.lists(names, max_size=4)))
    chosen = draw(st.none() | st.sampled_from(_ORDER[:2] + _ORDER[3:]))
    choices = (("default-3-agent", RosterOrigin(chosen, str(chosen))),) if chosen else ()
    return layers, recipients, choices, {preset.id: preset for preset in BUILT_IN_PRESETS}


@given(claims())
def test_the_highest_source_counts(given_claims: Claims) -> None:
    """Agent by agent, and for the mode and the name: whole, from the highest that says it."""
    resolved = resolve_inputs(*given_claims)
    for entry in resolved.roster.entries:
        stating = [
            (layer.origin, each)
            for layer in given_claims[0]
            for each in layer.stated.entries
            if each.agent_name == entry.agent_name
        ]
        if stating:
            assert (resolved.origins[entry.agent_name], entry) == stating[0]
        else:
            assert resolved.origins[entry.agent_name].source not in _ORDER
    for field in ("mode", "name"):
        said = [getattr(layer.stated, field) for layer in given_claims[0]]
        first = next((value for value in said if value is not None), None)
        if first is not None:
            assert getattr(resolved.roster, field) == first


@given(claims())
def test_nobody_is_lost(given_claims: Claims) -> None:
    """Each agent of each source has an entry, and each recipient an entry or an error."""
    resolved = resolve_inputs(*given_claims)
    known = resolved.roster.names
    assert len(set(known)) == len(known)
    assert set(known) == resolved.origins.keys()
    for layer in given_claims[0]:
        assert {entry.agent_name for entry in layer.stated.entries} <= set(known)
    covered = validate_roster_coverage(resolved.roster, resolved.recipients)
    assert covered.valid or resolved.errors
    if resolved.errors == ():
        assert set(resolved.recipients) <= set(known)
    wanted = tuple(dict.fromkeys(given_claims[1]))
    assert resolved.recipients == (wanted or known)


@given(claims())
def test_recipients_come_first(given_claims: Claims) -> None:
    """In the order in which they were named."""
    resolved = resolve_inputs(*given_claims)
    known = resolved.roster.names
    places = [known.index(name) for name in resolved.recipients if name in known]
    assert all(one < other for one, other in pairwise(places))
    assert places == list(range(len(places)))


@given(claims())
def test_warnings_are_of_what_was_typed(given_claims: Claims) -> None:
    """A value of the session or the project's file that loses is nobody's surprise."""
    silent = tuple(layer._replace(typed=None) for layer in given_claims[0])
    resolved = resolve_inputs(silent, given_claims[1], (), given_claims[3])
    assert "ROSTER_VALUE_OVERRIDDEN" not in {found.id for found in resolved.diagnostics}


@given(claims())
def test_resolving_what_was_resolved_changes_nothing(given_claims: Claims) -> None:
    """A roster without faults, handed in by the session, comes out as it is."""
    first = resolve_inputs(*given_claims)
    if first.errors or not first.roster.entries:
        return
    layer = RosterLayer(
        RosterOrigin(RosterSource.SESSION, "the session"), PartialRoster(*first.roster)
    )
    again = resolve_inputs((layer,), first.recipients)
    assert again.roster == first.roster
    assert again.errors == ()
    is_guessing = first.roster.mode == Mode.HEURISTIC
    assert [found.id for found in again.diagnostics] == ["HEURISTIC_MODE_DEPRECATED"] * is_guessing
