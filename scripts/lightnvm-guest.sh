#!/usr/bin/env bash
# A Linux guest that is a LightNVM host, for open-channel drives of version 1.2 and 2.0: Debian's Linux 5.10,
# the last long-term kernel with LightNVM and pblk, and the nvme-cli of its time. Debian builds that kernel
# without LightNVM, so this builds it, of Debian's source and with little else in it.
#
#   scripts/lightnvm-guest.sh fetch             downloads 120 MB and builds (minutes, 1.5 GB for a while);
#                                               quick when done before
#   scripts/lightnvm-guest.sh lacks             prints the Debian packages that are missing for that
#   scripts/lightnvm-guest.sh boot SCRIPT ARG…  as scripts/guest.sh, whose QEMU and programs it takes;
#                                               `lnvm` is that nvme-cli
#
# ASTER_CACHE is that of scripts/guest.sh.
set -euo pipefail
export LC_ALL=C

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The second has what the first no longer has.
mirrors=(http://deb.debian.org/debian http://archive.debian.org/debian)
source=l/linux/linux-source-5.10_5.10.223-1_all.deb
source_sum=f733d27d239d65598d96d7a72f71ac50f49f2380192a1b3b4ca2f5ad5144dd63
tool=n/nvme-cli/nvme-cli_1.12-5_amd64.deb
tool_sum=4ec658e22b005d7bba6e5354dd16a757c07065ff902dc8106bb4a7704503a331
needs=(gcc make flex bison bc libelf-dev libssl-dev)

cache=${ASTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aster}
guest=$cache/guest/$(cksum <"$scripts/guest.sh" | cut -d' ' -f1)

say() { printf 'lightnvm-guest: %s\n' "$*" >&2; }
fail() {
    say "error: $*"
    exit 1
}

download() {
    local path=pool/main/$1 sum=$2 into=$3 mirror
    for mirror in "${mirrors[@]}"; do
        if curl -sSfL -o "$into" "$mirror/$path"; then
            echo "$sum  $into" | sha256sum -c --quiet - || fail "$mirror/$path isn't what it should be"
            return
        fi
    done
    fail "none of ${mirrors[*]} has $path; is the network up?"
}

# The packages that building needs and that aren't there.
lacks() {
    [[ ! -e $here/ready ]] || return 0
    local package missing=()
    for package in "${needs[@]}"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    echo "${missing[*]}"
}

# What the kernel has beside tinyconfig.
config() {
    local name
    for name in 64BIT SMP PRINTK BUG TTY BLOCK BLK_DEV BLK_DEV_INITRD RD_GZIP PCI PCI_MSI PCI_MMCONFIG ACPI \
        HPET_TIMER HIGH_RES_TIMERS SERIAL_8250 SERIAL_8250_CONSOLE SERIAL_8250_PNP BINFMT_ELF BINFMT_SCRIPT \
        PROC_FS SYSFS DEVTMPFS TMPFS SHMEM FUTEX EPOLL EVENTFD SIGNALFD TIMERFD AIO POSIX_TIMERS MULTIUSER \
        FILE_LOCKING ADVISE_SYSCALLS SYSVIPC NET UNIX CRYPTO CRYPTO_CRC32C CRC32 EXT4_FS BLK_DEV_NVME NVM \
        NVM_PBLK EMBEDDED EXPERT; do
        echo "CONFIG_$name=y"
    done
}

# Another source, another kernel or another guest is another cache.
here=$cache/lightnvm/$({ echo "$source_sum $tool_sum ${guest##*/}" && config; } | cksum | cut -d' ' -f1)

fetch() {
    [[ ! -e $here/ready ]] || return 0
    "$scripts/guest.sh" fetch
    local missing
    missing=$(lacks)
    [[ -z $missing ]] ||
        fail "the kernel can't be built without: $missing (scripts/setup.sh --lightnvm installs them)"
    local new=$here.new
    rm -rf "$new"
    mkdir -p "$new"
    say "downloading the source of Linux 5.10 and nvme-cli 1.12 into $here"
    download "$source" "$source_sum" "$new/source.deb"
    download "$tool" "$tool_sum" "$new/tool.deb"
    dpkg --extract "$new/source.deb" "$new/source"
    dpkg --extract "$new/tool.deb" "$new/tool"
    tar -C "$new/source" -xf "$new/source/usr/src/linux-source-5.10.tar.xz"
    local tree=$new/source/linux-source-5.10
    # Debian takes LightNVM out by this word.
    sed -i 's/depends on BLOCK && BROKEN/depends on BLOCK/' "$tree/drivers/lightnvm/Kconfig"
    say "building it"
    config >"$new/config"
    (cd "$tree" && make -s tinyconfig && scripts/kconfig/merge_config.sh -m .config "$new/config" &&
        make -s olddefconfig && make -s -j"$(nproc)" bzImage) >"$new/log" 2>&1 ||
        fail "it could not be built: see $new/log"
    grep -q '^CONFIG_NVM_PBLK=y' "$tree/.config" || fail "the kernel would have no pblk: see $tree/.config"
    # A cache for scripts/guest.sh that differs in kernel and programs.
    local its=$new/cache/guest/${guest##*/}
    mkdir -p "$its" "$new/added/sbin"
    ln -s "$guest/tree" "$its/tree"
    cp "$tree/arch/x86/boot/bzImage" "$its/vmlinuz-cloud"
    cp "$new/tool/usr/sbin/nvme" "$new/added/sbin/lnvm"
    (cd "$new/added" &&
        printf 'sbin/lnvm\n' | "$guest/tree/usr/bin/busybox" cpio -o -H newc -R 0:0 2>/dev/null) |
        cat "$guest/initrd-cloud" - >"$its/initrd-cloud"
    touch "$its/ready"
    rm -rf "$new/source" "$new"/*.deb "$new/tool" "$new/added"
    rm -rf "$here"
    mv "$new" "$here"
    touch "$here/ready"
}

case ${1:-} in
fetch) fetch ;;
lacks) lacks ;;
boot)
    [[ -e $here/ready ]] || fail "the guest is not here yet: run scripts/lightnvm-guest.sh fetch"
    ASTER_CACHE=$here/cache exec "$scripts/guest.sh" "$@"
    ;;
*) fail "usage: scripts/lightnvm-guest.sh fetch | lacks | boot SCRIPT [QEMU ARGUMENT …]" ;;
esac
