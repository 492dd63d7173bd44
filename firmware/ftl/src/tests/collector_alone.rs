//! Garbage collection on a mapping and a journal of its own: what becomes of a victim's pages.

use super::bench::config;
use super::upper_parts::UpperParts;
use crate::OobRecord;
use crate::terms::block::{BlockIndex, BlockState, PoolIndex};
use crate::terms::config::{CareConfig, Collection, FtlConfig, GcConfig};
use aster_parties::DriveState;
use aster_units::{Content, Duration, Lpn, LunIndex, Ppa};
use std::rc::Rc;
use std::vec::Vec;

const LUN: LunIndex = LunIndex(0);
const POOL: PoolIndex = PoolIndex(0);

/// A closed block of data: page `n` of it is logical page `pages[n]`, and its bytes are `n + 1`.
struct Victim {
    parts: UpperParts,
    block: BlockIndex,
    pages: Vec<Lpn>,
    before: Vec<OobRecord>,
}

fn victim() -> Victim {
    victim_of(config(Content::Full))
}
fn victim_of(config: FtlConfig) -> Victim {
    let parts = UpperParts::new(config);
    let of_lun =
        |lpn: &Lpn| parts.journal.blocks().pool_of(parts.journal.runtime().units.frame_of(*lpn)) == POOL;
    let count = usize::from(config.geometry.pages_per_block);
    let pages: Vec<_> = (0..parts.mapping.pages()).map(Lpn).filter(of_lun).take(count).collect();
    let at: Vec<Ppa> = (1..).zip(&pages).map(|(byte, &lpn)| parts.write_page(lpn, byte)).collect();
    let block = parts.journal.blocks().table().layout.block_of(at[0]);
    assert!(at.iter().all(|&at| parts.journal.blocks().table().layout.block_of(at) == block));
    assert_eq!(parts.journal.blocks().table().states.of(block), BlockState::Closed);
    let before = at.iter().map(|&at| parts.stored(at).1).collect();
    Victim { parts, block, pages, before }
}

impl Victim {
    fn page(&self, nth: usize) -> Ppa {
        Ppa(self.parts.journal.blocks().table().layout.first_page(self.block).0 + nth as u32)
    }
    fn begin(&self) {
        self.parts.journal.blocks().table().evacuation.collect_torn(self.block);
        self.parts.journal.blocks().collection.resume();
    }
    fn collect(&self) {
        self.begin();
        self.parts.rest();
    }
    /// Where a page of the victim has gone, with its content's first byte and its record.
    fn moved(&self, nth: usize) -> (Ppa, u8, OobRecord) {
        let at = self.parts.page_of(self.pages[nth]);
        assert_ne!(
            self.parts.journal.blocks().table().layout.block_of(at),
            self.block,
            "page {nth} is still there"
        );
        let (content, record) = self.parts.stored(at);
        (at, content[0], record)
    }
    fn state(&self) -> BlockState {
        self.parts.journal.blocks().table().states.of(self.block)
    }
}

#[test]
fn all_valid_pages_of_a_victim_are_copied_within_the_lun_and_it_is_erased() {
    let victim = victim();
    victim.collect();
    for (nth, before) in victim.before.iter().enumerate() {
        let (at, byte, record) = victim.moved(nth);
        assert_eq!((byte, record), (nth as u8 + 1, OobRecord { copy: before.copy + 1, ..*before }));
        let blocks = victim.parts.journal.blocks().table();
        assert_eq!(blocks.layout.lun_of_page(at), LUN);
        assert!(victim.parts.is_valid(at));
    }
    assert_eq!(victim.state(), BlockState::Free);
    assert_eq!(victim.parts.cells.borrow().erases[victim.block.at()], 1);
    assert_eq!(victim.parts.journal.runtime().stats().flash_programs.gc, victim.pages.len() as u64);
}

/// The pause before each copy that the host doesn't pay for.
const GAP: Duration = Duration::from_millis(10);

/// A victim of a drive whose collection goes at the host's pace, two pages at a time.
fn paced() -> Victim {
    let base = config(Content::Full);
    // Short of room, so that the host has to pay.
    let free_blocks = base.geometry.blocks_per_lun - 1;
    victim_of(FtlConfig {
        gc: GcConfig { collection: Collection::Paced, depth: 2, free_blocks, ..base.gc },
        care: CareConfig { background_gap: GAP, ..base.care },
        ..base
    })
}

impl Victim {
    fn copied(&self) -> u64 {
        self.parts.journal.runtime().stats().flash_programs.gc
    }
    fn pass(&self, time: Duration) {
        self.parts.exec.advance_to(self.parts.exec.now() + time);
    }
}

/// Nothing looks at the clock while it waits. Whatever needs what the victim gains, or what its collection
/// holds, has it copied at once.
#[test]
fn a_victim_that_nobody_pays_for_waits_for_an_event() {
    type Need = fn(&Victim);
    let needs: [Need; 4] = [
        |victim| victim.parts.journal.blocks().pacing.waits_for_map(true),
        |victim| {
            let parts = &victim.parts;
            let collector = Rc::clone(&parts.collector);
            parts.exec.spawn(async move { collector.pause_gc().await });
        },
        |victim| victim.parts.journal.health.set_state(DriveState::ReadOnly),
        |victim| {
            let blocks = Rc::clone(victim.parts.journal.blocks());
            victim.parts.exec.spawn(async move { blocks.queues.wait_room(POOL).await });
        },
    ];
    for (nth, need) in needs.iter().enumerate() {
        let victim = paced();
        victim.begin();
        victim.pass(Duration::ZERO);
        let before = victim.parts.exec.counts();
        victim.pass(GAP);
        assert_eq!((victim.copied(), victim.parts.exec.counts()), (0, before), "before need {nth}");
        need(&victim);
        victim.pass(GAP / 2);
        assert_eq!(victim.copied(), victim.pages.len() as u64, "need {nth}");
        victim.parts.rest();
        assert_eq!(victim.state(), BlockState::Free, "need {nth}");
    }
}

#[test]
fn a_copy_that_nobody_pays_for_is_made_after_a_pause() {
    let victim = paced();
    victim.begin();
    let mut last = victim.parts.exec.now();
    for copies in (0..victim.pages.len() as u64).step_by(2) {
        while victim.copied() == copies {
            victim.parts.step();
        }
        let now = victim.parts.exec.now();
        assert!((GAP * 2..GAP * 3).contains(&now.since(last)), "{:?} for two copies", now.since(last));
        last = now;
        victim.pass(GAP);
        assert_eq!(victim.copied(), copies + 2);
    }
}

#[test]
fn the_erase_of_a_victim_waits_for_no_payment() {
    for left in [0, 1] {
        let victim = paced();
        for &page in &victim.pages[left..] {
            victim.parts.mapping.unmap(&(), &page);
        }
        victim.begin();
        // The page that is left is the first one, and nothing is paid for it.
        victim.pass(GAP * left as u64 + Duration::from_millis(8));
        assert_eq!((victim.copied(), victim.state()), (left as u64, BlockState::Free), "{left} left");
    }
}

/// A portion of two that was paid for leaves its timer behind.
#[test]
fn a_portion_waits_no_longer_because_of_one_before() {
    let victim = paced();
    victim.parts.mapping.unmap(&(), &victim.pages[3]);
    victim.begin();
    victim.pass(Duration::ZERO);
    let blocks = victim.parts.journal.blocks();
    blocks.pacing.pay(POOL, 1, &blocks.table().room);
    blocks.pacing.pay(POOL, 10_000, &blocks.table().room);
    victim.pass(GAP + Duration::from_millis(8));
    assert_eq!((victim.copied(), victim.state()), (3, BlockState::Free));
}

/// The host pays for the pages that count, and never for more: so a portion is no more than what is left.
#[test]
fn the_last_copy_of_a_victim_is_paid_for_by_itself() {
    let victim = paced();
    for &page in &victim.pages[1..] {
        victim.parts.mapping.unmap(&(), &page);
    }
    victim.begin();
    victim.pass(Duration::ZERO);
    let blocks = victim.parts.journal.blocks();
    blocks.pacing.pay(POOL, 10_000, &blocks.table().room);
    victim.pass(GAP / 2);
    assert_eq!((victim.copied(), victim.state()), (1, BlockState::Free));
}

#[test]
fn what_the_host_has_written_anew_or_unmapped_is_not_copied() {
    let victim = victim();
    let written = victim.parts.write_page(victim.pages[1], 77);
    victim.parts.mapping.unmap(&(), &victim.pages[2]);
    victim.collect();
    assert_eq!(victim.parts.journal.runtime().stats().flash_programs.gc, victim.pages.len() as u64 - 2);
    assert_eq!(victim.moved(1).0, written);
    assert!(!victim.parts.mapping.place_of_pinned(victim.pages[2]).is_some());
    assert_eq!(victim.state(), BlockState::Free);
}

/// The copy is garbage then.
#[test]
fn a_page_that_is_unmapped_while_it_is_copied_stays_unmapped() {
    let victim = victim();
    victim.begin();
    while victim.parts.journal.runtime().stats().flash_programs.gc == 0 {
        victim.parts.step();
    }
    let page = victim.pages[0];
    assert_eq!(victim.parts.page_of(page), victim.page(0), "the copy has ended before");
    victim.parts.mapping.unmap(&(), &page);
    victim.parts.rest();
    assert!(!victim.parts.mapping.place_of_pinned(page).is_some());
    assert_eq!(victim.moved(1).1, 2);
    assert_eq!(victim.state(), BlockState::Free);
}

/// Its owner is found in the map; that its data are lost stays visible.
#[test]
fn a_page_without_a_readable_record_moves_as_one_that_is_lost() {
    let victim = victim();
    victim.parts.cells.borrow_mut().oob_broken.insert(victim.page(1).0, ());
    victim.collect();
    let (_, _, record) = victim.moved(1);
    assert_eq!((record.lpn, record.lost_sectors), (victim.pages[1].0, 0b11));
    assert_eq!(victim.moved(0).2.lost_sectors, 0);
}

#[test]
fn lost_sectors_of_a_copied_page_stay_lost() {
    let victim = victim();
    victim.parts.cells.borrow_mut().uncorrectable.insert(victim.page(2).0, 0b10);
    victim.collect();
    let (_, byte, record) = victim.moved(2);
    assert_eq!((byte, record.lost_sectors, record.sequence), (3, 0b10, victim.before[2].sequence));
}

#[test]
fn a_copy_whose_program_fails_is_made_again_in_another_block() {
    let victim = victim();
    victim.parts.cells.borrow_mut().next_programs_fail.push(LUN);
    victim.collect();
    for nth in 0..victim.pages.len() {
        assert_eq!(victim.moved(nth).1, nth as u8 + 1);
    }
    assert_eq!((victim.state(), victim.parts.cells.borrow().grown_bad()), (BlockState::Free, 1));
}

#[test]
fn a_victim_that_can_not_be_erased_is_retired() {
    let victim = victim();
    victim.parts.cells.borrow_mut().next_erases_fail.push(LUN);
    victim.collect();
    assert_eq!(victim.state(), BlockState::Retired);
    assert_eq!(victim.moved(0).1, 1);
}

#[test]
fn nothing_is_collected_while_collection_is_paused() {
    let victim = victim();
    victim.parts.journal.blocks().table().evacuation.collect_torn(victim.block);
    victim.parts.journal.blocks().collection.ask(POOL);
    victim.parts.rest();
    assert_eq!((victim.state(), victim.parts.journal.runtime().stats().gc_runs), (BlockState::Closed, 0));
}
