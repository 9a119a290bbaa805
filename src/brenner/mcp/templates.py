"""Which resource an address means, and what it says: `resource://inbox/BlueLake?limit=5`.

A template names what stands in the path, `{agent}` for one segment and `{thread_id*}` for one or
more, and what may stand in the query, `{?project,limit}`. Everything is percent-decoded once; a
plus sign is a plus sign, as times have them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.mcp.arguments import read_arguments
from brenner.mcp.tool import Argument, Resource
from brenner.text import nearest, perhaps

_PLACE = re.compile(r"\{(\w+)(\*?)\}")
_QUERY = re.compile(r"\{\?([\w,]*)\}$")
_HIDDEN = re.compile(r"(.*)\?(\w+=[^?]*)", re.DOTALL)
_SCHEME = "resource://"


class Form(NamedTuple):
    """A template, taken apart."""

    pattern: re.Pattern[str]
    places: tuple[str, ...]
    query: tuple[str, ...]


class Found(NamedTuple):
    """The resource of an address, what the address says, and what is wrong with that."""

    resource: Resource
    arguments: Mapping[str, object]
    faults: tuple[Diagnostic, ...] = ()


def find(resources: Iterable[Resource], uri: str) -> Found | None:
    """The first resource that the address fits."""
    for resource in resources:
        form = form_of(resource.template)
        said = _said(form, uri)
        if said is not None:
            where = plain(resource.template)
            path, query = (
                read_arguments(where, [Argument(name, default="") for name in names], given)
                for names, given in zip((form.places, form.query), said, strict=True)
            )
            arguments = {**query.arguments, **path.arguments}
            return Found(resource, arguments, path.faults + query.faults)
    return None


def unknown(resources: Sequence[Resource], uri: str) -> Diagnostic:
    """That there is no such resource, and which one was probably meant."""
    forms = {_head(each.template): plain(each.template) for each in resources}
    meant = nearest(_head(uri), forms)
    known = ", ".join(f"`{head}`" for head in forms) or "none"
    suggestion = perhaps(forms[meant] if meant else None)
    return codes.UNKNOWN_RESOURCE.at(uri=uri, known=known, suggestion=suggestion)


def plain(template: str) -> str:
    """The template without its query, as it is shown."""
    return _QUERY.sub("", template)


@lru_cache(maxsize=256)
def form_of(template: str) -> Form:
    """The template, taken apart."""
    query = _QUERY.search(template)
    pieces = _PLACE.split(plain(template))
    # The pieces come in threes: what stands between places, a place's name, its asterisk.
    between = [re.escape(each) for each in pieces[::3]]
    places = ["(.+)" if asterisk else "([^/]+)" for asterisk in pieces[2::3]]
    pattern = "".join(a + b for a, b in zip(between, [*places, ""], strict=True))
    named = tuple(filter(None, query[1].split(","))) if query else ()
    return Form(re.compile(pattern, re.DOTALL), tuple(pieces[1::3]), named)


def _said(form: Form, uri: str) -> tuple[dict[str, str], dict[str, str]] | None:
    """What the path and the query say by name; None where the address does not fit."""
    path, _, query = uri.partition("?")
    fits = form.pattern.fullmatch(path)
    if not fits:
        return None
    try:
        values = [unquote(each, errors="strict") for each in fits.groups()]
        hidden = _take_hidden(form, values)
        return dict(zip(form.places, values, strict=True)), _pairs(hidden) | _pairs(query)
    except UnicodeDecodeError:
        return None


def _take_hidden(form: Form, values: list[str]) -> str:
    """The query that stands in the last value, which loses it.

    Clients put it there for servers whose templates declare no query. It is one only if it has a
    key that the template names: else it belongs to the value.
    """
    fits = _HIDDEN.fullmatch(values[-1]) if values else None
    if not fits or not fits[1] or _pairs(fits[2]).keys().isdisjoint(form.query):
        return ""
    values[-1] = fits[1]
    return fits[2]


def _pairs(query: str) -> dict[str, str]:
    pairs = (each.partition("=") for each in query.split("&") if each)
    return {unquote(key): unquote(value, errors="strict") for key, _, value in pairs}


def _head(address: str) -> str:
    """The first segment, which tells what kind of resource it is."""
    return re.split(r"[/?{]", address.removeprefix(_SCHEME), maxsplit=1)[0]
