#!/usr/bin/env bash
# Makes a machine able to build Aster, then runs the command given, if any, in that environment.
#
#   scripts/setup.sh [--bare-metal] [--verilator | --rtl] [--valgrind] [--browser] [--guest] [--lightnvm]
#                    [--python] [--book] [command …]
#
# Needs nothing but bash and either root or sudo; says what it installs; is quiet and quick when nothing is
# missing:
#   - a C linker (Rust links with it), make, pkg-config, curl and certificates, as Debian packages
#   - the Rust of rust-toolchain.toml with rustfmt and clippy: what is installed already, else by rustup,
#     which comes from Debian where Debian has it and from the Rust project where not
#   - with --bare-metal also that file's bare-metal target, which only `make lint` needs
#   - with --verilator also Verilator and a C++ compiler, which RTL channels are built by
#   - with --rtl also Icarus, yosys and cvc5, by which the RTL is tested and proved
#   - with --valgrind also Valgrind, which counts instructions
#   - with --browser also Chromium, in which pages are looked at
#   - with --guest also QEMU and a Linux guest, by which live drives are tested: unpacked into a cache, not
#     installed
#   - with --lightnvm also a Linux guest with LightNVM, whose kernel is built here, and what building it needs
#   - with --book also mdBook, built in some minutes, in target/tools
#   - with --python also a Python, and what the Python package's tests need in target/python-venv
#
# It exports RUSTUP_TOOLCHAIN, so that an installed toolchain of the right version serves under whatever name
# it has, and cargo never tries to download what a command doesn't need.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
    say "error: $*"
    exit 1
}

# The value, or the first of the list, that rust-toolchain.toml gives a key.
pinned() { sed -n "s/^$1 *= *\[\{0,1\}\"\([^\"]*\)\".*/\1/p" "$root/rust-toolchain.toml"; }
version=$(pinned channel)
target=$(pinned targets)
[[ -n $version && -n $target ]] || fail "rust-toolchain.toml names no channel or no target"

# What https://sh.rustup.rs answers with, from the host that the toolchains come from: one name to reach, not
# two.
rustup_installer=https://static.rust-lang.org/rustup/rustup-init.sh

bare_metal=
rtl_tools=()
counters=()
browser=
guest=
lightnvm=
python=
book=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --bare-metal) bare_metal=yes ;;
    --verilator) rtl_tools=(verilator) ;;
    --browser) browser=yes ;;
    --guest) guest=yes ;;
    --lightnvm) lightnvm=yes ;;
    --python) python=yes ;;
    --book) book=yes ;;
    --rtl) rtl_tools=(verilator iverilog yosys cvc5) ;;
    --valgrind) counters=(valgrind) ;;
    *) fail "unknown option $1" ;;
    esac
    shift
done

as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "neither root nor sudo: can't run '$*'"
    fi
}

apt_updated=
apt_update() {
    [[ -z $apt_updated ]] || return 0
    as_root apt-get update -qq >&2 || fail "apt-get update failed (see above); is the network up?"
    apt_updated=yes
}

apt_install() {
    command -v apt-get >/dev/null || fail "please install these by hand, there is no apt-get here: $*"
    [[ $(id -u) == 0 ]] || command -v sudo >/dev/null ||
        fail "neither root nor sudo; have an administrator run: apt-get update && apt-get install $*"
    say "installing Debian packages: $*"
    apt_update
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends --no-remove "$@" >&2
}

ensure_packages() {
    local missing=()
    command -v cc >/dev/null || missing+=(gcc)
    # A compiler without the C library's headers and start files can't link either.
    echo 'int main(void){return 0;}' | cc -x c -o /dev/null - 2>/dev/null || missing+=(libc6-dev)
    command -v make >/dev/null || missing+=(make)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    command -v curl >/dev/null || missing+=(curl)
    local tool
    for tool in ${rtl_tools[@]+"${rtl_tools[@]}"} ${counters[@]+"${counters[@]}"}; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    # What Verilator makes is C++.
    [[ ${#rtl_tools[@]} == 0 ]] || command -v c++ >/dev/null || missing+=(g++)
    [[ -z $browser || -n ${ASTER_BROWSER:-} ]] || command -v chromium >/dev/null ||
        command -v google-chrome >/dev/null || missing+=(chromium)
    [[ -n ${SSL_CERT_FILE:-} || -e /etc/ssl/certs/ca-certificates.crt ||
        -e /etc/pki/tls/certs/ca-bundle.crt ]] ||
        missing+=(ca-certificates)
    [[ ${#missing[@]} == 0 ]] || apt_install "${missing[@]}" ||
        fail "Debian packages could not be installed: ${missing[*]}"
}

ensure_rustup() {
    # A shell that was open when rustup came does not have its directory on the path yet.
    local home=${CARGO_HOME:-$HOME/.cargo}
    case ":$PATH:" in *":$home/bin:"*) ;; *) export PATH="$home/bin:$PATH" ;; esac
    command -v rustup >/dev/null && return
    # A Rust of the right version without rustup, a distribution's say, will do.
    if [[ $(rustc --version 2>/dev/null) == "rustc $version "* ]] && complete_without_rustup; then
        return
    fi
    say "installing rustup, which installs Rust"
    if command -v apt-get >/dev/null; then
        apt_update
        # Debian's rustup excludes Debian's rustc and cargo; --no-remove leaves those in place and we go
        # on below.
        if apt-cache policy rustup | grep -q 'Candidate: [0-9]' && apt_install rustup; then
            return
        fi
    fi
    curl --proto '=https' --tlsv1.2 -sSf "$rustup_installer" |
        RUSTUP_INIT_SKIP_PATH_CHECK=yes sh -s -- -q -y --no-modify-path --profile minimal \
            --default-toolchain none >/dev/null ||
        fail "rustup could not be installed from $rustup_installer; install rustup by hand and try again"
}

complete_without_rustup() {
    command -v cargo >/dev/null && command -v cargo-clippy >/dev/null &&
        command -v rustfmt >/dev/null || return 1
    [[ -z $bare_metal ]] || has_target
}

# Does the toolchain named hold the pinned version and its components?
serves() {
    [[ $(RUSTUP_TOOLCHAIN=$1 rustc --version 2>/dev/null) == "rustc $version "* ]] &&
        RUSTUP_TOOLCHAIN=$1 cargo clippy --version >/dev/null 2>&1 &&
        RUSTUP_TOOLCHAIN=$1 rustfmt --version >/dev/null 2>&1
}

has_target() { [[ -d $(rustc --print target-libdir --target "$target") ]]; }

choose_toolchain() {
    local installed name
    # Asking about a toolchain must not install it: we do that ourselves, and say so.
    export RUSTUP_AUTO_INSTALL=0
    # The one of that very name first: it is nearly always the right one.
    installed=$(rustup toolchain list | awk -v v="$version" '
        index($1, v) == 1 { print $1; next } { rest = rest $1 "\n" } END { printf "%s", rest }')
    while read -r name; do
        # Nightlies never hold a release; asking each would only cost time.
        if [[ -n $name && $name != nightly* && $name != no ]] && serves "$name"; then
            export RUSTUP_TOOLCHAIN=$name
            return
        fi
    done <<<"$installed"
    say "installing Rust $version"
    rustup toolchain install "$version" --no-self-update --profile minimal \
        --component rustfmt,clippy >&2 ||
        fail "Rust $version is not installed and could not be downloaded (see above)"
    export RUSTUP_TOOLCHAIN=$version
}

ensure_target() {
    has_target && return
    say "installing the Rust target $target"
    rustup target add "$target" >&2 ||
        fail "the target $target is needed by 'make lint' and could not be downloaded (see above)"
}

# A Python that is new enough and can make an environment; Debian's has its venv in a package of its own.
suitable_python() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
            command -v "$candidate" && return
    done
    return 1
}

ensure_python() {
    local venv=$root/target/python-venv wanted=$root/python/tests/requirements.txt found
    # What was installed stands in a copy of the list.
    cmp -s "$wanted" "$venv/requirements.txt" && "$venv/bin/python" -c '' 2>/dev/null && return
    if ! found=$(suitable_python); then
        apt_install python3 python3-venv || fail "Python could not be installed"
        found=$(suitable_python) || fail "Python 3.11 or later is needed; please install it by hand"
    fi
    say "installing what the Python package's tests need into target/python-venv"
    rm -rf "$venv"
    mkdir -p "$root/target"
    "$found" -m venv "$venv" &&
        "$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted" >&2 ||
        fail "the Python packages of python/tests/requirements.txt could not be installed (see above)"
    cp "$wanted" "$venv/requirements.txt"
}

# mdBook is a program that is run, so its licence (MPL-2.0) concerns nothing here.
mdbook=0.5.4
ensure_mdbook() {
    export PATH="$root/target/tools/bin:$PATH"
    [[ $(mdbook --version 2>/dev/null) != "mdbook v$mdbook" ]] || return 0
    say "building mdBook $mdbook into target/tools, which takes some minutes"
    cargo install --quiet --locked --no-default-features --features search --root "$root/target/tools" \
        mdbook --version "$mdbook" >&2 ||
        fail "mdBook $mdbook could not be built (see above); it is needed by 'make book' alone"
}

ensure_packages
ensure_rustup
if command -v rustup >/dev/null; then
    choose_toolchain
    [[ -z $bare_metal ]] || ensure_target
fi

[[ -z $python ]] || ensure_python
[[ -z $book ]] || ensure_mdbook

if [[ -n $guest || -n $lightnvm ]]; then
    # The keys by which Debian's packages are checked; Debian has them, its relatives may not.
    [[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] || apt_install debian-archive-keyring
    "$root/scripts/guest.sh" fetch
fi
if [[ -n $lightnvm ]]; then
    missing=$("$root/scripts/lightnvm-guest.sh" lacks)
    # shellcheck disable=SC2086 # one word each
    [[ -z $missing ]] || apt_install $missing
    "$root/scripts/lightnvm-guest.sh" fetch
fi

[[ $# == 0 ]] || exec "$@"
