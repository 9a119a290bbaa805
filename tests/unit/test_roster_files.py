"""Flags, variables and files that a roster is said in: what is read, what is refused, and why."""

import json
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.protocol.roster import Roster, RosterEntry
from brenner.services.rosters import RosterRequest, check_roster_text, resolve_roster
from roster_project import CRITIC, DESIGNER, Place, by_toml, entry_json, ids, messages


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder in which nothing is."""
    return Place(tmp_path)


# Flags


def test_contradicting_flags_are_named(place: Place) -> None:
    """Both, as they were typed."""
    place.ask(recipients=(("Ada", CRITIC),), agent_roles=(f"Ada={DESIGNER}",))
    (found,) = place.resolve().diagnostics
    assert (found.id, found.also) == ("DUPLICATE_AGENT", ("CONTRADICTING_ROLES",))
    assert found.fix.endswith(
        "It comes from `--to Ada --role adversarial_critic` and `--agent-role Ada=test_designer`."
    )


def test_an_agent_role_is_a_pair(place: Place) -> None:
    """Without its `=` it is nothing."""
    place.ask(agent_roles=("Ada",))
    (found,) = place.resolve().diagnostics
    assert found.message == (
        "Cannot read the roster from `--agent-role`: `Ada` does not have the form NAME=ROLE."
    )


def test_faults_say_where_they_come_from(place: Place) -> None:
    """Also where a higher source makes up for them."""
    by_toml(place, "Ada", "researcher")
    place.ask(agent_roles=(f"Ada={CRITIC}",))
    (found,) = place.resolve().diagnostics
    assert found.message == "Invalid role for Ada: researcher"
    assert found.fix.endswith("It comes from `brenner.toml`.")


def test_a_name_comes_from_where_it_was_given(place: Place) -> None:
    """`--role` gives the role only."""
    place.ask(recipients=(("Bob Smith", DESIGNER), ("Ada", "researcher")))
    name, role = place.resolve().diagnostics
    assert (name.id, role.id) == ("INVALID_AGENT_NAME", "INVALID_ROLE")
    assert name.fix.endswith("It comes from `--to`.")
    assert role.fix.endswith("It comes from `--role`.")


@pytest.mark.parametrize(
    ("said", "suggested"),
    [
        ("Generator", "hypothesis_generator"),
        ("Critic", CRITIC),
        ("test-designer", DESIGNER),
        ("er", None),
        ("researcher", None),
        ("_", None),
    ],
)
def test_a_part_of_a_role_is_understood(place: Place, said: str, suggested: str | None) -> None:
    """As a suggestion, never in its place."""
    place.ask(recipients=(("Ada", said),))
    (found,) = place.resolve().diagnostics
    assert (found.id, found.suggestion) == ("INVALID_ROLE", suggested)


ENTRY = '[[roster.entries]]\nagentName = "Ada"\nrole = "test_designer"\n'


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("brenner.toml", ENTRY.replace("agentName", "agent"), 2),
        ("brenner.toml", ENTRY + ENTRY.replace("agentName", "agent"), 5),
        ("brenner.toml", 'roster = [\n  {agent = "Ada", role = "test_designer"},\n]\n', 2),
        ("brenner.toml", '# agent = "x"\nroster = [{agent = "Ada", role = "test_designer"}]', None),
        ("pyproject.toml", "\n" + ENTRY.replace("roster", "tool.brenner.roster", 1), None),
        (".brennerrc", '{"roster":\n [{"agent":\n "Ada", "role": "test_designer"}]}', 2),
    ],
)
def test_a_key_for_another(place: Place, name: str, text: str, line: int | None) -> None:
    """One fault, told once, with the key that was meant, and the line where it is certain."""
    place.write(name, text.replace("agentName = ", "agent = ") if line is None else text)
    (found,) = place.resolve().diagnostics
    assert (found.id, found.suggestion) == ("MALFORMED_ROSTER", "agentName")
    assert found.fix.endswith(" Did you mean `agentName`?")
    assert "`agentName` is missing; `agent` is unknown" in found.message
    assert (f"(line {line})." in found.message) is (line is not None)
    result = check_roster_text(text, "`x`") if name == "brenner.toml" else None
    assert result is None or [each.line for each in result.violations] == [line]


def test_lines_of_other_keys(place: Place) -> None:
    """In presets, too, and for what is only a warning."""
    preset = '[[roster.presets]]\nid = "one"\nname = "One"\ncolor = 1\nentries = [\n{role='
    place.write("brenner.toml", f'{ENTRY}modell = "x"\n{preset}"{CRITIC}", modle = "y"}}]\n')
    found = messages(place.resolve(), "UNKNOWN_ROSTER_KEY")
    assert [each.rpartition("(")[2] for each in found] == ["line 4).", "line 8).", "line 10)."]


def test_many_unknown_keys_are_told_quickly(place: Place) -> None:
    """Each is looked for in the whole file, so only the first are."""
    place.write("brenner.toml", ENTRY + "".join(f"x{number} = 1\n" for number in range(5000)))
    found = messages(place.resolve(), "UNKNOWN_ROSTER_KEY")
    assert (len(found), sum("(line" in each for each in found)) == (5000, 20)


# Files


RC_JSON = json.dumps({"roster": {"entries": [{"agentName": "Ada", "role": CRITIC}]}})
RC_TOML = f'[roster]\nentries = [{{ agentName = "Ada", role = "{CRITIC}" }}]\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", RC_TOML.replace("[roster]", "[tool.brenner.roster]")),
        (".brennerrc", RC_JSON),
        (".brennerrc", RC_TOML),
        ("brenner.toml", f'roster = [{{ agentName = "Ada", role = "{CRITIC}" }}]\n'),
    ],
)
def test_files_of_a_project(place: Place, name: str, text: str) -> None:
    """Each of the three, in each form."""
    place.write(name, text)
    resolved = place.resolve()
    assert resolved.roster.entries == (RosterEntry("Ada", CRITIC),)
    assert resolved.origins["Ada"].label == f"`{name}`"
    assert resolved.diagnostics == ()


def test_the_first_file_that_speaks_of_rosters(place: Place) -> None:
    """A file that says nothing of them is passed over; two are not mixed."""
    place.write(".brennerrc", RC_JSON)
    place.write("brenner.toml", 'operator = "Ada"\n')
    place.write("pyproject.toml", "this is not TOML, and none of our business")
    assert place.resolve().origins["Ada"].label == "`.brennerrc`"
    place.write(
        "pyproject.toml", f'[tool.brenner.roster]\nentries = [{{agentName="Ben", role="{CRITIC}"}}]'
    )
    assert place.resolve().roster.names == ("Ben",)
    place.write("brenner.toml", RC_TOML)
    assert place.resolve().origins.keys() == {"Ada"}


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        (
            "brenner.toml",
            "[roster\n",
            "roster from `brenner.toml`: it is not valid TOML",
        ),
        ("pyproject.toml", "[tool.brenner\n", "Cannot read the roster from `pyproject.toml`"),
        (
            ".brennerrc",
            '{"roster": [}',
            "roster from `.brennerrc`: it is not valid JSON",
        ),
        ("brenner.toml", "roster = 3\n", "it is a number, not a list of entries or an object"),
        ("brenner.toml", "presets = 3\n", "`presets` is not a list"),
    ],
)
def test_files_that_cannot_be_read(place: Place, name: str, text: str, part: str) -> None:
    """Nothing is resolved; the file is named."""
    place.write(name, text)
    place.ask(agent_roles=(f"Ada={CRITIC}",))
    resolved = place.resolve()
    assert ids(resolved) == ["MALFORMED_ROSTER"]
    assert part in resolved.diagnostics[0].message
    assert resolved.roster.entries == ()


def test_unknown_keys_of_a_project(place: Place) -> None:
    """In the roster, in an entry, and beside the roster where the file is for us alone."""
    place.write(
        ".brennerrc",
        '{"roster": {"defaultPresset": "x", "entries": [{"agentName": "Ada", "role": '
        f'"{CRITIC}", "programm": "y"}}]}}, "operator": "Ada"}}',
    )
    resolved = place.resolve()
    found = [each for each in resolved.diagnostics if each.id == "UNKNOWN_ROSTER_KEY"]
    assert [each.suggestion for each in found] == ["defaultPreset", "program", None]
    assert resolved.errors == ()


def test_config_ts_is_not_run(place: Place) -> None:
    """A note, whatever else there is."""
    place.write("brenner.config.ts", "export default {}")
    place.ask(agent_roles=(f"Ada={CRITIC}",))
    assert ids(place.resolve()) == ["CONFIG_TS_NOT_RUN"]


@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("text", [entry_json("Ada", CRITIC), RC_TOML.replace("[roster]\n", "")])
def test_a_file_by_its_name(place: Place, variable: bool, text: str) -> None:
    """`@file`, JSON or TOML, for the flag and the variable alike."""
    place.write("team", text)
    named = f"@{place.folder / 'team'}"
    if variable:
        place.environ["BRENNER_ROSTER"] = named
    else:
        place.ask(roster=named)
    resolved = place.resolve()
    assert resolved.roster.entries == (RosterEntry("Ada", CRITIC),)
    assert resolved.diagnostics == ()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("@no-such-file", "no such file or directory"),
        ("@", "no such file or directory"),
        ("@a\0b", "it is not a valid file name"),
        ("team.json", "`team.json` is neither a list nor an object; write a file as `@FILE`"),
        ("", "`` is neither a list nor an object"),
        ("[1,", "it is not valid JSON"),
    ],
)
def test_rosters_that_cannot_be_read(place: Place, said: str, reason: str) -> None:
    """The flag or the variable is named, and the reason."""
    place.ask(roster=said)
    (found,) = place.resolve().diagnostics
    assert found.id == "MALFORMED_ROSTER"
    assert found.message.startswith("Cannot read the roster from `--roster`")
    assert reason in found.message


@pytest.mark.parametrize("raw", [b"\xff\xfe", b" " * (1024 * 1024 + 1)])
def test_files_that_are_no_text(place: Place, raw: bytes) -> None:
    """Not UTF-8, or without end."""
    (place.folder / "team").write_bytes(raw)
    place.environ["BRENNER_ROSTER"] = f"@{place.folder / 'team'}"
    assert ids(place.resolve()) == ["MALFORMED_ROSTER"]


def test_a_roster_with_nobody_in_it(place: Place) -> None:
    """More often a mistake than a wish; the source is named."""
    place.ask(roster="[]")
    place.environ["BRENNER_ROSTER"] = '{"mode": "unified"}'
    assert [found.message for found in place.resolve().diagnostics] == [
        "The roster from `--roster` has no entries.",
        "The roster from `BRENNER_ROSTER` has no entries.",
    ]
    place.ask(roster=None, session=Roster(()))
    place.environ.clear()
    assert messages(place.resolve(), "EMPTY_ROSTER") == [
        "The roster from the session has no entries."
    ]


def test_variables(place: Place) -> None:
    """Empty ones are as none; a misspelt one is told; a wrong mode is an error."""
    place.ask(agent_roles=(f"Ada={CRITIC}",))
    for name in ("BRENNER_ROSTER", "BRENNER_ROSTER_MODE", "BRENNER_ROSTER_PRESET"):
        place.environ[name] = ""
    assert place.resolve().diagnostics == ()
    place.environ["BRENNER_ROSTER_MOD"] = "unified"
    (found,) = place.resolve().diagnostics
    assert (found.id, found.suggestion) == ("UNKNOWN_ROSTER_KEY", "BRENNER_ROSTER_MODE")
    place.environ = {"BRENNER_ROSTER_MODE": "separate", "BRENNER_ROSTER_NAME": "\udcff"}
    assert ids(place.resolve()) == ["MALFORMED_ROSTER"]
    del place.environ["BRENNER_ROSTER_NAME"]
    assert ids(place.resolve()) == ["UNKNOWN_ROSTER_MODE"]


def test_a_missing_folder_is_a_project_without_files(tmp_path: Path) -> None:
    """Nothing is raised, and nothing is made."""
    wish = RosterRequest(agent_roles=(f"Ada={CRITIC}",))
    assert resolve_roster(Project(tmp_path / "none"), {}, wish).diagnostics == ()
    assert not (tmp_path / "none").exists()
