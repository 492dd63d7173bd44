//! What the host does next: legal vectors, and ones that must be refused.

use crate::{Host, Kind, QUEUE, SECTOR, Sent};
use aster_driver::{Moved, Vector, VectorEnd};
use aster_tests::nowhere::Nowhere;
use aster_wire::nvme::Status;
use aster_wire::ocssd::{Place, io, status};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

impl Host {
    /// A vector that is legal, and whose blocks none of `taken` names.
    pub fn draw(&mut self, taken: &mut BTreeSet<Place>) -> Option<Rc<Sent>> {
        let blocks: Vec<Place> = self.model.blocks.keys().copied().collect();
        let (kind, places) = match self.below(8) {
            0..4 => (Kind::Write, self.draw_write(&blocks, taken)),
            4 => {
                let dual = self.below(2) == 0;
                (Kind::Erase { dual }, self.draw_erase(&blocks, taken, dual))
            }
            _ => (Kind::Read, self.draw_read(&blocks, taken)),
        };
        if places.is_empty() {
            return None;
        }
        self.version += 1;
        let nowhere = if self.below(8) == 0 { self.draw_nowhere(kind, places.len()) } else { None };
        Some(Rc::new(Sent { kind, places, version: self.version, nowhere, end: RefCell::new(None) }))
    }
    /// A pointer that names no memory, if the vector has any.
    fn draw_nowhere(&mut self, kind: Kind, count: usize) -> Option<Nowhere> {
        let of = match kind {
            Kind::Write | Kind::Read => Nowhere::of_transfer(count),
            Kind::Erase { .. } if count > 1 => vec![Nowhere::Addresses],
            Kind::Erase { .. } => Vec::new(),
        };
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
    fn draw_write(&mut self, blocks: &[Place], taken: &mut BTreeSet<Place>) -> Vec<Place> {
        let mut places = Vec::new();
        let sectors = usize::from(self.model.geometry.sectors_per_page());
        let wanted = 1 + self.below(64 / sectors);
        for _ in 0..wanted {
            let block = blocks[self.below(blocks.len())];
            let state = self.model.block(block);
            let next = state.next().filter(|_| state.is_usable() && state.is_certain);
            if let Some(first) = next.filter(|_| taken.insert(block)) {
                let room = (64 - places.len()) / sectors;
                let left = usize::from(self.model.geometry.pages_per_block - first);
                let pages = 1 + self.below(left.min(3));
                for page in (first..).take(pages.min(room)) {
                    places.extend(self.model.page(Place { page, ..block }));
                }
            }
        }
        places
    }
    fn draw_erase(&mut self, blocks: &[Place], taken: &mut BTreeSet<Place>, dual: bool) -> Vec<Place> {
        let mut places = Vec::new();
        for _ in 0..1 + self.below(4) {
            let block = blocks[self.below(blocks.len())];
            let of = self.of_erase(block, dual);
            let usable = of.iter().all(|block| self.model.block(*block).is_usable());
            if usable && of.iter().all(|block| !taken.contains(block)) {
                taken.extend(&of);
                let page = self.below(usize::from(self.model.geometry.pages_per_block)) as u16;
                let sector = self.below(usize::from(self.model.geometry.sectors_per_page())) as u8;
                places.push(Place { page, sector, ..block });
            }
        }
        places
    }
    fn draw_read(&mut self, blocks: &[Place], taken: &BTreeSet<Place>) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        // Of many sectors one is almost always unreadable.
        let most = [4, 64][self.below(2)];
        for _ in 0..1 + self.below(most) {
            let block = blocks[self.below(blocks.len())];
            let (pages, sectors) =
                (self.model.geometry.pages_per_block, self.model.geometry.sectors_per_page());
            let page = self.below(pages.into()) as u16;
            let sector = self.below(sectors.into()) as u8;
            if !taken.contains(&block) {
                places.push(Place { page, sector, ..block });
                // Neighbours share a flash request, and some sectors come twice.
                if sector + 1 < sectors && places.len() < 64 {
                    places.push(Place { page, sector: sector + (self.below(2) as u8), ..block });
                }
            }
        }
        places.truncate(64);
        places
    }

    /// Sends a vector that must be refused, and checks that nothing was done.
    pub fn illegal(&mut self) {
        let (all, bad): (Vec<Place>, Vec<Place>) = (
            self.model.blocks.keys().copied().collect(),
            self.model.blocks.iter().filter(|(_, of)| !of.is_usable()).map(|(place, _)| *place).collect(),
        );
        let blocks = if bad.is_empty() || self.below(2) == 0 { all } else { bad };
        let block = blocks[self.below(blocks.len())];
        let state = self.model.block(block).clone();
        let before = self.totals();
        let page = self.below(usize::from(self.model.geometry.pages_per_block)) as u16;
        let at = Place { page, ..block };
        let (opcode, control, places, expected): (u8, u16, Vec<Place>, Status) = match self.below(5) {
            0 if !state.is_usable() => (io::WRITE, 0, self.model.page(at).collect(), status::PROTECTED_BLOCK),
            1 if !state.is_usable() => (io::ERASE, 0, vec![at], status::PROTECTED_BLOCK),
            0 | 1 if state.is_certain && state.next() != Some(page) => {
                (io::WRITE, 0, self.model.page(at).collect(), status::OUT_OF_ORDER)
            }
            2 => (io::WRITE, 2, vec![at], Status::INVALID_FIELD.with_dnr(true)),
            3 => (0x01, 0, vec![at], Status::ACCESS_DENIED.with_dnr(true)),
            4 => (io::WRITE_RAW, 0, vec![at], Status::INVALID_OPCODE.with_dnr(true)),
            _ => return,
        };
        let addresses: Vec<u64> = places.iter().map(|place| self.format.encode(*place)).collect();
        let end = self.run(async move |driver| {
            let data = vec![0x55; addresses.len() * SECTOR];
            let writes = [io::WRITE, io::WRITE_RAW].contains(&opcode);
            let data = if writes { Moved::ToDrive(&data) } else { Moved::Nothing };
            let vector = Vector { opcode, control, addresses: &addresses, data, metadata: Moved::Nothing };
            driver.send_vector(QUEUE, vector).await.unwrap()
        });
        // All of its addresses are in the block.
        let is_named = opcode != 0x01 && expected == status::PROTECTED_BLOCK;
        let failed = if is_named { (1 << places.len()) - 1 } else { 0 };
        assert_eq!(end, VectorEnd { status: expected, failed }, "{places:?}");
        self.seen.insert((opcode, end.status.raw()));
        assert_eq!(self.totals(), before, "a refused vector does nothing");
    }
    /// A vector with an address that the drive doesn't have.
    pub fn outside(&mut self) {
        let address = 1 << (20 + self.below(43));
        let before = self.totals();
        let end = self.run(async move |driver| {
            let addresses = [0, address];
            let vector = Vector {
                opcode: io::ERASE,
                control: 0,
                addresses: &addresses,
                data: Moved::Nothing,
                metadata: Moved::Nothing,
            };
            driver.send_vector(QUEUE, vector).await.unwrap()
        });
        assert_eq!(end.status, status::OUT_OF_GEOMETRY);
        self.seen.insert((io::ERASE, end.status.raw()));
        assert_eq!(self.totals(), before);
    }
}
