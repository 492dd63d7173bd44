/// A field's value, from the number that it is written as.
trait FieldValue: Sized {
    fn of_number(number: u64) -> Option<Self>;
}

impl FieldValue for bool {
    fn of_number(number: u64) -> Option<Self> {
        (number < 2).then_some(number == 1)
    }
}

macro_rules! field_values {
    ($($type:ty),*) => { $( impl FieldValue for $type {
        fn of_number(number: u64) -> Option<Self> {
            Self::try_from(number).ok()
        }
    } )* };
}
field_values!(u8, u16, u32, u64);

macro_rules! events {
    ($( $(#[doc = $doc:literal])* $name:ident {
        $( $(#[doc = $fdoc:literal])* $field:ident : $type:ty ),* $(,)?
    } )*) => {
        /// Something that happened. Fields are numbers in the unit that their documentation names.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Event {
            $( $(#[doc = $doc])* $name { $( $(#[doc = $fdoc])* $field: $type ),* } ),*
        }

        /// The kinds of event, without their values.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        pub enum EventKind { $( $(#[doc = $doc])* $name ),* }

        impl EventKind {
            /// All kinds in the order of declaration.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$name),*];
            /// How many kinds there are.
            pub const COUNT: usize = Self::ALL.len();
            /// The declared name.
            pub const fn name(self) -> &'static str {
                match self { $(EventKind::$name => stringify!($name)),* }
            }
            /// The kind of that declared name.
            pub fn of_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
            /// The declared field names.
            pub const fn fields(self) -> &'static [&'static str] {
                match self { $(EventKind::$name => &[$(stringify!($field)),*]),* }
            }
        }

        /// The declaration's texts, for the table in docs/observability.md.
        #[cfg(test)]
        impl EventKind {
            pub(crate) fn summary(self) -> &'static str {
                match self { $(EventKind::$name => concat!($($doc),*)),* }.trim()
            }
            pub(crate) fn field_summaries(self) -> &'static [&'static str] {
                match self { $(EventKind::$name => &[$(concat!($($fdoc),*)),*]),* }
            }
        }

        impl Event {
            /// This event's kind.
            pub const fn kind(&self) -> EventKind {
                match self { $(Event::$name { .. } => EventKind::$name),* }
            }
            /// The event of this kind whose fields have the values that `value` returns for their names.
            ///
            /// # Errors
            /// The name of the first field that has no value, or one that it can't hold.
            pub fn of_fields(
                kind: EventKind,
                value: impl Fn(&'static str) -> Option<u64>,
            ) -> Result<Self, &'static str> {
                Ok(match kind {
                    $( EventKind::$name => Event::$name {
                        $($field: value(stringify!($field))
                            .and_then(<$type as FieldValue>::of_number)
                            .ok_or(stringify!($field))?),*
                    } ),*
                })
            }
            /// Calls `each` with the name and the value of every field.
            pub fn for_each_field(&self, mut each: impl FnMut(&'static str, u64)) {
                match *self {
                    $( Event::$name { $($field),* } => { $( each(stringify!($field),
                        u64::from($field)); )* } )*
                }
            }
        }
    };
}

events! {
    /// The host wrote a doorbell.
    DoorbellWritten {
        /// Queue identifier.
        queue: u16,
        /// True for a completion queue's head, false for a submission queue's tail.
        completion: bool,
        /// The value written.
        value: u16,
    }
    /// The front end has fetched a command.
    CommandFetched {
        /// Command slot.
        command: u16,
        /// Submission queue.
        queue: u16,
        /// NVMe opcode.
        opcode: u8,
        /// The host's command identifier.
        host_id: u16,
    }
    /// The FTL has taken a command.
    CommandStarted {
        /// Command slot.
        command: u16,
        /// First byte in the namespace.
        offset: u64,
        /// Bytes.
        length: u64,
    }
    /// All data of a command have been moved, and the front end completes it by itself: the FTL finishes it
    /// later.
    CommandAnswered {
        /// Command slot.
        command: u16,
    }
    /// The FTL has finished a command.
    CommandFinished {
        /// Command slot.
        command: u16,
    }
    /// The completion entry is in host memory.
    CommandCompleted {
        /// Command slot.
        command: u16,
        /// NVMe status field (type and code), 0 for success.
        status: u16,
    }
    /// A fetched command ends without a completion entry: its queue is gone, or the entry could not be
    /// written.
    CommandDropped {
        /// Command slot.
        command: u16,
    }
    /// The disk under the media is full: a write leaves its slot and waits outside of the slots.
    CommandParked {
        /// Command slot that it had.
        command: u16,
    }
    /// A write that was parked goes on, as if it had just been fetched, or ends by an abort or a format.
    CommandResumed {
        /// Command slot that it has now.
        command: u16,
        /// Submission queue.
        queue: u16,
        /// NVMe opcode.
        opcode: u8,
        /// The host's command identifier.
        host_id: u16,
    }
    /// A slice of a command (one mapping unit) begins.
    SliceStarted {
        /// Command slot.
        command: u16,
        /// Logical page.
        lpn: u32,
        /// True when it changes data.
        write: bool,
        /// Firmware task that carries it out, one slice after the other.
        task: u32,
    }
    /// A slice has ended.
    SliceEnded {
        /// Firmware task that carried it out.
        task: u32,
    }
    /// A slice asks for host DMA of its data.
    TransferQueued {
        /// Firmware task that waits for it.
        task: u32,
        /// True from host to device.
        from_host: bool,
        /// Bytes.
        bytes: u32,
        /// Buffer that they come from or go to, of several the first.
        buffer: u32,
        /// True when the host's data is compared with what is stored, and not kept.
        compare: bool,
    }
    /// Host DMA of a slice's data has ended.
    TransferEnded {
        /// Firmware task that waited for it.
        task: u32,
        /// True when the host's memory was not there, or the command was taken back.
        failed: bool,
    }
    /// A task of the FTL begins to wait for something that is neither flash nor host DMA.
    WaitStarted {
        /// Firmware task.
        task: u32,
        /// 0 a data buffer entry, 1 room that garbage collection makes, 2 a log page, 3 a merge buffer, 4 the
        /// queue of flash requests, 5 the command's other slices, 6 others' pages of the same word line, 7
        /// room in the write buffer of an FTL on the host, 8 the programs of what it holds, 9 a page of the
        /// host's page cache, 10 a drive that the host has sent a command, 11 the erase of what an FTL on the
        /// host writes next, 12 room for changes of a map on flash.
        reason: u8,
        /// Data buffer entry; all ones when any will do, and for other reasons.
        buffer: u32,
    }
    /// It waits no longer.
    WaitEnded {
        /// Firmware task.
        task: u32,
    }
    /// A slice has taken the entry in which it found its page.
    BufferHit {
        /// Firmware task.
        task: u32,
        /// Logical page.
        lpn: u32,
        /// Data buffer entry.
        buffer: u32,
    }
    /// A slice that did not find its page in the data buffer has taken an entry for it.
    BufferMissed {
        /// Firmware task.
        task: u32,
        /// Logical page.
        lpn: u32,
        /// Data buffer entry.
        buffer: u32,
    }
    /// A task lets go of a data buffer entry, or has brought it to flash, while others wait for one.
    EntryReleased {
        /// Firmware task.
        task: u32,
        /// Data buffer entry.
        buffer: u32,
    }
    /// A dirty page leaves the data buffer.
    PageEvicted {
        /// Logical page.
        lpn: u32,
        /// Physical page.
        ppa: u32,
    }
    /// The mapping of a logical page changed.
    MapUpdated {
        /// Logical page, or mapping unit where a page holds several.
        lpn: u32,
        /// Physical page, or its number times the units of a page plus the slot; all ones when it was
        /// deallocated.
        ppa: u32,
    }
    /// Garbage collection chose a block.
    VictimChosen {
        /// LUN over the drive; all ones for a line of blocks of all LUNs.
        lun: u32,
        /// Block in the LUN, or line.
        block: u32,
        /// Valid mapping units to move.
        valid: u32,
    }
    /// Garbage collection moved a page.
    PageMoved {
        /// Logical page, or mapping unit where a page holds several.
        lpn: u32,
        /// Where it is now, as of `MapUpdated`.
        ppa: u32,
    }
    /// A block was found bad.
    BlockRetired {
        /// LUN over the drive.
        lun: u32,
        /// Block in the LUN.
        block: u32,
    }
    /// The FTL asks for a flash operation.
    FlashQueued {
        /// Firmware task that asks: a slice's, or one of the background.
        task: u32,
        /// LUN over the drive.
        lun: u32,
        /// 0 read, 1 program, 2 erase, 3 other.
        kind: u8,
        /// Row address.
        row: u32,
        /// Buffer that it fills or programs from.
        buffer: u32,
    }
    /// A flash operation was sent to the channel controller.
    FlashIssued {
        /// LUN over the drive.
        lun: u32,
        /// 0 read, 1 program, 2 erase, 3 other.
        kind: u8,
        /// Row address.
        row: u32,
    }
    /// A flash operation ended.
    FlashFinished {
        /// LUN over the drive.
        lun: u32,
        /// 0 read, 1 program, 2 erase, 3 other.
        kind: u8,
        /// Row address.
        row: u32,
        /// 0 done, 1 failed, 2 uncorrectable, 3 error, 5 given up.
        status: u8,
        /// Corrected bits.
        corrected: u16,
    }
    /// A core worked on a function of the firmware.
    FirmwareWorked {
        /// Core: 0 the FTL's, then those of flash software and the ECC engine's, where there are any.
        core: u8,
        /// 0 NVMe manager, 1 NVM command manager, 2 data buffer manager, 3 address translator, 4 host DMA,
        /// 5 garbage collector, 6 recovery, 7 status checker, 8 dependency checker, 9 priority manager, 10
        /// issuer, 11 read retry, 12 flash request, 13 transaction, 14 polling, 15
        /// NVMe in software, 16 flash interface layer, 17 correction.
        function: u8,
        /// Firmware task that it was for.
        task: u32,
        /// Picoseconds that it took.
        picoseconds: u64,
    }
    /// The dependency checker handed an operation to the reservation station (C33).
    OperationDelivered {
        /// 0 RxDMA, 1 TxDMA, 2 status-check, 3 read-trigger, 4 erase, 5 write, 6 read-transfer,
        /// 7 set read level.
        kind: u8,
        /// LUN over the drive; of no meaning for host DMA.
        lun: u32,
        /// Data buffer entry.
        buffer: u32,
    }
    /// The issuer passed an operation to the host DMA engine or a channel controller.
    OperationIssued {
        /// As above.
        kind: u8,
        /// LUN over the drive; of no meaning for host DMA.
        lun: u32,
        /// Data buffer entry.
        buffer: u32,
    }
    /// The status checker has seen the end of an operation.
    OperationEnded {
        /// As above.
        kind: u8,
        /// LUN over the drive; of no meaning for host DMA.
        lun: u32,
        /// Data buffer entry.
        buffer: u32,
        /// 0 done, 1 failed, 2 uncorrectable, 3 error, 5 given up.
        status: u8,
    }
    /// A transaction got the channel.
    TransactionStarted {
        /// Channel.
        channel: u16,
        /// The LUN's slot on the channel.
        slot: u16,
    }
    /// A transaction released the channel.
    TransactionEnded {
        /// Channel.
        channel: u16,
        /// The LUN's slot on the channel.
        slot: u16,
        /// Bus bytes moved by its bursts.
        bytes: u32,
    }
    /// A transaction was refused or the package objected.
    TransactionFailed {
        /// Channel.
        channel: u16,
        /// The LUN's slot on the channel.
        slot: u16,
    }
    /// A LUN began to work on its array.
    ArrayBusy {
        /// Channel.
        channel: u16,
        /// Way.
        way: u8,
        /// LUN behind the way's chip enable.
        lun: u8,
        /// 0 read, 1 program, 2 erase, 3 other.
        kind: u8,
        /// Picoseconds until it is ready.
        picoseconds: u64,
    }
    /// The link has been asked to move data.
    DmaStarted {
        /// True from host to device.
        from_host: bool,
        /// Bytes.
        bytes: u32,
        /// Buffer that they come from or go to; all ones for the front end's own memory.
        buffer: u32,
        /// Picoseconds for which other data keep the link from it.
        waits: u64,
    }
    /// Host DMA has moved its bytes.
    DmaFinished {
        /// True from host to device.
        from_host: bool,
        /// Bytes.
        bytes: u32,
    }
    /// An MSI-X message was sent.
    InterruptSent {
        /// Vector.
        vector: u16,
    }
    /// The flash interface layer began a phase of a transaction (S22).
    PhaseBegan {
        /// LUN over the drive.
        lun: u32,
        /// 0 read, 1 program, 2 erase.
        kind: u8,
        /// True between register and memory, false between cells and register.
        transfer: bool,
    }
    /// The flash interface layer has seen the end of a phase.
    PhaseEnded {
        /// LUN over the drive.
        lun: u32,
        /// As above.
        kind: u8,
        /// As above.
        transfer: bool,
    }
    /// The ECC engine has corrected a page that was read with wrong bits (S10).
    PageCorrected {
        /// LUN over the drive.
        lun: u32,
        /// Row address.
        row: u32,
        /// Frames with wrong bits.
        frames: u16,
        /// Those of them that could not be corrected.
        failed: u16,
        /// Corrected bits.
        corrected: u16,
    }
    /// The firmware has read the temperature sensor (H1).
    TemperatureRead {
        /// What it tells.
        kelvins: u16,
        /// Whether the drive slows itself down (H4).
        throttled: bool,
    }
    /// A task needs a translation page of the map that memory doesn't have: it reads the page, or waits for
    /// the task that does.
    MapMissed {
        /// Firmware task.
        task: u32,
        /// Translation page, from 0.
        page: u32,
    }
    /// It has what it needed of the map, or the page can't be read.
    MapBrought {
        /// Firmware task.
        task: u32,
    }
}
