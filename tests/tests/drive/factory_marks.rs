//! Bring-up of whole drives whose packages have factory bad blocks.

use aster_device::Media;
use aster_device::profile::FactoryMarksName;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, profile, run, versioned};
use aster_units::{LunIndex, PageInBlock};
use aster_workload::{Access, Mix};

/// Up to four of a mark's eight bits may be read wrong. The block must still be recognised as bad,
/// whichever page has the mark.
#[test]
fn a_factory_bad_block_is_found_by_a_damaged_mark_on_either_page() {
    use FactoryMarksName::{FirstOrLastPage, FirstPage, LastPage};
    for (name, marks, times) in [
        ("tiny", FirstPage, 3),
        ("tiny", LastPage, 3),
        ("tiny", FirstOrLastPage, 3),
        ("softssd-small", FirstOrLastPage, 1),
    ] {
        let profile = profile(name, |p| {
            p.package.factory_bad_per_mille = 60;
            p.package.factory_marks = marks;
            p.geometry.blocks_per_lun = 48;
            p.ftl.over_provisioning_percent = 60.0;
        });
        let m =
            Machine::power_on("test", &profile, None, Media::fresh(), &Recorder::default(), config(&profile))
                .unwrap_or_else(|e| panic!("{e}"));
        let (nand, geometry) = (m.device().nand(), *m.device().geometry());
        let mut marked = 0;
        for lun in (0..geometry.total_luns()).map(LunIndex) {
            for (n, (block, _)) in nand.bad_blocks(lun).into_iter().enumerate() {
                let byte = 8 * geometry.page_bytes;
                let bits: Vec<u32> = (0..8)
                    .filter(|bit| [0x0F, 0xA5, 0xF0][n % 3] >> bit & 1 == 1)
                    .map(|b| byte + b)
                    .collect();
                // The page without the mark reads FFh except for one bit.
                let (first, last) = (PageInBlock(0), PageInBlock(geometry.pages_per_block - 1));
                let (on_first, on_last) = match marks {
                    FirstPage => (&bits[..], &bits[..1]),
                    LastPage => (&bits[..1], &bits[..]),
                    FirstOrLastPage => (&bits[..3], &bits[..3]),
                };
                assert!(nand.flip_bits(lun, block, first, on_first));
                assert!(nand.flip_bits(lun, block, last, on_last));
                marked += 1;
            }
        }
        assert!(marked > 4, "{marked} blocks are bad");
        m.boot().unwrap_or_else(|e| panic!("{marks:?}: {e}"));
        let pages = drive(&m).bytes / (16 << 10);
        run(&m, &[job("fill", Access::Random, Mix::Write, 16 << 10, times * pages)], versioned(&m));
        assert_eq!(m.device().stats().ftl.factory_bad_blocks, marked, "{marks:?}");
        let totals = m.device().nand().totals_of_drive();
        assert_eq!(
            (totals.program_failures, totals.erase_failures),
            (0, 0),
            "{marks:?}: a bad block was used"
        );
    }
}
