"""Lint rules about the anomaly register (X)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_REGISTER = "companion, The artifact; companion, Lint"

EX_001 = Code(
    id="EX-001",
    severity=ERROR,
    title="The anomaly register is missing",
    message="The section `## 6. Anomaly Register` is missing.",
    fix="Add the heading `## 6. Anomaly Register` between sections 5 and 7, with the anomalies "
    "under it, or the words `None registered`.",
    why="This is the one section that may be empty, and so the one that is most easily left out. "
    "The rule applies to files only.",
    spec=_REGISTER,
    also=("ES-001",),
    example=Example(
        "text",
        "## 5. Assumption Ledger\n…\n\n## 7. Adversarial Critique\n…",
        "## 5. Assumption Ledger\n…\n\n## 6. Anomaly Register\n\nNone registered\n\n"
        "## 7. Adversarial Critique\n…",
    ),
)
EX_002 = Code(
    id="EX-002",
    severity=ERROR,
    title="The anomaly register is empty and does not say so",
    message="The anomaly register is empty but does not say `None registered`.",
    fix="Write `None registered` under the heading, or send an ADD to `anomaly_register` with "
    "`name`, `observation`, `conflicts_with` and `status`.",
    why="The words show that somebody looked. A blank may also be an accident. The rule applies "
    "to files only, as a compiled version says it by itself.",
    spec=_REGISTER,
    example=Example("text", "## 6. Anomaly Register", "## 6. Anomaly Register\n\nNone registered"),
)
WX_001 = Code(
    id="WX-001",
    severity=WARNING,
    title="An anomaly has no observation",
    message="`{id}` does not say what was observed.",
    fix="Send an EDIT (`anomaly_register`, `{id}`) with `observation`: what was seen, where and "
    "by whom.",
    why="An anomaly is a fact that does not fit. Without the fact there is nothing to explain.",
    spec=_REGISTER,
    example=Example(
        "text",
        "### X1: Late switchers\n**Conflicts with**: H1",
        "### X1: Late switchers\n**Observation**: 3 of 40 late grafts took the new fate.\n"
        "**Conflicts with**: H1",
    ),
)
WX_002 = Code(
    id="WX-002",
    severity=WARNING,
    title="An anomaly does not say what it conflicts with",
    message="`{id}` does not say what it conflicts with.",
    fix="Send an EDIT (`anomaly_register`, `{id}`) with `conflicts_with`: the IDs of the "
    'hypotheses and assumptions that it speaks against, such as `["H1", "A2"]`.',
    why="An anomaly counts against something. Without the IDs it is in nobody's way, and stays "
    "unexplained.",
    spec=_REGISTER,
    example=Example(
        "text",
        "**Observation**: 3 of 40 late grafts took the new fate.",
        "**Observation**: 3 of 40 late grafts took the new fate.\n**Conflicts with**: H1, A2",
    ),
)
IX_001 = Code(
    id="IX-001",
    severity=INFO,
    title="The status of an anomaly is missing or not valid",
    message="The quarantine status of `{id}` is not one of `active`, `resolved`, `deferred`: "
    "{reason}.",
    fix="Send an EDIT (`anomaly_register`, `{id}`) with `status`: `active`, `resolved` or "
    "`deferred`.",
    why="The status tells which anomalies are still open.",
    spec="delta_output_format_v0.1, anomaly_register; companion, Lint",
    example=Example("text", "**Quarantine status**: still open", "**Quarantine status**: active"),
)

CODES = (EX_001, EX_002, WX_001, WX_002, IX_001)
