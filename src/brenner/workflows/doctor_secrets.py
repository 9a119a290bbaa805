"""Whether a password or a token lies in a file of the project that git would commit."""

import re
from pathlib import Path

from brenner.config import SETTINGS_FILE, Project
from brenner.store_url import PostgresAddress, parse_store
from brenner.text import visible
from brenner.workflows.credentials import SECRET, TOKEN
from brenner.workflows.surroundings import OK, WARNING, Check, holding, would_take

# Files in which people keep what their programs need to know, at the top of a project
_FILES = (
    *(SETTINGS_FILE, ".env", ".envrc"),
    *(".mcp.json", ".codex/config.toml", ".gemini/settings.json"),
)
_MOST_BYTES = 1024 * 1024
_SHORTEST = 8  # characters of a token that can be told from a word
# A variable that gets a value; one that stands for another variable is none.
_NAMED = re.compile(
    r"(?<!\$\{)(?<![\w$])(?:AGENT_MAIL_BEARER_TOKEN|HTTP_BEARER_TOKEN|PGPASSWORD"
    rf"|{TOKEN}|{SECRET})\b"
    r"[\"' \t]*[=:][ \t]*[\"']?[^\s\"'$]"
)
# A secret that `register_agent` has given. It may have got anywhere: agents write many files.
_OF_A_NAME = "brs_[A-Za-z0-9_-]{43}"
_MOST_NAMED = 5


def secrets_check(project: Project, token: str | None = None) -> Check:
    """What is secret belongs into the surroundings, or into a file that stays here.

    `token` is the one of a server of ours.
    """
    found = [name for name in _FILES if _holds_secret(project, name, token or "")]
    known = (name for name in found if would_take(project.folder / name))
    taken = tuple(dict.fromkeys((*known, *holding(project.folder, _OF_A_NAME))))
    if taken:
        names = ", ".join(f"`{visible(name)}`" for name in taken[:_MOST_NAMED])
        names += f" and {len(taken) - _MOST_NAMED} more" if len(taken) > _MOST_NAMED else ""
        return Check(
            "secrets",
            WARNING,
            f"A password or token is in {names}, and git would commit it for everybody to read.",
            "Take it out, or let git ignore the file. A password belongs into `PGPASSWORD` or "
            f"`~/.pgpass`, a token into `AGENT_MAIL_BEARER_TOKEN` or `{TOKEN}`, the secret of "
            f"a name into `{SECRET}`. One that was committed already must be changed "
            "(`brenner agent secret NAME --new`).",
        )
    if found:
        return Check("secrets", OK, f"in {', '.join(found)}, which git does not take")
    return Check("secrets", OK, "no file of the project that was looked at holds one")


def _holds_secret(project: Project, name: str, own_token: str) -> bool:
    text = _text(project.folder / name)
    tokens = (project.agent_mail.token or "", own_token)
    if any(len(token) >= _SHORTEST and token in text for token in tokens):
        return True
    if re.search(_OF_A_NAME, text):
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
