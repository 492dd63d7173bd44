//! Operations on several chip enables at once, also when one of them fails.

use super::variants::{FAST, TWO_PLANES, make, rich};
use super::*;
use aster_wire::onfi::command;

/// Two chips whose array times differ from typical by at most `deviation`, page by page.
fn uneven(content: Content, deviation: Duration) -> Bench {
    let bench = Bench::with(TWO_PLANES, content, Placement::Spare, FAST, |nand, flash| {
        make(nand, flash);
        nand.timing.deviation_page = deviation;
        // No array time may be shorter than its deviation.
        nand.timing.slc_read = Duration::from_micros(58);
    });
    bench.bring_up(0);
    bench.bring_up(1);
    bench
}

/// How long each of `luns` takes to read `row`.
async fn alone(luns: &[&Lun], row: RowAddr) -> Vec<Duration> {
    let mut alone = Vec::new();
    for lun in luns {
        let start = lun.core().exec().now();
        read_trigger(lun, row).await.unwrap();
        alone.push(lun.core().exec().now().since(start));
    }
    alone
}

#[test]
fn a_gang_writes_once_and_reads_from_whoever_is_ready() {
    let bench = uneven(Content::Full, Duration::from_micros(20));
    bench.fill(0, 1);
    let (a, b, row) = (bench.lun(0, 0), bench.lun(1, 0), bench.row(2, 0));
    let exec = bench.exec.clone();
    let whole = SectorRange::whole(4);
    let (winner, alone) = bench.run(async move || {
        let mut failed = [true; 2];
        let start = exec.now();
        gang_program(&a, &[&b], row, BufferId(0), &mut failed).await.unwrap();
        assert_eq!(failed, [false; 2]);
        // One transfer of about 92 µs, not two.
        assert!(exec.now().since(start) < Duration::from_micros(481 + 20 + 95 + 20));
        let (winner, report) = gang_read(&a, &[&b], row, whole, BufferId(8)).await.unwrap();
        assert_eq!(report.failed_sectors, 0);
        (winner, alone(&[&a, &b], row).await)
    });
    assert!(bench.same(0, 8));
    assert_eq!(winner, usize::from(alone[1] < alone[0]), "{alone:?}");
}

#[test]
fn a_stuck_member_of_a_gang_is_named_and_the_channel_stays_usable() {
    let bench = rich();
    bench.bring_up(1);
    bench.inspect.force_busy(LunIndex(1), true);
    let (a, b, row) = (bench.lun(0, 0), bench.lun(1, 0), bench.row(2, 0));
    let error = bench.run(async move || {
        let error = gang_read(&a, &[&b], row, SectorRange::whole(4), BufferId(0)).await.unwrap_err();
        read_page(&a, row, SectorRange::whole(4), BufferId(0)).await.expect("the other one works");
        error
    });
    assert!(matches!(error, FlashError::NeverReady { transaction: "gang read", .. }), "{error}");
}

/// Fingerprints can't be read as bytes: the winner's transfer fails while the other one's array still works.
#[test]
fn a_gang_whose_transfer_fails_waits_for_the_others() {
    let bench = uneven(Content::Fingerprint, Duration::from_micros(55));
    let (a, b, first) = (bench.lun(0, 0), bench.lun(1, 0), bench.row(2, 0));
    let bytes = bench.dram.borrow().metadata_buffer(0);
    let sector = SectorRange::whole(1);
    let error = bench.run(async move || {
        // A page that one chip reads long after the transfer, 58 µs and 25 µs or so behind its command.
        let mut rows = (first.0..first.0 + 16).map(RowAddr);
        let row = loop {
            let row = rows.next().expect("a page that takes one chip long and the other not");
            gang_program(&a, &[&b], row, BufferId(0), &mut [true; 2]).await.unwrap();
            let alone = alone(&[&a, &b], row).await;
            let us = Duration::from_micros;
            if alone.iter().any(|&took| took < us(60)) && alone.iter().any(|&took| took > us(95)) {
                break row;
            }
        };
        let error = gang_read(&a, &[&b], row, sector, bytes).await.unwrap_err();
        for lun in [&a, &b] {
            assert!(read_status(lun, row).await.unwrap().ready(), "chip {} is busy still", lun.way());
        }
        for lun in [&a, &b] {
            read_page(lun, row, sector, BufferId(8)).await.expect("each of them works");
        }
        error
    });
    let FlashError::Transaction(fault) = error else { panic!("{error}") };
    assert_eq!((fault.name, fault.error), ("read transfer", TxnError::Protocol(ProtocolError::NoBytes)));
}

/// The second chip is reading ahead and refuses 30h, after the first one has accepted it.
#[test]
fn a_gang_whose_command_one_chip_refuses_waits_for_those_that_took_it() {
    let bench = rich();
    bench.bring_up(1);
    let (a, b, row) = (bench.lun(0, 0), bench.lun(1, 0), bench.row(2, 0));
    let whole = SectorRange::whole(4);
    let error = bench.run(async move || {
        read_trigger(&b, row).await.unwrap();
        let mut txn = b.txn("read ahead");
        txn.cmd(command::READ_CACHE);
        assert!(!b.until_ready(txn, row, Duration::from_micros(3)).await.unwrap().array_ready());
        let error = gang_read(&a, &[&b], row, whole, BufferId(0)).await.unwrap_err();
        assert!(read_status(&a, row).await.unwrap().ready(), "the one that took it is busy still");
        read_page(&a, row, whole, BufferId(0)).await.expect("it works");
        error
    });
    let FlashError::Transaction(fault) = error else { panic!("{error}") };
    assert_eq!(fault.name, "gang read");
}

#[test]
fn the_others_of_a_gang_are_told_of_when_its_first_one_is_stuck() {
    let bench = rich();
    bench.bring_up(1);
    bench.inspect.force_busy(LunIndex(0), true);
    bench.inspect.fail_program(LunIndex(1), BlockAddr(2), PageInBlock(0));
    let (a, b, row) = (bench.lun(0, 0), bench.lun(1, 0), bench.row(2, 0));
    let (error, failed) = bench.run(async move || {
        let mut failed = [false; 2];
        let error = gang_program(&a, &[&b], row, BufferId(0), &mut failed).await.unwrap_err();
        (error, failed)
    });
    assert!(matches!(error, FlashError::NeverReady { transaction: "gang program", .. }), "{error}");
    assert_eq!(failed, [false, true]);
}
