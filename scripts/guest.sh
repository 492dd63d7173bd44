#!/usr/bin/env bash
# A stock Linux guest under QEMU, from Debian packages: what live drives are tested with. Neither root nor KVM is needed.
#
#   scripts/guest.sh fetch             downloads the packages and unpacks them; quick when done before
#   scripts/guest.sh boot SCRIPT ARG…  boots, runs SCRIPT as root in the guest, powers off; ARGs go to QEMU
#
# Prints the guest's console, which ends with "GUEST-RC n": SCRIPT's exit status. Packages are unpacked into a tree of their own
# below ${XDG_CACHE_HOME:-~/.cache}/aster (ASTER_CACHE names another place) and run from there by the tree's own dynamic
# loader, so that nothing is installed and no other tree is entered.
#
# ASTER_GUEST_MEMORY (MiB), ASTER_GUEST_CPUS: what the guest has. ASTER_GUEST_ACCEL: tcg, or kvm where that works.
# ASTER_GUEST_KERNEL: cloud, whose NVMe driver is built in, or modular, where SCRIPT loads it by load-nvme.
# ASTER_GUEST_SECONDS: a guest that takes longer hangs, and is ended.
set -euo pipefail
export LC_ALL=C

suite=trixie
mirror=http://deb.debian.org/debian
# QEMU 10.1, the first with vfio-user-pci, is in backports alone.
packages=(qemu-system-x86 nvme-cli fio busybox-static e2fsprogs xfsprogs btrfs-progs linux-image-cloud-amd64 linux-image-amd64)
programs=(usr/sbin/nvme usr/bin/fio usr/sbin/mke2fs usr/sbin/e2fsck usr/sbin/dumpe2fs usr/sbin/mkfs.xfs usr/sbin/xfs_repair
    usr/sbin/mkfs.btrfs usr/bin/btrfs)

cache=${ASTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aster}/guest
# Another list of packages, or another way to make the tree, is another tree.
version=$(cksum <"${BASH_SOURCE[0]}" | cut -d' ' -f1)
here=$cache/$version
tree=$here/tree

say() { printf 'guest: %s\n' "$*" >&2; }
fail() {
    say "error: $*"
    exit 1
}

libraries=$tree/usr/lib/x86_64-linux-gnu:$tree/usr/lib/x86_64-linux-gnu/ceph
busybox() { "$tree/usr/bin/busybox" "$@"; }

fetch() {
    [[ ! -e $here/ready ]] || return 0
    [[ $(uname -m) == x86_64 ]] || fail "the guest is made for x86-64, this machine is $(uname -m)"
    command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
        fail "this needs apt-get and dpkg, as Debian and Ubuntu have them"
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg
    [[ -e $keys ]] || fail "Debian's keys are missing: install the package debian-archive-keyring"
    say "downloading QEMU, two kernels and tools (250 MB) into $cache"
    rm -rf "$here.new"
    # A package manager of its own, that knows of no installed package.
    local root=$here.new/apt
    mkdir -p "$root"/etc/apt/{apt.conf.d,preferences.d} "$root"/var/lib/{apt/lists/partial,dpkg} \
        "$cache/packages/partial" "$here.new/tree"
    touch "$root/var/lib/dpkg/status"
    printf 'deb [signed-by=%s] %s %s main\n' "$keys" "$mirror" "$suite" "$keys" "$mirror" "$suite-backports" \
        >"$root/etc/apt/sources.list"
    # QEMU and what it needs from backports, the kernel from the release itself.
    printf 'Package: linux-*\nPin: release n=%s\nPin-Priority: 1001\n' "$suite" >"$root/etc/apt/preferences"
    cat >"$root/apt.conf" <<CONF
Dir "$root";
Dir::State::status "$root/var/lib/dpkg/status";
Dir::Cache::archives "$cache/packages";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
    export APT_CONFIG=$root/apt.conf
    apt-get -qq update >&2 || fail "apt-get update failed (see above); is the network up?"
    apt-get -qq -y -o Dpkg::Use-Pty=0 -t "$suite-backports" --download-only install "${packages[@]}" >&2 ||
        fail "the packages could not be downloaded (see above)"
    local package
    # Downloads are kept: another version of this script most often wants the same. "Inst NAME (VERSION …".
    apt-get -qq -y -t "$suite-backports" --simulate install "${packages[@]}" |
        sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1_\2/p' | while read -r package; do
        dpkg --extract "$cache/packages/${package/:/%3a}"_*.deb "$here.new/tree"
    done
    rm -rf "$root"
    # From here on by its final name: the tree's programs are found by it.
    rm -rf "$here"
    mv "$here.new" "$here"
    local kernel
    for kernel in $(busybox ls "$tree/usr/lib/modules"); do
        case $kernel in
        *-cloud-*) make_initrd "$kernel" cloud "xfs btrfs" "" ;;
        *) make_initrd "$kernel" modular "" "nvme" ;;
        esac
    done
    # Half a gigabyte, of which the few that are needed have been taken.
    rm -rf "$tree/usr/lib/modules" "$tree/boot"
    touch "$here/ready"
    # Trees of older versions of this script.
    local other
    for other in "$cache"/*; do
        [[ $other == "$here" || $other == "$cache/packages" ]] || rm -rf "$other"
    done
}

# Everything that the guest runs from: busybox, the programs with their libraries, the modules with what they depend on: of file
# systems and for NVMe, each in the order to load them in.
make_initrd() {
    local kernel=$1 flavour=$2 filesystems=$3 nvme=$4 root program library module name
    root=$(mktemp -d)
    cp "$tree/boot/vmlinuz-$kernel" "$here/vmlinuz-$flavour"
    mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,run,mnt,etc,usr/bin,usr/sbin,lib64} "$root/lib/modules"
    cp "$tree/usr/bin/busybox" "$root/bin/busybox"
    for name in $(busybox --list); do
        [[ $name == busybox ]] || ln -s /bin/busybox "$root/bin/$name"
    done
    for program in "${programs[@]}"; do
        cp -L "$tree/$program" "$root/$program"
        "$tree/usr/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" --list "$tree/$program" |
            grep -oE "$tree/[^ ]+" | while read -r library; do
            [[ -e $root/lib64/$(basename "$library") ]] || cp -L "$library" "$root/lib64/"
        done
    done
    cp -L "$tree/usr/lib64/ld-linux-x86-64.so.2" "$root/lib64/"
    touch "$root/lib/modules/filesystems" "$root/lib/modules/nvme"
    for module in $filesystems; do
        add_module "$root" "$kernel" "$module" filesystems
    done
    for module in $nvme; do
        add_module "$root" "$kernel" "$module" nvme
    done
    cat >"$root/init" <<'INIT'
#!/bin/sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin LD_LIBRARY_PATH=/lib64
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
read up rest </proc/uptime
echo "GUEST-SHELL $(uname -r) after $up s"
sh /run.sh
echo "GUEST-RC $?"
poweroff -f
INIT
    # Loading costs time that few scripts need: some modules measure themselves first.
    cat >"$root/bin/load-filesystems" <<'LOAD'
#!/bin/sh
while read module; do insmod /lib/modules/$module.ko; done </lib/modules/filesystems
LOAD
    sed 's/filesystems/nvme/' "$root/bin/load-filesystems" >"$root/bin/load-nvme"
    chmod +x "$root/init" "$root/bin/load-filesystems" "$root/bin/load-nvme"
    (cd "$root" && busybox find . -print | busybox cpio -o -H newc -R 0:0 2>/dev/null) >"$here/initrd-$flavour"
    rm -rf "$root"
}

# A module, unpacked, behind those that it depends on.
add_module() {
    local root=$1 kernel=$2 module=$3 list=$4 file depends
    # Modules call each other by names whose dashes are underscores.
    file=$(find "$tree/usr/lib/modules/$kernel" -name "${module//_/[-_]}.ko.xz")
    [[ -n $file && ! -e $root/lib/modules/$module.ko ]] || return 0
    busybox xz -dc "$file" >"$root/lib/modules/$module.ko"
    depends=$(busybox strings "$root/lib/modules/$module.ko" | sed -n 's/^depends=//p')
    for depends in ${depends//,/ }; do
        add_module "$root" "$kernel" "$depends" "$list"
    done
    echo "$module" >>"$root/lib/modules/$list"
}

boot() {
    [[ -e $here/ready ]] || fail "the guest is not here yet: run scripts/setup.sh --guest"
    local script=$1 work accel=${ASTER_GUEST_ACCEL:-tcg} kernel=${ASTER_GUEST_KERNEL:-cloud} status=0
    local seconds=${ASTER_GUEST_SECONDS:-1200}
    [[ $kernel == cloud || $kernel == modular ]] || fail "ASTER_GUEST_KERNEL is $kernel, it must be cloud or modular"
    shift
    work=$(mktemp -d)
    cp "$script" "$work/run.sh"
    (cd "$work" && echo run.sh | busybox cpio -o -H newc 2>/dev/null) | cat "$here/initrd-$kernel" - >"$work/initrd"
    # In the foreground: whoever ends this script's process group ends the guest.
    QEMU_MODULE_DIR=$tree/usr/lib/x86_64-linux-gnu/qemu timeout --foreground --kill-after=10 "$seconds" \
        "$tree/usr/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$tree/usr/bin/qemu-system-x86_64" \
        -L "$tree/usr/share/qemu" -L "$tree/usr/share/seabios" \
        -accel "$accel" -cpu max -smp "${ASTER_GUEST_CPUS:-2}" -m "${ASTER_GUEST_MEMORY:-1024}" \
        -object "memory-backend-memfd,id=memory,size=${ASTER_GUEST_MEMORY:-1024}M,share=on" \
        -machine q35,memory-backend=memory \
        -nodefaults -no-reboot -display none -serial stdio -monitor none \
        -kernel "$here/vmlinuz-$kernel" -initrd "$work/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check" "$@" </dev/null || status=$?
    rm -rf "$work"
    [[ $status != 124 && $status != 137 ]] || say "error: the guest hung: it was not done after $seconds s, and was ended"
    return $status
}

case ${1:-} in
fetch) fetch ;;
boot)
    shift
    [[ $# -ge 1 ]] || fail "usage: scripts/guest.sh boot SCRIPT [QEMU ARGUMENT …]"
    boot "$@"
    ;;
*) fail "usage: scripts/guest.sh fetch | boot SCRIPT [QEMU ARGUMENT …]" ;;
esac
