#!/bin/sh
# What `make demo` shows: messages as agents send them and what `brenner check` says of each; mail
# in a project; then two versions of an artifact that such messages became.
set -u
cd "$(dirname "$0")"

run() {
    printf '\n$ brenner %s\n' "$*"
    brenner "$@"
    code=$?
    [ "$code" = 0 ] || printf '(exit code %s)\n' "$code"
}

say() { printf '\n-- %s\n' "$*"; }

say "A sound contribution: two deltas, the second about the first, by a local name."
run check 01_good.md

say "The five failure modes of the delta document. 1: JSON outside a delta block."
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

say "A project: a folder with a mailbox. Who takes part is registered by name."
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
BRENNER_STORE="sqlite:///$project/mail.sqlite3"
export BRENNER_STORE
run mail register PurpleMountain --program claude-code --model opus-4.5
run mail register RedLake --program codex-cli --model gpt-5.2
run mail register RedIake
say "The operator starts a session: both recipients owe an ACK."
run mail send 08_kickoff.md
run mail inbox --as PurpleMountain
run mail ack 1 --as PurpleMountain
say "A contribution. A faulty one would not be sent; the answer says what is wrong, and how to mend it."
run mail send 01_good.md --as PurpleMountain --key first-contribution
run mail send 01_good.md --as PurpleMountain --key first-contribution
run mail send 05_invalid_json.md
say "The thread, as it stands; who still owes what; and what speaks of chromatin."
run mail thread RS-20251230-cell-fate-dichotomy
run mail pending
run mail search 'type:DELTA "chromatin of its mother"'
say "All of it as an archive, and taken in again: nothing is there twice."
run mail export "$project/mail.jsonl"
run mail import "$project/mail.jsonl"
unset BRENNER_STORE

say "Three agents, two rounds: what changed from version 1 to version 2."
cd ../tests/golden/three_agents || exit
run artifact diff v1.artifact.md v2.artifact.md
say "What is still missing in version 2, and how to send it."
run artifact lint v2.artifact.md
say "One hypothesis of it, for programs (the whole is \`brenner artifact show FILE --json\`)."
brenner artifact show v2.artifact.md --json |
    python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["hypothesis_slate"][0], indent=2, ensure_ascii=False))'

say "Next: write one yourself."
printf '   %s\n' "brenner new DELTA --as YourName > message.md" "brenner check message.md" "brenner explain"
