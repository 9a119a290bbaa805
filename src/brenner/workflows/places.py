"""Whether two stores are one and the same, however they are written."""

import os

from brenner.mail.open import AgentMailStore, PostgresStore, SqliteStore, Store


def place(store: Store) -> tuple[str, ...]:
    """Where it is; two stores of one place are the same."""
    if isinstance(store, SqliteStore):
        return ("file", os.path.realpath(store.path))
    if isinstance(store, PostgresStore):
        return ("database", *store.address)
    if isinstance(store, AgentMailStore):
        url, project = store.address
        return ("server", (url or "").rstrip("/"), project or "")
    return (store.shown,)
