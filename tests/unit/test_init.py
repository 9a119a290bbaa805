"""`brenner init`, as a stranger would use it: in real folders, with real git."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from program import brenner, files, git, powerless
from terminal import in_terminal

KICKOFF = ["--question", "Which?", "--context", "None.", "--to", "BlueLake"]
KICKOFF += ["--role", "hypothesis_generator"]
STORE = [".brenner", ".brenner/.gitignore", ".brenner/mail.sqlite3"]


def test_first_time(tmp_path: Path) -> None:
    """The mailbox with its operator, one line on what was done, one on what comes next."""
    done = brenner("init", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert first == f"Created .brenner/mail.sqlite3 in {tmp_path}; the operator is `Operator`."
    assert second == (
        "Next: `brenner session start --question TEXT --context TEXT --to NAME --role ROLE`. "
        "Repeat `--to` and `--role` for each agent. `--dry-run` sends nothing."
    )
    assert files(tmp_path) == STORE
    agents = brenner("mail", "agents", "--json", cwd=tmp_path)
    assert '"Operator"' in agents.out


def test_again(tmp_path: Path) -> None:
    """Nothing is made twice, and nothing changes."""
    brenner("init", cwd=tmp_path)
    before = (tmp_path / ".brenner" / "mail.sqlite3").read_bytes()
    done = brenner("init", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("The project is already set up: 0 messages and 1 agent in ")
    assert (tmp_path / ".brenner" / "mail.sqlite3").read_bytes() == before
    assert files(tmp_path) == STORE


def test_git_stays_clean(tmp_path: Path) -> None:
    """In a repository nothing of it is seen; not by status, not by `add --all`."""
    git("init", "--quiet", cwd=tmp_path)
    (tmp_path / "README.md").write_text("hello\n", "utf-8")
    git("add", "--all", cwd=tmp_path)
    git("commit", "--quiet", "--message", "first", cwd=tmp_path)
    brenner("init", cwd=tmp_path)
    assert git("status", "--porcelain", cwd=tmp_path) == ""
    git("add", "--all", cwd=tmp_path)
    assert git("status", "--porcelain", cwd=tmp_path) == ""
    assert git("ls-files", cwd=tmp_path) == "README.md\n"


def test_operator(tmp_path: Path) -> None:
    """A name of her own needs settings; they hold that and nothing else."""
    done = brenner("init", "--operator", "Ada", cwd=tmp_path)
    assert done.code == 0
    assert done.out.startswith("Created .brenner/mail.sqlite3 and brenner.toml in ")
    assert "the operator is `Ada`." in done.out
    assert (tmp_path / "brenner.toml").read_text("utf-8") == 'operator = "Ada"\n'
    for arguments in (("init", "--operator", "Ada"), ("init",)):
        again = brenner(*arguments, cwd=tmp_path)
        assert again.code == 0
        assert again.out.startswith("The project is already set up")


def test_default_operator_needs_no_settings(tmp_path: Path) -> None:
    """Nothing is written that says what would be so without it."""
    assert brenner("init", "--operator", "Operator", cwd=tmp_path).code == 0
    assert files(tmp_path) == STORE


@pytest.mark.parametrize("text", ["", "# mine\n", 'operator = "Bea"\n'])
def test_settings_are_not_overwritten(tmp_path: Path, text: str) -> None:
    """They are the author's: exit code 2, and nothing was done."""
    file = tmp_path / "brenner.toml"
    file.write_text(text, "utf-8")
    done = brenner("init", "--operator", "Ada", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert 'Write `operator = "Ada"` into it' in done.err
    assert file.read_text("utf-8") == text
    assert files(tmp_path) == ["brenner.toml"]


@pytest.mark.parametrize("name", ["", "Ada Lovelace", "Аda", '"\noperator = "x', "-"])
def test_operator_must_be_a_name(tmp_path: Path, name: str) -> None:
    """Refused, and nothing was done."""
    done = brenner("init", "--operator", name, cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "INVALID_NAME" in done.err
    assert files(tmp_path) == []


def test_what_is_no_name_is_not_advised(tmp_path: Path) -> None:
    """Where settings are there, too, the name is refused before anybody is told to write it."""
    (tmp_path / "brenner.toml").write_text("# mine\n", "utf-8")
    done = brenner("init", "--operator", "Ada Lovelace", cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "INVALID_NAME" in done.err
    assert "Write `operator" not in done.err
    assert files(tmp_path) == ["brenner.toml"]


def test_operator_like_another_agent(tmp_path: Path) -> None:
    """A name that looks like a registered one is refused, and the settings are gone again."""
    brenner("init", cwd=tmp_path)
    brenner("mail", "register", "BlueLake", cwd=tmp_path)
    done = brenner("init", "--operator", "bluelake", cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "NAME_LOOKS_LIKE" in done.err
    assert "`brenner.toml`" in done.err
    assert files(tmp_path) == STORE


def test_what_comes_next_works(tmp_path: Path) -> None:
    """The command at the end, with its capitals filled in: tried first, as is advised."""
    tried, done = (brenner(*advised(tmp_path), *dry, cwd=tmp_path) for dry in (["--dry-run"], []))
    assert "Preview of 1 kickoff in " in tried.out
    assert done.code == 0, done.err
    assert "Sent message 1 to BlueLake (test_designer) in " in done.out


def advised(folder: Path, *more: str, cwd: Path | None = None) -> list[str]:
    """What `init` says to do next, typed with a question, a context, a name and a role."""
    done = brenner("init", *more, cwd=cwd or folder)
    (hint,) = re.findall(r"`brenner (session [^`]*)`", done.out)
    said = {"NAME": "BlueLake", "ROLE": "test_designer"}
    return [said.get(word, word) for word in shlex.split(hint)]


def test_project_folder(tmp_path: Path) -> None:
    """It must be there; a typo does not become a project."""
    done = brenner("init", "--project", "study", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "NO_SUCH_PROJECT" in done.err
    assert files(tmp_path) == []
    (tmp_path / "study").mkdir()
    study = tmp_path / "study"
    command = advised(study, "--project", "study", "--operator", "Ada", cwd=tmp_path)
    assert command[:4] == ["session", "start", "--project", str(study)]
    (study / "brenner.toml").unlink()
    assert files(study) == STORE
    assert brenner(*command, cwd=tmp_path).code == 0
    assert brenner("mail", "inbox", "--as", "BlueLake", "--json", cwd=study).json["messages"]
    assert files(tmp_path) == ["study", *(f"study/{each}" for each in STORE)]


def test_inside_another_project(tmp_path: Path) -> None:
    """Below a project one works on that; the line after says how to have another."""
    brenner("init", cwd=tmp_path)
    below = tmp_path / "notes"
    below.mkdir()
    done = brenner("init", cwd=below)
    assert "already set up" in done.out
    assert "`brenner init --project .`" in done.out
    assert files(below) == []
    assert brenner("init", "--project", ".", cwd=below).code == 0
    assert files(below) == STORE
    assert "already set up" in brenner("init", cwd=below).out


def test_store_elsewhere(tmp_path: Path) -> None:
    """The option counts for one command; the line after says how to keep it."""
    (tmp_path / "mail").mkdir()
    done = brenner("init", "--store", "sqlite:///mail/m.sqlite3", cwd=tmp_path)
    assert done.code == 0
    assert 'write `store = "sqlite:///mail/m.sqlite3"` into brenner.toml' in done.out
    assert files(tmp_path) == ["mail", "mail/m.sqlite3"]


@pytest.mark.parametrize("url", ["mysql://ada:secret@db/x", "mail", ""])
def test_unknown_store(tmp_path: Path, url: str) -> None:
    """Exit code 2, and nothing was done; a password is not shown."""
    for arguments in (("init", "--store", url), ("--store", url, "init", "--json")):
        done = brenner(*arguments, cwd=tmp_path)
        assert done.code == 2
        assert "UNKNOWN_STORE" in done.out + done.err
        assert "secret" not in done.out + done.err
    assert files(tmp_path) == []


def test_common_options_anywhere(tmp_path: Path) -> None:
    """Before the command, after it, or half and half; the one nearer to the command counts."""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    made = [
        brenner("--json", "--project", "a", "init", cwd=tmp_path),
        brenner("init", "--json", "--project", "a", cwd=tmp_path),
        brenner("--project", "b", "--json", "init", "--project", "a", cwd=tmp_path),
        brenner("--store", "sqlite:///b/x", "init", "--json", "--project", "c", cwd=tmp_path),
    ]
    assert {each.code for each in made} == {0}
    assert [each.json["project"] for each in made[:3]] == [str(tmp_path / "a")] * 3
    assert made[3].json["store"] == str(tmp_path / "b" / "x")
    assert files(tmp_path / "b") == ["x"]
    assert files(tmp_path / "c") == []


def test_environment_store(tmp_path: Path) -> None:
    """BRENNER_STORE counts where no option is given."""
    done = brenner("init", "--json", cwd=tmp_path, BRENNER_STORE="sqlite:///m.sqlite3")
    assert done.json["store"] == str(tmp_path / "m.sqlite3")


def test_json(tmp_path: Path) -> None:
    """What is there and what was made; warnings about the settings go into the document."""
    (tmp_path / "brenner.toml").write_text('operator = "Ada"\ncolour = 1\n', "utf-8")
    done = brenner("init", "--json", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    store = str(tmp_path / ".brenner" / "mail.sqlite3")
    document = done.json
    violations = document.pop("violations")
    assert document == {
        "project": str(tmp_path),
        "store": store,
        "operator": "Ada",
        "created": [store],
        "messages": 0,
        "agents": 1,
        "summary": {"errors": 0, "warnings": 1, "info": 0},
    }
    assert [(each["id"], each["line"]) for each in violations] == [("UNKNOWN_SETTING", 2)]
    assert brenner("init", "--json", cwd=tmp_path).json["created"] == []
    plain = brenner("init", cwd=tmp_path)
    assert plain.err.startswith("brenner.toml:2  warning UNKNOWN_SETTING")


def test_invalid_settings(tmp_path: Path) -> None:
    """Exit code 2 with the line; nothing was done."""
    (tmp_path / "brenner.toml").write_text("\nstore = 3\n", "utf-8")
    done = brenner("init", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("brenner.toml:2  error INVALID_SETTINGS")
    assert files(tmp_path) == ["brenner.toml"]
    document = brenner("init", "--json", cwd=tmp_path).json
    assert document["violations"][0]["id"] == "INVALID_SETTINGS"


@pytest.mark.parametrize("arguments", [["init"], ["init", "--operator", "Ada"]], ids=" ".join)
def test_folder_that_cannot_be_written(tmp_path: Path, arguments: list[str]) -> None:
    """Exit code 3, said why, nothing left behind."""
    tmp_path.chmod(0o555)
    try:
        done = powerless(*arguments, cwd=tmp_path)
    finally:
        tmp_path.chmod(0o755)
    assert (done.code, done.out) == (3, "")
    assert "ermission denied" in done.err
    assert files(tmp_path) == []


def test_damaged_store(tmp_path: Path) -> None:
    """Said so, not overwritten; the settings that were to be are not there."""
    store = tmp_path / ".brenner" / "mail.sqlite3"
    store.parent.mkdir()
    store.write_bytes(b"not a database, but long enough to look like something" * 100)
    before = store.read_bytes()
    done = brenner("init", "--operator", "Ada", "--json", cwd=tmp_path)
    assert done.code == 3
    assert json.loads(done.out)["violations"][0]["id"] in ("STORE_CORRUPT", "STORE_FOREIGN")
    assert store.read_bytes() == before
    assert not (tmp_path / "brenner.toml").exists()


def test_fits_into_a_terminal(tmp_path: Path) -> None:
    """80 columns, whatever the folder is called; its escape sequences are shown."""
    folder = tmp_path / ("long-" * 20 + "\x1b[31m")
    folder.mkdir()
    for _ in range(2):
        shown = in_terminal(80, "init", "--project", str(folder))
        assert "\x1b" not in shown
        assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "store", ["sqlite:///no folder/deep/m.sqlite3", "./no folder/deep/m.sqlite3"]
)
def test_folder_of_a_store_is_not_created(tmp_path: Path, store: str) -> None:
    """Every command that writes refuses it, and the command in the advice works as it stands."""
    writing = (["init"], ["mail", "register", "Ann"], ["session", "start", *KICKOFF])
    for command in writing:
        done = brenner(*command, "--store", store, cwd=tmp_path)
        assert (done.code, "STORE_FOLDER_MISSING" in done.err) == (2, True)
        assert files(tmp_path) == []
    (tmp_path / "brenner.toml").write_text(f'store = "{store}"\n', "utf-8")
    refused = brenner("init", cwd=tmp_path)
    assert refused.code == 2
    found = re.search("Run `(mkdir -p .*?)`", refused.err)
    assert found
    subprocess.run(shlex.split(found[1]), check=True)
    assert brenner("init", cwd=tmp_path).code == 0
    assert (tmp_path / "no folder" / "deep" / "m.sqlite3").exists()


def test_advised_setting_is_never_ambiguous(tmp_path: Path) -> None:
    """A folder may be called as one in `/`: the advice opens the same file in a fresh clone."""
    first = str(tmp_path).split("/")[1]
    (tmp_path / first).mkdir()
    done = brenner("init", "--store", f"./{first}/m.sqlite3", cwd=tmp_path)
    assert f'write `store = "sqlite:///./{first}/m.sqlite3"` into brenner.toml' in done.out
