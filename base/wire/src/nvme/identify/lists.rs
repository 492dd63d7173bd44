use core::fmt;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Namespace identifiers in one namespace list.
pub const NAMESPACE_LIST_MAX: usize = 1024;
/// Controller identifiers in one controller list.
pub const CONTROLLER_LIST_MAX: usize = 2047;

/// A namespace list: up to 1,024 ascending identifiers, zero-filled (NVMe 1.4 §4.10). Also the changed
/// namespace log.
#[derive(Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NamespaceList {
    ids: [U32; NAMESPACE_LIST_MAX],
}

impl NamespaceList {
    /// The identifiers above `after` among `ids`, as many as fit. `ids` must be ascending.
    pub fn after(after: u32, ids: impl IntoIterator<Item = u32>) -> Self {
        let mut list = NamespaceList::new_zeroed();
        for (to, id) in list.ids.iter_mut().zip(ids.into_iter().filter(|&id| id > after)) {
            *to = U32::new(id);
        }
        list
    }
    /// The identifiers, up to the first zero.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ids.iter().map(|id| id.get()).take_while(|&id| id != 0)
    }
    /// Views the list in bytes from outside; `None` unless there are at least 4,096.
    pub fn view(bytes: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(bytes).ok().map(|(view, _)| view)
    }
}

/// A controller list: a count and up to 2,047 ascending identifiers (NVMe 1.4 §4.9).
#[derive(Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ControllerList {
    count: U16,
    ids: [U16; CONTROLLER_LIST_MAX],
}

impl ControllerList {
    /// The identifiers at or above `from` among `ids`, as many as fit. `ids` must be ascending.
    pub fn starting_at(from: u16, ids: impl IntoIterator<Item = u16>) -> Self {
        let mut list = ControllerList::new_zeroed();
        let mut count = 0;
        for (to, id) in list.ids.iter_mut().zip(ids.into_iter().filter(|&id| id >= from)) {
            *to = U16::new(id);
            count += 1;
        }
        list.count = U16::new(count);
        list
    }
    /// The identifiers. A count beyond the list's end is cut.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.ids.iter().take(usize::from(self.count.get())).map(|id| id.get())
    }
    /// Views the list in bytes from outside; `None` unless there are at least 4,096.
    pub fn view(bytes: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(bytes).ok().map(|(view, _)| view)
    }
}

wire_enum! {
    /// Type of a namespace identifier (NVMe 1.4 §5.15.2.4).
    pub enum DescriptorType(u8) {
        Eui64 = 0x01, "IEEE extended unique identifier";
        Nguid = 0x02, "namespace globally unique identifier";
        Uuid = 0x03, "namespace UUID";
    }
}

/// One namespace identification descriptor (NVMe 1.4 §5.15.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamespaceDescriptor {
    /// EUI64, big-endian.
    Eui64([u8; 8]),
    /// NGUID, big-endian.
    Nguid([u8; 16]),
    /// UUID, big-endian (RFC 4122).
    Uuid([u8; 16]),
}

impl NamespaceDescriptor {
    const HEADER_BYTES: usize = 4;

    fn parts(&self) -> (DescriptorType, &[u8]) {
        match self {
            NamespaceDescriptor::Eui64(id) => (DescriptorType::Eui64, id),
            NamespaceDescriptor::Nguid(id) => (DescriptorType::Nguid, id),
            NamespaceDescriptor::Uuid(id) => (DescriptorType::Uuid, id),
        }
    }
}

/// Writes a zero-filled descriptor list. Asserts that it fits, which any list of distinct types does in 4,096
/// bytes.
pub fn write_descriptors(descriptors: &[NamespaceDescriptor], out: &mut [u8]) {
    out.fill(0);
    let mut at = 0;
    for (kind, id) in descriptors.iter().map(NamespaceDescriptor::parts) {
        let end = at + NamespaceDescriptor::HEADER_BYTES + id.len();
        assert!(end <= out.len(), "the descriptor list does not fit");
        out[at] = kind.raw();
        out[at + 1] = id.len() as u8;
        out[at + NamespaceDescriptor::HEADER_BYTES..end].copy_from_slice(id);
        at = end;
    }
}

/// Why a descriptor list cannot be read further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DescriptorError {
    /// A descriptor runs past the list's end.
    Truncated,
    /// A known type with a wrong length.
    WrongLength(DescriptorType),
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescriptorError::Truncated => f.write_str("a namespace descriptor runs past the end of its list"),
            DescriptorError::WrongLength(kind) => {
                write!(f, "a namespace descriptor has a wrong length: {kind}")
            }
        }
    }
}

impl core::error::Error for DescriptorError {}

/// Reads a descriptor list from outside. Unknown types are skipped; a zero length ends the list.
#[derive(Clone, Debug)]
pub struct NamespaceDescriptors<'a> {
    rest: &'a [u8],
}

impl<'a> NamespaceDescriptors<'a> {
    /// A reader over the bytes that Identify returned.
    pub const fn new(bytes: &'a [u8]) -> Self {
        NamespaceDescriptors { rest: bytes }
    }
}

impl Iterator for NamespaceDescriptors<'_> {
    type Item = Result<NamespaceDescriptor, DescriptorError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let &[kind, length, _, _, ref rest @ ..] = self.rest else { return None };
            if length == 0 {
                self.rest = &[];
                return None;
            }
            let Some((id, rest)) = rest.split_at_checked(usize::from(length)) else {
                self.rest = &[];
                return Some(Err(DescriptorError::Truncated));
            };
            self.rest = rest;
            let Some(kind) = DescriptorType::from_raw(kind) else { continue };
            let descriptor = match kind {
                DescriptorType::Eui64 => id.try_into().map(NamespaceDescriptor::Eui64),
                DescriptorType::Nguid => id.try_into().map(NamespaceDescriptor::Nguid),
                DescriptorType::Uuid => id.try_into().map(NamespaceDescriptor::Uuid),
            };
            return Some(descriptor.map_err(|_| DescriptorError::WrongLength(kind)));
        }
    }
}
