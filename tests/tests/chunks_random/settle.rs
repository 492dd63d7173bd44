//! What came of a command: whether it ended as the model says, and what the model holds from then on.

use crate::model::Held;
use crate::{BLOCKS, Ended, Host, Kind, METADATA_BYTES, SECTOR, Sent, content, feedback, of, stretches};
use aster_driver::VectorEnd;
use aster_tests::nowhere::Nowhere;
use aster_wire::nvme::Status;
use aster_wire::ocssd::io;
use aster_wire::ocssd::v2::{COPY, ChunkDescriptor, ChunkFlags, status};
use std::collections::BTreeSet;

impl Sent {
    /// Whether its completion has a bit for each block.
    fn is_vector(&self) -> bool {
        [io::WRITE, io::READ, io::ERASE, COPY].contains(&self.opcode)
    }
    /// Whether chunks are reset by it, although one of its pointers may name no memory.
    fn is_reset(&self) -> bool {
        self.kind == Kind::Reset && matches!(self.nowhere, None | Some(Nowhere::Metadata))
    }
}

impl Host {
    /// A command has ended. Vectors have a bit for each block that failed, commands of NVMe have none.
    /// `now` is what the drive reports since.
    pub fn settle(&mut self, sent: &Sent, (end, data, beside): &Ended, now: &[ChunkDescriptor]) {
        self.seen.insert(end.status.raw());
        if let Some(nowhere) = sent.nowhere.filter(|_| !sent.is_reset()) {
            return self.check_nowhere(sent, nowhere, (*end, data, beside));
        }
        let is_vector = sent.is_vector();
        let failed = |n: usize| match is_vector {
            true => end.failed >> n & 1 != 0,
            false => !end.status.is_success() && end.status != status::HIGH_ECC,
        };
        assert!(is_vector || end.failed == 0, "{end:?}");
        match sent.kind {
            Kind::Copy if [status::UNWRITTEN, status::ECC_FAIL].contains(&end.status) => {
                self.check_unread(sent, *end);
            }
            Kind::Write | Kind::Copy => {
                let all: Vec<bool> = (0..sent.blocks.len()).map(failed).collect();
                let held = self.stored(sent);
                assert!(!held.iter().any(Held::is_lost), "a copy of what can't be read: {sent:?}");
                let mut closes = false;
                for (first, count) in stretches(&sent.blocks) {
                    let (chunk, at) = self.chunk_of(sent.blocks[first]);
                    assert_eq!(at, chunk.written);
                    let range = first..first + count;
                    closes |= chunk.written(&held[range.clone()], &all[range], &of(now, chunk.first));
                }
                let told = match all.iter().any(|failed| *failed) {
                    _ if closes => status::CLOSED_EARLY,
                    true => status::WRITE_NEXT_UNIT,
                    false => Status::SUCCESS,
                };
                assert_eq!(end.status, told, "{end:?}");
            }
            Kind::Reset => {
                // A deallocation doesn't say which of its chunks went offline. The report does.
                let is_offline =
                    |block: &u64| of(now, block - block % BLOCKS).state() == Some(ChunkFlags::Offline);
                let offline: Vec<bool> = sent.blocks.iter().map(is_offline).collect();
                let told = match offline.contains(&true) {
                    // The chunks were reset, but their descriptors have no place to go.
                    _ if sent.nowhere.is_some() => Status::DATA_TRANSFER_ERROR,
                    true => status::OFFLINE,
                    false => Status::SUCCESS,
                };
                assert_eq!(end.status, told, "{end:?}");
                for (n, block) in sent.blocks.iter().enumerate() {
                    let (chunk, _) = self.chunk_of(*block);
                    assert!(offline[n] || !chunk.is_closed_early(), "{chunk:?} goes offline");
                    assert!(!is_vector || failed(n) == offline[n], "{chunk:?} {end:?}");
                    chunk.reset(offline[n]);
                }
            }
            Kind::Read => self.check_read(sent, *end, is_vector, (data, beside)),
        }
    }
    /// What the blocks of a write or a copy hold once it is done.
    fn stored(&mut self, sent: &Sent) -> Vec<Held> {
        match sent.kind {
            Kind::Copy => sent.sources.iter().map(|block| self.held(*block)).collect(),
            _ => sent.stamps.iter().map(|stamp| Held::Version(*stamp)).collect(),
        }
    }
    fn held(&mut self, block: u64) -> Held {
        let (chunk, at) = self.chunk_of(block);
        chunk.blocks[at]
    }
    /// A copy has told that sources could not be read. It has written nothing, as the report will show.
    fn check_unread(&mut self, sent: &Sent, end: VectorEnd) {
        let mut unwritten_only = true;
        for (n, source) in sent.sources.iter().enumerate() {
            let (failed, held) = (end.failed >> n & 1 != 0, self.held(*source));
            match held {
                Held::Nothing => assert!(failed, "{source:x}h holds nothing: {end:?}"),
                Held::Version(_) => assert!(!failed, "{source:x}h: {end:?}"),
                Held::Unsure { .. } => assert!(failed || !held.is_lost(), "{source:x}h: {end:?}"),
            }
            unwritten_only &= !failed || held == Held::Nothing;
        }
        assert!(end.failed != 0, "{end:?}");
        assert!(!unwritten_only || end.status == status::UNWRITTEN, "{end:?}");
    }
    /// A command has named memory that isn't there. It has changed nothing, as report and later reads
    /// will show.
    fn check_nowhere(
        &mut self,
        sent: &Sent,
        nowhere: Nowhere,
        (end, data, beside): (VectorEnd, &[u8], &[u8]),
    ) {
        let (count, is_vector) = (sent.blocks.len(), sent.is_vector());
        let failed = |n: usize| !is_vector || end.failed >> n & 1 != 0;
        let unreadable = [status::UNWRITTEN, status::ECC_FAIL].contains(&end.status);
        if sent.kind == Kind::Read && unreadable && nowhere.sector(count).is_some_and(failed) {
            return self.check_read(sent, end, is_vector, (data, beside));
        }
        assert_eq!(end.status, Status::DATA_TRANSFER_ERROR, "{nowhere:?} {end:?}");
        let may_fail = sent.kind == Kind::Read && is_vector && !nowhere.is_of_a_list(count);
        assert!(may_fail || end.failed == 0, "{nowhere:?} {end:?}");
        for (_, block) in sent.blocks.iter().enumerate().filter(|(n, _)| end.failed >> n & 1 != 0) {
            let held = self.held(*block);
            assert!(!matches!(held, Held::Version(_)), "{block:x}h: {nowhere:?} {end:?}");
        }
    }
    fn check_read(&mut self, sent: &Sent, end: VectorEnd, is_vector: bool, (data, beside): (&[u8], &[u8])) {
        let marginal = end.status == status::HIGH_ECC;
        let asked = feedback(&self.profile);
        assert!(!marginal || if is_vector { asked.vector_reads() } else { asked.reads() }, "{end:?}");
        let fails = [status::UNWRITTEN, status::ECC_FAIL].contains(&end.status);
        let mut must = BTreeSet::from([Status::SUCCESS.raw(), status::HIGH_ECC.raw()]);
        let read = data.chunks(SECTOR).zip(beside.chunks(METADATA_BYTES));
        for (n, (read, block)) in read.zip(&sent.blocks).enumerate() {
            let failed = fails && (!is_vector || end.failed >> n & 1 != 0);
            let is = |stamp| {
                let (data, beside) = content(stamp);
                read == (&data[..], &beside[..])
            };
            let (chunk, at) = self.chunk_of(*block);
            match chunk.blocks[at] {
                Held::Nothing => {
                    assert!(failed, "{block:x}h holds nothing: {end:?}");
                    must.insert(status::UNWRITTEN.raw());
                }
                Held::Version(stamp) => assert!(!failed && is(stamp), "{block:x}h: {end:?}"),
                Held::Unsure { before, after } => {
                    let known = before.into_iter().chain(after).any(is);
                    assert!(failed || known, "{block:x}h holds what nobody wrote");
                    must.extend([status::UNWRITTEN.raw(), status::ECC_FAIL.raw()]);
                }
            }
        }
        assert!(must.contains(&end.status.raw()), "{end:?}");
        assert!(!is_vector || (fails || marginal) == (end.failed != 0), "{end:?}");
    }
    /// No completion came of a command before the power went.
    pub fn in_flight(&mut self, sent: &Sent, now: &[ChunkDescriptor]) {
        if sent.nowhere.is_some() && !sent.is_reset() {
            return;
        }
        match sent.kind {
            Kind::Write | Kind::Copy => {
                let held = self.stored(sent);
                for (first, count) in stretches(&sent.blocks) {
                    let (chunk, _) = self.chunk_of(sent.blocks[first]);
                    chunk.learn_write(&held[first..first + count], &of(now, chunk.first));
                }
            }
            Kind::Reset => {
                for block in &sent.blocks {
                    let (chunk, _) = self.chunk_of(*block);
                    chunk.learn_reset(&of(now, chunk.first));
                }
            }
            Kind::Read => {}
        }
    }
}
