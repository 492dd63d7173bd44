# After lightnvm.sh, on another boot of host and drive: Linux's pblk recovers the file system.
set -e
dmesg | grep 'nvm: registered'
lnvm lnvm create -d nvme0n1 -n p0 -t pblk -b 0 -e 3
mount -t ext4 /dev/p0 /mnt
(cd /mnt && sha256sum -c sums) | grep -v ': OK$' && exit 1
[ "$(wc -l </mnt/sums)" -gt 5 ]
umount /mnt
/usr/sbin/e2fsck -f -n /dev/p0
lnvm lnvm remove -n p0
