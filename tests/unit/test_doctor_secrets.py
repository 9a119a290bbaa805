"""Passwords and tokens in files that git would take."""

import re
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.services.client_settings import CLIENTS, ClientConnection, settings_for
from brenner.services.doctor.checks import secrets_check
from brenner.services.doctor.stores import Check, named_check
from brenner.store_url import AgentMailSettings
from program import git

TOKEN = "s3cret-t0ken"  # noqa: S105
SECRET = "brs_" + "x" * 43
OWN_TOKEN = "s3cret-of-the-server"  # noqa: S105
# What `brenner agent config` prints names variables, and is meant to be committed.
WAYS = (
    ClientConnection("http://127.0.0.1:8765/mcp/", wants_token=True),
    ClientConnection(command=("brenner",), variables=("PGPASSWORD",)),
)
SNIPPETS = [
    (file.path or ".mcp.json", file.text)
    for client in CLIENTS
    for way in WAYS
    for file in settings_for(client, way, Path("/")).files
]


def looked_at(project: Project, token: str | None = None) -> Check:
    """The check of the secrets in a project."""
    return named_check("secrets", secrets_check(project, token))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project in a repository, whose surroundings know a token."""
    git("init", "--quiet", cwd=tmp_path)
    return Project(tmp_path, agent_mail=AgentMailSettings(token=TOKEN))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("brenner.toml", 'store = "postgresql://ada:x@db/lab"\n'),
        ("brenner.toml", "store = 'postgresql://db/lab?password=x'\n"),
        ("brenner.toml", f"# {TOKEN}\n"),
        (".env", "export AGENT_MAIL_BEARER_TOKEN=x\n"),
        (".env", "PGPASSWORD='x'\n"),
        (".envrc", f"export ANYTHING={TOKEN}\n"),
        (".mcp.json", '{"env": {"HTTP_BEARER_TOKEN": "x"}}\n'),
        (".mcp.json", f'{{"headers": {{"Authorization": "Bearer {TOKEN}"}}}}\n'),
        (".mcp.json", f'{{"headers": {{"Brenner-Secret": "{SECRET}"}}}}\n'),
        (".env", f"ANYTHING={OWN_TOKEN}\n"),
        (".env", "BRENNER_SECRET=x\n"),
        ("brenner.toml", f'x = {{ BRENNER_TOKEN = "{OWN_TOKEN}" }}\n'),
        (".mcp.json", '{BRENNER_TOKEN: "x"}\n'),
        (".envrc", "export BRENNER_TOKEN='x'\n"),
        ("brenner.toml", '[programs.claude-code]\nenv = { ANTHROPIC_API_KEY = "x" }\n'),
        (".gemini/settings.json", '{"env": {"GEMINI_API_KEY": "x"}}\n'),
    ],
)
def test_a_secret_that_git_would_take(project: Project, name: str, text: str) -> None:
    """Told with the file; not any more when git ignores it, unless it was committed before."""
    file = project.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    found = looked_at(project, OWN_TOKEN)
    assert found.status == "warning"
    assert f"`{name}`" in found.detail
    assert TOKEN not in found.detail
    assert "brs_" not in found.detail
    (project.folder / ".gitignore").write_text(f"{name}\n", "utf-8")
    assert looked_at(project, OWN_TOKEN).status == "ok"
    git("add", "--force", name, cwd=project.folder)
    assert looked_at(project, OWN_TOKEN).status == "warning"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("brenner.toml", 'store = "postgresql://ada@db/lab?passfile=/x"\noperator = "Ada"\n'),
        ("brenner.toml", 'store = "agent-mail"\n'),
        (".env", "AGENT_MAIL_BEARER_TOKEN=\nPGPASSWORD=\nAGENT_MAIL_BASE_URL=http://x\n"),
        (".env", ""),
        ("notes.txt", TOKEN),
        (".codex/config.toml", '[model_providers.x]\nenv_key = "OPENAI_API_KEY"\n'),
        (".mcp.json", '{"env": {"GEMINI_API_KEY": "${GEMINI_API_KEY:-}"}}\n'),
        (".env", "BRENNER_SECRET=\nBRENNER_TOKEN=$OTHER\nPGPASSWORD='${OTHER}'\n"),
        *((re.sub(r"^[~/]+", "", name), text) for name, text in SNIPPETS),
    ],
)
def test_nothing_secret(project: Project, name: str, text: str) -> None:
    """Names of variables are none; and only what people keep such things in is looked at."""
    (project.folder / name).parent.mkdir(exist_ok=True)
    (project.folder / name).write_text(text, "utf-8")
    assert looked_at(project).status == "ok"


def test_files_that_are_none(project: Project) -> None:
    """A folder, a link to nowhere, bytes: all passed over."""
    (project.folder / ".env").mkdir()
    (project.folder / ".envrc").symlink_to("nowhere")
    (project.folder / ".mcp.json").write_bytes(b"\xff\x00" * 10)
    assert looked_at(project).status == "ok"


def test_without_a_repository(tmp_path: Path) -> None:
    """Nobody commits it there."""
    (tmp_path / "brenner.toml").write_text('store = "postgresql://ada:x@db/lab"\n', "utf-8")
    assert looked_at(Project(tmp_path)).status == "ok"


@pytest.mark.parametrize("name", ["AGENTS.md", ".claude/settings.json", "a/b/c d.txt", "é.md"])
def test_the_secret_of_a_name_anywhere(project: Project, name: str) -> None:
    """Agents write many files, and what they were given once gets into any of them."""
    file = project.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"registration_token: {SECRET}\n", "utf-8")
    found = looked_at(project)
    assert found.status == "warning"
    assert f"`{name}`" in found.detail
    assert "brs_" not in found.detail
    (project.folder / ".gitignore").write_text(f"{file.name}\n", "utf-8")
    assert looked_at(project).status == "ok"


def test_what_was_put_aside_for_the_next_commit(project: Project) -> None:
    """It is committed as it was then, whatever the file says now."""
    file = project.folder / "notes.md"
    file.write_text(SECRET, "utf-8")
    git("add", "notes.md", cwd=project.folder)
    file.write_text("nothing", "utf-8")
    assert "`notes.md`" in looked_at(project).detail


def test_many_files_with_secrets(project: Project) -> None:
    """Some are named."""
    for number in range(9):
        (project.folder / f"{number}.md").write_text(SECRET, "utf-8")
    assert "`4.md` and 4 more" in looked_at(project).detail


def test_texts_that_only_look_so(project: Project) -> None:
    """What is too short for a secret is none, and how to write one is no secret."""
    (project.folder / "docs.md").write_text("brs_… and brs_xyz and `brs_" + "x" * 42, "utf-8")
    assert looked_at(project).status == "ok"
