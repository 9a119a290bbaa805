"""The lint rules of the companion, part 3, one file per section of the artifact."""

from brenner.diagnostics.codes.lint import (
    across,
    anomalies,
    assumptions,
    critiques,
    hypotheses,
    metadata,
    predictions,
    research_thread,
    structure,
    tests,
)

CODES = (
    *metadata.CODES,
    *structure.CODES,
    *research_thread.CODES,
    *hypotheses.CODES,
    *predictions.CODES,
    *tests.CODES,
    *assumptions.CODES,
    *anomalies.CODES,
    *critiques.CODES,
    *across.CODES,
)
