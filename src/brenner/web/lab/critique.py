"""To send a critique: which item, what is wrong with it, how bad that is."""

from http import HTTPStatus

from brenner.protocol.message_types import CRITIQUE, SEVERITIES, SectionRule
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.services.send import SUBJECT
from brenner.web.lab.action import Action, Done
from brenner.web.lab.letters import (
    MORE,
    TO,
    Checked,
    Letter,
    check_letter,
    ended,
    people,
    preview_document,
    recipients,
    send_letter,
    sent_done,
)
from brenner.web.lab.requests import takes
from brenner.web.page import Page
from brenner.web.visit import Visit

_MOST_ITEMS, _MOST_TITLE = 300, 120
_OTHER = "other"
_CHOOSE = "Choose the item, or write it into “Something else”."
TARGET, SEVERITY = "Target", "Severity"
# What is written; the target and how bad it is are chosen
_WRITTEN = tuple(rule for rule in CRITIQUE.sections if rule.name not in (TARGET, SEVERITY))


def _form(visit: Visit, checked: Checked | None = None) -> Page:
    typed = bool(visit.form)
    offered = people(visit)
    chosen = recipients(visit) if typed else offered
    items = _items(visit)
    target = visit.form.get("target", "") if typed else visit.asked.get("item", "")
    is_listed = any(target == each["id"] for each in items)
    document = {
        "thread_id": visit.thread_id,
        "version": _version(visit),
        "items": items[:_MOST_ITEMS],
        "items_in_all": len(items),
        "severities": list(SEVERITIES),
        "sections": [_section(rule, visit) for rule in _WRITTEN],
        "offered": list(offered),
        "chosen": list(chosen),
        "fields": {
            "title": visit.form.get("title", ""),
            "target": target if is_listed or not target else _OTHER,
            _OTHER: visit.form.get(_OTHER, "" if is_listed else target),
            "severity": visit.form.get("severity", "Major"),
            "more": ", ".join(name for name in chosen if name not in offered),
        },
        "violations": list(checked.violations) if checked else [],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if checked else HTTPStatus.OK
    return Page("lab/critique.html", "Send a critique", document, status, is_live=False)


def _in_form(visit: Visit, checked: Checked) -> Checked:
    """What is wrong, beside the field that is meant, and in the words of a form. Without a target
    there is no subject either: that is said once.
    """
    fields = {rule.missing.id: rule.name for rule in CRITIQUE.sections if rule.missing}
    found: list[dict[str, object]] = []
    for each in checked.violations:
        name = fields.get(str(each["id"]))
        if name:
            fix = _CHOOSE if name == TARGET else f"Fill in “{name}”."
            message = str(each["message"]).partition(":")[0] + "."
            found.append({**each, "message": message, "at": name.lower(), "line": None, "fix": fix})
        elif _target(visit) or each["at"] != SUBJECT:
            found.append(each)
    return checked._replace(violations=tuple(found))


def _do(visit: Visit) -> Done | Page:
    checked = _in_form(visit, send_letter(visit, _letter(visit)))
    return sent_done(visit, checked, checked.sent) if checked.sent else _form(visit, checked)


def _preview(visit: Visit) -> Page:
    letter = _letter(visit)
    document = preview_document(letter, _in_form(visit, check_letter(visit, letter)))
    return Page("lab/letter_preview.html", "Preview", document, is_live=False)


def _letter(visit: Visit) -> Letter:
    title = " ".join(visit.form.get("title", "").split())
    target = _target(visit)
    return Letter(
        Message(
            thread_id=visit.thread_id,
            sender=visit.site.desk.project.operator,
            recipients=recipients(visit),
            subject=compose_subject(CRITIQUE.name, title or target),
            body=_body(visit, title or target, target),
        )
    )


def _body(visit: Visit, title: str, target: str) -> str:
    """The sections of the type that say something, and the version that is spoken of."""
    version = _version(visit)
    base = f"**{CRITIQUE.version_field}**: v{version}\n\n" if version else ""
    severity = visit.form.get("severity", "")
    values = {TARGET: target, SEVERITY: severity if severity in SEVERITIES else ""}
    values |= {rule.name: visit.form.get(_field(rule), "").strip() for rule in _WRITTEN}
    parts = [
        f"## {rule.name}\n{ended(values[rule.name])}"
        for rule in CRITIQUE.sections
        if values[rule.name]
    ]
    return f"# Critique: {title}\n\n{base}" + "\n".join(parts)


def _target(visit: Visit) -> str:
    """An item with its title, for those who do not have the artifact before them."""
    given = visit.form.get("target", "")
    if given in ("", _OTHER):
        return " ".join(visit.form.get(_OTHER, "").split())
    titles = {str(each["id"]): str(each["title"]) for each in _items(visit)}
    return f"{given}: {titles[given]}" if given in titles else given


def _items(visit: Visit) -> list[dict[str, object]]:
    """What of the latest version can be attacked: everything that was not killed."""
    latest = visit.session.latest
    if latest is None:
        return []
    return [
        {"id": item.id, "title": " ".join(item.title.split())[:_MOST_TITLE], "section": section.id}
        for section, item in latest.artifact.all_items()
        if item.is_active and (item.fields or item.id != latest.artifact.research_thread.id)
    ]


def _version(visit: Visit) -> int | None:
    latest = visit.session.latest
    return latest.artifact.metadata.version if latest else None


def _section(rule: SectionRule, visit: Visit) -> dict[str, object]:
    name = _field(rule)
    return {
        "name": name,
        "label": rule.name,
        "asks": rule.asks,
        "value": visit.form.get(name, ""),
    }


def _field(rule: SectionRule) -> str:
    """The name of a section in the form."""
    return rule.name.lower().replace(" ", "_")


_TEXTS = ("title", "target", _OTHER, "severity", *map(_field, _WRITTEN), MORE)
ACTION = Action("critique", _form, _do, _preview, takes=takes(texts=_TEXTS, names=(TO,)))
