//! What the firmware's tasks wait for, other than flash operations and host DMA, which have events of
//! their own.

/// What a task of the FTL waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Wait {
    /// A data buffer entry that other tasks hold or write to flash.
    BufferEntry,
    /// Room in the LUN, which garbage collection makes.
    Room,
    /// A log page that must be written first.
    LogPage,
    /// A merge buffer.
    MergeBuffer,
    /// Room in the queue of flash requests.
    FlashQueue,
    /// The command's other slices.
    Slices,
    /// Other tasks' pages of the same word line.
    WordLine,
    /// Room in the write buffer of an FTL on the host.
    WriteBuffer,
    /// The programs of what that write buffer holds.
    Flush,
    /// A page of the host's page cache: that it is read, is written back, or becomes free.
    PageCache,
    /// The answer of a drive that the host has sent a command.
    Drive,
    /// The erase of what an FTL on the host writes next.
    Erase,
    /// Room for changes of a map on flash, which writing translation pages makes.
    MapRoom,
}

impl Wait {
    /// All in the order of their numbers.
    pub const ALL: [Wait; 13] = [
        Wait::BufferEntry,
        Wait::Room,
        Wait::LogPage,
        Wait::MergeBuffer,
        Wait::FlashQueue,
        Wait::Slices,
        Wait::WordLine,
        Wait::WriteBuffer,
        Wait::Flush,
        Wait::PageCache,
        Wait::Drive,
        Wait::Erase,
        Wait::MapRoom,
    ];
    /// The reason with this number in events.
    pub fn of_number(number: u8) -> Option<Wait> {
        Self::ALL.get(usize::from(number)).copied()
    }
    /// Whether another task has what is waited for, and tells when it lets go of it
    /// ([`EntryReleased`](crate::Event::EntryReleased)).
    pub const fn has_holder(self) -> bool {
        matches!(self, Wait::BufferEntry | Wait::WriteBuffer | Wait::Flush)
    }
    /// Its number in events.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reasons_number_is_its_alone() {
        for wait in Wait::ALL {
            assert_eq!(Wait::of_number(wait.number()), Some(wait));
        }
        assert_eq!(Wait::of_number(Wait::ALL.len() as u8), None);
    }
}
