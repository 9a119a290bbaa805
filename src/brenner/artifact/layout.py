"""How the artifact is laid out: headings, labels and their order, how many items (companion, 1)."""

from typing import NamedTuple

from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Section,
)

TITLE = "Brenner Protocol Artifact"
NONE_REGISTERED = "None registered"
NOT_APPLICABLE = "N/A"
MOST_ACTIVE_HYPOTHESES = 6
KILLED_BY, REASON, REFERENCES = "Killed by", "Reason", "References"


class Layout(NamedTuple):
    """One section: its heading, the label of each field in order, the least number of items."""

    section: Section
    heading: str
    labels: dict[str, str]
    least: int


LAYOUT = (
    Layout(
        RESEARCH_THREAD,
        "1. Research Thread",
        {
            "statement": "RT",
            "context": "Context",
            "why_it_matters": "Why it matters",
            "anchors": "Anchors",
        },
        1,
    ),
    Layout(
        HYPOTHESIS_SLATE,
        "2. Hypothesis Slate",
        {
            "claim": "Claim",
            "mechanism": "Mechanism",
            "how_this_could_be_true": "How this could be true",
            "anchors": "Anchors",
            "third_alternative": "Third alternative",
            "references": REFERENCES,
        },
        3,
    ),
    Layout(PREDICTIONS_TABLE, "3. Predictions Table", {"references": REFERENCES}, 3),
    Layout(
        DISCRIMINATIVE_TESTS,
        "4. Discriminative Tests",
        {
            "procedure": "Procedure",
            "discriminates": "Discriminates",
            "expected_outcomes": "Expected outcomes",
            "potency_check": "Potency check",
            "feasibility": "Feasibility",
            "score": "Evidence-per-week score",
            "references": REFERENCES,
        },
        2,
    ),
    Layout(
        ASSUMPTION_LEDGER,
        "5. Assumption Ledger",
        {
            "statement": "Statement",
            "load": "Load",
            "test": "Test",
            "calculation": "Calculation",
            "implication": "Implication",
            "status": "Status",
            "scale_check": "Scale check",
            "references": REFERENCES,
        },
        3,
    ),
    Layout(
        ANOMALY_REGISTER,
        "6. Anomaly Register",
        {
            "observation": "Observation",
            "conflicts_with": "Conflicts with",
            "status": "Quarantine status",
            "resolution_plan": "Resolution plan",
            "references": REFERENCES,
        },
        0,
    ),
    Layout(
        ADVERSARIAL_CRITIQUE,
        "7. Adversarial Critique",
        {
            "attack": "Attack",
            "evidence": "Evidence",
            "why_it_might_be_right": "Why it might be right",
            "current_status": "Current status",
            "real_third_alternative": "Real third alternative",
            "references": REFERENCES,
        },
        2,
    ),
)
LAYOUT_OF = {layout.section.id: layout for layout in LAYOUT}
# **Evidence-per-week score**: `LR=3, Cost=2, Speed=2, Ambiguity=3`
SCORE_LABELS = dict(zip(SCORE_PARTS, ("LR", "Cost", "Speed", "Ambiguity"), strict=True))
ID_COLUMN, CONDITION_COLUMN = "ID", "Observation/Condition"
