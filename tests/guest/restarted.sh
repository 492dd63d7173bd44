# After long.sh and a restart of the drive: what was discarded is gone, what was not is there.
set -e
part() { dd if=/dev/nvme0n1 bs=1M skip="$1" count="$2" iflag=direct 2>/dev/null | tr -d "$3" | wc -c; }
[ "$(part 0 4 a)" = 0 ]
[ "$(part 4 4 '\000')" = 0 ]
[ "$(part 8 8 a)" = 0 ]
[ "$(part 16 32 '\000')" = 0 ]
