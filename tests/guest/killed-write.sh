# Writes to a journalling file system until the drive goes away. Says after each generation of files that is
# on the drive.
set -e
device=/dev/nvme0n1
/usr/sbin/mke2fs -q -F -t ext4 $device
mount -t ext4 $device /mnt
generation=0
while :; do
    generation=$((generation + 1))
    mkdir /mnt/$generation
    for copy in 1 2 3; do cp -r /usr/sbin /mnt/$generation/$copy; done
    (cd /mnt/$generation && find . -type f | sort | xargs sha256sum) >/mnt/$generation.sums
    sync
    echo "SYNCED $generation"
done
