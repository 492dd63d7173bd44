//! Operations on a timed channel with real packages. Bus sequences are typed by hand from the standard.

extern crate std;
use crate::operations::*;
use crate::{FlashConfig, FlashCosts, Lun, boot};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_nand::{ErrorModel, NandConfig};
use aster_ports::channel::TxnError;
use aster_ports::flash::FlashError;
use aster_ports::layout::Placement;
use aster_ports::package::ProtocolError;
use aster_units::*;
use aster_wire::onfi::DataInterface;
use bench::{Bench, GEOMETRY, Seen, Tap};
use core::cell::RefCell;
use std::vec;

mod bench;
mod gangs;
mod goldens;
mod lanes;
mod page_reads;
mod polls;
mod variants;
mod writes;

#[test]
fn what_is_programmed_comes_back_in_both_contents_and_placements() {
    for content in [Content::Full, Content::Fingerprint] {
        for placement in [Placement::Spare, Placement::Interleaved] {
            let bench = Bench::new(GEOMETRY, content, placement);
            bench.bring_up(1);
            bench.fill(0, 42);
            let (lun, row) = (bench.lun(1, 0), bench.row(3, 0));
            let report = bench.run(async move || {
                assert!(!program_page(&lun, row, BufferId(0)).await.unwrap().fail());
                read_page(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap()
            });
            assert_eq!((report.corrected, report.failed_sectors, report.erased), (0, 0, false));
            assert!(bench.same(0, 1), "{content:?} {placement:?}");
        }
    }
}

/// Algorithm 1 and 2 of the paper as ONFI draws them: READ (ONFI 5.1 §5.14) is 00h, two column and three row
/// cycles, 30h; READ STATUS (§5.13) is 70h and one data output; CHANGE READ COLUMN (§5.16) is 05h, two column
/// cycles, E0h, data output.
#[test]
fn a_read_shows_the_bus_cycles_of_algorithms_1_and_2() {
    let bench = Bench::new(GEOMETRY, Content::Full, Placement::Interleaved);
    bench.bring_up(0);
    bench.fill(0, 7);
    let (lun, row) = (bench.lun(0, 0), bench.row(2, 0));
    bench.run(async move || program_page(&lun, row, BufferId(0)).await.unwrap());
    let seen = Rc::new(RefCell::new(Vec::new()));
    bench.engine.set_tap(Some(Box::new(Tap(seen.clone()))));
    let lun = bench.lun(0, 0);
    bench.run(async move || read_page(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap());
    use Seen::*;
    let want = [
        // Row 000020h: block 2 of 16 pages, page 0.
        vec![Chips(1), Cmd(0x00), Addr(0), Addr(0), Addr(0x20), Addr(0), Addr(0), Cmd(0x30), Chips(0)],
        vec![Chips(1), Cmd(0x70), Out(1), Chips(0)],
        vec![Chips(1), Cmd(0x05), Addr(0), Addr(0), Cmd(0xe0), Out(64 * 277 + 41), Chips(0)],
    ]
    .concat();
    assert_eq!(*seen.borrow(), want);
}

/// PAGE PROGRAM (ONFI 5.1 §5.20): 80h, five address cycles, data input, 10h. BLOCK ERASE (§5.11): 60h, three
/// row cycles, D0h.
#[test]
fn program_and_erase_show_the_bus_cycles_of_the_standard() {
    let bench = Bench::new(GEOMETRY, Content::Full, Placement::Spare);
    bench.bring_up(0);
    bench.fill(0, 7);
    let seen = Rc::new(RefCell::new(Vec::new()));
    bench.engine.set_tap(Some(Box::new(Tap(seen.clone()))));
    let (lun, row) = (bench.lun(0, 0), bench.row(5, 0));
    bench.run(async move || {
        assert!(!program_page(&lun, row, BufferId(0)).await.unwrap().fail());
        assert!(!erase_block(&lun, row).await.unwrap().fail());
    });
    use Seen::*;
    let status = vec![Chips(1), Cmd(0x70), Out(1), Chips(0)];
    let want = [
        vec![
            Chips(1),
            Cmd(0x80),
            Addr(0),
            Addr(0),
            Addr(0x50),
            Addr(0),
            Addr(0),
            In(64 * 277 + 41),
            Cmd(0x10),
            Chips(0),
        ],
        status.clone(),
        vec![Chips(1), Cmd(0x60), Addr(0x50), Addr(0), Addr(0), Cmd(0xd0), Chips(0)],
        status,
    ]
    .concat();
    assert_eq!(*seen.borrow(), want);
}

/// READ STATUS ENHANCED (ONFI 5.1 §5.13) is 78h and three row cycles; CHANGE READ COLUMN ENHANCED (§5.17) is
/// 06h, five address cycles, E0h.
#[test]
fn luns_that_share_a_chip_enable_are_named_in_status_and_column_commands() {
    let geometry = Geometry { luns: 2, ways: 1, ..GEOMETRY };
    let bench = Bench::new(geometry, Content::Full, Placement::Interleaved);
    bench.bring_up(0);
    bench.fill(0, 9);
    let row = geometry.row(1, BlockAddr(2), PageInBlock(0));
    assert_eq!(row.0, 0xa0);
    let lun = bench.lun(0, 1);
    bench.run(async move || assert!(!program_page(&lun, row, BufferId(0)).await.unwrap().fail()));
    let seen = Rc::new(RefCell::new(Vec::new()));
    bench.engine.set_tap(Some(Box::new(Tap(seen.clone()))));
    let lun = bench.lun(0, 1);
    bench.run(async move || read_page(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap());
    assert!(bench.same(0, 1));
    use Seen::*;
    let seen = seen.borrow();
    let status = [Cmd(0x78), Addr(0xa0), Addr(0), Addr(0), Out(1)];
    let column = [Cmd(0x06), Addr(0), Addr(0), Addr(0xa0), Addr(0), Addr(0), Cmd(0xe0)];
    assert!(seen.windows(status.len()).any(|w| w == status), "{seen:?}");
    assert!(seen.windows(column.len()).any(|w| w == column), "{seen:?}");
}

#[test]
fn partial_reads_bring_just_their_sectors() {
    for placement in [Placement::Spare, Placement::Interleaved] {
        let bench = Bench::new(GEOMETRY, Content::Full, placement);
        bench.bring_up(0);
        bench.fill(0, 3);
        bench.dram.borrow_mut().page_mut(BufferId(1)).fill(0x5a);
        let (lun, row) = (bench.lun(0, 0), bench.row(1, 0));
        bench.run(async move || {
            program_page(&lun, row, BufferId(0)).await.unwrap();
            read_page(&lun, row, SectorRange { first: 2, count: 1 }, BufferId(1)).await.unwrap();
        });
        let memory = bench.dram.borrow();
        let (wrote, read) = (memory.page(BufferId(0)), memory.page(BufferId(1)));
        assert_eq!(read[8192..12_288], wrote[8192..12_288]);
        assert!(read[..8192].iter().chain(&read[12_288..]).all(|&b| b == 0x5a));
    }
}

#[test]
fn bit_errors_are_corrected_up_to_the_limit_and_reported_beyond_it() {
    for content in [Content::Full, Content::Fingerprint] {
        let bench = Bench::new(GEOMETRY, content, Placement::Spare);
        bench.bring_up(0);
        bench.fill(0, 11);
        let (lun, row) = (bench.lun(0, 0), bench.row(4, 0));
        bench.run(async move || program_page(&lun, row, BufferId(0)).await.unwrap());
        // 13 wrong bits in the second chunk (C23), bytes 256 to 511.
        let bits: Vec<u32> = (0..13).map(|i| 256 * 8 + 100 * i).collect();
        assert!(bench.inspect.flip_bits(LunIndex(0), BlockAddr(4), PageInBlock(0), &bits));
        let lun = bench.lun(0, 0);
        let report =
            bench.run(async move || read_page(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap());
        assert_eq!((report.failed_sectors, report.worst_chunk, report.corrected), (0, 13, 13), "{content:?}");
        assert!(bench.same(0, 1));
        assert!(bench.inspect.flip_bits(LunIndex(0), BlockAddr(4), PageInBlock(0), &[256 * 8 + 1]));
        let lun = bench.lun(0, 0);
        let report =
            bench.run(async move || read_page(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap());
        assert_eq!(report.failed_sectors, 0b0001, "{content:?}: 14 wrong bits in a chunk of sector 0");
    }
}

#[test]
fn a_read_takes_the_time_that_its_cycles_add_up_to() {
    let bench = Bench::new(GEOMETRY, Content::Full, Placement::Interleaved);
    bench.bring_up(0);
    bench.fill(0, 1);
    let (lun, row, exec) = (bench.lun(0, 0), bench.row(1, 0), bench.exec.clone());
    bench.run(async move || program_page(&lun, row, BufferId(0)).await.unwrap());
    let lun = bench.lun(0, 0);
    let took = bench.run(async move || {
        // Begin on a clock edge, as the derivation below does.
        exec.sleep_until(exec.now().next_edge(Duration::from_micros(1))).await;
        let from = exec.now();
        read_page(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap();
        exec.now().since(from)
    });
    // NV-DDR2 mode 4 at a 10 ns clock, in cycles: tCS 20 ns = 2, a latch tWC 25 ns = 3, tWB 100 ns = 10, tCH
    // 5 ns = 1, tWHR 80 ns = 8, tRPRE 15 + tDQSRE 25 ns = 4, tRPST 25 + 5 ns = 3, tCCS 300 ns = 30, a byte 5
    // ns; FIFO 2, gap 2.
    let trigger = 2 + 2 + 7 * 3 + 10 + 1;
    // After data output tRHW, 10 cycles, of which hold, gap, setup and half a latch of whatever comes next
    // cover 1 + 2 + 2 + 1.
    let rhw = 10 - 6;
    let status = 2 + 2 + 3 + 8 + 4 + 1 + 3 + rhw + 1;
    // The transfer follows the status at once: its push comes after the edge that ended the status, and is
    // sampled at the next.
    let transfer = 1 + 2 + 2 + 4 * 3 + 30 + 4 + (64 * 277 + 41_u64).div_ceil(2) + 3 + rhw + 1;
    let want = Duration::from_nanos(10) * (trigger + status + transfer) + Duration::from_micros(58 + 3);
    assert_eq!(took, want);
}

#[test]
fn an_illegal_transaction_ends_in_an_error_that_names_it_and_the_channel_stays_usable() {
    let bench = Bench::new(GEOMETRY, Content::Full, Placement::Spare);
    bench.bring_up(0);
    let lun = bench.lun(0, 0);
    let fault = bench.run(async move || {
        let mut txn = lun.txn("from nowhere");
        txn.describe(aster_txn::Descriptor::mailbox_in(0)).data_write(2);
        let fault = lun.issue(txn).finished().await.unwrap_err();
        read_status(&lun, RowAddr(0)).await.expect("the channel is usable");
        fault
    });
    assert_eq!(fault.name, "from nowhere");
    assert_eq!(fault.error, TxnError::Protocol(ProtocolError::UnexpectedData));
    let lun = bench.lun(0, 0);
    let row = RowAddr(0x00ff_ffff);
    let error = bench.run(async move || read_trigger(&lun, row).await.unwrap_err());
    let FlashError::Transaction(fault) = error else { panic!("{error}") };
    assert_eq!(fault.error, TxnError::Protocol(ProtocolError::Row { row }));
}

#[test]
fn a_lun_that_never_gets_ready_is_given_up_in_bounded_time() {
    let bench = Bench::new(GEOMETRY, Content::Full, Placement::Spare);
    bench.bring_up(0);
    bench.inspect.force_busy(LunIndex(0), true);
    let (lun, row) = (bench.lun(0, 0), bench.row(1, 0));
    let error = bench.run(async move || erase_block(&lun, row).await.unwrap_err());
    let FlashError::NeverReady { transaction: "erase", row: of, at } = error else { panic!("{error}") };
    assert_eq!(of, row);
    assert!(at >= Instant::ZERO + Duration::from_micros(20 * 5_000), "{at}");
}

#[test]
fn two_luns_overlap_their_array_times_on_one_channel() {
    let bench = Bench::new(GEOMETRY, Content::Full, Placement::Interleaved);
    bench.bring_up(0);
    bench.bring_up(1);
    for way in 0..2 {
        bench.fill(way, u64::from(way));
        let (lun, row) = (bench.lun(way as usize, 0), bench.row(1, 0));
        bench.run(async move || program_page(&lun, row, BufferId(way)).await.unwrap());
    }
    let from = bench.exec.now();
    let ends: Vec<_> = (0..2)
        .map(|way| {
            let (lun, row, exec) = (bench.lun(way, 0), bench.row(1, 0), bench.exec.clone());
            let end = Rc::new(RefCell::new(None));
            let slot = end.clone();
            bench.core.spawn(async move {
                read_page(&lun, row, SectorRange::whole(4), BufferId(4 + way as u32)).await.unwrap();
                *slot.borrow_mut() = Some(exec.now());
            });
            end
        })
        .collect();
    bench.exec.advance_to(from + Duration::from_micros(400));
    let last = ends.iter().map(|e| e.borrow().expect("both reads end")).max().unwrap();
    // One tR and two transfers, not two of each.
    assert!(last.since(from) < Duration::from_micros(58 + 2 * 90 + 10), "{}", last.since(from));
    assert!(bench.same(0, 4) && bench.same(1, 5));
}

#[test]
fn every_data_interface_carries_a_page_and_faster_modes_take_less_time() {
    let mut took = Vec::new();
    for (interface, mode) in [
        (DataInterface::Sdr, 0),
        (DataInterface::NvDdr, 0),
        (DataInterface::NvDdr, 5),
        (DataInterface::NvDdr2, 7),
    ] {
        let bench = Bench::in_mode(GEOMETRY, Content::Full, Placement::Spare, interface, mode);
        bench.bring_up(0);
        bench.fill(0, 5);
        let (lun, row) = (bench.lun(0, 0), bench.row(1, 0));
        bench.run(async move || assert!(!program_page(&lun, row, BufferId(0)).await.unwrap().fail()));
        let (lun, exec) = (bench.lun(0, 0), bench.exec.clone());
        took.push(bench.run(async move || {
            read_trigger(&lun, row).await.unwrap();
            let from = exec.now();
            read_transfer(&lun, row, SectorRange::whole(4), BufferId(1)).await.unwrap();
            exec.now().since(from)
        }));
        assert!(bench.same(0, 1), "{interface:?} mode {mode}");
    }
    assert!(took.windows(2).all(|w| w[0] > w[1]), "{took:?}");
}

/// GET FEATURES (ONFI 5.1 §5.31) is EEh and the address; SET FEATURES (§5.30) EFh, the address, four bytes.
/// 10h is the I/O drive strength, whose P1 reads 02h after power-on (nominal).
#[test]
fn features_are_read_and_changed() {
    let bench = Bench::new(GEOMETRY, Content::Full, Placement::Spare);
    bench.bring_up(0);
    let lun = bench.lun(0, 0);
    let (before, after) = bench.run(async move || {
        let before = get_features(&lun, 0x10).await.unwrap();
        assert!(!set_features(&lun, 0x10, 0x01).await.unwrap().fail());
        (before, get_features(&lun, 0x10).await.unwrap())
    });
    assert_eq!((before & 0xff, after & 0xff), (0x02, 0x01));
}

#[test]
fn the_same_stream_of_operations_takes_the_same_time_twice() {
    let run = || {
        let bench = Bench::new(GEOMETRY, Content::Fingerprint, Placement::Spare);
        bench.bring_up(0);
        for page in 0..8 {
            bench.fill(0, u64::from(page));
            let (lun, row) = (bench.lun(0, 0), bench.row(2, page));
            bench.run(async move || program_page(&lun, row, BufferId(0)).await.unwrap());
        }
        bench.exec.now()
    };
    assert_eq!(run(), run());
}
