"""What is kept of the secrets of names."""

from brenner.mail.sql.database import Statements
from brenner.mail.sql.rows import number_of_agent


def digest(database: Statements, name: str) -> str | None:
    """The digest of a name's secret; None where nobody has claimed it."""
    agent = number_of_agent(database, name)
    row = database.execute("SELECT digest FROM secrets WHERE agent = ?", (agent,)).fetchone()
    return str(row[0]) if row else None


def named_by(database: Statements, digest: str) -> str | None:
    """Whose it is; one look, however many names there are."""
    row = database.execute(
        "SELECT MIN(a.name) FROM secrets s JOIN agents a ON a.number = s.agent WHERE s.digest = ?",
        (digest,),
    ).fetchone()
    return None if row is None or row[0] is None else str(row[0])


def claim(database: Statements, name: str, digest: str, *, replace: bool) -> bool:
    """Keep a digest; whoever writes comes alone, so that of several who claim one is first."""
    agent = number_of_agent(database, name)
    conflict = "UPDATE SET digest = excluded.digest" if replace else "NOTHING"
    kept = database.execute(
        f"INSERT INTO secrets VALUES (?, ?) ON CONFLICT (agent) DO {conflict} RETURNING agent",
        (agent, digest),
    )
    return bool(kept.fetchall())
