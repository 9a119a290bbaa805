"""Dependencies point one way, the core is pure, and starting is cheap."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import brenner

SOURCE = Path(brenner.__file__).parent
# Top to bottom; a package may use only what stands below it. Siblings share a row.
LAYERS = (
    {"__main__"},
    {"cli"},
    {"server"},
    {"mcp", "web"},
    {"services"},
    {"mail", "persist", "integrations"},
    {"config"},
    {"program_settings"},
    {"session"},
    {"lint"},
    {"artifact"},
    {"protocol"},
    {"markdown"},
    {"diagnostics"},
    {"text"},
    {"limits", "store_url"},
    {"lazy_pattern", "named_tuple"},
)
EDGE = {
    *("cli", "__main__", "server", "mcp", "web", "services"),
    *("mail", "persist", "integrations", "config"),
}
# What a pure module may not reach: disk, network, clock, randomness, environment, processes.
IMPURE = {
    *("asyncio", "getpass", "glob", "http", "io", "logging", "multiprocessing"),
    *("os", "pathlib", "platform", "random", "secrets", "shutil", "signal", "socket", "sqlite3"),
    *("ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def package(module: str) -> str:
    """The part of `brenner.x.y` that has a place in the layers."""
    return module.split(".")[1]


def name_of(path: Path) -> str:
    """The dotted name of a source file."""
    return ".".join(["brenner", *path.relative_to(SOURCE).with_suffix("").parts])


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, at any depth of its code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rank(module: str) -> int:
    """How far down a module stands."""
    return next(index for index, layer in enumerate(LAYERS) if package(module) in layer)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_downwards(path: Path) -> None:
    """A package uses itself and what stands below it, nothing else."""
    own = name_of(path)
    inside = {name for name in imports_of(path) if name.startswith("brenner.")}
    inside -= {"brenner.__version__"}
    wrong = [name for name in inside if package(name) != package(own) and rank(name) <= rank(own)]
    assert wrong == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_core_is_pure(path: Path) -> None:
    """Below the edge: no disk, network, clock, randomness or environment."""
    if package(name_of(path)) in EDGE:
        return
    roots = {
        name.split(".")[0] for name in imports_of(path) if not name.startswith("urllib.parse.")
    }
    assert roots & IMPURE == set()
    text = path.read_text("utf-8")
    assert not re.search(r"(?<![\w.])(open|print|input)\(|\.(now|today)\(", text)


def imported_at_start(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What is imported when a file is: not what functions import, nor what only types need."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imported_at_start(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from imported_at_start(ast.iter_child_nodes(node))


def test_no_file_imports_itself_through_others() -> None:
    """Files can be read, and moved, one after the other."""
    files = {name_of(path).removesuffix(".__init__"): path for path in MODULES}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        found = imported_at_start(ast.parse(path.read_text("utf-8")).body)
        owners = (each if each in files else each.rpartition(".")[0] for each in found)
        graph[name] = {owner for owner in owners if owner in files and owner != name}
    TopologicalSorter(graph).prepare()  # raises CycleError with the cycle


def test_every_package_has_a_layer() -> None:
    """A new package gets its place before it gets code."""
    known = {name for layer in LAYERS for name in layer}
    assert {package(name_of(path)) for path in MODULES} <= known


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded after running some code in a new interpreter."""
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_version_imports_nothing_more() -> None:
    """`--version` pays for the interpreter and nothing else."""
    run = "sys.argv = ['brenner', '--version']\nfrom brenner.__main__ import main\nmain()"
    extra = loaded_by(run) - loaded_by("")
    assert {name for name in extra if not name.startswith("_")} == {"brenner", "brenner.__main__"}


def test_help_imports_no_command() -> None:
    """`--help` lists the commands without importing them."""
    loaded = loaded_by("import brenner.__main__\nfrom brenner.cli.main import run\nrun(['--help'])")
    assert "click" in loaded
    assert not {name for name in loaded if name.startswith("brenner.protocol")}


def test_where_sessions_stand_needs_no_prompts() -> None:
    """`session list` and `session status` are asked often, for a prompt of the shell too."""
    loaded = loaded_by("import brenner.services.sessions, brenner.services.session_status")
    assert "brenner.session.participants" in loaded
    assert not {name for name in loaded if name.startswith("brenner.session.prompts")}


def test_public_surface() -> None:
    """What `import brenner` offers is decided, not an accident; a change here is a decision."""
    assert len(set(brenner.__all__)) == len(brenner.__all__)
    assert {name: hasattr(brenner, name) for name in brenner.__all__} == dict.fromkeys(
        brenner.__all__, True
    )
    assert set(brenner.__all__) == {
        *("Artifact", "CATALOGUE", "Change", "CheckedDelta", "Code"),
        *("Conflict", "CrossReference", "Delta", "DeltaBlock", "Diagnostic"),
        *("Diff", "Entry", "Item", "LintReport", "Merge"),
        *("Message", "MessageFile", "Metadata", "Operation", "ParsedArtifact"),
        *("Posted", "Report", "Severity", "Source", "State"),
        *("Subject", "Summary", "ThreadKind", "__version__", "artifact_json"),
        *(
            "check_message",
            "check_subject",
            "check_thread_id",
            "classify_thread_id",
            "compose_subject",
        ),
        *("cross_reference", "diff", "empty_state", "find_code", "generate_thread_id"),
        *("lint", "lint_text", "merge", "parse_artifact", "parse_message_file"),
        *("parse_subject", "read_deltas", "render_artifact", "render_delta", "render_message_file"),
        *("suggest_thread_id", "summary"),
        *("BrennerError", "Desk", "Mailbox", "Outcome", "Query", "Refused", "SendOptions"),
        *("Profile", "Stored", "Unavailable", "content_hash", "open", "parse_query"),
        *("Mode", "Role", "Roster", "RosterEntry", "RosterPreset", "validate_roster"),
        *("validate_roster_coverage", "VersionRecord", "read_record", "Compiled"),
        *("CompileOptions", "PersistOptions", "Started", "StartOptions", "LoadedVersion"),
        *("Verification", "Workspace", "StoredMessage", "PostedMessage", "CompileResult"),
        *("RequestError", "UnavailableError"),
    }
    assert brenner.Desk is brenner.Workspace
    with pytest.raises(AttributeError):
        _ = brenner.no_such_name
