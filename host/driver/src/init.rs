//! Bringing the controller up and shutting it down (NVMe 1.4 §7.6).

use crate::bar::Bar;
use crate::config::{ADMIN_ENTRIES, CompletionMode};
use crate::driver::Driver;
use crate::error::DriverError;
use crate::ids::QueueId;
use crate::namespace::Namespace;
use alloc::boxed::Box;
use aster_parties::BarRead;
use aster_units::{Content, Duration, SECTOR_BYTES};
use aster_wire::nvme::NSID_ALL;
use aster_wire::nvme::admin::{
    AdminCommand, CreateCqDword11, CreateIoCq, CreateIoSq, CreateSqDword11, QueueDword10,
};
use aster_wire::nvme::cqe::CQE_LOG2;
use aster_wire::nvme::directive::{Directive, DirectiveType, DirectivesSupported, operation};
use aster_wire::nvme::features::{FeatureId, NumberOfQueues};
use aster_wire::nvme::identify::{
    AdminSupport, Cns, FormattedSize, IDENTIFY_BYTES, IdentifyController, IdentifyNamespace, NamespaceList,
};
use aster_wire::nvme::registers::{
    Aqa, Arbitration, Cap, Cc, CommandSet, Csts, Register, ShutdownNotification, ShutdownStatus,
};
use aster_wire::nvme::sqe::SQE_LOG2;
use aster_wire::ocssd::VENDOR_SPECIFIC_VERSION;
use zerocopy::IntoBytes;

/// Bytes that tell which directives are supported and enabled (§9.2.1.1).
const DIRECTIVES_BYTES: u32 = 64;
/// How often CSTS is read while waiting for it.
const READY_POLL: Duration = Duration::from_micros(100);
/// How long a read of a register may take: then the root complex gives it up (PCIe 4.0 §2.8).
const READ_WITHIN: Duration = Duration::from_millis(50);
/// The host sees the answer to a read within this time.
const READ_STEP: Duration = Duration::from_nanos(100);
/// The unit of CAP.TO (NVMe 1.4 §3.1.1).
const TIMEOUT_UNIT: Duration = Duration::from_millis(500);
/// The least time that a shutdown may take. RTD3E of Identify can extend it.
const SHUTDOWN_TIMEOUT_MIN: Duration = Duration::from_secs(60);

impl<B: Bar + 'static> Driver<B> {
    /// Reads a register. The host's processor waits for the answer, for [`READ_WITHIN`] at most; all ones
    /// stand for none.
    async fn read_register(&self, register: Register) -> u64 {
        let begun = self.bar.borrow_mut().read(register.offset() as u32, register.bytes() as u8);
        let tag = match begun {
            BarRead::Now(value) => return value,
            BarRead::Later(tag) => tag,
        };
        let until = self.exec.now() + READ_WITHIN;
        while self.exec.now() < until {
            self.exec.sleep(READ_STEP).await;
            let answer = self.bar.borrow_mut().take_read(tag);
            if let Some(value) = answer {
                return value;
            }
        }
        u64::MAX
    }
    fn write_register(&self, register: Register, value: u64) {
        self.bar.borrow_mut().write(register.offset() as u32, register.bytes() as u8, value);
    }
    async fn status_register(&self) -> Csts {
        Csts(self.read_register(Register::Status).await as u32)
    }

    /// Whether the controller reports a fatal status (CSTS.CFS). After a shutdown this means that it could
    /// not write all of its data.
    pub async fn is_fatal(&self) -> bool {
        self.status_register().await.cfs()
    }

    /// Resets the controller and brings it up: admin queues, identify, I/O queues (NVMe 1.4 §7.6.1). Commands
    /// that were in flight are lost. It may be called again at any time, for example after an error or a
    /// shutdown.
    ///
    /// # Errors
    /// The first error. The controller then stays in its current state.
    pub async fn init(&self) -> Result<(), DriverError> {
        let cap = Cap(self.read_register(Register::Capabilities).await);
        check_capabilities(cap)?;
        self.doorbell_stride.set(cap.dstrd());
        let limit = TIMEOUT_UNIT * u64::from(cap.timeout_500ms().max(1));
        self.disable(limit).await?;
        self.enable(limit).await?;
        self.identify_controller(cap).await?;
        self.identify_namespace().await?;
        self.enable_streams().await?;
        self.create_queues(cap).await
    }

    /// Enables streams if the drive has them (§9.3).
    async fn enable_streams(&self) -> Result<(), DriverError> {
        self.streams.set(0);
        let offered = self.identity().is_some_and(|identity| AdminSupport(identity.oacs.get()).directives());
        if !offered {
            return Ok(());
        }
        let nsid = self.namespace.get().id;
        let mut directives = DirectivesSupported::default();
        let ask = Directive::new(DirectiveType::Identify, operation::DIRECTIVES, DIRECTIVES_BYTES);
        self.directive_receive(&ask, nsid, &mut directives.as_mut_bytes()[..DIRECTIVES_BYTES as usize])
            .await?;
        if directives.supported[0] & 1 << DirectiveType::Streams.raw() == 0 {
            return Ok(());
        }
        self.directive_send(&Directive::enable(DirectiveType::Streams, true), nsid).await?;
        self.streams.set(self.stream_parameters().await?.streams_max.get());
        Ok(())
    }

    async fn disable(&self, limit: Duration) -> Result<(), DriverError> {
        let cc = Cc(self.read_register(Register::Configuration).await as u32);
        if cc.en() {
            // RDY must have followed an earlier change of EN before EN changes again (§3.1.5).
            if !self.status_register().await.cfs() {
                self.wait_ready(true, limit).await?;
            }
            self.write_register(Register::Configuration, u64::from(cc.with_en(false).with_shn(0).0));
        }
        self.wait_ready(false, limit).await?;
        self.lose_all();
        Ok(())
    }
    /// All commands in flight are lost, and the queues are gone.
    fn lose_all(&self) {
        let mut pairs = self.pairs.borrow_mut();
        let mut memory = self.memory.borrow_mut();
        for pair in pairs.iter_mut() {
            let entries = pair.entries();
            pair.reset(entries, &mut memory, &self.exec);
        }
        self.live_pairs.set(0);
        self.violation.set(None);
    }
    /// The drive has lost its power or was taken out. All commands in flight end with
    /// [`DriverError::Reset`], also those of an [`init`](Driver::init) that is under way. Only another `init`
    /// brings a drive up that is there again.
    pub fn lose_drive(&self) {
        self.losses.set(self.losses.get() + 1);
        self.lose_all();
    }

    async fn enable(&self, limit: Duration) -> Result<(), DriverError> {
        let (sq, cq) = {
            let admin = &self.pairs.borrow()[QueueId::ADMIN.index()];
            (admin.sq, admin.cq)
        };
        let aqa = Aqa::of(ADMIN_ENTRIES, ADMIN_ENTRIES);
        self.write_register(Register::AdminQueueAttributes, u64::from(aqa.0));
        self.write_register(Register::AdminSubmissionQueue, sq);
        self.write_register(Register::AdminCompletionQueue, cq);
        let cc = Cc(0)
            .with_css(CommandSet::Nvm.raw())
            .with_ams(Arbitration::RoundRobin.raw())
            .with_shn(ShutdownNotification::None.raw())
            .with_iosqes(SQE_LOG2)
            .with_iocqes(CQE_LOG2)
            .with_en(true);
        self.write_register(Register::Configuration, u64::from(cc.0));
        self.wait_ready(true, limit).await
    }

    async fn wait_ready(&self, wanted: bool, limit: Duration) -> Result<(), DriverError> {
        let (began, losses) = (self.exec.now(), self.losses.get());
        loop {
            if self.losses.get() != losses {
                return Err(DriverError::Reset);
            }
            let csts = self.status_register().await;
            if wanted && csts.cfs() {
                return Err(DriverError::Fatal);
            }
            if csts.rdy() == wanted {
                return Ok(());
            }
            let waited = self.exec.now().since(began);
            if waited >= limit {
                return Err(DriverError::NotReady { wanted: u8::from(wanted), waited });
            }
            self.exec.sleep(READY_POLL).await;
        }
    }

    async fn identify_controller(&self, cap: Cap) -> Result<(), DriverError> {
        let mut page = [0; IDENTIFY_BYTES];
        self.identify(Cns::Controller, 0, &mut page).await?;
        let identity = IdentifyController::view(&page).expect("a page is as long as the structure");
        let limit = identity.transfer_bytes_max(cap.mpsmin()).unwrap_or(u64::MAX);
        let bytes = limit.min(u64::from(self.config.transfer_bytes_max));
        self.transfer_bytes.set(bytes as u32);
        *self.identity.borrow_mut() = Some(Box::new(identity.clone()));
        Ok(())
    }

    /// Reads the namespace's size and format again, for example after a format.
    pub(crate) async fn identify_namespace(&self) -> Result<(), DriverError> {
        let mut page = [0; IDENTIFY_BYTES];
        self.identify(Cns::ActiveNamespaces, 0, &mut page).await?;
        let active = NamespaceList::view(&page).expect("a page is as long as the structure");
        let found = match self.config.namespace {
            None => active.iter().next().ok_or(DriverError::Unsupported("has no active namespace"))?,
            Some(id) => active.iter().find(|&a| a == id).ok_or(DriverError::NoNamespace(id))?,
        };
        self.identify(Cns::Namespace, found, &mut page).await?;
        let described = IdentifyNamespace::view(&page).expect("a page is as long as the structure");
        let format = described
            .current_format()
            .ok_or(DriverError::Unsupported("uses an LBA format it does not list"))?;
        let block_bytes = format.block_bytes().filter(|b| (512..=SECTOR_BYTES as u32).contains(b));
        let block_bytes =
            block_bytes.ok_or(DriverError::Unsupported("has logical blocks outside 512 to 4096 bytes"))?;
        // An open-channel drive has no logical blocks: vectors address its sectors, each with metadata.
        let open_channel = described.vendor[VENDOR_SPECIFIC_VERSION] == 1;
        if format.metadata_bytes() != 0 && !open_channel {
            return Err(DriverError::Unsupported("keeps metadata with its logical blocks"));
        }
        if self.config.content == Content::Fingerprint && block_bytes as usize != SECTOR_BYTES {
            return Err(DriverError::Unsupported(
                "has other logical blocks than 4096 bytes, which fingerprints need",
            ));
        }
        let blocks = if open_channel { 0 } else { described.nsze.get() };
        if blocks.checked_mul(u64::from(block_bytes)).is_none() {
            return Err(DriverError::Unsupported("reports a namespace larger than 2^64 bytes"));
        }
        let lba_format = FormattedSize(described.flbas).format();
        self.namespace.set(Namespace { id: found, blocks, block_bytes, lba_format });
        self.blocks_max.set((self.transfer_bytes.get() / block_bytes).min(1 << 16));
        Ok(())
    }

    async fn create_queues(&self, cap: Cap) -> Result<(), DriverError> {
        let wanted = self.config.queue_pairs;
        let asked = NumberOfQueues::of(wanted, wanted);
        let granted = NumberOfQueues(self.set_feature(FeatureId::NumberOfQueues, asked.0, false, 0).await?);
        let pairs = u32::from(wanted).min(granted.submission()).min(granted.completion()) as u16;
        let entries = u32::from(self.config.depth + 1).min(cap.queue_entries_max()) as u16;
        for id in 1..=pairs {
            let queue = QueueId(id);
            let (sq, cq, vector) = {
                let pair = &mut self.pairs.borrow_mut()[queue.index()];
                pair.reset(entries, &mut self.memory.borrow_mut(), &self.exec);
                (pair.sq, pair.cq, pair.vector)
            };
            let interrupts = self.config.completion == CompletionMode::Interrupt;
            let size = QueueDword10::of(id, u32::from(entries));
            let completion = CreateIoCq {
                queue: size,
                control: CreateCqDword11(0)
                    .with_contiguous(true)
                    .with_interrupts_enabled(interrupts)
                    .with_interrupt_vector(if interrupts { vector } else { 0 }),
            };
            self.admin_at(AdminCommand::CreateIoCq(completion), cq).await?;
            let submission = CreateIoSq {
                queue: size,
                control: CreateSqDword11(0).with_contiguous(true).with_completion_queue_id(id),
                nvm_set: 0,
            };
            self.admin_at(AdminCommand::CreateIoSq(submission), sq).await?;
            self.live_pairs.set(id);
        }
        Ok(())
    }

    /// Shuts the controller down in order: deletes the I/O queues, then notifies and waits until everything
    /// is on non-volatile media (NVMe 1.4 §7.6.2). [`Driver::init`] brings it up again.
    ///
    /// # Errors
    /// When a queue could not be deleted, or the shutdown took longer than both RTD3E and a minute.
    pub async fn shut_down(&self) -> Result<(), DriverError> {
        for queue in self.queues() {
            self.admin_at(AdminCommand::DeleteIoSq(queue.0), 0).await?;
        }
        for queue in self.queues() {
            self.admin_at(AdminCommand::DeleteIoCq(queue.0), 0).await?;
        }
        self.live_pairs.set(0);
        let cc = Cc(self.read_register(Register::Configuration).await as u32);
        let notified = cc.with_shn(ShutdownNotification::Normal.raw());
        self.write_register(Register::Configuration, u64::from(notified.0));
        let entry_micros = self.identity().map_or(0, |identity| identity.rtd3e.get());
        let limit = SHUTDOWN_TIMEOUT_MIN.max(Duration::from_micros(u64::from(entry_micros)));
        let began = self.exec.now();
        while self.status_register().await.shutdown() != Some(ShutdownStatus::Complete) {
            let waited = self.exec.now().since(began);
            if waited >= limit {
                return Err(DriverError::NotShutDown { waited });
            }
            self.exec.sleep(READY_POLL).await;
        }
        Ok(())
    }

    /// The namespace identifier for commands on the controller as a whole.
    pub(crate) const WHOLE_CONTROLLER: u32 = NSID_ALL;
}

fn check_capabilities(cap: Cap) -> Result<(), DriverError> {
    let need = |ok, what| if ok { Ok(()) } else { Err(DriverError::Unsupported(what)) };
    need(cap.0 != u64::MAX, "does not answer: its registers read as all ones")?;
    need(cap.css_nvm(), "does not support the NVM command set")?;
    need(cap.mpsmin() == 0, "needs memory pages larger than 4 KiB")?;
    need(cap.queue_entries_max() >= 2, "allows queues of one entry only")
}
