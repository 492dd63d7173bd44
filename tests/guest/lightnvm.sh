# Linux's own pblk over an open-channel drive (O1, P22 to P28): a target is made, holds a file system, is
# taken away, and finds everything when it is made again.
set -e
dmesg | grep 'nvm: registered'
lnvm lnvm list | grep nvme0n1
# A factory start takes what is on the media for nothing.
lnvm lnvm create -d nvme0n1 -n p0 -t pblk -b 0 -e 3 -f
/usr/sbin/mke2fs -q -F -t ext4 /dev/p0
mount -t ext4 /dev/p0 /mnt
cp -r /usr/sbin /mnt/1
(cd /mnt && find 1 -type f | sort | xargs sha256sum >sums)
umount /mnt
lnvm lnvm remove -n p0
[ ! -e /dev/p0 ]
lnvm lnvm create -d nvme0n1 -n p0 -t pblk -b 0 -e 3
mount -t ext4 /dev/p0 /mnt
(cd /mnt && sha256sum -c sums) | grep -v ': OK$' && exit 1
[ "$(wc -l </mnt/sums)" -gt 5 ]
echo "FILES $(wc -l </mnt/sums)"
umount /mnt
/usr/sbin/e2fsck -f -n /dev/p0
# Not taken away: pblk's write buffer is all that the next guest may miss.
sync
