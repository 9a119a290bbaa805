"""Sample deltas and messages that the examples of several codes share."""

HYPOTHESIS = """\
{
  "operation": "ADD",
  "section": "hypothesis_slate",
  "target_id": null,
  "payload": {
    "name": "Epigenetic memory",
    "claim": "Cells inherit chromatin state",
    "mechanism": "Histone marks survive division",
    "anchors": ["§42"]
  },
  "rationale": "A mechanism outside the dichotomy"
}"""
EDIT = """\
{
  "operation": "EDIT",
  "section": "discriminative_tests",
  "target_id": "T1",
  "payload": {"score": {"likelihood_ratio": 2, "cost": 3}},
  "rationale": "The assay became cheaper"
}"""
PREDICTION = """\
{
  "operation": "ADD",
  "section": "predictions_table",
  "target_id": null,
  "payload": {
    "condition": "The marks are inhibited",
    "predictions": {"H1": "no effect", "H2": "fate is lost"}
  },
  "rationale": "It separates H1 from H2"
}"""
REFERENCES = EDIT.replace(
    '{"score": {"likelihood_ratio": 2, "cost": 3}}',
    '{"references": [\n    {"session": "RS-20251228-initial", "item": "T3", '
    '"relation": "replicates"}\n  ]}',
)


def delta_message(*blocks: str) -> str:
    """Return a DELTA message with these blocks."""
    fenced = "\n\n".join(f"```delta\n{block}\n```" for block in blocks)
    return f"Subject: DELTA[opus]: Added a hypothesis\n\n# Delta Contribution\n\n{fenced}\n"


KICKOFF_MESSAGE = """\
Subject: KICKOFF: Cell fate investigation

# Cell fate

## Research Question
How do cells decide their fate?

## Context
Two models compete.

## Excerpt
§42: "lineage or gradient"
"""
COMPILED_MESSAGE = """\
Subject: COMPILED: v1 initial artifact

# Compiled Artifact v1

## Metadata
- **Thread ID**: RS-20251230-cell-fate-dichotomy
- **Compiled At**: 2025-12-30T14:00:00Z

## Contributors
- BlueLake

## Statistics
- Hypotheses: 3

## Validation Status
- Linter: 0 warnings, 0 errors

## Persistence
- **Artifact Path**: `artifacts/RS-20251230-cell-fate-dichotomy.md`

## Full Artifact
[the file](artifacts/RS-20251230-cell-fate-dichotomy.md)
"""
CRITIQUE_MESSAGE = """\
Subject: CRITIQUE: A2 is weak

# Critique: A2

## Target
A2, the stable gradient

## Attack
Gradients in tissue decay within minutes.

## Severity
Major
"""
HANDOFF_MESSAGE = """\
Subject: HANDOFF: bb-5so to RedLake

# Work Handoff

## Item
bb-5so

## From
BlueLake

## To
RedLake

## State
Half done.
"""
DELTA_MESSAGE = """\
Subject: DELTA[opus]: H1 killed

# Delta Contribution

## Deltas

```delta
{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H1",
 "payload": {"reason": "refuted by T1"}, "rationale": "T1 came out negative"}
```
"""
QUESTION_MESSAGE = """\
Subject: QUESTION: Which rubric?

# Question

## Question
Which rubric applies?

## Urgency
Soon
"""
BLOCKED_MESSAGE = """\
Subject: BLOCKED: bb-5so

# Work Blocked

## Item
bb-5so

## Blocker
The schema is unclear.

## Type
Question
"""
ACK_MESSAGE = """\
Subject: ACK: kickoff

# Acknowledgement

## Message ID
12

## Status
Received
"""
