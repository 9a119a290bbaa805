"""What all lab actions share: the request schema for scripts, the action and its result,
idempotency keys, and the operator's workspace.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias, cast

from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes import web as web_codes
from brenner.diagnostics.model import (
    BrennerError,
    Diagnostic,
    RequestError,
    UnavailableError,
    UnknownOutcomeError,
)
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.mailbox import Capability, Mailbox
from brenner.named_tuple import NamedTuple
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, Trust
from brenner.services.acknowledge import RECEIVED, send_ack
from brenner.text import closest, did_you_mean
from brenner.web.request import CSRF_FIELD, KEY_FIELD, Document, Page, RequestContext, is_digits

if TYPE_CHECKING:
    from brenner.mail.model import SendResult, UnchangedSince
    from brenner.protocol.messages import Message
    from brenner.services.workspace import Workspace


# JSON requests of scripts.
#
# An unknown key, or a value of the wrong type, is an error and nothing is done: a guard or a
# checkbox must not be ignored silently.


TEXT_TYPE, FLAG_TYPE, NUMBER_TYPE = "a string", "true or false", "a whole number"
YES_OR_NO_TYPE = f"{FLAG_TYPE}, or yes or no"
NAMES_TYPE, NAME_OR_NAMES_TYPE, NUMBERS_TYPE = "a list of names", "names", "message numbers"
DRY_RUN = "dry_run"
ROW_FIELDS = ("name", "role", "program", "model", "notes")
_ROW = lazy_pattern(rf"agent\.([1-9][0-9]{{0,2}})\.(?:{'|'.join(ROW_FIELDS)})")
_ROW_KEYS = tuple(f"agent.N.{field}" for field in ROW_FIELDS)  # as error messages list them
MAX_ROWS = 50
_OWN_KEYS = (KEY_FIELD, CSRF_FIELD)
_NULL = "null"


RequestSchema: TypeAlias = Mapping[str, str]  # the keys of an action, with their types


def request_schema(*, rows: bool = False, **keys: Iterable[str]) -> RequestSchema:
    """Return a schema from keys by type. Every action accepts `dry_run`, some rows of agents."""
    kinds = {
        "texts": TEXT_TYPE,
        "flags": FLAG_TYPE,
        "numbers": NUMBER_TYPE,
        "names": NAME_OR_NAMES_TYPE,
        "messages": NUMBERS_TYPE,
        "answers": YES_OR_NO_TYPE,
    }
    found = {name: kinds[kind] for kind, names in keys.items() for name in names}
    return found | {DRY_RUN: FLAG_TYPE} | dict.fromkeys(_ROW_KEYS if rows else (), TEXT_TYPE)


def is_dry_run(context: RequestContext) -> bool:
    """Return whether a script only asks what would be done."""
    return isinstance(context.sent, Mapping) and context.sent.get(DRY_RUN) is True


def request_faults(context: RequestContext, schema: RequestSchema) -> tuple[Diagnostic, ...]:
    sent = context.sent if isinstance(context.sent, Mapping) else {}
    where = f"POST {context.path.partition('?')[0]}"
    return tuple(each for key in sent for each in _key_faults(sent, key, where, schema))


def _key_faults(
    sent: Mapping[str, object], key: str, where: str, schema: RequestSchema
) -> Iterator[Diagnostic]:
    row = _ROW.fullmatch(key) if _ROW_KEYS[0] in schema else None
    if row and int(row[1]) <= MAX_ROWS:
        yield from _row_faults(sent, key, where, int(row[1]))
    elif key in _OWN_KEYS or (key in schema and key not in _ROW_KEYS):
        yield from type_faults(key, schema.get(key, TEXT_TYPE), sent[key])
    else:
        yield unknown_key(key, where, (*schema, KEY_FIELD))


def _row_faults(
    sent: Mapping[str, object], key: str, where: str, number: int
) -> Iterator[Diagnostic]:
    """Yield the faults of a row. Rows are read up to a gap, so later ones would be ignored."""
    yield from type_faults(key, TEXT_TYPE, sent[key])
    for each in range(1, number + 1):
        needed = f"agent.{each}.name"
        if needed not in sent:
            expected = "rows are numbered from 1 without gaps"
            words = {"where": where, "argument": needed, "expected": expected}
            yield serving_codes.MISSING_ARGUMENT.at(None, **words)
            return


def unknown_key(key: str, where: str, known: Iterable[str]) -> Diagnostic:
    near = did_you_mean(closest(key, tuple(known)))
    words = {"where": where, "argument": key, "known": ", ".join(known)}
    return serving_codes.UNKNOWN_ARGUMENT.at(None, **words, suggestion=near)


def type_faults(key: str, expected: str, value: object) -> Iterator[Diagnostic]:
    """Yield the diagnostic for a value of the wrong type.

    `null` counts as missing, except for a number: a guard must not be ignored.
    """
    if value is None and expected != NUMBER_TYPE:
        return
    if not _has_type(expected, value):
        words = {"argument": key, "expected": expected, "given": _type_words(value)}
        yield serving_codes.WRONG_ARGUMENT_TYPE.at(None, **words)


def _has_type(expected: str, value: object) -> bool:
    if expected == NUMBER_TYPE:
        return _is_number(value)
    if expected == NUMBERS_TYPE:
        return all(map(_is_number, value)) if isinstance(value, list) else _is_number(value)
    if expected in (NAMES_TYPE, NAME_OR_NAMES_TYPE) and isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    if expected == YES_OR_NO_TYPE:
        return isinstance(value, bool) or value in ("yes", "no", "")
    if expected == NAMES_TYPE:
        return False
    return isinstance(value, bool if expected == FLAG_TYPE else str)


def _is_number(value: object) -> bool:
    """Return whether a value is a number, or one as text. `2.0` and `true` are not."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    return is_digits(str(value))


def _type_words(value: object) -> str:
    if isinstance(value, float):
        return "a number that is not whole"
    kinds = {bool: FLAG_TYPE, str: TEXT_TYPE, list: "a list", dict: "an object", type(None): _NULL}
    return kinds.get(type(value), "a number")


def would_be_refused(document: Document) -> bool:
    compiled, found = document.get("compiled"), document.get("violations")
    is_refused = isinstance(compiled, Mapping) and compiled.get("status") == "refused"
    errors = [
        each
        for each in (found if isinstance(found, list) else [])
        if isinstance(each, Mapping) and each.get("severity") == "error"
    ]
    return bool(document.get("fault") or errors or is_refused)


class ActionResult(NamedTuple):
    """The result of an action, stored under the key of its form: a repeated request gets it
    again.

    `says` is a sentence, `document` the JSON for scripts and the page, `to` the links to go on
    with.
    """

    is_done: bool
    says: str
    document: Mapping[str, object]
    template: str = "lab/done.html"
    to: tuple[tuple[str, str], ...] = ()


class Action(NamedTuple):
    """One action of the lab. `form` is the page with the form, `do` does it.

    If nothing was done, because of an error or because only a row was added, `do` returns the form
    as a Page. It keeps everything that was typed, and its key stays valid. `preview` shows what
    would be sent while the form is filled in. `schema` describes the JSON of scripts; it is None
    for an action that validates requests itself. `dry_run` answers a dry run if there is no
    preview. `guard` is the form field that states which state was seen, and how to read that state
    from a preview.
    """

    name: str
    form: Callable[[RequestContext], Page]
    do: Callable[[RequestContext], ActionResult | Page]
    preview: Callable[[RequestContext], Page] | None = None
    is_of_session: bool = True
    schema: RequestSchema | None = None
    dry_run: Callable[[RequestContext], Page] | None = None
    guard: tuple[str, Callable[[Document], object]] | None = None


# Idempotency keys: a double click, a reload and the Back button get the same result.
#
# A form gets its key when it is shown. Keys belong to a login and end with it. Unused keys are
# dropped sooner than used ones, so that a script that repeats its own key does not act twice.


_MAX_OPEN = 2_000
MAX_DONE = 100_000
_MAX_RESULTS = 200
_KEY_BYTES = 16
_RESULT_DROPPED = "This was done before. The details are no longer stored."


class _FormState:
    """What is known of one form. `content` is set as soon as the action may have run with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.content: str | None = None
        self.done: ActionResult | None = None


class IdempotencyKeys:
    """Idempotency keys of the forms of one login.

    The first request with a key acts. Others with the same key wait and get the same result. An
    unknown key does nothing, because it may have been used before.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[str, _FormState] = OrderedDict()
        self._done: OrderedDict[str, _FormState] = OrderedDict()
        self._with_result: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def key(self) -> str:
        given = secrets.token_urlsafe(_KEY_BYTES)
        self.expect(given)
        return given

    def expect(self, key: str) -> None:
        """Accept a key that a script has chosen."""
        with self._lock:
            if key not in self._done:
                self._open.setdefault(key, _FormState())
            while len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)

    def _form(self, key: str) -> _FormState | None:
        return self._done.get(key) or self._open.get(key)

    def is_open(self, key: str) -> bool:
        """Return whether a form with that key may still be sent, or sent again."""
        form = self._form(key)
        return form is not None and form.done is None

    def is_done(self, key: str) -> bool:
        form = self._form(key)
        return form is not None and form.done is not None

    def done(self, key: str) -> ActionResult:
        """Return the result of a key. Raise RequestError if there is none."""
        form = self._form(key)
        if form is None or form.done is None:
            raise RequestError(web_codes.FORM_UNKNOWN.at())
        return form.done

    def act(
        self, key: str, content: str, do: Callable[[], ActionResult | Page]
    ) -> ActionResult | Page:
        """Run the action, or return its result if it has run.

        If the action returns a page, is refused or could not begin, nothing was done and the key
        stays valid. If the outcome is unknown, only the same content may be sent again: the mailbox
        recognises it by its own key.
        """
        with self._lock:
            form = self._form(key)
        if form is None:
            raise RequestError(web_codes.FORM_UNKNOWN.at())
        with form.lock:
            if form.content is not None and form.content != content:
                raise RequestError(web_codes.FORM_CHANGED.at())
            if form.done is not None:
                return form.done
            first, form.content = form.content is None, content
            try:
                answer = do()
            except (RequestError, UnavailableError) as error:
                if first and not isinstance(error, UnknownOutcomeError):
                    form.content = None
                raise
            if isinstance(answer, Page):
                form.content = None if first else content
                return answer
            form.done = answer
        self._record(key, form)
        return answer

    def _record(self, key: str, form: _FormState) -> None:
        """Store the result. Only the latest results are stored whole."""
        with self._lock:
            self._open.pop(key, None)
            self._done[key] = form
            while len(self._done) > MAX_DONE:
                self._done.popitem(last=False)
            self._with_result[key] = None
            while len(self._with_result) > _MAX_RESULTS:
                oldest, _ = self._with_result.popitem(last=False)
                known = self._done.get(oldest)
                if known and known.done:
                    known.done = ActionResult(
                        known.done.is_done, _RESULT_DROPPED, {}, to=known.done.to
                    )


# The operator's workspace


class _VerifiedMailbox:
    """A mailbox that marks messages of one sender as verified."""

    def __init__(self, mailbox: Mailbox, proven: str) -> None:
        self._mailbox = mailbox
        self._proven = proven

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | UnchangedSince | None = None,
        envelope: Envelope = DEFAULT_ENVELOPE,
    ) -> SendResult:
        if message.sender == self._proven:
            envelope = envelope._replace(trust=Trust.VERIFIED)
        return self._mailbox.send(
            message, reply_to=reply_to, key=key, position=position, envelope=envelope
        )


def lab_workspace(context: RequestContext) -> Workspace:
    """Return the workspace of the operator who is logged in. Its messages are sent as verified."""
    workspace = context.site.workspace
    operator = workspace.project.operator
    mailbox = cast("Mailbox", _VerifiedMailbox(workspace.mailbox, operator))
    return workspace._replace(mailbox=mailbox, actor=operator)


def marks_verified(context: RequestContext) -> bool:
    """Return whether this store records that a sender is verified."""
    return Capability.TRUST not in context.site.workspace.mailbox.lacks


def send_lab_ack(
    context: RequestContext, message_id: int, status: str = RECEIVED, notes: str = ""
) -> tuple[SendResult, BrennerError | None]:
    """Acknowledge a message as the operator who is logged in."""
    workspace = lab_workspace(context)
    proven = Envelope(trust=Trust.VERIFIED)
    return send_ack(workspace.mailbox, workspace.actor, message_id, status, notes, proven)


def mailbox_key(context: RequestContext) -> str | None:
    """Return the form's idempotency key in the mailbox, which survives a restart of the server."""
    form_key = context.form.get(KEY_FIELD)
    if not form_key:
        return None
    words = f"{form_key} {context.path} ".encode(errors="surrogatepass")
    return f"lab {sha256(words).hexdigest()[:40]}"
