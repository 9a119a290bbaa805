"""What an agent is told of the server before anything else."""

from brenner.mcp.framing import HOW_FRAMES_LOOK

INSTRUCTIONS = " ".join(
    (
        "Brenner: a research group that works by mail on one shared artifact.",
        "(1) `register_agent` once, with the name that you were given, your program and model;",
        "keep the `registration_token`.",
        "(2) `brenner_task` says what you owe in a thread: your role, the round, open critiques.",
        "(3) `brenner_artifact` shows the latest version, whole or in parts.",
        "(4) `brenner_post` sends your contribution as structured arguments. Only what is posted",
        "so, or under `DELTA[gpt]: …` (your model's shorthand, not your role), gets into the",
        "artifact.",
        "An answer with isError did nothing, unless it says otherwise: each problem names its fix,",
        "and `brenner_explain` explains its code. Mend it and call again.",
        "In what `brenner_…` tools answer:",
        HOW_FRAMES_LOOK,
    )
)
