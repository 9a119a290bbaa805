"""What a message means for its session (conventions document, For Orchestrator).

The prefix of the subject says where a message goes: a KICKOFF begins a round, a DELTA is merged
into the working artifact, a COMPILED message is rendered and distributed, a CRITIQUE is queued for
review. The other types settle something, wait for somebody, or are noted. All of it is said in
words, with figures from where the session stood before the message and after it.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from brenner.artifact.state import Outcome
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE
from brenner.protocol.subjects import Subject, parse_subject
from brenner.session.chain_messages import asides_of
from brenner.session.rebuild import Filed
from brenner.session.route import NOTHING_MORE, Evidence, Route, Step, listed
from brenner.session.routing_answers import ack, claim, info, waiting
from brenner.session.routing_scene import Scene
from brenner.session.status import Phase, Refusal, SessionStatus
from brenner.text import counted

__all__ = ["Evidence", "Route", "Step", "route"]

_COPY = "a copy of the kickoff of an earlier round: nothing new is asked"
_NOT_OURS = Route(None, Step.NOTHING, "not the protocol's: nothing in it is compiled")


def route(
    message: Filed,
    before: SessionStatus | None,
    after: SessionStatus,
    evidence: Evidence = NOTHING_MORE,
) -> Route:
    """Where a message goes; `before` is None where it begins its thread.

    The `evidence` is what the chains of versions show beyond the two statuses: which items the
    blocks of a DELTA end on, what a version changed, why a COMPILED message is none.
    """
    subject = parse_subject(message.posted.message.subject)
    found = _typed(subject, Scene(message, before, after, evidence)) if subject else _NOT_OURS
    return _with_asides(found, message)


def _typed(subject: Subject, scene: Scene) -> Route:
    return ROUTES[subject.type](scene)._replace(type=subject.type, model=subject.role)


def _with_asides(found: Route, message: Filed) -> Route:
    """Nothing that looks like a contribution is passed over (R4)."""
    aside = sum(1 for _ in asides_of(message))
    if not aside:
        return found
    holds = f"{counted(aside, 'delta block')} in it {'is' if aside == 1 else 'are'} no contribution"
    words = f"{found.words}; {holds}: only a DELTA message has any"
    return found._replace(words=words)


# The four that the document names


def _kickoff(scene: Scene) -> Route:
    """Session initialization: whom this message asks, and who is asked in all."""
    before, after, number = scene.before, scene.after, scene.id
    asked = [each.name for each in after.participants if each.kickoff is not None]
    new = [each.name for each in after.participants if each.kickoff == number]
    known = {each.name for each in before.participants if each.kickoff} if before else set()
    if after.phase is Phase.COMPLETE:
        words = f"the session is complete, with v{scene.version}: only `--reopen` goes on with it"
        return Route(None, Step.INITIALIZE, f"{_COPY}; {words}" if scene.reminded else words)
    again = [name for name in scene.recipients if name in known and name not in scene.reminded]
    if scene.reminded and not (new or again):
        return Route(None, Step.INITIALIZE, _COPY)
    first = [name for name in new if name not in known]
    parts = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} asked{how}"
        for names, how in ((first, ""), (again, " again"))
        if names
    ]
    total = f"; {counted(len(asked), 'agent')} in all" if known and first else ""
    begins = f"round {after.round}" + (" begins" if new and not known else "")
    words = f"{begins}: {' and '.join(parts) or 'nobody new is asked'}{total}"
    if before and before.phase is Phase.COMPLETE:
        words += f"; the session was closed with v{scene.version}, and goes on"
    waiting_for = tuple(each.name for each in after.awaited if each.kickoff == number)
    return Route(None, Step.INITIALIZE, words, waiting_for=waiting_for)


def _delta(scene: Scene) -> Route:
    """Merge: what becomes of its blocks, and of refused ones that it corrects."""
    found = _fates(scene)
    applied, refused = found[Outcome.APPLIED], found[Outcome.REFUSED]
    codes = _codes(scene)
    items = tuple(dict.fromkeys(each.item_id for each in scene.entries if each.item_id))
    parts = []
    if applied:
        on = f" ({listed(items)})" if items else ""
        parts.append(f"{counted(applied, 'block')} {'applies' if applied == 1 else 'apply'}{on}")
    if refused:
        why = f" ({listed(codes)})" if codes else ""
        parts.append(f"{refused} {'is' if refused == 1 else 'are'} refused{why}")
    if found[Outcome.DUPLICATE]:
        parts.append(f"{counted(found[Outcome.DUPLICATE], 'duplicate')}")
    words = "merged into the working artifact: " if applied else "nothing of it is merged: "
    words += ", ".join(parts) or "it holds no delta block"
    words += _left_out(scene)
    corrected = scene.no_longer_refused
    if corrected:
        words += f"; it corrects {_blocks(corrected)}"
    words += _held_up(scene)
    return Route(None, Step.MERGE, words, items, codes=codes, blocks=found)


def _fates(scene: Scene) -> Mapping[str, int]:
    """How many of its blocks end how: by the ledger, else by what the sender's figures gained."""
    if scene.entries:
        states = [each.state for each in scene.entries]
        return {outcome.value: states.count(outcome) for outcome in Outcome}
    new, old = scene.sender_after, scene.sender_before
    gained = {
        Outcome.APPLIED: (new.applied - (old.applied if old else 0)) if new else 0,
        Outcome.REFUSED: (new.refused - (old.refused if old else 0)) if new else 0,
        Outcome.DUPLICATE: (new.duplicate - (old.duplicate if old else 0)) if new else 0,
    }
    return {outcome.value: max(0, number) for outcome, number in gained.items()}


def _codes(scene: Scene) -> tuple[str, ...]:
    """Why blocks are refused, each code once."""
    refused = [each.diagnostics for each in scene.entries if each.state is Outcome.REFUSED]
    refused = refused or [
        each.diagnostics for each in scene.after.refusals if each.message_id == scene.id
    ]
    errors = (found.id for each in refused for found in each if found.severity == "error")
    return tuple(dict.fromkeys(errors))


def _left_out(scene: Scene) -> str:
    """References that would close a circle: their blocks are applied without them (R21)."""
    applied = (each for each in scene.entries if each.state is Outcome.APPLIED)
    left = sum(found.code is CIRCULAR_REFERENCE for each in applied for found in each.diagnostics)
    if not left:
        return ""
    are = "is" if left == 1 else "are"
    return f"; {counted(left, 'reference')} {are} left out ({CIRCULAR_REFERENCE.id})"


def _blocks(refusals: Iterable[Refusal]) -> str:
    return listed([f"block {each.block} of message {each.message_id}" for each in refusals])


def _held_up(scene: Scene) -> str:
    """What keeps it from being compiled."""
    if scene.after.stopped:
        return f"; nothing can be compiled ({scene.after.stopped.id})"
    if scene.after.is_closed:
        is_over = scene.after.phase is Phase.COMPLETE
        ended = "is complete, with" if is_over else "was closed with"
        return f"; the session {ended} v{scene.version}: only `--reopen` compiles it"
    return ""


def _compiled(scene: Scene) -> Route:
    """Render and distribute: what the version changed, what lint says, who got it."""
    version = scene.after.version
    if version is None or version.message_id != scene.id:
        why = scene.evidence.no_version
        words = f"it is no version: {why.message}" if why else "it is no version"
        codes = (why.id,) if why else ()
        return Route(None, Step.DISTRIBUTE, words, codes=codes)
    changes = scene.evidence.changes
    marks = [
        f"{mark}{len(ids)} ({listed(ids)})"
        for mark, kind in (("+", "added"), ("~", "modified"), ("†", "killed"))
        if (ids := changes.get(kind))
    ]
    changed = f": {' '.join(marks)}" if marks else ""
    lint = "lint has no errors"
    if version.errors:
        lint = f"lint {counted(version.errors, 'error')}"
    end = ", and closes the session" if scene.after.is_closed else ""
    words = f"v{version.number} is out{end}{changed}; {lint}; sent to {listed(scene.recipients)}"
    items = tuple(dict.fromkeys(each for ids in changes.values() for each in ids))
    return Route(None, Step.DISTRIBUTE, words, items)


def _critique(scene: Scene) -> Route:
    """Queue for review: which place it takes, how grave it is, what it is about."""
    found = scene.opened
    if found is None:
        return Route(None, Step.REVIEW, "nobody has to review it")
    place = len(scene.after.critiques) + len(scene.after.of_type("CRITIQUE"))
    words = f"queued for review: open critique {place}"
    words += f", {scene.rank}" * bool(found.rank) + f", on {scene.about}" * bool(found.about)
    words += scene.waiting_words
    return Route(None, Step.REVIEW, words, waiting_for=found.waiting_for)


ROUTES: Mapping[str, Callable[[Scene], Route]] = MappingProxyType(
    {
        "KICKOFF": _kickoff,
        "DELTA": _delta,
        "COMPILED": _compiled,
        "CRITIQUE": _critique,
        "ACK": ack,
        "CLAIM": claim,
        "HANDOFF": waiting,
        "BLOCKED": waiting,
        "QUESTION": waiting,
        "INFO": info,
    }
)
