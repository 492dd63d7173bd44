#!/usr/bin/env bash
# The Python package from what `cargo test` has built, without packing a wheel.
#
#   scripts/python.sh build          makes target/python/aster, a package that PYTHONPATH=target/python finds
#   scripts/python.sh test [ARG …]   the same, then ruff and mypy over it, and its tests; ARGs are pytest's
#   scripts/python.sh wheel          the wheel as users get it, in target/wheels, and the tests on it
#
# Needs target/python-venv, which scripts/setup.sh --python makes.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
bin=$root/target/python-venv/bin
# What tools remember goes where git doesn't look.
export PYTHONPYCACHEPREFIX=$root/target/python-cache/pyc
export RUFF_CACHE_DIR=$root/target/python-cache/ruff MYPY_CACHE_DIR=$root/target/python-cache/mypy

build() {
    # All of the workspace with the features of `cargo test`, or else every crate is built once more.
    # shellcheck disable=SC2086 # nothing, or one word
    cargo build --quiet ${LOCKED:-} --workspace --features aster-cli/rtl
    rm -rf target/python
    mkdir -p target/python/aster
    local file
    for file in python/package/aster/*; do
        ln -s "../../../$file" target/python/aster/
    done
    ln -s ../../debug/lib_aster.so target/python/aster/_aster.abi3.so
}

case ${1:-} in
build) build ;;
test)
    shift
    build
    export PYTHONPATH=$root/target/python MYPYPATH=$root/target/python
    cd python
    "$bin/ruff" format --check --quiet .
    "$bin/ruff" check --quiet .
    "$bin/mypy" --no-error-summary package/aster
    "$bin/python" -m pytest -p no:cacheprovider "$@"
    ;;
wheel)
    rm -rf target/wheels target/wheel-venv
    "$bin/pip" wheel -q --disable-pip-version-check --no-deps -w target/wheels ./python
    # An environment with the wheel, and what the tests need from the other one.
    "$bin/python" -m venv target/wheel-venv
    target/wheel-venv/bin/pip install -q --disable-pip-version-check --no-deps --no-index target/wheels/*.whl
    needs=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cd python
    PYTHONPATH=$needs ../target/wheel-venv/bin/python -m pytest -p no:cacheprovider
    ;;
*)
    printf 'usage: %s build | test [ARG …] | wheel\n' "$0" >&2
    exit 2
    ;;
esac
