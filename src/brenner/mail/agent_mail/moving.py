"""Taking mail over from another store: the server gives ids and times of its own.

So every message is sent anew, in its order. What is there already is not sent again: who was
interrupted begins once more and goes on where it ended.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from brenner.diagnostics.model import Unavailable
from brenner.mail.agent_mail.introducing import check_at_home, introduce
from brenner.mail.agent_mail.sending import post
from brenner.mail.agent_mail.view import View
from brenner.mail.model import Agent, Profile, Record, Restored, Stored
from brenner.mail.restoring import strangers


def restore(view: View, agents: Iterable[Agent], records: Iterable[Record]) -> Restored:
    """Send what is not there. A message of which two copies come is there when two are."""
    wanted = [record.stored for record in records]  # an archive that breaks off leaves nothing
    newcomers = _newcomers(view, agents, wanted)
    check_at_home(view, newcomers)
    for profile in newcomers.values():
        introduce(view, profile)
    missing = _missing(wanted, view.refresh().arrivals(0))
    renumbered = tuple(_sent(view, missing))
    skipped = len(wanted) - len(missing)
    return Restored(len(missing), skipped, renumbered, tuple(sorted(newcomers)))


def _newcomers(view: View, agents: Iterable[Agent], wanted: Iterable[Stored]) -> dict[str, Profile]:
    """Who is not known here: agents of the archive, and names that only stand in its mail."""
    view.refresh()
    found = {
        agent.name: Profile(*agent[:4]) for agent in agents if agent.name not in view.registered
    }
    for stored in wanted:
        for agent in strangers(stored, {*view.registered, *found}):
            found[agent.name] = Profile(agent.name)
    return found


def _missing(wanted: Iterable[Stored], here: Iterable[Stored]) -> list[Stored]:
    left = Counter(stored.content_hash for stored in here)
    missing = []
    for stored in wanted:
        if left[stored.content_hash]:
            left[stored.content_hash] -= 1
        else:
            missing.append(stored)
    return missing


def _sent(view: View, missing: Iterable[Stored]) -> Iterator[tuple[int, int]]:
    """Send them; the old and the new id of each."""
    for count, stored in enumerate(missing):
        try:
            new = post(view, stored.message, stored.envelope)
        except Unavailable as lost:
            if not count:
                raise
            raise view.uncertain(lost, f"what comes after the first {count}") from lost
        yield stored.id, new.id
