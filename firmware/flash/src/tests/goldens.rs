//! The bus cycles of the operations, typed by hand: opcodes as numbers, from ONFI 5.1 where a clause is
//! named, else from the vendor convention that the package files state.

use super::variants::{FAST, make_triple, rich, target};
use super::*;
use Seen::*;
use aster_ports::channel::FrameReport;
use aster_ports::flash::Target;

/// Sixteen pages per block: block 2 page 0 is row 000020h.
const WHOLE: usize = 16_384 + 64 * 21 + 4 + 16 + 21;

fn cmd_addr(first: u8, address: &[u8]) -> Vec<Seen> {
    [Cmd(first)].into_iter().chain(address.iter().map(|&a| Addr(a))).collect()
}

fn status() -> Vec<Seen> {
    vec![Chips(1), Cmd(0x70), Out(1), Chips(0)]
}

/// READ STATUS ENHANCED (ONFI 5.1 §5.13).
fn status_of(row: u8) -> Vec<Seen> {
    [vec![Chips(1)], cmd_addr(0x78, &[row, 0, 0]), vec![Out(1), Chips(0)]].concat()
}

fn on_chips(chips: u32, cycles: Vec<Seen>) -> Vec<Seen> {
    [vec![Chips(chips)], cycles, vec![Chips(0)]].concat()
}

fn on_chip(cycles: Vec<Seen>) -> Vec<Seen> {
    on_chips(1, cycles)
}

/// CHANGE READ COLUMN (ONFI 5.1 §5.16) and the spans of a whole page.
fn transfer() -> Vec<Seen> {
    on_chip([cmd_addr(0x05, &[0, 0]), vec![Cmd(0xe0), Out(WHOLE)]].concat())
}

/// 00h, column 0, row, and a second cycle.
fn read(row: u8, confirm: u8) -> Vec<Seen> {
    on_chip([cmd_addr(0x00, &[0, 0, row, 0, 0]), vec![Cmd(confirm)]].concat())
}

/// A first cycle, column 0, row, a whole page, and a second cycle.
fn program(first: u8, row: u8, confirm: u8) -> Vec<Seen> {
    on_chip([cmd_addr(first, &[0, 0, row, 0, 0]), vec![In(WHOLE), Cmd(confirm)]].concat())
}

/// Drops polls that found the LUN busy: their number depends on timing.
fn without_repeats(seen: &[Seen]) -> Vec<Seen> {
    let mut out: Vec<Seen> = Vec::new();
    for one in seen {
        out.push(one.clone());
        for poll in [status(), status_of(0x40), status_of(0x50)] {
            let n = poll.len();
            if out.len() >= 2 * n
                && out[out.len() - n..] == poll[..]
                && out[out.len() - 2 * n..out.len() - n] == poll[..]
            {
                out.truncate(out.len() - n);
            }
        }
    }
    out
}

fn check(bench: &Bench, operation: impl AsyncFnOnce() + 'static, want: Vec<Vec<Seen>>) {
    let seen = bench.watch();
    bench.run(operation);
    compare(&without_repeats(&seen.borrow()), &want.concat());
}

/// As [`check`], for operations whose arrays take their typical time: no poll may find them busy.
fn check_with_polls(bench: &Bench, operation: impl AsyncFnOnce() + 'static, want: Vec<Vec<Seen>>) {
    let seen = bench.watch();
    bench.run(operation);
    compare(&seen.borrow(), &want.concat());
}

fn compare(seen: &[Seen], want: &[Seen]) {
    let at = seen.iter().zip(want).position(|(a, b)| a != b).unwrap_or(seen.len().min(want.len()));
    assert!(seen == want, "differs at {at}: {:?} for {:?}", &seen[at..], &want[at..]);
}

/// READ CACHE SEQUENTIAL (ONFI 5.1 §5.15): 00h … 30h, 31h, 31h, 3Fh, data after each of the last three.
#[test]
fn read_cache_sequential_is_00_30_31_31_3f() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let pages: Vec<_> = (0..3).map(|i| target(&bench, 2, i, u32::from(i))).collect();
    let operation = async move || {
        read_cache_sequential(&lun, &pages, &mut [FrameReport::default(); 3]).await.unwrap();
    };
    let next = |command| [on_chip(vec![Cmd(command)]), status(), transfer()].concat();
    check(&bench, operation, vec![read(0x20, 0x30), status(), next(0x31), next(0x31), next(0x3f)]);
}

/// READ CACHE RANDOM (ONFI 5.1 §5.15): 00h … 30h, 00h … 31h, 3Fh.
#[test]
fn read_cache_random_is_00_30_00_31_3f() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let pages = [target(&bench, 2, 5, 0), target(&bench, 4, 1, 1)];
    let operation = async move || {
        read_cache_random(&lun, &pages, &mut [FrameReport::default(); 2]).await.unwrap();
    };
    let last = on_chip(vec![Cmd(0x3f)]);
    let want =
        vec![read(0x25, 0x30), status(), read(0x41, 0x31), status(), transfer(), last, status(), transfer()];
    check(&bench, operation, want);
}

/// PAGE CACHE PROGRAM (ONFI 5.1 §5.21): 80h … 15h, 80h … 10h.
#[test]
fn program_cache_is_80_15_80_10() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let pages = [target(&bench, 2, 0, 0), target(&bench, 2, 1, 1)];
    let operation = async move || program_cache(&lun, &pages, &mut [false; 2]).await.unwrap();
    let want = vec![program(0x80, 0x20, 0x15), status(), program(0x80, 0x21, 0x10), status()];
    check_with_polls(&bench, operation, want);
}

/// Multi-plane PROGRAM (ONFI 5.1 §5.20): 80h … 11h, 81h … 10h; READ (§5.14): 00h … 32h, 00h … 30h, then 06h …
/// E0h (§5.17) for each plane; ERASE (§5.11): 60h … D1h, 60h … D0h.
#[test]
fn multi_plane_commands_are_those_of_the_standard() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let pages = [target(&bench, 4, 0, 0), target(&bench, 5, 0, 1)];
    let operation = async move || {
        program_planes(&lun, &pages, &mut [false; 2]).await.unwrap();
        read_planes(&lun, &pages, &mut [FrameReport::default(); 2]).await.unwrap();
        erase_planes(&lun, &pages, &mut [false; 2]).await.unwrap();
    };
    let select = |row| on_chip([cmd_addr(0x06, &[0, 0, row, 0, 0]), vec![Cmd(0xe0), Out(WHOLE)]].concat());
    let erase = |row, confirm| on_chip([cmd_addr(0x60, &[row, 0, 0]), vec![Cmd(confirm)]].concat());
    let want = vec![
        [program(0x80, 0x40, 0x11), status(), program(0x81, 0x50, 0x10), status()].concat(),
        [read(0x40, 0x32), status(), read(0x50, 0x30), status(), select(0x40), select(0x50)].concat(),
        [erase(0x40, 0xd1), status(), erase(0x50, 0xd0), status()].concat(),
    ];
    check(&bench, operation, want);
}

/// COPYBACK (ONFI 5.1 §5.22): 00h … 35h, 85h … 10h, and with data in between.
#[test]
fn copyback_is_00_35_85_10() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let [from, to, other] = [2, 4, 6].map(|block| bench.row(block, 0));
    let operation = async move || {
        copyback(&lun, from, to).await.unwrap();
        copyback_changed(&lun, from, other, BufferId(0), |_| true).await.unwrap();
    };
    let blind = on_chip([cmd_addr(0x85, &[0, 0, 0x40, 0, 0]), vec![Cmd(0x10)]].concat());
    let fetch = read(0x20, 0x35);
    let want = vec![
        [fetch.clone(), status(), blind, status()].concat(),
        [fetch, status(), transfer(), program(0x85, 0x60, 0x10), status()].concat(),
    ];
    check(&bench, operation, want);
}

/// Algorithm 3 with a prefix, here A2h, before READ, PROGRAM and ERASE. Vendor specific.
#[test]
fn slc_commands_are_the_plain_ones_behind_a_prefix() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let page = target(&bench, 2, 0, 0);
    let operation = async move || {
        slc_erase(&lun, page.row).await.unwrap();
        slc_program(&lun, page.row, page.buffer).await.unwrap();
        slc_read(&lun, page.row, page.sectors, page.buffer).await.unwrap();
    };
    let behind = |mut cycles: Vec<Seen>| {
        cycles.insert(1, Cmd(0xa2));
        cycles
    };
    let erase = on_chip([cmd_addr(0x60, &[0x20, 0, 0]), vec![Cmd(0xd0)]].concat());
    let want = vec![
        [behind(erase), status(), behind(program(0x80, 0x20, 0x10)), status()].concat(),
        [behind(read(0x20, 0x30)), status(), transfer()].concat(),
    ];
    check(&bench, operation, want);
}

/// One-shot TLC: 01h 80h … 1Ah, 02h 80h … 1Ah, 03h 80h … 10h. Vendor specific.
#[test]
fn one_shot_is_three_loads_behind_their_prefixes() {
    let bench =
        Bench::with(Geometry { planes: 2, ..GEOMETRY }, Content::Full, Placement::Spare, FAST, make_triple);
    bench.bring_up(0);
    let lun = bench.lun(0, 0);
    let pages = [0, 1, 2].map(|i| target(&bench, 2, i, 0));
    let operation = async move || {
        program_one_shot(&lun, pages).await.unwrap();
    };
    let load = |prefix, row, confirm| {
        let mut cycles = program(0x80, row, confirm);
        cycles.insert(1, Cmd(prefix));
        [cycles, status()].concat()
    };
    check(&bench, operation, vec![load(0x01, 0x20, 0x1a), load(0x02, 0x21, 0x1a), load(0x03, 0x22, 0x10)]);
}

/// ERASE SUSPEND 61h and RESUME D2h, PROGRAM SUSPEND 84h and RESUME 13h, each with three row cycles. Vendor
/// specific.
#[test]
fn suspend_and_resume_name_the_row() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let row = bench.row(4, 0);
    let operation = async move || {
        let since = start_erase(&lun, row).await.unwrap();
        let Suspended { worked, .. } = suspend_erase(&lun, row, since).await.unwrap();
        resume_erase(&lun, row, worked).await.unwrap();
        let since = start_program(&lun, row, BufferId(0)).await.unwrap();
        let Suspended { worked, .. } = suspend_program(&lun, row, since).await.unwrap();
        resume_program(&lun, row, worked).await.unwrap();
    };
    let named = |command| [on_chip(cmd_addr(command, &[0x40, 0, 0])), status()].concat();
    let erase = on_chip([cmd_addr(0x60, &[0x40, 0, 0]), vec![Cmd(0xd0)]].concat());
    let want = vec![
        [erase, named(0x61), named(0xd2)].concat(),
        [program(0x80, 0x40, 0x10), named(0x84), named(0x13)].concat(),
    ];
    check_with_polls(&bench, operation, want);
}

/// SET FEATURES (ONFI 5.1 §5.30): EFh, address, four bytes. Here of the vendor's read level feature, 89h.
#[test]
fn a_read_level_is_a_feature() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let operation = async move || set_read_level(&lun, 2).await.unwrap();
    let set = on_chip(vec![Cmd(0xef), Addr(0x89), In(4)]);
    check(&bench, operation, vec![set, status()]);
}

/// READ of two chips at once: Chip Control with both bits (B7), then each chip on its own.
#[test]
fn a_gang_read_selects_both_chips_for_the_command_and_one_for_the_data() {
    let bench = rich();
    bench.bring_up(1);
    let (a, b, row) = (bench.lun(0, 0), bench.lun(1, 0), bench.row(2, 0));
    let operation = async move || {
        let (winner, _) = gang_read(&a, &[&b], row, SectorRange::whole(4), BufferId(0)).await.unwrap();
        assert_eq!(winner, 0);
        gang_program(&a, &[&b], row, BufferId(0), &mut [false; 2]).await.unwrap();
    };
    let command = on_chips(3, [cmd_addr(0x00, &[0, 0, 0x20, 0, 0]), vec![Cmd(0x30)]].concat());
    let second = || on_chips(2, vec![Cmd(0x70), Out(1)]);
    let load = [cmd_addr(0x80, &[0, 0, 0x20, 0, 0]), vec![In(WHOLE), Cmd(0x10)]].concat();
    let want = vec![
        [command, status(), transfer(), status(), second()].concat(),
        [on_chips(3, load), status(), second()].concat(),
    ];
    check(&bench, operation, want);
}

/// RESET LUN (ONFI 5.1 §5.5): FAh, three row cycles. SYNCHRONOUS RESET (§5.4): FCh. READ UNIQUE ID (§5.8):
/// EDh, 00h. ODT CONFIGURE (§5.25): E2h, LUN, four bytes. ZQ CALIBRATION (§5.26): F9h or D9h, LUN. READ ID
/// (§5.6): 90h, address.
#[test]
fn administrative_commands_are_those_of_the_standard() {
    let bench = rich();
    let scratch = bench.dram.borrow().metadata_buffer(0);
    let (lun, row) = (bench.lun(0, 0), bench.row(4, 0));
    let operation = async move || {
        reset_lun(&lun, row).await.unwrap();
        synchronous_reset(&lun).await.unwrap();
        read_unique_id(&lun, scratch).await.unwrap();
        odt_configure(&lun, 0, 0x0000_0301).await.unwrap();
        zq_calibration(&lun, 0, true).await.unwrap();
        zq_calibration(&lun, 0, false).await.unwrap();
        read_id(&lun, 0x00, 6).await.unwrap();
        reset(&lun).await.unwrap();
    };
    let unique = [on_chip(cmd_addr(0xed, &[0x00])), status(), on_chip(vec![Cmd(0x00), Out(32)])].concat();
    let want = vec![
        [on_chip(cmd_addr(0xfa, &[0x40, 0, 0])), status()].concat(),
        [on_chip(vec![Cmd(0xfc)]), status()].concat(),
        unique,
        on_chip(vec![Cmd(0xe2), Addr(0), In(4)]),
        [on_chip(cmd_addr(0xf9, &[0])), status()].concat(),
        [on_chip(cmd_addr(0xd9, &[0])), status()].concat(),
        on_chip(vec![Cmd(0x90), Addr(0x00), Out(6)]),
        [on_chip(vec![Cmd(0xff)]), status()].concat(),
    ];
    check(&bench, operation, want);
}

/// A partial read at any column (B16): 00h … 30h, then 05h, the column, E0h, just those bytes.
#[test]
fn raw_bytes_come_from_their_column() {
    let bench = rich();
    let (lun, row) = (bench.lun(0, 0), bench.row(2, 0));
    let operation = async move || {
        read_raw(&lun, row, Column(0x1234), 0x56, BufferId(0), 0).await.unwrap();
        read_bytes(&lun, row, Column(0x0010), 2, BufferId(0), 0).await.unwrap();
    };
    let bytes = |low, high, count| on_chip(vec![Cmd(0x05), Addr(low), Addr(high), Cmd(0xe0), Out(count)]);
    let want = vec![read(0x20, 0x30), status(), bytes(0x34, 0x12, 0x56), bytes(0x10, 0x00, 2)];
    check(&bench, operation, want);
}

/// A page's data out and the next READ behind it own the channel once (B3); tRHW between them is the µFSM's.
#[test]
fn the_next_read_follows_a_page_in_its_own_transaction() {
    let bench = rich();
    let lun = bench.lun(0, 0);
    let (row, next) = (bench.row(2, 0), bench.row(5, 3));
    let whole = SectorRange::whole(4);
    let operation = async move || {
        read_trigger(&lun, row).await.unwrap();
        let (_, since) = read_transfer_and_trigger(&lun, row, whole, BufferId(0), next).await.unwrap();
        read_begun(&lun, next, since).await.unwrap();
        read_transfer(&lun, next, whole, BufferId(1)).await.unwrap();
    };
    let page = [cmd_addr(0x05, &[0, 0]), vec![Cmd(0xe0), Out(WHOLE)]].concat();
    let behind = [cmd_addr(0x00, &[0, 0, 0x53, 0, 0]), vec![Cmd(0x30)]].concat();
    let want = vec![read(0x20, 0x30), status(), on_chip([page, behind].concat()), status(), transfer()];
    check(&bench, operation, want);
}

/// A row whose three bytes differ: block 3020h, page 1 of 16 is row 030201h.
const WIDE: Geometry = Geometry { planes: 2, blocks_per_lun: 0x3100, ..GEOMETRY };

/// The address cycles that follow each command, in bus order.
fn addresses(seen: &[Seen]) -> Vec<(u8, Vec<u8>)> {
    let mut found: Vec<(u8, Vec<u8>)> = Vec::new();
    for one in seen {
        match (one, found.last_mut()) {
            (Cmd(command), _) => found.push((*command, vec![])),
            (Addr(byte), Some((_, bytes))) => bytes.push(*byte),
            _ => {}
        }
    }
    found.retain(|(_, bytes)| !bytes.is_empty());
    found
}

/// Column low byte first, then row low byte first (ONFI 5.1 §3.1): C1 C2 R1 R2 R3 behind 00h, 06h, 80h, 81h
/// and 85h, R1 R2 R3 behind 60h, 78h, FAh and the vendor's suspends, C1 C2 behind 05h. Rows with only one
/// non-zero byte wouldn't show the order.
#[test]
fn every_address_cycle_of_every_operation_is_in_its_place() {
    let bench = Bench::with(WIDE, Content::Fingerprint, Placement::Spare, FAST, super::variants::make);
    bench.bring_up(0);
    bench.bring_up(1);
    let (lun, other) = (bench.lun(0, 0), bench.lun(1, 0));
    let at = |block| bench.row(block, 1);
    let (row, beside, even) = (at(0x3020), at(0x3021), at(0x3022));
    assert_eq!(row.0, 0x03_0201);
    let whole = SectorRange::whole(4);
    let page = move |row| Target { row, sectors: whole, buffer: BufferId(0) };
    let planes = [page(row), page(beside)];
    let seen = bench.watch();
    bench.run(async move || {
        let buffer = BufferId(0);
        read_page(&lun, row, whole, buffer).await.unwrap();
        program_page(&lun, row, buffer).await.unwrap();
        erase_block(&lun, row).await.unwrap();
        slc_read(&lun, row, whole, buffer).await.unwrap();
        slc_program(&lun, row, buffer).await.unwrap();
        slc_erase(&lun, row).await.unwrap();
        read_cache_random(&lun, &[page(row); 2], &mut [FrameReport::default(); 2]).await.unwrap();
        program_cache(&lun, &[page(row); 2], &mut [false; 2]).await.unwrap();
        erase_block(&lun, row).await.unwrap();
        program_planes(&lun, &planes, &mut [false; 2]).await.unwrap();
        read_planes(&lun, &planes, &mut [FrameReport::default(); 2]).await.unwrap();
        erase_planes(&lun, &planes, &mut [false; 2]).await.unwrap();
        let since = start_erase(&lun, row).await.unwrap();
        let Suspended { worked, .. } = suspend_erase(&lun, row, since).await.unwrap();
        resume_erase(&lun, row, worked).await.unwrap();
        let since = start_program(&lun, row, buffer).await.unwrap();
        let Suspended { worked, .. } = suspend_program(&lun, row, since).await.unwrap();
        resume_program(&lun, row, worked).await.unwrap();
        copyback(&lun, row, even).await.unwrap();
        copyback_changed(&lun, row, even, buffer, |_| true).await.unwrap();
        reset_lun(&lun, row).await.unwrap();
        gang_read(&lun, &[&other], row, whole, buffer).await.unwrap();
        gang_program(&lun, &[&other], row, buffer, &mut [false; 2]).await.unwrap();
    });
    let mut commands = std::collections::BTreeSet::new();
    for (command, bytes) in addresses(&seen.borrow()) {
        let want: &[&[u8]] = match command {
            0x00 | 0x06 | 0x80 => &[&[0, 0, 0x01, 0x02, 0x03], &[0, 0, 0x11, 0x02, 0x03]],
            0x81 => &[&[0, 0, 0x11, 0x02, 0x03]],
            0x85 => &[&[0, 0, 0x21, 0x02, 0x03]],
            0x05 => &[&[0, 0]],
            0x60 | 0x78 => &[&[0x01, 0x02, 0x03], &[0x11, 0x02, 0x03]],
            0xfa | 0x61 | 0xd2 | 0x84 | 0x13 => &[&[0x01, 0x02, 0x03]],
            _ => panic!("{command:02X}h has no address"),
        };
        assert!(want.contains(&bytes.as_slice()), "{command:02X}h {bytes:02X?}");
        commands.insert(command);
    }
    let all = [0x00, 0x05, 0x06, 0x13, 0x60, 0x61, 0x78, 0x80, 0x81, 0x84, 0x85, 0xd2, 0xfa];
    assert!(commands.iter().eq(&all), "{commands:02X?}");
}

/// After power-on each LUN with the command is calibrated, in the data interface that it will use (ONFI 5.1
/// §5.26).
#[test]
fn bring_up_ends_with_a_long_calibration_of_every_lun_that_has_one() {
    let two_luns = Geometry { luns: 2, planes: 2, ..GEOMETRY };
    let last_commands = |change: fn(&mut aster_nand::NandConfig, &mut FlashConfig)| {
        let bench = Bench::with(two_luns, Content::Full, Placement::Spare, FAST, change);
        let seen = bench.watch();
        bench.bring_up(0);
        let seen = addresses(&seen.borrow());
        seen.into_iter().filter(|(command, _)| ![0x70, 0x78].contains(command)).collect::<Vec<_>>()
    };
    let with = last_commands(super::variants::make);
    assert_eq!(with[with.len() - 2..], [(0xf9, vec![0]), (0xf9, vec![1])]);
    let without = last_commands(|_, _| {});
    assert_eq!(without.last(), Some(&(0xee, vec![0x01])), "GET FEATURES of the data interface");
}
