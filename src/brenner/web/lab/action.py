"""What the operator can do in the lab: each action says what it will do, does it once, and says
what happened.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from brenner.web.lab.requests import Takes
from brenner.web.page import Document, Page
from brenner.web.visit import Visit


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
    form: Callable[[Visit], Page]
    do: Callable[[Visit], Done | Page]
    preview: Callable[[Visit], Page] | None = None
    is_of_session: bool = True
    takes: Takes | None = None
    tried: Callable[[Visit], Page] | None = None
    guard: Guard | None = None
