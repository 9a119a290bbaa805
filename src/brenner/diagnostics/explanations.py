"""What `brenner explain` and docs/reference/codes.md say about a code: title, reason and example.

That is data, in `catalogue.toml`. Most commands never read it.
"""

from __future__ import annotations

import pkgutil
import tomllib
from functools import cache
from typing import Literal, cast

from brenner.named_tuple import NamedTuple

ExampleKind = Literal["thread_id", "subject", "message", "block", "text"]


class Example(NamedTuple):
    """A wrong text and its correction, side by side.

    A `message` omits irrelevant headers. A `block` is the content of a delta block. A `text` is
    only for reading; tests check all other kinds.
    """

    kind: ExampleKind
    wrong: str
    right: str


@cache
def catalogue_text() -> str:
    return (pkgutil.get_data(__name__, "catalogue.toml") or b"").decode()


@cache
def explanation(code_id: str) -> dict[str, str]:
    """Parse the entry of one code. To parse the whole file takes as long as a short command."""
    _, _, entry = catalogue_text().partition(f"\n[codes.{code_id}]\n")
    return tomllib.loads(entry.partition("\n[codes.")[0])


def example(code_id: str) -> Example:
    found = explanation(code_id)
    return Example(cast("ExampleKind", found["kind"]), found["wrong"], found["right"])
