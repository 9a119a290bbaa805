"""Commands of LaTeX that JSON reads as an escape and a rest: valid, and not what was meant."""

import re
from collections.abc import Iterator

from brenner.delta.json_faults import Fault
from brenner.delta.json_strings import NAMES
from brenner.diagnostics.codes import deltas as codes

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_COMMAND = re.compile(
    r"(?<!\\)(?:\\\\)*\\("
    r"beta|bar|begin|binom|frac|forall|nabla|neq|nu|rho|rightarrow|right|tau|times|theta|text|tilde"
    r")(?![A-Za-z])"
)


def latex_commands(text: str) -> Iterator[Fault]:
    """Each command in a JSON text that will be read as something else."""
    for match in _COMMAND.finditer(text):
        name = match[1]
        words = {
            "escape": f"\\{name}",
            "character": f"a {NAMES[_ESCAPES[name[0]]]}",
            "rest": name[1:],
            "name": name,
        }
        yield Fault(codes.JSON_SUSPICIOUS_ESCAPE, match.start(1) - 1, words, None)
