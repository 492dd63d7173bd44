//! The drive as a PCI function: configuration space, BARs, interrupts (PCIe 4.0 §7), as its front end
//! specifies them.

use crate::config_space::{
    COMMAND, ConfigSpace, DEVICE_CONTROL, INTERRUPT_CONTROL, INTERRUPTS, PM_CONTROL, PciLink, STATUS,
};
use crate::msix::MsixTable;
use aster_parties::{FunctionSpec, Interrupts, PieceError};
use aster_ports::tlp::TlpSettings;
use aster_wire::pcie::{
    BarKind, CapabilityId, CapabilityWalk, Command, DeviceControl, Header, MsiCapability, MsiControl,
    MsixControl, PowerManagementControl, Status,
};
use core::mem::offset_of;
use zerocopy::{FromBytes, IntoBytes};

/// The power state in which a function operates.
const D0: u8 = 0;

/// A type 0 function with power management and PCI Express capabilities, and MSI or MSI-X.
pub struct PciFunction {
    spec: FunctionSpec,
    config: ConfigSpace,
    link: PciLink,
    /// `None` for a function with MSI, which is only in configuration space.
    table: Option<MsixTable>,
    reset_asked: bool,
    decoded_outside: bool,
    /// What the host has last set, so that no access has to look it up.
    allowed: Allowed,
}

/// What the host lets the function do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Allowed {
    /// It may read and write host memory.
    bus_master: bool,
    /// Its BARs answer, if their addresses are decoded here.
    memory_space: bool,
    /// It is in D0.
    operates: bool,
}

impl Allowed {
    fn of(config: &ConfigSpace) -> Self {
        let command = Command(config.word(COMMAND));
        let operates = PowerManagementControl(config.word(PM_CONTROL)).power_state() == D0;
        Allowed {
            bus_master: command.bus_master() && operates,
            memory_space: command.memory_space() && operates,
            operates,
        }
    }
}

impl PciFunction {
    /// A function behind `link`, in its state after power-on.
    ///
    /// # Errors
    /// If such a function can't exist.
    pub fn new(spec: FunctionSpec, link: PciLink) -> Result<Self, PieceError> {
        spec.check()?;
        let table = match spec.interrupts {
            Interrupts::MsiX { vectors, bar, table, pending } => {
                Some(MsixTable::new(vectors, bar, table, pending))
            }
            Interrupts::Msi { .. } => None,
        };
        let config = ConfigSpace::new(&spec, link);
        Ok(PciFunction {
            allowed: Allowed::of(&config),
            config,
            link,
            spec,
            table,
            reset_asked: false,
            decoded_outside: false,
        })
    }
    /// The specification that it was built from.
    pub fn spec(&self) -> &FunctionSpec {
        &self.spec
    }

    /// Returns to the state after power-on: a conventional or function-level reset (PCIe 4.0 §6.6).
    pub fn reset(&mut self) {
        self.config.reset();
        if let Some(table) = &mut self.table {
            table.reset();
        }
        self.reset_asked = false;
        self.allowed = Allowed::of(&self.config);
    }

    /// What the host has set in Device Control for packets that the function sends. Sizes beyond what the
    /// function supports, and reserved ones, count as the largest that there is (PCIe 4.0 §7.5.3.4).
    pub fn link_settings(&self) -> TlpSettings {
        let control = DeviceControl(self.config.word(DEVICE_CONTROL));
        TlpSettings {
            max_payload: 128 << control.max_payload().min(self.link.max_payload_code()),
            max_read_request: 128 << control.max_read_request().min(5),
            extended_tags: control.extended_tag(),
        }
    }
    /// True when the function may read and write host memory: the host has enabled it, and it is in D0
    /// (PCIe 4.0 §5.3.1.4.1).
    #[inline]
    pub fn is_bus_master(&self) -> bool {
        self.allowed().bus_master
    }
    /// True when the BARs answer: the function is in D0, and Memory Space Enable is set or ignored
    /// ([`PciFunction::decode_outside`]).
    #[inline]
    pub fn answers_memory(&self) -> bool {
        let Allowed { memory_space, operates, .. } = self.allowed();
        if self.decoded_outside { operates } else { memory_space }
    }
    #[inline]
    fn allowed(&self) -> Allowed {
        debug_assert_eq!(self.allowed, Allowed::of(&self.config), "configuration space has changed unseen");
        self.allowed
    }
    /// From now on, and over resets, the caller decodes addresses: each access comes with its BAR, and
    /// Memory Space Enable is ignored.
    ///
    /// Memory Space Enable says whether the function claims addresses on its bus (PCIe 4.0 §7.5.1.1.3). A
    /// vfio-user client names region and offset instead: addresses are decoded on its side, if at all. Its
    /// virtual machine keeps the bit for its guest, and a driver without a bus never sets it.
    pub fn decode_outside(&mut self) {
        self.decoded_outside = true;
    }
    /// True once after the host has asked for a function-level reset.
    pub fn take_reset_request(&mut self) -> bool {
        core::mem::take(&mut self.reset_asked)
    }

    /// Reads 1, 2 or 4 bytes of configuration space. Offsets beyond it read as ones.
    pub fn config_read(&self, offset: u16, size: u8) -> u32 {
        self.config.read(offset, size)
    }
    /// Writes 1, 2 or 4 bytes of configuration space. Read-only bits keep their value.
    pub fn config_write(&mut self, offset: u16, size: u8, value: u32) {
        self.reset_asked |= self.config.write(offset, size, value);
        self.allowed = Allowed::of(&self.config);
    }

    /// The address that the host has programmed a BAR with: 0 where there is none.
    pub fn bar_address(&self, register: u8) -> u64 {
        let Some(bar) = self.spec.bars.iter().find(|bar| bar.register == register) else { return 0 };
        let word = |at: usize| u64::from(self.config.read(at as u16, 4));
        let at = offset_of!(Header, bars) + 4 * usize::from(register);
        let high = if bar.kind == BarKind::Memory64 { word(at + 4) } else { 0 };
        high << 32 | word(at) & !0xf
    }
    /// Whether an access is to the function's MSI-X structures, and not for the front end.
    #[inline]
    pub fn claims(&self, bar: u8, offset: u32) -> bool {
        self.table.as_ref().is_some_and(|table| table.claims(bar, offset))
    }
    /// Reads the MSI-X structures; `None` if it doesn't [claim](PciFunction::claims) the offset.
    pub fn bar_read(&self, bar: u8, offset: u32, size: u8) -> Option<u64> {
        self.table.as_ref().filter(|table| table.claims(bar, offset)).map(|table| table.read(offset, size))
    }
    /// Writes the MSI-X table; `false` if it doesn't [claim](PciFunction::claims) the offset. Pending
    /// bits are read-only.
    pub fn bar_write(&mut self, bar: u8, offset: u32, size: u8, value: u64) -> bool {
        let Some(table) = self.table.as_mut().filter(|table| table.claims(bar, offset)) else { return false };
        table.write(offset, size, value);
        true
    }

    /// The message of `vector` as (address, data), to be written to host memory. While the vector or the
    /// function is masked, it sets the pending bit instead. While interrupts are off, there is no
    /// message.
    #[inline]
    pub fn message(&mut self, vector: u16) -> Option<(u64, u32)> {
        let (control, may_write) = (self.config.word(INTERRUPT_CONTROL), self.is_bus_master());
        if let Some(table) = &mut self.table {
            let control = MsixControl(control);
            let can_send = control.enable() && may_write;
            return if can_send { table.message(vector, control.function_mask()) } else { None };
        }
        if vector >= self.vectors() || !self.can_send() {
            return None;
        }
        let msi = self.msi();
        if msi.mask.get() >> vector & 1 == 1 {
            self.set_msi_pending(msi.pending.get() | 1 << vector);
            return None;
        }
        Some(msi.message(vector))
    }
    /// Whether MSI or MSI-X is on and the function may write to memory.
    #[inline]
    fn can_send(&self) -> bool {
        let control = self.config.word(INTERRUPT_CONTROL);
        let enabled = match &self.table {
            Some(_) => MsixControl(control).enable(),
            None => MsiControl(control).enable(),
        };
        enabled && self.is_bus_master()
    }
    fn msi(&self) -> MsiCapability {
        let (msi, _) = MsiCapability::read_from_prefix(&self.config.bytes()[INTERRUPTS..])
            .expect("configuration space is longer");
        msi
    }
    fn set_msi_pending(&mut self, pending: u32) {
        self.config.set(INTERRUPTS + offset_of!(MsiCapability, pending), &pending.to_le_bytes());
    }

    /// Masks or unmasks `vector`, as the host's own write of its mask bit does. Does nothing if the
    /// vector doesn't exist.
    pub fn set_vector_mask(&mut self, vector: u16, masked: bool) {
        if vector >= self.vectors() {
            return;
        }
        if let Some(table) = &mut self.table {
            return table.set_mask(vector, masked);
        }
        let others = self.msi().mask.get() & !(1 << vector);
        let mask = others | u32::from(masked) << vector;
        self.config.set(INTERRUPTS + offset_of!(MsiCapability, mask), mask.as_bytes());
    }
    /// Vectors.
    pub fn vectors(&self) -> u16 {
        self.spec.interrupts.vectors()
    }
    /// Takes a vector whose message was pending and may be sent now; it isn't pending any more. Call it
    /// after every write to configuration space or to the MSI-X table, until it returns `None`.
    pub fn next_released(&mut self) -> Option<u16> {
        if !self.can_send() {
            return None;
        }
        let control = MsixControl(self.config.word(INTERRUPT_CONTROL));
        if let Some(table) = &mut self.table {
            return if control.function_mask() { None } else { table.release() };
        }
        let msi = self.msi();
        let (pending, mask) = (msi.pending.get(), msi.mask.get());
        let vector = (pending & !mask).trailing_zeros();
        if vector == u32::BITS {
            return None;
        }
        self.set_msi_pending(pending & !(1 << vector));
        Some(vector as u16)
    }

    /// The identifiers in the capability list, in order, as a host walks it.
    pub fn capabilities(&self) -> impl Iterator<Item = CapabilityId> + '_ {
        CapabilityWalk::new(self.config.bytes()).filter_map(|(id, _)| CapabilityId::from_raw(id))
    }

    /// The power state of PMCSR: 0 is D0, 3 is D3hot. The function keeps its state in D3hot, but neither
    /// answers in its BARs nor reaches host memory.
    #[inline]
    pub fn power_state(&self) -> u8 {
        PowerManagementControl(self.config.word(PM_CONTROL)).power_state()
    }

    /// Sets the status register's received-master-abort bit: a DMA found no memory.
    pub fn note_master_abort(&mut self) {
        let status = Status(self.config.word(STATUS)).with_received_master_abort(true);
        self.config.set(STATUS, &status.0.to_le_bytes());
    }
}

#[cfg(test)]
mod tests;
