"""Presets: the one that is built in, and a roster's places given to agents."""

from collections.abc import Mapping, Sequence

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.roster.model import PresetEntry, Role, RosterEntry, RosterPreset
from brenner.text import nearest, perhaps

# agent_roster_schema, Config File Example
DEFAULT_3_AGENT = RosterPreset(
    id="default-3-agent",
    name="Default 3-Agent Setup",
    description="Standard Brenner Protocol with Codex/Opus/Gemini",
    entries=(
        PresetEntry(Role.HYPOTHESIS_GENERATOR.value, "codex-cli", "GPT-5.2"),
        PresetEntry(Role.TEST_DESIGNER.value, "claude-code", "Opus 4.5"),
        PresetEntry(Role.ADVERSARIAL_CRITIC.value, "gemini-cli", "Gemini 3"),
    ),
)
BUILT_IN = (DEFAULT_3_AGENT,)


def find_preset(preset_id: str, known: Mapping[str, RosterPreset]) -> RosterPreset | Diagnostic:
    """The preset of that id, or that there is none."""
    if preset_id in known:
        return known[preset_id]
    near = perhaps(nearest(preset_id, known))
    return codes.UNKNOWN_PRESET.at(preset=preset_id, suggestion=near)


def filled(
    preset: RosterPreset, names: Sequence[str], source: str
) -> tuple[RosterEntry, ...] | Diagnostic:
    """The preset's places, given to these agents in order. All must be taken, and none be short."""
    if len(names) != len(preset.entries):
        return codes.PRESET_RECIPIENT_COUNT.at(
            preset=preset.id, source=source, expected=len(preset.entries), count=len(names)
        )
    pairs = zip(preset.entries, names, strict=True)
    return tuple(place.given_to(name) for place, name in pairs)
