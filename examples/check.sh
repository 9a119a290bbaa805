#!/bin/sh
# What `brenner check` reports about messages as agents send them: a valid one, the five failure modes
# of the delta document, and one with every mistake that can be fixed. Needs `brenner` on the PATH.
set -u
cd "$(dirname "$0")" || exit

run() {
    printf '\n$ brenner %s\n' "$*"
    brenner "$@"
    code=$?
    [ "$code" = 0 ] || printf '(exit code %s)\n' "$code"
}

say() { printf '\n-- %s\n' "$*"; }

say "A valid contribution: two deltas, the second refers to the first by a local name."
run check 01_good.md
say "Failure mode 1: JSON outside a delta block."
run check 02_inline_json.md
say "2: a wrong name for a section."
run check 03_wrong_section.md
say "3: an EDIT without a target. Only its author can fix that."
run check 04_missing_target.md
say "4: invalid JSON, in five ways at once."
run check 05_invalid_json.md
say "5: an empty payload."
run check 06_empty_payload.md
say "If every correction is certain, --fix prints the corrected message."
run check --fix 07_wrapped_and_mixed_up.md
say "What a code means, and how to fix it."
run explain JSON_TRAILING_COMMA
