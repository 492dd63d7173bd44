//! What came of a vector: whether it ended as the model says, and what the model holds from then on.

use crate::model::Held;
use crate::{Ended, Host, Kind, METADATA_BYTES, SECTOR, Sent, content};
use aster_driver::VectorEnd;
use aster_tests::nowhere::Nowhere;
use aster_wire::nvme::Status;
use aster_wire::ocssd::{BlockFlags, Place, status};
use std::collections::BTreeSet;

impl Host {
    /// The blocks that an address of an erase means.
    pub fn of_erase(&self, place: Place, dual: bool) -> Vec<Place> {
        let planes = 0..self.model.geometry.planes;
        let block = place.block_start();
        planes.filter(|plane| dual || *plane == block.plane).map(|plane| Place { plane, ..block }).collect()
    }

    /// A vector has ended, or will not since the power went.
    pub fn settle(&mut self, sent: &Sent) {
        let Some((end, data, beside)) = self.ended(sent) else { return };
        match sent.kind {
            Kind::Write => self.settle_write(sent, end),
            Kind::Erase { dual } => self.settle_erase(sent, end, dual),
            Kind::Read => self.check_read(sent, end, &data, &beside),
        }
    }
    /// How a vector has ended whose pointers name memory.
    fn ended(&mut self, sent: &Sent) -> Option<Ended> {
        let ended = sent.end.borrow_mut().take();
        let Some((end, data, beside)) = ended else {
            self.in_flight(sent);
            return None;
        };
        self.seen.insert((sent.kind.opcode(), end.status.raw()));
        if let Some(nowhere) = sent.nowhere {
            self.check_nowhere(sent, nowhere, (end, &data, &beside));
            return None;
        }
        Some((end, data, beside))
    }
    /// A vector that no completion came of before the power went.
    pub fn in_flight(&mut self, sent: &Sent) {
        if sent.nowhere.is_some() {
            return;
        }
        for place in &sent.places {
            match sent.kind {
                Kind::Write => {
                    let held = Held::Unsure { before: None, after: Some(sent.version) };
                    self.model.written(*place, held);
                }
                Kind::Erase { dual } => {
                    self.of_erase(*place, dual).into_iter().for_each(|block| self.model.half_erased(block));
                }
                Kind::Read => {}
            }
        }
    }
    fn settle_write(&mut self, sent: &Sent, end: VectorEnd) {
        let failed = |n: usize| end.failed >> n & 1 != 0;
        assert_eq!(end.status == status::WRITE_FAIL, end.failed != 0, "{end:?}");
        assert!([status::WRITE_FAIL, Status::SUCCESS].contains(&end.status), "{end:?}");
        for (n, place) in sent.places.iter().enumerate() {
            let held = match failed(n) {
                true => Held::Unsure { before: None, after: Some(sent.version) },
                false => Held::Version(sent.version),
            };
            let keeps = self.model.block(*place).is_certain;
            self.model.written(*place, held);
            let block = self.model.block_mut(*place);
            block.is_certain &= keeps;
            if failed(n) {
                block.state = BlockFlags::GrownBad;
            }
        }
    }
    fn settle_erase(&mut self, sent: &Sent, end: VectorEnd, dual: bool) {
        assert_eq!(end.status == status::WRITE_FAIL, end.failed != 0, "{end:?}");
        assert!([status::WRITE_FAIL, Status::SUCCESS].contains(&end.status), "{end:?}");
        let states = self.tables();
        for (n, place) in sent.places.iter().enumerate() {
            let of = self.of_erase(*place, dual);
            let bad = |block: &Place| {
                states.iter().any(|(at, state)| at == block && *state == BlockFlags::GrownBad)
            };
            assert_eq!(of.iter().any(bad), end.failed >> n & 1 != 0, "{place}: the table tells what failed");
            for block in of {
                if bad(&block) {
                    self.model.half_erased(block);
                    self.model.block_mut(block).state = BlockFlags::GrownBad;
                } else {
                    self.model.erased(block);
                }
            }
        }
    }
    /// A vector has named memory that isn't there. It has changed nothing, as later reads will show. Without
    /// its list the drive doesn't know what the vector is.
    fn check_nowhere(&self, sent: &Sent, nowhere: Nowhere, (end, data, beside): (VectorEnd, &[u8], &[u8])) {
        let count = sent.places.len();
        if nowhere.is_of_a_list(count) {
            assert_eq!(end, VectorEnd { status: Status::DATA_TRANSFER_ERROR, failed: 0 }, "{nowhere:?}");
            return;
        }
        let unreadable = [status::EMPTY_PAGE, status::ECC_FAIL].contains(&end.status);
        if unreadable && nowhere.sector(count).is_some_and(|sector| end.failed >> sector & 1 != 0) {
            assert_eq!(sent.kind, Kind::Read);
            return self.check_read(sent, end, data, beside);
        }
        assert_eq!(end.status, status::TRANSFER_FAIL, "{nowhere:?} {end:?}");
        for (_, place) in sent.places.iter().enumerate().filter(|(n, _)| end.failed >> n & 1 != 0) {
            let is_unreadable = !matches!(self.model.held(*place), Held::Version(_));
            assert!(sent.kind == Kind::Read && is_unreadable, "{place}: {nowhere:?} {end:?}");
        }
    }
    fn check_read(&self, sent: &Sent, end: VectorEnd, data: &[u8], beside: &[u8]) {
        let marginal = end.status == status::HIGH_ECC;
        let mut must = BTreeSet::from([Status::SUCCESS.raw(), status::HIGH_ECC.raw()]);
        let sectors = data.chunks(SECTOR).zip(beside.chunks(METADATA_BYTES)).zip(&sent.places);
        for (n, ((data, beside), place)) in sectors.enumerate() {
            let failed = !marginal && end.failed >> n & 1 != 0;
            let is = |version| {
                (data, beside) == (&content(*place, version).0[..], &content(*place, version).1[..])
            };
            match self.model.held(*place) {
                Held::Factory => {
                    must.extend([status::EMPTY_PAGE.raw(), status::ECC_FAIL.raw()]);
                }
                Held::Erased => {
                    assert!(failed, "{place} holds nothing: {end:?}");
                    must.insert(status::EMPTY_PAGE.raw());
                }
                Held::Version(version) => assert!(!failed && is(version), "{place}: {end:?}"),
                Held::Unsure { before, after } => {
                    let known = before.into_iter().chain(after).any(is);
                    assert!(failed || known, "{place} holds what nobody wrote");
                    must.extend([status::EMPTY_PAGE.raw(), status::ECC_FAIL.raw()]);
                }
            }
        }
        let fails = [status::EMPTY_PAGE, status::ECC_FAIL].contains(&end.status);
        assert!(must.contains(&end.status.raw()), "{end:?}");
        assert_eq!(fails || marginal, end.failed != 0, "{end:?}");
    }
    /// As `settle` after a loss of power: the tables are those of now and not of then.
    pub fn settle_without_tables(&mut self, sent: &Sent) {
        let Some((end, data, beside)) = self.ended(sent) else { return };
        match sent.kind {
            Kind::Write if end.failed == 0 => {
                for place in &sent.places {
                    self.model.written(*place, Held::Version(sent.version));
                }
            }
            Kind::Erase { dual } if end.failed == 0 => {
                for place in &sent.places {
                    self.of_erase(*place, dual).into_iter().for_each(|block| self.model.erased(block));
                }
            }
            Kind::Read => self.check_read(sent, end, &data, &beside),
            Kind::Write | Kind::Erase { .. } => self.in_flight(sent),
        }
    }
}
