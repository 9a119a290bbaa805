"""Persist the latest version in the lab: what will be written where, seen before it is."""

from http import HTTPStatus

from brenner.diagnostics.codes.publishing import FILE_OVERTAKEN
from brenner.diagnostics.model import BrennerError
from brenner.services.compile import persisted_words
from brenner.services.persist import NO_FILE, PersistOptions, file_digest, persistence_of
from brenner.services.versions import Foreseen, Latest, foresee, latest_of, persist_latest
from brenner.text import counted, visible
from brenner.web import links
from brenner.web.forms import is_ticked, number_in
from brenner.web.lab.action import Action, Done, Guard
from brenner.web.lab.desk import lab_desk
from brenner.web.lab.hand_edits import edits_document
from brenner.web.lab.persist_ticks import FILE, HOW, persist_options
from brenner.web.lab.requests import is_dry_run, takes
from brenner.web.page import Page
from brenner.web.visit import Visit

_TITLE = "Persist"
_VERSION, _MESSAGE = "version", "message"
_MOST_CHARACTERS = 40_000  # of a difference on a page


def _form(visit: Visit) -> Page:
    fields = {name: is_ticked(visit.form, name) for name in HOW}
    options = _tried(visit)
    if not visit.form:  # a commit is offered
        fields["commit"] = True
        options = PersistOptions(commit=True)
    document = {
        "thread_id": visit.thread_id,
        "fields": fields,
        "preview": _seen(visit, options),
    }
    return Page("lab/persist.html", _TITLE, document, is_live=False)


def _preview(visit: Visit) -> Page:
    return Page("lab/persist_part.html", _TITLE, _seen(visit, _tried(visit)), is_live=False)


def _do(visit: Visit) -> Done | Page:
    """Persist what was shown; where something is known to fail, nothing is written."""
    desk = lab_desk(visit)
    latest = _latest(visit)
    options = persist_options(visit.form, is_meant=True)
    obstacle = foresee(desk, latest, options).obstacle
    if obstacle and obstacle.diagnostic.code is FILE_OVERTAKEN:
        raise obstacle  # the preview that comes back is of the file as it is now
    if obstacle:
        page = _form(visit)
        return page._replace(
            document={**page.document, "is_undone": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    try:
        done = persist_latest(desk, latest, options)
    except BrennerError as error:
        return _broken_off(visit, latest, error)
    number = latest.version.number
    document = {
        "thread_id": visit.thread_id,
        "version": number,
        "persistence": done.persistence._asdict(),
        "words": done.words,
        "commit": done.commit,
        "archive": done.archive,
        "message_id": done.info.id if done.info else None,
        "violations": [each.to_json() for each in done.notes],
        "details": [],
    }
    says = persisted_words(done)
    return Done(True, says, document, "lab/persisted_done.html", _to(visit, is_done=True))


def _broken_off(visit: Visit, latest: Latest, error: BrennerError) -> Done:
    """How far it came: what is written stays, and the same again does what is missing."""
    desk, version = lab_desk(visit), latest.version
    now = persistence_of(desk.project, version.thread_id, version.text)
    is_there = file_digest(desk.project, version.thread_id) != NO_FILE
    how_far = {
        "Draft": f"{now.path} "
        + (f"does not hold v{version.number} as it is" if is_there else "was not written"),
        "Pending": f"{now.path} holds v{version.number}, but no commit has it",
        "Persisted": f"{now.path} holds v{version.number}, and a commit has it",
    }[now.status]
    found = error.diagnostic
    document = {
        "heading": "Not done" if now.status == "Draft" and not is_there else "Done in part",
        "thread_id": visit.thread_id,
        "version": version.number,
        "persistence": now._asdict(),
        "commit": now.commit,
        "violations": [found.to_json()],
        "details": list(error.details),
    }
    says = f"Not everything was done: {how_far}. {visible(found.message)}"
    return Done(False, says, document, "lab/persisted_done.html", _to(visit, is_done=False))


# The preview


def _tried(visit: Visit) -> PersistOptions:
    return persist_options(visit.form, is_meant=False)


def _latest(visit: Visit) -> Latest:
    """The version that was shown: of that number, and that very message."""
    number, message = (number_in(visit.form, name) for name in (_VERSION, _MESSAGE))
    return latest_of(lab_desk(visit), visit.thread_id, number, message)


def _seen(visit: Visit, options: PersistOptions) -> dict[str, object]:
    """What would be written, committed, pushed; or why nothing would."""
    desk = lab_desk(visit)
    try:
        latest = _latest(visit) if is_dry_run(visit) else latest_of(desk, visit.thread_id)
        seen = foresee(desk, latest, options)
    except BrennerError as error:
        return _nothing(error)
    obstacle = seen.obstacle
    return {
        "thread_id": visit.thread_id,
        "version": seen.version.number,
        "message_id": seen.version.message_id,
        "path": seen.persistence.path,
        FILE: file_digest(desk.project, visit.thread_id),
        "persistence": seen.persistence._asdict(),
        "difference": seen.difference[:_MOST_CHARACTERS],
        "is_cut": len(seen.difference) > _MOST_CHARACTERS,
        "commit": seen.commit,
        "destination": seen.destination,
        "archive": seen.archive,
        "unread": len(latest.chain.unread),
        "notes": [each.to_json() for each in seen.notes],
        "fault": obstacle.diagnostic.to_json() if obstacle else None,
        "details": list(obstacle.details) if obstacle else [],
        "edits": edits_document(obstacle) if obstacle else None,
        "would": _would(seen),
        "can_act": obstacle is None,  # what was interrupted is finished by doing it again
    }


def _nothing(error: BrennerError) -> dict[str, object]:
    return {
        "version": None,
        "fault": error.diagnostic.to_json(),
        "details": list(error.details),
        "edits": None,
        "would": "Nothing can be written.",
        "can_act": False,
    }


def _would(seen: Foreseen) -> str:
    """What the button will do."""
    if seen.obstacle:
        return "Nothing will be written: something is in the way."
    number, path, commit = seen.version.number, seen.persistence.path, seen.persistence.commit
    parts = _steps(seen)
    if not parts:
        has_it = f", and commit {commit[:10]} has it" if commit else ""
        return f"{path} holds v{number} already{has_it}: nothing is left to do."
    done = ", ".join(parts)
    return f"{done[0].upper()}{done[1:]}; an INFO message says so in the thread."


def _steps(seen: Foreseen) -> list[str]:
    """What is left to do, in words."""
    if seen.obstacle:
        return []
    number, path, commit = seen.version.number, seen.persistence.path, seen.persistence.commit
    lines = seen.difference.count("\n")
    parts = []
    if lines:
        parts.append(f"writes v{number} to {path} ({counted(lines, 'line')} of difference)")
    if seen.archive:
        parts.append(f"brings {seen.archive} up to date")
    if seen.commit and not (commit and not parts):
        parts.append(f"commits {'that' if parts else path} and nothing else")
    if seen.destination:
        parts.append(f"pushes {seen.destination}")
    return parts


def _to(visit: Visit, *, is_done: bool) -> tuple[tuple[str, str], ...]:
    thread_id = visit.thread_id
    session = (links.session(thread_id), "See the session")
    if is_done:
        return (session, (links.lab("round", thread_id), "Start the next round"))
    return (session, (links.lab("persist", thread_id), "Do what is missing"))


ACTION = Action(
    "persist",
    _form,
    _do,
    _preview,
    takes=takes(numbers=(_VERSION, _MESSAGE), texts=(FILE,), flags=HOW),
    guard=Guard(_VERSION, lambda seen: seen.get(_VERSION)),
)
