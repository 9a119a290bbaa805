#!/bin/sh
# The Debian packages that tests talk to. As root they are installed; otherwise what is missing is
# named, and the tests that need it skip (or, with CI=true, fail).
set -eu

# program:package. PostgreSQL comes with a wheel, but that one does not know TLS.
needed="git:git tmux:tmux openssl:openssl pg_createcluster:postgresql chromium:chromium zsh:zsh fish:fish mandoc:mandoc"

missing() {
    for pair in $needed; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || printf ' %s' "${pair##*:}"
    done
}

if [ -n "$(missing)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Debian packages for the tests:$(missing)"
    apt-get update -qq || true
    # shellcheck disable=SC2046  (a list of names)
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(missing) |
        sed -un 's/^\(Setting up [^ ]*\).*/\1/p'
fi
[ -n "$(missing)" ] || exit 0
echo "MISSING, and tests that need them will not run:$(missing) (apt-get install$(missing))"
[ "${CI:-}" != true ]
