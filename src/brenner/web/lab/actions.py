"""What the operator can do in the lab: each action says what it will do, does it once, and says
what happened.
"""

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from brenner.diagnostics.codes import serving as serving_codes
from brenner.diagnostics.codes import web as web_codes
from brenner.diagnostics.model import (
    Diagnostic,
    RequestError,
    UnavailableError,
    UnknownOutcomeError,
)
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import PLAIN, Envelope, Trust
from brenner.services.acknowledge import RECEIVED, Acknowledged, Acknowledgement, send_ack
from brenner.services.workspace import Workspace
from brenner.text import closest, did_you_mean
from brenner.web.request import ONCE, TOKEN, Document, Page, RequestContext, is_number

if TYPE_CHECKING:
    from brenner.mail.model import Sent, Since
    from brenner.protocol.messages import Message


# What a script may send to the lab: each action takes some keys, of some kinds, and no others.
#
# A key that nobody reads would be lost in silence, and so would a guard or a box that is not what
# it
# has to be. Nothing is done then.


TEXT, FLAG, NUMBER = "a text", "true or false", "a whole number"
YES_OR_NO = f"{FLAG}, or yes or no"
NAMES, NAME_OR_NAMES, NUMBERS = "a list of names", "names", "message numbers"
DRY_RUN = "dry_run"
ROW_FIELDS = ("name", "role", "program", "model", "notes")
_ROW = re.compile(rf"agent\.([1-9][0-9]{{0,2}})\.(?:{'|'.join(ROW_FIELDS)})")
_OURS = (ONCE, TOKEN)
_NULL = "null"


class Takes(NamedTuple):
    """The keys of one action with their kinds, and how many rows of agents it takes."""

    kinds: Mapping[str, str]
    rows: int = 0

    @property
    def known(self) -> tuple[str, ...]:
        """The keys as they are told."""
        rows = [f"agent.N.{field}" for field in ROW_FIELDS] if self.rows else []
        return (*self.kinds, *rows, ONCE)


def takes(*, rows: int = 0, **keys: Iterable[str]) -> Takes:
    """The keys of an action, by their kinds; every action can be tried."""
    kinds = {"texts": TEXT, "flags": FLAG, "numbers": NUMBER, "names": NAME_OR_NAMES}
    kinds |= {"messages": NUMBERS, "answers": YES_OR_NO}
    found = {name: kinds[kind] for kind, names in keys.items() for name in names}
    return Takes(MappingProxyType({**found, DRY_RUN: FLAG}), rows)


def is_dry_run(visit: RequestContext) -> bool:
    """Whether a script wants to know only what would be done."""
    return isinstance(visit.sent, Mapping) and visit.sent.get(DRY_RUN) is True


def request_faults(visit: RequestContext, taken: Takes) -> tuple[Diagnostic, ...]:
    """What is wrong with the object itself."""
    sent = visit.sent if isinstance(visit.sent, Mapping) else {}
    where = f"POST {visit.path.partition('?')[0]}"
    return tuple(each for key in sent for each in _of_key(sent, key, where, taken))


def _of_key(sent: Mapping[str, object], key: str, where: str, taken: Takes) -> Iterator[Diagnostic]:
    row = _ROW.fullmatch(key)
    if row and 1 <= int(row[1]) <= taken.rows:
        yield from _of_row(sent, key, where, int(row[1]))
    elif key in taken.kinds:
        yield from wrong_kind(key, taken.kinds[key], sent[key])
    elif key in _OURS:
        yield from wrong_kind(key, TEXT, sent[key])
    else:
        yield unknown(key, where, taken.known)


def _of_row(sent: Mapping[str, object], key: str, where: str, number: int) -> Iterator[Diagnostic]:
    """Rows are read as far as they have names: one behind a gap would be passed over."""
    yield from wrong_kind(key, TEXT, sent[key])
    for each in range(1, number + 1):
        needed = f"agent.{each}.name"
        if needed not in sent:
            expected = "rows are counted from 1, without a gap"
            words = {"where": where, "argument": needed, "expected": expected}
            yield serving_codes.MISSING_ARGUMENT.at(None, **words)
            return


def unknown(key: str, where: str, known: Iterable[str]) -> Diagnostic:
    """That nobody reads a key."""
    near = did_you_mean(closest(key, tuple(known)))
    words = {"where": where, "argument": key, "known": ", ".join(known)}
    return serving_codes.UNKNOWN_ARGUMENT.at(None, **words, suggestion=near)


def wrong_kind(key: str, expected: str, value: object) -> Iterator[Diagnostic]:
    """That a value is of another kind. `null` is a value that was not given, but no number: who
    sends a guard means it.
    """
    if value is None and expected != NUMBER:
        return
    if not _is(expected, value):
        words = {"argument": key, "expected": expected, "given": _kind(value)}
        yield serving_codes.WRONG_ARGUMENT_TYPE.at(None, **words)


def _is(expected: str, value: object) -> bool:
    if expected == NUMBER:
        return _is_number(value)
    if expected == NUMBERS:
        return all(map(_is_number, value)) if isinstance(value, list) else _is_number(value)
    if expected in (NAMES, NAME_OR_NAMES) and isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    if expected == YES_OR_NO:
        return isinstance(value, bool) or value in ("yes", "no", "")
    if expected == NAMES:
        return False
    return isinstance(value, bool if expected == FLAG else str)


def _is_number(value: object) -> bool:
    """A number, or one as text, as forms have it; `2.0` and `true` are none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    return is_number(str(value))


def _kind(value: object) -> str:
    if isinstance(value, float):
        return "a number that is not whole"
    kinds = {bool: FLAG, str: TEXT, list: "a list", dict: "an object", type(None): _NULL}
    return kinds.get(type(value), "a number")


def would_be_refused(document: Document) -> bool:
    """Whether what a preview says comes to nothing."""
    compiled, found = document.get("compiled"), document.get("violations")
    is_refused = isinstance(compiled, Mapping) and compiled.get("status") == "refused"
    errors = [
        each
        for each in (found if isinstance(found, list) else [])
        if isinstance(each, Mapping) and each.get("severity") == "error"
    ]
    return bool(document.get("fault") or errors or is_refused)


class Done(NamedTuple):
    """What came of an action. It is kept under the key of its form: who sends the form again, or
    reloads, gets the same. `says` is a sentence; `document` is what scripts get, and the page
    shows; `to` is where to go on, and in which words.
    """

    is_done: bool
    says: str
    document: Mapping[str, object]
    template: str = "lab/done.html"
    to: tuple[tuple[str, str], ...] = ()


class Guard(NamedTuple):
    """The field of a form that says what was looked at, and how a preview says it."""

    field: str
    of: Callable[[Document], object]


class Action(NamedTuple):
    """One action. `form` is the page that says what it will do, with the form; `do` does it.

    Where nothing was done, because something is wrong or only a row was added, `do` answers with
    the form again, as a Page, with everything that was typed: its key is then still good.
    `preview`, where there is one, answers while the form is being filled in: what would be sent.
    Scripts send what it `takes`, and nothing else; one that reads requests itself says nothing of
    it. `tried` is what a dry run answers where there is no preview.
    """

    name: str
    form: Callable[[RequestContext], Page]
    do: Callable[[RequestContext], Done | Page]
    preview: Callable[[RequestContext], Page] | None = None
    is_of_session: bool = True
    takes: Takes | None = None
    tried: Callable[[RequestContext], Page] | None = None
    guard: Guard | None = None


# Each form is done once: a double click, a reload and the button Back get the same answer.
#
# A form has a key, given out when it is shown. The first request with it acts; others wait for it,
# and get what came of it. Keys belong to a login and end with it. A key that nobody knows does
# nothing: it may have been used before. Forms that were only shown are forgotten sooner than those
# with which something was done: a script that repeats a key of its own must not act again.


_MOST_OPEN = 2_000
MOST_DONE = 100_000
_MOST_KEPT = 200
_BYTES = 16
_LONG_AGO = "It was done, so long ago that the details are not kept here any more."


class _Form:
    """What is known of one form. `content` is set as soon as it may have been done with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.content: str | None = None
        self.done: Done | None = None


class IdempotencyKeys:
    """The forms of one login."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Form] = OrderedDict()
        self._done: OrderedDict[str, _Form] = OrderedDict()
        self._kept: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def key(self) -> str:
        """A key for a form that is shown."""
        given = secrets.token_urlsafe(_BYTES)
        self.expect(given)
        return given

    def expect(self, key: str) -> None:
        """A key that a script has chosen is good from now on."""
        with self._lock:
            if key not in self._done:
                self._open.setdefault(key, _Form())
            while len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)

    def _form(self, key: str) -> _Form | None:
        return self._done.get(key) or self._open.get(key)

    def is_open(self, key: str) -> bool:
        """Whether a form with that key may still be sent, or sent again."""
        form = self._form(key)
        return form is not None and form.done is None

    def is_done(self, key: str) -> bool:
        """Whether it is known what came of a form with that key."""
        form = self._form(key)
        return form is not None and form.done is not None

    def done(self, key: str) -> Done:
        """What came of a form; it can be asked for again and again."""
        form = self._form(key)
        if form is None or form.done is None:
            raise RequestError(web_codes.FORM_UNKNOWN.at())
        return form.done

    def act(self, key: str, content: str, do: Callable[[], Done | Page]) -> Done | Page:
        """Do it, unless it was done: then the same answer again.

        What comes back as a page, is refused, or could not be begun, has done nothing, and the key
        is still good. Where nobody knows whether it was done, only the same may be sent again: the
        mailbox knows it by its key, too.
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
        self._keep(key, form)
        return answer

    def _keep(self, key: str, form: _Form) -> None:
        """The latest outcomes are kept whole."""
        with self._lock:
            self._open.pop(key, None)
            self._done[key] = form
            while len(self._done) > MOST_DONE:
                self._done.popitem(last=False)
            self._kept[key] = None
            while len(self._kept) > _MOST_KEPT:
                oldest, _ = self._kept.popitem(last=False)
                known = self._done.get(oldest)
                if known and known.done:
                    known.done = Done(known.done.is_done, _LONG_AGO, {}, to=known.done.to)


# The operator's desk in the lab: what is sent there is sent by who has shown the secret.


class _Verified:
    """The mailbox, of one whose name is proven. Nobody else's mail is."""

    def __init__(self, mailbox: Mailbox, proven: str) -> None:
        self._mailbox = mailbox
        self._proven = proven

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def send(
        self,
        message: "Message",
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: "int | Since | None" = None,
        envelope: Envelope = PLAIN,
    ) -> "Sent":
        if message.sender == self._proven:
            envelope = envelope._replace(trust=Trust.VERIFIED)
        return self._mailbox.send(
            message, reply_to=reply_to, key=key, position=position, envelope=envelope
        )


def lab_desk(visit: RequestContext) -> Workspace:
    """The desk of the operator who has logged in."""
    workspace = visit.site.workspace
    operator = workspace.project.operator
    mailbox = cast("Mailbox", _Verified(workspace.mailbox, operator))
    return workspace._replace(mailbox=mailbox, actor=operator)


def is_marked(visit: RequestContext) -> bool:
    """Whether this home keeps that a sender is verified; nobody is promised it elsewhere."""
    return Capability.TRUST not in visit.site.workspace.mailbox.lacks


def lab_ack(
    visit: RequestContext, message_id: int, status: str = RECEIVED, notes: str = ""
) -> Acknowledged:
    """Acknowledge a message as the operator who has logged in."""
    workspace = lab_desk(visit)
    proven = Envelope(trust=Trust.VERIFIED)
    return send_ack(
        workspace.mailbox, Acknowledgement(workspace.actor, message_id, status, notes, proven)
    )


def lab_key(visit: RequestContext, what: str = "") -> str | None:
    """The idempotency key of what a form sends, in the mailbox: it outlives the server."""
    once = visit.form.get(ONCE)
    if not once:
        return None
    words = f"{once} {visit.path} {what}".encode(errors="surrogatepass")
    return f"lab {sha256(words).hexdigest()[:40]}"
