//! The shipped packages on a bench: each boots with the identity in its file, and serves I3 requests with
//! its own commands.

use aster_device::profile::{PACKAGES, Profile};
use aster_device::units::{BlockAddr, BufferId, Content, LunIndex, PageInBlock, Rng, SectorRange};
use aster_events::Recorder;
use aster_ports::flash::{Flags, FlashOp, FlashRequest, FlashStatus, Target};
use aster_run_bench::Bench;
use std::cell::RefCell;
use std::rc::Rc;

/// The tiny profile on another package.
fn on(part: &str) -> Profile {
    let tiny = include_str!("../../../profiles/tiny.toml");
    let (head, rest) = tiny.split_once("[geometry]").expect("a table");
    let (_, rest) = rest.split_once("[channel]").expect("a table");
    let text = format!("{head}[geometry]\nchannels = 1\n[package]\npart = \"{part}\"\n[channel]{rest}");
    Profile::parse(part, &text).unwrap_or_else(|e| panic!("{e}"))
}

fn fill(bench: &Bench, buffer: BufferId, salt: u64) {
    let mut dram = bench.dram().borrow_mut();
    let (page, oob) = dram.page_and_oob_mut(buffer);
    let mut rng = Rng::new(salt);
    page.iter_mut().chain(oob).for_each(|byte| *byte = rng.next_u64() as u8);
}

fn same(bench: &Bench, a: BufferId, b: BufferId) -> bool {
    let dram = bench.dram().borrow();
    dram.page_and_oob(a) == dram.page_and_oob(b)
}

#[test]
fn each_package_boots_and_answers_with_planes_and_slc_where_it_has_them() {
    for (part, _) in PACKAGES {
        let profile = on(part);
        let bench =
            Bench::power_on(&profile, profile.geometry.luns, 16, Some(Content::Full), &Recorder::default())
                .unwrap_or_else(|e| panic!("{part}: {e}"));
        let bench = Rc::new(bench);
        let (planes, slc) = (u32::from(bench.geometry().planes), profile.package.slc.is_some());
        let statuses = Rc::new(RefCell::new(Vec::new()));
        (0..planes).for_each(|plane| fill(&bench, BufferId(plane), u64::from(plane)));
        let (b, s) = (Rc::clone(&bench), Rc::clone(&statuses));
        bench.exec().spawn(async move {
            let call = async |phase, block: u32, buffer: u32, slc| {
                let targets: Vec<_> = (0..planes)
                    .map(|plane| Target {
                        row: b.geometry().row(0, BlockAddr(block + plane), PageInBlock(0)),
                        sectors: SectorRange::whole(b.geometry().sectors_per_page()),
                        buffer: BufferId(buffer + plane),
                    })
                    .collect();
                let mut request = FlashRequest::vector(phase, LunIndex(0), &targets).expect("a request");
                request.flags = Flags { slc, ..Flags::default() };
                let outcomes = b.requests().call(request).await;
                s.borrow_mut().extend(outcomes.iter().take(targets.len()).map(|o| o.status));
            };
            for (phase, block, buffer) in
                [(FlashOp::Erase, 2, 0), (FlashOp::Program, 2, 0), (FlashOp::Read, 2, 4)]
            {
                call(phase, block, buffer, false).await;
            }
            for (phase, block, buffer) in
                [(FlashOp::Erase, 4, 0), (FlashOp::Program, 4, 0), (FlashOp::Read, 4, 8)]
            {
                call(phase, block, buffer, true).await;
            }
        });
        while let Some(next) = bench.exec().next_deadline() {
            bench.exec().advance_to(next);
        }
        let per_mode = 3 * planes as usize;
        let statuses = statuses.borrow();
        let (plain, as_slc) = statuses.split_at(per_mode);
        assert_eq!(plain, vec![FlashStatus::Done; per_mode], "{part}: {:?}", bench.requests().faults());
        let want = if slc { FlashStatus::Done } else { FlashStatus::Error };
        assert_eq!(as_slc, vec![want; per_mode], "{part}: {:?}", bench.requests().faults());
        for plane in 0..planes {
            assert!(same(&bench, BufferId(plane), BufferId(4 + plane)), "{part}");
            assert!(!slc || same(&bench, BufferId(plane), BufferId(8 + plane)), "{part} as SLC");
        }
        bench.exec().shut_down();
    }
}
