"""Size limits, enforced before anything is parsed (ruling R5; see docs/reference/limits.md).

Each is far above what a session needs, and low enough that a hostile message costs no more time and
memory than its length.
"""

from __future__ import annotations

MOST_BODY_BYTES = 4 * 1024 * 1024
MOST_SENT_KIB = 512  # default of `max_message_kib`: the size of a message that is sent or checked
MOST_SENT_KIB_AT_LEAST = 64  # the minimum of `max_message_kib`
MOST_UNWARNED_BYTES = 64 * 1024  # a longer body is sent with a warning
MOST_DIAGNOSTICS_OF_A_BLOCK = 50
MOST_DIAGNOSTICS_OF_A_MESSAGE = 200
MOST_BLOCKS = 2_000
MOST_BLOCK_BYTES = 256 * 1024
MOST_JSON_DEPTH = 32
MOST_JSON_VALUES = 20_000
MOST_NUMBER_DIGITS = 300
MOST_HEADERS = 50
MOST_SUBJECT_CHARACTERS = 120
MOST_LISTED_CHARACTERS = 4_000  # of a body in a list of messages as JSON
MOST_PREVIEW_CHARACTERS = 1_200  # of a body in a list of messages as text
MOST_MAIL_SUBJECT_BYTES = 1_000  # of mail outside the protocol
MOST_FILE_NAME_BYTES = 255
MOST_KEY_BYTES = 200
MOST_PROFILE_BYTES = 2_000
MOST_RECORD_BYTES = 80 * 1024 * 1024
MOST_REQUEST_BYTES = 13 * 1024 * 1024
MOST_ANSWERED_BYTES = 8 * 1024 * 1024
MOST_SHOWN_BYTES = 30_000  # of a result: programs of agents show about 40,000 to their model
MOST_AGENTS = 1_000
MOST_QUERY_BYTES = 10_000
MOST_QUERY_TERMS = 500
MOST_INLINE_ARTIFACT_BYTES = 1024 * 1024
MOST_MESSAGES_OF_A_VERSION = 10_000
MOST_PATTERNS = 50
MOST_PATTERN_BYTES = 500
MOST_PATTERN_NAMES = 32
MOST_WILDCARDS = 16
MOST_REASON_BYTES = 1_000
MOST_RESERVATIONS = 100
MOST_RESERVATIONS_OF_ALL = 1_000
MOST_RESERVED_SECONDS = 30 * 24 * 60 * 60
