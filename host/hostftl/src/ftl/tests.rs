//! The parts against a model.

use super::frontier::{AHEAD, Frontier, NextRow, NoPlace, Stream};
use super::gather::{Due, Gather, Gathered};
use super::groups::{GroupPlace, GroupState, Groups};
use super::map::Map;
use super::oob::{BEHIND_MAX, Mark, RECORD_BYTES, SectorKind, SectorRecord, Wear};
use super::place::{NOWHERE, PagePlace, PlaceFormat, SectorPlace};
use crate::driver::ArrayInfo;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use aster_parties::{ClosedBlocks, VictimPolicy};
use aster_units::{BlockAddr, Rng};
use aster_wire::array::NO_BLOCK;

const INFO: ArrayInfo =
    ArrayInfo { channels: 2, lanes: 4, dies: 2, planes: 2, blocks: 12, pages: 6, sectors: 4 };

/// One block in ten.
fn is_bad(channel: u8, die: u8, lane: u8, block: u16) -> bool {
    let n = u64::from(channel) << 40 | u64::from(die) << 32 | u64::from(lane) << 16 | u64::from(block);
    Rng::new(n).below(10) == 0
}

#[test]
fn the_papers_array_has_places_of_28_bits() {
    let paper = ArrayInfo { channels: 4, lanes: 8, dies: 2, planes: 2, blocks: 2048, pages: 512, sectors: 4 };
    let format = PlaceFormat::of(&paper).unwrap();
    let page = PagePlace { channel: 3, die: 1, group: 2047, page: 511, lane: 7 };
    assert_eq!(format.encode(SectorPlace { page, slot: 3 }), (1 << 28) - 1);
    assert_eq!(format.decode(NOWHERE), None);
    let large = ArrayInfo { channels: 64, dies: 4, ..paper };
    assert!(PlaceFormat::of(&ArrayInfo { blocks: 1 << 14, ..large }).is_none());
    let mut random = Rng::new(5);
    for _ in 0..10_000 {
        let page = PagePlace {
            channel: random.below(4) as u8,
            die: random.below(2) as u8,
            group: random.below(2048) as u16,
            page: random.below(512) as u16,
            lane: random.below(8) as u8,
        };
        let place = SectorPlace { page, slot: random.below(4) as u8 };
        assert_eq!(format.decode(format.encode(place)), Some(place));
    }
}

/// The good blocks of each lane of a die.
fn good(channel: u8, die: u8) -> Vec<Vec<u16>> {
    (0..INFO.lanes)
        .map(|lane| (0..12).filter(|&block| !is_bad(channel, die, lane, block)).collect())
        .collect()
}

#[test]
fn a_group_is_the_nth_good_block_of_each_lane() {
    let groups = Groups::first(&INFO, is_bad);
    let all = groups.all();
    for channel in 0..INFO.channels {
        for die in 0..INFO.dies {
            let good = good(channel, die);
            let of_die = all.iter().filter(|at| (at.channel, at.die) == (channel, die));
            assert!(of_die.map(|at| at.group).eq(0..good.iter().map(Vec::len).max().unwrap() as u16));
        }
    }
    for at in all {
        let members = groups.members(at);
        let expected = good(at.channel, at.die);
        let expected = expected.iter().map(|of| of.get(usize::from(at.group)).copied().unwrap_or(NO_BLOCK));
        assert!(members[..4].iter().copied().eq(expected));
        assert_eq!(members[4..], [NO_BLOCK; 4]);
    }
}

#[test]
fn consecutive_pages_lie_on_consecutive_lanes_and_those_of_a_block_come_in_order() {
    let mut groups = Groups::first(&INFO, is_bad);
    let all = groups.all();
    let blocks: usize = (0..2)
        .flat_map(|channel| (0..2).flat_map(move |die| good(channel, die)))
        .map(|of_lane| of_lane.len())
        .sum();
    assert_eq!(groups.blocks_for_data(), blocks as u64);
    let mut frontier = Frontier::new(&INFO);
    let mut next: BTreeMap<(u8, u8, u8, u16), u16> = BTreeMap::new();
    let (mut pages, mut opened) = (0, 0);
    let mut first = Vec::new();
    while let Some(page) = frontier.next(&mut groups, Stream::Host, 0) {
        let PagePlace { channel, die, page: at, lane, .. } = page.at;
        let block = groups.members(page.at.group())[usize::from(lane)];
        let expected = next.entry((channel, die, lane, block)).or_default();
        assert_eq!(at, *expected);
        *expected += 1;
        pages += 1;
        opened += usize::from(page.opens);
        if first.len() < 16 {
            first.push((channel, lane, die));
        }
    }
    // Every page of every group was used once.
    assert_eq!((pages, opened), (blocks * 6, all.len()));
    let order = (0..16).map(|n: u8| (n % 2, n / 2 % 4, n / 8));
    assert!(first.into_iter().eq(order));
    assert_eq!(groups.open(0, 0, false), None);
}

#[test]
fn streams_write_groups_of_their_own_and_the_reserve_is_left() {
    let mut groups = Groups::first(&INFO, |_, _, _, _| false);
    let mut frontier = Frontier::new(&INFO);
    let group_of = |page: Option<super::frontier::NextPage>| page.map(|page| page.at.group());
    let all = groups.all_free();
    let host = group_of(frontier.next(&mut groups, Stream::Host, all - 1)).unwrap();
    let copy = group_of(frontier.next(&mut groups, Stream::Copies, 0)).unwrap();
    assert!(host != copy && (host.channel, host.die) == (copy.channel, copy.die));
    assert_eq!(groups.all_free(), all - 2);
    // Only the open group goes on, and no other is opened.
    let mut pages = 1;
    while let Some(next) = group_of(frontier.next(&mut groups, Stream::Host, all - 2)) {
        assert_eq!(next, host);
        pages += 1;
    }
    assert_eq!(pages, 4 * 6);
    assert_eq!((groups.state(host), groups.state(copy)), (GroupState::Closed, GroupState::Open));
}

/// A record tells exactly how many pages of its block were on their way: an unreadable page before those is
/// known to be lost.
#[test]
fn no_more_programs_of_a_block_are_on_their_way_than_a_record_counts() {
    let info = ArrayInfo { pages: 64, ..INFO };
    let mut groups = Groups::first(&info, |_, _, _, _| false);
    let mut frontier = Frontier::new(&info);
    let reserve = groups.all_free() - 1;
    let mut sent = 0;
    while let Ok(next) = frontier.next_paced(&mut groups, Stream::Host, reserve) {
        assert!(groups.begin(next.at) <= BEHIND_MAX);
        sent += 1;
    }
    assert_eq!(sent, 4 * usize::from(BEHIND_MAX), "on each lane of the only open group");
    // One that must go somewhere does, and a record that counts too few refuses more, not less.
    assert!(frontier.next(&mut groups, Stream::Host, reserve).is_some());
}

/// Every page is one of the first group's, since no other may be opened.
#[test]
fn while_groups_are_few_the_host_has_no_more_programs_on_their_way_than_the_drive_needs() {
    let mut groups = Groups::first(&INFO, |_, _, _, _| false);
    let mut frontier = Frontier::new(&INFO);
    let reserve = groups.all_free() - 1;
    frontier.pace(true);
    let mut sent = VecDeque::new();
    while let Ok(next) = frontier.next_paced(&mut groups, Stream::Host, reserve) {
        groups.begin(next.at);
        sent.push_back(next.at);
    }
    assert_eq!(sent.len(), 4 * usize::from(AHEAD));
    let next = |frontier: &mut Frontier, groups: &mut Groups| {
        frontier.next_paced(groups, Stream::Host, reserve).map(|next| next.at)
    };
    assert_eq!(next(&mut frontier, &mut groups), Err(NoPlace::Busy));
    // One has ended, so its lane takes the next page of its block.
    let ended = sent.remove(2).unwrap();
    groups.end(ended);
    let again = next(&mut frontier, &mut groups).unwrap();
    assert_eq!((again.lane, again.page), (ended.lane, u16::from(AHEAD)));
    groups.begin(again);
    assert_eq!(next(&mut frontier, &mut groups), Err(NoPlace::Busy));
    // A page that failed elsewhere doesn't wait, and none does while there are groups.
    assert!(frontier.next(&mut groups, Stream::Host, reserve).is_some());
    frontier.pace(false);
    assert!(next(&mut frontier, &mut groups).is_ok());
    frontier.pace(true);
    // When the group is full, another one is needed.
    sent.push_back(again);
    sent.drain(..).for_each(|page| groups.end(page));
    while let Ok(page) = next(&mut frontier, &mut groups) {
        groups.begin(page);
        groups.end(page);
    }
    assert_eq!(next(&mut frontier, &mut groups), Err(NoPlace::Group));
}

/// H22: the same page of all lanes, of channel after channel and die after die.
#[test]
fn composite_pages_go_to_whole_groups_in_turn() {
    let info = ArrayInfo { blocks: 3, ..INFO };
    // One group of channel 1, die 0 lacks a member.
    let mut groups =
        Groups::first(&info, |channel, die, lane, block| (channel, die, lane, block) == (1, 0, 2, 1));
    let mut frontier = Frontier::new(&info);
    let mut rows: BTreeMap<(u8, u8), Vec<(u16, u16)>> = BTreeMap::new();
    let mut order = Vec::new();
    let row = |frontier: &mut Frontier, groups: &mut Groups, reserve| match frontier.next_row(groups, reserve)
    {
        NextRow::At { of, page, opens } => {
            assert_eq!(opens, page == 0);
            assert!(groups.members(of)[..4].iter().all(|&block| block != NO_BLOCK));
            Some((of, page))
        }
        NextRow::Wait | NextRow::Busy | NextRow::NotWhole => None,
    };
    while let Some((of, page)) = row(&mut frontier, &mut groups, 0) {
        order.push((of.channel, of.die));
        rows.entry((of.channel, of.die)).or_default().push((of.group, page));
    }
    assert_eq!(order[..5], [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0)]);
    let of_groups = |groups: &[u16]| -> Vec<_> {
        groups.iter().flat_map(|&group| (0..6).map(move |page| (group, page))).collect()
    };
    assert_eq!(rows[&(0, 0)], of_groups(&[0, 1, 2]));
    assert_eq!(rows[&(1, 0)], of_groups(&[0, 1]), "the third group has no member on lane 2");
    assert_eq!(groups.all_free(), 1);
    assert_eq!(frontier.next_row(&mut groups, 0), NextRow::NotWhole);
    assert_eq!(frontier.next_row(&mut groups, 1), NextRow::Wait);
    // A group that is given up is closed, and another one is opened.
    let mut groups = Groups::first(&info, |_, _, _, _| false);
    let mut frontier = Frontier::new(&info);
    let (first, _) = row(&mut frontier, &mut groups, 0).unwrap();
    frontier.abandon(&mut groups, first);
    frontier.abandon(&mut groups, first);
    assert_eq!(groups.state(first), GroupState::Closed);
    let next = (0..4).map(|_| row(&mut frontier, &mut groups, 0).unwrap()).last();
    assert_eq!(next, Some((GroupPlace { group: 1, ..first }, 0)));
}

/// H21, H22: what waits for a composite page.
#[test]
fn a_row_is_sent_when_it_is_full_and_a_flush_sends_its_pages() {
    let mut gather = Gather::new(6, 2, 3);
    let sent = |gather: &mut Gather, flush| {
        let mut all = Vec::new();
        gather.send(flush, |due| all.push(due));
        all
    };
    let put = |gather: &mut Gather, sector, gathered| {
        let waiting = gather.put(sector, gathered).unwrap();
        (waiting.buffer, waiting.slot)
    };
    for n in 0..5 {
        assert_eq!(put(&mut gather, n, Gathered::Row), (n as usize / 2, n as u8 % 2));
        assert_eq!(sent(&mut gather, false), []);
    }
    // A newer version goes where the one before waits, whatever it comes as.
    assert_eq!(put(&mut gather, 3, Gathered::Page), (1, 1));
    assert_eq!(put(&mut gather, 40, Gathered::Page), (3, 0));
    assert_eq!(put(&mut gather, 40, Gathered::Row), (3, 0));
    put(&mut gather, 5, Gathered::Row);
    assert_eq!(sent(&mut gather, false), [Due::Row([0, 1, 2].into())]);
    put(&mut gather, 6, Gathered::Row);
    assert_eq!(sent(&mut gather, true), [Due::Page(3), Due::Page(4)]);
    assert_eq!(gather.sectors(4), [Some(6)]);
}

/// A sector that was forgotten while its row waits may be written, and sent, before that row is.
#[test]
fn a_forgotten_version_is_not_sent_behind_a_newer_one() {
    let mut gather = Gather::new(6, 1, 2);
    gather.put(7, Gathered::Row).unwrap();
    gather.forget(7);
    let newer = gather.put(7, Gathered::Page).unwrap();
    let mut sent = Vec::new();
    gather.send(false, |due| sent.push(due));
    assert_eq!(sent, [Due::Page(newer.buffer)]);
    gather.put(8, Gathered::Row).unwrap();
    gather.send(false, |due| sent.push(due));
    let Some(Due::Row(row)) = sent.last() else { panic!("a row is full") };
    let sectors: Vec<_> = row.iter().map(|&buffer| gather.sectors(buffer)).collect();
    assert_eq!(sectors, [[None], [Some(8)]]);
}

#[test]
fn a_record_is_read_as_it_was_written_and_any_changed_byte_makes_it_none() {
    let (sector, sequence, kind) = (0x0102_0304, 0x0b_0c0d_0e0f, SectorKind::Data);
    let record = SectorRecord { sector, sequence, kind, copies: 0xfe, behind: 5, wear: 0x77 };
    let bytes = record.encode(Mark::NONE);
    assert_eq!(bytes[..12], [4, 3, 2, 1, 0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x77, 0x51, 0xfe]);
    let many = SectorRecord { behind: 200, ..record };
    assert_eq!(SectorRecord::decode(&many.encode(Mark::NONE), Mark::NONE).unwrap().behind, 15);
    assert_eq!(SectorRecord::decode(&bytes, Mark::NONE), Some(record));
    for at in 0..RECORD_BYTES {
        for bit in 0..8 {
            let mut wrong = bytes;
            wrong[at] ^= 1 << bit;
            assert_eq!(SectorRecord::decode(&wrong, Mark::NONE), None);
        }
    }
    assert_eq!(SectorRecord::decode(&[0xff; RECORD_BYTES], Mark::NONE), None);
    for kind in [SectorKind::Data, SectorKind::Padding, SectorKind::Lost] {
        let record = SectorRecord { kind, ..record };
        assert_eq!(SectorRecord::decode(&record.encode(Mark::NONE), Mark::NONE), Some(record));
        assert_eq!(record.is_mapped(), kind != SectorKind::Padding);
    }
    assert_eq!(SectorRecord::decode(&[0; RECORD_BYTES], Mark::NONE), None);
}

/// Any three records of sectors that follow each other tell how often their group was erased.
#[test]
fn the_records_of_a_group_tell_its_wear() {
    for sectors in [1, 2, 4] {
        for erases in [0, 1, 255, 256, 70_000, 0xff_ffff, u32::MAX] {
            for first in 0..9u16 {
                let mut wear = Wear::default();
                for n in first..first + 3 {
                    assert_eq!(wear.erases(), None, "a part is missing");
                    let (page, slot) = (n / u16::from(sectors), (n % u16::from(sectors)) as u8);
                    wear.found(Wear::part(erases, page, sectors, slot), page, sectors, slot);
                }
                assert_eq!(wear.erases(), Some(erases.min(0xff_ffff)));
            }
        }
    }
}

#[test]
fn free_groups_are_opened_by_their_wear_and_cold_ones_are_found() {
    let info = ArrayInfo { channels: 1, lanes: 2, dies: 2, planes: 1, blocks: 4, pages: 2, sectors: 1 };
    let at = |die, group| GroupPlace { channel: 0, die, group };
    let known: BTreeMap<_, _> = [(at(0, 0), 7), (at(0, 1), 3), (at(0, 3), 11), (at(1, 2), 5)].into();
    let groups = || {
        let mut groups = Groups::first(&info, |_, _, _, _| false).levelled();
        groups.found_erases(&known);
        groups
    };
    // The third one counts as the mean of the others: 7.
    let mut of = groups();
    let opened: Vec<_> = (0..4).map(|_| of.open(0, 0, false).unwrap()).collect();
    assert_eq!(opened, [1, 0, 2, 3]);
    let mut of = groups();
    let opened: Vec<_> = (0..4).map(|_| of.open(0, 0, true).unwrap()).collect();
    assert_eq!(opened, [3, 0, 2, 1]);
    assert_eq!(of.open_whole(0, 1), Some(0), "all have five");
    let mut of = groups();
    assert_eq!([0; 3].map(|_| of.open(0, 0, false).unwrap()), [1, 0, 2]);
    let page = at(0, 1).page(0, 0);
    of.begin(page);
    of.gained(page);
    of.end(page);
    assert_eq!(of.coldest(1), None, "none is closed");
    (0..3).for_each(|group| of.close(at(0, group)));
    assert_eq!(of.coldest(8), Some(at(0, 1)));
    assert_eq!(of.coldest(9), None);
    let last = of.open(0, 0, true).unwrap();
    assert_eq!(of.coldest(8), None, "no group is free");
    of.close(at(0, last));
    of.release(at(0, last));
    of.lost(page);
    of.erased(at(0, 1));
    assert_eq!((of.erases(at(0, 1)), of.all_erases()), (4, 1));
    assert_eq!(of.coldest(8), None);
}

#[test]
fn the_newer_version_counts_and_of_one_version_the_place_that_was_copied_least() {
    let first = SectorRecord::data(7, 40);
    let newer = SectorRecord::data(7, 41);
    assert!(newer.is_before(first.version()) && !first.is_before(newer.version()));
    let mut copy = first;
    // Also where the number of copies comes round.
    for _ in 0..600 {
        let of = copy.copied(SectorKind::Data);
        assert_eq!((of.sector, of.sequence), (7, 40));
        assert!(
            copy.is_before(of.version()) && !of.is_before(copy.version()) && !copy.is_before(copy.version())
        );
        assert!(newer.is_before(of.version()) && !of.is_before(newer.version()));
        copy = of;
    }
}

/// The parts put together as an FTL would, with a flash that is a map from places to versions.
struct Model {
    map: Map,
    groups: Groups,
    frontier: Frontier,
    gather: Gather,
    flash: BTreeMap<SectorPlace, (u32, u64)>,
    memory: BTreeMap<(usize, u8), u64>,
    /// Pages on their way, whose ends are taken in their order.
    sent: VecDeque<(usize, PagePlace)>,
    newest: BTreeMap<u32, u64>,
    versions: u64,
}

impl Model {
    fn submit(&mut self, flush: bool) -> bool {
        let mut due = None;
        self.gather.send(flush, |page| due = Some(page));
        let Some(Due::Page(buffer)) = due else { return true };
        let Some(next) = self.frontier.next(&mut self.groups, Stream::Host, 0) else { return false };
        self.groups.begin(next.at);
        self.sent.push_back((buffer, next.at));
        true
    }
    fn end(&mut self) {
        let Some((buffer, page)) = self.sent.pop_front() else { return };
        for (slot, &sector) in (0..).zip(self.gather.sectors(buffer)) {
            let Some(sector) = sector else { continue };
            let version = self.memory[&(buffer, slot)];
            self.flash.insert(SectorPlace { page, slot }, (sector, version));
        }
        let (map, groups) = (&mut self.map, &mut self.groups);
        groups.end(page);
        self.gather.programmed(buffer, |slot, sector| {
            if let Some(before) = map.moved(sector, Some(SectorPlace { page, slot })) {
                groups.lost(before.page);
            }
            groups.gained(page);
        });
    }
    fn read(&self, sector: u32) -> Option<u64> {
        match self.gather.find(sector) {
            Some(waiting) => Some(self.memory[&(waiting.buffer, waiting.slot)]),
            None => self.map.place_of(sector).map(|place| {
                let (whose, version) = self.flash[&place];
                assert_eq!(whose, sector);
                version
            }),
        }
    }
    /// Frees a group that holds nothing, and counts what the emptiest one holds.
    fn collect(&mut self) -> bool {
        if let Some(at) = self.groups.chosen(&mut Emptiest, true) {
            let places = (0..self.map.sectors()).filter_map(|sector| self.map.place_of(sector));
            let valid = places.filter(|place| place.page.group() == at).count() as u32;
            assert_eq!(self.groups.valid(at), valid);
        }
        let Some(at) = self.groups.empty() else { return false };
        self.groups.release(at);
        self.flash.retain(|place, _| place.page.group() != at);
        true
    }
}

#[derive(Debug)]
struct Emptiest;

impl VictimPolicy for Emptiest {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        closed.oldest_of_fewest_valid()
    }
}

/// Many dies have no free group. All are emptied in their turn, or their stale sectors would be lost room.
#[test]
fn the_victim_is_the_emptiest_of_all_dies() {
    let mut groups = Groups::first(&INFO, |_, _, _, _| false);
    for (n, (channel, die)) in (0..).zip([(0, 0), (0, 1), (1, 0), (1, 1)]) {
        let group = groups.open(channel, die, false).unwrap();
        let at = GroupPlace { channel, die, group };
        for n in 0..24 {
            let page = at.page(n / 4, (n % 4) as u8);
            groups.begin(page);
            groups.end(page);
        }
        (0..60 - 10 * n).for_each(|_| groups.gained(at.page(0, 0)));
        groups.close(at);
    }
    for (channel, die) in [(1, 1), (1, 0), (0, 1), (0, 0)] {
        let victim = groups.chosen(&mut Emptiest, true).unwrap();
        assert_eq!((victim.channel, victim.die), (channel, die));
        while groups.valid(victim) > 0 {
            groups.lost(victim.page(0, 0));
        }
        groups.erased(victim);
        groups.release(victim);
    }
}

/// What a die of six pages and four lanes with four sectors a page offers.
#[test]
fn victims_are_groups_that_give_room_and_short_ones_go_first() {
    let info = ArrayInfo { channels: 1, dies: 1, ..INFO };
    let mut groups = Groups::first(&info, |_, _, _, _| false);
    let at = |group| GroupPlace { channel: 0, die: 0, group };
    let fill = |groups: &mut Groups, group: u16, valid: u32| {
        assert_eq!(groups.open(0, 0, false), Some(group));
        for n in 0..24 {
            let page = at(group).page(n / 4, (n % 4) as u8);
            assert_eq!(groups.begin(page), 0);
            groups.end(page);
        }
        (0..valid).for_each(|_| groups.gained(at(group).page(0, 0)));
        groups.close(at(group));
    };
    for (group, valid) in [(0, 90), (1, 60), (2, 81), (3, 96)] {
        fill(&mut groups, group, valid);
    }
    assert_eq!((groups.empty(), groups.emptiest_short()), (None, None));
    assert_eq!(groups.chosen(&mut Emptiest, true), Some(at(1)));
    // A page that is on its way, twice of one block.
    assert_eq!((groups.begin(at(1).page(5, 2)), groups.begin(at(1).page(5, 2))), (0, 1));
    assert_eq!(groups.chosen(&mut Emptiest, true), Some(at(2)), "no other gives a row of pages");
    assert_eq!(groups.chosen(&mut Emptiest, false), None, "no page waits for what it gives");
    let busy = [at(0).page(5, 2), at(2).page(5, 2)];
    busy.iter().for_each(|&page| _ = groups.begin(page));
    assert_eq!(groups.chosen(&mut Emptiest, true), None, "the last one is full");
    busy.iter().for_each(|&page| groups.end(page));
    groups.end(at(1).page(5, 2));
    groups.end(at(1).page(5, 2));
    // A group that a loss of power has closed.
    let short = groups.open(0, 0, false).unwrap();
    let page = at(short).page(0, 0);
    groups.begin(page);
    groups.end(page);
    (0..70).for_each(|_| groups.gained(page));
    groups.close(at(short));
    assert_eq!(groups.emptiest_short(), Some(at(short)));
    // A block that can't be written any more takes its share of the room.
    assert!(groups.kill(at(1).page(0, 3)) && !groups.kill(at(1).page(0, 3)));
    assert_eq!(groups.chosen(&mut Emptiest, true), Some(at(short)));
    for _ in 0..60 {
        groups.lost(at(1).page(0, 0));
    }
    assert_eq!(groups.empty(), Some(at(1)));
    groups.erased(at(1));
    groups.release(at(1));
    assert_eq!((groups.state(at(1)), groups.must_be_erased(at(1))), (GroupState::Free, false));
    assert_eq!(groups.alive(at(1))[..4], [1, 1, 1, NO_BLOCK]);
}

/// Else collection would count on groups that nobody can open, and have none left for its copies.
#[test]
fn a_free_group_that_cannot_be_written_any_more_is_not_free() {
    let info = ArrayInfo { channels: 1, dies: 1, lanes: 4, blocks: 4, ..INFO };
    let at = |group| GroupPlace { channel: 0, die: 0, group };
    // The last group has one lane, which would hold the sum.
    let groups = || Groups::first(&info, |_, _, lane, block| block == 3 && lane > 0);
    assert_eq!((groups().all_free(), groups().with_parity().all_free()), (4, 3));
    for parity in [false, true] {
        let mut groups = if parity { groups().with_parity() } else { groups() };
        (0..3).for_each(|lane| assert!(groups.kill(at(1).page(0, lane))));
        groups.kill(at(0).page(0, 3));
        assert_eq!(groups.all_free(), if parity { 2 } else { 4 });
        groups.kill(at(1).page(0, 3));
        assert_eq!((groups.all_free(), groups.state(at(1))), (if parity { 2 } else { 3 }, GroupState::Dead));
        // Power-on finds what it holds nevertheless.
        groups.found(at(1), 5);
        assert_eq!((groups.empty(), groups.has_free(0)), (Some(at(1)), true));
        groups.release(at(1));
        assert_eq!(groups.state(at(1)), GroupState::Dead);
        // A whole lane.
        assert_eq!(groups.kill_lane(0, 0, 0), 2 + u64::from(true));
        assert_eq!(groups.all_free(), 2);
        assert_eq!([0, 1].map(|_| groups.open(0, 0, false)), [Some(0), Some(2)]);
        assert_eq!((groups.open(0, 0, false), groups.all_free()), (None, 0));
    }
}

/// A group becomes empty in three ways: by losing its last sector, by being closed, and by being found so.
#[test]
fn a_closed_group_that_holds_nothing_is_found_at_once() {
    let info = ArrayInfo { channels: 1, dies: 1, ..INFO };
    let mut groups = Groups::first(&info, |_, _, _, _| false);
    let at = |group| GroupPlace { channel: 0, die: 0, group };
    let page = at(0).page(0, 0);
    assert_eq!(groups.open(0, 0, false), Some(0));
    groups.gained(page);
    groups.close(at(0));
    assert_eq!(groups.empty(), None);
    // While it is closed, a copy that power-on has found may come and go.
    for _ in 0..2 {
        groups.lost(page);
        assert_eq!(groups.empty(), Some(at(0)));
        groups.gained(page);
        assert_eq!(groups.empty(), None);
    }
    groups.lost(page);
    groups.release(at(0));
    assert_eq!(groups.empty(), None);
    assert_eq!(groups.open(0, 0, false), Some(1));
    groups.close(at(1));
    assert_eq!(groups.empty(), Some(at(1)));
    groups.found(at(3), 4);
    groups.release(at(1));
    assert_eq!(groups.empty(), Some(at(3)));
    groups.forget_all();
    assert_eq!(groups.empty(), None);
}

/// H33: a row on the lanes that are left is all that copies are padded to.
#[test]
fn what_a_victim_must_give_is_measured_by_the_lanes_that_are_left() {
    let info = ArrayInfo { channels: 1, dies: 1, blocks: 4, pages: 3, ..INFO };
    let mut groups = Groups::first(&info, |_, _, _, _| false).with_parity();
    let at = |group| GroupPlace { channel: 0, die: 0, group };
    let group = groups.open(0, 0, false).unwrap();
    // Of two lanes one has data: three pages of four sectors.
    (0..5).for_each(|_| groups.gained(at(group).page(0, 0)));
    groups.close(at(group));
    (2..4).for_each(|lane| _ = groups.kill_lane(0, 0, lane));
    assert_eq!(groups.chosen(&mut Emptiest, true), Some(at(group)));
    (0..4).for_each(|_| groups.gained(at(group).page(0, 0)));
    assert_eq!(groups.chosen(&mut Emptiest, true), None, "its copies take as much");
}

/// H19, H21: map, groups and buffers agree with a model after many operations.
#[test]
fn what_is_read_is_the_newest_version_wherever_it_is() {
    // Blocks of few pages, so that groups become empty while sectors are written over.
    let info = ArrayInfo { blocks: 40, pages: 2, ..INFO };
    let groups = Groups::first(&info, is_bad);
    let sectors = 160;
    let mut model = Model {
        map: Map::new(PlaceFormat::of(&info).unwrap(), sectors),
        groups,
        frontier: Frontier::new(&info),
        gather: Gather::new(5, info.sectors, info.lanes),
        flash: BTreeMap::new(),
        memory: BTreeMap::new(),
        sent: VecDeque::new(),
        newest: BTreeMap::new(),
        versions: 0,
    };
    let mut random = Rng::new(9);
    let (mut released, mut from_memory) = (0, 0);
    for _ in 0..100_000 {
        let sector = random.below(sectors.into()) as u32;
        match random.below(8) {
            0..4 => {
                while model.gather.put(sector, Gathered::Page).is_none() {
                    model.end();
                }
                let waiting = model.gather.find(sector).unwrap();
                model.versions += 1;
                model.memory.insert((waiting.buffer, waiting.slot), model.versions);
                model.newest.insert(sector, model.versions);
                let room = model.submit(false);
                assert!(room, "there are free groups");
            }
            4 => model.end(),
            5 if random.below(8) == 0 => {
                assert!(model.submit(true));
                while !model.sent.is_empty() {
                    model.end();
                }
                // All is in the flash now.
                for (&sector, &version) in &model.newest {
                    let place = model.map.place_of(sector).unwrap();
                    assert_eq!(model.flash[&place], (sector, version));
                }
            }
            6 if random.below(16) == 0 => {
                // A trim.
                model.gather.forget(sector);
                // Its page may still be on its way, and must not come back.
                if let Some(before) = model.map.moved(sector, None) {
                    model.groups.lost(before.page);
                }
                model.newest.remove(&sector);
            }
            _ => {
                released += u32::from(model.collect());
            }
        }
        from_memory += u32::from(model.gather.find(sector).is_some());
        assert_eq!(model.read(sector), model.newest.get(&sector).copied());
    }
    assert!(released > 500 && from_memory > 1_000, "{released} {from_memory}");
}

/// H33: what a lane lacks is the sum of the others of its row, and no other sum is a record.
#[test]
fn only_the_sum_of_all_others_of_a_row_is_a_record() {
    let record = |lane: u8| SectorRecord::data(77 + u32::from(lane) * 1_001, 40 + u64::from(lane) * 3);
    let kinds = [SectorKind::Data, SectorKind::Padding];
    for kind in kinds {
        for with_data in 1..8u8 {
            let parity = with_data;
            let of_lane = |lane| SectorRecord { kind, ..record(lane) }.encode(Mark::of_lane(lane));
            let sum = |lanes: &mut dyn Iterator<Item = u8>| {
                lanes.fold([0; RECORD_BYTES], |sum: [u8; RECORD_BYTES], lane| {
                    let bytes = of_lane(lane);
                    core::array::from_fn(|n| sum[n] ^ bytes[n])
                })
            };
            for lanes in 1u32..1 << (with_data + 1) {
                let has = |lane: u8| lanes >> lane & 1 != 0;
                // The page of parity is the sum of all lanes with data.
                let stored = |lane: u8| has(lane) != has(parity);
                let bytes = sum(&mut (0..with_data).filter(|&lane| stored(lane)));
                for lane in (0..=parity).filter(|&lane| !has(lane)) {
                    let is_whole = lanes | 1 << lane == (1 << (with_data + 1)) - 1;
                    let expected = is_whole && lane != parity;
                    let found = SectorRecord::decode(&bytes, Mark::of_lane(lane));
                    assert_eq!(found, expected.then(|| SectorRecord { kind, ..record(lane) }));
                }
                let alone = (0..with_data).filter(|&lane| stored(lane)).count() == 1;
                assert!(alone || (0..8).all(|l| SectorRecord::decode(&bytes, Mark::of_lane(l)).is_none()));
                assert_eq!(SectorRecord::decode(&bytes, Mark::NONE), None);
            }
        }
    }
}
