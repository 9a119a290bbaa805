"""What the documentation says is what the program has: names, limits, links, keys, words."""

import re
from pathlib import Path

import pytest

import brenner
from brenner import limits
from brenner.diagnostics.catalogue import CATALOGUE
from brenner.mail.agent_mail import http
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Capability
from brenner.mail.postgres import connection
from brenner.mail.postgres import mailbox as database
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text("utf-8")
GENERATED = {DOCS / "reference" / "codes.md", DOCS / "reference" / "commands.md"}


def test_readme_is_short() -> None:
    """Under two screens."""
    assert len(README.splitlines()) <= 100


@pytest.mark.parametrize("name", [name for name in vars(limits) if name.isupper()])
def test_limits_are_documented(name: str) -> None:
    """Each limit has a row, with its figure."""
    page = (DOCS / "reference" / "limits.md").read_text("utf-8")
    rows = [row for row in page.splitlines() if f"`{name}`" in row]
    assert rows
    assert f"{vars(limits)[name]:,}" in rows[0]


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("CONNECT_SECONDS", connection.CONNECT_SECONDS),
        ("SILENCE", connection.SILENCE),
        ("LOCK_SECONDS", connection.LOCK_SECONDS),
        ("SETTLE_SECONDS", database.SETTLE_SECONDS),
        ("MIGRATING_SECONDS", connection.MIGRATING_SECONDS),
        ("MOST", connection.MOST),
        ("MOST_BYTES", http.MOST_BYTES),
    ],
)
def test_limits_of_waiting_are_documented(name: str, figure: float) -> None:
    """The figures for servers stand in rows of their own, at the beginning."""
    _, _, page = (DOCS / "reference" / "limits.md").read_text("utf-8").partition("## Waiting")
    (row,) = [row for row in page.splitlines() if f"`{name}`" in row]
    assert row.startswith(f"| {int(figure):,} ")


def test_the_architecture_names_every_package() -> None:
    """A newcomer finds each folder and each file of the top level in the table of packages."""
    page = (DOCS / "internals" / "architecture.md").read_text("utf-8")
    source = Path(brenner.__file__).parent
    packages = {f"{path.parent.name}/" for path in source.glob("*/__init__.py")}
    files = {path.name for path in source.glob("*.py")} - {"__init__.py", "__main__.py"}
    rows = "".join(re.findall(r"^\| (`.+?) \|", page, re.MULTILINE))
    assert packages | files <= set(re.findall(r"`([a-z_./]+)`", rows))


@pytest.mark.parametrize(
    "name", ["docs/internals/architecture.md", "docs/reference/limits.md", "CONTRIBUTING.md"]
)
def test_named_source_files_exist(name: str) -> None:
    source = Path(brenner.__file__).parent
    text = (ROOT / name).read_text("utf-8")
    named = re.findall(r"`((?:src/brenner/)?[a-z_]+/[a-z_/]+(?:\.py|/))`", text)
    paths = [each.removeprefix("src/brenner/") for each in named]
    assert paths
    assert [each for each in paths if not any((r / each).exists() for r in (source, ROOT))] == []


def test_the_page_on_stores_has_what_each_of_them_lacks() -> None:
    """A row for every ability; `no: …` says what happens instead."""
    page = (DOCS / "reference" / "stores.md").read_text("utf-8")
    _, _, table = page.partition("\n| ability |")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    stores = (SqliteMailbox, PostgresMailbox, AgentMailMailbox)
    said = {name: [cell == "yes" for cell in cells] for name, *cells in rows}
    assert said == {str(each): [each not in store.lacks for store in stores] for each in Capability}
    assert all(cell == "yes" or cell.startswith("no: ") for row in rows for cell in row[1:])


PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
_VARIABLE = re.compile(
    ".*_API_KEY|(AGENT|BRENNER|GIT|MAX|MOST|PGCONNECT|XDG)_.*|NO_COLOR|.*_SECONDS"
)


def page_id(path: Path) -> str:
    """Return a page's path in the repository."""
    return str(path.relative_to(ROOT))


def prose(path: Path) -> str:
    """Return a page without its excerpts."""
    text = path.read_text("utf-8")
    return re.sub(r"^ *(~~~+|```+).*?^ *\1", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """What links can lead to inside of a page: its headings, as web pages name them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    """Links to files of the project lead to files that exist, and to headings in them."""
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", prose(page)):
        path = page.parent / target if target else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


@pytest.mark.parametrize("page", sorted({*PAGES} - {ROOT / "CONTRIBUTING.md"}), ids=page_id)
def test_codes_that_pages_name_exist(page: Path) -> None:
    """What a page says in capitals is a code, or a variable of the environment or of the code."""
    words = re.findall(r"`([A-Z]+_[A-Z_]+)`", page.read_text("utf-8"))
    assert [each for each in words if each not in CATALOGUE and not _VARIABLE.match(each)] == []


@pytest.mark.parametrize("page", [each for each in PAGES if DOCS in each.parents], ids=page_id)
def test_pages_say_whom_they_are_for(page: Path) -> None:
    """In the first paragraph; an example is the artifact itself."""
    if page.parent.name == "examples" or page.name == "commands.md":
        return
    _, first, *_ = re.split(r"\n\n+", page.read_text("utf-8"))
    assert first.startswith("This page is for ")


def test_the_index_leads_to_every_page() -> None:
    """And nowhere else."""
    links = re.findall(r"\]\(([a-z/-]+\.md)\)", (DOCS / "README.md").read_text("utf-8"))
    pages = {str(each.relative_to(DOCS)) for each in PAGES if DOCS in each.parents}
    assert pages - {"README.md"} <= set(links)


def test_json_keys_are_documented() -> None:
    """Every key that scripts rely on is named on a page of the reference."""
    shapes = (ROOT / "tests" / "golden" / "interfaces" / "shapes.txt").read_text("utf-8")
    paths = [line.strip() for line in shapes.splitlines() if line.startswith("  .")]
    keys = {word for path in paths for word in re.findall(r"\.([a-z_]+)\b", path)}
    pages = [
        DOCS / "reference" / name for name in ("json.md", "session-status.md", "references.md")
    ]
    pages += [
        DOCS / "reference" / name
        for name in ("message-files.md", "rosters.md", "artifact-format.md")
    ]
    known = {word for page in pages for word in re.findall(r"[\w.]+", page.read_text("utf-8"))}
    assert sorted(keys - known) == []


def test_version_is_one() -> None:
    """The version stands in two places, and is the same in both."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'version = "{brenner.__version__}"' in project
    assert brenner.__version__ in (ROOT / "CHANGELOG.md").read_text("utf-8")
