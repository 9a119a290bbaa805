"""Lint rules about the front matter (M)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_FRONT_MATTER = "companion, The artifact; companion, Lint; R18"

EM_001 = Code(
    id="EM-001",
    severity=ERROR,
    title="The front matter is missing or cannot be read",
    message="The front matter {state}: {reason}.",
    fix="{mend}: the file begins with a line `---`, then `session_id` and the other fields, each "
    "`key: value` on a line of its own, then a line `---`.",
    why="The front matter says which session and which version the file is. Without it a file "
    "that was copied or renamed is nobody's. The rule applies to files only.",
    spec=_FRONT_MATTER,
    example=Example(
        "text",
        "# Brenner Protocol Artifact: RS-20251230-cell-fate",
        '---\nsession_id: "RS-20251230-cell-fate"\nversion: 3\n'
        'created_at: "2025-12-30T10:00:00Z"\nstatus: active\n---\n\n'
        "# Brenner Protocol Artifact: RS-20251230-cell-fate",
    ),
)
EM_002 = Code(
    id="EM-002",
    severity=ERROR,
    title="The front matter has no session ID",
    message="The front matter has no `session_id`.",
    fix="Add the line `session_id` with the thread ID of the session, the same as in the title "
    "and in the file's name.",
    why="The session ID leads from the file back to the mail that it was compiled from.",
    spec=_FRONT_MATTER,
    example=Example(
        "text",
        "---\nversion: 3\nstatus: active\n---",
        '---\nsession_id: "RS-20251230-cell-fate"\nversion: 3\nstatus: active\n---',
    ),
)
EM_003 = Code(
    id="EM-003",
    severity=ERROR,
    title="The time of creation is missing or not in ISO 8601",
    message="`created_at` in the front matter is not a time in ISO 8601: {reason}.",
    fix="Write the time of the thread's first message, with its zone, as in "
    '`created_at: "2025-12-30T10:00:00Z"`.',
    why="Sessions are listed and compared by their times. A date in a local form means different "
    "days to different readers.",
    spec=_FRONT_MATTER,
    example=Example(
        "text", 'created_at: "30.12.2025, 10:00"', 'created_at: "2025-12-30T10:00:00Z"'
    ),
)
EM_004 = Code(
    id="EM-004",
    severity=ERROR,
    title="The status is missing or not one of the three",
    message="`status` in the front matter is not one of `draft`, `active`, `closed`: {reason}.",
    fix="Write `status: draft` while lint has errors, `active` when it has none, `closed` when "
    "the session is complete.",
    why="The status tells a reader whether the artifact can be relied on and whether more is to "
    "come. A word of one's own says neither to a program.",
    spec=_FRONT_MATTER,
    example=Example("text", "status: final", "status: closed"),
)
WM_001 = Code(
    id="WM-001",
    severity=WARNING,
    title="No contributors are listed",
    message="The front matter lists no `contributors`.",
    fix="List the shorthands of the models that contributed, one to a line, as in their "
    "`DELTA[…]` subjects.",
    why="A reader wants to know whose work this is. The mail knows it, but the file may travel "
    "without the mail.",
    spec=_FRONT_MATTER,
    example=Example("text", "contributors: []", "contributors:\n  - opus\n  - gpt"),
)
WM_002 = Code(
    id="WM-002",
    severity=WARNING,
    title="The last change is before the creation",
    message="`updated_at` ({updated_at}) is before `created_at` ({created_at}).",
    fix="Set `created_at` to the time of the first message and `updated_at` to that of the last "
    "one applied.",
    why="Nothing changes before it exists: one of the two times is wrong, and with it every list "
    "that is sorted by it.",
    spec=_FRONT_MATTER,
    example=Example(
        "text",
        'created_at: "2025-12-30T10:00:00Z"\nupdated_at: "2025-12-29T18:00:00Z"',
        'created_at: "2025-12-30T10:00:00Z"\nupdated_at: "2025-12-30T14:00:00Z"',
    ),
)
IM_001 = Code(
    id="IM-001",
    severity=INFO,
    title="The session ID is not a valid thread ID",
    message="`session_id` in the front matter names no thread: {reason}",
    fix="Write the ID of the thread that the artifact was compiled from, letter for "
    "letter.{suggestion}",
    why="The session ID, the thread and the file's name are one and the same ID. One that is not "
    "valid leads to no thread. `brenner explain INVALID_RS_THREAD_ID` tells the form.",
    spec="companion, Lint; R1",
    example=Example(
        "text", 'session_id: "RS-20251230-Cell_Fate"', 'session_id: "RS-20251230-cell-fate"'
    ),
)
IM_002 = Code(
    id="IM-002",
    severity=INFO,
    title="The version is not an integer",
    message="`version` in the front matter is not an integer: {reason}.",
    fix="Write the number of the COMPILED message alone, without `v` and quotes.",
    why="Versions count 1, 2, 3. Only as numbers can they be compared, so that a newer file is "
    "never written over by an older version.",
    spec="companion, Lint; R17",
    example=Example("text", 'version: "v3"', "version: 3"),
)

CODES = (EM_001, EM_002, EM_003, EM_004, WM_001, WM_002, IM_001, IM_002)
