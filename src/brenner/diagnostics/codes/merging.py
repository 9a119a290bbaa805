"""Codes for merging deltas (rulings R7 to R15, R21) and for references between sessions."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_MERGING_SPEC = "companion, Merging"
_VIEW_SPEC = "R11"

SECTION_LIMIT_EXCEEDED = Code(
    id="SECTION_LIMIT_EXCEEDED",
    severity=ERROR,
    title="The section is full",
    message="`{section}` has {most} active items already, and that is the most; the ADD is "
    "refused.",
    fix="Send first a KILL, with a `reason`, for the hypothesis that yours replaces, then the ADD "
    "again; or send an EDIT of the one that it refines.",
    why="Every test has to say something about every hypothesis. Only active ones count, so a "
    "KILL makes room.",
    spec="delta_output_format_v0.1, Error Handling; companion, Merging; R14",
    example=Example(
        "text",
        '{"operation": "ADD", "section": "hypothesis_slate", …}\n(H1 to H6 are active)',
        '{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H2",\n'
        ' "payload": {"reason": "A special case of the new one"}}\n'
        '{"operation": "ADD", "section": "hypothesis_slate", …}',
    ),
)
TARGET_KILLED = Code(
    id="TARGET_KILLED",
    severity=ERROR,
    title="The item is killed",
    message="`{id}` was killed by {name} and takes no more changes.",
    fix="Send what you still hold to be true as an ADD; it may name `{id}` under `references`. "
    "Leave killed hypotheses out of `predictions`.",
    why="A KILL is final, or the record of why an idea was dropped would no longer fit the idea. "
    "An EDIT that came before the KILL was applied; one after it is refused.",
    spec="companion, Merging; R9, R12",
    example=Example(
        "text",
        '{"operation": "EDIT", "section": "hypothesis_slate", "target_id": "H2",\n'
        ' "payload": {"claim": "Cells read a steeper gradient"}}\n(H2 is killed)',
        '{"operation": "ADD", "section": "hypothesis_slate", "target_id": null,\n'
        ' "payload": {"name": "Steep gradient", "claim": "Cells read a steeper gradient",\n'
        '  "mechanism": "…", "anchors": ["§161"]}}',
    ),
)
UNKNOWN_ITEM = Code(
    id="UNKNOWN_ITEM",
    severity=ERROR,
    title="An ID in the payload names no item",
    message="`{where}` names `{id}`, and the artifact that the message goes by has no such item.",
    fix="Send the block again with an ID that exists.{suggestion} Name an item that you add in the "
    'same message by a local name: `"local_id": "epi"` in its ADD, then `@epi`.',
    why="A prediction or a conflict for an item that does not exist would be lost, or would fall "
    "to whatever item gets that number later.",
    spec=_VIEW_SPEC,
    example=Example(
        "text",
        '"predictions": {"H1": "no effect", "H9": "fate disrupted"}\n(there are H1, H2 and H3)',
        '"predictions": {"H1": "no effect", "H3": "fate disrupted"}',
    ),
)
AMBIGUOUS_ID = Code(
    id="AMBIGUOUS_ID",
    severity=WARNING,
    title="An ID can mean two items",
    message="`{id}` is “{value}” by v{version}, but “{other}” by the thread as it stood before "
    "this message; it is read by v{version}.",
    fix="Write `**Base Version**: v{version}` in the message to say which version you go by, and "
    'name items that you add yourself by `"local_id"` and `@name`. If the other item was meant, '
    "send an EDIT once the next version is out.",
    why="Several agents write at once, so a number may mean one item to its author and another in "
    "the thread. The warning shows which one was taken.",
    spec=_VIEW_SPEC,
    example=Example(
        "text",
        '{"operation": "ADD", "section": "hypothesis_slate", "payload": …}\n'
        '"expected_outcomes": {"H1": "old fate", "H4": "mixed fate"}\n'
        "(her ADD would be H4, but another agent has added an H4 before her)",
        '{"operation": "ADD", "section": "hypothesis_slate", "local_id": "epi", "payload": …}\n'
        '"expected_outcomes": {"H1": "old fate", "@epi": "mixed fate"}',
    ),
)
AMBIGUOUS_TARGET = Code(
    id="AMBIGUOUS_TARGET",
    severity=ERROR,
    title="The target can mean two items",
    message="The target `{id}` is “{value}” by v{version}, but “{other}” by the thread as it stood "
    "before this message; the {operation} is refused.",
    fix="Send the block again for the item that you meant, by its number in the latest version and "
    "without a `**Base Version**` line. Where both readings are given, send one of them as it is.",
    why="Changing or killing the wrong item does harm that is hard to see. So the author decides, "
    "not the compiler.",
    spec=_VIEW_SPEC,
    also=("AMBIGUOUS_ID",),
    example=Example(
        "text",
        '{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H4", …}\n'
        "(no base is stated, and two agents have added an H4)",
        '{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H5", …}\n'
        "(its number in the latest version)",
    ),
)
COLLIDING_KEYS = Code(
    id="COLLIDING_KEYS",
    severity=ERROR,
    title="Two keys mean the same item",
    message="`{key}` and `{other}` in `{where}` both mean `{id}`.",
    fix="Send the block again with one key for each item; put what both say under one of them.",
    why="Only one of the two texts could be kept, and the other would be lost in silence.",
    spec=_VIEW_SPEC,
    example=Example(
        "text",
        '"predictions": {"H4": "fate disrupted", "@epi": "fate delayed"}\n(@epi is H4)',
        '"predictions": {"@epi": "fate disrupted or delayed"}',
    ),
)
ID_REWRITTEN = Code(
    id="ID_REWRITTEN",
    severity=INFO,
    title="An ID was rewritten to the number that the item got",
    message="`{id}` in `{where}` now says `{other}`, the number that the item got.",
    fix="Nothing has to be done. From now on call the item `{other}`.",
    why="Numbers are given at compile. Where another agent's ADD came first, the IDs in a block "
    "are moved so that they go on naming what their author meant.",
    spec=_VIEW_SPEC,
    example=Example(
        "text",
        '"discriminates": "H4 vs H1"\n(her own H4 became H5)',
        '"discriminates": "H5 vs H1"',
    ),
)
REWRITTEN_ID_IN_PROSE = Code(
    id="REWRITTEN_ID_IN_PROSE",
    severity=WARNING,
    title="A text mentions an ID that was rewritten",
    message="`{where}` mentions `{id}`; the item is now `{other}`, but the text stays as it was "
    "written.",
    fix="If the text means the item, send an EDIT that says `{other}`. If it means something else, "
    "such as the histone H4, leave it.",
    why="A program cannot know what a word in a sentence means, so prose is never altered. A "
    "reader would look up the wrong item.",
    spec=_VIEW_SPEC,
    example=Example(
        "text",
        '"procedure": "Block the marks that H4 needs"\n(her own H4 became H5)',
        '"procedure": "Block the marks that H5 needs"',
    ),
)
DUPLICATE_BLOCK = Code(
    id="DUPLICATE_BLOCK",
    severity=INFO,
    title="The block was applied before",
    message="The same block was applied before: message {message_id}, block {number}. This one "
    "changes nothing.",
    fix="Nothing has to be done. To add the item once more on purpose, say in the payload how it "
    "differs.",
    why="A message may be sent again whole with one block corrected. The others must not count "
    "twice.",
    spec="R8",
    example=Example(
        "text",
        "message 12, block 1: ADD “Epigenetic memory”\n"
        "message 15, block 1: ADD “Epigenetic memory”, word for word the same",
        "message 12, block 1: ADD “Epigenetic memory”\n"
        "message 15, block 1: EDIT H4, a new `mechanism`",
    ),
)
CONFLICTING_EDIT = Code(
    id="CONFLICTING_EDIT",
    severity=WARNING,
    title="An edit displaced another author's value",
    message="`{label}` of `{id}`: this edit, made on v{version}, displaced the value that {name} "
    "has given it since.",
    fix="Compare both values: once the version is out, `brenner artifact blame THREAD {id}.{label} "
    "--history` shows who gave which, and `brenner artifact show THREAD` the one that stands. Then "
    "send an EDIT of `{label}` with a base that has the conflict; sending the value that stands "
    "closes it too.",
    why="The later edit stands, but its author decided without knowing the other. The displaced "
    "value is kept in the record until somebody has seen both.",
    spec="companion, Merging; R12",
    example=Example(
        "text",
        "BlueLake, on v2: EDIT T1, `feasibility`: two weeks\n"
        "RedSky, on v2: EDIT T1, `feasibility`: two months",
        "BlueLake, on v2: EDIT T1, `feasibility`: two weeks\n"
        "RedSky, on v2: EDIT T1, `feasibility`: two months\n"
        "BlueLake, on v3: EDIT T1, `feasibility`: two months, if the dye is at hand",
    ),
)
KILL_OVER_UNSEEN_EDITS = Code(
    id="KILL_OVER_UNSEEN_EDITS",
    severity=INFO,
    title="An item was killed by somebody who had not seen its latest edits",
    message="{name} killed `{id}` without having seen these edits: {edits}.",
    fix="Read the edits: `brenner artifact blame THREAD {id} --history`. If they answer the reason "
    "for the KILL, send the item again, as improved, with an ADD.",
    why="A KILL beats every EDIT. But the item may have been mended just before, and then the "
    "reason no longer holds.",
    spec="companion, Merging; R12",
    example=Example(
        "text",
        "BlueLake: EDIT H2, a new `mechanism`\nRedSky, on the version before: KILL H2",
        "BlueLake: EDIT H2, a new `mechanism`\nRedSky, on the version before: KILL H2\n"
        "BlueLake: ADD of H2 as improved, which becomes H5",
    ),
)
NO_THIRD_ALTERNATIVE = Code(
    id="NO_THIRD_ALTERNATIVE",
    severity=WARNING,
    title="The artifact has no third alternative",
    message="No active hypothesis is labelled as the third alternative.",
    fix="Send an ADD to `hypothesis_slate` with `third_alternative` set to true, or an EDIT that "
    "sets it on the hypothesis that is one.",
    why="Two rival explanations may both be wrong. Killing the last third alternative is allowed, "
    "but then lint counts the artifact as invalid until there is another.",
    spec="companion, Merging; R14",
    also=("EH-003",),
    example=Example(
        "text",
        '"payload": {"name": "Fate is never fixed", "claim": "…", …}',
        '"payload": {"name": "Fate is never fixed", "claim": "…", "third_alternative": true, …}',
    ),
)
NO_SCALE_CHECK = Code(
    id="NO_SCALE_CHECK",
    severity=WARNING,
    title="The artifact has no scale check",
    message="No active assumption is marked as a scale check.",
    fix="Send an ADD to `assumption_ledger` with `scale_check` set to true and the numbers under "
    "`calculation`, or an EDIT that gives both to the assumption that is one.",
    why="Many explanations fail on size, time or energy before any experiment. One check with "
    "numbers finds that out for nothing.",
    spec=_MERGING_SPEC,
    also=("EA-002",),
    example=Example(
        "text",
        '"payload": {"name": "Diffusion is fast", "statement": "…", …}',
        '"payload": {"name": "Diffusion is fast", "statement": "…", "scale_check": true,\n'
        ' "calculation": "(100 µm)² / (2 · 10 µm²/s) = 500 s", …}',
    ),
)
BELOW_MINIMUM = Code(
    id="BELOW_MINIMUM",
    severity=WARNING,
    title="A section has fewer items than it needs",
    message="Too few active items in `{section}`: {count}; the least is {least}.",
    fix="Send an ADD to `{section}`.",
    why="Early rounds are always incomplete, so this stops nothing. Lint reports it as an error "
    "of the section: EH-001, EP-001, ET-001, EA-001 or EC-001.",
    spec="companion, The artifact; companion, Merging",
    example=Example(
        "text",
        "- Hypotheses: 2\n- Predictions: 3\n- Tests: 2",
        "- Hypotheses: 3\n- Predictions: 3\n- Tests: 2",
    ),
)
UNKNOWN_AGENT = Code(
    id="UNKNOWN_AGENT",
    severity=WARNING,
    title="The sender is not in the session's roster",
    message="{name} is not in the session's roster.",
    fix="If {name} belongs to the session, put {name} into the roster of the next kickoff. If not, "
    "look at the deltas and send an EDIT or a KILL where they are wrong.",
    why="The deltas count all the same. But a stranger may have mistaken the thread, and has had "
    "no prompt for a role.",
    spec="companion, Merging; R15; rulings, Small decisions",
    example=Example(
        "text",
        "| Agent | Role |\n|---|---|\n| BlueLake | test_designer |\n(RedSky sends a DELTA)",
        "| Agent | Role |\n|---|---|\n| BlueLake | test_designer |\n"
        "| RedSky | adversarial_critic |",
    ),
)
NO_KICKOFF = Code(
    id="NO_KICKOFF",
    severity=WARNING,
    title="The thread has no KICKOFF with a question",
    message="The thread `{thread_id}` has no KICKOFF with a question; the artifact's question is "
    "empty.",
    fix="Send a KICKOFF with `## Research Question` and `## Context` to the thread, or an EDIT "
    "(`research_thread`, `RT`) with `statement` and `context`.",
    why="The question comes from the kickoff. Without it nobody can say what the hypotheses "
    "answer.",
    spec="R15",
    example=Example(
        "text",
        "DELTA[opus]: added H1\nDELTA[gpt]: added T1",
        "KICKOFF: Cell fate dichotomy\nDELTA[opus]: added H1\nDELTA[gpt]: added T1",
    ),
)
QUESTION_DIFFERS = Code(
    id="QUESTION_DIFFERS",
    severity=WARNING,
    title="A later kickoff asks another question",
    message="This KICKOFF asks “{value}”, but the artifact's question is “{other}”; the artifact "
    "keeps its own.",
    fix="If the question has changed, send the EDIT that is given here (`research_thread`, `RT`, "
    "`statement`). If it is a new question, start a new session.",
    why="Only the first kickoff fills the research thread. If later ones changed it, earlier work "
    "would come to answer another question without a trace.",
    spec="R15",
    example=Example(
        "text",
        "KICKOFF: Round 2\n\n## Research Question\nDo cells ever forget their fate?",
        '{"operation": "EDIT", "section": "research_thread", "target_id": "RT",\n'
        ' "payload": {"statement": "Do cells ever forget their fate?"}}',
    ),
)
CIRCULAR_REFERENCE = Code(
    id="CIRCULAR_REFERENCE",
    severity=ERROR,
    title="A reference would close a circle",
    message="The reference `{value}` of `{id}` would close a circle: {chain}. It is left out; the "
    "rest of the delta is applied.",
    fix="Keep the reference that says which idea came later. Say the other in words, in the "
    "item's text.",
    why="References tell which idea came from which. In a circle every idea comes from itself, and "
    "its history has no beginning.",
    spec="delta_output_format_v0.1, Reference Validation; R21",
    example=Example(
        "text",
        "RS-20251228-initial H2: refines RS-20251230-bio-rrp H4\n"
        "RS-20251230-bio-rrp H4: extends RS-20251228-initial H2",
        "RS-20251230-bio-rrp H4: extends RS-20251228-initial H2",
    ),
)

MERGE_CODES = (
    SECTION_LIMIT_EXCEEDED,
    TARGET_KILLED,
    UNKNOWN_ITEM,
    AMBIGUOUS_ID,
    AMBIGUOUS_TARGET,
    COLLIDING_KEYS,
    ID_REWRITTEN,
    REWRITTEN_ID_IN_PROSE,
    DUPLICATE_BLOCK,
    CONFLICTING_EDIT,
    KILL_OVER_UNSEEN_EDITS,
    NO_THIRD_ALTERNATIVE,
    NO_SCALE_CHECK,
    BELOW_MINIMUM,
    UNKNOWN_AGENT,
    NO_KICKOFF,
    QUESTION_DIFFERS,
    CIRCULAR_REFERENCE,
)


# References between sessions (delta document, Reference Validation; R21)


_REFERENCE_SPEC = "delta_output_format_v0.1, Reference Validation; R21"

UNKNOWN_REFERENCED_SESSION = Code(
    id="UNKNOWN_REFERENCED_SESSION",
    severity=WARNING,
    title="A reference to a session that is not known here",
    message="`{id}` {relation} `{session} {item}`, and {reason}.",
    fix="The reference is kept, and leads somewhere as soon as the session is in the mail or in "
    "`artifacts/`. If another one was meant, correct it with an EDIT.{suggestion}",
    why="Sessions refer to each other before they meet in one project. Until then nobody can tell "
    "whether the idea is there, and what became of it.",
    spec=_REFERENCE_SPEC,
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
    spec=_REFERENCE_SPEC,
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
    spec=_REFERENCE_SPEC,
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
    spec=_REFERENCE_SPEC,
    example=Example(
        "text",
        "RS-20251228-initial H2: refines RS-20251230-bio-rrp H4\n"
        "(whose H4 extends RS-20251228-initial H2)",
        "RS-20251228-initial H2 without that reference",
    ),
)

REFERENCE_CODES = (
    UNKNOWN_REFERENCED_SESSION,
    UNKNOWN_REFERENCED_ITEM,
    CIRCLE_OF_REFERENCES,
    REFERENCE_TO_KILLED,
    SESSION_FILE_UNREADABLE,
    WOULD_CLOSE_CIRCLE,
)
