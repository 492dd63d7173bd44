//! BABOL's algorithms on RTL: what a flash operation puts on the pins, and what comes back.

use crate::bench::{Bench, GEOMETRY, Hardware, PSEUDO_SLC, SECTORS, Seen, Setting};
use aster_flash::operations::*;
use aster_txn::Latch;
use aster_units::*;
use aster_wire::onfi::DataInterface;

#[test]
fn a_page_that_is_programmed_on_rtl_reads_back_in_every_interface() {
    for (interface, mode) in [(DataInterface::Sdr, 5), (DataInterface::NvDdr, 5), (DataInterface::NvDdr2, 4)]
    {
        let bench = Bench::new(Hardware::Rtl, &Setting::of(interface, mode));
        bench.bring_up();
        Bench::fill(&bench.dram, BufferId(0), 7);
        let row = GEOMETRY.row(0, BlockAddr(2), PageInBlock(0));
        let lun = bench.lun(0, 0);
        let report = bench.run(async move {
            assert!(!program_page(&lun, row, BufferId(0)).await.unwrap().fail());
            read_page(&lun, row, SectorRange::whole(SECTORS), BufferId(1)).await.unwrap()
        });
        assert_eq!((report.corrected, report.failed_sectors, report.erased), (0, 0, false));
        let memory = bench.dram.borrow();
        assert!(memory.page_and_oob(BufferId(0)) == memory.page_and_oob(BufferId(1)), "{interface} {mode}");
    }
}

/// Algorithm 1, READ STATUS: 70h and a status byte; Algorithm 2, READ with a column change: 00h, five address
/// cycles, 30h, then 05h, two column cycles, E0h and the data (ONFI 5.1, READ STATUS, READ, CHANGE READ
/// COLUMN). If LUNs share a chip enable, 78h and 06h name the LUN.
#[test]
fn a_read_on_rtl_shows_the_bus_cycles_of_algorithms_1_and_2() {
    let bench = Bench::new(Hardware::Rtl, &Setting::of(DataInterface::NvDdr2, 4));
    bench.bring_up();
    bench.log.borrow_mut().clear();
    let row = GEOMETRY.row(1, BlockAddr(2), PageInBlock(1));
    let [a, b, c, _] = row.0.to_le_bytes();
    let lun = bench.lun(1, 1);
    let report =
        bench.run(async move { read_page(&lun, row, SectorRange::whole(2), BufferId(1)).await.unwrap() });
    assert!(report.erased);
    let cycles = |log: &[Seen]| -> Vec<(bool, u32)> {
        log.iter()
            .filter_map(|seen| match seen {
                Seen::Latch(_, _, Latch::Command(c)) => Some((true, u32::from(*c))),
                Seen::Latch(_, _, Latch::Address(a)) => Some((false, u32::from(*a))),
                Seen::Burst(_, _, true, bytes) => Some((true, 0x1000 + bytes.len() as u32)),
                _ => None,
            })
            .collect()
    };
    let address = [a, b, c].map(|byte| (false, u32::from(byte)));
    let trigger = [&[(true, 0x00), (false, 0), (false, 0)][..], &address, &[(true, 0x30)]].concat();
    let status = [&[(true, 0x78)][..], &address, &[(true, 0x1001)]].concat();
    let transfer = [
        &[(true, 0x06), (false, 0), (false, 0)][..],
        &address,
        &[(true, 0xe0), (true, 0x1000 + 32 * 277 + 41)],
    ]
    .concat();
    assert_eq!(cycles(&bench.log.borrow()), [trigger, status, transfer].concat());
}

/// Algorithm 3, the pseudo-SLC read: the package's prefix in front of READ.
#[test]
fn a_page_used_as_slc_is_read_on_rtl_with_the_prefix_of_algorithm_3() {
    let bench = Bench::new(Hardware::Rtl, &Setting::of(DataInterface::NvDdr2, 4));
    bench.bring_up();
    Bench::fill(&bench.dram, BufferId(0), 3);
    let row = GEOMETRY.row(0, BlockAddr(3), PageInBlock(0));
    let lun = bench.lun(0, 0);
    bench.run(async move {
        assert!(!slc_erase(&lun, row).await.unwrap().fail());
        assert!(!slc_program(&lun, row, BufferId(0)).await.unwrap().fail());
    });
    bench.log.borrow_mut().clear();
    let lun = bench.lun(0, 0);
    let all = SectorRange::whole(SECTORS);
    bench.run(async move { slc_read(&lun, row, all, BufferId(1)).await.unwrap() });
    let commands: Vec<u8> = bench
        .log
        .borrow()
        .iter()
        .filter_map(|seen| match seen {
            Seen::Latch(_, _, Latch::Command(command)) => Some(*command),
            _ => None,
        })
        .collect();
    assert_eq!(commands[..3], [PSEUDO_SLC, 0x00, 0x30]);
    let memory = bench.dram.borrow();
    assert!(memory.page_and_oob(BufferId(0)) == memory.page_and_oob(BufferId(1)));
}
