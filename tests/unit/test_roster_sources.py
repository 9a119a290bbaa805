"""The five sources of a roster (R20), with real files: each alone, and each against each other."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.protocol.roster import Roster, RosterEntry
from brenner.services.rosters import list_presets
from roster_project import (
    ABC,
    CRITIC,
    DESIGNER,
    GENERATOR,
    Place,
    by_toml,
    entry_json,
    ids,
    messages,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder in which nothing is."""
    return Place(tmp_path)


# Every place that can give an agent a role, highest first. Each returns how `show` calls it.


def by_role(place: Place, name: str, role: str) -> str:
    """`--to NAME --role ROLE`."""
    place.ask(recipients=(*place.wish.recipients, (name, role)))
    return "`--role`"


def by_agent_role(place: Place, name: str, role: str) -> str:
    """`--agent-role NAME=ROLE`."""
    place.ask(agent_roles=(*place.wish.agent_roles, f"{name}={role}"))
    return "`--agent-role`"


def by_roster(place: Place, name: str, role: str) -> str:
    """`--roster`."""
    place.ask(roster=entry_json(name, role))
    return "`--roster`"


def by_environment(place: Place, name: str, role: str) -> str:
    """`BRENNER_ROSTER`."""
    place.environ["BRENNER_ROSTER"] = entry_json(name, role)
    return "`BRENNER_ROSTER`"


def by_session(place: Place, name: str, role: str) -> str:
    """What a program hands in."""
    place.ask(session=Roster((RosterEntry(name, role),)))
    return "the session"


def by_preset(place: Place, name: str, role: str) -> str:
    """A preset for one that the project has, asked for by flag."""
    preset = f'[[presets]]\nid = "solo"\nname = "Solo"\nentries = [{{ role = "{role}" }}]\n'
    file = place.folder / "brenner.toml"
    before = file.read_text("utf-8") if file.exists() else ""
    place.write("brenner.toml", before + preset)
    if not place.wish.recipients:
        place.ask(recipients=((name, None),))
    place.ask(preset="solo")
    return "preset `solo`"


Giver = Callable[[Place, str, str], str]
GIVERS: tuple[Giver, ...] = (
    *(by_role, by_agent_role, by_roster, by_environment),
    *(by_session, by_toml, by_preset),
)
FLAGS = GIVERS[:3]


@pytest.mark.parametrize("give", GIVERS, ids=lambda give: give.__name__)
def test_each_source_alone(place: Place, give: Giver) -> None:
    """The entry, its origin, no complaints."""
    label = give(place, "BlueLake", CRITIC)
    resolved = place.resolve()
    assert resolved.roster.entries == (RosterEntry("BlueLake", CRITIC),)
    assert resolved.origins["BlueLake"].label == label
    assert resolved.recipients == ("BlueLake",)
    assert resolved.diagnostics == ()


@pytest.mark.parametrize(
    ("higher", "lower"),
    list(combinations(GIVERS, 2)),
    ids=lambda give: give.__name__,
)
def test_each_source_against_each_other(place: Place, higher: Giver, lower: Giver) -> None:
    """The higher one counts. What was typed and lost is told; two flags for one agent clash."""
    label = higher(place, "BlueLake", CRITIC)
    lower(place, "BlueLake", DESIGNER)
    resolved = place.resolve()
    if {higher, lower} == {by_role, by_agent_role}:
        assert ids(resolved) == ["DUPLICATE_AGENT"]
        assert resolved.diagnostics[0].also == ("CONTRADICTING_ROLES",)
        return
    assert resolved.roster.entries == (RosterEntry("BlueLake", CRITIC),)
    assert resolved.origins["BlueLake"].label == label
    is_typed_elsewhere = higher not in FLAGS and lower is by_preset
    is_environment = lower is by_environment
    expected = ["ROSTER_VALUE_OVERRIDDEN"] * (is_typed_elsewhere or is_environment)
    assert ids(resolved) == expected
    assert resolved.errors == ()


@pytest.mark.parametrize(
    ("higher", "lower"),
    list(combinations(GIVERS[:-1], 2)),
    ids=lambda give: give.__name__,
)
def test_sources_fill_each_other_in(place: Place, higher: Giver, lower: Giver) -> None:
    """Of different agents each keeps its entry, and each its origin."""
    one, other = higher(place, "BlueLake", CRITIC), lower(place, "RedSky", DESIGNER)
    resolved = place.resolve()
    assert set(resolved.roster.entries) == {
        RosterEntry("BlueLake", CRITIC),
        RosterEntry("RedSky", DESIGNER),
    }
    origins = {name: origin.label for name, origin in resolved.origins.items()}
    assert origins == {"BlueLake": one, "RedSky": other}
    assert resolved.diagnostics == ()


def test_an_entry_is_replaced_whole(place: Place) -> None:
    """A role from above does not keep the program from below."""
    place.write(
        "brenner.toml",
        f'[[roster.entries]]\nagentName = "Ada"\nrole = "{DESIGNER}"\nprogram = "codex-cli"\n',
    )
    place.ask(agent_roles=(f"Ada={CRITIC}",))
    assert place.resolve().roster.entries == (RosterEntry("Ada", CRITIC),)


@pytest.mark.parametrize(
    ("field", "flag"), [("role", "`--agent-role Ada=ROLE`"), ("program", "`--roster`")]
)
def test_which_flag_would_count(place: Place, field: str, flag: str) -> None:
    """A role is given by one flag, a program by another."""
    entry = {"agentName": "Ada", "role": CRITIC, "program": "codex-cli"}
    other = entry | {field: DESIGNER if field == "role" else "other"}
    place.environ["BRENNER_ROSTER"] = json.dumps([entry])
    place.ask(roster=json.dumps([other]))
    (found,) = place.resolve().diagnostics
    assert found.id == "ROSTER_VALUE_OVERRIDDEN"
    assert f"use the flag ({flag})" in found.fix


# Mode and name


MODES = (
    "--unified",
    "--roster",
    "BRENNER_ROSTER_MODE",
    "BRENNER_ROSTER",
    "session",
    "brenner.toml",
)


def state_mode(place: Place, where: str, mode: str) -> None:
    """Say the mode in one of the places, with the entry that the place needs."""
    whole = {"mode": mode, "entries": [{"agentName": "Ada", "role": CRITIC}]}
    if where == "--unified":
        place.ask(unified=True)
    elif where == "--roster":
        place.ask(roster=json.dumps(whole))
    elif where == "session":
        place.ask(session=Roster((RosterEntry("Ada", CRITIC),), mode))
    elif where == "brenner.toml":
        place.write(where, f'[roster]\nmode = "{mode}"\n')
    else:
        place.environ[where] = mode if where.endswith("MODE") else json.dumps(whole)


@pytest.mark.parametrize(("higher", "lower"), list(combinations(MODES, 2)))
def test_the_mode_of_the_highest_source(place: Place, higher: str, lower: str) -> None:
    """A variable of its own beats the roster in the environment; a typed one that lost is told."""
    place.ask(agent_roles=(f"Ada={CRITIC}",))
    state_mode(place, higher, "unified")
    state_mode(place, lower, "role_separated")
    resolved = place.resolve()
    assert resolved.roster.mode == "unified"
    assert resolved.header["mode"].label.strip("`").removeprefix("the ") == higher
    is_told = lower.startswith("BRENNER") and not higher.startswith("BRENNER")
    assert ids(resolved) == ["ROSTER_VALUE_OVERRIDDEN"] * is_told
    if is_told:
        assert "`role_separated` for the mode from" in resolved.diagnostics[0].message


def test_the_name_of_the_highest_source(place: Place) -> None:
    """Preset, project file, session, environment, flags: each beats those before it."""
    entry = {"agentName": "Ada", "role": CRITIC}
    seen = []
    place.ask(recipients=ABC, preset="default-3-agent")
    seen.append(place.resolve().roster.name)
    place.write("brenner.toml", '[roster]\nname = "File"\n')
    seen.append(place.resolve().roster.name)
    place.ask(session=Roster((RosterEntry("Ada", CRITIC),), name="Session"))
    seen.append(place.resolve().roster.name)
    place.environ["BRENNER_ROSTER"] = json.dumps({"name": "Environment", "entries": [entry]})
    seen.append(place.resolve().roster.name)
    place.environ["BRENNER_ROSTER_NAME"] = "Variable"
    seen.append(place.resolve().roster.name)
    place.ask(roster=json.dumps({"name": "Flag", "entries": [entry], "createdAt": "2026-01-15"}))
    seen.append(place.resolve().roster.name)
    assert seen == ["Default 3-Agent Setup", "File", "Session", "Environment", "Variable", "Flag"]
    last = place.resolve()
    assert last.roster.created_at == "2026-01-15"
    (told, *_) = [each for each in last.diagnostics if each.id == "ROSTER_VALUE_OVERRIDDEN"]
    assert "--agent-role" not in told.fix
    assert "`Variable` for the name from `BRENNER_ROSTER_NAME` has no effect" in "".join(
        messages(last, "ROSTER_VALUE_OVERRIDDEN")
    )


# Presets and recipients


def test_a_presets_places_go_to_the_recipients_in_order(place: Place) -> None:
    """The document's example."""
    place.ask(recipients=ABC, preset="default-3-agent")
    resolved = place.resolve()
    assert [(entry.agent_name, entry.role) for entry in resolved.roster.entries] == [
        ("Ada", GENERATOR),
        ("Ben", DESIGNER),
        ("Cleo", CRITIC),
    ]
    assert resolved.roster.entries[0].program == "codex-cli"
    assert {entry.model for entry in resolved.roster.entries} == {None}
    assert resolved.diagnostics == ()


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_too_few_or_too_many_is_an_error(place: Place, count: int) -> None:
    """And no second one about entries that are missing for that reason."""
    names = [(f"Agent{number}", None) for number in range(count)]
    place.ask(recipients=tuple(names), preset="default-3-agent")
    resolved = place.resolve()
    (found,) = resolved.diagnostics
    assert found.message == (
        "Wrong number of recipients for the preset `default-3-agent` from `--preset`: "
        f"{count} instead of 3."
    )


def test_a_recipient_with_a_role_takes_a_place_all_the_same(place: Place) -> None:
    """The places are counted over all recipients, so that nobody's place depends on others."""
    place.ask(recipients=(("Ada", CRITIC), *ABC[1:]), preset="default-3-agent")
    resolved = place.resolve()
    assert [entry.role for entry in resolved.roster.entries] == [CRITIC, DESIGNER, CRITIC]
    assert resolved.diagnostics == ()
    place.ask(recipients=(("Ada", CRITIC), ABC[1]))
    assert ids(place.resolve()) == ["PRESET_RECIPIENT_COUNT"]


PAIR = """
[[roster.presets]]
id = "pair"
name = "Pair"
entries = [{ role = "test_designer" }, { role = "adversarial_critic" }]
placeholderNames = ["One", "Two"]
"""


def test_placeholder_names(place: Place) -> None:
    """They count where nobody is named; who is named takes their place."""
    place.write("brenner.toml", PAIR)
    place.ask(preset="pair")
    resolved = place.resolve()
    assert resolved.roster.names == resolved.recipients == ("One", "Two")
    place.ask(recipients=ABC[:2])
    assert place.resolve().roster.names == ("Ada", "Ben")
    place.write("brenner.toml", PAIR.replace(', "Two"', ""))
    place.ask(recipients=())
    assert ids(place.resolve()) == ["PRESET_RECIPIENT_COUNT"]
    place.write("brenner.toml", PAIR.replace('"Two"', '"One"'))
    assert ids(place.resolve()) == ["DUPLICATE_AGENT"]


def test_without_recipients_the_entries_take_the_places(place: Place) -> None:
    """In the order of the roster."""
    by_toml(place, "Zoe", CRITIC)
    place.ask(agent_roles=(f"Ada={CRITIC}",), preset="duo")
    text = (place.folder / "brenner.toml").read_text("utf-8")
    duo = PAIR.replace('"pair"', '"duo"').replace('placeholderNames = ["One", "Two"]', "")
    place.write("brenner.toml", text + duo)
    resolved = place.resolve()
    assert resolved.recipients == ("Zoe", "Ada")
    (found,) = messages(resolved, "ROSTER_VALUE_OVERRIDDEN")
    assert found == (
        "`test_designer` for Zoe from preset `duo` has no effect: "
        "`brenner.toml` says `adversarial_critic`."
    )


DEFAULT = '[roster]\ndefaultPreset = "default-3-agent"\n'


@pytest.mark.parametrize("where", ["file", "environment"])
def test_a_standing_preset_is_for_those_without_a_role(place: Place, where: str) -> None:
    """It does not stop a session whose roles are all given, however many they are."""
    if where == "file":
        place.write("brenner.toml", DEFAULT)
    else:
        place.environ["BRENNER_ROSTER_PRESET"] = "default-3-agent"
    place.ask(recipients=ABC)
    assert [entry.role for entry in place.resolve().roster.entries] == [GENERATOR, DESIGNER, CRITIC]
    assert place.resolve().diagnostics == ()
    place.ask(recipients=(("Ada", CRITIC), ("Ben", CRITIC)))
    resolved = place.resolve()
    assert [entry.role for entry in resolved.roster.entries] == [CRITIC, CRITIC]
    assert resolved.roster.name is None
    assert ids(resolved) == ["ROSTER_VALUE_OVERRIDDEN"] * (where == "environment")
    place.ask(recipients=(("Ada", CRITIC), ("Ben", None)))
    assert ids(place.resolve()) == ["PRESET_RECIPIENT_COUNT"]


def test_which_preset(place: Place) -> None:
    """`--preset` beats the variable, which is told so; the variable beats the default."""
    place.write("brenner.toml", DEFAULT + PAIR)
    place.environ["BRENNER_ROSTER_PRESET"] = "pair"
    assert place.resolve().roster.name == "Pair"
    place.ask(preset="default-3-agent", recipients=ABC)
    resolved = place.resolve()
    assert resolved.roster.name == "Default 3-Agent Setup"
    (found,) = messages(resolved, "ROSTER_VALUE_OVERRIDDEN")
    assert found == (
        "`pair` for the preset from `BRENNER_ROSTER_PRESET` has no effect: "
        "`--preset` says `default-3-agent`."
    )


def test_unknown_preset(place: Place) -> None:
    """With the one that was probably meant."""
    place.ask(preset="default-3-agents", recipients=ABC)
    (found,) = place.resolve().diagnostics
    assert (found.id, found.suggestion) == ("UNKNOWN_PRESET", "default-3-agent")


def test_a_project_may_replace_the_built_in_preset(place: Place) -> None:
    """As the document's own example does."""
    place.write("brenner.toml", DEFAULT + PAIR.replace('"pair"', '"default-3-agent"'))
    (((_, label, is_default),), found) = list_presets(Project(place.folder))
    assert (label, is_default, found) == ("`brenner.toml`", True, ())
    assert place.resolve().roster.name == "Pair"


# Recipients


def test_recipients_may_be_fewer_than_the_roster(place: Place) -> None:
    """Rule 4: the others stay in the roster; the recipients come first."""
    place.ask(
        roster=json.dumps([{"agentName": name, "role": CRITIC} for name, _ in ABC]),
        recipients=(("Cleo", None),),
    )
    resolved = place.resolve()
    assert resolved.recipients == ("Cleo",)
    assert resolved.roster.names == ("Cleo", "Ada", "Ben")
    assert resolved.diagnostics == ()


def test_a_recipient_without_an_entry(place: Place) -> None:
    """Rule 3, in every mode; a word that is no name is told as such."""
    place.ask(roster=entry_json("Ada", CRITIC), recipients=(("Ben", None), ("Blue Lake", None)))
    for unified in (False, True):
        place.ask(unified=unified)
        assert ids(place.resolve()) == ["INVALID_AGENT_NAME", "MISSING_ROSTER_ENTRY"]


def test_a_recipient_without_an_entry_in_unified_mode(place: Place) -> None:
    """Rule 3 holds; the way to mend it says that any role will do, and one that is given does."""
    by_toml(place, "Ada", CRITIC)
    place.ask(unified=True, recipients=(("Ada", None), ("Ben", None)))
    (found,) = place.resolve().diagnostics
    assert found.message == "Missing roster entry for recipient: Ben"
    assert "`--to Ben --role ROLE`" in found.fix
    assert "In unified mode, any of the three roles is fine" in found.fix
    place.ask(recipients=(("Ada", None), ("Ben", DESIGNER)))
    assert place.resolve().diagnostics == ()
    place.ask(unified=False, recipients=(("Ada", None), ("Ben", None)))
    assert "unified" not in place.resolve().diagnostics[0].fix


@pytest.mark.parametrize("names", [("Bob",), ("CodexOne", "BlueLake", "OpusTwo"), ()])
def test_no_roster_at_all(place: Place, names: tuple[str, ...]) -> None:
    """Unified mode with the documented warning: nothing is guessed from names."""
    place.ask(recipients=tuple((name, None) for name in names))
    resolved = place.resolve()
    assert ids(resolved) == ["NO_ROSTER"]
    assert "(unified mode)" in resolved.diagnostics[0].message
    assert "`--to NAME --role ROLE`" in resolved.diagnostics[0].fix
    assert (resolved.roster.mode, resolved.roster.names) == ("unified", names)
    assert {entry.role for entry in resolved.roster.entries} <= {GENERATOR}
    assert {origin.label for origin in resolved.origins.values()} <= {"unified: not used"}


def test_no_roster_but_a_default_preset(place: Place) -> None:
    place.write("brenner.toml", '[roster]\ndefaultPreset = "default-3-agent"\n')
    place.ask(recipients=ABC)
    resolved = place.resolve()
    assert (ids(resolved), resolved.roster.mode) == ([], "role_separated")
    assert [entry.role for entry in resolved.roster.entries] == [GENERATOR, DESIGNER, CRITIC]


SHORT = {"generator": GENERATOR, "designer": DESIGNER, "critic": CRITIC}


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("give", GIVERS[:-1], ids=lambda give: give.__name__)
def test_short_names_in_every_source(place: Place, give: Giver, short: str) -> None:
    """Read as the full names, and stored and shown so; also in a preset."""
    give(place, "BlueLake", short)
    resolved = place.resolve()
    assert resolved.errors == ()
    assert resolved.roster.entries == (RosterEntry("BlueLake", SHORT[short]),)
    place.write(
        "brenner.toml",
        f'[[presets]]\nid = "one"\nname = "One"\nentries = [{{role = "{short}"}}]\n',
    )
    other = Place(place.folder)
    other.ask(recipients=(("Ada", None),), preset="one")
    assert [entry.role for entry in other.resolve().roster.entries] == [SHORT[short]]


@pytest.mark.parametrize(
    ("recipients", "agent_roles", "flags"),
    [
        ((("Ada", CRITIC), ("Ada", DESIGNER)), (), 2),
        ((("Ada", CRITIC), ("Ada", CRITIC)), (), 1),
        ((("Ada", None), ("Ada", None)), (), 1),
        ((("Ada", None), ("Ada", CRITIC)), (), 2),
        ((("Ada", CRITIC),), (f"Ada={CRITIC}",), 2),
        ((), (f"Ada={CRITIC}", f"Ada={DESIGNER}"), 2),
    ],
)
def test_the_same_agent_twice(
    place: Place,
    recipients: tuple[tuple[str, str | None], ...],
    agent_roles: tuple[str, ...],
    flags: int,
) -> None:
    """The document's error, as in a file, with the flags as they were typed."""
    place.ask(recipients=recipients, agent_roles=agent_roles)
    (found,) = place.resolve().diagnostics
    assert (found.id, found.message) == ("DUPLICATE_AGENT", "Duplicate agent in roster: Ada")
    assert found.fix.partition("It comes from ")[2].count("`--") == flags


def test_a_role_for_a_named_agent_is_no_second_entry(place: Place) -> None:
    place.ask(recipients=(("Ada", None),), agent_roles=(f"Ada={CRITIC}",))
    assert place.resolve().diagnostics == ()


def test_heuristic_mode_on_purpose(place: Place) -> None:
    """Deprecated all the same; entries beat guesses."""
    place.ask(
        roster='{"mode": "heuristic", "entries": []}',
        agent_roles=(f"CodexOne={CRITIC}",),
        recipients=(("GeminiOne", None), ("CodexOne", None)),
    )
    resolved = place.resolve()
    assert ids(resolved) == ["HEURISTIC_MODE_DEPRECATED"]
    assert [entry.role for entry in resolved.roster.entries] == [CRITIC, CRITIC]
    assert resolved.roster.names == ("GeminiOne", "CodexOne")


def test_a_stated_mode_without_entries_guesses_nothing(place: Place) -> None:
    """Role-separated is a promise; unified needs no roles, and says that they are nobody's."""
    place.environ["BRENNER_ROSTER_MODE"] = "role_separated"
    place.ask(recipients=(("CodexOne", None),))
    assert ids(place.resolve()) == ["MISSING_ROSTER_ENTRY"]
    place.ask(recipients=())
    assert ids(place.resolve()) == ["EMPTY_ROSTER"]
    place.environ["BRENNER_ROSTER_MODE"] = "unified"
    place.ask(recipients=ABC)
    resolved = place.resolve()
    assert ids(resolved) == ["UNIFIED_WITHOUT_ROLES"]
    assert {entry.role for entry in resolved.roster.entries} == {GENERATOR}
    assert resolved.recipients == resolved.roster.names == ("Ada", "Ben", "Cleo")
