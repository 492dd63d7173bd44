# What the drive's operation monitor says comes to the guest by Get Log Page: 256 KiB that was written, in a
# line of JSON.
set -e
dd if=/dev/urandom of=/dev/nvme0n1 bs=64k count=4 oflag=direct
until nvme get-log /dev/nvme0 --log-id=0xc0 --log-len=4096 --raw-binary >/tmp/sample &&
    grep -q '"write_bytes_total":262144\.0[,}]' /tmp/sample; do
    sleep 1
done
echo "SAMPLE $(busybox tr -d '\0' </tmp/sample)"
