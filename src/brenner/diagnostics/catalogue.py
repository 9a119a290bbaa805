"""The catalogue of all codes, collected from the modules in `codes/`."""

from __future__ import annotations

import re
import tomllib
from functools import cache

from brenner.diagnostics.codes import (
    artifacts,
    deltas,
    evidence,
    lint_sections,
    lint_structure,
    mail,
    merging,
    messages,
    publishing,
    results,
    running,
    serving,
    sessions,
    stores,
    web,
)
from brenner.diagnostics.explanations import catalogue_text
from brenner.diagnostics.model import Code
from brenner.text import closest

_MODULES = (
    *(messages, deltas, mail, stores, merging, artifacts, lint_structure, lint_sections),
    *(sessions, results, evidence, running, publishing, serving, web),
)
CATALOGUE = {
    code.id: code for module in _MODULES for code in vars(module).values() if isinstance(code, Code)
}


@cache
def chapters() -> dict[str, tuple[Code, ...]]:
    """Return the codes by the title of their chapter, in the order of `catalogue.toml`."""
    found = tomllib.loads(catalogue_text())["chapters"]
    return {title: tuple(CATALOGUE[each] for each in ids) for title, ids in found.items()}


def find_code(written: str) -> Code | None:
    """Return the code with that ID, ignoring case and `_` for `-`."""
    wanted = written.strip().upper()
    return CATALOGUE.get(wanted) or _CODES_BY_FOLDED_ID.get(wanted.replace("-", "_"))


def closest_code(written: str) -> str | None:
    """Return the ID that a misspelt one probably means."""
    wanted = written.strip().upper()
    number = re.fullmatch(r"([A-Z]+)[-_ ]?0*([0-9]{1,3})", wanted)
    padded = f"{number[1]}-{int(number[2]):03}" if number else ""
    return padded if padded in CATALOGUE else closest(wanted, CATALOGUE)


_CODES_BY_FOLDED_ID = {code_id.replace("-", "_"): code for code_id, code in CATALOGUE.items()}
