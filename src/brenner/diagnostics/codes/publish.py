"""Codes of the publish document (and rulings R10, R17 to R19, R22)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_RULES = "artifact_publish_spec_v0.1, Validation Rules"

AP_001 = Code(
    id="AP-001",
    severity=ERROR,
    title="The subject of a COMPILED does not give its version",
    message="The subject `{subject}` is not `COMPILED: v`, a number from 1 on, and a few words.",
    fix="Write `COMPILED: v`, the number, and in a few words what is new.",
    why="The list of versions is the list of COMPILED subjects. One without its number is in no "
    "place of it.",
    spec=_RULES,
    example=Example(
        "text", "COMPILED: third artifact", "COMPILED: v3 added T4 viability assay from gpt delta"
    ),
)
AP_002 = Code(
    id="AP-002",
    severity=ERROR,
    title="The version is not the next one",
    message="The version is v{version}, but the next one of this thread is v{expected}.",
    fix="Let `brenner compile THREAD` give the number. By hand, write v{expected} in the subject, "
    "the title, the metadata and the front matter.",
    why="Versions count 1, 2, 3 without gaps and without repeats. Otherwise “v3” is no longer one "
    "artifact.",
    spec=f"{_RULES}; R17",
    example=Example(
        "text",
        "COMPILED: v1 initial artifact\nCOMPILED: v1 integrated critique",
        "COMPILED: v1 initial artifact\nCOMPILED: v2 integrated critique",
    ),
)
AP_003 = Code(
    id="AP-003",
    severity=ERROR,
    title="The thread ID in the body is not the message's",
    message="The thread ID in the body is {value}, but the message is in `{thread_id}`.",
    fix="Write `- **Thread ID**: {thread_id}` under `## Metadata`, or send the message to the "
    "thread that it is about.",
    why="An artifact that is posted to the wrong thread would become the base of other people's "
    "work.",
    spec=_RULES,
    example=Example(
        "text",
        "Thread: RS-20251230-cell-fate\n\n## Metadata\n- **Thread ID**: RS-20251228-initial",
        "Thread: RS-20251230-cell-fate\n\n## Metadata\n- **Thread ID**: RS-20251230-cell-fate",
    ),
)
AP_004 = Code(
    id="AP-004",
    severity=ERROR,
    title="No contributor is listed",
    message="The COMPILED message lists no contributor.",
    fix="List under `## Contributors` each agent whose deltas were merged, with the number of "
    "deltas and the items.",
    why="Agents see from the list whether their work arrived, and readers see whose it is.",
    spec=_RULES,
    example=Example(
        "text",
        "## Contributors\n\n## Statistics",
        "## Contributors\n| Agent | Delta Count | Items Added/Modified |\n|---|---|---|\n"
        "| BlueLake | 2 | H3, T2 |\n\n## Statistics",
    ),
)
AP_005 = Code(
    id="AP-005",
    severity=ERROR,
    title="The artifact path is not the thread's",
    message="The artifact path is {value}; it must be `artifacts/{thread_id}.md`.",
    fix="Write `artifacts/{thread_id}.md` as **Artifact Path** under `## Persistence`.",
    why="One thread has one file, and its name is the thread ID. With another path there would be "
    "two files, and nobody could tell which one counts.",
    spec=_RULES,
    example=Example(
        "text",
        "- **Artifact Path**: `artifacts/cell-fate-v3.md`",
        "- **Artifact Path**: `artifacts/RS-20251230-cell-fate.md`",
    ),
)
AP_006 = Code(
    id="AP-006",
    severity=ERROR,
    title="The artifact is not in the message",
    message="The COMPILED message has neither the artifact nor a link to it{reason}.",
    fix="Put the artifact under `## Full Artifact`, in one fenced block with the info string "
    "`markdown`, or a link to its file.",
    why="The message is the version. Without the artifact there is nothing to read and no base for "
    "the next round.",
    spec=f"{_RULES}; R22",
    example=Example(
        "text",
        "## Full Artifact\n\nsee above",
        "## Full Artifact\n\n```markdown\n---\nversion: 3\n---\n\n"
        "# Brenner Protocol Artifact: RS-20251230-cell-fate\n…\n```",
    ),
)
AP_007 = Code(
    id="AP-007",
    severity=WARNING,
    title="The statistics are missing",
    message="The COMPILED message has no `## Statistics` section with counts.",
    fix="Add `## Statistics` with the number of active items of each section.",
    why="The counts show at a glance what the version holds and what it still lacks.",
    spec=_RULES,
    example=Example(
        "text",
        "## Validation Status\n…",
        "## Statistics\n- Research Thread: 1\n- Hypotheses: 3\n- Predictions: 3\n- Tests: 2\n"
        "- Assumptions: 3\n- Anomalies: 0\n- Critiques: 2\n\n## Validation Status\n…",
    ),
)
AP_008 = Code(
    id="AP-008",
    severity=WARNING,
    title="The validation status is missing",
    message="The COMPILED message has no `## Validation Status` section.",
    fix="Add `## Validation Status` with what schema and linter say and whether there is a third "
    "alternative.",
    why="A version may have errors, and early ones do. The reader has to be told.",
    spec=_RULES,
    example=Example(
        "text",
        "## Persistence\n…",
        "## Validation Status\n- Schema: PASS\n- Linter: 2 warnings, 0 errors\n"
        "- Third Alternative: Present\n\n## Persistence\n…",
    ),
)
AP_009 = Code(
    id="AP-009",
    severity=WARNING,
    title="The message refers to a version that does not exist",
    message="The message refers to v{version}, which this thread does not have; the latest is "
    "v{latest}.",
    fix="Write the version that you read, such as `**Base Version**: v{latest}`. "
    "`brenner artifact history THREAD` lists them.",
    why="The version says which items the IDs in a DELTA or a CRITIQUE mean. One that does not "
    "exist says nothing.",
    spec=f"{_RULES}; R11",
    example=Example(
        "text",
        "**Base Version**: v7\n(the latest is v2)",
        "**Base Version**: v2",
    ),
)
AP_010 = Code(
    id="AP-010",
    severity=ERROR,
    title="The message or its front matter gives two versions",
    message="{place} says {value}, but the COMPILED message is v{version}.",
    fix="Write the same number in the subject, the title, the metadata and the front matter, or "
    "let `brenner compile THREAD` write them.",
    why="The file travels without the message. If the two disagree, nobody knows which version the "
    "file is, nor whether it may be written over.",
    spec=_RULES,
    example=Example(
        "text",
        "COMPILED: v3 added T4\n\n---\nversion: 2\n---",
        "COMPILED: v3 added T4\n\n---\nversion: 3\n---",
    ),
)
INVALID_COMPILED_AT = Code(
    id="INVALID_COMPILED_AT",
    severity=ERROR,
    title="The time of compilation is missing or not in ISO 8601",
    message="`Compiled At` is not a time in ISO 8601: {reason}.",
    fix="Write the time with its zone under `## Metadata`, as in "
    "`- **Compiled At**: 2025-12-30T14:00:00Z`.",
    why="Readers in other zones must be able to place the version in the course of the session.",
    spec="artifact_publish_spec_v0.1, Validation",
    example=Example(
        "text",
        "- **Compiled At**: yesterday at 2 pm",
        "- **Compiled At**: 2025-12-30T14:00:00Z",
    ),
)
COMPILED_WITHOUT_RECORD = Code(
    id="COMPILED_WITHOUT_RECORD",
    severity=WARNING,
    title="A COMPILED message has no record",
    message="This COMPILED message has no record, so it is not a version; the deltas before it "
    "still count as unread.",
    fix="If another program compiled the thread, take it over with "
    "`brenner session adopt {thread_id}`. Otherwise compile it: `brenner compile {thread_id}`.",
    why="The record says which messages a version has read. Without it the version cannot be "
    "rebuilt, and nobody knows which deltas are in it.",
    spec="R10",
    example=Example(
        "text",
        "COMPILED: v1 initial artifact\n(posted by another program, no `brenner-record` block)",
        "brenner session adopt RS-20251230-cell-fate",
    ),
)
RECORD_MISMATCH = Code(
    id="RECORD_MISMATCH",
    severity=ERROR,
    title="A version cannot be rebuilt from its record",
    message="v{version} cannot be rebuilt from its record. The first difference: {difference}.",
    fix="Look at it with `brenner artifact verify {thread_id}`. Then void the version "
    "(`brenner session void`) or take it as it is (`brenner session adopt`); until then nothing "
    "is compiled.",
    why="Every version must follow from the mail alone. One that does not was altered, or messages "
    "are missing, and what is built on it would carry the fault on.",
    spec="R10",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate\n(v2 does not rebuild: the claim of H2 differs)",
        "brenner session void RS-20251230-cell-fate@v2\nbrenner compile RS-20251230-cell-fate",
    ),
)
VERSION_MISSING = Code(
    id="VERSION_MISSING",
    severity=ERROR,
    title="A version is missing from the thread",
    message="v{version} (message {id}, from {sender}) does not follow from the versions in this "
    "store: {reason}.",
    fix="Import an archive that has the missing message: `brenner mail import FILE "
    "--accept-decisions`. If there is none, discard v{version} with `brenner session void "
    "{thread_id}@v{version}`: its contributions go into the next version. Only if you know that "
    "{sender} has published v{version}, keep it as it is with `brenner session adopt "
    "{thread_id}`. Until then nothing is compiled.",
    why="Each version is built on the one before it. A compile without the missing one would reuse "
    "its number, and two artifacts would have the same version.",
    spec="R10",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate\n(the store has v1 and v3, but not v2)",
        "brenner mail import cell-fate.jsonl --accept-decisions\n"
        "brenner compile RS-20251230-cell-fate",
    ),
)
VOID_VERSION = Code(
    id="VOID_VERSION",
    severity=WARNING,
    title="A COMPILED message is void",
    message="This COMPILED message is void: {reason}. What only it had read counts as unread.",
    fix="Run `brenner compile {thread_id}`: it brings the unread deltas into the next version. "
    "`brenner artifact history {thread_id}` lists the versions that count.",
    why="One number must mean one artifact. Where two programs compiled at once, the message with "
    "the lowest ID is the version; one that does not rebuild the operator may void.",
    spec="R10, R17",
    example=Example(
        "text",
        "message 40, COMPILED: v3 added T4\nmessage 41, COMPILED: v3 added T4 and C2",
        "message 40, COMPILED: v3 added T4\nmessage 43, COMPILED: v4 added C2",
    ),
)
SESSION_CLOSED = Code(
    id="SESSION_CLOSED",
    severity=ERROR,
    title="The session is closed",
    message="The session `{thread_id}` was closed with v{version}.",
    fix="To go on with it, repeat the command with `--reopen`. For a new question start a new "
    "session, whose items can name this one's under `references`.",
    why="The last version of a closed session is what others rely on. It must not be overtaken by "
    "a late message without somebody meaning it.",
    spec="R18",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate",
        "brenner compile RS-20251230-cell-fate --reopen",
    ),
)
NO_VERSION_TO_CLOSE = Code(
    id="NO_VERSION_TO_CLOSE",
    severity=ERROR,
    title="There is no version to close",
    message="The session `{thread_id}` has no version yet, so it cannot be completed.",
    fix="Once deltas have come in that apply, `brenner compile {thread_id}` publishes the first; "
    "then complete it.",
    why="Completing a session publishes its last version as closed. Without a version there is "
    "nothing to publish.",
    spec="R18",
    example=Example(
        "text",
        "brenner session complete RS-20251230-cell-fate",
        "brenner compile RS-20251230-cell-fate\nbrenner session complete RS-20251230-cell-fate",
    ),
)
ARTIFACT_TOO_LARGE_TO_INLINE = Code(
    id="ARTIFACT_TOO_LARGE_TO_INLINE",
    severity=INFO,
    title="The artifact is too large for the message",
    message="The artifact has {size} bytes; a message holds {most}. The message gives a link and "
    "the hash instead.",
    fix="Nothing has to be done. `brenner artifact show {thread_id}@v{version}` rebuilds it from "
    "the mail, and the hash proves that it is the same.",
    why="Mail servers refuse or cut very long messages, and a cut artifact would be worse than "
    "none.",
    spec="R22",
    example=Example(
        "text",
        "## Full Artifact\n\n```markdown\n(several megabytes)\n```",
        "## Full Artifact\n\n[artifacts/RS-20251230-cell-fate.md]"
        "(artifacts/RS-20251230-cell-fate.md), SHA-256 `9f86d081…`",
    ),
)

CODES = (
    AP_001,
    AP_002,
    AP_003,
    AP_004,
    AP_005,
    AP_006,
    AP_007,
    AP_008,
    AP_009,
    AP_010,
    INVALID_COMPILED_AT,
    COMPILED_WITHOUT_RECORD,
    RECORD_MISMATCH,
    VERSION_MISSING,
    VOID_VERSION,
    SESSION_CLOSED,
    NO_VERSION_TO_CLOSE,
    ARTIFACT_TOO_LARGE_TO_INLINE,
)
