//! Controller registers in BAR0 (NVMe 1.4 §3.1).

bit_fields! {
    /// CAP, controller capabilities (NVMe 1.4 §3.1.1).
    pub struct Cap(u64) {
        /// Maximum queue entries supported, zero-based (MQES).
        mqes, with_mqes: 0, 16 => u16;
        /// Contiguous queues required (CQR).
        cqr, with_cqr: 16, 1 => bool;
        /// Weighted round robin with urgent priority class is supported (AMS bit 0).
        ams_weighted_round_robin, with_ams_weighted_round_robin: 17, 1 => bool;
        /// A vendor specific arbitration mechanism is supported (AMS bit 1).
        ams_vendor, with_ams_vendor: 18, 1 => bool;
        /// Worst time until CSTS.RDY follows CC.EN, in 500 ms (TO).
        timeout_500ms, with_timeout_500ms: 24, 8 => u8;
        /// Doorbell stride: `4 << DSTRD` bytes.
        dstrd, with_dstrd: 32, 4 => u8;
        /// NVM subsystem reset supported (NSSRS).
        nssrs, with_nssrs: 36, 1 => bool;
        /// The NVM command set is supported (CSS bit 0).
        css_nvm, with_css_nvm: 37, 1 => bool;
        /// No I/O command set is supported (CSS bit 7).
        css_admin_only, with_css_admin_only: 44, 1 => bool;
        /// Boot partitions supported (BPS).
        bps, with_bps: 45, 1 => bool;
        /// Smallest memory page: `2^(12 + MPSMIN)` bytes.
        mpsmin, with_mpsmin: 48, 4 => u8;
        /// Largest memory page: `2^(12 + MPSMAX)` bytes.
        mpsmax, with_mpsmax: 52, 4 => u8;
        /// Persistent memory region supported (PMRS).
        pmrs, with_pmrs: 56, 1 => bool;
        /// Controller memory buffer supported (CMBS).
        cmbs, with_cmbs: 57, 1 => bool;
    }
}

impl Cap {
    /// The most entries a queue may have: 1 to 65,536.
    pub const fn queue_entries_max(self) -> u32 {
        self.mqes() as u32 + 1
    }
    /// This value with the most entries a queue may have, 2 to 65,536. Asserts the range.
    #[must_use]
    pub const fn with_queue_entries_max(self, entries: u32) -> Self {
        assert!(entries >= 2 && entries <= 1 << 16, "MQES covers 2 to 65,536 entries");
        self.with_mqes((entries - 1) as u16)
    }
}

bit_fields! {
    /// VS, version (NVMe 1.4 §3.1.2).
    pub struct Version(u32) {
        /// Tertiary number (TER).
        tertiary, with_tertiary: 0, 8 => u8;
        /// Minor number (MNR).
        minor, with_minor: 8, 8 => u8;
        /// Major number (MJR).
        major, with_major: 16, 16 => u16;
    }
}

bit_fields! {
    /// CC, controller configuration (NVMe 1.4 §3.1.5).
    pub struct Cc(u32) {
        /// Enable (EN).
        en, with_en: 0, 1 => bool;
        /// I/O command set selected (CSS), see [`CommandSet`].
        css, with_css: 4, 3 => u8;
        /// Memory page size: `2^(12 + MPS)` bytes.
        mps, with_mps: 7, 4 => u8;
        /// Arbitration mechanism selected (AMS), see [`Arbitration`].
        ams, with_ams: 11, 3 => u8;
        /// Shutdown notification (SHN), see [`ShutdownNotification`].
        shn, with_shn: 14, 2 => u8;
        /// I/O submission queue entry size as a power of two (IOSQES).
        iosqes, with_iosqes: 16, 4 => u8;
        /// I/O completion queue entry size as a power of two (IOCQES).
        iocqes, with_iocqes: 20, 4 => u8;
    }
}

wire_enum! {
    /// I/O command set selected, CC.CSS (NVMe 1.4 §3.1.5).
    pub enum CommandSet(u8) {
        Nvm = 0b000, "NVM command set";
        AdminOnly = 0b111, "admin command set only";
    }
}

wire_enum! {
    /// Arbitration mechanism, CC.AMS (NVMe 1.4 §3.1.5, §4.13).
    pub enum Arbitration(u8) {
        RoundRobin = 0b000, "round robin";
        WeightedRoundRobin = 0b001, "weighted round robin with urgent priority class";
        Vendor = 0b111, "vendor specific";
    }
}

wire_enum! {
    /// Shutdown notification, CC.SHN (NVMe 1.4 §3.1.5).
    pub enum ShutdownNotification(u8) {
        None = 0b00, "no notification";
        Normal = 0b01, "normal shutdown";
        Abrupt = 0b10, "abrupt shutdown";
    }
}

impl Cc {
    /// Bytes of a host memory page.
    pub const fn page_bytes(self) -> u32 {
        1 << (12 + self.mps() as u32)
    }
    /// The command set; `None` when reserved.
    pub const fn command_set(self) -> Option<CommandSet> {
        CommandSet::from_raw(self.css())
    }
    /// The arbitration mechanism; `None` when reserved.
    pub const fn arbitration(self) -> Option<Arbitration> {
        Arbitration::from_raw(self.ams())
    }
    /// The shutdown notification; `None` when reserved.
    pub const fn shutdown(self) -> Option<ShutdownNotification> {
        ShutdownNotification::from_raw(self.shn())
    }
}

bit_fields! {
    /// CSTS, controller status (NVMe 1.4 §3.1.6).
    pub struct Csts(u32) {
        /// Ready (RDY).
        rdy, with_rdy: 0, 1 => bool;
        /// Controller fatal status (CFS).
        cfs, with_cfs: 1, 1 => bool;
        /// Shutdown status (SHST), see [`ShutdownStatus`].
        shst, with_shst: 2, 2 => u8;
        /// NVM subsystem reset occurred (NSSRO).
        nssro, with_nssro: 4, 1 => bool;
        /// Processing paused (PP).
        pp, with_pp: 5, 1 => bool;
    }
}

wire_enum! {
    /// Shutdown status, CSTS.SHST (NVMe 1.4 §3.1.6).
    pub enum ShutdownStatus(u8) {
        Normal = 0b00, "normal operation";
        Occurring = 0b01, "shutdown processing occurring";
        Complete = 0b10, "shutdown processing complete";
    }
}

impl Csts {
    /// The shutdown status; `None` when reserved.
    pub const fn shutdown(self) -> Option<ShutdownStatus> {
        ShutdownStatus::from_raw(self.shst())
    }
    /// This value with another shutdown status.
    #[must_use]
    pub const fn with_shutdown(self, status: ShutdownStatus) -> Self {
        self.with_shst(status.raw())
    }
}

bit_fields! {
    /// AQA, admin queue attributes (NVMe 1.4 §3.1.8).
    pub struct Aqa(u32) {
        /// Admin submission queue size, zero-based (ASQS).
        asqs, with_asqs: 0, 12 => u16;
        /// Admin completion queue size, zero-based (ACQS).
        acqs, with_acqs: 16, 12 => u16;
    }
}

impl Aqa {
    /// Sizes in entries. Asserts that both are in 2..=4,096.
    pub const fn of(submission_entries: u16, completion_entries: u16) -> Self {
        assert!(
            submission_entries >= 2 && submission_entries <= 4096,
            "admin queues have 2 to 4,096 entries"
        );
        assert!(
            completion_entries >= 2 && completion_entries <= 4096,
            "admin queues have 2 to 4,096 entries"
        );
        Aqa(0).with_asqs(submission_entries - 1).with_acqs(completion_entries - 1)
    }
    /// Entries of the admin submission queue: 1 to 4,096.
    pub const fn submission_entries(self) -> u16 {
        self.asqs() + 1
    }
    /// Entries of the admin completion queue: 1 to 4,096.
    pub const fn completion_entries(self) -> u16 {
        self.acqs() + 1
    }
}

bit_fields! {
    /// ASQ or ACQ, an admin queue's base address (NVMe 1.4 §3.1.9, §3.1.10). Bits 11:0 are reserved.
    pub struct AdminQueueBase(u64) {
        /// The address's 4 KiB page number.
        page_number, with_page_number: 12, 52 => u64;
    }
}

impl AdminQueueBase {
    /// The queue's address: 4 KiB aligned.
    pub const fn address(self) -> u64 {
        self.page_number() << 12
    }
}

/// The value that NSSR takes to reset the NVM subsystem: "NVMe" (NVMe 1.4 §3.1.7).
pub const NSSR_RESET: u32 = 0x4e56_4d65;

/// Where doorbells begin (NVMe 1.4 §3.1, offset 1000h).
pub const DOORBELLS: u64 = 0x1000;

macro_rules! registers {
    ($( $(#[$meta:meta])* $variant:ident = $offset:literal, $bytes:literal, $name:literal; )*) => {
        /// A controller register other than a doorbell (NVMe 1.4 §3.1).
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Register { $( $(#[$meta])* $variant, )* }

        impl Register {
            /// Every register, by ascending offset.
            pub const ALL: &'static [Register] = &[$( Register::$variant, )*];
            /// Offset in BAR0.
            pub const fn offset(self) -> u64 {
                match self { $( Register::$variant => $offset, )* }
            }
            /// Width in bytes: 4 or 8.
            pub const fn bytes(self) -> u64 {
                match self { $( Register::$variant => $bytes, )* }
            }
            /// The standard's short name.
            pub const fn name(self) -> &'static str {
                match self { $( Register::$variant => $name, )* }
            }
        }
    };
}

registers! {
    /// Controller capabilities, see [`Cap`].
    Capabilities = 0x00, 8, "CAP";
    /// Version, see [`Version`].
    Version = 0x08, 4, "VS";
    /// Interrupt mask set; not used with MSI-X.
    InterruptMaskSet = 0x0c, 4, "INTMS";
    /// Interrupt mask clear; not used with MSI-X.
    InterruptMaskClear = 0x10, 4, "INTMC";
    /// Controller configuration, see [`Cc`].
    Configuration = 0x14, 4, "CC";
    /// Controller status, see [`Csts`].
    Status = 0x1c, 4, "CSTS";
    /// NVM subsystem reset, see [`NSSR_RESET`].
    SubsystemReset = 0x20, 4, "NSSR";
    /// Admin queue attributes, see [`Aqa`].
    AdminQueueAttributes = 0x24, 4, "AQA";
    /// Admin submission queue base address, see [`AdminQueueBase`].
    AdminSubmissionQueue = 0x28, 8, "ASQ";
    /// Admin completion queue base address, see [`AdminQueueBase`].
    AdminCompletionQueue = 0x30, 8, "ACQ";
    /// Controller memory buffer location.
    MemoryBufferLocation = 0x38, 4, "CMBLOC";
    /// Controller memory buffer size.
    MemoryBufferSize = 0x3c, 4, "CMBSZ";
    /// Boot partition information.
    BootPartitionInformation = 0x40, 4, "BPINFO";
    /// Boot partition read select.
    BootPartitionReadSelect = 0x44, 4, "BPRSEL";
    /// Boot partition memory buffer location.
    BootPartitionBuffer = 0x48, 8, "BPMBL";
    /// Controller memory buffer memory space control.
    MemoryBufferControl = 0x50, 8, "CMBMSC";
    /// Controller memory buffer status.
    MemoryBufferStatus = 0x58, 4, "CMBSTS";
    /// Persistent memory region capabilities.
    PersistentRegionCapabilities = 0xe00, 4, "PMRCAP";
    /// Persistent memory region control.
    PersistentRegionControl = 0xe04, 4, "PMRCTL";
    /// Persistent memory region status.
    PersistentRegionStatus = 0xe08, 4, "PMRSTS";
    /// Persistent memory region elasticity buffer size.
    PersistentRegionBuffer = 0xe0c, 4, "PMREBS";
    /// Persistent memory region sustained write throughput.
    PersistentRegionThroughput = 0xe10, 4, "PMRSWTP";
    /// Persistent memory region memory space control.
    PersistentRegionSpace = 0xe14, 8, "PMRMSC";
}

/// Which doorbell of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DoorbellKind {
    /// SQyTDBL (NVMe 1.4 §3.1.24): the submission queue's new tail.
    SubmissionTail,
    /// CQyHDBL (NVMe 1.4 §3.1.25): the completion queue's new head.
    CompletionHead,
}

/// A doorbell register. Its value is the low 16 bits: an entry index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Doorbell {
    /// The queue; 0 is the admin queue.
    pub queue: u16,
    /// Which of its doorbells.
    pub kind: DoorbellKind,
}

impl Doorbell {
    /// Offset in BAR0 for a doorbell stride: `1000h + (2y + kind) · (4 << DSTRD)`.
    pub const fn offset(self, dstrd: u8) -> u64 {
        let index = 2 * self.queue as u64 + matches!(self.kind, DoorbellKind::CompletionHead) as u64;
        DOORBELLS + index * (4 << dstrd)
    }
    /// The doorbell at an offset of BAR0; `None` when no doorbell begins there.
    #[inline]
    pub const fn at(offset: u64, dstrd: u8) -> Option<Self> {
        let Some(relative) = offset.checked_sub(DOORBELLS) else { return None };
        let index = relative >> (2 + dstrd as u32);
        if index << (2 + dstrd as u32) != relative || index > 2 * u16::MAX as u64 + 1 {
            return None;
        }
        let kind = if index & 1 == 0 { DoorbellKind::SubmissionTail } else { DoorbellKind::CompletionHead };
        Some(Doorbell { queue: (index >> 1) as u16, kind })
    }
    /// Bytes of BAR0 up to the end of the doorbells of queues `0..=last_queue`.
    pub const fn bar_bytes(last_queue: u16, dstrd: u8) -> u64 {
        let last = Doorbell { queue: last_queue, kind: DoorbellKind::CompletionHead };
        last.offset(dstrd) + (4 << dstrd)
    }
}

/// The target of a naturally aligned 4- or 8-byte access to BAR0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A register, from byte `from` of it (0, or 4 for the upper half of an 8-byte one).
    Register {
        /// Which one.
        register: Register,
        /// First byte of it that the access covers.
        from: u8,
    },
    /// A doorbell.
    Doorbell(Doorbell),
    /// Nothing: reserved space reads as zero and ignores writes.
    Reserved,
}

impl Target {
    /// Decodes the first dword of an access at `offset` (a multiple of 4).
    #[inline]
    pub fn decode(offset: u64, dstrd: u8) -> Self {
        if offset >= DOORBELLS {
            return Doorbell::at(offset, dstrd).map_or(Target::Reserved, Target::Doorbell);
        }
        Register::ALL
            .iter()
            .find(|r| (r.offset()..r.offset() + r.bytes()).contains(&offset))
            .filter(|_| offset.is_multiple_of(4))
            .map_or(Target::Reserved, |&register| Target::Register {
                register,
                from: (offset - register.offset()) as u8,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cap_packs_as_section_3_1_1_says() {
        let cap = Cap(0)
            .with_queue_entries_max(16_384)
            .with_cqr(true)
            .with_ams_weighted_round_robin(true)
            .with_timeout_500ms(20)
            .with_css_nvm(true)
            .with_mpsmax(4);
        assert_eq!(cap.0, 0x0040_0020_1403_3fff);
        assert_eq!(cap.queue_entries_max(), 16_384);
    }

    #[test]
    fn the_value_that_linux_writes_to_cc_reads_back() {
        // EN, NVM set, 4 KiB pages, 64-byte SQE, 16-byte CQE.
        let cc = Cc(0x0046_0001);
        assert_eq!((cc.en(), cc.page_bytes(), cc.iosqes(), cc.iocqes()), (true, 4096, 6, 4));
        assert_eq!(cc.command_set(), Some(CommandSet::Nvm));
        assert_eq!(cc.arbitration(), Some(Arbitration::RoundRobin));
        assert_eq!(Cc(0x0046_4001).shutdown(), Some(ShutdownNotification::Normal));
        assert_eq!(Cc(0x0046_c001).shutdown(), None);
    }

    #[test]
    fn aqa_and_the_queue_bases_ignore_reserved_bits() {
        assert_eq!(Aqa::of(32, 64).0, 0x003f_001f);
        assert_eq!(Aqa(0xf01f_f03f).submission_entries(), 64);
        assert_eq!(AdminQueueBase(0x1234_5fff).address(), 0x1234_5000);
    }

    #[test]
    fn doorbells_follow_the_stride() {
        let head_3 = Doorbell { queue: 3, kind: DoorbellKind::CompletionHead };
        assert_eq!(head_3.offset(0), 0x101c);
        assert_eq!(head_3.offset(2), 0x1000 + 7 * 16);
        assert_eq!(Doorbell::at(0x1000, 0), Some(Doorbell { queue: 0, kind: DoorbellKind::SubmissionTail }));
        assert_eq!(Doorbell::at(0x1004, 2), None);
        assert_eq!(Doorbell::at(0xffc, 0), None);
        assert_eq!(Doorbell::bar_bytes(64, 0), 0x1000 + 65 * 8);
    }

    #[test]
    fn registers_do_not_overlap_and_stay_below_the_doorbells() {
        for pair in Register::ALL.windows(2) {
            assert!(pair[0].offset() + pair[0].bytes() <= pair[1].offset());
        }
        assert_eq!(Target::decode(0x18, 0), Target::Reserved);
        assert_eq!(
            Target::decode(0x2c, 0),
            Target::Register { register: Register::AdminSubmissionQueue, from: 4 }
        );
    }

    proptest! {
        #[test]
        fn every_offset_decodes_and_doorbells_invert(offset: u64, queue: u16, head: bool, dstrd in 0u8..16) {
            let _ = Target::decode(offset, dstrd);
            let kind = if head { DoorbellKind::CompletionHead } else { DoorbellKind::SubmissionTail };
            let doorbell = Doorbell { queue, kind };
            prop_assert_eq!(Target::decode(doorbell.offset(dstrd), dstrd), Target::Doorbell(doorbell));
        }
    }
}
