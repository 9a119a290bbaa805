"""What is wrong inside a decoded delta: a code, the path to it, and perhaps its certain repair."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import ERROR, Code
from brenner.text import nearest, perhaps, surely

Path = tuple[str | int, ...]

# What writers call fields instead; suggested, never assumed
ALIASES = {
    "lr": "likelihood_ratio",
    "question": "statement",
    "quarantine_status": "status",
    "title": "name",
    "why": "rationale",
}
# More than these in one block are not worth reading, and not worth the time to collect.
MOST_PROBLEMS = 50


class SetValue(NamedTuple):
    """Repair: put this JSON text in the place of the value."""

    json_text: str


class RenameKey(NamedTuple):
    """Repair: spell the key this way."""

    key: str


Repair = SetValue | RenameKey


class Problem(NamedTuple):
    """A problem at a path (`payload.score.cost`); the path's last step need not exist."""

    code: Code
    path: Path
    words: dict[str, str]
    repair: Repair | None = None


class Problems(list[Problem]):
    """A list of problems. The ones that several checks find are put into words here."""

    @property
    def are_fatal(self) -> bool:
        """Whether one of them means that the delta is refused."""
        return any(problem.code.severity is ERROR for problem in self)

    @property
    def are_enough(self) -> bool:
        """Whether it is not worth looking for more."""
        return len(self) >= MOST_PROBLEMS

    def report(self, code: Code, path: Path, repair: Repair | None = None, **words: str) -> None:
        """Any other problem."""
        self.append(Problem(code, path, {"name": dotted(path)} | words, repair))

    def missing(self, path: Path, asks: str, reason: str = "is missing") -> None:
        """A field that must be there is not, or says nothing."""
        self.report(codes.MISSING_REQUIRED_FIELD, path, reason=reason, asks=asks, suggestion="")

    def misspelt(self, path: Path, name: str, asks: str) -> None:
        """A required field is there under a misspelt name: one fault, one violation."""
        written = str(path[-1])
        is_certain = surely(written, [name]) is not None
        self.report(
            codes.MISSING_REQUIRED_FIELD,
            path,
            RenameKey(name) if is_certain else None,
            name=dotted((*path[:-1], name)),
            reason=f"is missing; `{written}` is not a field",
            asks=asks,
            suggestion=f" Rename `{written}` to `{name}`, if that is what it is.",
        )

    def names(
        self,
        path: Path,
        where: str,
        unknown: list[str],
        known: Mapping[str, bool],
        required: Mapping[str, str],
    ) -> None:
        """Names of an object: what is not known, and what is missing of those that are required.

        `known` says of each known name whether it is there, `required` of each missing one what
        it asks for. A missing name that is there misspelt is one problem, not two.
        """
        left = unknown[:MOST_PROBLEMS]
        for name, asks in required.items():
            misspelt = nearest(name, left, most_edits=len(name) // 2)
            if misspelt is None:
                self.missing((*path, name), asks)
            else:
                self.misspelt((*path, misspelt), name, asks)
                left.remove(misspelt)
        free = [name for name, is_there in known.items() if not is_there and name not in required]
        for name in left:
            self.unknown((*path, name), where, known, free)

    def unknown(self, path: Path, where: str, known: Iterable[str], absent: Iterable[str]) -> None:
        """A key that the schema does not know; perhaps an absent one, misspelt."""
        key = str(path[-1])
        free = list(absent)
        near = ALIASES.get(key) if ALIASES.get(key) in free else nearest(key, free)
        # What is only a warning is put right only if nothing but case and hyphens is wrong.
        is_certain = near is not None and nearest(key, [near], 0) is not None
        self.report(
            codes.UNKNOWN_FIELD,
            path,
            RenameKey(near) if near and is_certain else None,
            name=key,
            where=where,
            known=listed(known),
            suggestion=perhaps(near),
        )

    def wrong_type(
        self, path: Path, content: object, expected: str, repair: Repair | None = None
    ) -> None:
        """A value of another type than the schema's."""
        actual = _TYPE_NAMES[type(content)]
        hint = perhaps(repair.json_text if isinstance(repair, SetValue) else None)
        self.report(
            codes.WRONG_TYPE, path, repair, actual=actual, expected=expected, suggestion=hint
        )

    def invalid_value(
        self,
        path: Path,
        value: str,
        expected: Iterable[str],
        near: str | None = None,
        repair: Repair | None = None,
    ) -> None:
        """A value outside an enumeration."""
        self.report(
            codes.INVALID_VALUE,
            path,
            repair,
            value=value,
            expected=listed(expected),
            suggestion=perhaps(near),
        )

    def invalid_item(
        self, path: Path, value: str, expected: str, example: str, repair: Repair | None
    ) -> None:
        """Something else where an item's ID should stand."""
        parent = dotted(path[:-1])
        meant = repair[0].strip('"') if repair else None
        self.report(
            codes.INVALID_ITEM_ID,
            path,
            repair,
            name=parent,
            value=value,
            expected=expected,
            example=example,
            suggestion=perhaps(meant),
        )


_TYPE_NAMES = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def type_name(content: object) -> str:
    """What a JSON value is, in words."""
    return _TYPE_NAMES[type(content)]


def dotted(path: Path) -> str:
    """A path as people write it: `payload.references[0].relation`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    return ", ".join(f"`{name}`" for name in names)
