"""What an artifact still lacks after a merge, as warnings (companion, Merging)."""

from collections.abc import Collection, Iterator, Mapping

from brenner.artifact.layout import LAYOUT
from brenner.artifact.model import Artifact
from brenner.diagnostics.codes import lint_sections as lint_sections_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.schema import ASSUMPTION_LEDGER, HYPOTHESIS_SLATE, RESEARCH_THREAD

# The lint rule that says the same of the section
_LEAST_RULES = {
    "hypothesis_slate": lint_sections_codes.EH_001,
    "predictions_table": lint_sections_codes.EP_001,
    "discriminative_tests": lint_sections_codes.ET_001,
    "assumption_ledger": lint_sections_codes.EA_001,
    "adversarial_critique": lint_sections_codes.EC_001,
}


def shortcomings(artifact: Artifact, has_question: bool) -> Iterator[Diagnostic]:
    """No question, too few items, no third alternative, no scale check."""
    if not has_question and not artifact.research_thread.text("statement"):
        yield merging_codes.NO_KICKOFF.at(thread_id=artifact.metadata.session_id or "")
    for layout in LAYOUT:
        if layout.section is RESEARCH_THREAD:
            continue
        count = len(artifact.active(layout.section))
        if count < layout.least:
            section = layout.section.id
            found = merging_codes.BELOW_MINIMUM.at(section=section, count=count, least=layout.least)
            yield found._replace(also=(_LEAST_RULES[section].id,))
    hypotheses = artifact.active(HYPOTHESIS_SLATE)
    if not any("third_alternative" in item.fields for item in hypotheses):
        yield merging_codes.NO_THIRD_ALTERNATIVE.at()
    if not any("scale_check" in item.fields for item in artifact.active(ASSUMPTION_LEDGER)):
        yield merging_codes.NO_SCALE_CHECK.at()


def unknown_agents(
    senders: Mapping[str, int], roster: Collection[str] | None, operator: str
) -> Iterator[Diagnostic]:
    """The senders, each with her first message, who are not in the session's roster."""
    if roster is None:
        return
    for name, message_id in senders.items():
        if name not in roster and name != operator:
            yield merging_codes.UNKNOWN_AGENT.at(name=name)._replace(message_id=message_id)
