"""What an address answers with: a page, a file, or another address.

A page is a document and a template that typesets it. The document is what scripts get as JSON, so
nothing can stand on a page that they do not get, and nobody has to keep the two alike.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, TypeAlias

from brenner.web.visit import Visit

Document: TypeAlias = Mapping[str, object]
_YEAR = 365 * 24 * 3600


class Cookie(NamedTuple):
    """Something that the browser keeps for us: only for addresses below `path`, never for scripts.

    An empty value takes it away.
    """

    name: str
    value: str
    path: str = "/"
    seconds: int | None = _YEAR
    is_strict: bool = False


class Page(NamedTuple):
    """A document, and the template that it is shown with.

    `is_live` pages are asked for again when there is news.
    """

    template: str
    title: str
    document: Document
    status: int = HTTPStatus.OK
    cookies: tuple[Cookie, ...] = ()
    is_live: bool = True


class Download(NamedTuple):
    """A text that is not one of our pages; with a file name it is saved, else shown.

    One that `is_shown` all the same has its name for who saves it.
    """

    text: str
    media_type: str
    file_name: str = ""
    policy: str = ""
    is_shown: bool = False


class Redirect(NamedTuple):
    """Go there instead; by GET, whatever was asked by."""

    to: str
    cookies: tuple[Cookie, ...] = ()


Answer: TypeAlias = Page | Download | Redirect
PageFunction: TypeAlias = Callable[[Visit], Answer]
