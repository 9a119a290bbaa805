"""Lint rules about the adversarial critique (C)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_CRITIQUE = "companion, The artifact; companion, Lint"

EC_001 = Code(
    id="EC-001",
    severity=ERROR,
    title="Too few critiques",
    message="Too few active critiques: {count}; the least is {least}.",
    fix="Send an ADD to `adversarial_critique` with `name`, `attack`, `evidence` and "
    "`current_status`.",
    why="A framing that nobody has attacked has not been tested. One attack is often the easy one.",
    spec=_CRITIQUE,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        "### C1: The dichotomy is false\n…",
        "### C1: The dichotomy is false\n…\n\n### C2: Fate is read too late\n…",
    ),
)
EC_002 = Code(
    id="EC-002",
    severity=ERROR,
    title="A critique has no attack",
    message="`{id}` has no attack.",
    fix="Send an EDIT (`adversarial_critique`, `{id}`) with `attack`: how the framing could be "
    "wrong.",
    why="Only what is spelled out can be answered.",
    spec=_CRITIQUE,
    example=Example(
        "text",
        "### C1: The dichotomy is false\n**Current status**: Taken seriously.",
        "### C1: The dichotomy is false\n"
        "**Attack**: Lineage and position may be two readings of one clock.\n"
        "**Current status**: Taken seriously.",
    ),
)
WC_001 = Code(
    id="WC-001",
    severity=WARNING,
    title="No critique is a real third alternative",
    message="No active critique is marked as a real third alternative.",
    fix="Send an ADD to `adversarial_critique` with `real_third_alternative` set to true, or an "
    "EDIT that sets it on the critique that is one.",
    why="The strongest attack on a framing is another framing. Whether the one offered is real is "
    "for people to judge; the rule only sees the mark.",
    spec=_CRITIQUE,
    example=Example(
        "text",
        "### C1: The dichotomy is false\n"
        "**Attack**: Lineage and position may be two readings of one clock.",
        "### C1: The dichotomy is false\n"
        "**Attack**: Lineage and position may be two readings of one clock.\n"
        "**Real third alternative**: true",
    ),
)
WC_002 = Code(
    id="WC-002",
    severity=WARNING,
    title="A critique has no evidence",
    message="`{id}` does not say what would confirm it (**Evidence**).",
    fix="Send an EDIT (`adversarial_critique`, `{id}`) with `evidence`: what one would see if the "
    "attack were right.",
    why="Without it the attack can be neither followed up nor put to rest.",
    spec=_CRITIQUE,
    example=Example(
        "text",
        "**Attack**: Lineage and position may be two readings of one clock.",
        "**Attack**: Lineage and position may be two readings of one clock.\n"
        "**Evidence**: Stopping the clock would freeze both markers.",
    ),
)
IC_001 = Code(
    id="IC-001",
    severity=INFO,
    title="A critique has no current status",
    message="`{id}` does not say how seriously it is taken (**Current status**).",
    fix="Send an EDIT (`adversarial_critique`, `{id}`) with `current_status`. One that begins with "
    "`Resolved` closes the critique.",
    why="A critique without a status stays open, and the next round is asked to answer it again.",
    spec="companion, The artifact; companion, Lint; rulings, Small decisions",
    example=Example(
        "text",
        "**Evidence**: Stopping the clock would freeze both markers.",
        "**Evidence**: Stopping the clock would freeze both markers.\n"
        "**Current status**: Open, T3 would answer it.",
    ),
)

CODES = (EC_001, EC_002, WC_001, WC_002, IC_001)
