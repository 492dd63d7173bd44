# Everything that a stock guest does to a drive. Any failure ends the script.
set -e
device=/dev/nvme0n1
verify="--direct=1 --ioengine=libaio --verify=crc32c --verify_fatal=1 --filename=$device --group_reporting"
# Bytes that aren't zero among the first so many MiB.
written() { dd if=$device bs=1M count="$1" iflag=direct 2>/dev/null | tr -d '\000' | wc -c; }

queues=$(ls /sys/block/nvme0n1/mq | wc -l)
echo "queues: $queues"
[ "$queues" -ge 2 ]
echo "== random and sequential, a job a queue"
bound="--numjobs=2 --cpus_allowed=0,1 --cpus_allowed_policy=split"
fio $verify $bound --name=random --rw=randrw --bs=4k --size=24m --offset_increment=24m --iodepth=32
fio $verify $bound --name=sequential --rw=write --bs=128k --size=24m --offset_increment=24m --iodepth=8
fio $verify --name=mixed --rw=randwrite --bsrange=512-64k --size=24m --iodepth=16 --verify_interval=512

echo "== discard"
[ "$(written 48)" -gt 0 ]
blkdiscard $device
[ "$(written 48)" = 0 ]

echo "== controller reset under load"
completed() {
    read -r reads a b c writes rest </sys/block/nvme0n1/stat
    echo $((reads + writes))
}
# However fast or slow this machine is, there is load at each reset: it ends only after the last.
load() {
    while [ ! -e /tmp/enough ]; do
        fio $verify --name=reset --rw=randrw --bs=4k --size=16m --iodepth=32 || return 1
    done
}
load >/tmp/reset.log 2>&1 &
load=$!
before=$(completed)
for i in 1 2 3 4; do
    # Commands have completed since the last reset, and more are under way.
    while [ "$(completed)" -lt $((before + 500)) ] ||
        [ "$(awk '{ print $9 }' /sys/block/nvme0n1/stat)" = 0 ]; do
        kill -0 $load || { cat /tmp/reset.log; exit 1; }
    done
    before=$(completed)
    # After the last one it was only looked whether they go on.
    [ $i = 4 ] || echo 1 >/sys/class/nvme/nvme0/reset_controller
done
touch /tmp/enough
wait $load || { cat /tmp/reset.log; exit 1; }

echo "== the driver leaves and comes back"
address=$(basename "$(readlink -f /sys/class/nvme/nvme0/device)")
for i in 1 2 3; do
    echo "$address" >/sys/bus/pci/drivers/nvme/unbind
    [ ! -e $device ]
    echo "$address" >/sys/bus/pci/drivers/nvme/bind
    for wait in 1 2 3 4 5 6 7 8 9 10; do [ -e $device ] || sleep 1; done
    fio $verify --name=again --rw=randwrite --bs=4k --size=4m --iodepth=8 >/dev/null
done
echo "== function-level reset"
echo 1 >"/sys/bus/pci/devices/$address/reset"
fio $verify --name=flr --rw=randwrite --bs=4k --size=4m --iodepth=8 >/dev/null

echo "== format"
[ "$(written 16)" -gt 0 ]
nvme format /dev/nvme0n1 --lbaf=1 --force
[ "$(cat /sys/block/nvme0n1/queue/logical_block_size)" = 4096 ]
[ "$(written 48)" = 0 ]
fio $verify --name=formatted --rw=randwrite --bs=4k --size=8m --iodepth=16 >/dev/null
[ "$(written 8)" -gt 0 ]
nvme format /dev/nvme0n1 --lbaf=0 --force
[ "$(cat /sys/block/nvme0n1/queue/logical_block_size)" = 512 ]
[ "$(written 48)" = 0 ]

echo "== what the next guest looks at: 16 MiB, of which four in the middle are discarded"
tr '\000' 'a' </dev/zero | dd of=$device bs=1M count=16 iflag=fullblock oflag=direct 2>/dev/null
blkdiscard -o 4194304 -l 4194304 $device
[ "$(written 16)" = 12582912 ]
nvme smart-log /dev/nvme0 | grep -E 'media_errors'
