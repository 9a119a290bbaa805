"""Whether a password or a token lies in a file of the project that git would commit."""

import re
from pathlib import Path

from brenner.project import SETTINGS_FILE, Project
from brenner.store_address import PostgresAddress, parse_store
from brenner.workflows.surroundings import OK, WARNING, Check, would_take

# Files in which people keep what their programs need to know, at the top of a project
_FILES = (SETTINGS_FILE, ".env", ".envrc", ".mcp.json")
_MOST_BYTES = 1024 * 1024
_SHORTEST = 8  # characters of a token that can be told from a word
_NAMED = re.compile(
    r"\b(?:AGENT_MAIL_BEARER_TOKEN|HTTP_BEARER_TOKEN|PGPASSWORD)\b[\"' \t]*[=:][ \t]*[\"']?[^\s\"']"
)


def secrets_check(project: Project) -> Check:
    """What is secret belongs into the surroundings, or into a file that stays here."""
    found = [name for name in _FILES if _holds_secret(project, name)]
    taken = [name for name in found if would_take(project.folder / name)]
    if taken:
        names = ", ".join(f"`{name}`" for name in taken)
        return Check(
            "secrets",
            WARNING,
            f"A password or token is in {names}, and git would commit it for everybody to read.",
            "Take it out, or let git ignore the file. A password belongs into `PGPASSWORD` or "
            "`~/.pgpass`, a token into `AGENT_MAIL_BEARER_TOKEN`. One that was committed already "
            "must be changed.",
        )
    if found:
        return Check("secrets", OK, f"in {', '.join(found)}, which git does not take")
    return Check("secrets", OK, "no file of the project that was looked at holds one")


def _holds_secret(project: Project, name: str) -> bool:
    text = _text(project.folder / name)
    token = project.agent_mail.token or ""
    if len(token) >= _SHORTEST and token in text:
        return True
    if name == SETTINGS_FILE:
        return any(_has_password(each) for each in re.findall(r"[\"']([^\"'\n]*)[\"']", text))
    return bool(_NAMED.search(text))


def _has_password(text: str) -> bool:
    address = parse_store(text)
    return isinstance(address, PostgresAddress) and address.has_password


def _text(file: Path) -> str:
    """The beginning of a file; nothing where there is none that can be read."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
