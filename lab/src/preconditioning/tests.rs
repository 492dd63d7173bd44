use super::*;
use crate::own::{self, Moment, OwnWork, Setup};
use aster_device::{Media, Pieces};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::{Duration, Lpn};
use std::collections::BTreeMap;

#[test]
fn a_preconditioning_is_read_back_from_its_words_and_refused_by_them() {
    for text in ["0", "300", "steady", "steady:zipf:1.1", "steady:zoned:90/10:10/90"] {
        assert_eq!(text.parse::<Preconditioning>().unwrap().to_string(), text);
    }
    for text in ["10001", "-1", "steadily", "steady,zipf", ""] {
        let error = text.parse::<Preconditioning>().unwrap_err();
        assert!(error.contains("0 to 10000, \"steady\""), "{text}: {error}");
    }
    let error = "steady:zopf:2".parse::<Preconditioning>().unwrap_err();
    assert!(error.contains("random_distribution") && error.contains("zopf"), "{error}");
}

/// A run's first writes are of other versions, so stale data are never taken for them.
#[test]
fn content_carries_its_address_and_says_whether_it_is_stale() {
    let profile = aster_device::profile::shipped("tiny").unwrap();
    let drive = Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 };
    let mut tags = Steady::default().history(&profile, drive, Content::Fingerprint, 3).unwrap();
    let mut page = [0; 16];
    tags.content(8192, true, &mut page);
    let split = |at: usize| content::split_tag(u64::from_le_bytes(page[at..at + 8].try_into().unwrap()));
    assert_eq!((split(0), split(8)), ((2, CURRENT), (3, CURRENT)));
    let drive = Drive { block_bytes: 512, ..drive };
    let mut bytes = Steady::default().history(&profile, drive, Content::Full, 3).unwrap();
    let mut page = vec![0; 1024];
    bytes.content(4096, false, &mut page);
    assert_eq!(content::version_of(&page[512..], 9, 3), Ok(STALE));
    for _ in 0..1000 {
        let (at, length) = bytes.next_write();
        assert!(at.is_multiple_of(4096) && at + u64::from(length) <= drive.bytes);
    }
}

/// Valid units of each block that has any, in shares of a block, ascending.
fn valid_shares(machine: &Machine, units_per_page: u32) -> Vec<f64> {
    let (device, mut blocks) = (machine.device(), BTreeMap::<u32, u32>::new());
    let pages = u32::from(device.geometry().pages_per_block);
    let units = device.translation().counter("host_units").unwrap() as u32;
    for unit in (0..units).map(Lpn) {
        let page = device.translation().location_of(unit).expect("all of the drive is mapped");
        *blocks.entry(page.0 / pages).or_default() += 1;
    }
    let whole = f64::from(pages * units_per_page);
    let mut shares: Vec<f64> = blocks.into_values().map(|units| f64::from(units) / whole).collect();
    shares.sort_by(f64::total_cmp);
    shares
}

/// The greatest distance between two cumulative distributions (Kolmogorov–Smirnov).
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let below = |of: &[f64], at: f64| of.partition_point(|&x| x <= at) as f64 / of.len() as f64;
    a.iter().chain(b).map(|&at| (below(a, at) - below(b, at)).abs()).fold(0.0, f64::max)
}

/// What the drives have that don't say otherwise.
const IN_PAGES: [&str; 3] =
    ["ftl.mapping_unit_bytes=0", "ftl.placement=channel-first", "ftl.collection=on-demand"];

/// A drive that is compared with itself.
struct Compared {
    overrides: &'static [&'static str],
    distribution: Option<&'static str>,
    units_per_page: u32,
    /// The distance that the long test has measured, and a quarter of it.
    most: f64,
    /// By what part the two WAFs may differ in the long test.
    waf_within: f64,
}

impl Compared {
    fn setup(&self, blocks: u32, precondition: Option<Preconditioning>, seed: u64) -> Setup {
        let blocks = format!("geometry.blocks_per_lun={blocks}");
        let set: Vec<String> =
            IN_PAGES.iter().chain(self.overrides).copied().chain([&blocks[..]]).map(str::to_owned).collect();
        let profile = crate::asked::profiles::find(std::path::Path::new("tiny"), &set).unwrap().profile;
        let content = Some(Content::Fingerprint);
        Setup { content, precondition, seed, ..Setup::new("tiny", profile) }
    }
    /// The distribution after the drive was overwritten `passes` times by real writes or at once, and what
    /// the next pass costs.
    fn measure(&self, blocks: u32, passes: Option<u32>, seed: u64) -> (Vec<f64>, f64) {
        let distribution = self.distribution.unwrap_or("random");
        let bytes = 16384 / self.units_per_page;
        let job = |name: &str, loops: u32| {
            format!(
                "[{name}]\nstonewall\nstartdelay=1\nrw=randwrite\nbs={bytes}\niodepth=32\nnorandommap\n\
                 randseed={seed}\nrandom_distribution={distribution}\nloops={loops}\n"
            )
        };
        let before = passes
            .map(|passes| format!("[fill]\nrw=write\nbs=128k\niodepth=32\n{}", job("overwrite", passes)));
        // A drive comes up with an empty data buffer, whose first writes cost nothing.
        let buffered = job("buffered", 1).replace("loops=1", "number_ios=2000");
        let steady = Steady { distribution: self.distribution.map(str::to_owned) };
        let precondition = before.is_none().then_some(Preconditioning::Steady(steady));
        let setup = self.setup(blocks, precondition, seed);
        let mut shares = Vec::new();
        let run = |text: &str, look: &mut dyn FnMut(&Machine, Moment)| {
            let work = OwnWork::jobs("j", text, false).unwrap();
            let (media, recorder) = (Media::fresh(), Recorder::default());
            own::run_on(&setup, Pieces::default(), work, media, &recorder, look, &mut |_| true).unwrap()
        };
        let (report, machine) = run(
            &format!("{}{buffered}{}", before.as_deref().unwrap_or_default(), job("next", 1)),
            &mut |machine, moment| {
                if before.is_none() && moment == Moment::Booted {
                    shares = valid_shares(machine, self.units_per_page);
                }
            },
        );
        if before.is_some() {
            // As the other one: it has been left alone since.
            machine.idle(Duration::from_secs(1));
            shares = valid_shares(&machine, self.units_per_page);
        }
        let waf = report.tasks.last().unwrap().drive.as_ref().unwrap().waf.unwrap();
        (shares, waf)
    }
    /// Distance of the distributions, and the WAF of the long way and of the short one; means over `seeds`.
    fn compare(&self, blocks: u32, passes: u32, seeds: u64) -> Found {
        let all = |passes: Option<u32>| {
            let of_seed: Vec<_> = (1..=seeds).map(|seed| self.measure(blocks, passes, seed)).collect();
            let waf = of_seed.iter().map(|(_, waf)| waf / seeds as f64).sum();
            (of_seed.into_iter().map(|(shares, _)| shares).collect::<Vec<_>>(), waf)
        };
        let ((long, long_waf), (short, short_waf)) = (all(Some(passes)), all(None));
        let of = |drives: &[Vec<f64>]| {
            let mut shares = drives.concat();
            shares.sort_by(f64::total_cmp);
            shares
        };
        let (one, other) = long.split_at(long.len() / 2);
        // So many drives differ less than half as many do.
        let chance = distance(&of(one), &of(other)) / f64::sqrt(2.0);
        Found { distance: distance(&of(&long), &of(&short)), chance, long_waf, short_waf }
    }
}

/// What a comparison has found.
struct Found {
    distance: f64,
    /// How far drives that were overwritten by commands are from others of their kind, with other seeds; 0
    /// where there is one seed.
    chance: f64,
    long_waf: f64,
    short_waf: f64,
}

const COMPARED: [Compared; 5] = [
    Compared { overrides: &[], distribution: None, units_per_page: 1, most: 0.010, waf_within: 0.01 },
    Compared {
        overrides: &["ftl.victims=fifo"],
        distribution: None,
        units_per_page: 1,
        most: 0.007,
        waf_within: 0.01,
    },
    Compared {
        overrides: &["ftl.victims=cost-benefit"],
        distribution: Some("zipf:1.1"),
        units_per_page: 1,
        most: 0.032,
        waf_within: 0.05,
    },
    Compared {
        overrides: &["ftl.mapping_unit_bytes=4096"],
        distribution: None,
        units_per_page: 4,
        most: 0.029,
        waf_within: 0.01,
    },
    Compared {
        overrides: &["ftl.collection=paced", "ftl.victims=d-choices"],
        distribution: Some("zoned:90/10:10/90"),
        units_per_page: 1,
        most: 0.023,
        waf_within: 0.01,
    },
];

/// All LUNs as one pool.
const STRIPED: [Compared; 6] = [
    Compared {
        overrides: &["ftl.placement=striped"],
        distribution: None,
        units_per_page: 1,
        most: 0.0035,
        waf_within: 0.01,
    },
    Compared {
        overrides: &["ftl.placement=striped", "ftl.victims=cost-benefit"],
        distribution: Some("zipf:1.1"),
        units_per_page: 1,
        most: 0.035,
        waf_within: 0.01,
    },
    Compared {
        overrides: &["ftl.placement=striped", "ftl.collection=paced"],
        distribution: None,
        units_per_page: 1,
        most: 0.0045,
        waf_within: 0.01,
    },
    Compared {
        overrides: &["ftl.placement=striped", "ftl.mapping_unit_bytes=4096", "ftl.buffer_entries=256"],
        distribution: None,
        units_per_page: 4,
        most: 0.008,
        waf_within: 0.01,
    },
    Compared {
        overrides: &["ftl.placement=striped", "ftl.mapping_unit_bytes=4096", "ftl.collection=paced"],
        distribution: None,
        units_per_page: 4,
        most: 0.0096,
        waf_within: 0.01,
    },
    Compared {
        overrides: &[
            "ftl.placement=striped",
            "ftl.mapping_unit_bytes=4096",
            "ftl.collection=paced",
            "ftl.buffer_entries=256",
        ],
        distribution: Some("zipf:1.1"),
        units_per_page: 4,
        most: 0.012,
        waf_within: 0.01,
    },
];

/// Compares each, and fails with what is too far away. The bounds for few blocks are those of chance.
fn compare_all(all: &[Compared]) {
    let long = std::env::var_os("ASTER_LONG").is_some();
    let (blocks, passes, seeds) = if long { (192, 8, 12) } else { (96, 4, 1) };
    let mut wrong = Vec::new();
    for compared in all {
        let Found { distance, chance, long_waf, short_waf } = compared.compare(blocks, passes, seeds);
        let found = format!(
            "{:?} {:?}: distance {distance:.4}, by chance {chance:.4}, WAF {long_waf:.3} and {short_waf:.3}",
            compared.overrides, compared.distribution
        );
        println!("{found}");
        let (most, waf_within) = if long { (compared.most, compared.waf_within) } else { (0.1, 0.07) };
        if distance > most || (short_waf / long_waf - 1.0).abs() > waf_within {
            wrong.push(found);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// By policy, skew and mapping unit: blocks hold as much as after the long way, and what comes then costs as
/// much.
#[test]
fn a_drive_in_steady_state_at_once_is_like_one_that_was_overwritten() {
    compare_all(&COMPARED);
}

#[test]
fn so_it_is_where_all_luns_are_one_pool() {
    compare_all(&STRIPED);
}
