"""Taking messages over from another store: which id each gets here. Pure."""

from collections.abc import Collection, Mapping

from brenner.mail.model import Agent, Restored, Stored, Trust

# New messages get the ids above the highest. One record with the last id that there is would
# leave none for them; up to here there are more than any store will use, and more stay above.
MOST_KEPT_ID = 2**48


class Landing:
    """Follows an archive record by record, and maps its ids to those of this store.

    An id stays where it is free and not beyond all measure; after the first one that does not, the
    later ones of the archive move too, so that they keep their order. Links to messages that are
    neither in the archive nor here are dropped: they would point to a stranger.
    """

    def __init__(self, highest_id: int) -> None:
        self._highest = highest_id
        self._here: dict[int, int] = {}
        self._added = 0
        self._skipped = 0
        self._renumbered: list[tuple[int, int]] = []

    def skip(self, stored: Stored, known_id: int) -> None:
        """The message is here already, under that id."""
        self._here[stored.id] = known_id
        self._skipped += 1

    def land(self, stored: Stored, arrival: int, is_taken: bool) -> Stored:
        """The message as it is stored here."""
        is_behind = bool(self._renumbered) and stored.id > self._renumbered[0][0]
        must_move = is_taken or is_behind or stored.id > MOST_KEPT_ID
        new_id = self._highest + 1 if must_move else stored.id
        self._highest = max(self._highest, new_id)
        self._added += 1
        if new_id != stored.id:
            self._renumbered.append((stored.id, new_id))
        landed = stored._replace(
            id=new_id,
            arrival=arrival,
            reply_to=self._here.get(stored.reply_to) if stored.reply_to else None,
            acknowledges=tuple(
                self._here[target] for target in stored.acknowledges if target in self._here
            ),
            is_local=False,
            envelope=stored.envelope._replace(trust=Trust.UNVERIFIED),
        )
        self._here[stored.id] = new_id  # from now on: a message has no link to itself
        return landed

    def restored(self, new_agents: list[str]) -> Restored:
        """What was done in all."""
        return Restored(
            self._added, self._skipped, tuple(self._renumbered), tuple(sorted(new_agents))
        )


def strangers(stored: Stored, known: Collection[str]) -> list[Agent]:
    """Names in a message that nobody has registered: known from now on, by name only."""
    names = dict.fromkeys((stored.message.sender, *stored.message.recipients))
    return [Agent(name, "", "", "", stored.at) for name in names if name not in known]


def linked_ids(stored: Stored) -> tuple[int, ...]:
    """The messages that a message refers to."""
    return (*stored.acknowledges, *([stored.reply_to] if stored.reply_to else []))


def true_links(landed: Stored, linked: Mapping[int, Stored]) -> Stored:
    """The message without links that no store would have given it: into other threads, or an
    acknowledgement by what is no ACK, or of what its sender never got.
    """
    message = landed.message
    near = {
        target
        for target in linked_ids(landed)
        if linked[target].message.thread_id == message.thread_id
    }
    return landed._replace(
        reply_to=landed.reply_to if landed.reply_to in near else None,
        acknowledges=tuple(
            target
            for target in landed.acknowledges
            if target in near
            and landed.type == "ACK"
            and message.sender in linked[target].message.recipients
        ),
    )
