"""Rosters by the document: its rules with its words, and the section of a kickoff."""

import pytest

from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.roster import (
    Mode,
    Role,
    Roster,
    RosterEntry,
    guess_role,
    read_configuration,
    render_configuration,
    validate_roster,
    validate_roster_coverage,
)

GENERATOR, DESIGNER, CRITIC = (role.value for role in Role)
TRIO = Roster(
    (
        RosterEntry("BlueLake", GENERATOR, "codex-cli", "GPT-5.2"),
        RosterEntry("PurpleMountain", DESIGNER, "claude-code", "Opus 4.5"),
        RosterEntry("GreenValley", CRITIC, "gemini-cli", "Gemini 3"),
    ),
    name="Default 3-Agent Setup",
)
# agent_roster_schema, Format in Message Body
SECTION = """\
## Session Configuration

**Roster Mode**: role_separated
**Roster Name**: Default 3-Agent Setup

| Agent | Role | Program | Model |
|-------|------|---------|-------|
| BlueLake | hypothesis_generator | codex-cli | GPT-5.2 |
| PurpleMountain | test_designer | claude-code | Opus 4.5 |
| GreenValley | adversarial_critic | gemini-cli | Gemini 3 |

---
"""


def roster(*pairs: tuple[str, str], mode: str = "role_separated") -> Roster:
    """A roster of names and roles."""
    return Roster(tuple(RosterEntry(name, role) for name, role in pairs), mode)


def ids(found: tuple[Diagnostic, ...]) -> list[str]:
    """The codes, in order."""
    return [each.id for each in found]


# The rules


def test_rule_1_no_duplicate_agents() -> None:
    """The document's message, as text and as a diagnostic."""
    result = validate_roster(roster(("BlueLake", GENERATOR), ("BlueLake", DESIGNER)))
    assert not result.valid
    assert result.errors == ("Duplicate agent in roster: BlueLake",)
    assert ids(result.violations) == ["DUPLICATE_AGENT"]
    thrice = validate_roster(roster(*[("BlueLake", GENERATOR)] * 3))
    assert thrice.errors == ("Duplicate agent in roster: BlueLake",) * 2


def test_rule_2_duplicate_roles_are_allowed() -> None:
    """Two generators are more brains, no fault."""
    many = roster(("BlueLake", GENERATOR), ("RedSky", GENERATOR), ("PurpleMountain", DESIGNER))
    assert validate_roster(many) == (True, (), ())


def test_rule_3_missing_mapping() -> None:
    """Each recipient without an entry is named, once; there is no default role."""
    pair = roster(("BlueLake", GENERATOR), ("PurpleMountain", DESIGNER))
    recipients = ("BlueLake", "PurpleMountain", "GreenValley", "RedSky", "GreenValley")
    result = validate_roster_coverage(pair, recipients)
    assert result.errors == (
        "Missing roster entry for recipient: GreenValley",
        "Missing roster entry for recipient: RedSky",
    )
    assert ids(result.violations) == ["MISSING_ROSTER_ENTRY"] * 2
    unified = pair._replace(mode=Mode.UNIFIED)
    assert validate_roster_coverage(unified, recipients).errors == result.errors


def test_rule_4_extra_entries_are_allowed() -> None:
    """A roster may be larger than this session."""
    assert validate_roster_coverage(TRIO, ["BlueLake"]) == (True, (), ())


@pytest.mark.parametrize("mode", ["role_separated", "unified", "heuristic"])
def test_rule_5_roles(mode: str) -> None:
    """Three roles and no others, in every mode; a slip gets a suggestion."""
    result = validate_roster(
        roster(("BlueLake", "researcher"), ("Ada", "Test-Designer"), mode=mode)
    )
    assert result.errors == (
        "Invalid role for BlueLake: researcher",
        "Invalid role for Ada: Test-Designer",
    )
    assert [found.suggestion for found in result.violations][:2] == [None, DESIGNER]


def test_both_faults_of_an_entry_are_told() -> None:
    """As in the document's function: the duplicate first, then the role."""
    result = validate_roster(roster(("BlueLake", GENERATOR), ("BlueLake", "researcher")))
    assert result.errors == (
        "Duplicate agent in roster: BlueLake",
        "Invalid role for BlueLake: researcher",
    )


@pytest.mark.parametrize(
    "name", ["Blue Lake", "", "**Blue**", "Bl|ue", "1Blue", "B" * 65, "BlueLake\n"]
)
def test_names_are_names(name: str) -> None:
    """A name with markup, blanks or look-alikes is refused."""
    result = validate_roster(roster((name, GENERATOR)))
    assert ids(result.violations) == ["INVALID_AGENT_NAME"]


def test_an_empty_roster_is_for_heuristic_mode_only() -> None:
    """At least one entry, says the document; heuristic mode does without, and is deprecated."""
    assert validate_roster(Roster(())).errors == ("The roster has no entries.",)
    assert ids(validate_roster(Roster((), "unified")).violations) == ["EMPTY_ROSTER"]
    guessing = validate_roster(Roster((), "heuristic"))
    assert guessing.valid
    assert ids(guessing.violations) == ["HEURISTIC_MODE_DEPRECATED"]


def test_unknown_mode() -> None:
    """A mode that nobody knows; the slip is named."""
    (found,) = validate_roster(TRIO._replace(mode="role-seperated")).violations
    assert (found.id, found.suggestion) == ("UNKNOWN_ROSTER_MODE", "role_separated")


@pytest.mark.parametrize(
    ("time", "is_valid"),
    [("2026-01-15T10:00:00Z", True), ("2026-01-15", True), ("yesterday", False), ("", False)],
)
def test_created_at_is_a_time(time: str, is_valid: bool) -> None:
    """ISO 8601, as the document says."""
    assert validate_roster(TRIO._replace(created_at=time)).valid is is_valid


def test_values_that_no_kickoff_could_show() -> None:
    """An empty text, half of a character: only a program makes such values."""
    entry = RosterEntry("BlueLake", GENERATOR, program="", notes="\ud800")
    result = validate_roster(Roster((entry,), name=""))
    assert ids(result.violations) == ["MALFORMED_ROSTER"] * 3


# Heuristic mode


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("CodexOne", GENERATOR),
        ("my-gpt5", GENERATOR),
        ("Opus", DESIGNER),
        ("claude_2", DESIGNER),
        ("GeminiPro", CRITIC),
        ("BlueLake", None),
        ("ClaudeCodex", None),
    ],
)
def test_roles_guessed_from_names(name: str, role: str | None) -> None:
    """By the programs and models that the document names; two at once tell nothing."""
    assert guess_role(name) == role
    result = validate_roster_coverage(Roster((), "heuristic"), [name])
    assert ids(result.violations) == ([] if role else ["HEURISTIC_NAME_UNMATCHED"])


# The section of a kickoff


def test_the_documents_section() -> None:
    """Byte for byte, and back."""
    assert render_configuration(TRIO) == SECTION
    assert read_configuration(parse_blocks(SECTION)) == TRIO


def test_notes_and_time_where_there_are_any() -> None:
    """A further column, a further line; both come back."""
    entry = RosterEntry("BlueLake", GENERATOR, None, None, "checks | twice\nand again")
    full = Roster((entry, TRIO.entries[1]), "unified", None, "2026-01-15T10:00:00Z")
    text = render_configuration(full)
    assert "**Created At**: 2026-01-15T10:00:00Z\n" in text
    assert (
        "| Agent | Role | Program | Model | Notes |\n|-------|------|---------|-------|-------|"
        in text
    )
    assert "| BlueLake | hypothesis_generator |  |  | checks \\| twice<br>and again |\n" in text
    assert "Roster Name" not in text
    assert read_configuration(parse_blocks(text)) == full


def test_an_empty_heuristic_roster_comes_back() -> None:
    """A table without rows."""
    empty = Roster((), "heuristic")
    assert read_configuration(parse_blocks(render_configuration(empty))) == empty


SLOPPY = """\
# Kickoff

### session configuration (optional):

Some words.

- **Mode**: Unified
- **Roster name:** `Night shift`

Role | Agent name | Team | Agent
:--|--|--:|--
Test Designer | **BlueLake** | x | Other
`adversarial-critic` | @RedSky
chief | GreenValley | | | more
test_designer | |
test_designer | not a name |
just a line
"""


def test_what_others_wrote() -> None:
    """Other order, other titles, missing and further columns, rows that are short or no rows."""
    assert read_configuration(parse_blocks(SLOPPY)) == Roster(
        (
            RosterEntry("BlueLake", DESIGNER),
            RosterEntry("RedSky", CRITIC),
            RosterEntry("GreenValley", "chief"),
        ),
        "unified",
        "Night shift",
    )


@pytest.mark.parametrize(
    "body",
    [
        "",
        "## Session Configuration\n",
        "## Session Configuration\n\n| Agent | Program |\n|---|---|\n| BlueLake | x |\n",
        "## Session Configuration\n\n> | Agent | Role |\n> |---|---|\n> | BlueLake | x |\n",
        "## Session Configuration\n\n```\n| Agent | Role |\n|---|---|\n| BlueLake | x |\n```\n",
        "## Other\n\n| Agent | Role |\n|---|---|\n| BlueLake | test_designer |\n",
        "## Session Configuration\n\n| Agent | Role |\n| BlueLake | test_designer |\n",
    ],
)
def test_where_there_is_none(body: str) -> None:
    """No such section, or no table with both columns in it."""
    assert read_configuration(parse_blocks(body)) is None


def test_the_first_table_with_agents_counts() -> None:
    """A section or a table without agents is passed over."""
    empty = "## Session Configuration\n\nNothing yet.\n\n"
    other = "## Session Configuration\n\n| Key | Value |\n|---|---|\n| a | b |\n\n"
    rest = SECTION.partition("\n\n")[2]
    assert read_configuration(parse_blocks(empty + other + rest)) == TRIO
