"""Codes for sessions: kickoffs (R15), rosters, dismissing blocks, watching, external programs."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_EXCERPT_SPEC = "message_body_schema_v0.1, KICKOFF Messages; companion, Anchors"
_START_SPEC = "rulings, Small decisions: `session start` on an existing thread"
_ROUND_SPEC = "artifact_publish_spec_v0.1, KICKOFF Messages (Round 2+)"

OTHER_QUESTION = error(
    "OTHER_QUESTION",
    "`{thread_id}` already has another question, in message {id}: “{question}”",
    "For a new session, leave out `--thread-id`. To finish that kickoff, repeat its question "
    "word for word. To change the question of that session, send a DELTA that edits `RT`.",
    f"{_START_SPEC}; R15",
)
QUESTION_RESPELT = info(
    "QUESTION_RESPELT",
    "`{thread_id}` already has this question, in another spelling (message {id}): “{question}”",
    "No action is needed: the wording of that message is used. For a separate session, set its "
    "thread ID with `--thread-id`.",
    f"{_START_SPEC}; R15",
)
CONTEXT_DIFFERS = warning(
    "CONTEXT_DIFFERS",
    "Message {id}, which started the {what}, has different text under {sections}. {effect}",
    "To repeat the kickoff, give the same texts. If something has changed, send an INFO "
    "message in the thread. To change the artifact's context, send a DELTA that edits `RT`.",
    f"{_START_SPEC}; R15",
)
KICKOFF_INCOMPLETE = error(
    "KICKOFF_INCOMPLETE",
    "The kickoff was sent to {reached}, but not to {missed}: {reason}",
    "{hint} The same command sends only the missing kickoffs.",
    _START_SPEC,
)
RECIPIENTS_NOT_REGISTERED = error(
    "RECIPIENTS_NOT_REGISTERED",
    "The server does not know {names}. A name there may belong to another project, so names "
    "are not registered automatically.",
    "Let the agents register first. If you may choose these names, repeat the command with "
    "`--register`.",
    "design, Commands",
)
ROLE_CHANGED = warning(
    "ROLE_CHANGED",
    "{name} already has a kickoff as {before} (message {id}), but the roster says {role}. It "
    "gets no second kickoff.",
    "If the role has changed, send {name} an INFO message in the thread. Otherwise use the "
    "role that it had.",
    _START_SPEC,
)
LEFT_OUT_OF_ROSTER = warning(
    "LEFT_OUT_OF_ROSTER",
    "{names} took part in this session before, but the roster of these kickoffs does not "
    "list them. The latest roster counts: later rounds will not ask them.",
    "Add them with `--to NAME --role ROLE`, each with the role that it had. They get no second "
    "kickoff.",
    "R15",
)
INVALID_SECTIONS = error(
    "INVALID_SECTIONS",
    "`{value}` is not a valid list of sections: {reason}.",
    "Write numbers and ascending ranges, separated by commas, such as `42,45-47`.",
    _EXCERPT_SPEC,
)
UNKNOWN_SECTION_NUMBER = error(
    "UNKNOWN_SECTION_NUMBER",
    "`{path}` does not contain {missing}. It contains {known}.",
    "Choose sections that it contains, or give the passages yourself with `--excerpt-file FILE`.",
    _EXCERPT_SPEC,
)
EXCERPT_TOO_LONG = error(
    "EXCERPT_TOO_LONG",
    "The excerpt has {length} characters, and at most {most} are allowed.",
    "Choose fewer sections. Name the source in the context, so that agents can look up the rest.",
    f"{_EXCERPT_SPEC}; R5",
)
NO_SOURCE_TEXT = error(
    "NO_SOURCE_TEXT",
    "Cannot take an excerpt by section numbers: the project has no source text.",
    'Add `source_text = "FILE.md"` to `brenner.toml` (a Markdown file with numbered '
    "headings), or give the passages with `--excerpt-file FILE`.",
    "companion, Anchors",
)
UNKNOWN_CITATION = warning(
    "UNKNOWN_CITATION",
    "{what} cites {value}, which is not in {place}.",
    "Cite a section that is there. For another source write `[external: source]`, for your own "
    "conclusion `[inference]`.",
    "companion, Anchors",
)
ANCHORS_NOT_CHECKED = info(
    "ANCHORS_NOT_CHECKED",
    "Brenner cannot check whether the cited sections (§n) exist: the project has no source text, "
    "and no kickoff has an excerpt with section numbers.",
    'Add `source_text = "FILE.md"` to `brenner.toml`, or give an excerpt in the next kickoff: '
    "`--excerpt-file FILE`.",
    "companion, Anchors",
)
OPERATOR_AS_RECIPIENT = warning(
    "OPERATOR_AS_RECIPIENT",
    "The kickoff goes to `{name}`, the operator. No agent answers under this name.",
    "Name agents instead: `--to BlueLake --role hypothesis_generator`. The operator needs no "
    "kickoff to contribute: `brenner new DELTA --thread ID`.",
    _START_SPEC,
)
ROUND_WITHOUT_VERSION = error(
    "ROUND_WITHOUT_VERSION",
    "`{thread_id}` has no version yet: it is still in its first round.",
    "When deltas have arrived, publish v1: `brenner compile {thread_id}`. Then start the next "
    "round. To ask more agents in the first round: `brenner session start --thread-id={thread_id} "
    "--question TEXT --to NAME --role ROLE`, with the session's question.",
    _ROUND_SPEC,
)
ROUND_WITHOUT_QUESTION = error(
    "ROUND_WITHOUT_QUESTION",
    "v{version} of `{thread_id}` has no research question, and none was given.",
    "Add `--question TEXT`: the next version takes the question from the kickoff.",
    f"{_ROUND_SPEC}; R15",
)
ROUND_OF_CLOSED_SESSION = warning(
    "ROUND_OF_CLOSED_SESSION",
    "`{thread_id}` was closed with v{version}, and this round continues it. The session "
    "stays closed until a later version is published.",
    "When deltas have arrived, compile with `--reopen`, too: `brenner compile --reopen "
    "{argument}`.",
    "R18",
)
ROUND_BEFORE_COMPILE = warning(
    "ROUND_BEFORE_COMPILE",
    "{unread} since v{version} that no version includes. Blocks that would be applied: {applies}. "
    "This round starts from v{version} without them.",
    "To start the round from a version that includes them, first run `brenner compile {argument}`.",
    f"{_ROUND_SPEC}; R10",
)
ROUND_OVERTAKEN = error(
    "ROUND_OVERTAKEN",
    "The kickoffs of round {round} build on v{version} of `{thread_id}`, but now {now}.",
    "Check the new state, then run the same command again: it starts the round that comes next.",
    f"{_ROUND_SPEC}; R17",
)
LEFT_OUT_OF_ROUND = info(
    "LEFT_OUT_OF_ROUND",
    "The roster also lists {names}, but no kickoff of this session asked them. This round "
    "does not ask them either.",
    "To ask them too, add `--to NAME`.",
    f"{_ROUND_SPEC}; R15",
)
ROSTER_PASSED_OVER = warning(
    "ROSTER_PASSED_OVER",
    "The roster in message {id} cannot be used: {reason}. This round uses the roster of an "
    "earlier kickoff, or none.",
    "Check the recipients and their roles. To correct them, add `--to NAME --role ROLE`. The "
    "kickoffs of this round contain the roster.",
    "R15; agent_roster_schema_v0.1, Validation Rules",
)

# Rosters (roster document; ruling R20)

_ROSTER_SPEC = "agent_roster_schema_v0.1, Edge Cases and Rules"
_PRECEDENCE_SPEC = "agent_roster_schema_v0.1, Loading Precedence; R20"
_FALLBACK_SPEC = "agent_roster_schema_v0.1, Backwards Compatibility; R20"

DUPLICATE_AGENT = error(
    "DUPLICATE_AGENT",
    "Duplicate agent in roster: {name}",
    "Keep one entry for {name}. Two agents may share a role, but an agent has only one role.",
    _ROSTER_SPEC,
)
INVALID_ROLE = error(
    "INVALID_ROLE",
    "Invalid role for {name}: {role}",
    "Write `hypothesis_generator`, `test_designer` or `adversarial_critic`.{suggestion}",
    _ROSTER_SPEC,
)
MISSING_ROSTER_ENTRY = error(
    "MISSING_ROSTER_ENTRY",
    "Missing roster entry for recipient: {name}",
    "Give {name} a role (`--to {name} --role ROLE`, or `--agent-role {name}=ROLE`), or "
    "remove {name} from the recipients.",
    _ROSTER_SPEC,
)
EMPTY_ROSTER = error(
    "EMPTY_ROSTER",
    "The roster{source} has no entries.",
    "Add at least one entry with `agentName` and `role`, or leave the roster out.",
    "agent_roster_schema_v0.1, Roster",
)
CONTRADICTING_ROLES = error(
    "CONTRADICTING_ROLES",
    "{name} has two roles: `{first}` and `{second}`.",
    "Remove one of the two. An agent has only one role.",
    f"{_ROSTER_SPEC}; R20",
)
UNKNOWN_ROSTER_MODE = error(
    "UNKNOWN_ROSTER_MODE",
    "Unknown roster mode `{value}`.",
    "Write `role_separated` (a prompt for each role) or `unified` (one prompt for "
    "all).{suggestion}",
    "agent_roster_schema_v0.1, Roster Modes; R20",
)
MALFORMED_ROSTER = error(
    "MALFORMED_ROSTER",
    "Cannot read the roster from {source}: {reason}.",
    "Correct it: JSON or TOML in which each entry has `agentName` and `role` as text, or `@` "
    "and the name of such a file. `brenner roster validate` checks it and sends nothing.",
    f"agent_roster_schema_v0.1, Core Types; {_PRECEDENCE_SPEC}",
)
UNKNOWN_ROSTER_KEY = warning(
    "UNKNOWN_ROSTER_KEY",
    "Unknown key `{key}` in the roster from {source}. It has no effect.",
    "Correct its name or remove it. The keys of an entry are `agentName`, `role`, `program`, "
    "`model` and `notes`.{suggestion}",
    "agent_roster_schema_v0.1, Core Types",
)
INVALID_ROSTER_TIME = error(
    "INVALID_ROSTER_TIME",
    "`createdAt` of the roster is `{value}`, which is not an ISO 8601 time.",
    "Write it as in `2026-01-15T10:00:00Z`, or leave it out.",
    "agent_roster_schema_v0.1, Roster",
)
UNKNOWN_PRESET = error(
    "UNKNOWN_PRESET",
    "Unknown preset `{preset}`.",
    "`brenner roster presets` lists the presets.{suggestion}",
    _PRECEDENCE_SPEC,
)
PRESET_RECIPIENT_COUNT = error(
    "PRESET_RECIPIENT_COUNT",
    "Wrong number of recipients for the preset `{preset}` from {source}: {count} instead of "
    "{expected}.",
    "Name as many recipients with `--to` as the preset has entries, or give each role with "
    "`--to NAME --role ROLE`.",
    _PRECEDENCE_SPEC,
)
NO_ROSTER = warning(
    "NO_ROSTER",
    "No roster was given, so all agents get the same prompt (unified mode).",
    "To give each agent a role: `--to NAME --role ROLE` for each, `--roster`, `--preset`, or a "
    "roster in `brenner.toml`. To keep one prompt for all, add `--unified`.",
    f"{_FALLBACK_SPEC}; R20",
)
UNIFIED_WITHOUT_ROLES = info(
    "UNIFIED_WITHOUT_ROLES",
    "No roles were given, and unified mode uses none. The roster says `hypothesis_generator` "
    "for all agents.",
    "No action is needed. To show the roles in the roster, add `--to NAME --role ROLE`.",
    "agent_roster_schema_v0.1, Unified Mode",
)
HEURISTIC_MODE_DEPRECATED = warning(
    "HEURISTIC_MODE_DEPRECATED",
    "The roster mode `heuristic` is deprecated: it guesses roles from the agents' names.",
    "Write `role_separated` as the mode, and an entry with `agentName` and `role` for each agent.",
    _FALLBACK_SPEC,
)
HEURISTIC_NAME_UNMATCHED = error(
    "HEURISTIC_NAME_UNMATCHED",
    "{name} has no role: none was given, and none can be guessed from the name.",
    "Give the role: `--to {name} --role ROLE`, where ROLE is `hypothesis_generator`, "
    "`test_designer` or `adversarial_critic`.",
    _FALLBACK_SPEC,
)
ROSTER_VALUE_OVERRIDDEN = warning(
    "ROSTER_VALUE_OVERRIDDEN",
    "`{value}` for {name} from {source} has no effect: {reason}.",
    "Change it there, or use the flag ({flag}), which overrides all other sources. `brenner "
    "roster show` shows the source of each entry.",
    _PRECEDENCE_SPEC,
)
CONFIG_TS_NOT_RUN = info(
    "CONFIG_TS_NOT_RUN",
    "`{path}` is a TypeScript program. It is not run, and its roster is not used.",
    "Move its settings to `brenner.toml`, under the same names, and delete the file.",
    _PRECEDENCE_SPEC,
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

CANNOT_DISMISS = error(
    "CANNOT_DISMISS",
    "Cannot dismiss {what} of `{thread_id}`: {reason}.",
    "`brenner session status {thread_id}` lists the rejected blocks and the unanswered items "
    "that are open.",
    "rulings, Small decisions: refused blocks; R28",
)

# Items that ask for an answer, and the conclusion

STILL_UNANSWERED = error(
    "STILL_UNANSWERED",
    "Cannot complete `{thread_id}`, because there is no answer yet: {facts}.",
    "Answer in a DELTA, or keep an item as it is: `brenner session dismiss {thread_id} {address} "
    "--reason TEXT`. To complete without an answer: `brenner session complete --anyway "
    "{thread_id}`.",
    "R28",
)
UNANSWERED_ITEM = warning(
    "UNANSWERED_ITEM",
    "{fact} (message {id}), and no answer has come since.",
    "Send a DELTA that kills {item}, changes it, or adds a critique or an assumption that names "
    "{names} and says why {item} is kept. Or dismiss it: `brenner session dismiss {thread_id} "
    "{address} --reason TEXT`.",
    "R28",
)
NO_CONCLUSION = warning(
    "NO_CONCLUSION",
    "`{thread_id}` has no conclusion: a reader of the last version does not learn what was found.",
    "Add it: `brenner session complete {options}--conclusion TEXT {thread_id}`.",
    "R29",
)

# Cancelling a session

CANNOT_CANCEL = error(
    "CANNOT_CANCEL",
    "Cannot cancel `{thread_id}`: {reason}.",
    "{fix}",
    "R25",
)

# Watching sessions live

STORE_REPLACED = error(
    "STORE_REPLACED",
    "The store `{where}` was replaced while it was watched: messages that had arrived there "
    "are gone or different.",
    "Find out what replaced it, and whether there is a backup of the old mail. To watch the "
    "store as it is now, run `brenner session watch` again.",
    "design, Store",
)

# External programs: ntm, tmux, and those of the agents

_NTM_SPEC = "thread_subject_conventions_v0.1, ntm session naming"

NO_TERMINAL_PROGRAM = error(
    "NO_TERMINAL_PROGRAM",
    "{option} needs ntm or tmux, and neither is on PATH. Nothing was sent.",
    "Install tmux (`apt install tmux`, `brew install tmux`) or ntm, or leave {option} out.",
    _NTM_SPEC,
)
NOBODY_TO_OPEN = error(
    "NOBODY_TO_OPEN",
    "`--spawn` cannot open any agent: {reasons}. Nothing was sent.",
    "Name the programs in a roster or preset, or register each agent with `brenner mail "
    "register NAME --program PROGRAM`. Known programs: {known}. For another one, add its "
    "command under `[programs]` in `brenner.toml`.",
    f"{_NTM_SPEC}; agent_roster_schema_v0.1, Roster Entry",
)
AGENT_NOT_OPENED = warning(
    "AGENT_NOT_OPENED",
    "{agent} was not opened in a terminal: {reason}.",
    "Start the agent's program by hand. Or fix the cause and run the same command again: it "
    "opens only the agents that are missing.",
    _NTM_SPEC,
)
PROGRAM_NOT_FOUND = warning(
    "PROGRAM_NOT_FOUND",
    "`{command}`, the command of {program}, is not on PATH. The window of {agent} contains "
    "only a shell.",
    "Install the program, or set its command under `[programs]` in `brenner.toml`. Then "
    "start it in that window.",
    _NTM_SPEC,
)
SPAWN_FAILED = error(
    "SPAWN_FAILED",
    "{mail}{program} could not open `{session}` for {agents}: {reason}",
    "Fix that and run the same command again: it sends only what is missing and opens only "
    "the agents that are missing. You can also start the agents by hand.",
    _NTM_SPEC,
)
OTHER_TERMINAL_SESSION = error(
    "OTHER_TERMINAL_SESSION",
    "{mail}The tmux session `{session}` was opened for {owner}. It was not changed.",
    "If it is not needed, close it with `tmux kill-session -t '={session}'`. Or start the "
    "agents by hand.",
    _NTM_SPEC,
)
NO_TERMINAL_SESSION = error(
    "NO_TERMINAL_SESSION",
    "{mail}The agents were not notified: no session `{session}` runs in {program}.",
    "Open it with `--spawn`, or start the agents by hand. Their messages are in their inboxes.",
    _NTM_SPEC,
)
BROADCAST_INCOMPLETE = error(
    "BROADCAST_INCOMPLETE",
    "{mail}Not notified in `{session}`: {missed}.",
    "Fix that and run the same command again, or notify the agents yourself. Their messages "
    "are in their inboxes.",
    _NTM_SPEC,
)

# The independent first round (R33)
INDEPENDENCE_TOO_LATE = error(
    "INDEPENDENCE_TOO_LATE",
    "The kickoff of `{thread_id}` states no independent first round, and the first kickoff decides "
    "for the whole session.",
    "Leave out `--independent`. Or start a new session: set another ID with `--thread-id`.",
    "R33",
)
SEALED_UNTIL_V1 = error(
    "SEALED_UNTIL_V1",
    "`{thread}` is in an independent first round: contributions of other agents are sealed until "
    "v1 is published, and only the operator can publish it.",
    "Ask the operator to compile: `brenner compile {thread}`.",
    "R33",
)
