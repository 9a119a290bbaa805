"""Problems of a delta: a code, the path in the delta, and perhaps a certain repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import ERROR, Code
from brenner.named_tuple import NamedTuple
from brenner.text import closest, closest_certain, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

JsonPath = tuple[str | int, ...]


# Authors' other names of fields; suggested, never assumed
FIELD_ALIASES = {
    "lr": "likelihood_ratio",
    "question": "statement",
    "quarantine_status": "status",
    "title": "name",
    "why": "rationale",
}


# The limit per block: more are not useful to the author, and cost time.
MOST_PROBLEMS = 50


class Repair(NamedTuple):
    """A certain repair: the JSON text that replaces the value or, with `is_key`, the key.

    `content` replaces the value, too, if the key is replaced.
    """

    json_text: str
    is_key: bool = False
    content: str = ""


def rename_key(key: str) -> Repair:
    """Return the repair that renames a key."""
    return Repair(f'"{key}"', is_key=True)


class Problem(NamedTuple):
    """A problem at a path (`payload.score.cost`); the path's last step need not exist."""

    code: Code
    path: JsonPath
    words: dict[str, str]
    repair: Repair | None = None


class Problems(list[Problem]):
    """A list of problems, with a method for each kind that several checks report.

    `names` are the local IDs of the message.
    """

    names: tuple[str, ...] = ()

    @property
    def have_errors(self) -> bool:
        """Whether one of them is an error, so that the delta is refused."""
        return any(problem.code.severity is ERROR for problem in self)

    @property
    def reach_limit(self) -> bool:
        """Whether the limit is reached and the search can stop."""
        return len(self) >= MOST_PROBLEMS

    def report(
        self, code: Code, path: JsonPath, repair: Repair | None = None, **words: str
    ) -> None:
        self.append(Problem(code, path, {"name": format_path(path)} | words, repair))

    def missing(self, path: JsonPath, asks: str, reason: str = "is missing") -> None:
        """Report a required field that is absent or blank."""
        self.report(codes.MISSING_REQUIRED_FIELD, path, reason=reason, asks=asks, suggestion="")

    def misspelt(self, path: JsonPath, name: str, asks: str) -> None:
        """Report a required field with a misspelt name: one mistake, one problem."""
        written = str(path[-1])
        is_certain = closest_certain(written, [name]) is not None
        self.report(
            codes.MISSING_REQUIRED_FIELD,
            path,
            rename_key(name) if is_certain else None,
            name=format_path((*path[:-1], name)),
            reason=f"is missing (`{written}` is not a field)",
            asks=asks,
            suggestion=f" If you mean `{written}`, rename it to `{name}`.",
        )

    def wrong_names(
        self,
        path: JsonPath,
        where: str,
        unknown: list[str],
        known: Mapping[str, bool],
        required: Mapping[str, str],
    ) -> None:
        """Report the unknown and the missing names of an object.

        `known` maps each known name to whether it is present, `required` each missing one to its
        description. A misspelt required name is one problem, not two.
        """
        left = unknown[:MOST_PROBLEMS]
        for name, asks in required.items():
            misspelt = closest(name, left, most_edits=len(name) // 2)
            if misspelt is None:
                self.missing((*path, name), asks)
            else:
                self.misspelt((*path, misspelt), name, asks)
                left.remove(misspelt)
        free = [name for name, is_there in known.items() if not is_there and name not in required]
        for name in left:
            self.unknown((*path, name), where, known, free)

    def unknown(
        self, path: JsonPath, where: str, known: Iterable[str], absent: Iterable[str]
    ) -> None:
        """Report an unknown key, with the absent key that was probably meant."""
        key = str(path[-1])
        free = list(absent)
        near = FIELD_ALIASES.get(key) if FIELD_ALIASES.get(key) in free else closest(key, free)
        # An unknown field is only a warning, so it is renamed only if just case and hyphens differ.
        is_certain = near is not None and closest(key, [near], 0) is not None
        self.report(
            codes.UNKNOWN_FIELD,
            path,
            rename_key(near) if near and is_certain else None,
            name=key,
            where=where,
            known=format_names(known),
            suggestion=did_you_mean(near),
        )

    def wrong_type(
        self, path: JsonPath, content: object, expected: str, repair: Repair | None = None
    ) -> None:
        actual = json_type_name(content)
        hint = did_you_mean(repair.json_text if repair else None)
        self.report(
            codes.WRONG_TYPE, path, repair, actual=actual, expected=expected, suggestion=hint
        )

    def invalid_value(
        self,
        path: JsonPath,
        value: str,
        expected: Iterable[str],
        near: str | None = None,
        repair: Repair | None = None,
    ) -> None:
        """Report a value outside an enumeration."""
        self.report(
            codes.INVALID_VALUE,
            path,
            repair,
            value=value,
            expected=format_names(expected),
            suggestion=did_you_mean(near),
        )

    def invalid_item(
        self, path: JsonPath, value: str, expected: str, example: str, repair: Repair | None
    ) -> None:
        """Report a value that should be an item ID."""
        parent = format_path(path[:-1])
        meant = repair.json_text.strip('"') if repair else None
        self.report(
            codes.INVALID_ITEM_ID,
            path,
            repair,
            name=parent,
            value=value,
            expected=expected,
            example=example,
            suggestion=did_you_mean(meant),
        )


_TYPE_NAMES = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def json_type_name(content: object) -> str:
    """Return the type of a JSON value in words."""
    return _TYPE_NAMES[type(content)]


def format_path(path: JsonPath) -> str:
    """Return a path in dotted form: `payload.references[0].relation`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def format_names(names: Iterable[str]) -> str:
    """Return the names, each in backticks, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)
