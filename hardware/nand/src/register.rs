//! A plane's page register.

use alloc::vec;
use alloc::vec::Vec;
use aster_ports::layout::PageLayout;
use aster_ports::package::{DataOut, PageData};
use aster_units::{BlockAddr, Column, Content, PageInBlock};

/// What a page register holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    /// Undefined data: after power-on, RESET, or a failed array operation.
    Nothing,
    /// All ones: an erased page, or a register just cleared for a program.
    Erased,
    /// Plain content, before the stages' encoding, in the register's scale.
    Page,
    /// Literal bytes of the raw page.
    Bytes,
}

/// Sectors that a register shows but that haven't been copied from the cells. Copying is deferred, so
/// that a read copies only what the host asks for, not the whole page. The cells keep the data until the
/// block is erased; the sectors are fetched before that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lying {
    pub block: BlockAddr,
    pub page: PageInBlock,
    /// Sectors not fetched yet, as bits, sector 0 lowest; at least one.
    pub sectors: u16,
}

/// One page register with the bit errors of the read that filled it. Its buffers grow to the size that a
/// drive uses, and are kept.
#[derive(Debug)]
pub(crate) struct Register {
    pub holds: Holds,
    /// The scale of `data`.
    pub content: Content,
    pub data: Vec<u8>,
    /// The part of `data` that hasn't been fetched yet.
    pub lying: Option<Lying>,
    pub oob: Vec<u8>,
    pub seed: u32,
    /// Literal bytes of the whole raw page.
    pub bytes: Vec<u8>,
    /// Bits that read wrong, ascending.
    pub flips: Vec<u32>,
}

impl Register {
    pub fn new(layout: &PageLayout, content: Content) -> Self {
        Register {
            holds: Holds::Nothing,
            content,
            data: vec![0; usize::from(layout.sectors()) * content.sector_len()],
            lying: None,
            oob: vec![0; usize::from(layout.oob_bytes())],
            seed: 0,
            bytes: Vec::new(),
            flips: Vec::with_capacity(64),
        }
    }

    /// Discards the content.
    #[inline]
    pub fn invalidate(&mut self) {
        self.holds = Holds::Nothing;
        self.lying = None;
        self.flips.clear();
    }

    /// Sets all ones, as 80h does (ONFI 5.1, PAGE PROGRAM).
    #[inline]
    pub fn clear(&mut self) {
        self.holds = Holds::Erased;
        self.lying = None;
        self.flips.clear();
    }

    /// Copies a page into the register.
    #[inline]
    pub fn set_page(&mut self, page: &PageData<'_>) {
        self.holds = Holds::Page;
        self.content = page.content;
        self.lying = None;
        copy(&mut self.data, page.data);
        copy(&mut self.oob, page.oob);
        self.seed = page.seed;
        self.flips.clear();
    }

    /// Puts literal bytes at `column`; columns never written read FFh.
    pub fn set_bytes(&mut self, raw_bytes: usize, column: usize, from: &[u8]) {
        if self.holds != Holds::Bytes {
            self.fill_bytes(raw_bytes, 0xff);
        }
        self.bytes[column..column + from.len()].copy_from_slice(from);
    }

    /// Sets literal bytes, all `value`.
    pub fn fill_bytes(&mut self, raw_bytes: usize, value: u8) {
        self.holds = Holds::Bytes;
        self.lying = None;
        self.bytes.clear();
        self.bytes.resize(raw_bytes, value);
        self.flips.clear();
    }

    /// The sectors of `wanted` that haven't been fetched from the cells.
    #[inline]
    pub fn lacks(&self, wanted: u16) -> u16 {
        self.lying.map_or(0, |lying| lying.sectors & wanted)
    }

    /// What it drives from `column` on. The register must hold something, and the sectors of the burst
    /// must have been fetched.
    #[inline]
    pub fn out(&self, column: u32, length: u32) -> DataOut<'_> {
        self.out_of(&self.data, column, length)
    }

    /// As [`Register::out`], for a page whose sectors are `data`.
    #[inline]
    pub fn out_of<'a>(&'a self, data: &'a [u8], column: u32, length: u32) -> DataOut<'a> {
        let burst = column as usize..(column + length) as usize;
        // An empty burst at the page's end would start at a column that 16 bits don't hold. It shows
        // nothing anyway.
        let column = Column(column as u16);
        match self.holds {
            Holds::Nothing => unreachable!("a LUN without data drives nothing"),
            Holds::Erased => DataOut::Erased { column, flips: &self.flips },
            Holds::Page => DataOut::Page { column, page: self.page_of(data), flips: &self.flips },
            Holds::Bytes => DataOut::Bytes(&self.bytes[burst]),
        }
    }

    /// The page that it holds, plain, with the sectors `data`.
    #[inline]
    fn page_of<'a>(&'a self, data: &'a [u8]) -> PageData<'a> {
        PageData { content: self.content, data, oob: &self.oob, seed: self.seed }
    }
}

#[inline]
fn copy(into: &mut Vec<u8>, from: &[u8]) {
    if into.len() == from.len() {
        into.copy_from_slice(from);
    } else {
        into.clear();
        into.extend_from_slice(from);
    }
}
