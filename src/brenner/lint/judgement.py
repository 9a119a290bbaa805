"""What only people can judge. These questions never fire; a report lists them as they are."""

from typing import NamedTuple

from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    Section,
)


class Question(NamedTuple):
    """A question to a person; `rules` are those that see the part of it that a program can see."""

    section: Section
    rules: tuple[str, ...]
    question: str

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "section": self.section.id,
            "rules": list(self.rules),
            "question": self.question,
        }


QUESTIONS = (
    Question(
        RESEARCH_THREAD,
        ("ER-001",),
        "Could an observation answer the question with no?",
    ),
    Question(
        RESEARCH_THREAD,
        ("ER-002",),
        "Does the context say what is in dispute, and fairly to each side?",
    ),
    Question(
        RESEARCH_THREAD,
        ("WR-001", "WH-001", "EP-P01"),
        "Does each anchor bear out what it is cited for?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("EH-004",),
        "Does each claim forbid something, so that it could turn out wrong?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("EH-003",),
        "Is the third alternative another explanation, and not a restatement of the first two?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("WS-103",),
        "Do any two hypotheses say the same in other words?",
    ),
    Question(
        HYPOTHESIS_SLATE,
        ("WH-003", "WP-P02"),
        "Does each inference follow from what it names?",
    ),
    Question(
        PREDICTIONS_TABLE,
        ("WP-001",),
        "Do the cells of each row differ in what one would see, and not only in their words?",
    ),
    Question(
        PREDICTIONS_TABLE,
        ("IP-001", "IH-001"),
        "Does each prediction follow from the mechanism of its hypothesis?",
    ),
    Question(
        DISCRIMINATIVE_TESTS,
        ("WT-001",),
        "Could each potency check have failed?",
    ),
    Question(
        DISCRIMINATIVE_TESTS,
        ("ET-003", "IT-001"),
        "Would the outcomes of each test tell its hypotheses apart?",
    ),
    Question(
        DISCRIMINATIVE_TESTS,
        ("WT-002", "WT-003"),
        "Are the four numbers of each score deserved?",
    ),
    Question(
        ASSUMPTION_LEDGER,
        ("EA-001", "WA-001"),
        "Is an assumption missing on which much of this rests?",
    ),
    Question(
        ASSUMPTION_LEDGER,
        ("WA-003", "WA-101"),
        "Are the numbers of the scale check right, with their units?",
    ),
    Question(
        ANOMALY_REGISTER,
        ("EX-002",),
        "Is something known that fits none of the hypotheses and is not registered?",
    ),
    Question(
        ANOMALY_REGISTER,
        ("IX-001",),
        "Is each resolved anomaly explained, and not explained away?",
    ),
    Question(
        ADVERSARIAL_CRITIQUE,
        ("WC-001",),
        "Is the real third alternative real: would its author bet on it?",
    ),
    Question(
        ADVERSARIAL_CRITIQUE,
        ("EC-002", "WC-002"),
        "Does each attack strike the framing, and would its evidence confirm it?",
    ),
)
