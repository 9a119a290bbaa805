"""The ten message types as a table: purpose, body sections, whether an ACK is required.

The checker, the templates and the documentation all read this table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import publishing as publishing_codes
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.subjects import parse_subject

if TYPE_CHECKING:
    from brenner.diagnostics.model import Code
    from brenner.protocol.messages import Message

# Placeholders in templates. Those in headers and names must be valid values themselves.
UNFILLED_TEXT = "[[fill in: "
UNFILLED_NAME = "FillInName"
UNFILLED_TOPIC = "fill-in-the-topic"


def placeholder(what: str) -> str:
    """Return the text that a template contains where the author has to fill something in."""
    return f"{UNFILLED_TEXT}{what}]]"


PLACEHOLDER = lazy_pattern(
    rf"{re.escape(UNFILLED_TEXT)}[^\[\]\n]{{1,200}}\]\]|{UNFILLED_NAME}|{UNFILLED_TOPIC}"
)


RequiredContent = Literal["a citation", "counts", "entries"]


class SectionRule(NamedTuple):
    """The rule for one section of a body.

    `missing` is the code to report if the section is absent; None means optional. `values` lists
    the values that the section may begin with. `is_agent` means that it contains an agent's name.
    `holds` is the content it must have. If the section is absent, the section `instead`, or the
    title if `title_counts`, is accepted in its place. `sample` is the template's text, with
    `{thread_id}`, `{sender}` and `{today}` for values that the template fills in.
    """

    name: str
    asks: str
    missing: Code | None = None
    values: tuple[str, ...] = ()
    is_agent: bool = False
    sample: str = ""
    holds: RequiredContent | None = None
    instead: str = ""
    title_counts: bool = False

    @property
    def placeholder(self) -> str:
        """The template's text for this section."""
        if self.is_agent:
            return UNFILLED_NAME
        if self.values:
            others = [value for value in self.values if value != self.sample]
            return f"{self.sample} {placeholder('or ' + ', '.join(others))}"
        return self.sample or placeholder(self.asks)

    @property
    def asks_with_values(self) -> str:
        """What the author has to write, including the listed values."""
        return f"{self.asks}, one of {', '.join(self.values)}" if self.values else self.asks


# The type's colour in every user interface
ColourRole = Literal["accent", "strong", "positive", "attention", "notice", "quiet"]


class MessageType(NamedTuple):
    """One message type: a row of the message document."""

    name: str
    purpose: str
    title: str
    ack_required: bool
    ack_mismatch: Code
    sections: tuple[SectionRule, ...]
    # The field in which a later round names its version (publish document, Referencing Artifacts)
    version_field: str = ""
    colour: ColourRole = "quiet"


_REQUIRED = messages_codes.MISSING_SECTION
_RECOMMENDED = messages_codes.MISSING_RECOMMENDED_SECTION

_STATISTICS = "\n".join(
    f"- {name}: 0"
    for name in (
        *("Research Thread", "Hypotheses", "Predictions", "Tests"),
        *("Assumptions", "Anomalies", "Critiques"),
    )
)
_METADATA = (
    "- **Thread ID**: {thread_id}\n- **Version**: v1\n- **Compiled At**: {today}\n"
    "- **Compiler**: {sender}"
)
_PERSISTENCE = "- **Artifact Path**: `artifacts/{thread_id}.md`\n- **Status**: Draft"
_VALIDATION = "\n".join(
    (
        f"- Schema: {placeholder('PASS or FAIL')}",
        f"- Linter: {placeholder('how many warnings, how many errors')}",
        f"- Third Alternative: {placeholder('Present or MISSING')}",
    )
)
_ARTIFACT = "artifacts/{thread_id}.md " + placeholder("or the artifact itself, in one fenced block")

ACK_STATUSES = ("Received", "Understood", "Will Action", "Completed")
SEVERITIES = ("Critical", "Major", "Minor")
BLOCKER_TYPES = ("Dependency", "Question", "Resource", "External")
URGENCIES = ("Blocking", "Soon", "Whenever")

KICKOFF = MessageType(
    name="KICKOFF",
    colour="accent",
    purpose="start a research session or a work item",
    title=placeholder("title of the session"),
    ack_required=True,
    ack_mismatch=messages_codes.MB_010,
    sections=(
        SectionRule(
            "Research Question",
            "one falsifiable sentence",
            messages_codes.MB_002,
            title_counts=True,
        ),
        SectionRule(
            "Context",
            "two to four sentences of background",
            messages_codes.MB_003,
            instead="Current State",
        ),
        SectionRule(
            "Excerpt",
            "passages of the source, each with its section number, such as §42",
            _RECOMMENDED,
            holds="a citation",
        ),
        SectionRule("Initial Hypotheses", "hypotheses to start from, if any"),
        SectionRule("Constraints", "limits of time, scope or focus"),
        SectionRule("Requested Outputs", "what the recipients should deliver"),
    ),
    version_field="Base Artifact",
)
DELTA = MessageType(
    name="DELTA",
    colour="strong",
    purpose="contribute to the artifact",
    title="Delta Contribution",
    ack_required=False,
    ack_mismatch=messages_codes.ACK_MISMATCH,
    sections=(SectionRule("Deltas", "one fenced delta block per operation"),),
    version_field="Base Version",
)
COMPILED = MessageType(
    name="COMPILED",
    colour="positive",
    purpose="publish a version of the artifact",
    title="Compiled Artifact v1",
    ack_required=False,
    ack_mismatch=messages_codes.ACK_MISMATCH,
    sections=(
        SectionRule("Metadata", "thread, version, time and compiler", sample=_METADATA),
        SectionRule("Summary", "what changed in this version"),
        SectionRule(
            "Contributors",
            "the agents whose deltas were merged",
            publishing_codes.AP_004,
            holds="entries",
        ),
        SectionRule(
            "Statistics",
            "the number of items in each section",
            publishing_codes.AP_007,
            sample=_STATISTICS,
            holds="counts",
        ),
        SectionRule(
            "Validation Status",
            "the results of the linter",
            publishing_codes.AP_008,
            sample=_VALIDATION,
        ),
        SectionRule("Persistence", "the path of the artifact", sample=_PERSISTENCE),
        SectionRule("Full Artifact", "the artifact, or a link to it", sample=_ARTIFACT),
    ),
)
CRITIQUE = MessageType(
    name="CRITIQUE",
    colour="attention",
    purpose="attack the current artifact",
    title="Critique: " + placeholder("title"),
    ack_required=True,
    ack_mismatch=messages_codes.ACK_MISMATCH,
    sections=(
        SectionRule("Target", "the item or section under attack", messages_codes.MB_006),
        SectionRule("Attack", "the challenge itself", messages_codes.MB_007),
        SectionRule("Evidence", "why it should be taken seriously"),
        SectionRule("Proposed Resolution", "a fix or an investigation"),
        SectionRule("Severity", "how serious it is", _RECOMMENDED, SEVERITIES, sample="Major"),
    ),
    version_field="Artifact Version",
)
ACK = MessageType(
    name="ACK",
    purpose="confirm receipt or completion",
    title="Acknowledgement",
    ack_required=False,
    ack_mismatch=messages_codes.MB_009,
    sections=(
        SectionRule("Message ID", "the ID of the message that is acknowledged", _RECOMMENDED),
        SectionRule("Status", "your progress", _REQUIRED, ACK_STATUSES, sample="Received"),
        SectionRule("Notes", "anything to add"),
    ),
)
CLAIM = MessageType(
    name="CLAIM",
    purpose="take a task or bead",
    title="Work Claim",
    ack_required=False,
    ack_mismatch=messages_codes.ACK_MISMATCH,
    sections=(
        SectionRule("Item", "the task, or its bead ID", _REQUIRED),
        SectionRule("Agent", "the name of the agent that takes it", _REQUIRED, is_agent=True),
        SectionRule("Estimated Duration", "how long it may take"),
        SectionRule("Approach", "how it will be done"),
    ),
)
HANDOFF = MessageType(
    name="HANDOFF",
    colour="notice",
    purpose="pass work to another agent",
    title="Work Handoff",
    ack_required=True,
    ack_mismatch=messages_codes.ACK_MISMATCH,
    sections=(
        SectionRule("Item", "the task, or its bead ID", _REQUIRED),
        SectionRule("From", "the agent that hands over", messages_codes.MB_008, is_agent=True),
        SectionRule("To", "the agent that takes over", messages_codes.MB_008, is_agent=True),
        SectionRule("Reason", "why it is handed over"),
        SectionRule("State", "the progress so far", _RECOMMENDED),
        SectionRule("Files Modified", "the files touched so far"),
        SectionRule("Next Steps", "what to do next"),
    ),
)
BLOCKED = MessageType(
    name="BLOCKED",
    colour="attention",
    purpose="report a blocker",
    title="Work Blocked",
    ack_required=True,
    ack_mismatch=messages_codes.MB_012,
    sections=(
        SectionRule("Item", "the task, or its bead ID", _REQUIRED),
        SectionRule("Blocker", "what blocks the work", _REQUIRED),
        SectionRule(
            "Type", "the kind of blocker", _RECOMMENDED, BLOCKER_TYPES, sample="Dependency"
        ),
        SectionRule("Attempted", "what was tried"),
        SectionRule("Needed", "what would unblock it"),
    ),
)
QUESTION = MessageType(
    name="QUESTION",
    colour="notice",
    purpose="ask the operator or another agent",
    title="Question",
    ack_required=True,
    ack_mismatch=messages_codes.MB_011,
    sections=(
        SectionRule("Context", "what the reader must know to answer"),
        SectionRule("Question", "the question itself", _REQUIRED),
        SectionRule("Options", "possible answers"),
        SectionRule("Impact", "what depends on the answer"),
        SectionRule("Urgency", "how soon", _RECOMMENDED, URGENCIES, sample="Soon"),
    ),
)
INFO = MessageType(
    name="INFO",
    purpose="inform, without requesting action",
    title="Information",
    ack_required=False,
    ack_mismatch=messages_codes.ACK_MISMATCH,
    sections=(),
)

TYPES = {
    row.name: row
    for row in (
        KICKOFF,
        DELTA,
        COMPILED,
        CRITIQUE,
        ACK,
        CLAIM,
        HANDOFF,
        BLOCKED,
        QUESTION,
        INFO,
    )
}


def wants_ack(message: Message) -> bool:
    """Return whether recipients must send an ACK: the sender's choice or the type's (R3)."""
    if message.ack_required is not None:
        return message.ack_required
    subject = parse_subject(message.subject)
    return TYPES[subject.type].ack_required if subject else False
