"""Runs every pattern that reads what agents send on long hostile texts. Ends, if all of them do.

Says before each pattern which one it is, so that the last line names the one that does not end.
"""

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import cast

import brenner.mcp
from brenner.lazy_pattern import LazyPattern

LENGTH = 100_000
MODULES = (
    "brenner.protocol.validate",
    "brenner.protocol.delta.arguments",
    "brenner.protocol.delta.schema",
    "brenner.protocol.grammar",
    "brenner.protocol.subjects",
    "brenner.services.contribute",
    "brenner.services.receive",
    *(each.name for each in pkgutil.iter_modules(brenner.mcp.__path__, "brenner.mcp.")),
)
BEGINNINGS = ("", "DELTA[")
REPEATED = (
    *(" ", "\t", "\n", "a", "A", "1", "-", "_", ".", ":", "[", "]", "(", "{", "`", '"', "\\", "§"),
    *("a ", "1.", "A-", " :", "re:", "[ ", "{}", "§1,", "DELTA ", '\\"'),
)
END = "!\n"
# Only ever matched at the beginning of a text; all others may look for a place anywhere in it.
AT_THE_BEGINNING = frozenset(
    {
        *("_DELTA_LIKE", "_FIRST_WORD", "_DELTA_WITH_MODEL", "_LOOSE_SUBJECT", "_REPLY"),
        *("ACKNOWLEDGED_IDS", "_VERSION", "_FENCE", "_HIDDEN", "_ALMOST_DELTA"),
    }
)


def patterns(module: ModuleType) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns of a module, and those in its tables."""
    for name, each in vars(module).items():
        found = each.values() if isinstance(each, dict) else [each]
        for pattern in found:
            if isinstance(pattern, re.Pattern | LazyPattern) and isinstance(pattern.pattern, str):
                yield f"{module.__name__}.{name}", cast("re.Pattern[str]", pattern)


def main() -> None:
    """All of them, each once, whatever module has it."""
    known: dict[re.Pattern[str], str] = {}
    for name in MODULES:
        for place, pattern in patterns(importlib.import_module(name)):
            known.setdefault(pattern, place)
    texts = [
        beginning + unit * (LENGTH // len(unit)) + END
        for beginning in BEGINNINGS
        for unit in REPEATED
    ]
    texts += ["message" + " " * LENGTH + "x", "DELTA" + " " * 400 + ":" + " " * LENGTH + "a\nb"]
    for pattern, place in known.items():
        sys.stdout.write(f"{place}\n")
        sys.stdout.flush()
        for text in texts:
            pattern.fullmatch(text)
            if place.rpartition(".")[2] in AT_THE_BEGINNING:
                pattern.match(text)
            else:
                pattern.search(text)
    sys.stdout.write(f"{len(known)} patterns\n")


if __name__ == "__main__":
    main()
