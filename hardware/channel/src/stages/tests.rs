//! Tests of what the stages leave unchanged.

use super::*;
use aster_ports::dram::Dram;
use aster_ports::layout::Placement;
use aster_txn::{Direction, Path};
use aster_units::{BufferId, SectorRange};

#[test]
fn an_erased_page_fills_only_the_sectors_that_were_asked_for() {
    for content in [Content::Full, Content::Fingerprint] {
        let layout = PageLayout::new(4, 16_384 + 1_664, 256, 21, 16, Placement::Interleaved).unwrap();
        let mut stages = Stages::new(StageConfig {
            layout,
            ecc: Ecc::new(12, 14, 13, &layout).unwrap(),
            detect_latency: Duration::ZERO,
            correct_latency: Duration::ZERO,
            solver: None,
        });
        let dram = Dram::new(content, 4, 16, 1, 0, 0);
        let mut memory = dram.borrow_mut();
        memory.page_and_oob_mut(BufferId(0)).0.fill(7);
        let sectors = SectorRange { first: 1, count: 2 };
        let descriptor = Descriptor {
            direction: Direction::Out,
            path: Path::Page,
            buffer: BufferId(0),
            offset: 0,
            sectors,
            immediate: 0,
        };
        for (part, span) in layout.bursts(sectors).as_slice().iter().enumerate() {
            let out = DataOut::Erased { column: span.column, flips: &[] };
            stages.receive(part as u8, span.length, &descriptor, &out, &mut memory).unwrap();
        }
        let (page, oob) = memory.page_and_oob_mut(BufferId(0));
        let sector = content.sector_len();
        assert!(page[sector..3 * sector].iter().chain(oob.iter()).all(|&byte| byte == 0xff));
        assert!(page[..sector].iter().chain(&page[3 * sector..]).all(|&byte| byte == 7), "{content:?}");
        assert!(stages.finish(Instant::ZERO).0.erased);
    }
}
