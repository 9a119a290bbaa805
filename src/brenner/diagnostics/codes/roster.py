"""Codes of the roster document (and ruling R20)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_RULES = "agent_roster_schema_v0.1, Edge Cases and Rules"
_SOURCES = "agent_roster_schema_v0.1, Loading Precedence; R20"
_FALLBACK = "agent_roster_schema_v0.1, Backwards Compatibility; R20"

DUPLICATE_AGENT = Code(
    id="DUPLICATE_AGENT",
    severity=ERROR,
    title="An agent stands twice in the roster",
    message="Duplicate agent in roster: {name}",
    fix="Keep one entry for {name}. Two agents may share a role, but one agent has one role.",
    why="With two entries the agent would get two prompts, or one of them by chance.",
    spec=_RULES,
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
    spec=_RULES,
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
    spec=_RULES,
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
    spec=f"{_RULES}; R20",
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
    spec=f"agent_roster_schema_v0.1, Core Types; {_SOURCES}",
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
    spec=_SOURCES,
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
    spec=_SOURCES,
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
    spec=_FALLBACK,
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
    spec=_FALLBACK,
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
    spec=_FALLBACK,
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
    spec=_SOURCES,
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
    spec=_SOURCES,
    example=Example(
        "text",
        'export default { roster: { defaultPreset: "default-3-agent" } };',
        '[roster]\ndefaultPreset = "default-3-agent"',
    ),
)

CODES = (
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
