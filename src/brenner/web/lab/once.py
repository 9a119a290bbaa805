"""Each form is done once: a double click, a reload and the button Back get the same answer.

A form has a key, given out when it is shown. The first request with it acts; others wait for it,
and get what came of it. Keys belong to a login and end with it. A key that nobody knows does
nothing: it may have been used before. Forms that were only shown are forgotten sooner than those
with which something was done: a script that repeats a key of its own must not act again.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import Refused, Unavailable, Uncertain
from brenner.web.lab.action import Done
from brenner.web.page import Page

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


class Once:
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
            raise Refused(codes.FORM_UNKNOWN.at())
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
            raise Refused(codes.FORM_UNKNOWN.at())
        with form.lock:
            if form.content is not None and form.content != content:
                raise Refused(codes.FORM_CHANGED.at())
            if form.done is not None:
                return form.done
            first, form.content = form.content is None, content
            try:
                answer = do()
            except (Refused, Unavailable) as error:
                if first and not isinstance(error, Uncertain):
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
