"""Messages to measure with: the kinds of deltas that a session has, in its proportions."""

import json

HEADERS = """\
Thread: RS-20251230-cell-fate-dichotomy
From: BlueLake
To: Operator
Subject: DELTA[opus]: Contributions

"""
DELTAS: tuple[dict[str, object], ...] = (
    {
        "operation": "ADD",
        "section": "hypothesis_slate",
        "target_id": None,
        "payload": {
            "name": "Epigenetic memory",
            "claim": "Cells use the inheritance of chromatin state to settle their fate",
            "mechanism": "Histone marks that survive division carry a memory of position",
            "anchors": ["§42", "inference"],
        },
        "rationale": "A mechanism that fits neither lineage nor gradient",
    },
    {
        "operation": "ADD",
        "section": "discriminative_tests",
        "target_id": None,
        "payload": {
            "name": "Chromatin inheritance assay",
            "procedure": "Follow H3K27me3 through division in transplanted cells, and score "
            "whether the marks go with the old or with the new position.",
            "discriminates": "H3 vs H1/H2",
            "expected_outcomes": {
                "H1": "The marks go with lineage",
                "H2": "The marks go with position",
                "H3": "The marks stay",
            },
            "potency_check": "Known marks are detected in controls",
            "score": {"likelihood_ratio": 2, "cost": 2, "speed": 1, "ambiguity": 2},
        },
        "rationale": "It goes for H3",
    },
    {
        "operation": "ADD",
        "section": "predictions_table",
        "target_id": None,
        "payload": {
            "condition": "An inhibitor of the marks is given",
            "predictions": {"H1": "No effect: lineage", "H2": "No effect", "H3": "Fate is lost"},
        },
        "rationale": "It separates H3 from the others",
    },
    {
        "operation": "EDIT",
        "section": "discriminative_tests",
        "target_id": "T1",
        "payload": {"potency_check": "Late transplants, and viability by a vital dye"},
        "rationale": "A stronger control",
    },
    {
        "operation": "KILL",
        "section": "hypothesis_slate",
        "target_id": "H2",
        "payload": {"reason": "A special case of H4"},
        "rationale": "H4 explains what H2 did",
    },
)


def blocks(count: int) -> list[str]:
    """The JSON of so many deltas, written as agents write it."""
    return [
        json.dumps(DELTAS[index % len(DELTAS)], ensure_ascii=False, indent=2)
        for index in range(count)
    ]


def body(count: int) -> str:
    """A body with so many delta blocks."""
    fenced = "\n\n".join(f"```delta\n{text}\n```" for text in blocks(count))
    return f"# Delta Contribution\n\n## Deltas\n\n{fenced}\n"


def message(count: int) -> str:
    """A DELTA message with so many blocks."""
    return HEADERS + body(count)
