"""How a compile ended, in a sentence: for a terminal, and for the page."""

from brenner.artifact.state import Entry, Outcome
from brenner.text import visible
from brenner.workflows.compile import Compiled, Status
from brenner.workflows.persist import Persisted


def what_happened(done: Compiled) -> str:
    """How it ended, in one sentence."""
    thread = visible(done.thread_id)
    if done.status is Status.PUBLISHED and done.message:
        closed = ", and closed the session" if done.artifact.metadata.status == "closed" else ""
        return f"Published v{done.version} of {thread}, as message {done.message.id}{closed}."
    if done.status is Status.DRY_RUN:
        return f"This would be v{done.version} of {thread}; nothing was posted."
    if done.status is Status.REFUSED:
        why = "blocks are refused" if refused_in(done) else "the linter finds errors"
        return f"v{done.version} of {thread} was not published, because {why} (--strict)."
    if done.artifact.metadata.status == "closed":
        return f"Nothing to compile in {thread}: it is closed, with v{done.version}."
    latest = f"the latest version is v{done.version}" if done.version else "it has no version yet"
    return f"Nothing to compile in {thread}: no unread delta applies; {latest}."


def refused_in(done: Compiled) -> list[Entry]:
    """The blocks that it refused."""
    return [entry for entry in done.ledger if entry.state is Outcome.REFUSED]


def persisted_words(persisted: Persisted) -> str:
    """Where a version is now, in one sentence."""
    made = persisted.commit or persisted.persistence.commit
    commit = f", commit {made[:10]}" if made else ""
    archive = f"; {persisted.archive} holds its mail" if persisted.archive else ""
    told = f"; message {persisted.info.id} says so" if persisted.info else ""
    path = persisted.persistence.path
    return f"{persisted.words}: {path} holds v{persisted.version}{commit}{archive}{told}."
