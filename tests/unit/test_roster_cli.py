"""`brenner roster` from the outside: a real process, its output, its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from program import Run, brenner, call, inside
from terminal import in_terminal

TRIO = ("--to", "BlueLake", "--to", "RedSky", "--to", "GreenValley")
PRESET = ("--preset", "default-3-agent")
LIST = '[{"agentName": "Ada", "role": "test_designer"}]'


def roster(folder: Path, *arguments: str, **environment: str) -> Run:
    """Run the command there."""
    return brenner("roster", *arguments, cwd=folder, **environment)


def piped(folder: Path, text: str) -> Run:
    """`roster validate -` with the text on the standard input."""
    with inside(folder, {}):
        return call("roster", "validate", "-", stdin=text.encode())


def codes(document: dict[str, list[dict[str, str]]]) -> list[str]:
    """The codes of the violations."""
    return [found["id"] for found in document["violations"]]


# show


def test_show_says_where_each_entry_comes_from(tmp_path: Path) -> None:
    """The table, uncut into a pipe; nothing on the other output."""
    done = roster(tmp_path, "show", *PRESET, *TRIO, "--agent-role", "RedSky=adversarial_critic")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "  Mode  role_separated  (the default)\n"
        "  Name  Default 3-Agent Setup  (preset default-3-agent)\n"
        "\n"
        "Agent        Role                  Program     Model  Source\n"
        f"{'─' * 76}\n"
        "BlueLake     hypothesis_generator  codex-cli          preset default-3-agent\n"
        "RedSky       adversarial_critic                       --agent-role\n"
        "GreenValley  adversarial_critic    gemini-cli         preset default-3-agent\n"
    )


def test_show_as_json(tmp_path: Path) -> None:
    """The roster in the document's words, the entries with their sources, the verdict."""
    (tmp_path / "brenner.toml").write_text('[roster]\nname = "Mine"\n', "utf-8")
    done = roster(tmp_path, "show", "--json", "--to", "Ada", "--role", "test_designer")
    entry = {"agentName": "Ada", "role": "test_designer"}
    assert done.json == {
        "roster": {"mode": "role_separated", "name": "Mine", "entries": [entry]},
        "recipients": ["Ada"],
        "entries": [entry | {"source": "flags", "from": "--role"}],
        "origins": {"name": {"source": "project", "from": "brenner.toml"}},
        "preset": None,
        "valid": True,
        "summary": {"errors": 0, "warnings": 0, "info": 0},
        "violations": [],
    }
    assert done.code == 0


def test_the_documents_command_line(tmp_path: Path) -> None:
    """Each role belongs to the name before it, wherever other options stand."""
    done = roster(
        tmp_path,
        *("show", "--to", "BlueLake", "--role=hypothesis_generator", "--to=PurpleMountain"),
        *("--json", "--role", "test_designer", "--to", "GreenValley", "--unified"),
        *("--role", "adversarial_critic"),
    )
    assert [(each["agentName"], each["role"]) for each in done.json["entries"]] == [
        ("BlueLake", "hypothesis_generator"),
        ("PurpleMountain", "test_designer"),
        ("GreenValley", "adversarial_critic"),
    ]
    assert done.json["roster"]["mode"] == "unified"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ("--role", "x", "--to", "Ada"),
            "--role x must follow its own --to NAME: it comes before the first --to.",
        ),
        (
            ("--to", "Ada", "--role", "x", "--role", "y"),
            "--role y must follow its own --to NAME: --to Ada already has the role x.",
        ),
    ],
)
def test_roles_without_a_name_are_wrong_usage(
    tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    """Exit code 2, also as JSON."""
    done = roster(tmp_path, "show", *arguments)
    assert done.code == 2
    assert reason in done.err
    again = roster(tmp_path, "show", "--json", *arguments)
    assert (again.code, again.err, again.json["valid"]) == (2, "", False)
    assert again.json["entries"] == []


def test_show_without_anything(tmp_path: Path) -> None:
    """The empty state says how to fill it; the warning is the documented one."""
    done = roster(tmp_path, "show")
    assert done.code == 0
    assert done.out.startswith("No roster yet.\n")
    assert "warning NO_ROSTER" in done.err
    assert "HEURISTIC" not in done.err


def test_a_default_preset_is_shown_before_anybody_is_named(tmp_path: Path) -> None:
    """The document's configuration alone is no fault; a session that is started must name three."""
    (tmp_path / "brenner.toml").write_text('[roster]\ndefaultPreset = "default-3-agent"\n', "utf-8")
    done = roster(tmp_path, "show")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("--to NAME") == 3
    assert roster(tmp_path, "validate").code == 0
    assert roster(tmp_path, "show", "--json").json["preset"]["id"] == "default-3-agent"
    assert roster(tmp_path, "show", "--to", "Ada").code == 1


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "part"),
    [
        (
            ("--roster", "[1,"),
            {},
            2,
            "Cannot read the roster from `--roster`: it is not valid JSON",
        ),
        (("--roster", "@none"), {}, 2, "`--roster` (`@none`): no such file"),
        (
            (),
            {"BRENNER_ROSTER": "@none"},
            2,
            "Cannot read the roster from `BRENNER_ROSTER` (`@none`)",
        ),
        (("--agent-role", "Ada"), {}, 2, "`Ada` does not have the form NAME=ROLE"),
        (("--agent-role", "Ada=chief"), {}, 1, "Invalid role for Ada: chief"),
        (("--preset", "none"), {}, 1, "Unknown preset `none`."),
        ((*PRESET, "--to", "Ada"), {}, 1, "from `--preset`: 1 instead of 3."),
        (("--to", "Ada", "--to", "Ada"), {}, 1, "Duplicate agent in roster: Ada"),
        (
            ("--to", "Ada", "--role", "test_designer", "--agent-role", "Ada=adversarial_critic"),
            {},
            1,
            "Duplicate agent in roster: Ada",
        ),
        (("--roster", LIST, "--to", "Ben"), {}, 1, "Missing roster entry for recipient: Ben"),
    ],
)
def test_what_is_wrong_and_how_it_ends(
    tmp_path: Path,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    code: int,
    part: str,
) -> None:
    """2 where something cannot be read, 1 where it says something wrong; both with the words."""
    done = roster(tmp_path, "show", *arguments, **environment)
    assert done.code == code
    assert part in done.err
    document = roster(tmp_path, "show", "--json", *arguments, **environment)
    assert document.code == code
    assert part in "".join(found["message"] for found in document.json["violations"])
    assert document.json["valid"] is False


def test_what_was_typed_and_lost(tmp_path: Path) -> None:
    """A warning; the exit code stays 0."""
    done = roster(
        tmp_path,
        *("show", "--json", "--roster", LIST),
        BRENNER_ROSTER=LIST.replace("test_designer", "adversarial_critic"),
        BRENNER_ROSTER_MODE="unified",
    )
    assert done.code == 0
    assert codes(done.json) == ["ROSTER_VALUE_OVERRIDDEN"]
    assert done.json["roster"]["mode"] == "unified"


def test_a_project_elsewhere(tmp_path: Path) -> None:
    """`--project` says whose files count; a named file is looked for here."""
    project = tmp_path / "project"
    project.mkdir()
    (project / ".brennerrc").write_text(json.dumps({"roster": json.loads(LIST)}), "utf-8")
    (project / "brenner.config.ts").write_text("export default {}", "utf-8")
    (tmp_path / "team.json").write_text(LIST.replace("Ada", "Ben"), "utf-8")
    done = roster(tmp_path, "show", "--json", "--project", "project", "--roster", "@team.json")
    assert [each["from"] for each in done.json["entries"]] == [".brennerrc", "--roster"]
    assert codes(done.json) == ["CONFIG_TS_NOT_RUN"]
    assert roster(tmp_path, "show", "--project", "none").code == 2


def test_nothing_is_made(tmp_path: Path) -> None:
    """To look at a roster needs no mailbox."""
    for arguments in (("show", *PRESET, *TRIO), ("presets",), ("validate",)):
        assert roster(tmp_path, *arguments).code == 0
    assert list(tmp_path.iterdir()) == []


def test_show_fits_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns; the source is whole; what an entry says is not obeyed."""
    monkeypatch.chdir(tmp_path)
    entry = {
        "agentName": "PurpleMountainRangeFarAway",
        "role": "adversarial_critic",
        "program": "gemini-cli-with-a-long-name",
        "notes": "\x1b[31mred\n" + "words " * 30,
    }
    mine = ("--roster", json.dumps([entry]), *TRIO[:4], "--to", entry["agentName"])
    shown = in_terminal(80, "roster", "show", *mine, *PRESET, NO_COLOR="1")
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("preset default-3-agent\n") == 2
    assert "\x1b" not in shown
    assert "  PurpleMountainRangeFarAway: \\x1b[31mred\\nwords" in shown


# validate


def test_validate_a_file(tmp_path: Path) -> None:
    """A list, a roster, a project's file; JSON or TOML."""
    texts = {
        "list.json": LIST,
        "roster.json": f'{{"mode": "unified", "entries": {LIST}}}',
        "roster.toml": '[[entries]]\nagentName = "Ada"\nrole = "test_designer"\n',
        "brenner.toml": '[roster]\ndefaultPreset = "x"\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
        done = roster(tmp_path, "validate", name)
        assert (done.code, done.out, done.err) == (0, f"{name}: valid: no problems\n", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"agentName": "Ada", "role": "chief"}]', ["INVALID_ROLE"]),
        (f"{LIST[:-1]}, {LIST[1:]}", ["DUPLICATE_AGENT"]),
        ('[{"agentName": "Ada"}]', ["MALFORMED_ROSTER"]),
        ("[", ["MALFORMED_ROSTER"]),
        ("", ["EMPTY_ROSTER"]),
        ('{"mode": "heuristic", "entries": []}', ["HEURISTIC_MODE_DEPRECATED"]),
        (LIST.replace('"role"', '"x": 1, "role"'), ["UNKNOWN_ROSTER_KEY"]),
        ("presets = [3]\n[roster]\nmode = 'x'\n", ["MALFORMED_ROSTER", "UNKNOWN_ROSTER_MODE"]),
    ],
)
def test_validate_the_standard_input(tmp_path: Path, text: str, expected: list[str]) -> None:
    """Errors end with 1, warnings with 0."""
    done = piped(tmp_path, text)
    *lines, verdict = done.out.splitlines()
    assert [line.split()[2] for line in lines] == expected
    has_errors = any(line.split()[1] == "error" for line in lines)
    assert done.code == has_errors
    assert verdict.startswith(f"<stdin>: {'not valid' if has_errors else 'valid'}: ")


def test_validate_what_cannot_be_read(tmp_path: Path) -> None:
    """Exit code 2; a file goes with no flags."""
    assert roster(tmp_path, "validate", "none.json").code == 2
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert roster(tmp_path, "validate", "bytes", "--json").code == 2
    (tmp_path / "list.json").write_text(LIST, "utf-8")
    done = roster(tmp_path, "validate", "list.json", "--unified")
    assert done.code == 2
    assert "FILE cannot be used with roster options" in done.err


def test_validate_what_resolves_here(tmp_path: Path) -> None:
    """With the same flags as `show`."""
    assert roster(tmp_path, "validate", *PRESET, *TRIO).out == "roster: valid: no problems\n"
    done = roster(tmp_path, "validate", "--json", *PRESET, *TRIO[:2])
    assert (done.code, codes(done.json)) == (1, ["PRESET_RECIPIENT_COUNT"])
    (tmp_path / ".brennerrc").write_text("{", "utf-8")
    assert roster(tmp_path, "validate", *PRESET, *TRIO).code == 2


# presets

PAIR = """
[roster]
defaultPreset = "pair"
[[roster.presets]]
id = "pair"
name = "Pair"
description = "For two."
entries = [{ role = "test_designer" }, { role = "adversarial_critic", notes = "n" }]
placeholderNames = ["One", "Two"]
"""


def test_presets(tmp_path: Path) -> None:
    """The built-in one and the project's, each with its places."""
    (tmp_path / "brenner.toml").write_text(PAIR, "utf-8")
    done = roster(tmp_path, "presets")
    assert (done.code, done.err) == (0, "")
    assert "default-3-agent  Default 3-Agent Setup  (built in)\n" in done.out
    assert "pair  Pair  (brenner.toml; the default)\n    For two.\n" in done.out
    assert "pair             One        test_designer\n" in done.out
    built_in, pair = roster(tmp_path, "presets", "--json").json["presets"]
    assert (built_in["source"], built_in["default"], len(built_in["entries"])) == (
        "built in",
        False,
        3,
    )
    assert pair == {
        "id": "pair",
        "name": "Pair",
        "description": "For two.",
        "entries": [{"role": "test_designer"}, {"role": "adversarial_critic", "notes": "n"}],
        "placeholderNames": ["One", "Two"],
        "source": "brenner.toml",
        "default": True,
    }


def test_presets_that_are_wrong(tmp_path: Path) -> None:
    """The others are listed all the same."""
    (tmp_path / "brenner.toml").write_text(PAIR.replace("test_designer", "chief"), "utf-8")
    done = roster(tmp_path, "presets")
    assert done.code == 1
    assert "Invalid role for entry 1 of `brenner.toml`, preset 1: chief" in done.err
    assert "default-3-agent" in done.out


# What docs/reference/rosters.md shows

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "rosters.md").read_text("utf-8")


def excerpt(language: str) -> str:
    """The first excerpt in that language."""
    return PAGE.partition(f"~~~{language}\n")[2].partition("~~~")[0]


def test_the_pages_settings_are_valid(tmp_path: Path) -> None:
    """The example can be copied, and does what the page says of its preset."""
    (tmp_path / "brenner.toml").write_text(excerpt("toml"), "utf-8")
    assert roster(tmp_path, "validate").out == "roster: valid: no problems\n"
    done = roster(tmp_path, "show", "--json", "--to", "BlueLake", "--to", "RedSky")
    assert [(each["role"], each["source"]) for each in done.json["entries"]] == [
        ("adversarial_critic", "project"),
        ("test_designer", "preset"),
    ]


def test_the_pages_python() -> None:
    """Its comments are what comes out."""
    names: dict[str, Any] = {}
    *lines, covered, missing = excerpt("python").strip().splitlines()
    exec("\n".join(lines), names)  # noqa: S102  (our own page)
    for line in (covered, missing):
        code, _, comment = line.partition("  # ")
        assert eval(code, names) == eval(comment)  # noqa: S307
