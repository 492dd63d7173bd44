//! The controller's DRAM as page buffers, and the front end's SRAM.

use crate::local::{Local, TAG_BYTES};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{BufferId, Content, SECTOR_BYTES};
use core::cell::{Ref, RefCell, RefMut};

/// The board's DRAM, shared by firmware, channels and DMA. Borrow it only inside synchronous code.
pub type SharedDram = Rc<Dram>;

/// Page buffers, each with room for the page's OOB. Data buffers are kept in the drive's [`Content`];
/// metadata buffers always hold every byte, since the map is real data even on a drive that keeps
/// fingerprints.
pub struct Dram {
    inner: RefCell<Buffers>,
}

/// The parts of a [`Dram`] that keep bytes.
enum Memory {
    Data,
    Metadata,
    Sram,
}

/// What the packet with some bytes of a place brings there or takes from there.
enum Carried {
    /// These bytes, from there on.
    Bytes(Memory, usize),
    /// A fingerprint, which stands there among the data buffers.
    Tag(usize),
    /// Nothing: bytes of a sector of which only the fingerprint is kept.
    Nothing,
}

/// The buffers behind a [`Dram`].
pub struct Buffers {
    content: Content,
    sectors: usize,
    oob_bytes: usize,
    data_buffers: u32,
    metadata_buffers: u32,
    data: Vec<u8>,
    metadata: Vec<u8>,
    oob: Vec<u8>,
    code_bytes: usize,
    codes: Vec<u8>,
    sram: Vec<u8>,
}

impl Dram {
    /// `data_buffers` buffers of `sectors` sectors in `content`, then `metadata_buffers` buffers with all
    /// their bytes, then `sram_bytes` of front-end memory.
    pub fn new(
        content: Content,
        sectors: u8,
        oob_bytes: u8,
        data_buffers: u32,
        metadata_buffers: u32,
        sram_bytes: usize,
    ) -> SharedDram {
        let buffers = (data_buffers, metadata_buffers);
        Dram::with_codes(content, sectors, oob_bytes, buffers, sram_bytes, 0)
    }

    /// As [`Dram::new`], with data and metadata buffers in one pair. Each buffer has a code area of
    /// `code_bytes` bytes for channels that only detect errors ([`CodeArea`](crate::codes::CodeArea)).
    pub fn with_codes(
        content: Content,
        sectors: u8,
        oob_bytes: u8,
        (data_buffers, metadata_buffers): (u32, u32),
        sram_bytes: usize,
        code_bytes: usize,
    ) -> SharedDram {
        let sectors = usize::from(sectors);
        let oob_bytes = usize::from(oob_bytes);
        Rc::new(Dram {
            inner: RefCell::new(Buffers {
                content,
                sectors,
                oob_bytes,
                data_buffers,
                metadata_buffers,
                data: vec![0; data_buffers as usize * sectors * content.sector_len()],
                metadata: vec![0; metadata_buffers as usize * sectors * SECTOR_BYTES],
                oob: vec![0; (data_buffers + metadata_buffers) as usize * oob_bytes],
                code_bytes,
                codes: vec![0; (data_buffers + metadata_buffers) as usize * code_bytes],
                sram: vec![0; sram_bytes],
            }),
        })
    }

    /// Borrows the buffers for reading.
    #[inline]
    pub fn borrow(&self) -> Ref<'_, Buffers> {
        self.inner.borrow()
    }
    /// Borrows the buffers for writing.
    #[inline]
    pub fn borrow_mut(&self) -> RefMut<'_, Buffers> {
        self.inner.borrow_mut()
    }
}

impl Buffers {
    /// How the data buffers keep content.
    pub fn content(&self) -> Content {
        self.content
    }
    /// How `buffer` keeps content.
    #[inline]
    pub fn content_of(&self, buffer: BufferId) -> Content {
        if buffer.0 < self.data_buffers { self.content } else { Content::Full }
    }
    /// The number of data buffers; they are numbered from 0.
    pub fn data_buffers(&self) -> u32 {
        self.data_buffers
    }
    /// The `n`th metadata buffer.
    pub fn metadata_buffer(&self, n: u32) -> BufferId {
        assert!(n < self.metadata_buffers, "metadata buffer {n} of {}", self.metadata_buffers);
        BufferId(self.data_buffers + n)
    }
    /// The number of metadata buffers.
    pub fn metadata_buffers(&self) -> u32 {
        self.metadata_buffers
    }
    /// 4 KiB sectors per buffer.
    pub fn sectors(&self) -> usize {
        self.sectors
    }

    #[inline]
    fn span(&self, buffer: BufferId) -> (bool, usize, usize) {
        let len = self.sectors * self.content_of(buffer).sector_len();
        if buffer.0 < self.data_buffers {
            (true, buffer.index() * len, len)
        } else {
            (false, (buffer.0 - self.data_buffers) as usize * len, len)
        }
    }

    /// A buffer's content, `sectors · sector_len` bytes in its [`Content`]'s scale. Panics on a buffer that
    /// doesn't exist: buffer numbers come from firmware, never from outside.
    #[inline]
    pub fn page(&self, buffer: BufferId) -> &[u8] {
        let (data, start, len) = self.span(buffer);
        if data { &self.data[start..start + len] } else { &self.metadata[start..start + len] }
    }
    /// As [`Buffers::page`], mutable.
    #[inline]
    pub fn page_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        let (data, start, len) = self.span(buffer);
        if data { &mut self.data[start..start + len] } else { &mut self.metadata[start..start + len] }
    }
    /// A buffer's OOB bytes.
    #[inline]
    pub fn oob(&self, buffer: BufferId) -> &[u8] {
        &self.oob[buffer.index() * self.oob_bytes..][..self.oob_bytes]
    }
    /// As [`Buffers::oob`], mutable.
    #[inline]
    pub fn oob_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        &mut self.oob[buffer.index() * self.oob_bytes..][..self.oob_bytes]
    }
    /// A buffer's page and OOB at once.
    #[inline]
    pub fn page_and_oob(&self, buffer: BufferId) -> (&[u8], &[u8]) {
        (self.page(buffer), self.oob(buffer))
    }
    /// As [`Buffers::page_and_oob`], mutable.
    #[inline]
    pub fn page_and_oob_mut(&mut self, buffer: BufferId) -> (&mut [u8], &mut [u8]) {
        let (data, start, len) = self.span(buffer);
        let page =
            if data { &mut self.data[start..start + len] } else { &mut self.metadata[start..start + len] };
        (page, &mut self.oob[buffer.index() * self.oob_bytes..][..self.oob_bytes])
    }

    /// Adds a buffer's page and OOB bit by bit to those of another one of its kind (H33).
    pub fn xor_into(&mut self, from: BufferId, into: BufferId) {
        fn add(all: &mut [u8], from: usize, into: usize, len: usize) {
            assert!(from.abs_diff(into) >= len, "a buffer isn't added to itself");
            let (low, high) = all.split_at_mut(from.max(into));
            let (source, sum) = match from < into {
                true => (&low[from..from + len], &mut high[..len]),
                false => (&high[..len], &mut low[into..into + len]),
            };
            sum.iter_mut().zip(source).for_each(|(sum, byte)| *sum ^= byte);
        }
        let ((kind, from_at, len), (other, into_at, _)) = (self.span(from), self.span(into));
        assert_eq!(kind, other, "both are data buffers, or both are not");
        add(if kind { &mut self.data } else { &mut self.metadata }, from_at, into_at, len);
        let oob = self.oob_bytes;
        add(&mut self.oob, from.index() * oob, into.index() * oob, oob);
    }
    /// A buffer's code area, which is empty unless channels only detect errors.
    pub fn codes(&self, buffer: BufferId) -> &[u8] {
        &self.codes[buffer.index() * self.code_bytes..][..self.code_bytes]
    }
    /// A buffer's page, OOB and code area at once, mutable.
    pub fn page_oob_and_codes_mut(&mut self, buffer: BufferId) -> (&mut [u8], &mut [u8], &mut [u8]) {
        let (data, start, len) = self.span(buffer);
        let page =
            if data { &mut self.data[start..start + len] } else { &mut self.metadata[start..start + len] };
        (
            page,
            &mut self.oob[buffer.index() * self.oob_bytes..][..self.oob_bytes],
            &mut self.codes[buffer.index() * self.code_bytes..][..self.code_bytes],
        )
    }
    /// Copies `bytes` bytes of a place to memory of the front end, as the data of a packet. Of a sector of
    /// which only the fingerprint is kept, the packet with the sector's end carries that, in its last
    /// [`TAG_BYTES`]; the other bytes of such packets mean nothing.
    pub fn copy_to_sram(&mut self, from: Local, to: usize, bytes: usize) {
        match self.carried(from, bytes) {
            Carried::Bytes(Memory::Sram, from) => self.sram.copy_within(from..from + bytes, to),
            Carried::Bytes(Memory::Data, from) => {
                self.sram[to..to + bytes].copy_from_slice(&self.data[from..from + bytes]);
            }
            Carried::Bytes(Memory::Metadata, from) => {
                self.sram[to..to + bytes].copy_from_slice(&self.metadata[from..from + bytes]);
            }
            Carried::Tag(from) => {
                let end = to + bytes;
                self.sram[end - TAG_BYTES..end].copy_from_slice(&self.data[from..from + TAG_BYTES]);
            }
            Carried::Nothing => {}
        }
    }
    /// As [`Buffers::copy_to_sram`], the other way round.
    pub fn copy_from_sram(&mut self, from: usize, to: Local, bytes: usize) {
        match self.carried(to, bytes) {
            Carried::Bytes(Memory::Sram, to) => self.sram.copy_within(from..from + bytes, to),
            Carried::Bytes(Memory::Data, to) => {
                self.data[to..to + bytes].copy_from_slice(&self.sram[from..from + bytes]);
            }
            Carried::Bytes(Memory::Metadata, to) => {
                self.metadata[to..to + bytes].copy_from_slice(&self.sram[from..from + bytes]);
            }
            Carried::Tag(to) => {
                let end = from + bytes;
                self.data[to..to + TAG_BYTES].copy_from_slice(&self.sram[end - TAG_BYTES..end]);
            }
            Carried::Nothing => {}
        }
    }
    /// Writes the data of a packet to a place; see [`Buffers::copy_to_sram`].
    pub fn write(&mut self, to: Local, bytes: &[u8]) {
        let length = bytes.len();
        match self.carried(to, length) {
            Carried::Bytes(Memory::Sram, to) => self.sram[to..to + length].copy_from_slice(bytes),
            Carried::Bytes(Memory::Data, to) => self.data[to..to + length].copy_from_slice(bytes),
            Carried::Bytes(Memory::Metadata, to) => self.metadata[to..to + length].copy_from_slice(bytes),
            Carried::Tag(to) => {
                self.data[to..to + TAG_BYTES].copy_from_slice(&bytes[length - TAG_BYTES..]);
            }
            Carried::Nothing => {}
        }
    }
    /// What a packet with `bytes` bytes of a place carries. Asserts that they lie in one buffer, and in one
    /// sector of it where that keeps fingerprints.
    fn carried(&self, place: Local, bytes: usize) -> Carried {
        let (buffer, offset) = match place {
            Local::Sram { offset } | Local::Tag { offset } => {
                return Carried::Bytes(Memory::Sram, offset as usize);
            }
            Local::Buffer { buffer, offset } => (buffer, offset as usize),
        };
        let (content, end) = (self.content_of(buffer), offset + bytes);
        assert!(end <= self.sectors * SECTOR_BYTES, "{bytes} bytes at {place:?}");
        let (data, start, _) = self.span(buffer);
        if content == Content::Full {
            return Carried::Bytes(if data { Memory::Data } else { Memory::Metadata }, start + offset);
        }
        assert!(offset % SECTOR_BYTES + bytes <= SECTOR_BYTES, "{bytes} bytes at {place:?} of two sectors");
        if bytes >= TAG_BYTES && end.is_multiple_of(SECTOR_BYTES) {
            return Carried::Tag(start + offset / SECTOR_BYTES * TAG_BYTES);
        }
        Carried::Nothing
    }

    /// The front end's memory: queue entries, PRP lists, identify data.
    #[inline]
    pub fn sram(&self) -> &[u8] {
        &self.sram
    }
    /// As [`Buffers::sram`], mutable.
    #[inline]
    pub fn sram_mut(&mut self) -> &mut [u8] {
        &mut self.sram
    }
}
