//! Garbage collection on a mapping and a journal of its own: what becomes of a victim's pages.

use super::bench::config;
use super::upper_parts::UpperParts;
use crate::OobRecord;
use crate::terms::block::{BlockIndex, BlockState};
use aster_units::{Content, Lpn, LunIndex, Ppa};
use std::vec::Vec;

const LUN: LunIndex = LunIndex(0);

/// A closed block of data: page `n` of it is logical page `pages[n]`, and its bytes are `n + 1`.
struct Victim {
    parts: UpperParts,
    block: BlockIndex,
    pages: Vec<Lpn>,
    before: Vec<OobRecord>,
}

fn victim() -> Victim {
    let config = config(Content::Full);
    let parts = UpperParts::new(config);
    let of_lun =
        |lpn: &Lpn| parts.journal.blocks().lun_of(parts.journal.runtime().units.frame_of(*lpn)) == LUN;
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
    victim.parts.journal.blocks().collection.ask(LUN);
    victim.parts.rest();
    assert_eq!((victim.state(), victim.parts.journal.runtime().stats().gc_runs), (BlockState::Closed, 0));
}
