# On a kernel whose NVMe driver is a module: it goes, with the drive in use until then, and comes back. Any
# failure ends the script.
set -e
device=/dev/nvme0n1
verify="--direct=1 --ioengine=libaio --verify=crc32c --verify_fatal=1 --filename=$device --name=modules"
verify="$verify --size=4m --iodepth=16"
[ ! -e $device ]
for i in 1 2 3; do
    load-nvme
    for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e $device ] || sleep 1; done
    # What was written before the driver went.
    [ $i = 1 ] || fio $verify --rw=read --verify_only >/dev/null
    fio $verify --rw=write --bs=4k >/dev/null
    # The last loaded first.
    while read -r module; do echo "$module"; done </lib/modules/nvme | busybox tac |
        while read -r module; do rmmod "$module"; done
    [ ! -e $device ]
    [ ! -e /sys/module/nvme ]
done
