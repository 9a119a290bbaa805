"""Codes for `brenner result`: results of tests, their evidence, and commands that are run."""

from __future__ import annotations

from brenner.diagnostics.model import error, warning

_RESULT_SPEC = "R26; design, Commands"

NO_SUCH_RESULT = error(
    "NO_SUCH_RESULT",
    "`{id}` has no result {number}.{known}",
    "Give the number of a result that exists: `brenner result list {thread}`.",
    _RESULT_SPEC,
)
COMMAND_NOT_RUN = error(
    "COMMAND_NOT_RUN",
    "`{program}` cannot be run: {reason}. Nothing was recorded.",
    "Correct the name after `--`, or install the program. The command runs without a shell: for a "
    "pipe, write `-- sh -c 'COMMAND | COMMAND'`.",
    _RESULT_SPEC,
)
RESULT_FILE_UNREADABLE = error(
    "RESULT_FILE_UNREADABLE",
    "`{path}` cannot be evidence: {reason}.",
    "Give a file inside the project folder that you can read: `--evidence file:PATH`.",
    _RESULT_SPEC,
)
RESULT_FILE_MISSING = warning(
    "RESULT_FILE_MISSING",
    "`{path}`, evidence of result {number} of `{id}`, cannot be read: {reason}.",
    "Restore the file, for example from git. Its SHA-256 is {sha256}.",
    _RESULT_SPEC,
)
RESULT_FILE_DIFFERS = warning(
    "RESULT_FILE_DIFFERS",
    "`{path}`, evidence of result {number} of `{id}`, has changed since the result was recorded.",
    "Restore the file with the SHA-256 {sha256}, for example from git. If the change is right, "
    "record a result with the new file as evidence.",
    _RESULT_SPEC,
)
