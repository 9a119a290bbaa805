"""How much we take, decided before anything is parsed (ruling R5; explained in docs/limits.md).

Each is far above what a session needs, and low enough that a hostile message costs no more time
and memory than its length.
"""

MOST_BODY_BYTES = 4 * 1024 * 1024
MOST_BLOCKS = 2_000
MOST_BLOCK_BYTES = 256 * 1024
MOST_JSON_DEPTH = 32
MOST_JSON_VALUES = 20_000
MOST_NUMBER_DIGITS = 300
MOST_HEADERS = 50
MOST_SUBJECT_CHARACTERS = 120
MOST_FILE_NAME_BYTES = 255
MOST_KEY_BYTES = 200
MOST_PROFILE_BYTES = 2_000
MOST_RECORD_BYTES = 80 * 1024 * 1024
MOST_INLINE_ARTIFACT_BYTES = 1024 * 1024
MOST_MESSAGES_OF_A_VERSION = 10_000
