#!/usr/bin/env bash
# Makes .venv, from a bare Debian 12 onwards, and brings it in step with a lock.
#
#   requirements/install.sh runtime|dev      runtime: what `procession` needs to run; dev: all that the tests need too
#
# It is called before every make target, so it must cost nothing when nothing has changed: .venv/installed holds a digest of
# the lock and of what the installation depends on. Only wheels are taken, and only with the hashes of the lock: nothing
# is compiled and no setup script of a stranger runs. $PYTHON names another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly wanted=${1:?runtime or dev}
readonly venv=.venv
readonly oldest="3, 11"

say() { echo "procession: $*" >&2; }

digest() {
    { pwd && echo "$1" && cat "requirements/$1.lock" requirements/build.lock requirements/install.sh pyproject.toml; } | sha256sum
}

in_step() {
    local lock
    # An environment for developers serves for running too.
    for lock in "$wanted" dev; do
        [[ -x $venv/bin/procession && -f $venv/installed && "$(<$venv/installed)" == "$(digest "$lock")" ]] && return 0
    done
    return 1
}

new_enough() { "$1" -c "import sys; sys.exit(sys.version_info < ($oldest))" >/dev/null 2>&1; }

# Debian ships Python without the part of the standard library that puts pip into a new environment.
makes_environments() { new_enough "$1" && "$1" -c 'import venv, ensurepip; ensurepip.version()' >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13 /usr/bin/python3}; do
        if "$1" "$candidate"; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

install_debian_packages() {
    [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
    say "this Python cannot make environments; installing Debian's python3-venv"
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -qq -y --no-install-recommends python3 python3-venv >/dev/null 2>&1 && return 0
    apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends python3 python3-venv >/dev/null
}

make_environment() {
    local python
    if python=$(find_python makes_environments); then
        "$python" -m venv --clear $venv
    elif python=$(find_python new_enough) && "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear --without-pip $venv
        "$python" -m pip --python $venv/bin/python install --quiet --no-input --require-hashes -r requirements/build.lock
    elif install_debian_packages && python=$(find_python makes_environments); then
        "$python" -m venv --clear $venv
    else
        say "a Python 3.11 or newer that can make environments is needed."
        say "on Debian:  sudo apt-get install python3 python3-venv"
        say "elsewhere:  make PYTHON=/path/to/python3.11 …"
        exit 1
    fi
}

# On a terminal one line counts the packages; a log gets the first line and the errors only.
progress() {
    if [[ -t 2 ]]; then
        awk '/^Collecting/ { printf "\r\033[K  %d %s", ++n, $2; fflush() } END { printf "\r\033[K" }' >&2
    else
        cat >/dev/null
    fi
}

pip_install() {
    $venv/bin/python -m pip install --no-input --disable-pip-version-check --progress-bar off "$@" | progress
}

in_step && exit 0
if ! { [[ -x $venv/bin/python ]] && new_enough $venv/bin/python && $venv/bin/python -m pip --version >/dev/null 2>&1; }; then
    say "making $venv (once)"
    make_environment
fi
say "installing what requirements/$wanted.lock names (about a minute the first time)"
pip_install --only-binary :all: --require-hashes -r "requirements/$wanted.lock" -r requirements/build.lock
pip_install --no-deps --no-build-isolation --editable .
digest "$wanted" >$venv/installed
say "ready: $($venv/bin/python --version)"
