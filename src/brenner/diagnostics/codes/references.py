"""Codes of references between sessions (delta document, Reference Validation; R21)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_SPEC = "delta_output_format_v0.1, Reference Validation; R21"

UNKNOWN_REFERENCED_SESSION = Code(
    id="UNKNOWN_REFERENCED_SESSION",
    severity=WARNING,
    title="A reference to a session that is not known here",
    message="`{id}` {relation} `{session} {item}`, and {reason}.",
    fix="The reference is kept, and leads somewhere as soon as the session is in the mail or in "
    "`artifacts/`. If another one was meant, correct it with an EDIT.{suggestion}",
    why="Sessions refer to each other before they meet in one project. Until then nobody can tell "
    "whether the idea is there, and what became of it.",
    spec=_SPEC,
    example=Example(
        "text",
        "RS-20251230-bio-rrp H4: refines RS-20251228-inital H2\n(no such session)",
        "RS-20251230-bio-rrp H4: refines RS-20251228-initial H2",
    ),
)
UNKNOWN_REFERENCED_ITEM = Code(
    id="UNKNOWN_REFERENCED_ITEM",
    severity=WARNING,
    title="A reference to an item that its session does not have",
    message="`{id}` {relation} `{session} {item}`, and {reason}.",
    fix="The reference is kept, and leads somewhere as soon as a version of that session has the "
    "item. If another one was meant, correct it with an EDIT.{suggestion}",
    why="IDs are given when a session is compiled, and never to another item. What has no number "
    "yet may get another one than was thought.",
    spec=_SPEC,
    example=Example(
        "text",
        "RS-20251230-bio-rrp H4: refines RS-20251228-initial H7\n(that session has H1 to H3)",
        "RS-20251230-bio-rrp H4: refines RS-20251228-initial H3",
    ),
)
CIRCLE_OF_REFERENCES = Code(
    id="CIRCLE_OF_REFERENCES",
    severity=ERROR,
    title="References go in a circle",
    message="{chain}: so every one of them comes from itself.",
    fix="Keep the references that say which idea came later. Take one of the others out: with an "
    "EDIT that gives the item's `references` without it and `references_replace: true`, or in the "
    "file where there is no mail.",
    why="A compile leaves out what would close a circle. Two sessions that are compiled in the "
    "same moment can each publish half of one, and a file that is edited or adopted may hold "
    "anything.",
    spec=_SPEC,
    example=Example(
        "text",
        "RS-20251228-initial H2: refines RS-20251230-bio-rrp H4\n"
        "RS-20251230-bio-rrp H4: extends RS-20251228-initial H2",
        "RS-20251230-bio-rrp H4: extends RS-20251228-initial H2",
    ),
)
REFERENCE_TO_KILLED = Code(
    id="REFERENCE_TO_KILLED",
    severity=INFO,
    title="A reference to an item that was killed",
    message="`{id}` {relation} `{session} {item}`, which {agent} killed: {reason}",
    fix="Nothing has to be done if the reason was known. Otherwise see whether it strikes this "
    "item, too.",
    why="Whoever builds on a killed idea should know why it was killed: nothing that failed once "
    "should be proposed again by mistake.",
    spec="delta_output_format_v0.1, Cross-Session References",
    example=Example(
        "text",
        "RS-20251230-bio-rrp H4: extends RS-20251228-initial H2\n(H2 was killed by T3)",
        "RS-20251230-bio-rrp H4: refutes RS-20251228-initial H2",
    ),
)
SESSION_FILE_UNREADABLE = Code(
    id="SESSION_FILE_UNREADABLE",
    severity=WARNING,
    title="A file in artifacts/ from which no session can be read",
    message="`{path}` cannot be read as the artifact of a session: {reason}.",
    fix="Write it again with `brenner compile THREAD --persist`, get it back from git, or move it "
    "out of `artifacts/`.",
    why="Sessions that are not in the mail are looked up in `artifacts/`. What only such a file "
    "tells is not known while it cannot be read.",
    spec="R21; artifact_publish_spec_v0.1",
    example=Example(
        "text",
        "artifacts/RS-20251228-initial.md: (empty)",
        "artifacts/RS-20251228-initial.md: # Brenner Protocol Artifact: RS-20251228-initial …",
    ),
)
WOULD_CLOSE_CIRCLE = Code(
    id="WOULD_CLOSE_CIRCLE",
    severity=WARNING,
    title="A reference that would be left out now",
    message="If the sessions were compiled as they stand, this would be left out. {reason}",
    fix="{fix}",
    why="Where references stand in a circle is decided when the session is compiled; by then the "
    "others may have changed.",
    spec=_SPEC,
    example=Example(
        "text",
        "RS-20251228-initial H2: refines RS-20251230-bio-rrp H4\n"
        "(whose H4 extends RS-20251228-initial H2)",
        "RS-20251228-initial H2 without that reference",
    ),
)

CODES = (
    UNKNOWN_REFERENCED_SESSION,
    UNKNOWN_REFERENCED_ITEM,
    CIRCLE_OF_REFERENCES,
    REFERENCE_TO_KILLED,
    SESSION_FILE_UNREADABLE,
    WOULD_CLOSE_CIRCLE,
)
