# After the drive's power was cut: the journal is replayed, the generations up to $synced are whole, and the
# file system is sound.
set -e
device=/dev/nvme0n1
# Not unmounted in order: there is a journal to be replayed.
/usr/sbin/dumpe2fs -h $device 2>/dev/null | grep needs_recovery
mount -t ext4 $device /mnt
generation=0
while [ $generation -lt $synced ]; do
    generation=$((generation + 1))
    (cd /mnt/$generation && sha256sum -c /mnt/$generation.sums) | grep -v ': OK$' && exit 1
    [ "$(wc -l </mnt/$generation.sums)" -gt 5 ]
done
umount /mnt
/usr/sbin/e2fsck -f -n $device
