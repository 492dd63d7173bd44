# After the drive was restarted: checks the file system of the kind in /kind, and the checksums of its tree.
set -e
kind=$(cat /kind)
device=/dev/nvme0n1
[ "$kind" = ext4 ] || load-filesystems
case $kind in
ext4) /usr/sbin/e2fsck -f -n $device ;;
xfs) xfs_repair -n $device ;;
btrfs) btrfs check --readonly $device ;;
esac
mount -t "$kind" $device /mnt
(cd /mnt/tree && sha256sum -c /mnt/sums) | grep -v ': OK$' && exit 1
[ "$(wc -l </mnt/sums)" -gt 50 ]
umount /mnt
