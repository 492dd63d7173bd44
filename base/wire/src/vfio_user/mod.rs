//! vfio-user: a PCI function behind a UNIX socket (vfio-user specification 0.9.2, minor version 1 of major
//! version 0; structures and flags after Linux `vfio.h`).
//!
//! A message is a [`Header`] and the command's structure, in the byte order of the machine that both ends
//! run on; this implementation uses little-endian. File descriptors accompany the message.
//! [`Request::parse`] interprets a whole message of a client. Both ends write the structures in the
//! layout given here.

mod request;

pub use request::{Request, RequestError};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The major version implemented here.
pub const MAJOR: u16 = 0;
/// The minor version implemented here.
pub const MINOR: u16 = 1;
/// Bytes of a header.
pub const HEADER_BYTES: usize = size_of::<Header>();

wire_enum! {
    /// Commands (vfio-user, "Commands").
    pub enum Command(u16) {
        Version = 1, "VFIO_USER_VERSION";
        DmaMap = 2, "VFIO_USER_DMA_MAP";
        DmaUnmap = 3, "VFIO_USER_DMA_UNMAP";
        DeviceGetInfo = 4, "VFIO_USER_DEVICE_GET_INFO";
        DeviceGetRegionInfo = 5, "VFIO_USER_DEVICE_GET_REGION_INFO";
        DeviceGetRegionIoFds = 6, "VFIO_USER_DEVICE_GET_REGION_IO_FDS";
        DeviceGetIrqInfo = 7, "VFIO_USER_DEVICE_GET_IRQ_INFO";
        DeviceSetIrqs = 8, "VFIO_USER_DEVICE_SET_IRQS";
        RegionRead = 9, "VFIO_USER_REGION_READ";
        RegionWrite = 10, "VFIO_USER_REGION_WRITE";
        DmaRead = 11, "VFIO_USER_DMA_READ";
        DmaWrite = 12, "VFIO_USER_DMA_WRITE";
        DeviceReset = 13, "VFIO_USER_DEVICE_RESET";
        RegionWriteMultiple = 15, "VFIO_USER_REGION_WRITE_MULTI";
    }
}

wire_enum! {
    /// What a message is: the low four bits of its flags.
    pub enum MessageType(u8) {
        Command = 0, "command";
        Reply = 1, "reply";
    }
}

bit_fields! {
    /// Flags of a message (vfio-user, "Header").
    pub struct HeaderFlags(u32) {
        /// See [`MessageType`].
        message_type, with_message_type: 0, 4 => u8;
        /// The sender wants no reply.
        no_reply, with_no_reply: 4, 1 => bool;
        /// The reply reports an error.
        error, with_error: 5, 1 => bool;
    }
}

/// The 16 bytes with which every message begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// The sender's identifier for it; a reply has that of the command.
    pub id: U16,
    /// See [`Command`].
    pub command: U16,
    /// Bytes of the message, header included.
    pub size: U32,
    /// See [`HeaderFlags`].
    pub flags: U32,
    /// UNIX error number of a reply whose error flag is set.
    pub error: U32,
}

impl Header {
    /// A command with `payload` bytes after the header. Asserts that the message's size fits its field.
    pub fn command(id: u16, command: Command, payload: usize) -> Self {
        Header {
            id: U16::new(id),
            command: U16::new(command.raw()),
            size: U32::new(message_size(payload)),
            flags: U32::new(0),
            error: U32::new(0),
        }
    }
    /// The reply to this command, with `payload` bytes after the header.
    pub fn reply(&self, payload: usize) -> Self {
        let flags = HeaderFlags(0).with_message_type(MessageType::Reply.raw());
        Header {
            size: U32::new(message_size(payload)),
            flags: U32::new(flags.0),
            error: U32::new(0),
            ..*self
        }
    }
    /// The reply to this command that reports an error, a UNIX error number.
    pub fn reply_error(&self, error: u32) -> Self {
        let reply = self.reply(0);
        let flags = HeaderFlags(reply.flags.get()).with_error(true);
        Header { flags: U32::new(flags.0), error: U32::new(error), ..reply }
    }
    /// The flags.
    pub fn flags(&self) -> HeaderFlags {
        HeaderFlags(self.flags.get())
    }
    /// The kind of message; `None` when reserved.
    pub fn message_type(&self) -> Option<MessageType> {
        MessageType::from_raw(self.flags().message_type())
    }
}

fn message_size(payload: usize) -> u32 {
    u32::try_from(HEADER_BYTES + payload).expect("a message is smaller than 4 GiB")
}

/// Version negotiation; a string of JSON that ends with a zero byte follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Version {
    /// Must be equal at both ends.
    pub major: U16,
    /// The lesser of both ends' counts.
    pub minor: U16,
}

bit_fields! {
    /// What the device may do with mapped memory.
    pub struct DmaMapFlags(u32) {
        /// Read it.
        readable, with_readable: 0, 1 => bool;
        /// Write it.
        writable, with_writable: 1, 1 => bool;
    }
}

/// A region of host memory becomes accessible. Its file comes with the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DmaMap {
    /// Bytes of this structure.
    pub argsz: U32,
    /// See [`DmaMapFlags`].
    pub flags: U32,
    /// Where the region begins in the file.
    pub offset: U64,
    /// Bus address.
    pub address: U64,
    /// Bytes.
    pub size: U64,
}

bit_fields! {
    /// What to unmap.
    pub struct DmaUnmapFlags(u32) {
        /// The client asks for a bitmap of dirty pages.
        dirty_bitmap, with_dirty_bitmap: 0, 1 => bool;
        /// Everything; address and size are zero.
        all, with_all: 1, 1 => bool;
    }
}

/// A region of host memory is no longer accessible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DmaUnmap {
    /// Bytes of this structure.
    pub argsz: U32,
    /// See [`DmaUnmapFlags`].
    pub flags: U32,
    /// Bus address.
    pub address: U64,
    /// Bytes.
    pub size: U64,
}

bit_fields! {
    /// What a device is (`vfio_device_info`).
    pub struct DeviceFlags(u32) {
        /// It can be reset.
        reset, with_reset: 0, 1 => bool;
        /// It is a PCI function.
        pci, with_pci: 1, 1 => bool;
    }
}

/// The number of a device's regions and interrupts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DeviceInfo {
    /// Bytes of this structure.
    pub argsz: U32,
    /// See [`DeviceFlags`].
    pub flags: U32,
    /// Regions, see [`PciRegion`].
    pub regions: U32,
    /// Interrupt indexes, see [`PciIrq`].
    pub irqs: U32,
}

wire_enum! {
    /// Regions of a PCI function (`VFIO_PCI_*_REGION_INDEX`).
    pub enum PciRegion(u32) {
        Bar0 = 0, "BAR0";
        Bar1 = 1, "BAR1";
        Bar2 = 2, "BAR2";
        Bar3 = 3, "BAR3";
        Bar4 = 4, "BAR4";
        Bar5 = 5, "BAR5";
        Rom = 6, "expansion ROM";
        Config = 7, "configuration space";
        Vga = 8, "VGA";
    }
}

wire_enum! {
    /// Interrupts of a PCI function (`VFIO_PCI_*_IRQ_INDEX`).
    pub enum PciIrq(u32) {
        Intx = 0, "INTx";
        Msi = 1, "MSI";
        MsiX = 2, "MSI-X";
        Error = 3, "error";
        Request = 4, "request";
    }
}

bit_fields! {
    /// What can be done with a region (`vfio_region_info`).
    pub struct RegionFlags(u32) {
        /// Read it.
        readable, with_readable: 0, 1 => bool;
        /// Write it.
        writable, with_writable: 1, 1 => bool;
        /// Map its file, which comes with the message.
        mappable, with_mappable: 2, 1 => bool;
        /// Capabilities follow.
        capabilities, with_capabilities: 3, 1 => bool;
    }
}

/// A region: 32 bytes, then its capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct RegionInfo {
    /// In the request: bytes that the client has room for. In the reply: bytes that there are.
    pub argsz: U32,
    /// See [`RegionFlags`].
    pub flags: U32,
    /// See [`PciRegion`].
    pub index: U32,
    /// Where the first capability is, from the start of this structure.
    pub cap_offset: U32,
    /// Bytes of the region.
    pub size: U64,
    /// Where the region begins in its file.
    pub offset: U64,
}

/// The capability that names the only mappable part of a region (`VFIO_REGION_INFO_CAP_SPARSE_MMAP`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SparseArea {
    id: U16,
    version: U16,
    next: U32,
    areas: U32,
    reserved: U32,
    /// Where the area begins in the region.
    pub offset: U64,
    /// Bytes.
    pub size: U64,
}

impl SparseArea {
    /// `size` bytes from `offset` on, as the last capability.
    pub fn new(offset: u64, size: u64) -> Self {
        SparseArea {
            id: U16::new(1),
            version: U16::new(1),
            next: U32::new(0),
            areas: U32::new(1),
            reserved: U32::new(0),
            offset: U64::new(offset),
            size: U64::new(size),
        }
    }
}

bit_fields! {
    /// What an interrupt index can do (`vfio_irq_info`).
    pub struct IrqFlags(u32) {
        /// Signal an eventfd.
        eventfd, with_eventfd: 0, 1 => bool;
    }
}

/// An interrupt index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IrqInfo {
    /// Bytes of this structure.
    pub argsz: U32,
    /// See [`IrqFlags`].
    pub flags: U32,
    /// See [`PciIrq`].
    pub index: U32,
    /// Vectors.
    pub count: U32,
}

bit_fields! {
    /// What to do with vectors (`vfio_irq_set`): one kind of data, one action.
    pub struct IrqSetFlags(u32) {
        /// No data: for all vectors.
        none, with_none: 0, 1 => bool;
        /// A byte per vector: for the vectors whose byte is not zero.
        boolean, with_boolean: 1, 1 => bool;
        /// An eventfd per vector comes with the message.
        eventfd, with_eventfd: 2, 1 => bool;
        /// Mask.
        mask, with_mask: 3, 1 => bool;
        /// Unmask.
        unmask, with_unmask: 4, 1 => bool;
        /// Signal, or with eventfds: signal from now on.
        trigger, with_trigger: 5, 1 => bool;
    }
}

/// Vectors to set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SetIrqs {
    /// Bytes of this structure and its data.
    pub argsz: U32,
    /// See [`IrqSetFlags`].
    pub flags: U32,
    /// See [`PciIrq`].
    pub index: U32,
    /// First vector.
    pub start: U32,
    /// Vectors.
    pub count: U32,
}

/// An access to a region. In a write, and in the reply to a read, the bytes follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct RegionAccess {
    /// Where in the region.
    pub offset: U64,
    /// See [`PciRegion`].
    pub region: U32,
    /// Bytes.
    pub count: U32,
}
