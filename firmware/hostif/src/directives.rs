//! Directives of the NVM command set (NVMe 1.4 §9): Identify, and streams that the host names.

use alloc::vec::Vec;
use aster_parties::{AdminAnswer, Decoded, Issued};
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::directive::{
    Directive, DirectiveType, DirectivesSupported, EnableDword12, StreamParameters, operation,
};
use aster_wire::nvme::{NSID_ALL, Status};
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32};

type Answer = Result<AdminAnswer, Status>;

const fn refuse<T>(status: Status) -> Result<T, Status> {
    Err(status.with_dnr(true))
}

/// Streams that a drive offers its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamOffer {
    /// The most that may be open at a time: at least 1.
    pub streams: u8,
    /// Bytes of a write that suits a stream: a multiple of each logical block that the drive offers.
    pub write_bytes: u32,
    /// Such writes in what a stream fills at a time.
    pub granularity: u16,
}

/// A stream identifier that is open.
#[derive(Clone, Copy, Debug)]
struct OpenStream {
    identifier: u16,
    // The drive's stream, from 1 on.
    stream: u8,
    // The number of the write that used it last.
    used: u64,
}

/// The state of the directives. Whether streams are enabled, which are allocated and which are open doesn't
/// survive a controller level reset.
#[derive(Clone, Debug)]
pub(crate) struct Directives {
    offer: StreamOffer,
    enabled: bool,
    // Streams that the namespace has for itself; 0 for none.
    allocated: u8,
    // In no order; at most as many as the offer has.
    open: Vec<OpenStream>,
    writes: u64,
}

impl Directives {
    pub(crate) fn new(offer: StreamOffer) -> Self {
        let open = Vec::with_capacity(offer.streams.into());
        Directives { offer, enabled: false, allocated: 0, open, writes: 0 }
    }
    /// Back to the state after power-on.
    pub(crate) fn reset(&mut self) {
        (self.enabled, self.allocated) = (false, 0);
        self.open.clear();
    }
    /// A format releases all stream identifiers (NVMe 1.4 §9.3).
    pub(crate) fn formatted(&mut self) {
        self.open.clear();
    }

    /// The drive's stream for a write that has this directive; 0 for none.
    ///
    /// # Errors
    /// Invalid Field for a directive that isn't there or isn't enabled (NVMe 1.4 §6.15).
    pub(crate) fn of_write(&mut self, directive: u8, specific: u16) -> Result<u8, Status> {
        match DirectiveType::from_raw(directive) {
            Some(DirectiveType::Identify) => Ok(0),
            Some(DirectiveType::Streams) if self.enabled => {
                Ok(if specific == 0 { 0 } else { self.use_stream(specific) })
            }
            _ => refuse(Status::INVALID_FIELD),
        }
    }
    /// The stream of an identifier. An identifier that isn't open is opened; if there is no stream left, the
    /// one that was used the longest time ago is closed for it (NVMe 1.4 §9.3).
    fn use_stream(&mut self, identifier: u16) -> u8 {
        self.writes += 1;
        let (used, most) = (self.writes, self.open_max());
        if let Some(open) = self.open.iter_mut().find(|open| open.identifier == identifier) {
            open.used = used;
            return open.stream;
        }
        if self.open.len() >= most {
            let oldest = (0..self.open.len()).min_by_key(|&at| self.open[at].used);
            self.open.swap_remove(oldest.expect("there is at least one stream"));
        }
        let is_free = |stream: &u8| self.open.iter().all(|open| open.stream != *stream);
        let stream = (1..=self.offer.streams).find(is_free).expect("fewer are open than there are");
        self.open.push(OpenStream { identifier, stream, used });
        stream
    }
    /// The most streams that may be open: those of the namespace if it has any, or else all.
    fn open_max(&self) -> usize {
        match self.allocated {
            0 => self.offer.streams.into(),
            allocated => allocated.into(),
        }
    }

    /// Answers an admin command; `None` if it isn't one of directives.
    pub(crate) fn admin(&mut self, issued: &Issued, scratch: &mut [u8]) -> Option<Answer> {
        let nsid = issued.sqe.nsid.get();
        let (directive, sends) = match AdminCommand::decode(issued.sqe) {
            Ok(AdminCommand::DirectiveSend(directive)) => (directive, true),
            Ok(AdminCommand::DirectiveReceive(directive)) => (directive, false),
            _ => return None,
        };
        let of_all = nsid == NSID_ALL;
        if nsid != issued.namespace.nsid && !of_all {
            return Some(refuse(Status::INVALID_NAMESPACE_OR_FORMAT));
        }
        let kind = DirectiveType::from_raw(directive.control.directive());
        Some(match (kind, sends, directive.control.operation()) {
            (Some(DirectiveType::Identify), true, operation::ENABLE) => self.enable(&directive),
            (Some(DirectiveType::Identify), false, operation::DIRECTIVES) if !of_all => {
                self.directives(&directive, scratch)
            }
            (Some(DirectiveType::Streams), sends, operation) if self.enabled => match (sends, operation) {
                (true, operation::RELEASE_IDENTIFIER) if !of_all => {
                    let identifier = directive.control.specific();
                    self.open.retain(|open| open.identifier != identifier);
                    done(0)
                }
                (true, operation::RELEASE_RESOURCES) => {
                    self.allocated = 0;
                    done(0)
                }
                (false, operation::PARAMETERS) => self.parameters(&directive, of_all, issued, scratch),
                (false, operation::STATUS) => self.status(&directive, of_all, scratch),
                (false, operation::ALLOCATE_RESOURCES) if !of_all => self.allocate(&directive),
                _ => refuse(Status::INVALID_FIELD),
            },
            // A host asks for the numbers before it enables the directive.
            (Some(DirectiveType::Streams), false, operation::PARAMETERS) => {
                self.parameters(&directive, of_all, issued, scratch)
            }
            _ => refuse(Status::INVALID_FIELD),
        })
    }
    fn enable(&mut self, directive: &Directive) -> Answer {
        let what = EnableDword12(directive.dword12);
        if DirectiveType::from_raw(what.directive()) != Some(DirectiveType::Streams) {
            return refuse(Status::INVALID_FIELD);
        }
        if what.enable() {
            self.enabled = true;
        } else {
            self.reset();
        }
        done(0)
    }
    fn directives(&self, directive: &Directive, scratch: &mut [u8]) -> Answer {
        let bit = |kind: DirectiveType| 1 << kind.raw();
        let (answer, _) = DirectivesSupported::mut_from_prefix(scratch).expect("scratch memory is a page");
        answer.supported[0] = bit(DirectiveType::Identify) | bit(DirectiveType::Streams);
        answer.enabled[0] =
            bit(DirectiveType::Identify) | if self.enabled { bit(DirectiveType::Streams) } else { 0 };
        data(directive)
    }
    /// Of all namespaces only what holds for each of them is told.
    fn parameters(&self, directive: &Directive, of_all: bool, issued: &Issued, scratch: &mut [u8]) -> Answer {
        let open = self.open.len() as u16;
        let shared = self.allocated == 0;
        let (answer, _) = StreamParameters::mut_from_prefix(scratch).expect("scratch memory is a page");
        answer.streams_max = U16::new(self.offer.streams.into());
        answer.available = U16::new((self.offer.streams - self.allocated).into());
        answer.open = U16::new(if shared { open } else { 0 });
        answer.write_blocks = U32::new(self.offer.write_bytes >> issued.namespace.block_bytes_log2);
        answer.granularity = U16::new(self.offer.granularity);
        if !of_all {
            answer.namespace_allocated = U16::new(self.allocated.into());
            answer.namespace_open = U16::new(open);
        }
        data(directive)
    }
    /// The open identifiers, in order; of all namespaces those that use what is allocated to none.
    fn status(&self, directive: &Directive, of_all: bool, scratch: &mut [u8]) -> Answer {
        let told = if of_all && self.allocated > 0 { &[][..] } else { &self.open[..] };
        let mut identifiers: Vec<u16> = told.iter().map(|open| open.identifier).collect();
        identifiers.sort_unstable();
        let numbers = core::iter::once(identifiers.len() as u16).chain(identifiers);
        for (bytes, number) in scratch.chunks_exact_mut(2).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        data(directive)
    }
    fn allocate(&mut self, directive: &Directive) -> Answer {
        let requested = directive.dword12 as u16;
        if self.allocated > 0 || requested == 0 {
            return refuse(Status::INVALID_FIELD);
        }
        self.allocated = requested.min(self.offer.streams.into()) as u8;
        // Open streams beyond the new bound are closed, those that were used the longest time ago first.
        self.open.sort_unstable_by_key(|open| core::cmp::Reverse(open.used));
        self.open.truncate(self.allocated.into());
        done(self.allocated.into())
    }
}

fn done(result: u64) -> Answer {
    Ok(AdminAnswer::Decoded(Decoded::Done { result }))
}

/// As many bytes of the scratch memory as the host asks for, a page at most.
fn data(directive: &Directive) -> Answer {
    Ok(AdminAnswer::Data { bytes: directive.bytes().min(4096) as u16 })
}
