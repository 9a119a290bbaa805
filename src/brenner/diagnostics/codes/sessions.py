"""Codes for sessions: kickoffs (R15), rosters, dismissing blocks, watching, external programs."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_EXCERPT_SPEC = "message_body_schema_v0.1, KICKOFF Messages; companion, Anchors"
_START_SPEC = "rulings, Small decisions: `session start` on an existing thread"
_ROUND_SPEC = "artifact_publish_spec_v0.1, KICKOFF Messages (Round 2+)"

OTHER_QUESTION = error(
    "OTHER_QUESTION",
    "`{thread_id}` is about another question already, asked in message {id}: “{question}”",
    "For a session of its own leave `--thread-id` out. To finish that kickoff, ask its "
    "question, word for word. To change the question of that session, send a DELTA that edits "
    "`RT`.",
    f"{_START_SPEC}; R15",
)
QUESTION_RESPELT = info(
    "QUESTION_RESPELT",
    "The question is taken for that of `{thread_id}`, asked in message {id}: “{question}”",
    "Nothing has to be done: the words of that message stand. For a session of its own name "
    "its thread with `--thread-id`.",
    f"{_START_SPEC}; R15",
)
CONTEXT_DIFFERS = warning(
    "CONTEXT_DIFFERS",
    "Message {id}, with which the {what} began, has other words under {sections}. {effect}",
    "For the same kickoff give the same texts. If something has changed, tell everybody: send "
    "an INFO message in the thread; the artifact's context is changed by a DELTA that edits `RT`.",
    f"{_START_SPEC}; R15",
)
KICKOFF_INCOMPLETE = error(
    "KICKOFF_INCOMPLETE",
    "The kickoff has reached {reached}, but not {missed}: {reason}",
    "Run the same command again: it sends only what is missing. {hint}",
    _START_SPEC,
)
RECIPIENTS_NOT_REGISTERED = error(
    "RECIPIENTS_NOT_REGISTERED",
    "The server does not know {names}. A name may belong to its other projects, so nobody "
    "but the sender is registered there without being asked.",
    "Let the agents register themselves first. If the names are yours to give, repeat the "
    "command with `--register`.",
    "design, Commands",
)
ROLE_CHANGED = warning(
    "ROLE_CHANGED",
    "{name} has got its kickoff already, as {before} (message {id}); the roster says "
    "{role} now. No second one is sent.",
    "If the role has changed, tell {name}: send an INFO message in the thread. Otherwise give "
    "the role that it had.",
    _START_SPEC,
)
LEFT_OUT_OF_ROSTER = warning(
    "LEFT_OUT_OF_ROSTER",
    "This session has asked {names} before, and the roster of these kickoffs does not name "
    "them. The latest roster counts: later rounds will not ask them.",
    "Name them as well, each with the role that it had. Nobody gets a second kickoff.",
    "R15",
)
INVALID_SECTIONS = error(
    "INVALID_SECTIONS",
    "`{value}` is not a list of sections: {reason}.",
    "Write numbers and ascending ranges with commas between them, such as `42,45-47`.",
    _EXCERPT_SPEC,
)
UNKNOWN_SECTION_NUMBER = error(
    "UNKNOWN_SECTION_NUMBER",
    "`{path}` does not have {missing}. It has {known}.",
    "Ask for sections that it has, or give the passages yourself with `--excerpt-file FILE`.",
    _EXCERPT_SPEC,
)
EXCERPT_TOO_LONG = error(
    "EXCERPT_TOO_LONG",
    "The excerpt has {length} characters, and {most} are the most.",
    "Choose fewer sections, and name the source in the context: agents can look up the rest.",
    f"{_EXCERPT_SPEC}; R5",
)
NO_SOURCE_TEXT = error(
    "NO_SOURCE_TEXT",
    "An excerpt by section numbers needs a source text, and the project names none.",
    'Write `source_text = "FILE.md"` into `brenner.toml` (a Markdown file whose headings carry '
    "the numbers), or give the passages with `--excerpt-file FILE`.",
    "companion, Anchors",
)
ROUND_WITHOUT_VERSION = error(
    "ROUND_WITHOUT_VERSION",
    "`{thread_id}` has no version yet: it is still in its first round.",
    "To ask more agents in that round, use `brenner session start --thread-id={thread_id}` "
    "with the session's question. Once deltas have come in, `brenner compile` publishes v1; start "
    "the next round then.",
    _ROUND_SPEC,
)
ROUND_WITHOUT_QUESTION = error(
    "ROUND_WITHOUT_QUESTION",
    "v{version} of `{thread_id}` has no research question, and none is given.",
    "Give it with `--question`: the next version takes it from the kickoff.",
    f"{_ROUND_SPEC}; R15",
)
ROUND_OF_CLOSED_SESSION = warning(
    "ROUND_OF_CLOSED_SESSION",
    "`{thread_id}` was closed with v{version}; this round goes on with it. The session "
    "stays closed until a later version is published.",
    "Once deltas have come in, compile with `--reopen`, too: `brenner compile --reopen "
    "{argument}`.",
    "R18",
)
ROUND_BEFORE_COMPILE = warning(
    "ROUND_BEFORE_COMPILE",
    "{unread} since v{version} that no version has read; of their blocks {applies} would "
    "be applied. They become part of this round, which builds on v{version} without them.",
    "To start the round from a version that has them, run `brenner compile {argument}` first.",
    f"{_ROUND_SPEC}; R10",
)
ROUND_OVERTAKEN = error(
    "ROUND_OVERTAKEN",
    "The kickoffs of round {round} build on v{version} of `{thread_id}`, and meanwhile {now}.",
    "Look at the new state, then run the same command again: it starts the round that comes next.",
    f"{_ROUND_SPEC}; R17",
)
LEFT_OUT_OF_ROUND = info(
    "LEFT_OUT_OF_ROUND",
    "The roster also names {names}, whom no kickoff of this session has asked; this round "
    "does not ask them, either.",
    "To ask them as well, name them: `--to NAME`.",
    f"{_ROUND_SPEC}; R15",
)
ROSTER_PASSED_OVER = warning(
    "ROSTER_PASSED_OVER",
    "The roster of message {id} cannot be used ({reason}). The round goes by the roster of "
    "an earlier kickoff, or by none.",
    "Look whether the recipients and their roles are the right ones; if not, give them with "
    "`--to NAME --role ROLE`. The kickoffs of this round tell the roster to everybody.",
    "R15; agent_roster_schema_v0.1, Validation Rules",
)

# Rosters (roster document; ruling R20)

_ROSTER_SPEC = "agent_roster_schema_v0.1, Edge Cases and Rules"
_PRECEDENCE_SPEC = "agent_roster_schema_v0.1, Loading Precedence; R20"
_FALLBACK_SPEC = "agent_roster_schema_v0.1, Backwards Compatibility; R20"

DUPLICATE_AGENT = error(
    "DUPLICATE_AGENT",
    "Duplicate agent in roster: {name}",
    "Keep one entry for {name}. Two agents may share a role, but one agent has one role.",
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
    "Give {name} a role (`--to {name} --role ROLE`, or `--agent-role {name}=ROLE`), or leave "
    "{name} out of the recipients.",
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
    "{name} is given two roles: `{first}` and `{second}`.",
    "Leave one of the two out. One agent has one role.",
    f"{_ROSTER_SPEC}; R20",
)
UNKNOWN_ROSTER_MODE = error(
    "UNKNOWN_ROSTER_MODE",
    "`{value}` is not a roster mode.",
    "Write `role_separated` (a prompt for each role) or `unified` (one prompt for all)."
    "{suggestion}",
    "agent_roster_schema_v0.1, Roster Modes; R20",
)
MALFORMED_ROSTER = error(
    "MALFORMED_ROSTER",
    "The roster from {source} cannot be read: {reason}.",
    "Correct it there: JSON or TOML in which each entry has `agentName` and `role` as text, or "
    "`@` and the name of a file that holds it. `brenner roster validate` checks it without "
    "sending anything.",
    f"agent_roster_schema_v0.1, Core Types; {_PRECEDENCE_SPEC}",
)
UNKNOWN_ROSTER_KEY = warning(
    "UNKNOWN_ROSTER_KEY",
    "The key `{key}` in the roster from {source} is not known and has no effect.",
    "Correct its name, or take it out. An entry has `agentName`, `role`, `program`, `model` "
    "and `notes`.{suggestion}",
    "agent_roster_schema_v0.1, Core Types",
)
INVALID_ROSTER_TIME = error(
    "INVALID_ROSTER_TIME",
    "`createdAt` of the roster is `{value}`, which is not a time in ISO 8601.",
    "Write it as in `2026-01-15T10:00:00Z`, or leave it out.",
    "agent_roster_schema_v0.1, Roster",
)
UNKNOWN_PRESET = error(
    "UNKNOWN_PRESET",
    "There is no preset `{preset}`.",
    "`brenner roster presets` lists those that there are.{suggestion}",
    _PRECEDENCE_SPEC,
)
PRESET_RECIPIENT_COUNT = error(
    "PRESET_RECIPIENT_COUNT",
    "The preset `{preset}` from {source} is for another number of recipients: "
    "{expected}, not {count}.",
    "Name as many recipients with `--to` as the preset has entries, or give the roles one by "
    "one with `--to NAME --role ROLE`.",
    _PRECEDENCE_SPEC,
)
NO_ROSTER = warning(
    "NO_ROSTER",
    "No roster was given; roles are guessed from the agents' names.",
    "Name the roles: `--to NAME --role ROLE` for each agent, `--roster`, `--preset`, or a "
    "roster in `brenner.toml`.",
    _FALLBACK_SPEC,
)
UNIFIED_WITHOUT_ROLES = info(
    "UNIFIED_WITHOUT_ROLES",
    "No roles were given, and unified mode uses none; the roster says "
    "`hypothesis_generator` for everybody.",
    "Nothing needs to be done. Give the roles (`--to NAME --role ROLE`) if the roster shall "
    "show them all the same.",
    "agent_roster_schema_v0.1, Unified Mode",
)
HEURISTIC_MODE_DEPRECATED = warning(
    "HEURISTIC_MODE_DEPRECATED",
    "The roster's mode `heuristic` is deprecated: it guesses roles from the agents' names.",
    "Write `role_separated` as the mode, and an entry with `agentName` and `role` for each agent.",
    _FALLBACK_SPEC,
)
HEURISTIC_NAME_UNMATCHED = error(
    "HEURISTIC_NAME_UNMATCHED",
    "{name} has no role: none is given, and none can be guessed from the name.",
    "Give the role: `--to {name} --role ROLE`, where ROLE is `hypothesis_generator`, "
    "`test_designer` or `adversarial_critic`.",
    _FALLBACK_SPEC,
)
ROSTER_VALUE_OVERRIDDEN = warning(
    "ROSTER_VALUE_OVERRIDDEN",
    "`{value}` for {name} from {source} has no effect: {reason}.",
    "Change it there, or give yours as a flag ({flag}), which beats all others. "
    "`brenner roster show` says where each entry comes from.",
    _PRECEDENCE_SPEC,
)
CONFIG_TS_NOT_RUN = info(
    "CONFIG_TS_NOT_RUN",
    "`{path}` is a program in TypeScript; it is not run, and its roster is not used.",
    "Move what it says to `brenner.toml`, under the same names, and delete it.",
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
    "{what} of `{thread_id}` cannot be dismissed: {reason}.",
    "`brenner session status {thread_id}` lists the refused blocks that are open.",
    "rulings, Small decisions: refused blocks",
)

# Watching sessions live

STORE_REPLACED = error(
    "STORE_REPLACED",
    "`{where}` is not the store that was watched any more: what had come in there is gone, "
    "or has become something else.",
    "Find out who put another store there, and whether the mail before it is kept somewhere. "
    "`brenner session watch` again follows what is there now.",
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
    "`--spawn` has nothing to open: {reasons}. Nothing was sent.",
    "Name the programs in a roster or preset, or register the agents with `brenner mail "
    "register NAME --program PROGRAM`. Known are {known}; others get a command under `[programs]` "
    "in `brenner.toml`.",
    f"{_NTM_SPEC}; agent_roster_schema_v0.1, Roster Entry",
)
AGENT_NOT_OPENED = warning(
    "AGENT_NOT_OPENED",
    "{agent} was not opened in a terminal: {reason}.",
    "Open it yourself, or mend that and run the same command again: who is there already is "
    "left alone.",
    _NTM_SPEC,
)
PROGRAM_NOT_FOUND = warning(
    "PROGRAM_NOT_FOUND",
    "`{command}`, the command of {program}, is not on PATH: the window of {agent} has a "
    "shell in it.",
    "Install the program, or name its command under `[programs]` in `brenner.toml`; then start "
    "it in that window.",
    _NTM_SPEC,
)
SPAWN_FAILED = error(
    "SPAWN_FAILED",
    "{mail}{program} could not open `{session}` for {agents}: {reason}",
    "Mend that and run the same command again: it sends only what is missing, and opens who is "
    "not there. Agents can also be started by hand.",
    _NTM_SPEC,
)
OTHER_TERMINAL_SESSION = error(
    "OTHER_TERMINAL_SESSION",
    "{mail}The tmux session `{session}` was opened for {owner}; it was left alone.",
    "Close it with `tmux kill-session -t '={session}'` if it is not needed, or start the "
    "agents by hand.",
    _NTM_SPEC,
)
NO_TERMINAL_SESSION = error(
    "NO_TERMINAL_SESSION",
    "{mail}Nobody was told of it: no session `{session}` runs in {program}.",
    "Open it with `--spawn`, or start the agents by hand: their mail waits for them.",
    _NTM_SPEC,
)
BROADCAST_INCOMPLETE = error(
    "BROADCAST_INCOMPLETE",
    "{mail}Not told in `{session}`: {missed}.",
    "Mend that and run the same command again, or tell them yourself: their mail waits for them.",
    _NTM_SPEC,
)
