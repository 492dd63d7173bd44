//! The pages against a model: what was written or read last is what is found, and no dirty page is lost.

use super::*;
use alloc::collections::{BTreeMap, BTreeSet};
use proptest::prelude::*;

const LEN: usize = 8;

fn bytes(value: u32) -> [u8; LEN] {
    u64::from(value).to_le_bytes()
}

#[derive(Clone, Debug)]
enum Step {
    Write(u32),
    WritePart(u32),
    Load(u32, bool),
    Clean(bool),
    CleanIn(u32, bool),
    Forget(u32, u32, bool),
    /// Dirty pages are held, and let go or forgotten.
    Hold(u32, bool),
    /// Writes while the run is under way.
    CleanWhile(u32, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let block = 0..40_u32;
    let blocks = (block.clone(), 1..9_u32, any::<bool>());
    let step = prop_oneof![
        4 => block.clone().prop_map(Step::Write),
        1 => block.clone().prop_map(Step::WritePart),
        4 => (block.clone(), any::<bool>()).prop_map(|(block, fails)| Step::Load(block, fails)),
        2 => any::<bool>().prop_map(Step::Clean),
        1 => (block.clone(), any::<bool>()).prop_map(|(block, fails)| Step::CleanIn(block, fails)),
        1 => blocks.prop_map(|(from, count, dirty)| Step::Forget(from, count, dirty)),
        1 => (block.clone(), any::<bool>()).prop_map(|(block, forgets)| Step::Hold(block, forgets)),
        1 => (block, any::<bool>()).prop_map(|(block, fails)| Step::CleanWhile(block, fails)),
    ];
    prop::collection::vec(step, 1..200)
}

/// The cache of 12 pages, over a drive that the model knows.
struct Run {
    pages: Pages,
    drive: BTreeMap<u32, [u8; LEN]>,
    newest: BTreeMap<u32, [u8; LEN]>,
    dirty: BTreeSet<u32>,
    now: u64,
}

impl Run {
    fn write(&mut self, block: u32, value: u32) {
        self.now += 1;
        let room = self.pages.write(block, &bytes(value), Instant::from_picos(self.now));
        assert_ne!(room, Room::Reading);
        if room != Room::None {
            self.newest.insert(block, bytes(value));
            self.dirty.insert(block);
        }
    }
    fn clean(&mut self, run: Range<u32>, fails: bool, meanwhile: Option<(u32, u32)>) {
        let mut held = vec![0; run.len() * LEN];
        self.pages.begin_write(run.clone(), &mut held);
        run.clone().for_each(|block| assert!(self.dirty.remove(&block), "{block} was dirty"));
        assert!(run.clone().all(|block| self.pages.is_busy(block)));
        if let Some((block, value)) = meanwhile {
            self.write(block, value);
        }
        if fails {
            self.dirty.extend(run.clone());
        } else {
            for (block, data) in run.clone().zip(held.chunks_exact(LEN)) {
                self.drive.insert(block, data.try_into().expect("a block"));
            }
        }
        self.pages.end_write(run, fails);
    }
    fn step(&mut self, n: u32, step: &Step) {
        match *step {
            Step::Write(block) => self.write(block, n),
            Step::WritePart(block) => {
                let held = self.pages.read(block).map(<[u8]>::to_vec);
                let done = self.pages.write_part(block, 2, &[7, 7], Instant::ZERO);
                assert_eq!(done, held.is_some());
                if let Some(mut held) = held {
                    held[2..4].fill(7);
                    self.newest.insert(block, held.try_into().expect("a block"));
                    self.dirty.insert(block);
                }
            }
            Step::Load(block, fails) => match self.pages.begin_read(block) {
                Room::Taken if fails => self.pages.fail_read(block),
                Room::Taken => {
                    let data = self.drive.get(&block).copied().unwrap_or_default();
                    self.pages.end_read(block, &data);
                }
                Room::Valid => assert!(self.pages.knows(block)),
                Room::Reading => panic!("nothing is being read"),
                Room::None => assert_eq!(self.dirty.len(), 12, "only dirty pages can't be replaced"),
            },
            Step::Clean(fails) => {
                let run = self.pages.next_run(4);
                assert_eq!(run.is_none(), self.dirty.is_empty());
                if let Some(run) = run {
                    assert!(run.len() <= 4);
                    self.clean(run, fails, None);
                }
            }
            Step::CleanIn(block, fails) => {
                if let Some(run) = self.pages.run_in(block..block + 6, 4) {
                    assert!(run.start >= block && run.end <= block + 6);
                    self.clean(run, fails, None);
                }
                let left = self.pages.run_in(block..block + 6, 1).is_some();
                let up_to = self.pages.newest();
                assert_eq!(self.pages.is_unclean(block..block + 6, up_to), left);
            }
            Step::CleanWhile(block, fails) => {
                if let Some(run) = self.pages.next_run(4) {
                    self.clean(run, fails, Some((block, n)));
                }
            }
            Step::Hold(from, forgets) => {
                let blocks = from..from + 6;
                self.pages.hold(blocks.clone());
                assert_eq!(self.pages.run_in(blocks.clone(), 4), None);
                assert!(self.pages.oldest_run(u64::MAX, 4).is_none_or(|run| !blocks.contains(&run.start)));
                if forgets {
                    self.step(n, &Step::Forget(from, 6, true));
                }
                self.pages.let_go(blocks);
            }
            Step::Forget(from, count, dirty) => {
                self.pages.forget(from..from + count, dirty);
                for block in from..from + count {
                    if dirty && self.dirty.remove(&block) {
                        let before = self.drive.get(&block).copied().unwrap_or_default();
                        self.newest.insert(block, before);
                    }
                    assert_eq!(self.pages.knows(block), self.dirty.contains(&block));
                }
            }
        }
        assert_eq!(self.pages.dirty(), self.dirty.len());
        assert_eq!(self.pages.unclean(), self.dirty.len());
        for block in 0..49 {
            let newest = self.newest.get(&block).copied().unwrap_or_default();
            match self.pages.read(block) {
                Some(held) => assert_eq!(held, newest, "block {block}"),
                None => assert_eq!(self.drive.get(&block).copied().unwrap_or_default(), newest),
            }
        }
    }
}

proptest! {
    #[test]
    fn what_was_written_last_is_found(steps in steps()) {
        let mut run = Run {
            pages: Pages::new(12, LEN),
            drive: BTreeMap::new(),
            newest: BTreeMap::new(),
            dirty: BTreeSet::new(),
            now: 0,
        };
        for (n, step) in steps.iter().enumerate() {
            run.step(n as u32 + 1, step);
        }
    }
}

#[test]
fn a_page_that_was_used_again_stays_longer() {
    let mut pages = Pages::new(3, LEN);
    let load = |pages: &mut Pages, block: u32| {
        assert_eq!(pages.begin_read(block), Room::Taken);
        pages.end_read(block, &bytes(block));
    };
    (0..3).for_each(|block| load(&mut pages, block));
    // All are used, so the first goes, and the hand has passed them all.
    load(&mut pages, 3);
    assert!(!pages.knows(0));
    assert!(pages.read(1).is_some());
    load(&mut pages, 4);
    assert!(pages.knows(1) && !pages.knows(2));
}

#[test]
fn the_oldest_run_is_that_of_what_became_dirty_first() {
    let mut pages = Pages::new(8, LEN);
    for (n, block) in [30, 5, 6, 40].into_iter().enumerate() {
        pages.write(block, &bytes(1), Instant::from_picos(n as u64));
    }
    assert_eq!(pages.next_run(8), Some(5..7));
    assert_eq!(pages.next_run(8), Some(30..31), "behind the last one");
    assert_eq!(pages.oldest_run(4, 8), Some(30..31));
    pages.begin_write(30..31, &mut [0; LEN]);
    assert_eq!(pages.oldest_run(4, 8), Some(5..7), "the first is on its way");
    assert_eq!(pages.oldest_run(1, 8), None);
}

#[test]
fn a_version_that_could_not_be_written_keeps_its_age() {
    let mut pages = Pages::new(8, LEN);
    pages.write(5, &bytes(1), Instant::from_picos(10));
    pages.begin_write(5..6, &mut [0; LEN]);
    pages.write(5, &bytes(2), Instant::from_picos(20));
    assert_eq!((pages.dirty(), pages.unclean()), (0, 2));
    assert!(pages.next_run(8).is_none(), "one version after the other");
    pages.end_write(5..6, true);
    assert_eq!(pages.oldest(), Some((1, Instant::from_picos(10))));
    assert_eq!(pages.unclean(), 1);
    assert!(pages.is_unclean(5..6, 1));
}
