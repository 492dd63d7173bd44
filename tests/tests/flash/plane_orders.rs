//! Drives whose planes are allocated one by one, in one of 24 orders (`ftl.placement`).

use aster_device::Media;
use aster_device::profile::Profile;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, cases, config, drive, job, machine, profile, run, versioned};
use aster_units::{Content, Lpn};
use aster_workload::{Access, Job, Mix};

fn ordered(name: &str, order: &str) -> Profile {
    profile(name, |p| {
        as_in_papers(p);
        p.geometry.blocks_per_lun = 64;
        p.ftl.over_provisioning_percent = 100.0;
        p.ftl.placement = Some(order.to_owned());
    })
}

/// S21: under each flash scheduler, with failures of blocks, over losses of power and a shutdown.
#[test]
fn what_was_flushed_is_there_whichever_order_planes_are_allocated_in() {
    for (name, order, content) in [
        ("tiny", "cwdp", Content::Full),
        ("softssd-small", "pdwc", Content::Full),
        ("tiny", "dpcw", Content::Fingerprint),
    ] {
        let profile = ordered(name, order);
        let (mut media, mut kept) = (Media::fresh(), None);
        for round in 0..cases(3, 20) {
            let m = machine(&profile, Some(content), media, &Recorder::default());
            let contents = kept.take().unwrap_or_else(|| versioned(&m));
            let all = drive(&m).bytes;
            let work = |name, mix, block, requests| Job {
                seed: round,
                ..job(name, Access::Random, mix, block, requests)
            };
            let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, all.div_ceil(64 << 10));
            let write = work("write", Mix::Write, 16 << 10, all / (16 << 10) / 2);
            let trim = work("trim", Mix::Trim, 64 << 10, 20);
            // The last command is a flush: everything before it must be there.
            let flush = Job { flush_every: 1, ..work("flush", Mix::Write, 16 << 10, 1) };
            kept = Some(run(&m, &[read, write, trim, flush], contents));
            let stats = m.device().stats().ftl;
            assert_eq!(format!("{:?}", stats.state), "Ready");
            media = if round % 2 == 0 { m.cut_power() } else { m.shut_down().unwrap() };
        }
    }
}

/// S21, S28: channel, way, die and plane of consecutive pages, and that an image is of its order.
#[test]
fn consecutive_pages_go_through_the_array_in_the_order_of_the_profile() {
    let profile = ordered("tiny", "pwcd");
    let m = machine(&profile, Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
    let fill = job("fill", Access::Sequential, Mix::Write, 16 << 10, 64);
    let flush = Job { flush_every: 1, ..job("flush", Access::Sequential, Mix::Write, 16 << 10, 1) };
    run(&m, &[fill, flush], versioned(&m));
    let g = *m.device().geometry();
    for page in 0..64_u32 {
        let at = g.location(m.device().translation().location_of(Lpn(page)).expect("it was written"));
        let found = [
            g.plane(at.block).into(),
            u32::from(at.lun.way),
            u32::from(at.lun.channel),
            u32::from(at.lun.lun),
        ];
        assert_eq!(found, [page % 2, page / 2 % 2, page / 4 % 2, page / 8 % 2], "page {page}");
    }
    let media = m.shut_down().unwrap();
    let (other, content) = (ordered("tiny", "wpcd"), Some(Content::Fingerprint));
    let m = Machine::power_on("test", &other, content, media, &Recorder::default(), config(&other)).unwrap();
    let refusal = m.boot().unwrap_err().to_string();
    assert!(refusal.contains("another geometry, capacity, placement or content"), "{refusal}");
}
