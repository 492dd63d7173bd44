# Everything that a stock guest does to a drive. Any failure ends the script.
set -e
device=/dev/nvme0n1
queues=$(ls /sys/class/nvme/nvme0/nvme0n1/mq 2>/dev/null | wc -l || true)
echo "queues: $queues"
verify="--direct=1 --ioengine=libaio --verify=crc32c --verify_fatal=1 --filename=$device --group_reporting"
echo "== random and sequential, a job a queue"
fio $verify --name=random --rw=randrw --bs=4k --size=24m --offset_increment=24m --numjobs=2 --iodepth=32
fio $verify --name=sequential --rw=write --bs=128k --size=24m --offset_increment=24m --numjobs=2 --iodepth=8
fio $verify --name=mixed --rw=randwrite --bsrange=512-64k --size=24m --iodepth=16 --verify_interval=512

echo "== discard"
before=$(dd if=$device bs=4096 count=1 2>/dev/null | tr -d '\000' | wc -c)
[ "$before" -gt 0 ]
blkdiscard $device
after=$(dd if=$device bs=1M count=8 iflag=direct 2>/dev/null | tr -d '\000' | wc -c)
[ "$after" = 0 ]

echo "== controller reset under load"
fio $verify --name=reset --rw=randrw --bs=4k --size=48m --iodepth=32 --loops=3 >/tmp/reset.log 2>&1 &
load=$!
for i in 1 2 3; do
    sleep 1
    echo 1 >/sys/class/nvme/nvme0/reset_controller
done
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
nvme format /dev/nvme0n1 --lbaf=1 --force
[ "$(cat /sys/block/nvme0n1/queue/logical_block_size)" = 4096 ]
fio $verify --name=formatted --rw=randwrite --bs=4k --size=8m --iodepth=16 >/dev/null
nvme format /dev/nvme0n1 --lbaf=0 --force
[ "$(cat /sys/block/nvme0n1/queue/logical_block_size)" = 512 ]
nvme smart-log /dev/nvme0 | grep -E 'media_errors'
