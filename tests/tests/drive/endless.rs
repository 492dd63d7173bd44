//! A full drive with minimal over-provisioning is overwritten again and again, with trims, failing
//! operations and losses of power. It must never get stuck, and must keep its data.

use aster_device::profile::{MappingName, Profile};
use aster_device::{DriveState, Media};
use aster_driver::{Driver, DriverError, QueueId, Range};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::{cases, machine, profile};
use aster_units::{Content, Duration, LunIndex, Rng};
use std::cell::RefCell;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
/// Logical blocks of 4 KiB per page.
const PAGE_BLOCKS: u64 = 4;
/// Commands in flight.
const DEPTH: usize = 6;
/// A drive that completes no write for this long is stuck.
const PATIENCE: Duration = Duration::from_millis(10_000);

/// The versions that a page may hold: the numbers of the commands that changed it, and 0 for the zeroes of
/// a trim. While the power stays on, only the last one is valid.
#[derive(Clone)]
struct Page {
    changes: Vec<(u64, u64)>,
    in_work: Option<u64>,
}

/// The host's knowledge of the drive.
struct Known {
    pages: Vec<Page>,
    commands: u64,
    written: u64,
    wrong: Option<String>,
    rng: Rng,
}

type Shared = Rc<RefCell<Known>>;

fn tags(version: u64) -> [[u8; 8]; PAGE_BLOCKS as usize] {
    [version.to_le_bytes(); PAGE_BLOCKS as usize]
}
async fn read(driver: &Driver<VirtualBar>, page: usize) -> Result<u64, DriverError> {
    let mut found = tags(u64::MAX);
    driver.read_tags(QUEUE, page as u64 * PAGE_BLOCKS, &mut found).await?;
    let version = u64::from_le_bytes(found[0]);
    // A torn page holds no version that was written.
    Ok(if found == tags(version) { version } else { u64::MAX })
}

/// Sends one command after the other until the power is cut, and never two for one page at a time.
async fn work(known: Shared, driver: Rc<Driver<VirtualBar>>) {
    loop {
        let (page, kind, n) = {
            let k = &mut *known.borrow_mut();
            let pages = k.pages.len() as u64;
            let reach = if k.rng.below(3) == 0 { pages / 10 } else { pages };
            let page = k.rng.below(reach) as usize;
            if k.wrong.is_some() {
                return;
            }
            if k.pages[page].in_work.is_some() {
                continue;
            }
            k.commands += 1;
            (page, k.rng.below(60), k.commands)
        };
        let done = command(&known, &driver, page, kind, n).await;
        if let Err(wrong) = done {
            known.borrow_mut().wrong.get_or_insert(format!("page {page}: {wrong}"));
        }
    }
}

async fn command(
    known: &Shared,
    driver: &Driver<VirtualBar>,
    page: usize,
    kind: u64,
    n: u64,
) -> Result<(), String> {
    let first = page as u64 * PAGE_BLOCKS;
    let told = |error: DriverError| error.to_string();
    if kind == 0 {
        let in_work: Vec<u64> = known.borrow().pages.iter().filter_map(|page| page.in_work).collect();
        driver.flush(QUEUE).await.map_err(told)?;
        for page in &mut known.borrow_mut().pages {
            let is_safe = |(by, _): &(u64, u64)| *by < n && !in_work.contains(by);
            let safe = page.changes.iter().rposition(is_safe).unwrap_or(0);
            page.changes.drain(..safe);
        }
        return Ok(());
    }
    known.borrow_mut().pages[page].in_work = Some(n);
    let (trims, forced) = ((1..4).contains(&kind), kind == 4);
    if kind == 5 {
        let found = read(driver, page).await.map_err(told)?;
        let wanted = known.borrow().pages[page].changes.last().map(|(_, version)| *version);
        if wanted != Some(found) {
            return Err(format!("holds {found}, but must hold {wanted:?}"));
        }
    } else if trims {
        known.borrow_mut().pages[page].changes.push((n, 0));
        driver.deallocate(QUEUE, &[Range::new(first, PAGE_BLOCKS as u32)]).await.map_err(told)?;
    } else {
        known.borrow_mut().pages[page].changes.push((n, n));
        driver.write_tags(QUEUE, first, &tags(n), forced).await.map_err(told)?;
        known.borrow_mut().written += 1;
    }
    let page = &mut known.borrow_mut().pages[page];
    page.in_work = None;
    if forced {
        page.changes.drain(..page.changes.len() - 1);
    }
    Ok(())
}

/// Checks all pages. The versions found now must stay.
async fn verify(known: Shared, driver: Rc<Driver<VirtualBar>>) -> Result<(), String> {
    let pages = known.borrow().pages.len();
    for page in 0..pages {
        let found = read(&driver, page).await.map_err(|error| error.to_string())?;
        let known = &mut known.borrow_mut().pages[page];
        if !known.changes.iter().any(|(_, version)| *version == found) {
            return Err(format!("page {page} holds {found}, but may hold {:?}", known.changes));
        }
        *known = Page { changes: vec![(0, found)], in_work: None };
    }
    Ok(())
}

/// Works until this many pages have been written in total.
fn write_until(m: &Machine, known: &Shared, goal: u64) {
    let mut seen = (known.borrow().written, m.now());
    while known.borrow().written < goal && known.borrow().wrong.is_none() {
        assert!(m.step(), "nothing goes on any more: {:?}", m.device().stats().ftl);
        let written = known.borrow().written;
        if written != seen.0 {
            seen = (written, m.now());
        }
        assert!(m.now().since(seen.1) < PATIENCE, "the drive is stuck: {:?}", m.device().stats().ftl);
    }
    assert_eq!(known.borrow().wrong, None);
}

fn live(profile: &Profile, failures: u64, drive_writes: u64) {
    let power_on = |media| machine(profile, Some(Content::Fingerprint), media, &Recorder::default());
    let mut m = power_on(Media::fresh());
    let pages = m.driver().namespace().blocks / PAGE_BLOCKS;
    let page = Page { changes: vec![(0, 0)], in_work: None };
    let known =
        Known { pages: vec![page; pages as usize], commands: 0, written: 0, wrong: None, rng: Rng::new(5) };
    let known = Rc::new(RefCell::new(known));
    let (filled, driver) = (Rc::clone(&known), Rc::clone(m.driver()));
    let fill = async move {
        for page in 0..pages as usize {
            let n = page as u64 + 1;
            driver.write_tags(QUEUE, page as u64 * PAGE_BLOCKS, &tags(n), false).await?;
            filled.borrow_mut().pages[page].changes = vec![(n, n)];
        }
        filled.borrow_mut().commands = pages;
        driver.flush(QUEUE).await
    };
    m.block_on("filling", fill).unwrap().unwrap();
    let (mut rng, mut failed) = (Rng::new(9), 0);
    let luns = u64::from(m.device().geometry().total_luns());
    // Writes a quarter of the drive, then cuts the power.
    let rounds = 4 * drive_writes;
    for round in 1..=rounds {
        // Failures are spread over all rounds, alternating between programs and erases of each LUN.
        while failed < failures * luns * round / rounds {
            let lun = LunIndex((failed % luns) as u32);
            match failed / luns % 2 {
                0 => m.device().nand().fail_next_program(lun),
                _ => m.device().nand().fail_next_erase(lun),
            }
            failed += 1;
        }
        for _ in 0..DEPTH {
            m.host().spawn(work(Rc::clone(&known), Rc::clone(m.driver())));
        }
        write_until(&m, &known, round * pages / 4);
        m.idle(Duration::from_micros(rng.below(20_000)));
        m = power_on(m.cut_power());
        assert_eq!(m.device().stats().ftl.state, DriveState::Ready, "round {round}");
        let reading = verify(Rc::clone(&known), Rc::clone(m.driver()));
        m.block_on("reading", reading).unwrap().unwrap_or_else(|wrong| panic!("round {round}: {wrong}"));
    }
    let bad: usize = (0..luns as u32).map(|lun| m.device().nand().bad_blocks(LunIndex(lun)).len()).sum();
    assert_eq!(bad as u64, failures * luns, "each failure was met");
}

#[test]
fn a_full_drive_with_one_to_three_percent_to_spare_is_never_stuck_or_wrong() {
    use MappingName::{DemandPaged, Resident};
    for (name, mapping, percent, blocks) in [
        ("tiny", Resident, 3.0, 320),
        ("tiny", Resident, 1.0, 900),
        ("softssd-small", Resident, 3.0, 320),
        ("softssd-small", DemandPaged, 5.0, 320),
    ] {
        let profile = profile(name, |p| {
            (p.geometry.channels, p.geometry.ways, p.geometry.luns, p.geometry.planes) = (1, 1, 1, 1);
            p.geometry.blocks_per_lun = blocks;
            p.package.factory_bad_per_mille = 0;
            p.package.errors.fresh = 0.0;
            p.ftl.over_provisioning_percent = percent;
            p.ftl.mapping = mapping;
            p.host.block_bytes = 4096;
        });
        live(&profile, 2, cases(1, 100));
    }
}
