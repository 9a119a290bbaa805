"""How an advised command names the store that the command before it was told of."""

from shlex import quote

from brenner.config import SETTINGS_FILE, Project
from brenner.store_url import PostgresAddress, parse_store

# What says the same to every command
_KNOWN_WITHOUT = ("BRENNER_STORE", f"`{SETTINGS_FILE}`")


def store_option(project: Project, option: str = "--store") -> str:
    """What a command must say to use the same store; nothing where it is known without that.

    A password is left out: what is advised is shown, and copied.
    """
    if project.store is None or project.store_from in _KNOWN_WITHOUT:
        return ""
    address, written = parse_store(project.store), project.store
    if isinstance(address, PostgresAddress):
        written = address.without_password.written
    return f" {option} {quote(written)}"
