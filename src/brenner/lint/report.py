"""What linting found, as a value and as the stable JSON (design, JSON)."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from brenner.artifact.model import order_of
from brenner.diagnostics.model import Diagnostic, Summary, worst_first
from brenner.lint.judgement import QUESTIONS
from brenner.lint.rules import RULES
from brenner.protocol.delta.schema import SECTIONS
from brenner.protocol.grammar import ITEM_ID


class LintReport(NamedTuple):
    """Everything that was found in one artifact, worst first. Lines count in the file."""

    violations: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, found: Iterable[Diagnostic]) -> Self:
        """The report, in the order in which it is shown."""
        return cls(tuple(sorted(found, key=_order)))

    @property
    def summary(self) -> Summary:
        """How many of each severity."""
        return Summary.of(self.violations)

    @property
    def valid(self) -> bool:
        """Whether there is no error."""
        return self.summary.errors == 0

    @property
    def deltas(self) -> tuple[str, ...]:
        """The fixes that are deltas, each once. Those that replace come first: one that adds to a
        field must not be undone by one that replaces it.
        """
        blocks = dict.fromkeys(found.repaired for found in self.violations if found.repaired)
        return tuple(sorted(blocks, key=lambda block: '_replace": true' not in block))

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "valid": self.valid,
            "summary": self.summary._asdict(),
            "violations": [found.to_json() for found in self.violations],
            "judgement": [question.to_json() for question in QUESTIONS],
        }


def _order(found: Diagnostic) -> tuple[object, ...]:
    """Severity and line; then the section, item, rule and field, where lines do not decide. What
    one rule finds in one field stays in the order of the field.

    The section is that of the item, or else the one that the second letter of the code names.
    """
    item = found.item or ""
    match = ITEM_ID.fullmatch(item)
    prefix = (match[1] or found.item) if match else found.id[1]
    return (
        worst_first(found),
        _SECTION_RANK.get(prefix or "", -1),
        order_of(item) if item else (0, ""),
        _RULE_RANK.get(found.id, len(RULES)),
        found.field or "",
    )


# The front matter, the sections of the artifact; R stands for RT in the code of a rule.
_SECTION_RANK = {"M": 0, "S": 1, "R": 2} | {
    section.prefix: number for number, section in enumerate(SECTIONS.values(), 2)
}
_RULE_RANK = {code_id: number for number, code_id in enumerate(RULES)}
