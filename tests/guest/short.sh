# What every guest does first: find the drive, ask it who it is, write and verify. Any failure ends the
# script.
set -e
nvme list
nvme id-ctrl /dev/nvme0 | grep -E '^(mn|sn|oacs) '
nvme id-ns /dev/nvme0n1 | grep -E '^(nsze|flbas) '
nvme smart-log /dev/nvme0 | grep -E 'host_write_commands|media_errors'
fio --name=verify --filename=/dev/nvme0n1 --rw=randwrite --bs=4k --size=8m --direct=1 --ioengine=libaio \
    --iodepth=32 --verify=crc32c --verify_fatal=1 --randrepeat=1
