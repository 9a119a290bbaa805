"""Deltas and messages that the examples of several codes are made from."""

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


def message(*blocks: str) -> str:
    """A DELTA message with these blocks."""
    fenced = "\n\n".join(f"```delta\n{block}\n```" for block in blocks)
    return f"Subject: DELTA[opus]: Added a hypothesis\n\n# Delta Contribution\n\n{fenced}\n"
