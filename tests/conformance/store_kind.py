"""The case kind `store`: what an address means, wherever it was said. Nothing is opened.

Beside what a case states: what is shown of an address never holds a secret of it.
"""

from pathlib import Path
from typing import Any

from brenner.config import Project, find_project, store_address, store_file
from brenner.diagnostics.model import RequestError
from brenner.mail.open import store_of
from brenner.store_url import AgentMailAddress, PostgresAddress, SqliteAddress, StoreAddress

Case = dict[str, Any]
_KEYS = {
    *("file", "name", "proves", "kind", "codes", "flag", "environment", "settings"),
    *("home", "is", "token", "never"),
}
_HOMES = {SqliteAddress: "sqlite", PostgresAddress: "postgresql", AgentMailAddress: "agent mail"}


def check_store(case: Case, folder: Path) -> None:
    """Find the store as a command would, and compare everything that the case states."""
    assert case.keys() <= _KEYS
    assert ("home" in case) != bool(case["codes"]), "it is somewhere, or it is refused"
    if "settings" in case:
        (folder / "brenner.toml").write_text(case["settings"], "utf-8")
    try:
        project = find_project(str(folder), case.get("environment", {}), case.get("flag"))
        address = store_address(project)
    except RequestError as refused:
        found = refused.diagnostic
    else:
        _compare(case, project, address)
        return
    assert [found.id] == case["codes"], found
    _check_secrets(case, f"{found.message} {found.fix}")


def _compare(case: Case, project: Project, address: StoreAddress) -> None:
    assert not case["codes"], address
    assert _HOMES[type(address)] == case["home"]
    assert project.agent_mail.token == case.get("token", project.agent_mail.token)
    found = _parts(project, address)
    wanted = {name: _filled(text, project) for name, text in case.get("is", {}).items()}
    assert {name: found[name] for name in wanted} == wanted
    _check_secrets(case, repr((address, project.agent_mail)) + store_of(project).shown)


def _parts(project: Project, address: StoreAddress) -> dict[str, str | None]:
    if isinstance(address, SqliteAddress):
        return {"path": str(store_file(project, address))}
    return dict(address._asdict())


def _filled(text: str, project: Project) -> str:
    return text.replace("FOLDER", str(project.folder))


def _check_secrets(case: Case, said: str) -> None:
    for secret in case.get("never", []):
        assert secret not in said
