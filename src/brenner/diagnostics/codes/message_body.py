"""Codes of the message body schema (MB-001 … MB-012) and of ruling R3."""

from brenner.diagnostics.codes.examples import (
    ACK_MESSAGE,
    BLOCKED_MESSAGE,
    COMPILED_MESSAGE,
    CRITIQUE_MESSAGE,
    DELTA_MESSAGE,
    HANDOFF_MESSAGE,
    KICKOFF_MESSAGE,
    QUESTION_MESSAGE,
)
from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_DOCUMENT = "message_body_schema_v0.1"
_RULES = f"{_DOCUMENT}, Machine-Checkable Rules"
_ACKS = f"{_DOCUMENT}, ACK Semantics Summary; R3"


def _with_ack(message: str, value: str) -> str:
    return f"Ack-Required: {value}\n{message}"


MB_001 = Code(
    id="MB-001",
    severity=ERROR,
    title="The subject has no valid prefix",
    message="The subject has no valid prefix.",
    fix="Begin the subject with one of the ten prefixes.",
    why="The prefix is the type of the message, and the type decides how its body is read. "
    "Reported as INVALID_SUBJECT_PREFIX.",
    spec=_RULES,
    example=Example("subject", "Re: KICKOFF: Cell fate", "ACK: Cell fate"),
)
MB_002 = Code(
    id="MB-002",
    severity=ERROR,
    title="A KICKOFF without a research question",
    message="The KICKOFF has no research question: neither `## Research Question` nor a title "
    "has text.",
    fix="Add a section `## Research Question` with one sentence that could turn out false.{hint}",
    why="The question becomes the artifact's research thread; without it a session is about "
    "nothing.",
    spec=f"{_RULES}; R3, R15",
    example=Example(
        "message",
        KICKOFF_MESSAGE.replace("# Cell fate\n\n", "").replace(
            "How do cells decide their fate?\n", ""
        ),
        KICKOFF_MESSAGE,
    ),
)
MB_003 = Code(
    id="MB-003",
    severity=ERROR,
    title="A KICKOFF without context",
    message="The KICKOFF has no context: `## Context` is missing or empty.",
    fix="Add a section `## Context` with two to four sentences of background (in a later round, "
    "`## Current State` counts).{hint}",
    why="Agents share nothing but the mail: what is not in the kickoff they do not know.",
    spec=f"{_RULES}; R3",
    example=Example("message", KICKOFF_MESSAGE.replace("## Context\n", ""), KICKOFF_MESSAGE),
)
MB_004 = Code(
    id="MB-004",
    severity=ERROR,
    title="A DELTA without a delta block",
    message="The DELTA message has no delta block, so it contributes nothing.",
    fix="Put each operation into a fenced code block that begins with ```delta at the start of a "
    "line and ends with ```.",
    why="Only delta blocks are compiled. A contribution in prose, in a `json` fence or inside "
    "another fence would be lost.",
    spec=f"{_RULES}; delta_output_format_v0.1, Failure Mode 1; R4",
    example=Example("message", DELTA_MESSAGE.replace("```delta", "```text"), DELTA_MESSAGE),
)
MB_005 = Code(
    id="MB-005",
    severity=ERROR,
    title="A delta block that is not JSON",
    message="A delta block is not valid JSON.",
    fix="Mend the JSON at the line given.",
    why="A block that cannot be read is refused whole. Reported under a code that says what is "
    "wrong with the JSON.",
    spec=f"{_RULES}; R5",
    example=Example("message", DELTA_MESSAGE.replace('"}\n```', '",}\n```'), DELTA_MESSAGE),
)
MB_006 = Code(
    id="MB-006",
    severity=ERROR,
    title="A CRITIQUE without a target",
    message="The CRITIQUE has no target: `## Target` is missing or empty.",
    fix="Add a section `## Target` that names the item or section under attack, and the artifact "
    "version.{hint}",
    why="An attack on nothing in particular cannot be answered.",
    spec=f"{_RULES}; R3",
    example=Example("message", CRITIQUE_MESSAGE.replace("## Target\n", ""), CRITIQUE_MESSAGE),
)
MB_007 = Code(
    id="MB-007",
    severity=ERROR,
    title="A CRITIQUE without an attack",
    message="The CRITIQUE has no attack: `## Attack` is missing or empty.",
    fix="Add a section `## Attack` with the challenge itself.{hint}",
    why="The attack is what the critique is for.",
    spec=f"{_RULES}; R3",
    example=Example("message", CRITIQUE_MESSAGE.replace("## Attack\n", ""), CRITIQUE_MESSAGE),
)
MB_008 = Code(
    id="MB-008",
    severity=ERROR,
    title="A HANDOFF without both agents",
    message="The HANDOFF does not say {whom}: `## {section}` {reason}.",
    fix="Add a section `## {section}` with one agent's name.{hint}",
    why="Work that is handed over by nobody, or to nobody, is dropped.",
    spec=f"{_RULES}; R3",
    example=Example("message", HANDOFF_MESSAGE.replace("## To\nRedLake\n\n", ""), HANDOFF_MESSAGE),
)
MB_009 = Code(
    id="MB-009",
    severity=WARNING,
    title="An ACK that asks for an acknowledgement",
    message="This ACK asks to be acknowledged itself.",
    fix="Leave `Ack-Required` out, or set it to false.",
    why="Acknowledgements of acknowledgements never end.",
    spec=_RULES,
    example=Example("message", _with_ack(ACK_MESSAGE, "true"), ACK_MESSAGE),
)
MB_010 = Code(
    id="MB-010",
    severity=WARNING,
    title="A KICKOFF that asks for no acknowledgement",
    message="This KICKOFF does not ask to be acknowledged.",
    fix="Leave `Ack-Required` out, or set it to true.",
    why="The operator needs to know that every agent has received the kickoff.",
    spec=_RULES,
    example=Example("message", _with_ack(KICKOFF_MESSAGE, "false"), KICKOFF_MESSAGE),
)
MB_011 = Code(
    id="MB-011",
    severity=WARNING,
    title="A QUESTION that asks for no acknowledgement",
    message="This QUESTION does not ask to be acknowledged.",
    fix="Leave `Ack-Required` out, or set it to true.",
    why="A question that nobody owes an answer to gets none.",
    spec=_RULES,
    example=Example("message", _with_ack(QUESTION_MESSAGE, "false"), QUESTION_MESSAGE),
)
MB_012 = Code(
    id="MB-012",
    severity=WARNING,
    title="A BLOCKED that asks for no acknowledgement",
    message="This BLOCKED does not ask to be acknowledged.",
    fix="Leave `Ack-Required` out, or set it to true.",
    why="Somebody has to take the blocker up.",
    spec=_RULES,
    example=Example("message", _with_ack(BLOCKED_MESSAGE, "false"), BLOCKED_MESSAGE),
)
ACK_MISMATCH = Code(
    id="ACK_MISMATCH",
    severity=WARNING,
    title="Ack-Required contradicts the type",
    message="`Ack-Required: {value}` contradicts what {type} asks for ({expected}).",
    fix="Leave `Ack-Required` out, or set it to {expected}.",
    why="The type decides who owes an answer; the exception may be meant, so it is only a warning.",
    spec=_ACKS,
    example=Example("message", _with_ack(CRITIQUE_MESSAGE, "false"), CRITIQUE_MESSAGE),
)
MISSING_SECTION = Code(
    id="MISSING_SECTION",
    severity=ERROR,
    title="A required section is missing",
    message="The {type} has no `## {section}`, or nothing stands in it.",
    fix="Add a section `## {section}`: {asks}.{hint}",
    why="Each type of message has sections without which its reader cannot act.",
    spec=f"{_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example("message", BLOCKED_MESSAGE.replace("## Blocker\n", ""), BLOCKED_MESSAGE),
)
MISSING_RECOMMENDED_SECTION = Code(
    id="MISSING_RECOMMENDED_SECTION",
    severity=WARNING,
    title="A recommended section is missing",
    message="The {type} has no `## {section}`, or nothing stands in it.",
    fix="Better add a section `## {section}`: {asks}.{hint}",
    why="The message is valid without it, but its reader will miss it.",
    spec=f"{_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example(
        "message", CRITIQUE_MESSAGE.replace("\n## Severity\nMajor\n", ""), CRITIQUE_MESSAGE
    ),
)
INVALID_SECTION_VALUE = Code(
    id="INVALID_SECTION_VALUE",
    severity=ERROR,
    title="A required section has a value outside the list",
    message="`## {section}` says `{value}`, which is not {expected}.",
    fix="Begin the section with {expected}.",
    why="Programs act on this value; one outside the list would be acted on by nobody.",
    spec=f"{_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example("message", ACK_MESSAGE.replace("Received", "Roger"), ACK_MESSAGE),
)
UNLISTED_SECTION_VALUE = Code(
    id="UNLISTED_SECTION_VALUE",
    severity=WARNING,
    title="A recommended section has a value outside the list",
    message="`## {section}` says `{value}`, which is not {expected}.",
    fix="Begin the section with {expected}.",
    why="Lists are sorted and coloured by this value.",
    spec=f"{_DOCUMENT}, Message Types and Body Schemas; R3",
    example=Example("message", CRITIQUE_MESSAGE.replace("Major", "Terrible"), CRITIQUE_MESSAGE),
)
QUESTION_FROM_TITLE = Code(
    id="QUESTION_FROM_TITLE",
    severity=WARNING,
    title="The title stands in for the research question",
    message="There is no `## Research Question`; the title `{title}` is taken for the question.",
    fix="Add a section `## Research Question` with one falsifiable sentence.",
    why="A title is seldom a question that could turn out false.",
    spec=f"{_DOCUMENT}, KICKOFF Messages; R15",
    example=Example(
        "message",
        KICKOFF_MESSAGE.replace("## Research Question\nHow do cells decide their fate?\n", ""),
        KICKOFF_MESSAGE,
    ),
)
EXCERPT_WITHOUT_CITATION = Code(
    id="EXCERPT_WITHOUT_CITATION",
    severity=WARNING,
    title="The excerpt cites nothing",
    message="`## Excerpt` has no citation of the form `§42`.",
    fix='Give the section number of each passage: `§42: "…"`.',
    why="Hypotheses are anchored to sections; agents can only cite what they were given.",
    spec=f"{_DOCUMENT}, KICKOFF Messages",
    example=Example("message", KICKOFF_MESSAGE.replace("§42: ", ""), KICKOFF_MESSAGE),
)
MISSING_VERSION = Code(
    id="MISSING_VERSION",
    severity=ERROR,
    title="A COMPILED without its version",
    message="Neither the title nor `## Summary` of the COMPILED names a version (`v3`).",
    fix="Title the body `# Compiled Artifact v3`, with the version's number.",
    why="Versions are how everybody refers to the artifact.",
    spec=f"{_DOCUMENT}, COMPILED Messages",
    example=Example(
        "message",
        COMPILED_MESSAGE.replace("# Compiled Artifact v1", "# Compiled Artifact"),
        COMPILED_MESSAGE,
    ),
)
MALFORMED_VERSION = Code(
    id="MALFORMED_VERSION",
    severity=WARNING,
    title="A reference to an artifact version is malformed",
    message="`{written}` does not name a version as it must.",
    fix="Write the name in bold, `v` and a number: `**{name}**: v2`. `v0` is the empty artifact "
    "before the first.",
    why="The version says which numbers the author had before her; without it her IDs may be "
    "read otherwise than she meant.",
    spec="artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
    example=Example(
        "message",
        CRITIQUE_MESSAGE.replace("## Target\n", "## Target\n**Artifact Version**: latest\n\n"),
        CRITIQUE_MESSAGE.replace("## Target\n", "## Target\n**Artifact Version**: v2\n\n"),
    ),
)
CONFLICTING_VERSIONS = Code(
    id="CONFLICTING_VERSIONS",
    severity=WARNING,
    title="The message names two versions",
    message="The message names both {first} and {second} as its {name}.",
    fix="Keep the one that you had before you.",
    why="The version says which numbers the author had before her; the first one is taken.",
    spec="artifact_publish_spec_v0.1, Referencing Artifacts in Follow-Up Rounds; R11",
    also=("AP-009",),
    example=Example(
        "message",
        DELTA_MESSAGE.replace(
            "\n## Deltas", "\n**Base Version**: v1\n\n**Base Version**: v2\n\n## Deltas"
        ),
        DELTA_MESSAGE.replace("\n## Deltas", "\n**Base Version**: v2\n\n## Deltas"),
    ),
)
DELTA_NOT_CONTRIBUTED = Code(
    id="DELTA_NOT_CONTRIBUTED",
    severity=WARNING,
    title="A delta block in a message that is not a DELTA",
    message="The delta block is in a {type}, so it will not be compiled.",
    fix="Send it in a message whose subject begins with `DELTA[role]:`.",
    why="Only DELTA messages contribute; a block elsewhere is taken for a quotation.",
    spec="R4",
    example=Example(
        "message",
        DELTA_MESSAGE.replace("DELTA[opus]: H1 killed", "INFO: H1 killed"),
        DELTA_MESSAGE,
    ),
)
PLACEHOLDER_LEFT = Code(
    id="PLACEHOLDER_LEFT",
    severity=WARNING,
    title="A placeholder of the template is still there",
    message="`{placeholder}` is still the template's placeholder.",
    fix="Replace it with your own words, or remove its section if it is optional.",
    why="`brenner new` prints such placeholders; sent as they are they say nothing.",
    spec=f"{_DOCUMENT}, Message Types and Body Schemas",
    example=Example(
        "message",
        CRITIQUE_MESSAGE.replace("A2, the stable gradient", "[[fill in: the item under attack]]"),
        CRITIQUE_MESSAGE,
    ),
)
TEMPLATE_NOT_FILLED_IN = Code(
    id="TEMPLATE_NOT_FILLED_IN",
    severity=ERROR,
    title="The message is a form that was not filled in",
    message="The message still has what a template left to be filled in: {placeholders}.",
    fix="Replace each with your own words, or remove its section if it is optional. "
    "`brenner mail send --no-check` sends it as it is.",
    why="`brenner check` only warns of it, because a form may be checked while one fills it in. "
    "What is sent stays for ever, and recipients would owe an ACK for nothing.",
    spec=f"{_DOCUMENT}, Pre-send Validation",
    example=Example(
        "text",
        "brenner new QUESTION --as BlueLake | brenner mail send -",
        "brenner new QUESTION --as BlueLake > message.md\n"
        "(fill it in)\nbrenner mail send message.md",
    ),
)
CODES = (
    MB_001,
    MB_002,
    MB_003,
    MB_004,
    MB_005,
    MB_006,
    MB_007,
    MB_008,
    MB_009,
    MB_010,
    MB_011,
    MB_012,
    ACK_MISMATCH,
    MISSING_SECTION,
    MISSING_RECOMMENDED_SECTION,
    INVALID_SECTION_VALUE,
    UNLISTED_SECTION_VALUE,
    QUESTION_FROM_TITLE,
    EXCERPT_WITHOUT_CITATION,
    MISSING_VERSION,
    MALFORMED_VERSION,
    CONFLICTING_VERSIONS,
    DELTA_NOT_CONTRIBUTED,
    PLACEHOLDER_LEFT,
    TEMPLATE_NOT_FILLED_IN,
)
