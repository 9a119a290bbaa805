"""What messages mean that begin no round and change no artifact: answers, requests, notes."""

from brenner.session.dismissal import dismissed_by
from brenner.session.route import Route, Step, listed
from brenner.session.routing_scene import Scene
from brenner.session.status import Turn
from brenner.session.void import voided_by

_VALIDATION_ERROR = "# Validation Error"  # the title of the message document's Error Responses
_WAITING = {"QUESTION": "asked", "BLOCKED": "blocked", "HANDOFF": "handed over"}


def ack(scene: Scene) -> Route:
    """What it settles, and who still owes an ACK."""
    settled = scene.message.acknowledges
    if not settled:
        words = f"settles nothing: {listed([scene.sender])} owes no ACK for what it names"
        return Route(None, Step.SETTLE, words + _passes(scene))
    open_before = scene.before.open_acks if scene.before else ()
    types = {each.message_id: each.type for each in open_before}
    types |= {each.last_message_id: each.type for each in open_before}
    named = [f"{types.get(number) or 'message'} {number}" for number in settled]
    waiting_for = _debtors(scene, settled)
    left = f"; {listed(waiting_for)} still owe{'s' * (len(waiting_for) == 1)} one for it"
    words = f"settles {listed(named)}" + (left if waiting_for else "") + _passes(scene)
    return Route(None, Step.SETTLE, words, waiting_for=waiting_for)


def _debtors(scene: Scene, settled: tuple[int, ...]) -> tuple[str, ...]:
    """Who still owes an ACK for the same message."""
    left = (each for each in scene.after.open_acks if each.message_id in settled)
    return tuple(dict.fromkeys(each.debtor for each in left))


def _passes(scene: Scene) -> str:
    new, old = scene.sender_after, scene.sender_before
    is_new = new and new.turn is Turn.PASSED and not (old and old.turn is Turn.PASSED)
    return f"; {listed([scene.sender])} passes this round" if is_new else ""


def waiting(scene: Scene) -> Route:
    """A QUESTION, BLOCKED or HANDOFF: whom it waits for."""
    found = scene.opened
    if found is None:
        return Route(None, Step.WAIT, "it waits for nobody")
    words = _WAITING[found.type]
    words += f", {scene.rank}" * bool(found.rank) + f": {scene.about}" * bool(found.about)
    return Route(None, Step.WAIT, words + scene.waiting_words, waiting_for=found.waiting_for)


def claim(_scene: Scene) -> Route:
    """Work that somebody takes on."""
    return Route(None, Step.NOTE, "noted: a claim changes nothing in the artifact")


def info(scene: Scene) -> Route:
    """Noted; what some of them say is more than that."""
    message = scene.message.posted.message
    voided = voided_by(message)
    if voided:
        return Route(None, Step.NOTE, _void(scene, voided[0].version))
    if scene.no_longer_refused or dismissed_by(message):
        return Route(None, Step.NOTE, _dismissal(scene))
    if message.body.startswith(_VALIDATION_ERROR):
        words = f"a validation error: {listed(scene.recipients)} can send what was refused again"
        return Route(None, Step.NOTE, words)
    return Route(None, Step.NOTE, "noted")


def _void(scene: Scene, number: int) -> str:
    before = scene.before.version if scene.before else None
    was_stopped = scene.before is not None and scene.before.stopped is not None
    is_heard = before != scene.after.version or was_stopped != (scene.after.stopped is not None)
    if not is_heard:
        return f"says that v{number} is void, which changes nothing: only the operator declares it"
    latest = f"v{scene.version} is the latest" if scene.version else "there is no version now"
    return f"v{number} is void: {latest}, and what only it had read is unread again"


def _dismissal(scene: Scene) -> str:
    gone = [f"block {each.block} of message {each.message_id}" for each in scene.no_longer_refused]
    if not gone:
        return "dismisses nothing: only the operator can, and only what is refused"
    return f"dismissed: {listed(gone)} need{'s' * (len(gone) == 1)} no correction any more"
