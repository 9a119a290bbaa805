#!/bin/sh
# What `brenner check` says of messages as agents send them: a sound one, the five failure modes of
# the delta document, and one with everything wrong that can be mended. Needs `brenner` on the PATH.
set -u
cd "$(dirname "$0")" || exit

run() {
    printf '\n$ brenner %s\n' "$*"
    brenner "$@"
    code=$?
    [ "$code" = 0 ] || printf '(exit code %s)\n' "$code"
}

say() { printf '\n-- %s\n' "$*"; }

say "A sound contribution: two deltas, the second about the first, by a local name."
run check 01_good.md
say "Failure mode 1: JSON outside a delta block."
run check 02_inline_json.md
say "2: a wrong name for a section."
run check 03_wrong_section.md
say "3: an EDIT that does not say of what. Nobody can mend that but its author."
run check 04_missing_target.md
say "4: invalid JSON, in five ways at once."
run check 05_invalid_json.md
say "5: an empty payload."
run check 06_empty_payload.md
say "Where every correction is certain, --fix prints the corrected message."
run check --fix 07_wrapped_and_mixed_up.md
say "What a code means, and how to mend it."
run explain JSON_TRAILING_COMMA
