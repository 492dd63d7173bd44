//! The double words that all headers share.

use core::fmt;

bit_fields! {
    /// The first double word of a header (PCIe 4.0 §2.2.1), its first byte in the upper bits.
    pub struct FirstDword(u32) {
        /// Data in double words; 0 for 1,024.
        length, with_length: 0, 10 => u16;
        /// Address type.
        translation, with_translation: 10, 2 => u8;
        /// Caches need not be asked.
        no_snoop, with_no_snoop: 12, 1 => bool;
        /// May pass others.
        relaxed, with_relaxed: 13, 1 => bool;
        /// The data are known to be wrong.
        poisoned, with_poisoned: 14, 1 => bool;
        /// A digest follows the data.
        digest, with_digest: 15, 1 => bool;
        /// Processing hints are in the address's low bits.
        hints, with_hints: 16, 1 => bool;
        /// Lightweight notification.
        notification, with_notification: 17, 1 => bool;
        /// Ordered by its requester alone.
        id_ordered, with_id_ordered: 18, 1 => bool;
        /// Tag bit 8.
        tag_8, with_tag_8: 19, 1 => bool;
        /// Traffic class.
        traffic_class, with_traffic_class: 20, 3 => u8;
        /// Tag bit 9.
        tag_9, with_tag_9: 23, 1 => bool;
        /// Type.
        kind, with_kind: 24, 5 => u8;
        /// Four double words of header.
        long, with_long: 29, 1 => bool;
        /// Data follow.
        data, with_data: 30, 1 => bool;
        /// It is a prefix.
        prefix, with_prefix: 31, 1 => bool;
    }
}

bit_fields! {
    /// The second double word of a request (PCIe 4.0 §2.2.6.2). Of a message, its low byte is the code.
    pub struct RequestDword(u32) {
        /// Byte enables of the first double word.
        first_enables, with_first_enables: 0, 4 => u8;
        /// Byte enables of the last double word.
        last_enables, with_last_enables: 4, 4 => u8;
        /// Low bits of the tag.
        tag, with_tag: 8, 8 => u8;
        /// Who asks.
        requester, with_requester: 16, 16 => u16;
    }
}

/// A function: bus 15:8, device 7:3, function 2:0 (PCIe 4.0 §2.2.4.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FunctionId(pub u16);

/// A transaction's number among those that its requester has outstanding: 10 bits, of which 5, 8 or all are
/// in use (PCIe 4.0 §2.2.6.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tag(u16);

impl Tag {
    /// The tag with this number. Asserts that it has 10 bits.
    pub const fn new(number: u16) -> Self {
        assert!(number < 1024, "a tag has ten bits");
        Tag(number)
    }
    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
    pub(super) const fn low(self) -> u8 {
        (self.0 & 0xff) as u8
    }
    pub(super) const fn of(first: FirstDword, low: u8) -> Self {
        Tag((first.tag_9() as u16) << 9 | (first.tag_8() as u16) << 8 | low as u16)
    }
}

/// What a header says beside its type (PCIe 4.0 §2.2.6.3 to §2.2.6.6, §2.7.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attributes {
    /// Traffic class, 0 to 7.
    pub traffic_class: u8,
    /// May pass others.
    pub relaxed: bool,
    /// Ordered by its requester alone.
    pub id_ordered: bool,
    /// Caches need not be asked.
    pub no_snoop: bool,
    /// Its data are known to be wrong.
    pub poisoned: bool,
}

impl FirstDword {
    /// A header's first double word.
    pub(super) fn new(kind: u8, attributes: Attributes, tag: Tag) -> Self {
        FirstDword(0)
            .with_kind(kind)
            .with_traffic_class(attributes.traffic_class)
            .with_relaxed(attributes.relaxed)
            .with_id_ordered(attributes.id_ordered)
            .with_no_snoop(attributes.no_snoop)
            .with_poisoned(attributes.poisoned)
            .with_tag_8(tag.number() >> 8 & 1 == 1)
            .with_tag_9(tag.number() >> 9 & 1 == 1)
    }
    /// With data of so many double words, 1 to 1,024.
    pub(super) fn with_dwords(self, dwords: u16) -> Self {
        assert!((1..=1024).contains(&dwords), "{dwords} double words of data");
        self.with_length(dwords & 1023)
    }
    /// The length in double words, 1 to 1,024.
    pub(super) fn dwords(self) -> u16 {
        match self.length() {
            0 => 1024,
            dwords => dwords,
        }
    }
    pub(super) fn attributes(self) -> Attributes {
        Attributes {
            traffic_class: self.traffic_class(),
            relaxed: self.relaxed(),
            id_ordered: self.id_ordered(),
            no_snoop: self.no_snoop(),
            poisoned: self.poisoned(),
        }
    }
}

/// Why received bytes are no packet that can be dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlpError {
    /// The bytes aren't as many as the header says.
    Length {
        /// Bytes received.
        bytes: usize,
        /// Bytes that the header promises.
        expected: usize,
    },
    /// Fmt and Type, as the header's first byte has them, name nothing that is dealt with (PCIe 4.0 §2.2.1).
    Type(u8),
    /// A digest, processing hints, lightweight notification or an address type: nobody has enabled them.
    NotEnabled,
    /// A reserved field isn't 0.
    Reserved,
    /// The length and the byte enables contradict each other or PCIe 4.0 §2.2.5.
    ByteEnables,
    /// A memory request reaches over a 4 KiB boundary (PCIe 4.0 §2.2.7).
    Boundary,
    /// An address below 4 GiB in a header of four double words, or one above in three (PCIe 4.0 §2.2.4.1).
    LongAddress,
    /// A configuration or I/O request that isn't for one double word of traffic class 0 (PCIe 4.0 §2.2.7).
    OneDword,
    /// A completion whose status, byte count and length contradict each other (PCIe 4.0 §2.2.9).
    Completion,
}

impl fmt::Display for TlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlpError::Length { bytes, expected } => {
                write!(f, "a packet of {bytes} bytes whose header says {expected}")
            }
            TlpError::Type(raw) => write!(f, "format and type {raw:#04x} are reserved or not supported"),
            TlpError::NotEnabled => {
                f.write_str("a digest, hints, a notification or an address type that nobody has enabled")
            }
            TlpError::Reserved => f.write_str("a reserved field is not 0"),
            TlpError::ByteEnables => f.write_str("byte enables that a request of this length can't have"),
            TlpError::Boundary => f.write_str("a memory request across a 4 KiB boundary"),
            TlpError::LongAddress => f.write_str("an address in the format that is not its own"),
            TlpError::OneDword => {
                f.write_str("a configuration or I/O request that is not for one double word of class 0")
            }
            TlpError::Completion => {
                f.write_str("a completion whose status, byte count and length contradict each other")
            }
        }
    }
}

impl core::error::Error for TlpError {}
