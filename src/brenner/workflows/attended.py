"""What became of a session's agents in a terminal, as values and as JSON."""

from typing import NamedTuple

from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.integrations.tmux import LeftOut, Opening


class NeighbourWish(NamedTuple):
    """Whether to open the agents in a terminal, and whether to tell them to read their mail.

    A dry run looks, and changes nothing.
    """

    spawn: bool = False
    broadcast: bool = False
    dry_run: bool = False

    def __bool__(self) -> bool:
        """Whether anything is wished."""
        return self.spawn or self.broadcast

    @property
    def option(self) -> str:
        """How it was asked for."""
        return "`--spawn`" if self.spawn else "`--broadcast`"


class Spawned(NamedTuple):
    """Who was opened, or would be; who was there before; who was not opened, and why.

    ntm does not say who is in a session that runs already: that `is_untouched`, and nobody is
    named.
    """

    opened: tuple[Opening, ...] = ()
    before: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    is_untouched: bool = False
    failed: BrennerError | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class Told(NamedTuple):
    """Who was told to read the mail, or would be, and who not.

    ntm tells all panes of the session at once.
    """

    names: tuple[str, ...] = ()
    missed: tuple[LeftOut, ...] = ()
    is_to_all_panes: bool = False
    failed: BrennerError | None = None


class Attended(NamedTuple):
    """All of it. `program` is the one that did it, `session` the name that it knows.

    `diagnostics` has everything that there is to say, `failed` what decides the exit code. It
    `is_skipped` where not all mail went out: agents that are woken would find none.
    """

    program: str
    session: str
    attach: str
    wish: NeighbourWish
    spawned: Spawned | None = None
    told: Told | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: BrennerError | None = None
    is_skipped: bool = False


def attended_json(done: Attended | None) -> dict[str, object] | None:
    """The stable form; None where nothing was asked for."""
    if done is None:
        return None
    return {
        "program": done.program,
        "session": done.session,
        "attach": done.attach,
        "status": _status(done),
        "spawn": _spawned(done.spawned) if done.spawned else None,
        "broadcast": _told(done.told) if done.told else None,
    }


def _status(done: Attended) -> str:
    if done.is_skipped:
        return "skipped"
    return "failed" if done.failed else "dry_run" if done.wish.dry_run else "done"


def _spawned(done: Spawned) -> dict[str, object]:
    return {
        "opened": [
            {"agent": each.agent, "program": each.program, "command": list(each.command)}
            for each in done.opened
        ],
        "open_before": list(done.before),
        "left_untouched": done.is_untouched,
        "not_opened": [each._asdict() for each in done.left_out],
    }


def _told(done: Told) -> dict[str, object]:
    return {
        "told": list(done.names),
        "all_panes": done.is_to_all_panes,
        "not_told": [each._asdict() for each in done.missed],
    }
