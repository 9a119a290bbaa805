"""Open a session's agents in a terminal, and tell them to read their mail.

This comes after the mail, which does not depend on it: whatever fails here, the mail is out, and
that is said. What is known to fail is refused before anything is sent: `check_ahead`.
"""

from collections.abc import Mapping, Sequence

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import ERROR, BrennerError, Refused, Unavailable
from brenner.integrations.programs import find
from brenner.integrations.tmux import LeftOut, Opening
from brenner.protocol.roster import Roster
from brenner.protocol.thread_ids import cross_reference, is_valid
from brenner.workflows.attended import Attended, NeighbourWish, Spawned, Told
from brenner.workflows.desk import Desk
from brenner.workflows.neighbours import NTM, TMUX, attach_command
from brenner.workflows.open_agents import spawn, wanted
from brenner.workflows.stage import Stage, commands_of, stage_of
from brenner.workflows.started import Started
from brenner.workflows.tell_agents import broadcast, incomplete

_OUT = "The mail is out. "
_NOT_OPENED = "the session could not be opened"


def check_ahead(
    desk: Desk, roster: Roster, names: Sequence[str], wish: NeighbourWish, thread_id: str | None
) -> None:
    """Refuse what is known to fail, before anything is sent; a thread may get its ID only then."""
    if not wish:
        return
    has_ntm = find(NTM) is not None
    if not has_ntm and find(TMUX) is None:
        raise Unavailable(codes.NO_TERMINAL_PROGRAM.at(option=wish.option))
    if thread_id is not None and is_valid(thread_id):
        stage_of(desk.project, thread_id, "")  # refuses a session of somebody else
    if not wish.spawn or not names:
        return
    openings, left_out = wanted(desk, roster, names, with_ntm=has_ntm)
    if not openings:
        reasons = "; ".join(f"{each.agent}: {each.reason}" for each in left_out)
        known = ", ".join(sorted(commands_of(desk.project)))
        raise Refused(codes.NOBODY_TO_OPEN.at(reasons=reasons, known=known))


def after_mail(desk: Desk, done: Started, wish: NeighbourWish) -> Attended | None:
    """What is wished for those whom kickoffs were sent to, now or before.

    None where nothing is wished, or nothing could be sent.
    """
    if not wish or done.thread_id is None:
        return None
    if done.failed:
        return skipped(done.thread_id, wish)
    if any(each.severity is ERROR for each in done.diagnostics):
        return None
    return attend(desk, done.thread_id, done.roster, done.recipients, wish)


def attend(
    desk: Desk, thread_id: str, roster: Roster, names: Sequence[str], wish: NeighbourWish
) -> Attended | None:
    """Do what is wished for these agents of a thread whose mail is out; None where nothing is."""
    if not wish:
        return None
    try:
        return _attend(desk, thread_id, roster, names, wish)
    except BrennerError as error:
        done = skipped(thread_id, wish)
        return done._replace(diagnostics=(error.diagnostic,), failed=error, is_skipped=False)


def skipped(thread_id: str, wish: NeighbourWish) -> Attended:
    """What there is to say where not all mail went out: nobody is woken."""
    program = NTM if find(NTM) else TMUX
    known = cross_reference(thread_id)
    session = known.ntm_session if program == NTM else known.tmux_session
    attach = attach_command(thread_id, program)
    return Attended(program, session, attach, wish, is_skipped=True)


def _attend(
    desk: Desk, thread_id: str, roster: Roster, names: Sequence[str], wish: NeighbourWish
) -> Attended:
    stage = stage_of(desk.project, thread_id, "" if wish.dry_run else _OUT)
    attach = attach_command(thread_id, stage.program)
    done = Attended(stage.program, stage.session, attach, wish)
    spawned = None
    openings, left_out = wanted(desk, roster, names, with_ntm=stage.program == NTM)
    if wish.spawn:
        spawned = spawn(stage, openings, left_out, dry_run=wish.dry_run)
        done = done._replace(
            spawned=spawned, diagnostics=spawned.diagnostics, failed=spawned.failed
        )
    known = _known(names, openings, stage)
    return _with_news(done, stage, known, spawned) if wish.broadcast else done


def _known(
    names: Sequence[str], openings: Sequence[Opening], stage: Stage
) -> dict[str, frozenset[str]]:
    """The commands by which each agent's program is known: all, where nobody says which it is."""
    every = frozenset(command[0] for command in commands_of(stage.project).values())
    of_agents = {each.agent: frozenset({each.command[0]}) for each in openings}
    return {name: of_agents.get(name, every) for name in names}


def _with_news(
    done: Attended, stage: Stage, names: Mapping[str, frozenset[str]], spawned: Spawned | None
) -> Attended:
    """Tell them; what was said of those who could not be opened is not said again."""
    stage = stage.looked_at_again() if spawned and not done.wish.dry_run else stage
    if done.failed and not stage.is_running:
        missed = tuple(LeftOut(name, _NOT_OPENED) for name in names)
        return done._replace(told=Told((), missed))
    fresh = [each.agent for each in spawned.opened] if spawned else []
    told = broadcast(stage, names, fresh, dry_run=done.wish.dry_run)
    known = {each.agent for each in spawned.left_out} if spawned else set()
    if not done.failed:
        news = [each for each in told.missed if each.agent not in known]
        failed = told.failed or incomplete(stage, news)
        found = (failed.diagnostic,) if failed else ()
        done = done._replace(diagnostics=(*done.diagnostics, *found), failed=failed)
    return done._replace(told=told)
