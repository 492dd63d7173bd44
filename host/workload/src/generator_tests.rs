use super::*;
use crate::{Drive, Extent, Job, PerDirection};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;
const DRIVE: Drive = Drive { bytes: 4 * MIB, block_bytes: 512, streams: 0 };

fn plan(job: &Job) -> Plan {
    job.plans(DRIVE, 0).unwrap().remove(0)
}

fn all(source: &mut impl Source<Error = Infallible>) -> Vec<Request> {
    core::iter::from_fn(|| source.next_request().unwrap_or_else(|never| match never {})).collect()
}

fn requests(job: &Job) -> Vec<Request> {
    all(&mut Generator::new(&plan(job)))
}

#[test]
fn a_sequential_job_reads_its_region_once_in_order() {
    let job = Job { offset: Extent::Bytes(MIB), size: Some(Extent::Percent(25)), ..Job::default() };
    let got = requests(&job);
    assert_eq!(got.len(), 256);
    for (i, r) in got.iter().enumerate() {
        assert_eq!((r.kind, r.offset, r.length), (RequestKind::Read, MIB + 4096 * i as u64, 4096));
    }
}

#[test]
fn a_percentage_of_io_size_is_of_the_region_and_not_of_the_drive() {
    let half = Some(Extent::Percent(50));
    let got = requests(&Job { size: Some(Extent::Bytes(MIB)), io_size: half, ..Job::default() });
    assert_eq!(got.len(), 128);
    assert_eq!(got.last().map(|r| r.offset + u64::from(r.length)), Some(MIB / 2));
}

#[test]
fn a_random_map_covers_every_block_once_a_loop_in_another_order() {
    let job = Job { access: Access::Random, mix: Mix::Write, loops: 2, ..Job::default() };
    let got = requests(&job);
    assert_eq!(got.len(), 2048);
    for pass in got.chunks(1024) {
        let mut offsets: Vec<u64> = pass.iter().map(|r| r.offset / 4096).collect();
        offsets.sort_unstable();
        assert_eq!(offsets, (0..1024).collect::<Vec<_>>());
    }
    assert_ne!(got[..1024], got[1024..]);
}

#[test]
fn without_a_map_blocks_repeat() {
    let got = requests(&Job { access: Access::Random, random_map: false, ..Job::default() });
    let mut hits = BTreeMap::new();
    for r in &got {
        *hits.entry(r.offset).or_insert(0) += 1;
    }
    // n uniform draws out of n miss about 1/e of them.
    assert!((600..700).contains(&hits.len()), "{}", hits.len());
}

#[test]
fn a_mix_keeps_its_percentage() {
    let job =
        Job { access: Access::Random, mix: Mix::ReadWrite, read_percent: 70, loops: 10, ..Job::default() };
    let got = requests(&job);
    let reads = got.iter().filter(|r| r.kind == RequestKind::Read).count();
    assert!((6_900..7_450).contains(&reads), "{reads} of {}", got.len());
}

#[test]
fn zipf_has_hot_blocks() {
    let job =
        Job { access: Access::Random, distribution: Distribution::Zipf(1.1), loops: 10, ..Job::default() };
    let mut hits = vec![0u32; 1024];
    for r in requests(&job) {
        hits[(r.offset / 4096) as usize] += 1;
    }
    hits.sort_unstable_by(|a, b| b.cmp(a));
    assert!(hits[0] > 1_500 && hits[512] < 10, "{hits:?}");
}

#[test]
fn splits_keep_their_shares() {
    let split = BlockSizes::Split(vec![(4096, 25), (16_384, 75)]);
    let job = Job { block_sizes: PerDirection::all(split), loops: 40, ..Job::default() };
    let got = requests(&job);
    let small = got.iter().filter(|r| r.length == 4096).count() * 100 / got.len();
    assert!((23..=27).contains(&small), "{small} %");
}

#[test]
fn each_block_is_trimmed_then_written() {
    let got = requests(&Job { access: Access::Random, mix: Mix::TrimWrite, ..Job::default() });
    assert_eq!(got.len(), 2048);
    for pair in got.chunks(2) {
        assert_eq!((pair[0].kind, pair[1].kind), (RequestKind::Trim, RequestKind::Write));
        assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length));
    }
}

#[test]
fn writes_can_be_zeroes_or_forced_and_flushes_fall_between_them() {
    let job = Job {
        mix: Mix::Write,
        write_zeroes: true,
        fua: true,
        flush_every: 2,
        number_ios: Some(4),
        ..Job::default()
    };
    let got: Vec<_> = requests(&job).iter().map(|r| (r.kind, r.fua)).collect();
    let (zeroes, flush) = ((RequestKind::WriteZeroes, true), (RequestKind::Flush, false));
    assert_eq!(got, [zeroes, zeroes, flush, zeroes, zeroes, flush]);
    assert!(
        requests(&Job { fua: true, number_ios: Some(4), ..Job::default() }).iter().all(|r| !r.fua),
        "reads"
    );
}

#[test]
fn copies_stand_side_by_side_and_draw_differently() {
    let job = Job {
        access: Access::Random,
        copies: 4,
        size: Some(Extent::Bytes(MIB)),
        offset_increment: Extent::Percent(25),
        ..Job::default()
    };
    let plans = job.plans(DRIVE, 0).unwrap();
    let first: Vec<u64> = plans.iter().map(|p| all(&mut Generator::new(p))[0].offset - p.start).collect();
    assert_eq!(plans.iter().map(|p| p.start).collect::<Vec<_>>(), [0, MIB, 2 * MIB, 3 * MIB]);
    assert!(first.iter().any(|f| *f != first[0]));
}

#[test]
fn only_an_unrepeatable_job_heeds_the_seed_of_the_run() {
    let seeds = |repeatable| {
        let job = Job { repeatable, ..Job::default() };
        [0, 1].map(|run| job.plans(DRIVE, run).unwrap()[0].seed)
    };
    let ([a, b], [c, d]) = (seeds(true), seeds(false));
    assert!(a == b && c != d);
}

#[test]
fn written_blocks_are_the_writes_in_their_order() {
    let job = Job { access: Access::Random, mix: Mix::ReadWrite, flush_every: 5, ..Job::default() };
    let mut generator = Generator::new(&plan(&job));
    let mut written = Vec::new();
    for _ in 0..700 {
        let Ok(Some(r)) = generator.next_request() else { panic!("too short") };
        if r.kind == RequestKind::Write {
            written.push(r.offset);
        }
    }
    let back = all(&mut WrittenBlocks::new(&plan(&job), &generator));
    assert!(back.iter().all(|r| r.kind == RequestKind::Read));
    assert_eq!(back.iter().map(|r| r.offset).collect::<Vec<_>>(), written);
}

/// The requests in one second of a job with both rates, for a drive that completes at once.
fn of_a_second(lines: &str) -> (Generator, Plan, Vec<Request>) {
    let job = crate::fio::parse(&in_a_section(lines)).unwrap().remove(0);
    let plan = plan(&job);
    let mut issuer = crate::Issuer::new(Generator::new(&plan), plan.pace());
    let (mut now, mut got) = (Duration::ZERO, Vec::new());
    while now < Duration::from_secs(1) {
        let Ok(step) = issuer.step(now);
        match step {
            crate::IssueStep::Issue(request) => {
                got.push(request);
                // A direction without a rate would never stop.
                now += Duration::from_micros(100);
                issuer.completed(now);
            }
            crate::IssueStep::WaitUntil(at) => now = at,
            other => panic!("{other:?}"),
        }
    }
    (issuer.source().clone(), plan, got)
}

fn bytes_of(all: &[Request], kind: RequestKind) -> u64 {
    all.iter().filter(|r| r.kind == kind).map(|r| u64::from(r.length)).sum()
}

#[test]
fn each_direction_of_a_mix_keeps_to_its_own_rate() {
    for (rates, read, write) in [
        ("rate=20m,5m", 20 * MIB, 5 * MIB),
        ("rate=5m,20m", 5 * MIB, 20 * MIB),
        ("rwmixread=10\nrate=20m,5m", 20 * MIB, 5 * MIB),
        ("rate_iops=100,1000", 100 * 4096, 1000 * 4096),
    ] {
        let (_, _, got) = of_a_second(&alloc::format!("rw=randrw\n{rates}"));
        for (kind, wanted) in [(RequestKind::Read, read), (RequestKind::Write, write)] {
            let bytes = bytes_of(&got, kind);
            assert!((wanted..wanted + 3 * 4096).contains(&bytes), "{rates}: {kind:?} {bytes} of {wanted}");
        }
    }
    // A direction without a rate continues while the other waits: 10,000 requests fit into the second.
    let (_, _, got) = of_a_second("rw=randrw\nrate_iops=100,0");
    assert_eq!(got.iter().filter(|r| r.kind == RequestKind::Read).count(), 100);
    assert!(got.len() > 9_900, "{}", got.len());
    // A drive that falls behind both rates sees the percentage.
    let (_, _, got) = of_a_second("rw=randrw\nrwmixread=80\nrate_iops=100000,50000");
    let reads = got.iter().filter(|r| r.kind == RequestKind::Read).count() * 100 / got.len();
    assert!((78..=82).contains(&reads), "{reads} %");
}

#[test]
fn what_a_rated_mix_wrote_is_what_is_read_back() {
    let (generator, plan, got) = of_a_second("rw=randrw\nrate=20m,5m\nverify=crc32c");
    let written: Vec<_> = got.iter().filter(|r| r.kind == RequestKind::Write).map(|r| r.offset).collect();
    let back: Vec<_> = all(&mut WrittenBlocks::new(&plan, &generator)).iter().map(|r| r.offset).collect();
    // The generator had returned one more request, whose time had not come.
    assert!(written.len() > 1000 && back.len() <= written.len() + 1);
    assert!(back[..written.len()] == written[..], "other blocks are read back");
}

#[test]
fn what_does_not_fit_the_drive_is_refused_by_name() {
    let option = |job: Job| job.plans(DRIVE, 0).unwrap_err().option;
    assert_eq!(
        option(Job { block_sizes: PerDirection::all(BlockSizes::Fixed(1000)), ..Job::default() }),
        "bs"
    );
    assert_eq!(option(Job { block_align: Some(PerDirection::all(100)), ..Job::default() }), "blockalign");
    assert_eq!(option(Job { size: Some(Extent::Bytes(5 * MIB)), ..Job::default() }), "size");
    assert_eq!(option(Job { size: Some(Extent::Bytes(2048)), ..Job::default() }), "size");
    assert_eq!(option(Job { offset: Extent::Bytes(4 * MIB), ..Job::default() }), "offset");
    assert_eq!(option(Job { offset: Extent::Bytes(100), ..Job::default() }), "offset");
    assert_eq!(option(Job { offset_increment: Extent::Bytes(100), ..Job::default() }), "offset_increment");
    assert_eq!(option(Job { io_size: Some(Extent::Bytes(0)), ..Job::default() }), "io_size");
}

fn any_sizes() -> impl Strategy<Value = BlockSizes> {
    prop_oneof![
        (1u32..40).prop_map(|n| BlockSizes::Fixed(n * 512)),
        (1u32..8, 1u32..8).prop_map(|(n, k)| BlockSizes::Range { min: n * 512, max: n * k * 512 }),
        (1u32..40, 1u32..40, 0u8..=100)
            .prop_map(|(a, b, p)| BlockSizes::Split(vec![(a * 512, p), (b * 512, 100 - p)])),
    ]
}

proptest! {
    #[test]
    fn requests_stay_inside_the_region_and_on_block_boundaries(
        (read, write) in (any_sizes(), any_sizes()),
        random: bool,
        random_map: bool,
        align in proptest::option::of(1u32..20),
        skew in 0u8..3,
        mix in prop_oneof![Just(Mix::Read), Just(Mix::Write), Just(Mix::ReadWrite), Just(Mix::TrimWrite)],
        offset in 0u64..1000,
        blocks in 40u64..5000,
        seed: u64,
    ) {
        let job = Job {
            access: if random { Access::Random } else { Access::Sequential },
            mix,
            block_sizes: PerDirection { read, write, trim: BlockSizes::Fixed(512) },
            block_align: align.map(|n| PerDirection::all(n * 512)),
            random_map,
            distribution: [Distribution::Uniform, Distribution::Zipf(0.9),
                Distribution::Pareto(0.3)][usize::from(skew)].clone(),
            offset: Extent::Bytes(offset * 512),
            size: Some(Extent::Bytes(blocks * 512)),
            seed,
            ..Job::default()
        };
        let plan = plan(&job);
        let got = all(&mut Generator::new(&plan));
        let mut sum = 0;
        for r in &got {
            prop_assert!(r.offset >= plan.start && r.offset + u64::from(r.length) <= plan.end(), "{r:?}");
            prop_assert!(r.length > 0 && r.length % 512 == 0 && r.offset % 512 == 0);
            sum += if r.kind == RequestKind::Trim { 0 } else { u64::from(r.length) };
        }
        prop_assert!(sum >= plan.io_bytes);
        prop_assert_eq!(got, all(&mut Generator::new(&plan)));
    }
}

/// The requests of a fio job on a drive of 1 MiB of 4 KiB blocks.
fn of_fio(lines: &str) -> Vec<Request> {
    let job = crate::fio::parse(&in_a_section(lines)).unwrap().remove(0);
    let drive = crate::Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 };
    let mut generator = Generator::new(&job.plans(drive, 0).unwrap()[0]);
    core::iter::from_fn(|| generator.next_request().unwrap()).collect()
}

fn in_a_section(lines: &str) -> alloc::string::String {
    alloc::format!("[j]\nio_size=64m\n{lines}\n")
}

#[test]
fn zones_take_their_shares_of_requests_in_each_direction() {
    let share = |requests: &[Request], kind, below: u64| {
        let of: Vec<_> = requests.iter().filter(|r| r.kind == kind).collect();
        of.iter().filter(|r| r.offset < below).count() as f64 / of.len() as f64
    };
    let zoned = "random_distribution=zoned:90/10:10/90,50/50:50/50";
    for line in [zoned, "random_distribution=zoned_abs:90/100k:10/924k,50/512k:50/512k"] {
        let all = of_fio(&alloc::format!("rw=randrw\n{line}"));
        let (read, write) =
            (share(&all, RequestKind::Read, 100 << 10), share(&all, RequestKind::Write, 512 << 10));
        assert!((0.88..0.92).contains(&read), "{line}: {read} of the reads in the first tenth");
        assert!((0.48..0.52).contains(&write), "{line}: {write} of the writes in the first half");
    }
    // A region without a zone gets no requests; a direction without zones is uniform.
    let all = of_fio("rw=randrw\nrandom_distribution=zoned:100/25,");
    assert_eq!(share(&all, RequestKind::Read, 256 << 10), 1.0);
    assert!((0.22..0.28).contains(&share(&all, RequestKind::Write, 256 << 10)));
    let jobs = crate::fio::parse("[j]\nrw=randread\nrandom_distribution=zoned_abs:100/2m\n").unwrap();
    let refused =
        jobs[0].plans(crate::Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 }, 0).unwrap_err();
    assert_eq!(refused.option, "random_distribution");
}

#[test]
fn a_percentage_is_random_and_the_rest_goes_on_where_the_last_one_ended() {
    for (line, want) in
        [("percentage_random=0", 1.0), ("percentage_random=30", 0.7), ("percentage_random=100", 0.0)]
    {
        let all = of_fio(&alloc::format!("rw=randread\nnorandommap\n{line}"));
        let goes_on = all.windows(2).filter(|w| w[1].offset == (w[0].offset + 4096) % (1 << 20)).count();
        let share = goes_on as f64 / (all.len() - 1) as f64;
        assert!(libm::fabs(share - want) < 0.02, "{line}: {share}");
    }
    let all = of_fio("rw=randrw\nnorandommap\npercentage_random=100,0");
    let writes: Vec<_> = all.iter().filter(|r| r.kind == RequestKind::Write).collect();
    assert!(
        writes.windows(2).all(|w| w[1].offset == (w[0].offset + 4096) % (1 << 20)),
        "each direction by itself"
    );
}

fn offsets_in_blocks(lines: &str, count: usize) -> Vec<u64> {
    let job = crate::fio::parse(&in_a_section(lines)).unwrap().remove(0);
    let plan = job.plans(Drive { bytes: 64 << 12, block_bytes: 4096, streams: 0 }, 0).unwrap().remove(0);
    let mut generator = Generator::new(&plan);
    let next = || generator.next_request().unwrap().map(|request| request.offset >> 12);
    core::iter::from_fn(next).take(count).collect()
}

#[test]
fn gaps_are_left_out_and_the_ends_of_the_region_join() {
    assert_eq!(offsets_in_blocks("rw=write:4k\nsize=32k", 9), [0, 2, 4, 6, 0, 2, 4, 6, 0]);
    assert_eq!(offsets_in_blocks("rw=write:8k\nsize=32k", 4), [0, 3, 6, 0]);
    assert_eq!(offsets_in_blocks("rw=read:-8k\nsize=32k\noffset=16k", 9), [10, 9, 8, 7, 6, 5, 4, 10, 9]);
    assert_eq!(offsets_in_blocks("rw=read:-8k\nsize=32k", 4), [0, 6, 5, 4]);
    assert_eq!(offsets_in_blocks("rw=read:64m\nsize=32k", 3), [0, 0, 0]);
    assert_eq!(offsets_in_blocks("rw=read:-64m\nsize=32k", 3), [0, 0, 0]);
}

#[test]
fn every_nth_offset_is_random_and_those_between_go_on_or_stay() {
    let goes_on = offsets_in_blocks("rw=randread:4\nnorandommap", 64);
    assert_eq!(goes_on[..3], [0, 1, 2]);
    let is_random = |at: &usize| (goes_on[*at - 1] + 1) % 64 != goes_on[*at];
    let random: Vec<_> = (1..64).filter(is_random).collect();
    assert!(random.iter().all(|at| at % 4 == 3) && random.len() > 12, "{random:?}");
    let stays = offsets_in_blocks("rw=randread:4\nnorandommap\nrw_sequencer=identical", 64);
    assert!(stays[3..].chunks(4).all(|four| four.iter().all(|&offset| offset == four[0])), "{stays:?}");
    assert!(stays[3..].chunks(4).map(|four| four[0]).collect::<alloc::collections::BTreeSet<_>>().len() > 8);
    let plain = offsets_in_blocks("rw=randread\nnorandommap", 64);
    assert_eq!(offsets_in_blocks("rw=randread:1\nnorandommap", 64), plain);
}
