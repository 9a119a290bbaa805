"""Codes for sessions: kickoffs (R15), rosters, dismissing blocks, watching, external programs."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_EXCERPT_SPEC = "message_body_schema_v0.1, KICKOFF Messages; companion, Anchors"
_START_SPEC = "rulings, Small decisions: `session start` on an existing thread"
_ROUND_SPEC = "artifact_publish_spec_v0.1, KICKOFF Messages (Round 2+)"

OTHER_QUESTION = Code(
    id="OTHER_QUESTION",
    severity=ERROR,
    title="The thread has another question already",
    message="`{thread_id}` is about another question already, asked in message {id}: “{question}”",
    fix="For a session of its own leave `--thread-id` out. To finish that kickoff, ask its "
    "question, word for word. To change the question of that session, send a DELTA that edits "
    "`RT`.",
    why="A thread has one artifact, and the artifact one question. Agents that were asked two "
    "different ones would work on different things in one document.",
    spec=f"{_START_SPEC}; R15",
    example=Example(
        "text",
        "brenner session start --thread-id RS-20251230-cell-fate --question 'Do cells forget?'\n"
        "(the thread asks how cells decide their fate)",
        "brenner session start --question 'Do cells forget?'",
    ),
)
QUESTION_RESPELT = Code(
    id="QUESTION_RESPELT",
    severity=INFO,
    title="The question is that of a session, written otherwise",
    message="The question is taken for that of `{thread_id}`, asked in message {id}: “{question}”",
    fix="Nothing has to be done: the words of that message stand. For a session of its own name "
    "its thread with `--thread-id`.",
    why="Two questions that differ only in case, blanks or the marks at their end are one. A "
    "second session would ask everybody twice.",
    spec=f"{_START_SPEC}; R15",
    example=Example(
        "text",
        "brenner session start --question 'how do cells know their fate' …\n"
        "(a session of today asks: How do cells know their fate?)",
        "brenner session start --question 'How do cells know their fate?' …",
    ),
)
CONTEXT_DIFFERS = Code(
    id="CONTEXT_DIFFERS",
    severity=WARNING,
    title="The kickoff says something else than the thread's first one",
    message="Message {id}, with which the {what} began, has other words under {sections}. {effect}",
    fix="For the same kickoff give the same texts. If something has changed, tell everybody: send "
    "an INFO message in the thread; the artifact's context is changed by a DELTA that edits `RT`.",
    why="What was sent stays as it is, and the artifact takes its context from the first kickoff. "
    "Agents that were told different things work on different things.",
    spec=f"{_START_SPEC}; R15",
    example=Example(
        "text",
        "brenner session start --question 'How do cells know their fate?' --context 'More.' …\n"
        "(the session began with another context)",
        "brenner session start --question 'How do cells know their fate?' --context @file.md …",
    ),
)
KICKOFF_INCOMPLETE = Code(
    id="KICKOFF_INCOMPLETE",
    severity=ERROR,
    title="The kickoff has reached only some recipients",
    message="The kickoff has reached {reached}, but not {missed}: {reason}",
    fix="Run the same command again: it sends only what is missing. {hint}",
    why="Those who got it begin to work. The others do not know that there is a session.",
    spec=_START_SPEC,
    example=Example(
        "text",
        "brenner session start --to BlueLake --role test_designer "
        "--to RedSky --role adversarial_critic …\n(the disk is full after the first message)",
        "the same command, once there is room on the disk",
    ),
)
RECIPIENTS_NOT_REGISTERED = Code(
    id="RECIPIENTS_NOT_REGISTERED",
    severity=ERROR,
    title="Recipients are not known on the server",
    message="The server does not know {names}. A name may belong to its other projects, so nobody "
    "but the sender is registered there without being asked.",
    fix="Let the agents register themselves first. If the names are yours to give, repeat the "
    "command with `--register`.",
    why="Some Agent Mail servers keep names for all projects: to register one for this project can "
    "take it away from another. A kickoff to a name that nobody answers to is lost.",
    spec="design, Commands",
    example=Example(
        "text",
        "brenner session start --store agent-mail --to BlueLake …    (nobody is called that there)",
        "brenner session start --store agent-mail --to BlueLake … --register",
    ),
)
ROLE_CHANGED = Code(
    id="ROLE_CHANGED",
    severity=WARNING,
    title="A recipient has a kickoff with another role",
    message="{name} has got its kickoff already, as {before} (message {id}); the roster says "
    "{role} now. No second one is sent.",
    fix="If the role has changed, tell {name}: send an INFO message in the thread. Otherwise give "
    "the role that it had.",
    why="Nobody is asked twice. An agent goes on with the prompt that it has, whatever a later "
    "roster says of it.",
    spec=_START_SPEC,
    example=Example(
        "text",
        "brenner session start --to BlueLake --role adversarial_critic …\n"
        "(BlueLake was asked as test_designer)",
        "brenner session start --to BlueLake --role test_designer …",
    ),
)
LEFT_OUT_OF_ROSTER = Code(
    id="LEFT_OUT_OF_ROSTER",
    severity=WARNING,
    title="Somebody who was asked is not in the roster any more",
    message="This session has asked {names} before, and the roster of these kickoffs does not name "
    "them. The latest roster counts: later rounds will not ask them.",
    fix="Name them as well, each with the role that it had. Nobody gets a second kickoff.",
    why="A kickoff tells the whole roster, so the one that is sent last is the session's own.",
    spec="R15",
    example=Example(
        "text",
        "brenner session start --to RedSky --role test_designer …\n(BlueLake was asked before)",
        "brenner session start --to BlueLake --role hypothesis_generator "
        "--to RedSky --role test_designer …",
    ),
)
INVALID_SECTIONS = Code(
    id="INVALID_SECTIONS",
    severity=ERROR,
    title="The list of sections cannot be read",
    message="`{value}` is not a list of sections: {reason}.",
    fix="Write numbers and ascending ranges with commas between them, such as `42,45-47`.",
    why="A passage that is guessed at is not the one that was meant, and agents will cite it.",
    spec=_EXCERPT_SPEC,
    example=Example("text", "--excerpt 47-45", "--excerpt 45-47"),
)
UNKNOWN_SECTION_NUMBER = Code(
    id="UNKNOWN_SECTION_NUMBER",
    severity=ERROR,
    title="The source text does not have that section",
    message="`{path}` does not have {missing}. It has {known}.",
    fix="Ask for sections that it has, or give the passages yourself with `--excerpt-file FILE`.",
    why="Agents can only cite what they were given. A passage that is left out in silence would be "
    "missed by everybody.",
    spec=_EXCERPT_SPEC,
    example=Example("text", "--excerpt 42,999", "--excerpt 42"),
)
EXCERPT_TOO_LONG = Code(
    id="EXCERPT_TOO_LONG",
    severity=ERROR,
    title="The excerpt is too long",
    message="The excerpt has {length} characters, and {most} are the most.",
    fix="Choose fewer sections, and name the source in the context: agents can look up the rest.",
    why="Every recipient gets the whole excerpt and is meant to read it.",
    spec=f"{_EXCERPT_SPEC}; R5",
    example=Example("text", "--excerpt 1-2000", "--excerpt 42,45-47"),
)
NO_SOURCE_TEXT = Code(
    id="NO_SOURCE_TEXT",
    severity=ERROR,
    title="The project names no source text",
    message="An excerpt by section numbers needs a source text, and the project names none.",
    fix='Write `source_text = "FILE.md"` into `brenner.toml` (a Markdown file whose headings carry '
    "the numbers), or give the passages with `--excerpt-file FILE`.",
    why="A number means a section only in a text that everybody agrees on.",
    spec="companion, Anchors",
    example=Example("text", 'operator = "Ada"', 'operator = "Ada"\nsource_text = "interviews.md"'),
)
ROUND_WITHOUT_VERSION = Code(
    id="ROUND_WITHOUT_VERSION",
    severity=ERROR,
    title="There is no version to start a round from",
    message="`{thread_id}` has no version yet: it is still in its first round.",
    fix="To ask more agents in that round, use `brenner session start --thread-id={thread_id}` "
    "with the session's question. Once deltas have come in, `brenner compile` publishes v1; start "
    "the next round then.",
    why="The kickoff of a later round names the version that everybody builds on, and the "
    "critiques that are open in it.",
    spec=_ROUND_SPEC,
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (nothing is compiled yet)",
        "brenner compile RS-20251230-cell-fate\nbrenner session round RS-20251230-cell-fate",
    ),
)
ROUND_WITHOUT_QUESTION = Code(
    id="ROUND_WITHOUT_QUESTION",
    severity=ERROR,
    title="The session has no question yet",
    message="v{version} of `{thread_id}` has no research question, and none is given.",
    fix="Give it with `--question`: the next version takes it from the kickoff.",
    why="Agents work on a question. Without one the title of the kickoff would be taken for it.",
    spec=f"{_ROUND_SPEC}; R15",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (no kickoff has asked anything)",
        "brenner session round RS-20251230-cell-fate --question 'How do cells know their fate?'",
    ),
)
ROUND_OF_CLOSED_SESSION = Code(
    id="ROUND_OF_CLOSED_SESSION",
    severity=WARNING,
    title="The round goes on with a session that is closed",
    message="`{thread_id}` was closed with v{version}; this round goes on with it. The session "
    "stays closed until a later version is published.",
    fix="Once deltas have come in, compile with `--reopen`, too: `brenner compile --reopen "
    "{argument}`.",
    why="The last version of a closed session is what others rely on. That it is overtaken must be "
    "meant both times: when agents are asked, and when their work is compiled.",
    spec="R18",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate --reopen\n"
        "brenner compile RS-20251230-cell-fate",
        "brenner session round RS-20251230-cell-fate --reopen\n"
        "brenner compile RS-20251230-cell-fate --reopen",
    ),
)
ROUND_BEFORE_COMPILE = Code(
    id="ROUND_BEFORE_COMPILE",
    severity=WARNING,
    title="Deltas wait that no version has read",
    message="{unread} since v{version} that no version has read; of their blocks {applies} would "
    "be applied. They become part of this round, which builds on v{version} without them.",
    fix="To start the round from a version that has them, run `brenner compile {argument}` first.",
    why="Agents of this round read the version that the kickoff names. What is not in it they are "
    "likely to write a second time, or to contradict.",
    spec=f"{_ROUND_SPEC}; R10",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (deltas have come in since v1)",
        "brenner compile RS-20251230-cell-fate\nbrenner session round RS-20251230-cell-fate",
    ),
)
ROUND_OVERTAKEN = Code(
    id="ROUND_OVERTAKEN",
    severity=ERROR,
    title="The round has ended before its kickoffs were out",
    message="The kickoffs of round {round} build on v{version} of `{thread_id}`, and meanwhile "
    "{now}.",
    fix="Look at the new state, then run the same command again: it starts the round that comes "
    "next.",
    why="A kickoff that names an older version would set its reader to work on what has changed.",
    spec=f"{_ROUND_SPEC}; R17",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (somebody compiles in the same moment)",
        "brenner session round RS-20251230-cell-fate    (again)",
    ),
)
LEFT_OUT_OF_ROUND = Code(
    id="LEFT_OUT_OF_ROUND",
    severity=INFO,
    title="Somebody of the roster is not asked",
    message="The roster also names {names}, whom no kickoff of this session has asked; this round "
    "does not ask them, either.",
    fix="To ask them as well, name them: `--to NAME`.",
    why="A roster may name more agents than take part. Whoever was not asked before is asked only "
    "if somebody means it.",
    spec=f"{_ROUND_SPEC}; R15",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate",
        "brenner session round RS-20251230-cell-fate --to BlueLake --to RedSky",
    ),
)
ROSTER_PASSED_OVER = Code(
    id="ROSTER_PASSED_OVER",
    severity=WARNING,
    title="The roster of a later kickoff cannot be used",
    message="The roster of message {id} cannot be used ({reason}). The round goes by the roster of "
    "an earlier kickoff, or by none.",
    fix="Look whether the recipients and their roles are the right ones; if not, give them with "
    "`--to NAME --role ROLE`. The kickoffs of this round tell the roster to everybody.",
    why="The latest roster is the session's. One that is faulty must not keep a session from going "
    "on, whoever sent it.",
    spec="R15; agent_roster_schema_v0.1, Validation Rules",
    example=Example(
        "text",
        "| Agent | Role |\n|---|---|\n| RedSky | researcher |",
        "| Agent | Role |\n|---|---|\n| RedSky | test_designer |",
    ),
)

KICKOFF_CODES = (
    OTHER_QUESTION,
    QUESTION_RESPELT,
    CONTEXT_DIFFERS,
    KICKOFF_INCOMPLETE,
    RECIPIENTS_NOT_REGISTERED,
    ROLE_CHANGED,
    LEFT_OUT_OF_ROSTER,
    INVALID_SECTIONS,
    UNKNOWN_SECTION_NUMBER,
    EXCERPT_TOO_LONG,
    NO_SOURCE_TEXT,
    ROUND_WITHOUT_VERSION,
    ROUND_WITHOUT_QUESTION,
    ROUND_OF_CLOSED_SESSION,
    ROUND_BEFORE_COMPILE,
    ROUND_OVERTAKEN,
    LEFT_OUT_OF_ROUND,
    ROSTER_PASSED_OVER,
)


# Rosters (roster document; ruling R20)


_ROSTER_SPEC = "agent_roster_schema_v0.1, Edge Cases and Rules"
_PRECEDENCE_SPEC = "agent_roster_schema_v0.1, Loading Precedence; R20"
_FALLBACK_SPEC = "agent_roster_schema_v0.1, Backwards Compatibility; R20"

DUPLICATE_AGENT = Code(
    id="DUPLICATE_AGENT",
    severity=ERROR,
    title="An agent stands twice in the roster",
    message="Duplicate agent in roster: {name}",
    fix="Keep one entry for {name}. Two agents may share a role, but one agent has one role.",
    why="With two entries the agent would get two prompts, or one of them by chance.",
    spec=_ROSTER_SPEC,
    example=Example(
        "text",
        '[{"agentName": "BlueLake", "role": "hypothesis_generator"},\n'
        ' {"agentName": "BlueLake", "role": "test_designer"}]',
        '[{"agentName": "BlueLake", "role": "hypothesis_generator"},\n'
        ' {"agentName": "RedSky", "role": "test_designer"}]',
    ),
)
INVALID_ROLE = Code(
    id="INVALID_ROLE",
    severity=ERROR,
    title="A role is not one of the three",
    message="Invalid role for {name}: {role}",
    fix="Write `hypothesis_generator`, `test_designer` or `adversarial_critic`.{suggestion}",
    why="Each role has its own prompt, and there are three. For another role there is nothing to "
    "send.",
    spec=_ROSTER_SPEC,
    example=Example(
        "text",
        '{"agentName": "BlueLake", "role": "researcher"}',
        '{"agentName": "BlueLake", "role": "hypothesis_generator"}',
    ),
)
MISSING_ROSTER_ENTRY = Code(
    id="MISSING_ROSTER_ENTRY",
    severity=ERROR,
    title="A recipient is not in the roster",
    message="Missing roster entry for recipient: {name}",
    fix="Give {name} a role (`--to {name} --role ROLE`, or `--agent-role {name}=ROLE`), or leave "
    "{name} out of the recipients.",
    why="A role that is guessed gives the wrong prompt, and the division of labour is lost. So no "
    "kickoff goes out at all.",
    spec=_ROSTER_SPEC,
    example=Example(
        "text",
        "brenner session start --to BlueLake --role test_designer --to GreenValley",
        "brenner session start --to BlueLake --role test_designer "
        "--to GreenValley --role adversarial_critic",
    ),
)
EMPTY_ROSTER = Code(
    id="EMPTY_ROSTER",
    severity=ERROR,
    title="The roster has no entries",
    message="The roster{source} has no entries.",
    fix="Add at least one entry with `agentName` and `role`, or leave the roster out.",
    why="A roster says who does what. An empty one is a mistake more often than a wish.",
    spec="agent_roster_schema_v0.1, Roster",
    example=Example(
        "text",
        '{"mode": "role_separated", "entries": []}',
        '{"mode": "role_separated",\n'
        ' "entries": [{"agentName": "BlueLake", "role": "test_designer"}]}',
    ),
)
CONTRADICTING_ROLES = Code(
    id="CONTRADICTING_ROLES",
    severity=ERROR,
    title="Two flags give an agent different roles",
    message="{name} is given two roles: `{first}` and `{second}`.",
    fix="Leave one of the two out. One agent has one role.",
    why="Neither flag beats the other, so which role was meant would be a guess.",
    spec=f"{_ROSTER_SPEC}; R20",
    example=Example(
        "text",
        "--to BlueLake --role test_designer --agent-role BlueLake=adversarial_critic",
        "--to BlueLake --role test_designer",
    ),
)
UNKNOWN_ROSTER_MODE = Code(
    id="UNKNOWN_ROSTER_MODE",
    severity=ERROR,
    title="The roster's mode is unknown",
    message="`{value}` is not a roster mode.",
    fix="Write `role_separated` (a prompt for each role) or `unified` (one prompt for all)."
    "{suggestion}",
    why="The mode decides which prompt each agent gets. A mode that nobody knows decides nothing.",
    spec="agent_roster_schema_v0.1, Roster Modes; R20",
    example=Example("text", "BRENNER_ROSTER_MODE=separate", "BRENNER_ROSTER_MODE=role_separated"),
)
MALFORMED_ROSTER = Code(
    id="MALFORMED_ROSTER",
    severity=ERROR,
    title="The roster cannot be read",
    message="The roster from {source} cannot be read: {reason}.",
    fix="Correct it there: JSON or TOML in which each entry has `agentName` and `role` as text, or "
    "`@` and the name of a file that holds it. `brenner roster validate` checks it without "
    "sending anything.",
    why="A roster that is half read would leave agents without a role, and nobody would notice.",
    spec=f"agent_roster_schema_v0.1, Core Types; {_PRECEDENCE_SPEC}",
    example=Example(
        "text",
        '--roster \'[{agentName: "BlueLake", role: "test_designer"}]\'',
        '--roster \'[{"agentName": "BlueLake", "role": "test_designer"}]\'',
    ),
)
UNKNOWN_ROSTER_KEY = Code(
    id="UNKNOWN_ROSTER_KEY",
    severity=WARNING,
    title="A key of the roster is unknown",
    message="The key `{key}` in the roster from {source} is not known and has no effect.",
    fix="Correct its name, or take it out. An entry has `agentName`, `role`, `program`, `model` "
    "and `notes`.{suggestion}",
    why="What nobody reads looks as if it had an effect.",
    spec="agent_roster_schema_v0.1, Core Types",
    example=Example(
        "text",
        '{"agentName": "BlueLake", "role": "test_designer", "programme": "codex-cli"}',
        '{"agentName": "BlueLake", "role": "test_designer", "program": "codex-cli"}',
    ),
)
INVALID_ROSTER_TIME = Code(
    id="INVALID_ROSTER_TIME",
    severity=ERROR,
    title="The roster's createdAt is not a time",
    message="`createdAt` of the roster is `{value}`, which is not a time in ISO 8601.",
    fix="Write it as in `2026-01-15T10:00:00Z`, or leave it out.",
    why="The roster goes into the artifact's metadata, where others sort and compare times.",
    spec="agent_roster_schema_v0.1, Roster",
    example=Example("text", '"createdAt": "yesterday"', '"createdAt": "2026-01-15T10:00:00Z"'),
)
UNKNOWN_PRESET = Code(
    id="UNKNOWN_PRESET",
    severity=ERROR,
    title="The preset is unknown",
    message="There is no preset `{preset}`.",
    fix="`brenner roster presets` lists those that there are.{suggestion}",
    why="Without the preset there are no roles to give.",
    spec=_PRECEDENCE_SPEC,
    example=Example("text", "--preset default-three", "--preset default-3-agent"),
)
PRESET_RECIPIENT_COUNT = Code(
    id="PRESET_RECIPIENT_COUNT",
    severity=ERROR,
    title="The preset has more or fewer places than there are recipients",
    message="The preset `{preset}` from {source} is for another number of recipients: "
    "{expected}, not {count}.",
    fix="Name as many recipients with `--to` as the preset has entries, or give the roles one by "
    "one with `--to NAME --role ROLE`.",
    why="The preset's roles go to the recipients in order. With too few or too many, somebody's "
    "role would be a guess.",
    spec=_PRECEDENCE_SPEC,
    example=Example(
        "text",
        "--preset default-3-agent --to BlueLake --to RedSky",
        "--preset default-3-agent --to BlueLake --to RedSky --to GreenValley",
    ),
)
NO_ROSTER = Code(
    id="NO_ROSTER",
    severity=WARNING,
    title="There is no roster",
    message="No roster was given; roles are guessed from the agents' names.",
    fix="Name the roles: `--to NAME --role ROLE` for each agent, `--roster`, `--preset`, or a "
    "roster in `brenner.toml`.",
    why="Names such as BlueLake say nothing about roles. A later version of the protocol will "
    "require a roster.",
    spec=_FALLBACK_SPEC,
    example=Example(
        "text",
        "brenner session start --to CodexOne --to ClaudeTwo",
        "brenner session start --to CodexOne --role hypothesis_generator "
        "--to ClaudeTwo --role test_designer",
    ),
)
UNIFIED_WITHOUT_ROLES = Code(
    id="UNIFIED_WITHOUT_ROLES",
    severity=INFO,
    title="The roles in the roster are not used",
    message="No roles were given, and unified mode uses none; the roster says "
    "`hypothesis_generator` for everybody.",
    fix="Nothing needs to be done. Give the roles (`--to NAME --role ROLE`) if the roster shall "
    "show them all the same.",
    why="An entry of a roster has a role, also where all get the same prompt. Whoever reads it "
    "later should know that nobody chose it.",
    spec="agent_roster_schema_v0.1, Unified Mode",
    example=Example(
        "text",
        "--unified --to BlueLake --to RedSky",
        "--unified --to BlueLake --role test_designer --to RedSky --role adversarial_critic",
    ),
)
HEURISTIC_MODE_DEPRECATED = Code(
    id="HEURISTIC_MODE_DEPRECATED",
    severity=WARNING,
    title="Guessing roles from names is deprecated",
    message="The roster's mode `heuristic` is deprecated: it guesses roles from the agents' names.",
    fix="Write `role_separated` as the mode, and an entry with `agentName` and `role` for each "
    "agent.",
    why="A name is not a role, and a guess cannot be checked afterwards. The mode will be removed "
    "in 1.0 of the protocol.",
    spec=_FALLBACK_SPEC,
    example=Example(
        "text",
        '{"mode": "heuristic", "entries": []}',
        '{"mode": "role_separated",\n'
        ' "entries": [{"agentName": "CodexOne", "role": "hypothesis_generator"}]}',
    ),
)
HEURISTIC_NAME_UNMATCHED = Code(
    id="HEURISTIC_NAME_UNMATCHED",
    severity=ERROR,
    title="An agent has no role, and its name tells none",
    message="{name} has no role: none is given, and none can be guessed from the name.",
    fix="Give the role: `--to {name} --role ROLE`, where ROLE is `hypothesis_generator`, "
    "`test_designer` or `adversarial_critic`.",
    why="Without a roster only a name that tells the program or the model has a role. Any other "
    "name would get somebody else's prompt.",
    spec=_FALLBACK_SPEC,
    example=Example("text", "--to BlueLake", "--to BlueLake --role test_designer"),
)
ROSTER_VALUE_OVERRIDDEN = Code(
    id="ROSTER_VALUE_OVERRIDDEN",
    severity=WARNING,
    title="A value that was given has no effect",
    message="`{value}` for {name} from {source} has no effect: {reason}.",
    fix="Change it there, or give yours as a flag ({flag}), which beats all others. "
    "`brenner roster show` says where each entry comes from.",
    why="Flags beat the environment, then come the session, the project file and the preset. "
    "Whoever typed something that lost should know.",
    spec=_PRECEDENCE_SPEC,
    example=Example(
        "text",
        "--preset default-3-agent --to BlueLake --to RedSky --to GreenValley\n"
        "(brenner.toml says that BlueLake is adversarial_critic)",
        "--preset default-3-agent --to BlueLake --to RedSky --to GreenValley "
        "--agent-role BlueLake=hypothesis_generator",
    ),
)
CONFIG_TS_NOT_RUN = Code(
    id="CONFIG_TS_NOT_RUN",
    severity=INFO,
    title="A brenner.config.ts is not run",
    message="`{path}` is a program in TypeScript; it is not run, and its roster is not used.",
    fix="Move what it says to `brenner.toml`, under the same names, and delete it.",
    why="Reading a setting must not run somebody's program. The note is there so that the file is "
    "not taken to be in force.",
    spec=_PRECEDENCE_SPEC,
    example=Example(
        "text",
        'export default { roster: { defaultPreset: "default-3-agent" } };',
        '[roster]\ndefaultPreset = "default-3-agent"',
    ),
)

ROSTER_CODES = (
    DUPLICATE_AGENT,
    INVALID_ROLE,
    MISSING_ROSTER_ENTRY,
    EMPTY_ROSTER,
    CONTRADICTING_ROLES,
    UNKNOWN_ROSTER_MODE,
    MALFORMED_ROSTER,
    UNKNOWN_ROSTER_KEY,
    INVALID_ROSTER_TIME,
    UNKNOWN_PRESET,
    PRESET_RECIPIENT_COUNT,
    NO_ROSTER,
    UNIFIED_WITHOUT_ROLES,
    HEURISTIC_MODE_DEPRECATED,
    HEURISTIC_NAME_UNMATCHED,
    ROSTER_VALUE_OVERRIDDEN,
    CONFIG_TS_NOT_RUN,
)


# Dismissing refused blocks


CANNOT_DISMISS = Code(
    id="CANNOT_DISMISS",
    severity=ERROR,
    title="There is nothing to dismiss",
    message="{what} of `{thread_id}` cannot be dismissed: {reason}.",
    fix="`brenner session status {thread_id}` lists the refused blocks that are open.",
    why="Only a refused block that nobody has corrected waits for a decision. To dismiss anything "
    "else would say of a contribution that it is not in the artifact, when it is.",
    spec="rulings, Small decisions: refused blocks",
    example=Example(
        "text",
        "brenner session dismiss RS-20251230-cell-fate 7.2\n(block 2 was applied)",
        "brenner session dismiss RS-20251230-cell-fate 7.3",
    ),
)

DISMISSAL_CODES = (CANNOT_DISMISS,)


# Watching sessions live


STORE_REPLACED = Code(
    id="STORE_REPLACED",
    severity=ERROR,
    title="Another store has taken the place of the one that was watched",
    message="`{where}` is not the store that was watched any more: what had come in there is gone, "
    "or has become something else.",
    fix="Find out who put another store there, and whether the mail before it is kept somewhere. "
    "`brenner session watch` again follows what is there now.",
    why="News is what came in after a certain message. Where that message is gone, nobody can say "
    "what is new, and something could be left out in silence.",
    spec="design, Store",
    example=Example(
        "text",
        "brenner session watch    (meanwhile: cp old-mail.sqlite3 .brenner/mail.sqlite3)",
        "brenner session watch    (again, after the copy)",
    ),
)

WATCH_CODES: tuple[Code, ...] = (STORE_REPLACED,)


# External programs: ntm, tmux, and those of the agents


_NTM_SPEC = "thread_subject_conventions_v0.1, ntm session naming"
_START_COMMAND = "brenner session start --thread-id RS-20251230-cell-fate …"

NO_TERMINAL_PROGRAM = Code(
    id="NO_TERMINAL_PROGRAM",
    severity=ERROR,
    title="Neither ntm nor tmux is installed",
    message="{option} needs ntm or tmux, and neither is on PATH. Nothing was sent.",
    fix="Install tmux (`apt install tmux`, `brew install tmux`) or ntm, or leave {option} out.",
    why="What is known to fail is not begun: agents would have mail, and nobody would run them.",
    spec=_NTM_SPEC,
    example=Example("text", f"{_START_COMMAND} --spawn    (without tmux)", _START_COMMAND),
)
NOBODY_TO_OPEN = Code(
    id="NOBODY_TO_OPEN",
    severity=ERROR,
    title="No recipient has a program that can be opened",
    message="`--spawn` has nothing to open: {reasons}. Nothing was sent.",
    fix="Name the programs in a roster or preset, or register the agents with `brenner mail "
    "register NAME --program PROGRAM`. Known are {known}; others get a command under `[programs]` "
    "in `brenner.toml`.",
    why="A session without agents in it would look as if somebody were at work.",
    spec=f"{_NTM_SPEC}; agent_roster_schema_v0.1, Roster Entry",
    example=Example(
        "text",
        "brenner session start --to BlueLake --role test_designer --spawn …",
        "brenner mail register BlueLake --program claude-code\n"
        "brenner session start --to BlueLake --role test_designer --spawn …",
    ),
)
AGENT_NOT_OPENED = Code(
    id="AGENT_NOT_OPENED",
    severity=WARNING,
    title="An agent's program was not opened",
    message="{agent} was not opened in a terminal: {reason}.",
    fix="Open it yourself, or mend that and run the same command again: who is there already is "
    "left alone.",
    why="Only commands that the operator has configured are run: those of the table, and those "
    "under `[programs]` in `brenner.toml`. Nothing that stands in mail is ever run.",
    spec=_NTM_SPEC,
    example=Example(
        "text",
        '{"agentName": "BlueLake", "role": "test_designer", "program": "my-agent"}',
        '[programs]\nmy-agent = "my-agent --interactive"',
    ),
)
PROGRAM_NOT_FOUND = Code(
    id="PROGRAM_NOT_FOUND",
    severity=WARNING,
    title="The command of an agent's program is not on PATH",
    message="`{command}`, the command of {program}, is not on PATH: the window of {agent} has a "
    "shell in it.",
    fix="Install the program, or name its command under `[programs]` in `brenner.toml`; then start "
    "it in that window.",
    why="The window is there, but nobody reads the mail in it.",
    spec=_NTM_SPEC,
    example=Example(
        "text", '[programs]\nclaude-code = "cluade"', '[programs]\nclaude-code = "claude"'
    ),
)
SPAWN_FAILED = Code(
    id="SPAWN_FAILED",
    severity=ERROR,
    title="The session could not be opened in a terminal",
    message="{mail}{program} could not open `{session}` for {agents}: {reason}",
    fix="Mend that and run the same command again: it sends only what is missing, and opens who is "
    "not there. Agents can also be started by hand.",
    why="The mail waits for the agents, whoever starts them. Sending it again would not help.",
    spec=_NTM_SPEC,
    example=Example(
        "text",
        f"{_START_COMMAND} --spawn    (tmux fails)",
        f"{_START_COMMAND} --spawn    (again)",
    ),
)
OTHER_TERMINAL_SESSION = Code(
    id="OTHER_TERMINAL_SESSION",
    severity=ERROR,
    title="The terminal session of that name is another one",
    message="{mail}The tmux session `{session}` was opened for {owner}; it was left alone.",
    fix="Close it with `tmux kill-session -t '={session}'` if it is not needed, or start the "
    "agents by hand.",
    why="tmux stores `.` as `_`, so two threads can have one name there, and two projects can have "
    "a thread of the same ID. Agents that are told of mail which is not theirs work on the wrong "
    "session.",
    spec=_NTM_SPEC,
    example=Example("text", "bot-5so.1 while bot-5so_1 runs", "bot-5so.1 once it has ended"),
)
NO_TERMINAL_SESSION = Code(
    id="NO_TERMINAL_SESSION",
    severity=ERROR,
    title="There is no terminal session to tell",
    message="{mail}Nobody was told of it: no session `{session}` runs in {program}.",
    fix="Open it with `--spawn`, or start the agents by hand: their mail waits for them.",
    why="The words are typed only into panes of the thread's own session.",
    spec=_NTM_SPEC,
    example=Example(
        "text", f"{_START_COMMAND} --broadcast", f"{_START_COMMAND} --spawn --broadcast"
    ),
)
BROADCAST_INCOMPLETE = Code(
    id="BROADCAST_INCOMPLETE",
    severity=ERROR,
    title="Not everybody was told to read the mail",
    message="{mail}Not told in `{session}`: {missed}.",
    fix="Mend that and run the same command again, or tell them yourself: their mail waits for "
    "them.",
    why="An agent that nobody wakes does not know that it has mail.",
    spec=_NTM_SPEC,
    example=Example(
        "text",
        f"{_START_COMMAND} --broadcast    (a pane is in copy mode)",
        "the same once one has left it",
    ),
)

INTEGRATION_CODES = (
    NO_TERMINAL_PROGRAM,
    NOBODY_TO_OPEN,
    AGENT_NOT_OPENED,
    PROGRAM_NOT_FOUND,
    SPAWN_FAILED,
    OTHER_TERMINAL_SESSION,
    NO_TERMINAL_SESSION,
    BROADCAST_INCOMPLETE,
)
