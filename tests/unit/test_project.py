"""Find the project folder, read its settings and locate its store."""

import os
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.config import PersistSettings, Project, find_project, inspect_project, store_address
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.store_url import AgentMailAddress, AgentMailSettings, PostgresAddress
from stores import store_path
from strategies import any_text

NOBODY: dict[str, str] = {}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing in it, and the current one."""
    folder = Path(os.path.realpath(tmp_path)) / "study"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def settings(folder: Path, text: str) -> None:
    """Write `brenner.toml`."""
    (folder / "brenner.toml").write_text(text, "utf-8")


def refusal(folder: Path, text: str) -> tuple[str, str, int | None]:
    """What `find_project` refuses settings with: the code, the message, the line."""
    settings(folder, text)
    with pytest.raises(RequestError) as caught:
        find_project(str(folder), NOBODY)
    found = caught.value.diagnostic
    return found.id, found.message, found.line


def test_defaults(here: Path) -> None:
    """Without anything: here, the operator, a day."""
    project = find_project(None, NOBODY)
    assert project[:4] == (here, None, "Operator", timedelta(hours=24))
    assert (project.source_text, project.persist) == (None, PersistSettings())
    assert project.diagnostics == ()
    assert store_path(project) == here / ".brenner" / "mail.sqlite3"
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("mark", [".brenner", "brenner.toml"])
def test_nearest_folder_upwards(here: Path, monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    """The nearest folder with either of the two; not one that lies below."""
    if mark == ".brenner":
        (here / mark).mkdir()
    else:
        settings(here, "")
    below = here / "notes" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_project(None, NOBODY).folder == here
    (here / "notes" / ".brenner").mkdir()
    assert find_project(None, NOBODY).folder == here / "notes"
    monkeypatch.chdir(here)
    assert find_project(None, NOBODY).folder == here


def test_brenner_file_does_not_mark_a_project(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".brenner").write_text("", "utf-8")
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert find_project(None, NOBODY).folder == here / "below"


def test_explicit_folder(here: Path) -> None:
    """It counts as it is, from wherever it is named; nothing above it is looked for."""
    settings(here, 'operator = "Ada"')
    (here / "other").mkdir()
    project = find_project("other", NOBODY)
    assert (project.folder, project.operator) == (here / "other", "Operator")
    assert find_project("other/..", NOBODY).folder == here


@pytest.mark.parametrize("name", ["none", "", "file"])
def test_explicit_folder_must_be_one(here: Path, name: str) -> None:
    """Neither a folder that is not there, nor a file."""
    (here / "file").write_text("", "utf-8")
    with pytest.raises(RequestError) as caught:
        find_project(name, NOBODY)
    assert caught.value.diagnostic.id == "NO_SUCH_PROJECT"
    assert ("not a folder" in caught.value.diagnostic.message) is (name == "file")


def test_removed_current_folder_is_an_error_without_traceback(here: Path) -> None:
    here.rmdir()
    for explicit, store in ((None, None), (".", None), (str(here.parent), "sqlite:///x")):
        with pytest.raises(RequestError) as caught:
            find_project(explicit, NOBODY, store)
        assert caught.value.diagnostic.id == "NO_SUCH_PROJECT"
    project = find_project(str(here.parent), NOBODY, "sqlite:////x")
    assert (project.folder, store_path(project)) == (here.parent, Path("/x"))


def test_settings(here: Path) -> None:
    """What is said is taken, and what others read is left alone."""
    settings(
        here,
        'operator = "Ada-2"\nack_deadline_hours = 1.5\nroster = "team.md"\nsource_text = "a.md"\n'
        "evidence_pack = 'e.json'\npresets = {a = 1}\n[persist]\nevery = 3\ncommit = true\n",
    )
    project = find_project(None, NOBODY)
    assert (project.source_text, project.evidence_pack) == ("a.md", "e.json")
    assert project.persist == PersistSettings(every=3, commit=True)
    assert (project.operator, project.ack_deadline) == ("Ada-2", timedelta(minutes=90))
    assert project.diagnostics == ()


@pytest.mark.parametrize(
    "text",
    [
        "source_text = 1",
        "source_text = ''",
        "persist = 5",
        "[persist]\nevery = 0",
        "[persist]\nevery = true",
        "[persist]\ncommit = 'yes'",
        "[persist]\nevry = 3",
    ],
)
def test_settings_of_the_wrong_kind(here: Path, text: str) -> None:
    """Are refused, with what they should be."""
    code, message, _ = refusal(here, text + "\n")
    assert code == "INVALID_SETTINGS"
    assert ("source_text" in text) == ("`source_text`" in message)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("\noperater = 'Ada'", "operator"), ("\nack_deadline_hour = 2", "ack_deadline_hours")],
)
def test_unknown_setting(here: Path, text: str, suggestion: str) -> None:
    """A warning with its line and the nearest name; the rest counts."""
    settings(here, text + '\nstore = "sqlite:///x"\n')
    project = find_project(None, NOBODY)
    (found,) = project.diagnostics
    assert (found.id, found.severity, found.line) == ("UNKNOWN_SETTING", "warning", 2)
    assert found.suggestion == suggestion
    assert store_path(project) == here / "x"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("# mine\noperator = 3", 2, "operator"),
        ('operator = "Ada Lovelace"', 1, "operator"),
        ('operator = "Аda"', 1, "operator"),
        ('operator = ""', 1, "operator"),
        ("[operator]\nname = 1", 1, "operator"),
        ("store = 1", 1, "store"),
        ('store = ""', 1, "store"),
        ("ack_deadline_hours = 0", 1, "hours"),
        ("ack_deadline_hours = -1", 1, "hours"),
        ("ack_deadline_hours = nan", 1, "hours"),
        ("ack_deadline_hours = inf", 1, "hours"),
        ("ack_deadline_hours = true", 1, "hours"),
        ("ack_deadline_hours = '24'", 1, "hours"),
        ("ack_deadline_hours = 1" + "0" * 400, 1, "hours"),
        ("\n\noperator = Ada\n", 3, "invalid value"),
        ("operator", 1, "expected '='"),
        ('store = "a\n', 1, "illegal character"),
        ("store = '''a\n\n\n", 1, "expected"),
        ("x = " + "[" * 5000, None, "recursion"),
        ("x = " + "1" * 5000, None, "digits"),
    ],
    ids=range(20),
)
def test_invalid_settings(here: Path, text: str, line: int | None, words: str) -> None:
    """Refused whole, with the line where that is known: half of them might mean another store."""
    code, message, where = refusal(here, text)
    assert (code, where) == ("INVALID_SETTINGS", line)
    assert words in message
    assert "brenner.toml" in message


def test_line_is_not_guessed(here: Path) -> None:
    """Two lines that look like the setting: neither is named."""
    assert refusal(here, "note = '''\nstore = 2\n'''\nstore = 1\n")[2] is None


def test_settings_that_are_no_text(here: Path) -> None:
    """Not UTF-8, a folder, a link to nowhere, a megabyte: all said, none raised."""
    file = here / "brenner.toml"
    file.write_bytes(b"# fine\noperator = '\xff'\n")
    with pytest.raises(RequestError) as caught:
        find_project(None, NOBODY)
    assert (caught.value.diagnostic.id, caught.value.diagnostic.line) == ("INVALID_SETTINGS", 2)
    file.write_bytes(b"#" * 2_000_000)
    assert "larger" in inspect_project(None, NOBODY).diagnostics[0].message
    file.unlink()
    file.symlink_to("nowhere")
    assert "not a file" in inspect_project(None, NOBODY).diagnostics[0].message
    file.unlink()
    file.mkdir()
    assert "not a file" in inspect_project(None, NOBODY).diagnostics[0].message
    file.rmdir()
    os.mkfifo(file)
    assert "not a file" in inspect_project(None, NOBODY).diagnostics[0].message


def test_byte_order_mark(here: Path) -> None:
    """Some editors write one."""
    settings(here, "\ufeffoperator = 'Ada'\r\n")
    assert find_project(None, NOBODY).operator == "Ada"


def test_all_invalid_settings_are_reported(here: Path) -> None:
    settings(here, 'operator = 1\nack_deadline_hours = 0\nstor = 2\nstore = "sqlite:///m"\n')
    project = inspect_project(None, NOBODY)
    assert [(found.id, found.line) for found in project.diagnostics] == [
        ("INVALID_SETTINGS", 1),
        ("INVALID_SETTINGS", 2),
        ("UNKNOWN_SETTING", 3),
    ]
    assert (project.operator, project.ack_deadline) == ("Operator", timedelta(hours=24))


TOML = st.sampled_from(
    [
        *(
            "store",
            "operator",
            "ack_deadline_hours",
            "oper",
            "=",
            " = ",
            ".",
            "1",
            "-1",
            "1e9",
            "inf",
        ),
        *(
            '"',
            "'",
            "'''",
            '"Ada"',
            '"sqlite:///x"',
            "[",
            "]",
            "[[",
            "]]",
            "{",
            "}",
            "#",
            "\n",
            "\r\n",
        ),
        *("1979-05-27T07:32:00Z", "true", "\\u0000", "\ufeff"),
    ]
)


@given(st.one_of(any_text, st.lists(TOML, max_size=20).map("".join)))
def test_reading_settings_never_raises(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any text is settings, or something is said of it."""
    file = tmp_path_factory.getbasetemp() / "any" / "brenner.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    project = inspect_project(str(file.parent), NOBODY)
    try:
        names = set(tomllib.loads(file.read_text("utf-8-sig")))
    except (ValueError, RecursionError):
        names = {"wrong"}
    assert project.diagnostics or names <= {"store", "operator", "ack_deadline_hours"}
    lines = text.count("\n") + 1
    assert all(1 <= (found.line or 1) <= lines for found in project.diagnostics)


def test_store_from_option_environment_settings(here: Path) -> None:
    """The option before the environment before the settings."""
    (here / "p").mkdir()
    settings(here / "p", 'store = "sqlite:///in-settings"')
    environ = {"BRENNER_STORE": "sqlite:///in-environment"}

    def path(environ: dict[str, str], store: str | None) -> Path:
        return store_path(find_project("p", environ, store))

    assert path({}, None) == here / "p" / "in-settings"
    assert path({"BRENNER_STORE": ""}, None) == here / "p" / "in-settings"
    assert path(environ, None) == here / "in-environment"
    assert path(environ, "sqlite:///in-option") == here / "in-option"
    assert path(environ, "sqlite:////in/option") == Path("/in/option")


@pytest.mark.parametrize("url", ["sqlite:////srv/mail.sqlite3", "sqlite:///../mail.sqlite3"])
def test_store_in_settings(here: Path, url: str) -> None:
    """Absolute as it is; relative to the project's folder, also from below."""
    settings(here, f'store = "{url}"')
    expected = "/srv/mail.sqlite3" if "srv" in url else str(here.parent / "mail.sqlite3")
    assert os.path.normpath(store_path(find_project(None, NOBODY))) == expected


def test_tilde_is_the_user_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    found = find_project(None, NOBODY, "sqlite:///~/mail.sqlite3")
    assert store_path(found) == Path("/home/ada/mail.sqlite3")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "mail",
            "/srv/mail/",
            "sqlite:",
            "sqlite:///",
            "sqlite:////",
            "sqlite://x",
        ),
        *("sqlite:///:memory:", "sqlite:///a\0b", "mysql://x/y", "file:///x"),
    ],
)
def test_unknown_store(here: Path, url: str) -> None:
    """Refused: mail must not go where nobody looks for it."""
    with pytest.raises(RequestError) as caught:
        store_address(find_project(None, NOBODY, url))
    found = caught.value.diagnostic
    assert found.id == "UNKNOWN_STORE"
    for form in ("`sqlite:///PATH`", "`postgresql://", "`agent-mail+http://", "`agent-mail`"):
        assert form in found.fix


@pytest.mark.parametrize("form", ["{}", "./{}", "sqlite:///{}", "sqlite:///./{}"])
def test_relative_file(here: Path, form: str) -> None:
    """A bare path, too; of the option from the current folder, of the settings from theirs."""
    below = here / "below"
    below.mkdir()
    written = form.format("mail/x.sqlite3")
    found = find_project("below", NOBODY, written)
    assert os.path.normpath(store_path(found)) == str(here / "mail" / "x.sqlite3")
    settings(below, f'store = "{written}"')
    found = find_project("below", NOBODY)
    assert os.path.normpath(store_path(found)) == str(below / "mail" / "x.sqlite3")


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_absolute_file(here: Path, form: str) -> None:
    assert store_path(find_project(None, NOBODY, form.format("/srv/x"))) == Path("/srv/x")


@pytest.mark.parametrize("source", ["option", "environment", "settings"])
def test_three_slashes_where_four_were_meant(here: Path, source: str) -> None:
    """Refused only where the folder exists in `/`, and the relative file does not."""
    path = f"{here}/mail.sqlite3"[1:]
    address = f"sqlite:///{path}"
    settings(here, f'store = "{address}"' if source == "settings" else "")
    environ = {"BRENNER_STORE": address} if source == "environment" else NOBODY
    option = address if source == "option" else None
    with pytest.raises(RequestError) as caught:
        store_address(find_project(None, environ, option))
    found = caught.value.diagnostic
    first = path.partition("/")[0]
    assert (found.id, f"`/{first}` exists" in found.message) == ("UNKNOWN_STORE", True)
    assert f"`sqlite:////{path}`" in found.fix
    assert f"`./{path}`" in found.fix
    for right, file in ((f"sqlite:////{path}", f"/{path}"), (f"./{path}", f"{here}/{path}")):
        meant = store_path(find_project(None, NOBODY, right))
        assert os.path.normpath(meant) == file
    (here / path).parent.mkdir(parents=True)
    (here / path).touch()
    assert store_path(find_project(None, environ, option)) == here / path


def test_three_slashes_stay_relative(here: Path) -> None:
    (here / "study-mail").mkdir()
    found = find_project(None, NOBODY, "sqlite:///study-mail/x.sqlite3")
    assert store_path(found) == here / "study-mail" / "x.sqlite3"


def test_option_of_a_file(here: Path) -> None:
    """It is named; a file whose name looks like that is still opened."""
    found = find_project(None, NOBODY, "sqlite:///mail.sqlite3?mode=ro")
    with pytest.raises(RequestError) as caught:
        store_address(found)
    assert "unknown option `mode`; a SQLite file has no options" in caught.value.diagnostic.message
    (here / "mail.sqlite3?mode=ro").touch()
    assert store_path(found) == here / "mail.sqlite3?mode=ro"


def test_path_that_is_not_utf8(here: Path) -> None:
    """SQLite cannot open it; that is said before anything is made."""
    folder = here / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    with pytest.raises(UnavailableError) as caught:
        store_path(find_project(str(folder), NOBODY))
    assert "\\udce9" in caught.value.diagnostic.message
    assert store_path(find_project(str(folder), NOBODY, "sqlite:///x")) == here / "x"


def test_stores_on_servers(here: Path) -> None:
    """A database as it is said; of an Agent Mail server what is left out is filled in."""
    found = find_project(None, NOBODY, "postgresql://db/lab?schema=cells")
    assert store_address(found) == PostgresAddress("postgresql://db/lab", "cells")
    settings(here, 'store = "agent-mail"')
    assert store_address(find_project(None, NOBODY)) == AgentMailAddress(
        "http://127.0.0.1:8765/mcp/", str(here)
    )
    told = {"AGENT_MAIL_BASE_URL": "https://mail.example.org/", "AGENT_MAIL_PATH": "api"}
    found = find_project(None, told)
    assert store_address(found) == AgentMailAddress("https://mail.example.org/api", str(here))
    for url, expected in (
        ("agent-mail+http://x:1", "http://x:1/api"),
        ("agent-mail+http://x:1/", "http://x:1/"),
        ("agent-mail+http://x:1/mcp/", "http://x:1/mcp/"),
    ):
        found = find_project(None, told, f"{url}?project=cells")
        assert store_address(found) == AgentMailAddress(expected, "cells")


def test_environment_never_selects_a_server(here: Path) -> None:
    """It only completes the address `agent-mail`."""
    told = {
        "AGENT_MAIL_BASE_URL": "http://x:1",
        "AGENT_MAIL_PATH": "/api/",
        "AGENT_MAIL_BEARER_TOKEN": " secret\n",
    }
    project = find_project(None, told)
    assert store_path(project) == here / ".brenner" / "mail.sqlite3"
    assert project.agent_mail == AgentMailSettings("http://x:1", "/api/", "secret")
    assert "secret" not in repr(project)
    for empty in ("", " "):
        assert find_project(None, {"AGENT_MAIL_BEARER_TOKEN": empty}).agent_mail.token is None


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("localhost:8765", ""),
        ("ftp://localhost", ""),
        ("http://", ""),
        ("http://x:port", ""),
        ("http://x", "/m cp"),
        ("http://x", "/mcp?token=secret"),
        ("http://ada:secret@x", ""),
    ],
)
def test_invalid_address_in_the_environment(here: Path, base: str, path: str) -> None:
    """The error names the variables and hides secrets."""
    told = {"AGENT_MAIL_BASE_URL": base, "AGENT_MAIL_PATH": path}
    with pytest.raises(RequestError) as caught:
        store_address(find_project(None, told, "agent-mail"))
    found = caught.value.diagnostic
    assert found.id == "UNKNOWN_STORE"
    assert "`AGENT_MAIL_BASE_URL`" in found.fix
    assert "secret" not in found.message


def test_key_that_is_not_utf8(here: Path) -> None:
    """No server can be told of that folder; one can name it."""
    folder = here / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    with pytest.raises(UnavailableError) as caught:
        store_address(find_project(str(folder), NOBODY, "agent-mail"))
    assert "`?project=KEY`" in caught.value.diagnostic.message
    named = find_project(str(folder), NOBODY, "agent-mail?project=cafe")
    assert store_address(named) == AgentMailAddress("http://127.0.0.1:8765/mcp/", "cafe")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:se@cr/et@db/x?password=secret",
        "postgresql://ada:secret@db@db/x",
        "postgres://ada:secret@db/x?schema=pg_x",
        "agent-mail+http://secret@db/x",
        "ada:secret@db/x",
        "host=db password=secret",
    ],
)
def test_passwords_are_not_shown(url: str) -> None:
    """Error messages go to logs and to other people."""
    with pytest.raises(RequestError) as caught:
        store_address(Project(Path("/x"), url))
    assert "secret" not in caught.value.diagnostic.message
    assert "cr/et" not in caught.value.diagnostic.message


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_path_is_one(path: str) -> None:
    """`sqlite:///` and an absolute path give that path."""
    if path.startswith("~"):
        path = "x" + path
    assert store_path(Project(Path("/x"), f"sqlite:////a/{path}")) == Path("/a", path)
