//! The properties of the few pages that aren't plain content in the drive's scale: other seeds, literal
//! bytes, injected errors.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// How a page's content is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Plain, in the drive's scale.
    Plain,
    /// Programmed with all ones.
    Blank,
    /// Literal bytes of the raw page.
    Raw,
    /// Plain with every byte, on a drive that keeps fingerprints.
    Whole,
}

/// A page's entry.
#[derive(Debug)]
pub(crate) struct Side {
    pub form: Form,
    /// The seed, if it isn't that of the row.
    pub seed: Option<u32>,
    /// The program was interrupted or failed.
    pub torn: bool,
    /// The bytes of [`Form::Raw`] and [`Form::Whole`]; with an image, they are in the page's slot
    /// instead.
    pub bytes: Option<Vec<u8>>,
    /// The checksums of those bytes' parts, if the bytes are in the slot.
    pub sums: Vec<u8>,
    /// Injected bits that read wrong.
    pub injected: Vec<u32>,
}

impl Side {
    /// A page without special properties.
    const PLAIN: Side = Side {
        form: Form::Plain,
        seed: None,
        torn: false,
        bytes: None,
        sums: Vec::new(),
        injected: Vec::new(),
    };
}

/// The entries of a LUN by page number in the LUN.
#[derive(Debug)]
pub(crate) struct SideTable {
    pages: BTreeMap<u32, Side>,
    // Buffers of erased pages, for reuse.
    spare: Vec<Vec<u8>>,
    buffer_bytes: usize,
}

impl SideTable {
    /// A table whose buffers hold up to `buffer_bytes`.
    pub fn new(buffer_bytes: usize) -> Self {
        SideTable { pages: BTreeMap::new(), spare: Vec::new(), buffer_bytes }
    }

    pub fn get(&self, page: u32) -> Option<&Side> {
        self.pages.get(&page)
    }

    /// The entry of a page. Creates a plain one if there is none.
    pub fn entry(&mut self, page: u32) -> &mut Side {
        self.pages.entry(page).or_insert(Side::PLAIN)
    }

    /// Creates a page's entry. `bytes` is empty if it has none in memory.
    pub fn put(&mut self, page: u32, form: Form, seed: Option<u32>, torn: bool, bytes: &[u8]) {
        let kept = (!bytes.is_empty()).then(|| {
            let mut buffer = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(self.buffer_bytes));
            buffer.clear();
            buffer.extend_from_slice(bytes);
            buffer
        });
        self.pages
            .insert(page, Side { form, seed, torn, bytes: kept, sums: Vec::new(), injected: Vec::new() });
    }

    /// Removes the entries of pages `first .. first + count`.
    pub fn remove(&mut self, first: u32, count: u32) {
        while let Some((&page, _)) = self.pages.range(first..first + count).next() {
            if let Some(Side { bytes: Some(buffer), .. }) = self.pages.remove(&page) {
                self.spare.push(buffer);
            }
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        let buffers = self.pages.values().filter(|s| s.bytes.is_some()).count() + self.spare.len();
        let injected: usize =
            self.pages.values().map(|s| s.injected.capacity() * 4 + s.sums.capacity()).sum();
        (buffers * self.buffer_bytes + injected + self.pages.len() * size_of::<(u32, Side)>()) as u64
    }
}
