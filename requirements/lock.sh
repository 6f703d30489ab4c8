#!/usr/bin/env bash
# Remakes the locks from pyproject.toml: universal for Python 3.11 and later, every file hashed, no index address.
#
#   requirements/lock.sh                     keep what is locked, add and drop what pyproject.toml asks for
#   requirements/lock.sh --upgrade           take newer versions
#
# A release younger than a week is not taken: most poisoned releases are found and withdrawn within days.
# --no-config: a personal configuration must not decide what the project locks.
set -euo pipefail
cd "$(dirname "$0")/.."

lock() {
    local output=$1
    shift
    UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile --quiet --no-config --universal --generate-hashes \
        --no-emit-index-url --python-version 3.11 --exclude-newer "7 days" --output-file "requirements/$output" "$@" >/dev/null
    echo "requirements/$output: $(grep -c '^[a-z].*==' "requirements/$output") packages"
}

# The wider lock is held to the versions of the narrower one, so that tests run on what is shipped.
lock build.lock requirements/build.in "$@"
lock runtime.lock pyproject.toml "$@"
lock dev.lock pyproject.toml --all-extras --constraints requirements/runtime.lock "$@"
