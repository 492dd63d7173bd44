//! The host's root complex: it carries requests out in host memory, and cuts answers into completions.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::credits::Credit;
use aster_ports::host::DmaDirection;
use aster_ports::link::{LinkOp, Local, MAX_SEGMENTS, Segment, TAG_BYTES};
use aster_units::{Content, SECTOR_BYTES};
use aster_wire::pcie::tlp::{
    Attributes, Completion, CompletionStatus, Completions, DWORD_BYTES, FunctionId, MemoryRequest, Tag,
    TlpHeader,
};

/// Posted requests that it has room for.
const POSTED: u16 = 64;
/// Reads that it works on at a time.
const READS: u16 = 64;
/// Most bytes of a read.
const READ_BYTES: usize = 4096;
/// The root complex, bus 0.
pub(super) const ROOT: FunctionId = FunctionId(0);
/// Tokens of reads in the host's memory port; those of writes are below.
const READ_TOKEN: u32 = 1 << 16;

/// What has gone wrong, by what the root complex says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RootStats {
    /// Requests for what is no memory, which were answered by Unsupported Request, or dropped if posted.
    pub unsupported: u64,
    /// Packets that were none (PCIe 4.0 §2.3.1), among them writes with more data than Max_Payload_Size.
    pub malformed: u64,
}

/// A read that is in work.
#[derive(Clone, Copy)]
struct Read {
    tag: Tag,
    requester: FunctionId,
    address: u64,
    bytes: u32,
}

/// What an arrived request asks for.
pub(super) enum Asked {
    /// Carry this out in host memory.
    Memory(LinkOp),
    /// Answer the read in this slot: it is for bytes that nobody keeps.
    Answer(u16),
    /// Nothing: it is dropped.
    Nothing,
}

/// The sector of host memory that ends with these bytes.
fn sector_that_ends(address: u64, bytes: u32) -> Option<Segment> {
    let (sector, length) = (SECTOR_BYTES as u64, SECTOR_BYTES as u32);
    let before = address % sector;
    let ends = bytes as usize >= TAG_BYTES && before + u64::from(bytes) == sector;
    ends.then(|| Segment { address: address - before, length })
}

/// A completion to send.
pub(super) struct Answer {
    pub(super) header: [u8; 16],
    pub(super) header_bytes: u8,
    /// Where its data are in the SRAM, and how many bytes: whole double words.
    pub(super) data: (u32, u32),
    /// The last one of its read.
    pub(super) last: bool,
}

/// The state of a root complex. Its buffers are a part of the drive's SRAM object, which is what link
/// operations reach.
pub(super) struct Root {
    /// Where its buffers begin in the SRAM.
    at: usize,
    /// Most payload bytes of a packet that the function offers.
    payload: u32,
    posted: Vec<u16>,
    /// The credits of the packet in each place.
    needs: Box<[Credit]>,
    free_reads: Vec<u16>,
    reads: Box<[Option<Read>]>,
    stats: RootStats,
}

impl Root {
    /// A root complex with buffers from `at` on, for packets of at most `payload` bytes of data.
    pub(super) fn new(at: usize, payload: u32) -> Self {
        Root {
            at,
            payload,
            posted: (0..POSTED).rev().collect(),
            needs: vec![Credit::default(); usize::from(POSTED)].into_boxed_slice(),
            free_reads: (0..READS).rev().collect(),
            reads: vec![None; usize::from(READS)].into_boxed_slice(),
            stats: RootStats::default(),
        }
    }
    /// Bytes of SRAM that its buffers take.
    pub(super) fn sram_bytes(payload: u32) -> usize {
        usize::from(POSTED) * payload as usize + usize::from(READS) * READ_BYTES
    }
    /// Operations in host memory that it has at a time.
    pub(super) const OPERATIONS: usize = POSTED as usize + READS as usize;
    /// The credits that it grants at first, by class: posted, non-posted, and completions, of which none
    /// come.
    pub(super) fn credits(payload: u32) -> [Credit; 3] {
        let posted = Credit::of_packet(payload).data;
        // At most half of a counter's range (PCIe 4.0 §2.6.1.2).
        let data = (u32::from(posted) * u32::from(POSTED)).min(2048) as u16;
        [Credit { headers: POSTED, data }, Credit { headers: READS, data: 0 }, Credit::default()]
    }
    pub(super) fn stats(&self) -> RootStats {
        self.stats
    }

    /// A place for a posted packet, for which there were credits, and where its data go.
    pub(super) fn take_place(&mut self, needs: Credit) -> (u16, usize) {
        let place = self.posted.pop().expect("a credit is a place");
        self.needs[usize::from(place)] = needs;
        (place, self.place_at(place))
    }
    /// Frees a place, and returns the credits of its packet.
    pub(super) fn free_place(&mut self, place: u16) -> Credit {
        self.posted.push(place);
        self.needs[usize::from(place)]
    }
    fn place_at(&self, place: u16) -> usize {
        self.at + usize::from(place) * self.payload as usize
    }
    fn read_at(&self, slot: u16) -> usize {
        self.at + usize::from(POSTED) * self.payload as usize + usize::from(slot) * READ_BYTES
    }

    /// A request has arrived, of whose data `place` was filled. `max_payload` is what may be in it.
    pub(super) fn request(
        &mut self,
        header: &[u8],
        place: Option<u16>,
        max_payload: u32,
        (epoch, content): (u32, Content),
    ) -> Asked {
        let request = match TlpHeader::parse(header) {
            Ok((TlpHeader::Memory(request), _)) if request.payload_bytes() <= max_payload as usize => request,
            _ => {
                self.stats.malformed += 1;
                return Asked::Nothing;
            }
        };
        let (address, bytes) = request.span();
        let within = (address % DWORD_BYTES as u64) as u32;
        let (token, at, direction) = match place {
            Some(place) => (u32::from(place), self.place_at(place), DmaDirection::ToHost),
            None => {
                let slot = self.begin_read(&request, address, bytes);
                (READ_TOKEN | u32::from(slot), self.read_at(slot), DmaDirection::FromHost)
            }
        };
        let at = at as u32 + within;
        let (local, segment) = match content {
            Content::Full => (Local::Sram { offset: at }, Segment { address, length: bytes }),
            // The packet with a sector's end carries its fingerprint, in its last bytes.
            Content::Fingerprint => match sector_that_ends(address, bytes) {
                Some(sector) => (Local::Tag { offset: at + bytes - TAG_BYTES as u32 }, sector),
                None if direction == DmaDirection::ToHost => return Asked::Nothing,
                None => return Asked::Answer(token as u16),
            },
        };
        let mut segments = [Segment::default(); MAX_SEGMENTS];
        segments[0] = segment;
        Asked::Memory(LinkOp::Dma { direction, local, segments, count: 1, token, epoch })
    }
    fn begin_read(&mut self, request: &MemoryRequest, address: u64, bytes: u32) -> u16 {
        let slot = self.free_reads.pop().expect("a credit is a slot");
        let read = Read { tag: request.tag, requester: request.requester, address, bytes };
        self.reads[usize::from(slot)] = Some(read);
        slot
    }
    /// The place of the write, or the slot of the read that a token names.
    pub(super) fn of_token(token: u32) -> Result<u16, u16> {
        if token & READ_TOKEN == 0 { Ok(token as u16) } else { Err(token as u16) }
    }
    /// The write in `place` has ended. It is not answered, whatever became of it: it was posted. Returns its
    /// credits.
    pub(super) fn written(&mut self, place: u16, good: bool) -> Credit {
        self.stats.unsupported += u64::from(!good);
        self.free_place(place)
    }
    /// Answers the read in `slot`: passes its completions to `send`, split at `boundary`, each with at most
    /// `max_payload` bytes (PCIe 4.0 §2.3.1.1); or one without data if `good` is false.
    pub(super) fn answer(
        &mut self,
        slot: u16,
        good: bool,
        boundary: u32,
        max_payload: u32,
        mut send: impl FnMut(Answer),
    ) {
        let Read { tag, requester, address, bytes } = self.reads[usize::from(slot)].expect("it is in work");
        if !good {
            self.stats.unsupported += 1;
            let none = Completion::without_data(ROOT, CompletionStatus::Unsupported, requester, tag);
            return send(Answer::of(none, 0, true));
        }
        let within = (address % DWORD_BYTES as u64) as u32;
        let at = self.read_at(slot) as u32;
        for part in Completions::new(address, bytes, boundary, max_payload) {
            let completion = Completion {
                completer: ROOT,
                status: CompletionStatus::Success,
                byte_count: part.byte_count,
                requester,
                tag,
                lower_address: part.lower_address,
                dwords: part.dwords,
                attributes: Attributes::default(),
            };
            let from = at + (within + part.offset) / DWORD_BYTES as u32 * DWORD_BYTES as u32;
            send(Answer::of(completion, from, part.offset + part.bytes == bytes));
        }
    }
    /// The last completion of the read in `slot` has left. Returns its bytes.
    pub(super) fn end_read(&mut self, slot: u16) -> u32 {
        self.free_reads.push(slot);
        self.reads[usize::from(slot)].take().map_or(0, |read| read.bytes)
    }
}

impl Answer {
    fn of(completion: Completion, from: u32, last: bool) -> Self {
        let data = (from, u32::from(completion.dwords) * DWORD_BYTES as u32);
        let mut header = [0; 16];
        let header_bytes = TlpHeader::Completion(completion).encode(&mut header) as u8;
        Answer { header, header_bytes, data, last }
    }
}
