//! What the host is told of chunks without asking (P29): notifications in a log page, and the feature Media
//! Feedback.

use super::common::refuse;
use crate::nvm::NSID;
use alloc::collections::VecDeque;
use aster_parties::{AdminAnswer, Decoded, SetEvent};
use aster_wire::nvme::admin::{AdminCommand, GetFeatures, GetLogPage, SetFeatures};
use aster_wire::nvme::features::{FeatureCapabilities, FeatureSelect};
use aster_wire::nvme::{NSID_ALL, Sqe, Status};
use aster_wire::ocssd::v2::{MEDIA_FEEDBACK, MediaFeedback, NOTICES_LOG, Notice, NoticeState};
use zerocopy::IntoBytes;

/// Notifications that the drive keeps until the host has read them: a page of scratch memory.
const ENTRIES: usize = 64;
const ENTRY_BYTES: usize = size_of::<Notice>();

/// Notifications that the host has not read.
///
/// The log begins with the oldest. Reading it without retaining the event removes the notifications that were
/// sent. When there are too many, the oldest is lost, which the host sees by the next one's number.
#[derive(Debug, Default)]
pub(super) struct Notices {
    unread: VecDeque<Notice>,
    /// Notifications since power-on.
    count: u64,
}

impl Notices {
    /// Tells the host of `blocks` logical blocks from `first` on, unless it has yet to read just that.
    pub fn add(&mut self, namespace: u32, first: u64, blocks: u16, state: NoticeState) {
        let is_same = |notice: &Notice| {
            (notice.address.get(), notice.blocks.get(), notice.state.get()) == (first, blocks, state.0)
        };
        if self.unread.iter().any(is_same) {
            return;
        }
        if self.unread.len() == ENTRIES {
            self.unread.pop_front();
        }
        self.count += 1;
        self.unread.push_back(Notice::of_blocks(self.count, namespace, first, blocks, state));
    }
    /// The event that leads the host to the log.
    pub fn event(&self) -> Option<SetEvent> {
        (!self.unread.is_empty()).then_some(SetEvent { information: 0, log: NOTICES_LOG })
    }
    /// Fills `scratch` with the part of the log that the host asks for.
    pub fn log(&mut self, sqe: &Sqe, asked: &GetLogPage, scratch: &mut [u8]) -> Result<AdminAnswer, Status> {
        let size = ENTRIES * ENTRY_BYTES;
        let is_good = sqe.nsid.get() == NSID
            && asked.offset.is_multiple_of(size_of::<u32>() as u64)
            && asked.offset <= size as u64;
        if !is_good {
            return Err(refuse(Status::INVALID_FIELD));
        }
        // Bytes past the log's end are undefined (NVMe 1.4 §5.14), so none are sent.
        let offset = asked.offset as usize;
        let end = size.min(offset + asked.bytes().min(size as u64) as usize);
        for (notice, to) in self.unread.iter().zip(scratch.chunks_exact_mut(ENTRY_BYTES)) {
            to.copy_from_slice(notice.as_bytes());
        }
        scratch.copy_within(offset..end, 0);
        if !asked.control.retain_event() {
            self.unread.drain(..(end / ENTRY_BYTES).min(self.unread.len()));
        }
        match end - offset {
            0 => Ok(AdminAnswer::Decoded(Decoded::Done { result: 0 })),
            bytes => Ok(AdminAnswer::Data { bytes: bytes as u16 }),
        }
    }
}

/// Set Features and Get Features of Media Feedback; `None` for any other feature or command. The feature may
/// be named as the controller's or as the only namespace's.
pub(super) fn feature(
    value: &mut MediaFeedback,
    sqe: &Sqe,
    command: &AdminCommand,
) -> Option<Result<AdminAnswer, Status>> {
    let (is_own, done) = match command {
        AdminCommand::GetFeatures(get) => (get.control.feature_id() == MEDIA_FEEDBACK, asked(*value, get)),
        AdminCommand::SetFeatures(set) => (set.control.feature_id() == MEDIA_FEEDBACK, given(set)),
        _ => return None,
    };
    if !is_own {
        return None;
    }
    if !matches!(sqe.nsid.get(), 0 | NSID | NSID_ALL) {
        return Some(Err(refuse(Status::INVALID_NAMESPACE_OR_FORMAT)));
    }
    Some(done.map(|done| {
        let result = match done {
            Feature::Is(result) => result,
            Feature::Becomes(new) => {
                *value = new;
                0
            }
        };
        AdminAnswer::Decoded(Decoded::Done { result: result.into() })
    }))
}

enum Feature {
    Is(u32),
    Becomes(MediaFeedback),
}

fn asked(value: MediaFeedback, get: &GetFeatures) -> Result<Feature, Status> {
    match get.select() {
        Some(FeatureSelect::Current) => Ok(Feature::Is(value.0)),
        // A feature that can't be saved returns its default as its saved value (NVMe 1.4 §5.13).
        Some(FeatureSelect::Default | FeatureSelect::Saved) => Ok(Feature::Is(0)),
        Some(FeatureSelect::Capabilities) => Ok(Feature::Is(FeatureCapabilities(0).with_changeable(true).0)),
        None => Err(refuse(Status::INVALID_FIELD)),
    }
}

fn given(set: &SetFeatures) -> Result<Feature, Status> {
    if set.control.save() {
        return Err(refuse(Status::FEATURE_NOT_SAVEABLE));
    }
    let asked = MediaFeedback(set.dword11);
    let known = MediaFeedback(0).with_reads(asked.reads()).with_vector_reads(asked.vector_reads());
    Ok(Feature::Becomes(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use zerocopy::FromBytes;

    fn worn(n: u64) -> (u64, u16, NoticeState) {
        (n * 8, 4, NoticeState(0).with_high_ecc(true))
    }
    fn read(notices: &mut Notices, offset: u64, entries: u64, retain: bool) -> Vec<u64> {
        let mut sqe = Sqe::new(2, 0);
        sqe.nsid = NSID.into();
        let mut asked = GetLogPage { offset, ..GetLogPage::new(NOTICES_LOG, entries * 16) };
        asked.control = asked.control.with_retain_event(retain);
        let mut scratch = vec![0; 4096];
        let AdminAnswer::Data { bytes } = notices.log(&sqe, &asked, &mut scratch).unwrap() else {
            return vec![];
        };
        let entries = scratch[..usize::from(bytes)].chunks(ENTRY_BYTES);
        let numbers = entries.map(|bytes| Notice::read_from_bytes(bytes).unwrap().number.get());
        numbers.collect()
    }

    #[test]
    fn the_log_begins_with_the_oldest_notification_that_the_host_has_not_read() {
        let mut notices = Notices::default();
        assert!(notices.event().is_none());
        for n in [0, 1, 2, 1, 3] {
            let (first, blocks, state) = worn(n);
            notices.add(NSID, first, blocks, state);
        }
        assert_eq!(read(&mut notices, 0, 6, true), [1, 2, 3, 4, 0, 0], "none twice");
        assert_eq!(read(&mut notices, 0, 2, false), [1, 2]);
        assert_eq!(notices.event(), Some(SetEvent { information: 0, log: 0xd0 }));
        assert_eq!(read(&mut notices, 64, 1, true), [4]);
        assert_eq!(read(&mut notices, 0, 64, false)[..3], [3, 4, 0]);
        assert!(notices.event().is_none());
        assert_eq!(read(&mut notices, 4096, 1, false), [], "the log's end");
        // The same once more is news again.
        let (first, blocks, state) = worn(1);
        notices.add(NSID, first, blocks, state);
        assert_eq!(read(&mut notices, 0, 1, false), [5]);
    }

    #[test]
    fn of_a_host_that_never_reads_the_newest_notifications_are_kept() {
        let mut notices = Notices::default();
        for n in 0..1000 {
            let (first, blocks, state) = worn(n);
            notices.add(NSID, first, blocks, state);
        }
        let found = read(&mut notices, 0, 64, false);
        assert!(found.into_iter().eq(937..=1000));
    }
}
