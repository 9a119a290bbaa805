"""Where the mail of a project is, for tests of the embedded store."""

from pathlib import Path

from brenner.config import Project, store_address, store_file
from brenner.store_url import SqliteAddress


def store_path(project: Project) -> Path:
    """The file of its embedded store."""
    address = store_address(project)
    assert isinstance(address, SqliteAddress)
    return store_file(project, address)
