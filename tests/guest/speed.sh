# 4 KiB random reads at queue depth 32 on every NVMe drive that there is, in turns. Prints "SPEED model;IOPS"
# a drive and round.
set -e
run() {
    name=$1
    shift
    fio --name=speed --filename="/dev/${name}n1" --size=64m --direct=1 --ioengine=libaio \
        --output-format=terse "$@"
}
for drive in /sys/class/nvme/nvme*; do
    run "$(basename "$drive")" --rw=write --bs=128k --iodepth=8 >/dev/null
done
for round in 1 2 3; do
    for drive in /sys/class/nvme/nvme*; do
        result=$(run "$(basename "$drive")" --rw=randread --bs=4k --iodepth=32 --time_based --runtime=4)
        # Field 8 of fio's terse format 3 is the IOPS of reads.
        echo "SPEED $(tr -s ' ' <"$drive/model");$(echo "$result" | cut -d';' -f8)"
    done
done
