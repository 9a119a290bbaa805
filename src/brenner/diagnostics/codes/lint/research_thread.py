"""Lint rules about the research thread (R)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_THREAD = "companion, The artifact; companion, Lint; R15"

ER_001 = Code(
    id="ER-001",
    severity=ERROR,
    title="The research thread has no question",
    message="The research thread has no question (**RT**).",
    fix="Send an EDIT (`research_thread`, `RT`) with `statement`: one sentence that an "
    "observation could answer with no.",
    why="Everything else in the artifact answers this question. Whether it can be proved wrong is "
    "for people to judge; the rule only sees that there is one.",
    spec=_THREAD,
    example=Example(
        "text",
        "## 1. Research Thread\n\n**Context**: Transplanted cells keep their fate.",
        "## 1. Research Thread\n\n**RT**: Do cells fix their fate by counting divisions?\n"
        "**Context**: Transplanted cells keep their fate.",
    ),
)
ER_002 = Code(
    id="ER-002",
    severity=ERROR,
    title="The research thread has no context",
    message="The research thread has no context.",
    fix="Send an EDIT (`research_thread`, `RT`) with `context`: two to four sentences on what is "
    "known and what is in dispute.",
    why="Agents and later readers have only the artifact. Without the background they cannot see "
    "why the question is open.",
    spec=_THREAD,
    example=Example(
        "text",
        "**RT**: Do cells fix their fate by counting divisions?",
        "**RT**: Do cells fix their fate by counting divisions?\n"
        "**Context**: Transplanted cells keep their fate late, but not early.",
    ),
)
WR_001 = Code(
    id="WR-001",
    severity=WARNING,
    title="The research thread has no anchors",
    message="The research thread has no anchors.",
    fix="Send an EDIT (`research_thread`, `RT`) with `anchors`: the sections that the question "
    'comes from, such as `["§42"]`, or `["inference"]` where there is no source.',
    why="Anchors let a reader go back to the source and see whether the question was in it.",
    spec="companion, Anchors; companion, Lint",
    also=("WP-P01",),
    example=Example(
        "text",
        "**RT**: Do cells fix their fate by counting divisions?",
        "**RT**: Do cells fix their fate by counting divisions?\n**Anchors**: §42, §57",
    ),
)
IR_001 = Code(
    id="IR-001",
    severity=INFO,
    title="The research thread does not say why it matters",
    message="The research thread does not say why it matters.",
    fix="Send an EDIT (`research_thread`, `RT`) with `why_it_matters`: what would change with the "
    "answer.",
    why="Tests cost time and money. Whoever chooses among them wants to know what the answer is "
    "worth.",
    spec=_THREAD,
    example=Example(
        "text",
        "**RT**: Do cells fix their fate by counting divisions?",
        "**RT**: Do cells fix their fate by counting divisions?\n"
        "**Why it matters**: If they do, grafts must be timed by division, not by day.",
    ),
)

CODES = (ER_001, ER_002, WR_001, IR_001)
