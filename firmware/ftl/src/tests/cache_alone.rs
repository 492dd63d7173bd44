//! The cache on a mapping and a journal of its own: how entries are filled and evicted.

use super::bench::config;
use super::upper_parts::UpperParts;
use crate::cache::buffer::{EntryId, Want};
use crate::page::buffers::Granules;
use crate::terms::block::BlockState;
use crate::terms::cause::Cause;
use crate::{OobRecord, PageKind};
use aster_units::{BufferId, Content, Lpn, Ppa};
use std::rc::Rc;

const PAGE: Lpn = Lpn(5);
/// The granules of the first of a page's two sectors, and of the second.
const FIRST: Granules = 0xFF;
const SECOND: Granules = 0xFF00;

fn parts() -> UpperParts {
    let parts = UpperParts::new(config(Content::Full));
    assert_eq!(parts.journal.pages().whole_page(), FIRST | SECOND);
    parts
}
/// Has a page's entry filled with some granules; gives the entry, and what it holds then.
fn fill(parts: &UpperParts, page: Lpn, wanted: Granules) -> (EntryId, Granules) {
    let (cache, frame) = (Rc::clone(&parts.cache), parts.journal.runtime().units.frame_of(page));
    parts.run(async move {
        let (entry, _) = cache.lock(frame, Want::Write).await.unwrap();
        cache.fill(entry, wanted, Cause::Host, None).await;
        (entry, cache.entries.held(entry).valid)
    })
}
/// The bytes at the beginning of both sectors of an entry.
fn holds(parts: &UpperParts, entry: EntryId) -> (u8, u8) {
    let dram = parts.dram.borrow();
    let page = dram.page(BufferId(entry.0));
    (page[0], page[4096])
}

#[test]
fn an_unmapped_page_is_filled_with_zeroes_and_without_flash() {
    let parts = parts();
    let (entry, valid) = fill(&parts, PAGE, FIRST);
    assert_eq!((valid, holds(&parts, entry).0), (FIRST, 0));
    assert_eq!(parts.journal.runtime().stats().flash_reads.total(), 0);
}

#[test]
fn a_mapped_page_is_filled_with_the_sectors_that_are_wanted() {
    let parts = parts();
    parts.write_page(PAGE, 7);
    parts.forget(PAGE);
    let (entry, valid) = fill(&parts, PAGE, SECOND);
    assert_eq!((valid, holds(&parts, entry).1), (SECOND, 7));
    assert_eq!(parts.journal.runtime().stats().flash_reads.host, 1);
}

#[test]
fn an_evicted_page_stands_where_the_mapping_says_and_names_its_owner() {
    let parts = parts();
    let old = parts.write_page(PAGE, 1);
    let at = parts.write_page(PAGE, 2);
    assert_eq!(parts.page_of(PAGE), at);
    let (content, record) = parts.stored(at);
    assert!(content.iter().all(|&byte| byte == 2));
    assert_eq!((record.kind, record.lpn, record.lost_sectors), (PageKind::Data, PAGE.0, 0));
    assert!(record.sequence > parts.stored(old).1.sequence);
    assert_eq!((parts.is_valid(old), parts.is_valid(at)), (false, true));
    assert_eq!(parts.cache.entries.counts().0, 0, "the entry is still dirty");
}

#[test]
fn what_an_entry_lacks_is_merged_from_the_old_page_before_it_is_evicted() {
    let parts = parts();
    parts.write_page(PAGE, 1);
    parts.forget(PAGE);
    let at = parts.write(PAGE, SECOND, 2);
    let (content, _) = parts.stored(at);
    assert!(content[..4096].iter().all(|&byte| byte == 1) && content[4096..].iter().all(|&byte| byte == 2));
    assert_eq!(parts.journal.runtime().stats().flash_reads.merge, 1);
}

/// The new page must not pass for whole.
#[test]
fn sectors_that_the_merge_can_not_read_are_noted_as_lost_in_the_new_page() {
    let parts = parts();
    let old = parts.write_page(PAGE, 1);
    parts.forget(PAGE);
    parts.cells.borrow_mut().uncorrectable.insert(old.0, 0b01);
    let at = parts.write(PAGE, SECOND, 2);
    assert_eq!(parts.stored(at).1.lost_sectors, 0b01);
    parts.forget(PAGE);
    let (entry, valid) = fill(&parts, PAGE, FIRST | SECOND);
    assert_eq!((valid, holds(&parts, entry).1), (SECOND, 2));
}

#[test]
fn a_page_that_names_another_owner_fills_nothing() {
    let parts = parts();
    let at: Ppa = parts.write_page(PAGE, 1);
    parts.forget(PAGE);
    let record = parts.stored(at).1;
    parts.cells.borrow_mut().set_record(at, &OobRecord { lpn: PAGE.0 + 1, ..record });
    assert_eq!(fill(&parts, PAGE, FIRST | SECOND).1, 0);
    assert_eq!(parts.journal.runtime().stats().uncorrectable_sectors, 2);
}

#[test]
fn a_page_whose_program_fails_goes_to_another_block() {
    let parts = parts();
    let pool = parts.journal.blocks().pool_of(parts.journal.runtime().units.frame_of(PAGE));
    let lun = parts.journal.blocks().table().layout.first_lun(pool);
    parts.cells.borrow_mut().next_programs_fail.push(lun);
    let at = parts.write_page(PAGE, 3);
    assert_eq!((parts.page_of(PAGE), parts.cells.borrow().grown_bad()), (at, 1));
    assert!(parts.stored(at).0.iter().all(|&byte| byte == 3));
    let blocks = parts.journal.blocks().table();
    assert_ne!(blocks.states.of(blocks.layout.block_of(at)), BlockState::Failing);
}
