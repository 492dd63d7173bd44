//! NVMe in software as a party of a drive.

use super::desk::{Desk, NEWS, OVERDUE, SoftwareCosts, WorkerCounts};
use super::packets::{Completer, PacketConfig, completer, notices, receiver};
use super::registers::{Registers, serve};
use super::time::CoreTime;
use super::way::HostWay;
use super::worker::{late, worker};
use crate::config::{ConfigError, Fetching, HostIfConfig};
use crate::frontend::NvmeFrontEnd;
use crate::piece::Nvme;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_parties::{
    BarRead, CommandSet, DamagedRecord, FrontEnd, FrontEndNeeds, FrontEndPiece, FrontEndPorts, FunctionSpec,
    MediaHealth, NvmeView, NvramSlice, PciIds, PieceError, ReadTag,
};
use aster_ports::link::LinkPort;

/// The configuration of NVMe in software, beside that of its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwareConfig {
    /// Workers per submission queue: 1 to 64.
    pub workers: u8,
    /// What its steps cost.
    pub costs: SoftwareCosts,
    /// How it sends packets; `None` if the link carries whole operations.
    pub packets: Option<PacketConfig>,
}

/// An NVMe controller with one namespace, implemented in firmware (S1), before it runs.
pub struct SoftwareNvme {
    nvme: Nvme,
    config: HostIfConfig,
    costs: SoftwareCosts,
    packets: Option<PacketConfig>,
}

impl SoftwareNvme {
    /// Makes a controller whose I/O commands are those of `set`. `config` is as for [`Nvme::new`]; its way
    /// of fetching and its batch are replaced.
    ///
    /// # Errors
    /// When the configuration is out of bounds.
    pub fn new(
        config: HostIfConfig,
        ids: PciIds,
        set: Box<dyn CommandSet>,
        software: SoftwareConfig,
    ) -> Result<Self, ConfigError> {
        let config = HostIfConfig { fetching: Fetching::ByWorkers, fetch_batch: software.workers, ..config };
        let SoftwareConfig { costs, packets, .. } = software;
        Ok(SoftwareNvme { nvme: Nvme::new(config.clone(), ids, set)?, config, costs, packets })
    }
}

/// Puts workers between a controller and its way to the host. `start` starts the controller behind the port
/// that it gets.
///
/// # Errors
/// Those of `start`.
pub(crate) fn with_workers<E>(
    config: &HostIfConfig,
    costs: SoftwareCosts,
    core: &Core,
    way: HostWay<'_>,
    recorder: &Recorder,
    start: impl FnOnce(&Rc<LinkPort>) -> Result<Rc<NvmeFrontEnd>, E>,
) -> Result<Rc<SoftwareFrontEnd>, E> {
    let exec = core.exec();
    let inner = LinkPort::new(exec, config.link_operations());
    let desk = Rc::new(Desk::new(config, costs, core, (&inner, way), recorder));
    let handler = exec.register(desk.clone());
    inner.attach_link(handler);
    match (way, desk.transport.packets()) {
        (HostWay::Operations(link), _) => link.attach_front(handler),
        (HostWay::Packets { .. }, packets) => {
            packets.into_iter().for_each(|packets| packets.attach(handler, OVERDUE));
        }
    }
    let front = start(&inner)?;
    front.follow(handler, NEWS);
    desk.attach(&front);
    for queue in 0..=config.queue_pairs {
        for number in 0..desk.workers() {
            core.spawn(worker(Rc::clone(&desk), queue, number));
        }
    }
    core.spawn(late(Rc::clone(&desk)));
    if let Some(packets) = desk.transport.packets() {
        core.spawn(receiver(Rc::clone(packets)));
        if packets.config().offload {
            core.spawn(notices(Rc::clone(packets)));
        }
    }
    let time = CoreTime::new(core, recorder);
    let accesses = match desk.transport.packets() {
        Some(packets) if packets.config().registers => {
            let serves =
                Rc::new(Completer::new(packets, time, costs.register, (front.clone(), config.bar())));
            core.spawn(completer(Rc::clone(&serves)));
            Accesses::Packets(serves)
        }
        _ if costs.register > 0 => {
            let registers = Rc::new(Registers::new(exec, time, costs.register, &front));
            core.spawn(serve(Rc::clone(&registers)));
            Accesses::Calls(registers)
        }
        _ => Accesses::AtOnce,
    };
    Ok(Rc::new(SoftwareFrontEnd { front, desk, accesses }))
}

impl FrontEndPiece for SoftwareNvme {
    fn needs(&self) -> FrontEndNeeds {
        let workers = usize::from(self.config.fetch_batch) * (usize::from(self.config.queue_pairs) + 1);
        let needs = self.nvme.needs();
        FrontEndNeeds {
            core: true,
            packets: self.packets.is_some(),
            link_operations: needs.link_operations + workers,
            ..needs
        }
    }
    fn function(&self) -> FunctionSpec {
        self.nvme.function()
    }
    fn completes_early(&self) -> bool {
        self.nvme.completes_early()
    }
    fn damaged_records(&self, saved: &NvramSlice) -> Vec<DamagedRecord> {
        self.nvme.damaged_records(saved)
    }
    fn start(self: Box<Self>, mut ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError> {
        let core = ports.core.take().ok_or_else(|| PieceError::new("host.front_end", "has no core"))?;
        let SoftwareNvme { nvme, config, costs, packets } = *self;
        let (link, memory, recorder) =
            (Rc::clone(&ports.link), Rc::clone(&ports.memory), ports.recorder.clone());
        let port = ports.packets.take();
        let way = match (packets, &port) {
            (None, _) => HostWay::Operations(&link),
            (Some(config), Some(port)) => HostWay::Packets { port, memory: &memory, config },
            (Some(_), None) => return Err(PieceError::new("host.transport", "has no port for packets")),
        };
        let front = with_workers(&config, costs, &core, way, &recorder, |inner| {
            nvme.start_controller(FrontEndPorts { link: Rc::clone(inner), ..ports })
        })?;
        Ok(front)
    }
}

/// How the host's accesses to registers come.
enum Accesses {
    /// As calls, which are answered at once.
    AtOnce,
    /// As calls, which firmware answers.
    Calls(Rc<Registers>),
    /// As packets. Whoever calls all the same doesn't wait.
    Packets(Rc<Completer>),
}

/// NVMe in software that runs.
pub struct SoftwareFrontEnd {
    pub(crate) front: Rc<NvmeFrontEnd>,
    desk: Rc<Desk>,
    accesses: Accesses,
}

impl SoftwareFrontEnd {
    /// What the workers have done since power-on.
    pub fn worker_counts(&self) -> WorkerCounts {
        self.desk.counts()
    }
}

impl FrontEnd for SoftwareFrontEnd {
    fn read(&self, bar: u8, offset: u32, size: u8) -> BarRead {
        match &self.accesses {
            Accesses::Calls(registers) => registers.read(offset, size),
            Accesses::AtOnce | Accesses::Packets(_) => FrontEnd::read(&*self.front, bar, offset, size),
        }
    }
    fn take_read(&self, tag: ReadTag) -> Option<u64> {
        match &self.accesses {
            Accesses::Calls(registers) => registers.take_read(tag),
            Accesses::AtOnce | Accesses::Packets(_) => Some(u64::MAX),
        }
    }
    fn write(&self, bar: u8, offset: u32, size: u8, value: u64) {
        match &self.accesses {
            Accesses::Calls(registers) => registers.write(offset, size, value),
            Accesses::AtOnce | Accesses::Packets(_) => {
                FrontEnd::write(&*self.front, bar, offset, size, value);
            }
        }
    }
    fn writes_waiting(&self) -> usize {
        match &self.accesses {
            Accesses::Calls(registers) => registers.writes_waiting(),
            Accesses::AtOnce | Accesses::Packets(_) => 0,
        }
    }
    fn function_reset(&self) {
        match &self.accesses {
            Accesses::AtOnce => {}
            Accesses::Calls(registers) => registers.reset(),
            Accesses::Packets(completer) => completer.reset(),
        }
        FrontEnd::function_reset(&*self.front);
    }
    fn completed(&self) -> u64 {
        self.front.completed()
    }
    fn commands_in_flight(&self) -> usize {
        self.front.commands_in_flight()
    }
    fn commands_completed_early(&self) -> usize {
        self.front.commands_completed_early()
    }
    fn functions(&self) -> Vec<Function> {
        let packets = self.desk.transport.packets().is_some_and(|packets| packets.config().has_costs());
        [(Function::NvmeSoftware, self.desk.costs.is_any()), (Function::TransactionLayer, packets)]
            .into_iter()
            .filter_map(|(function, works)| works.then_some(function))
            .collect()
    }
    fn media_changed(&self, media: MediaHealth) {
        self.front.media_changed(media);
    }
    fn room_changed(&self) {
        self.front.room_changed();
    }
    fn hold_nothing_back(&self) {
        self.front.hold_nothing_back();
    }
    fn power_off(&self) {
        self.front.power_off();
    }
    fn nvme(&self) -> Option<&dyn NvmeView> {
        self.front.nvme()
    }
}
