//! Operations on packages with every command: results are checked by the cells' content, errors by their
//! type.

use super::*;
use aster_nand::Variant;
use aster_ports::channel::FrameReport;
use aster_ports::flash::{Flags, FlashOp, FlashRequest, FlashStatus, Outcome, Target};
use aster_wire::onfi::CommandSet;
use aster_wire::onfi::command_set::{OneShot, ReadRetry, Suspend};

pub(super) const TWO_PLANES: Geometry = Geometry { planes: 2, ..GEOMETRY };

/// All commands, with the vendor opcodes of the shipped packages.
fn commands() -> CommandSet {
    CommandSet {
        read_cache: true,
        program_cache: true,
        multi_plane: true,
        copyback: true,
        reset_lun: true,
        odt_configure: true,
        zq_calibration: true,
        pseudo_slc: Some(0xa2),
        one_shot: None,
        suspend: Some(Suspend { erase: 0x61, erase_resume: 0xd2, program: 0x84, program_resume: 0x13 }),
        read_retry: Some(ReadRetry { feature: 0x89, levels: 4 }),
    }
}

pub(super) fn make(nand: &mut NandConfig, flash: &mut FlashConfig) {
    nand.variant = Variant {
        commands: commands(),
        read_levels_mv: vec![0, -40, -80, -120],
        pair_loss: true,
        lsb_pages: false,
    };
    let us = Duration::from_micros;
    flash.variant = crate::PackageVariant {
        commands: nand.variant.commands,
        id: Some(nand.identity.id),
        slc_read: us(25),
        slc_program: us(300),
        slc_erase: us(5_000),
        one_shot_program: us(2_295),
        suspend: us(30),
    };
}

pub(super) fn make_triple(nand: &mut NandConfig, flash: &mut FlashConfig) {
    make(nand, flash);
    let one_shot = Some(OneShot { pages: [1, 2, 3], load_confirm: 0x1a });
    for commands in [&mut nand.variant.commands, &mut flash.variant.commands] {
        commands.one_shot = one_shot;
    }
    (nand.cells, flash.shape.cells) = (CellMode::Tlc, CellMode::Tlc);
}

pub(super) const FAST: (DataInterface, u8) = (DataInterface::NvDdr2, 4);

pub(super) fn rich() -> Bench {
    let bench = Bench::with(TWO_PLANES, Content::Full, Placement::Spare, FAST, make);
    bench.bring_up(0);
    bench
}

pub(super) fn target(bench: &Bench, block: u32, page: u16, buffer: u32) -> Target {
    Target { row: bench.row(block, page), sectors: SectorRange::whole(4), buffer: BufferId(buffer) }
}

#[test]
fn cached_programs_come_back_by_cached_reads_in_any_order() {
    let bench = rich();
    (0..4).for_each(|buffer| bench.fill(buffer, 70 + u64::from(buffer)));
    let lun = bench.lun(0, 0);
    let pages: Vec<_> = (0..4).map(|i| target(&bench, 2, i, u32::from(i))).collect();
    let back: Vec<_> = (0..4).map(|i| target(&bench, 2, i, 8 + u32::from(i))).collect();
    let shuffled: Vec<_> = [3u16, 0, 2, 1].iter().map(|&i| target(&bench, 2, i, 12 + u32::from(i))).collect();
    bench.run(async move || {
        let mut failed = [true; 4];
        program_cache(&lun, &pages, &mut failed).await.unwrap();
        assert_eq!(failed, [false; 4]);
        let mut found = [FrameReport::default(); 4];
        read_cache_sequential(&lun, &back, &mut found).await.unwrap();
        read_cache_random(&lun, &shuffled, &mut found).await.unwrap();
        assert!(found.iter().all(|f| f.failed_sectors == 0 && !f.erased));
    });
    (0..4).for_each(|i| assert!(bench.same(i, 8 + i) && bench.same(i, 12 + i), "page {i}"));
}

#[test]
fn a_cached_sequence_of_one_page_reads_that_page() {
    let bench = rich();
    bench.fill(0, 7);
    let lun = bench.lun(0, 0);
    let (page, first, second) = (target(&bench, 2, 0, 0), target(&bench, 2, 0, 1), target(&bench, 2, 0, 2));
    bench.run(async move || {
        program_page(&lun, page.row, page.buffer).await.unwrap();
        let mut found = [FrameReport { erased: true, ..FrameReport::default() }];
        read_cache_sequential(&lun, &[first], &mut found).await.unwrap();
        assert!(!found[0].erased);
        read_cache_random(&lun, &[second], &mut found).await.unwrap();
    });
    assert!(bench.same(0, 1) && bench.same(0, 2));
}

#[test]
fn a_cached_read_hides_the_array_behind_the_bus() {
    let bench = rich();
    let (lun, exec) = (bench.lun(0, 0), bench.exec.clone());
    let pages: Vec<_> = (0..8).map(|i| target(&bench, 2, i, 0)).collect();
    let (plain, cached) = bench.run(async move || {
        for page in &pages {
            program_page(&lun, page.row, page.buffer).await.unwrap();
        }
        let start = exec.now();
        for page in &pages {
            read_page(&lun, page.row, page.sectors, page.buffer).await.unwrap();
        }
        let middle = exec.now();
        let mut found = [FrameReport::default(); 8];
        read_cache_sequential(&lun, &pages, &mut found).await.unwrap();
        (middle.since(start), exec.now().since(middle))
    });
    // Seven of eight times the shorter of tR (58, 90 µs) and a transfer (about 92 µs) is hidden.
    let hidden = plain - cached;
    let us = Duration::from_micros;
    assert!(hidden > us(7 * 50) && hidden < us(7 * 92), "{plain} without, {cached} with cache");
}

#[test]
fn each_failed_page_of_a_cached_sequence_is_named() {
    for failing in 0..4u16 {
        let bench = rich();
        bench.inspect.fail_program(LunIndex(0), BlockAddr(2), PageInBlock(failing));
        let lun = bench.lun(0, 0);
        let pages: Vec<_> = (0..4).map(|i| target(&bench, 2, i, 0)).collect();
        let failed = bench.run(async move || {
            let mut failed = [false; 4];
            program_cache(&lun, &pages, &mut failed).await.unwrap();
            failed
        });
        // The block is bad from then on.
        let want: Vec<_> = (0..4).map(|page| page >= failing).collect();
        assert_eq!(failed[..], want);
    }
}

#[test]
fn planes_are_read_programmed_and_erased_together_and_fail_alone() {
    let bench = rich();
    bench.fill(0, 1);
    bench.fill(1, 2);
    bench.inspect.fail_erase(LunIndex(0), BlockAddr(5));
    let lun = bench.lun(0, 0);
    let pages = [target(&bench, 4, 0, 0), target(&bench, 5, 0, 1)];
    let back = [target(&bench, 4, 0, 8), target(&bench, 5, 0, 9)];
    let (programmed, erased) = bench.run(async move || {
        let (mut programmed, mut erased) = ([true; 2], [true; 2]);
        program_planes(&lun, &pages, &mut programmed).await.unwrap();
        let mut found = [FrameReport::default(); 2];
        read_planes(&lun, &back, &mut found).await.unwrap();
        erase_planes(&lun, &pages, &mut erased).await.unwrap();
        (programmed, erased)
    });
    assert!(bench.same(0, 8) && bench.same(1, 9));
    assert_eq!((programmed, erased), ([false; 2], [false, true]));
}

#[test]
fn planes_of_luns_that_share_a_chip_enable_are_told_apart() {
    let geometry = Geometry { luns: 2, ways: 1, ..TWO_PLANES };
    let bench = Bench::with(geometry, Content::Full, Placement::Interleaved, FAST, make);
    bench.bring_up(0);
    bench.fill(0, 1);
    bench.fill(1, 2);
    bench.inspect.fail_program(LunIndex(1), BlockAddr(2), PageInBlock(0));
    let lun = bench.lun(0, 1);
    let at = |block, buffer| Target {
        row: geometry.row(1, BlockAddr(block), PageInBlock(0)),
        ..target(&bench, 0, 0, buffer)
    };
    let (pages, back) = ([at(2, 0), at(3, 1)], [at(2, 8), at(3, 9)]);
    let failed = bench.run(async move || {
        let mut failed = [false; 2];
        program_planes(&lun, &pages, &mut failed).await.unwrap();
        let mut found = [FrameReport::default(); 2];
        read_planes(&lun, &back, &mut found).await.unwrap();
        failed
    });
    assert_eq!(failed, [true, false]);
    assert!(bench.same(1, 9));
}

#[test]
fn a_controller_request_for_two_planes_is_one_command() {
    let bench = rich();
    bench.fill(0, 1);
    bench.fill(1, 2);
    let controller = crate::Controller::new(bench.lun(0, 0));
    let pages = [target(&bench, 4, 0, 0), target(&bench, 5, 0, 1)];
    let back = [target(&bench, 4, 0, 8), target(&bench, 5, 0, 9)];
    let exec = bench.exec.clone();
    let took = bench.run(async move || {
        let start = exec.now();
        for (phase, targets) in [(FlashOp::Program, pages), (FlashOp::Read, back), (FlashOp::Erase, pages)] {
            let request = FlashRequest::vector(phase, LunIndex(0), &targets).unwrap();
            let outcomes = controller.execute(&request, |error| panic!("{error}")).await;
            assert!(outcomes.iter().all(|o| o.status == FlashStatus::Done));
        }
        exec.now().since(start)
    });
    assert!(bench.same(0, 8) && bench.same(1, 9));
    // One tPROG, tR and tBERS each, four transfers of about 92 µs.
    assert!(took < Duration::from_micros(481 + 58 + 5_000 + 4 * 95 + 30), "{took}");
}

#[test]
fn a_read_begun_behind_another_that_can_not_be_is_the_only_one_to_fail() {
    let bench = rich();
    bench.fill(0, 1);
    let controller = crate::Controller::new(bench.lun(0, 0));
    let (page, back) = (target(&bench, 2, 0, 0), target(&bench, 2, 0, 8));
    let nowhere = RowAddr(bench.row(7, 15).0 + 1);
    let faults = Rc::new(RefCell::new(Vec::new()));
    let told = faults.clone();
    bench.run(async move || {
        let single = |phase, target| FlashRequest::single(phase, LunIndex(0), target);
        let fault = |error: FlashError| told.borrow_mut().push(std::format!("{error}"));
        controller.execute(&single(FlashOp::Program, page), &fault).await;
        let read = single(FlashOp::Read, back);
        let mut outcome = Outcome::default();
        let begun = controller.execute_page_read(&read, &mut outcome, None, || Some(nowhere), &fault).await;
        assert_eq!((outcome.status, begun), (FlashStatus::Done, None));
        assert!(told.borrow().is_empty(), "{:?}", told.borrow());
        let wrong = single(FlashOp::Read, Target { row: nowhere, ..back });
        let begun = controller.execute_page_read(&wrong, &mut outcome, None, || Some(back.row), &fault).await;
        assert_eq!((outcome.status, begun), (FlashStatus::Error, None));
        controller.execute_page_read(&read, &mut outcome, None, || None, &fault).await;
        assert_eq!(outcome.status, FlashStatus::Done, "the channel is usable");
    });
    assert!(bench.same(0, 8));
    let faults = faults.borrow();
    assert!(faults.len() == 1 && faults[0].starts_with("transaction 'read' at "), "{faults:?}");
}

#[test]
fn an_mlc_pair_is_programmed_as_one() {
    let bench = rich();
    bench.fill(0, 1);
    bench.fill(1, 2);
    let lun = bench.lun(0, 0);
    let pair = [target(&bench, 2, 0, 0), target(&bench, 2, 1, 1)];
    let back = [target(&bench, 2, 0, 8), target(&bench, 2, 1, 9)];
    let error = bench.run(async move || {
        assert_eq!(program_pair(&lun, pair).await.unwrap(), [false; 2]);
        let mut found = [FrameReport::default(); 2];
        read_cache_sequential(&lun, &back, &mut found).await.unwrap();
        program_pair(&lun, [pair[1], pair[0]]).await.unwrap_err()
    });
    assert!(bench.same(0, 8) && bench.same(1, 9));
    assert!(matches!(error, FlashError::Unsupported { operation: "program pair", .. }), "{error}");
}

#[test]
fn a_tlc_word_line_is_programmed_in_one_shot() {
    let bench = Bench::with(TWO_PLANES, Content::Full, Placement::Spare, FAST, make_triple);
    bench.bring_up(0);
    (0..3).for_each(|buffer| bench.fill(buffer, u64::from(buffer) + 5));
    let lun = bench.lun(0, 0);
    let pages = [0, 1, 2].map(|i| target(&bench, 3, i, u32::from(i)));
    let back = [0, 1, 2].map(|i| target(&bench, 3, i, 8 + u32::from(i)));
    bench.run(async move || {
        assert!(!program_one_shot(&lun, pages).await.unwrap().fail());
        let mut found = [FrameReport::default(); 3];
        read_cache_sequential(&lun, &back, &mut found).await.unwrap();
        let error = program_one_shot(&lun, [pages[1], pages[0], pages[2]]).await.unwrap_err();
        let FlashError::Transaction(fault) = error else { panic!("{error}") };
        assert_eq!(fault.name, "load word line");
    });
    (0..3).for_each(|i| assert!(bench.same(i, 8 + i), "page {i}"));
}

#[test]
fn slc_use_goes_by_operation_and_by_request() {
    let bench = rich();
    bench.fill(0, 1);
    let lun = bench.lun(0, 0);
    let controller = crate::Controller::new(bench.lun(0, 0));
    assert!(controller.capabilities().slc);
    let (page, back) = (target(&bench, 2, 0, 0), target(&bench, 2, 0, 8));
    let (second, again) = (target(&bench, 2, 1, 0), target(&bench, 2, 1, 9));
    bench.run(async move || {
        assert!(!slc_erase(&lun, page.row).await.unwrap().fail());
        assert!(!slc_program(&lun, page.row, page.buffer).await.unwrap().fail());
        slc_read(&lun, back.row, back.sectors, back.buffer).await.unwrap();
        for (phase, target) in [(FlashOp::Program, second), (FlashOp::Read, again)] {
            let mut request = FlashRequest::single(phase, LunIndex(0), target);
            request.flags = Flags { slc: true, ..Flags::default() };
            let outcomes = controller.execute(&request, |error| panic!("{error}")).await;
            assert_eq!(outcomes[0].status, FlashStatus::Done, "{phase:?}");
        }
        let report = read_page(&lun, back.row, back.sectors, BufferId(12)).await.unwrap();
        assert_eq!(report.failed_sectors, 0b1111, "an MLC read of SLC cells");
    });
    assert!(bench.same(0, 8) && bench.same(0, 9));
}

#[test]
fn a_read_comes_through_in_the_middle_of_an_erase() {
    let bench = rich();
    bench.fill(0, 1);
    let (lun, exec) = (bench.lun(0, 0), bench.exec.clone());
    let (page, back) = (target(&bench, 2, 0, 0), target(&bench, 2, 0, 8));
    let block = bench.row(4, 0);
    let took = bench.run(async move || {
        program_page(&lun, page.row, page.buffer).await.unwrap();
        let start = exec.now();
        let progress = Duration::from_millis(2);
        let (status, report) = erase_with_read(&lun, block, progress, &back).await.unwrap();
        assert!(!status.fail() && !status.command_specific() && report.failed_sectors == 0);
        exec.now().since(start)
    });
    assert!(bench.same(0, 8));
    assert_eq!(bench.inspect.block(LunIndex(0), BlockAddr(4)).erases, 1);
    let us = Duration::from_micros;
    assert!(took > us(5_000 + 30 + 58 + 90) && took < us(5_000 + 30 + 58 + 90 + 40), "{took}");
}

/// A LUN with a suspended erase takes no program and no other erase.
#[test]
fn an_erase_is_resumed_also_if_the_read_in_its_middle_fails() {
    let bench = rich();
    bench.fill(0, 1);
    let lun = bench.lun(0, 0);
    let (page, block) = (target(&bench, 2, 0, 0), bench.row(4, 0));
    let nowhere = Target { row: RowAddr(u32::MAX >> 8), ..target(&bench, 2, 0, 8) };
    bench.run(async move || {
        let progress = Duration::from_millis(2);
        let error = erase_with_read(&lun, block, progress, &nowhere).await.unwrap_err();
        assert!(matches!(error, FlashError::Transaction(_)), "{error}");
        assert!(!program_page(&lun, page.row, page.buffer).await.unwrap().fail());
    });
    assert_eq!(bench.inspect.block(LunIndex(0), BlockAddr(4)).erases, 1);
}

#[test]
fn a_program_is_suspended_and_ends_as_if_it_had_not_been() {
    let bench = rich();
    bench.fill(0, 1);
    bench.fill(1, 2);
    let lun = bench.lun(0, 0);
    let (first, second) = (target(&bench, 2, 0, 0), target(&bench, 3, 0, 1));
    bench.run(async move || {
        program_page(&lun, first.row, first.buffer).await.unwrap();
        let since = start_program(&lun, second.row, second.buffer).await.unwrap();
        let Suspended { status, worked } = suspend_program(&lun, second.row, since).await.unwrap();
        assert!(status.command_specific());
        read_page(&lun, first.row, first.sectors, BufferId(8)).await.unwrap();
        assert!(!resume_program(&lun, second.row, worked).await.unwrap().fail());
        read_page(&lun, second.row, second.sectors, BufferId(9)).await.unwrap();
        let error = resume_program(&lun, second.row, worked).await.unwrap_err();
        assert!(matches!(error, FlashError::Transaction(ref f) if f.name == "resume program"), "{error}");
    });
    assert!(bench.same(0, 8) && bench.same(1, 9));
}

#[test]
fn copyback_keeps_errors_and_its_form_with_data_change_corrects_them() {
    let bench = rich();
    bench.fill(0, 1);
    let lun = bench.lun(0, 0);
    let [from, blind, seen] = [2, 4, 6].map(|block| bench.row(block, 0));
    bench.run(async move || {
        program_page(&lun, from, BufferId(0)).await.unwrap();
    });
    let bits = [3, 300 * 8, 301 * 8];
    assert!(bench.inspect.flip_bits(LunIndex(0), BlockAddr(2), PageInBlock(0), &bits));
    let (lun, dram) = (bench.lun(0, 0), bench.dram.clone());
    bench.run(async move || {
        assert!(!copyback(&lun, from, blind).await.unwrap().fail());
        let whole = SectorRange::whole(4);
        assert_eq!(read_page(&lun, blind, whole, BufferId(8)).await.unwrap().corrected, 3);
        let (report, status) = copyback_changed(&lun, from, seen, BufferId(9), |report| {
            dram.borrow_mut().page_mut(BufferId(9))[0] ^= 0xff;
            report.failed_sectors == 0
        })
        .await
        .unwrap();
        assert!(report.corrected == 3 && !status.unwrap().fail());
        assert_eq!(read_page(&lun, seen, whole, BufferId(10)).await.unwrap().corrected, 0);
        let untouched = copyback_changed(&lun, from, seen, BufferId(11), |_| false).await.unwrap();
        assert_eq!(untouched.1, None);
    });
    assert!(bench.same(0, 8) && bench.same(9, 10));
    let memory = bench.dram.borrow();
    let (was, is) = (memory.page(BufferId(0)), memory.page(BufferId(10)));
    assert!(was[0] ^ 0xff == is[0] && was[1..] == is[1..]);
}

#[test]
fn a_retry_finds_the_level_that_an_aged_page_needs() {
    let bench = Bench::with(TWO_PLANES, Content::Full, Placement::Spare, FAST, |nand, flash| {
        make(nand, flash);
        // 1.6 errors per chunk of 277 bytes at the best level, cosh(40/12) = 14 times as many 40 mV away.
        nand.errors =
            ErrorModel { fresh: 7e-4, retention_shift_mv: 11.6, level_width_mv: 12.0, ..ErrorModel::NONE };
    });
    bench.bring_up(0);
    bench.fill(0, 1);
    let (lun, row) = (bench.lun(0, 0), bench.row(2, 0));
    let whole = SectorRange::whole(4);
    let (fresh, level) = bench.run(async move || {
        program_page(&lun, row, BufferId(0)).await.unwrap();
        read_with_retry(&lun, row, whole, BufferId(8)).await.unwrap()
    });
    assert_eq!((fresh.failed_sectors, level), (0, 0));
    // ln(1001) · 11.6 mV = 80 mV: row 2 of the table.
    bench.inspect.set_age_hours(1_000).unwrap();
    let lun = bench.lun(0, 0);
    bench.run(async move || {
        assert_ne!(read_page(&lun, row, whole, BufferId(9)).await.unwrap().failed_sectors, 0);
        let (report, level) = read_with_retry(&lun, row, whole, BufferId(10)).await.unwrap();
        assert_eq!((report.failed_sectors, level), (0, 2));
        assert_eq!(get_features(&lun, 0x89).await.unwrap(), 0, "the level is set back");
        let error = set_read_level(&lun, 4).await.unwrap_err();
        assert!(matches!(error, FlashError::Unsupported { operation: "set read level", .. }), "{error}");
    });
    assert!(bench.same(0, 10));
}

#[test]
fn resets_identification_termination_and_calibration_work() {
    let bench = rich();
    let scratch = bench.dram.borrow().metadata_buffer(0);
    let (lun, row) = (bench.lun(0, 0), bench.row(4, 0));
    bench.run(async move || {
        start_erase(&lun, row).await.unwrap();
        assert!(!reset_lun(&lun, row).await.unwrap().fail());
        start_erase(&lun, row).await.unwrap();
        assert!(!synchronous_reset(&lun).await.unwrap().fail());
        assert_eq!(read_id(&lun, 0x20, 4).await.unwrap(), 0x49_46_4e_4f, "still in NV-DDR2");
        read_unique_id(&lun, scratch).await.unwrap();
        odt_configure(&lun, 0, 0x0243_0001).await.unwrap();
        for long in [true, false] {
            assert!(!zq_calibration(&lun, 0, long).await.unwrap().fail());
        }
    });
    let memory = bench.dram.borrow();
    let id = &memory.page(scratch)[..32];
    assert!(id[..16].iter().zip(&id[16..]).all(|(a, b)| a ^ b == 0xff), "{id:02x?}");
    assert_eq!(bench.engine.packages()[0].termination(0), Some([0x01, 0x00, 0x43, 0x02]));
    assert!(bench.inspect.block(LunIndex(0), BlockAddr(4)).torn);
}

#[test]
fn what_a_package_lacks_is_refused_before_the_bus() {
    let bench = Bench::new(TWO_PLANES, Content::Full, Placement::Spare);
    bench.bring_up(0);
    let seen = bench.watch();
    let lun = bench.lun(0, 0);
    let page = target(&bench, 2, 0, 0);
    let pages = [page, target(&bench, 3, 0, 1)];
    let names = bench.run(async move || {
        let mut found = [FrameReport::default(); 2];
        let mut failed = [false; 2];
        let refused = |result: Result<(), FlashError>| match result {
            Err(FlashError::Unsupported { operation, at }) if at > Instant::ZERO => operation,
            other => panic!("{other:?}"),
        };
        vec![
            refused(read_cache_sequential(&lun, &pages, &mut found).await),
            refused(read_cache_random(&lun, &pages, &mut found).await),
            refused(read_planes(&lun, &pages, &mut found).await),
            refused(program_cache(&lun, &pages, &mut failed).await),
            refused(program_planes(&lun, &pages, &mut failed).await),
            refused(erase_planes(&lun, &pages, &mut failed).await),
            refused(program_one_shot(&lun, [page; 3]).await.map(drop)),
            refused(slc_read(&lun, page.row, page.sectors, page.buffer).await.map(drop)),
            refused(slc_program(&lun, page.row, page.buffer).await.map(drop)),
            refused(slc_erase(&lun, page.row).await.map(drop)),
            refused(suspend_erase(&lun, page.row, Instant::ZERO).await.map(drop)),
            refused(resume_program(&lun, page.row, Duration::ZERO).await.map(drop)),
            refused(erase_with_read(&lun, page.row, Duration::ZERO, &page).await.map(drop)),
            refused(copyback(&lun, page.row, page.row).await.map(drop)),
            refused(set_read_level(&lun, 1).await),
            refused(reset_lun(&lun, page.row).await.map(drop)),
            refused(odt_configure(&lun, 0, 0).await),
            refused(zq_calibration(&lun, 0, true).await.map(drop)),
        ]
    });
    assert!(seen.borrow().is_empty(), "nothing was sent");
    assert_eq!(names[0], "read cache sequential");
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 14, "{names:?}");
}

#[test]
fn a_package_that_is_another_s_is_refused_at_boot() {
    let bench = Bench::with(GEOMETRY, Content::Full, Placement::Spare, FAST, |nand, flash| {
        make(nand, flash);
        nand.identity.id = [0x98, 0x3a, 1, 2, 3, 4];
    });
    let (lun, dram) = (bench.lun(0, 0), bench.dram.clone());
    let error = bench.run(async move || {
        let scratch = dram.borrow().metadata_buffer(0);
        let error = boot::bring_up(&lun, &dram, scratch).await.unwrap_err();
        read_status(&lun, RowAddr(0)).await.expect("the channel is usable");
        error
    });
    let boot::BootError::UnknownPackage { found, at, .. } = error else { panic!("{error}") };
    assert_eq!(found, [0x98, 0x3a, 1, 2, 3, 4]);
    assert!(at > Instant::ZERO);
    assert!(std::format!("{error}").starts_with("transaction 'read id' at "), "{error}");
}

#[test]
fn a_length_over_the_page_names_transaction_and_time_and_the_channel_stays_usable() {
    let bench = rich();
    let (lun, row) = (bench.lun(0, 0), bench.row(2, 0));
    bench.run(async move || {
        let over = 16_384 + 1_664 + 2;
        let error = read_raw(&lun, row, Column(0), over, BufferId(0), 0).await.unwrap_err();
        let FlashError::Transaction(fault) = error else { panic!("{error}") };
        assert_eq!((fault.name, fault.error), ("read raw", TxnError::Length { bytes: over }));
        assert!(fault.at > Instant::ZERO);
        // The burst fits a page, but not from this column on.
        let error = read_raw(&lun, row, Column(16_384), 1_666, BufferId(0), 0).await.unwrap_err();
        let FlashError::Transaction(fault) = error else { panic!("{error}") };
        let past = ProtocolError::Length { available: 1_664, requested: 1_666 };
        assert_eq!((fault.name, fault.error), ("read raw", TxnError::Protocol(past)));
        read_page(&lun, row, SectorRange::whole(4), BufferId(0)).await.expect("the channel is usable");
    });
}

#[test]
fn a_lun_that_never_ends_a_cached_program_is_given_up_with_its_transaction() {
    let bench = rich();
    bench.inspect.force_busy(LunIndex(0), true);
    let lun = bench.lun(0, 0);
    let pages = [target(&bench, 2, 0, 0), target(&bench, 2, 1, 0)];
    let error = bench.run(async move || program_cache(&lun, &pages, &mut [false; 2]).await.unwrap_err());
    let FlashError::NeverReady { transaction: "program cache", row, at } = error else { panic!("{error}") };
    assert_eq!(row, bench.row(2, 0));
    assert!(at > Instant::ZERO);
    bench.inspect.force_busy(LunIndex(0), false);
    let (lun, row) = (bench.lun(0, 0), bench.row(4, 0));
    bench.run(async move || {
        reset_lun(&lun, row).await.unwrap();
        assert!(!erase_block(&lun, row).await.unwrap().fail());
    });
}
