use core::fmt;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident($t:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $t);
        impl $name {
            /// As a slice index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index!(
    /// A channel of the drive, from 0.
    ChannelId(u16)
);
index!(
    /// A LUN counted over the whole drive, channel first: `(lun · ways + way) · channels + channel` (C70).
    /// Also called a die.
    LunIndex(u32)
);
index!(
    /// A block inside its LUN, planes included: the plane is the block address's low bits (ONFI 5.1 §3.1).
    BlockAddr(u32)
);
index!(
    /// A page inside its block.
    PageInBlock(u16)
);
index!(
    /// A row address as ONFI latches it, LUN bits included: page bits lowest, then block (plane lowest), then
    /// LUN (ONFI 5.1 §3.1).
    RowAddr(u32)
);
index!(
    /// A column: byte offset into a page register, spare included.
    Column(u16)
);
index!(
    /// A mapping unit as the host sees it: the number of what the FTL's map knows a place of.
    Lpn(u32)
);
index!(
    /// A page buffer in the controller's DRAM.
    BufferId(u32)
);

/// A physical page over the whole drive: `lun index · pages per LUN + block · pages per block + page`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppa(pub u32);

impl Ppa {
    /// The value that maps nowhere.
    pub const NONE: Ppa = Ppa(u32::MAX);
    /// True unless this is [`Ppa::NONE`].
    pub const fn is_some(self) -> bool {
        self.0 != u32::MAX
    }
}

impl fmt::Debug for Ppa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() { write!(f, "Ppa({})", self.0) } else { f.write_str("Ppa(none)") }
    }
}

/// Where a mapping unit is on flash: the physical page times the units of a page, plus the slot in it. The
/// same number as the page's where a unit is a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Upa(pub u32);

impl Upa {
    /// The value that maps nowhere.
    pub const NONE: Upa = Upa(u32::MAX);
    /// True unless this is [`Upa::NONE`].
    pub const fn is_some(self) -> bool {
        self.0 != u32::MAX
    }
}

impl fmt::Debug for Upa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() { write!(f, "Upa({})", self.0) } else { f.write_str("Upa(none)") }
    }
}

/// Where a LUN is: the channel, the way (its CE#), and the LUN behind that CE#.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LunAddr {
    /// The channel.
    pub channel: u16,
    /// The way: which chip enable of the channel.
    pub way: u8,
    /// The LUN behind the chip enable.
    pub lun: u8,
}

/// A page's place in full: the papers' location vector (C30, S21).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Location {
    /// The LUN.
    pub lun: LunAddr,
    /// The block inside the LUN, plane bits included.
    pub block: BlockAddr,
    /// The page inside the block.
    pub page: PageInBlock,
}

/// Sectors `first .. first + count` of a page; 4 KiB each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SectorRange {
    /// First sector.
    pub first: u8,
    /// How many; never 0.
    pub count: u8,
}

impl SectorRange {
    /// All `count` sectors of a page.
    pub const fn whole(count: u8) -> Self {
        SectorRange { first: 0, count }
    }
    /// One past the last sector.
    pub const fn end(self) -> u8 {
        self.first + self.count
    }
    /// The sectors as bits, sector 0 lowest.
    pub const fn mask(self) -> u16 {
        (((1u32 << self.count) - 1) << self.first) as u16
    }
}
