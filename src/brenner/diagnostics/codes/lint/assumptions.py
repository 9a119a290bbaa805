"""Lint rules about the assumption ledger (A)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_LEDGER = "companion, The artifact; companion, Lint"

EA_001 = Code(
    id="EA-001",
    severity=ERROR,
    title="Too few assumptions",
    message="Too few active assumptions: {count}; the least is {least}.",
    fix="Send an ADD to `assumption_ledger` with `name`, `statement`, `load`, `test` and `status`.",
    why="Every line of reasoning rests on more than it says. What is not written down is never "
    "checked.",
    spec=_LEDGER,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        "### A1: Stable gradient\n…\n\n### A2: Grafts heal\n…",
        "### A1: Stable gradient\n…\n\n### A2: Grafts heal\n…\n\n### A3: Diffusion is fast\n…",
    ),
)
EA_002 = Code(
    id="EA-002",
    severity=ERROR,
    title="No scale check",
    message="No active assumption is marked as a scale check.",
    fix="Send an ADD to `assumption_ledger` with `scale_check` set to true and the numbers under "
    "`calculation`, or an EDIT that gives both to the assumption that is one.",
    why="Many explanations fail on size, time or energy before any experiment. One check with "
    "numbers finds that out for nothing.",
    spec=_LEDGER,
    also=("NO_SCALE_CHECK",),
    example=Example(
        "text",
        "### A3: Diffusion is fast\n**Statement**: The signal crosses the tissue in time.",
        "### A3: Diffusion is fast\n**Statement**: The signal crosses the tissue in time.\n"
        "**Calculation**: (100 µm)² / (2 · 10 µm²/s) = 500 s\n**Scale check**: true",
    ),
)
EA_003 = Code(
    id="EA-003",
    severity=ERROR,
    title="An assumption has no statement",
    message="`{id}` has no statement.",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `statement`: the sentence that is taken "
    "to be true.",
    why="A name does not say what is assumed, so nobody can check it.",
    spec=_LEDGER,
    example=Example(
        "text",
        "### A1: Stable gradient\n**Load**: H2 falls.",
        "### A1: Stable gradient\n**Statement**: The gradient keeps its shape for a day.\n"
        "**Load**: H2 falls.",
    ),
)
WA_001 = Code(
    id="WA-001",
    severity=WARNING,
    title="An assumption does not say what rests on it",
    message="`{id}` does not say what breaks if it is wrong (**Load**).",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `load`: the items that fall with it.",
    why="The load tells which assumption to check first.",
    spec=_LEDGER,
    example=Example(
        "text",
        "**Statement**: The gradient keeps its shape for a day.",
        "**Statement**: The gradient keeps its shape for a day.\n**Load**: H2 and T1 fall.",
    ),
)
WA_002 = Code(
    id="WA-002",
    severity=WARNING,
    title="An assumption does not say how to check it",
    message="`{id}` does not say how to check it (**Test**).",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `test`: the observation or the sum that "
    "would show it wrong.",
    why="An assumption that cannot be checked is a belief. It may stay, but one should know.",
    spec=_LEDGER,
    example=Example(
        "text",
        "**Load**: H2 and T1 fall.",
        "**Load**: H2 and T1 fall.\n**Test**: Image the gradient hourly for a day.",
    ),
)
WA_003 = Code(
    id="WA-003",
    severity=WARNING,
    title="A scale check has no calculation",
    message="`{id}` is marked as a scale check but has no calculation.",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `calculation`: the quantities, their "
    "units and the result. Say under `implication` what follows from it.",
    why="Without the calculation nobody can repeat the check or find the slip in it.",
    spec=_LEDGER,
    example=Example(
        "text",
        "**Statement**: The signal crosses the tissue in time.\n**Scale check**: true",
        "**Statement**: The signal crosses the tissue in time.\n"
        "**Calculation**: (100 µm)² / (2 · 10 µm²/s) = 500 s\n**Scale check**: true",
    ),
)
IA_001 = Code(
    id="IA-001",
    severity=INFO,
    title="The status of an assumption is missing or not valid",
    message="The status of `{id}` is not one of `unchecked`, `verified`, `falsified`: {reason}.",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `status`: `unchecked`, `verified` or "
    "`falsified`.",
    why="The status shows what is still open. Other words cannot be counted.",
    spec="delta_output_format_v0.1, assumption_ledger; companion, Lint",
    example=Example("text", "**Status**: probably fine", "**Status**: unchecked"),
)

CODES = (EA_001, EA_002, EA_003, WA_001, WA_002, WA_003, IA_001)
