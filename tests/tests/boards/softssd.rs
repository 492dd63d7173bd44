//! The profiles `softssd` and `softssd-small`: what the SoftSSD paper says of its board, against the drive.

use aster_device::Media;
use aster_device::profile::{BoardProfile, DataModeName, NVME_SOFTWARE, Profile, TransportName, shipped};
use aster_events::Recorder;
use aster_tests::{drive, job, machine, profile, run, versioned};
use aster_units::CellMode;
use aster_workload::{Access, Job, Mix};

/// Table 2, row by row, and what §6.1 says of the board (S28, S29). The numbers on the right are the paper's.
#[test]
fn softssd_has_the_array_buffers_and_queues_of_table_2() {
    let profile = shipped("softssd").unwrap_or_else(|e| panic!("{e}"));
    let array = profile.array_geometry();
    assert_eq!(array.channels, 8, "number of channels");
    assert_eq!(array.ways, 4, "number of chips per channel");
    assert_eq!(array.luns, 2, "number of dies per chip");
    assert_eq!(array.planes, 2, "number of planes per die");
    assert_eq!(array.blocks_per_lun / u32::from(array.planes), 1048, "number of blocks per plane");
    assert_eq!(array.pages_per_block, 512, "number of pages per block");
    assert_eq!((array.page_bytes, array.spare_bytes), (16 << 10, 1872), "page size");
    let page = u64::from(array.page_bytes);
    assert_eq!(array.total_pages() * page, 1048 << 30, "1 TB, of which the drive exports 0.93 (G23)");
    assert_eq!(u64::from(profile.ftl.buffer_entries) * page, 512 << 20, "write cache");
    assert_eq!((profile.host.queue_pairs, profile.host.queue_entries), (12, 1024), "NVMe queues, depth");
    assert_eq!((profile.link.generation, profile.link.lanes), (3, 8), "Gen3 ×8");
    assert_eq!((profile.channel.data_interface, profile.channel.timing_mode), (DataModeName::NvDdr2, 7));
    assert_eq!((profile.package.cells.into(), array.total_luns()), (CellMode::Mlc, 64), "64 dies of MLC");
}

/// The map of all pages fits into the 1 GB that Table 2 has for it, as it does in ours.
#[test]
fn softssd_exports_093_of_its_flash_and_keeps_what_is_written() {
    let profile = profile("softssd", |_| {});
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let array = profile.array_geometry();
    let raw = array.total_pages() * u64::from(array.page_bytes);
    let share = drive(&m).bytes as f64 / raw as f64;
    assert!((share - 0.93).abs() < 0.002, "{share}");
    assert!(drive(&m).bytes / u64::from(array.page_bytes) * 4 < 1 << 30, "four bytes a page");
    let write = Job { flush_every: 1_000, ..job("write", Access::Random, Mix::Write, 16 << 10, 2_000) };
    let read = job("read", Access::Random, Mix::Read, 16 << 10, 1_000);
    run(&m, &[write, read], versioned(&m));
}

/// What tests find on the small drive holds for the large one: all that isn't size is the same.
#[test]
fn the_small_drive_is_the_large_one_but_for_its_size_and_failures() {
    let (large, small) = (shipped("softssd").unwrap(), shipped("softssd-small").unwrap());
    assert_eq!((&small.channel, &small.link, &small.cores), (&large.channel, &large.link, &large.cores));
    // The eMMC keeps the directory of a map on flash; the small drive's map is in memory.
    assert!(large.board.emmc.is_some() && small.board.emmc.is_none());
    let without_emmc = |p: &Profile| BoardProfile { emmc: None, ..p.board.clone() };
    assert_eq!((&small.ecc, without_emmc(&small)), (&large.ecc, without_emmc(&large)));
    assert_eq!((&small.scheduler, &small.poll), (&large.scheduler, &large.poll));
    assert_eq!(small.costs, large.costs);
    let of_host = |p: &Profile| {
        let packets = (p.host.transport, p.host.completion_offload, p.host.register_packets);
        (p.host.front_end.clone(), packets)
    };
    assert_eq!(of_host(&small), of_host(&large));
    let packets = (TransportName::Tlp, Some(true), true);
    assert_eq!(of_host(&large), (NVME_SOFTWARE.to_owned(), packets), "S1, S3, S6");
    let (of_large, of_small) = (large.array_geometry(), small.array_geometry());
    assert_eq!((of_small.luns, of_small.planes), (of_large.luns, of_large.planes));
    assert_eq!((of_small.page_bytes, of_small.spare_bytes), (of_large.page_bytes, of_large.spare_bytes));
    assert_eq!(small.package.program_us, large.package.program_us);
}
