"""Rosters, presets and settings as JSON and TOML: what is read, what is refused, and why."""

import json
from datetime import UTC, datetime

import pytest

from brenner.diagnostics.model import Diagnostic
from brenner.protocol.roster import DEFAULT_3_AGENT, ROLES, Roster, RosterEntry, RosterPreset
from brenner.protocol.roster_config import (
    decode_json_or_toml,
    read_preset,
    read_roster,
    read_roster_settings,
    roster_json,
    unknown_roster_keys,
)

GENERATOR, DESIGNER, CRITIC = ROLES


def ids(found: tuple[Diagnostic, ...]) -> list[str]:
    """The codes, in order."""
    return [each.id for each in found]


def test_the_documents_metadata() -> None:
    """Wire names; what is absent is left out; the mode is always said."""
    entry = RosterEntry("BlueLake", GENERATOR, "codex-cli")
    assert roster_json(Roster((entry,), name="Default 3-Agent Setup")) == {
        "mode": "role_separated",
        "name": "Default 3-Agent Setup",
        "entries": [
            {"agentName": "BlueLake", "role": "hypothesis_generator", "program": "codex-cli"}
        ],
    }


def test_a_list_is_a_roster() -> None:
    """The document's inline example; null and an empty text are as absent."""
    value = json.loads(
        '[{"agentName": "BlueLake", "role": "test_designer", "program": null,'
        ' "model": "", "notes": "x"}]'
    )
    assert read_roster(value, "x") == Roster((RosterEntry("BlueLake", DESIGNER, notes="x"),))


def test_times_of_toml_are_text() -> None:
    """TOML has times of its own."""
    value = {"createdAt": datetime(2026, 1, 15, 10, tzinfo=UTC), "entries": []}
    read = read_roster(value, "x")
    assert isinstance(read, Roster)
    assert read.created_at == "2026-01-15T10:00:00+00:00"


@pytest.mark.parametrize(
    ("value", "reasons"),
    [
        ("BlueLake", ["it is text, not a list of entries or an object"]),
        (None, ["it is null, not a list of entries or an object"]),
        ({"entries": {}}, ["`entries` is an object, not a list"]),
        (["BlueLake"], ["entry 1 is text, not an object"]),
        ([{"role": "x"}], ["entry 1: `agentName` is missing"]),
        (
            [{"agent_name": "BlueLake", "role": "x"}],
            ["entry 1: `agentName` is missing; `agent_name` is unknown"],
        ),
        (
            [{"agentName": 7, "role": True}, {"agentName": "A", "role": ["x"]}],
            [
                "entry 1: `agentName` is a number, not text",
                "entry 1: `role` is true or false, not text",
                "entry 2: `role` is a list, not text",
            ],
        ),
        ({"mode": 3, "entries": []}, ["`mode` is a number, not text"]),
        (
            [{"agentName": "A", "role": "\ud800"}],
            ["entry 1: `role` contains half of a character (a lone surrogate)"],
        ),
    ],
)
def test_what_cannot_be_read(value: object, reasons: list[str]) -> None:
    """Every fault, with the source and the place."""
    found = read_roster(value, "`--roster`")
    assert not isinstance(found, Roster)
    assert [each.message for each in found] == [
        f"Cannot read the roster from `--roster`: {reason}." for reason in reasons
    ]


def test_unknown_keys_are_not_lost_in_silence() -> None:
    """A warning with the nearest known key, for the roster and for each entry."""
    value = {"entries": [{"agentName": "A", "role": "x", "programme": "y"}], "moode": "unified"}
    found = unknown_roster_keys(value, "`--roster`")
    assert [(each.id, each.suggestion) for each in found] == [
        ("UNKNOWN_ROSTER_KEY", "mode"),
        ("UNKNOWN_ROSTER_KEY", "program"),
    ]
    assert "`programme` in the roster from `--roster`, entry 1" in found[1].message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"entries": [}', "it is not valid JSON: expecting value (line 1, column 14)"),
        ('{"mode": "unified", "mode": "x"}', "the key `mode` occurs twice in one object"),
        ("[1, NaN]", "`NaN` is not valid JSON"),
        ("mode = unified", "it is not valid TOML: invalid value"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_text_that_is_neither(text: str, part: str) -> None:
    """Of JSON and TOML the one that was probably meant says what is wrong."""
    found = decode_json_or_toml(text, "`x`")
    assert isinstance(found, Diagnostic)
    assert found.id == "MALFORMED_ROSTER"
    assert part in found.message


# Presets


def test_the_documents_preset() -> None:
    """Built in as in the config example, without its models."""
    assert (DEFAULT_3_AGENT.id, DEFAULT_3_AGENT.name, DEFAULT_3_AGENT.description) == (
        "default-3-agent",
        "Default 3-Agent Setup",
        "Standard Brenner Protocol with Codex/Opus/Gemini",
    )
    assert tuple(entry[1:] for entry in DEFAULT_3_AGENT.entries) == (
        (GENERATOR, "codex-cli", None, None),
        (DESIGNER, "claude-code", None, None),
        (CRITIC, "gemini-cli", None, None),
    )


def test_all_fields_of_a_preset() -> None:
    """`description` and `placeholderNames` too."""
    value = {
        "id": "pair",
        "name": "Pair",
        "description": "For two.",
        "entries": [{"role": CRITIC, "notes": "n"}, {"role": DESIGNER}],
        "placeholderNames": ["One", "Two"],
    }
    preset = read_preset(value, "x")
    assert isinstance(preset, RosterPreset)
    assert (preset.description, preset.placeholder_names) == ("For two.", ("One", "Two"))
    assert preset.entries[0].notes == "n"


@pytest.mark.parametrize(
    ("preset", "messages"),
    [
        (3, ["Cannot read the roster from x: a preset is a number, not an object."]),
        (
            {"description": "d"},
            [
                "Cannot read the roster from x: `id` is missing.",
                "Cannot read the roster from x: `name` is missing.",
                "The roster from x has no entries.",
            ],
        ),
        ({"id": "a", "name": "A", "entries": []}, ["The roster from x has no entries."]),
        (
            {"id": "a", "name": "A", "entries": [{"role": "chief"}]},
            ["Invalid role for entry 1 of x: chief"],
        ),
        (
            {"id": "a", "name": "A", "entries": [{"role": CRITIC}], "placeholderNames": [None]},
            ["Cannot read the roster from x: a name in `placeholderNames` is null, not text."],
        ),
    ],
)
def test_presets_that_are_none(preset: object, messages: list[str]) -> None:
    """Each fault once."""
    found = read_preset(preset, "x")
    assert not isinstance(found, RosterPreset)
    assert [each.message for each in found] == messages


def test_settings_of_a_project() -> None:
    """Presets beside the roster or in it; two of one id, a default of the wrong kind."""
    preset = {"id": "a", "name": "A", "entries": [{"role": CRITIC}], "roles": 1}
    settings = read_roster_settings(
        {"roster": {"presets": [preset], "defaultPreset": 3}, "presets": [preset]}, "`x`"
    )
    assert [each.id for each in settings.presets] == ["a", "a"]
    assert ids(settings.found) == ["UNKNOWN_ROSTER_KEY"] * 2 + ["MALFORMED_ROSTER"] * 2
    assert "two presets have the ID `a`" in settings.found[2].message
    assert "`defaultPreset` is not the ID of a preset" in settings.found[3].message
    empty = read_roster_settings({"roster": {"entries": []}}, "`x`")
    assert [each.message for each in empty.found] == ["The roster from `x` has no entries."]
    assert read_roster_settings({"roster": {"mode": "unified"}}, "`x`").found == ()
