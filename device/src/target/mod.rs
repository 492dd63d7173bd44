//! A drive that stands over another one: what the host sees is an NVMe controller without a link of its own,
//! and what carries out its commands is a *target*, which reaches the drive below by its PCIe function
//! (docs/adr/0017).
//!
//! The host's side has an executor of its own, on which the drive below is a handler ([`Below`]). So all
//! that runs a [`Device`](crate::Device) also runs this one, and a drive without a target costs no
//! instruction more.

mod below;

pub(crate) use below::{Below, Lower};

use crate::assembly::{Face, Kept};
use crate::configure::{self, BuildError, value};
use crate::host_link::{Carrier, HostLink};
use crate::nvram::{WITH_TARGET, target_front_end_part, target_part};
use crate::pci;
use crate::pieces::{Behind, Pieces};
use crate::profile::{NO_TARGET, Profile, TARGETS, not_one_of};
use crate::wear::{self, Health};
use aster_board::{Link, LinkConfig, PciFunction};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_parties::{
    DamagedRecord, DriveFunction, FrontEndNeeds, FrontEndPiece, FrontEndPorts, TargetPiece, TargetPorts,
    TargetView, TranslationView,
};
use aster_ports::dram::Dram;
use aster_ports::host::CommandPort;
use aster_ports::link::LinkPort;
use aster_ports::medium::SharedNvram;
use aster_ports::resource::Bandwidth;
use aster_units::{Content, Frequency};
use aster_wire::nvme::registers::{Doorbell, DoorbellKind};
use std::cell::RefCell;
use std::rc::Rc;

/// The doorbell of admin commands. The first doorbell's place doesn't depend on their stride.
const ADMIN_TAIL: u64 = Doorbell { queue: 0, kind: DoorbellKind::SubmissionTail }.offset(0);

/// The clock of a target's core: a cycle is a nanosecond.
const CORE_HERTZ: u64 = 1_000_000_000;

/// Whether `pieces` make the target of `profile`; `false` for a profile without one.
///
/// # Errors
/// When neither `pieces` nor Aster has a target of that name.
pub(crate) fn is_made(pieces: &Pieces, profile: &Profile) -> Result<bool, BuildError> {
    let Some(target) = &profile.target else { return Ok(false) };
    match pieces.targets.find(&target.kind) {
        Ok(_) => Ok(true),
        Err(_) if TARGETS.contains(&target.kind.as_str()) => Ok(false),
        Err(_) => {
            let own = pieces.targets.names();
            let mut names: Vec<_> = TARGETS.iter().copied().chain(own).chain([NO_TARGET]).collect();
            names.sort_unstable();
            names.dedup();
            Err(value("target.kind", not_one_of(&names, &target.kind)))
        }
    }
}

/// Makes the target of `profile`, which has one. It is not started yet.
///
/// # Errors
/// When no target has that name, or it doesn't suit this drive.
pub(crate) fn make(
    pieces: &Pieces,
    profile: &Profile,
    content: Content,
) -> Result<Box<dyn TargetPiece>, BuildError> {
    let kind = &configure::target(profile).kind;
    let refuse = |reason| Err(value("target.kind", reason));
    if !is_made(pieces, profile)? {
        return refuse(format!("\"{kind}\" is a target of Aster's that this program was built without"));
    }
    let mut facts = configure::media_facts(profile, content);
    facts.geometry = profile.addressed_geometry();
    let target = pieces.targets.find(kind)?(profile, &facts)?;
    let of_drive = pieces.make_translation(profile, content)?.needs().nvram_bytes;
    let (wants, has) = (target.needs().nvram_bytes, WITH_TARGET.saturating_sub(of_drive));
    if wants > has {
        return refuse(format!(
            "\"{kind}\" must do with {has} bytes of NVRAM beside the drive's, but wants {wants}"
        ));
    }
    let (capacity, page) = (target.capacity_bytes(), u64::from(facts.geometry.page_bytes));
    if capacity == 0 || !capacity.is_multiple_of(page) {
        return refuse(format!(
            "\"{kind}\" must have a capacity of whole pages of {page} bytes, but has {capacity} bytes"
        ));
    }
    Ok(target)
}

/// Makes the NVMe controller before `target`. It is not started yet.
///
/// # Errors
/// When it doesn't suit this drive.
pub(crate) fn make_front_end(
    pieces: &Pieces,
    profile: &Profile,
    content: Content,
    name: &str,
    serial: Option<String>,
    target: &dyn TargetPiece,
) -> Result<Box<dyn FrontEndPiece>, BuildError> {
    let behind = Behind::of_target(&configure::target(profile).kind, target);
    pieces.make_front_end(&configure::before_target(profile), content, name, serial, behind)
}

/// The damaged records of the target and of the controller before it, named by their place in `nvram`.
///
/// # Errors
/// When the profile doesn't describe a working drive.
pub(crate) fn damaged_records(
    pieces: &Pieces,
    profile: &Profile,
    content: Content,
    nvram: &SharedNvram,
) -> Result<Vec<DamagedRecord>, BuildError> {
    let target = make(pieces, profile, content)?;
    let front_end = make_front_end(pieces, profile, content, "check", None, &*target)?;
    let bytes = target.needs().nvram_bytes;
    let at = |begin: usize| move |record: DamagedRecord| DamagedRecord { at: begin + record.at, ..record };
    let of_target = target.damaged_records(&target_part(nvram, bytes)).into_iter();
    let of_front_end = front_end.damaged_records(&target_front_end_part(nvram)).into_iter();
    Ok(of_target.map(at(WITH_TARGET - bytes)).chain(of_front_end.map(at(WITH_TARGET))).collect())
}

/// Has `health` hear the temperature that the target's driver reads. SMART is an admin command, so the driver
/// is to read it whenever such a command comes. The controller's other commands cost no reading.
fn thermometer(view: &Rc<dyn TargetView>, health: Rc<Health>) -> pci::First {
    view.watch_temperature(Box::new(move |kelvins| health.set_temperature(kelvins)));
    let view = Rc::clone(view);
    Box::new(move |write| {
        if write.bar == 0 && u64::from(write.offset) == ADMIN_TAIL {
            view.read_temperature();
        }
    })
}

/// A host's side that has not been started: its pieces.
pub(crate) struct Side {
    target: Box<dyn TargetPiece>,
    front_end: Box<dyn FrontEndPiece>,
}

impl Side {
    /// Makes the pieces of `profile`, which has a target.
    ///
    /// # Errors
    /// When the profile doesn't describe a working target.
    pub(crate) fn make(
        pieces: &Pieces,
        profile: &Profile,
        content: Content,
        name: &str,
        serial: Option<String>,
    ) -> Result<Self, BuildError> {
        let target = make(pieces, profile, content)?;
        let front_end = make_front_end(pieces, profile, content, name, serial, &*target)?;
        Ok(Side { target, front_end })
    }

    /// Powers the host's side on over a drive that has power. A host that the drive has served before is
    /// gone: the drive's function is reset.
    ///
    /// # Errors
    /// When a piece can't work with what it gets.
    pub(crate) fn power_on<D: Lower>(
        self,
        profile: &Profile,
        drive: Rc<D>,
        kept: &Kept,
    ) -> Result<(Face, Rc<Below<D>>), BuildError> {
        let Side { target, front_end } = self;
        let (exec, recorder) = (Exec::new(), Recorder::default());
        exec.catch_up(drive.now());
        let (needs, front_needs, spec) = (target.needs(), front_end.needs(), front_end.function());
        let completes_early = front_end.completes_early();
        assert!(!completes_early, "the controller before a target has auto_completion off");

        let below = Below::start(&exec, Rc::clone(&drive));
        let dram = Dram::new(
            kept.content,
            kept.geometry.sectors_per_page(),
            needs.oob_bytes,
            needs.data_buffers,
            needs.metadata_buffers,
            front_needs.sram_bytes,
        );
        let FrontEndNeeds { command_slots, dma_requests, link_operations, .. } = front_needs;
        let link_port = LinkPort::new(&exec, link_operations);
        let config = LinkConfig { latency: configure::TARGET_LATENCY, ..LinkConfig::default() };
        let link = Link::start(&exec, &link_port, config, Bandwidth::new(0), &recorder);
        let commands = CommandPort::new(&exec, command_slots, dma_requests);
        let clock = Frequency::from_hertz(CORE_HERTZ).expect("not zero");
        let core = Core::new(&exec, clock);
        let front = front_end.start(FrontEndPorts {
            exec: exec.clone(),
            core: front_needs.core.then(|| core.clone()),
            link: Rc::clone(&link_port),
            packets: None,
            commands: Rc::clone(&commands),
            memory: dram.clone(),
            saved: target_front_end_part(&kept.nvram),
            backlog: kept.backlog.clone(),
            recorder: recorder.clone(),
        })?;
        let view = target.start(TargetPorts {
            core,
            commands,
            command_slots,
            command_cycles: configure::target_command_ns(configure::target(profile)),
            buffers: dram.clone(),
            nvram: target_part(&kept.nvram, needs.nvram_bytes),
            function: Rc::clone(&below) as Rc<dyn DriveFunction>,
            recorder: recorder.clone(),
        })?;
        below.serve(&view);
        let health = wear::watch(profile, kept.cells.inspect(), &*view, &front);
        let first = profile.board.thermal.is_some().then(|| thermometer(&view, health));
        let translation: Rc<dyn TranslationView> = view;
        let bar_bytes = spec.bar_bytes();
        let pci = Rc::new(RefCell::new(PciFunction::new(spec, configure::pci_link(profile))?));
        let link = Rc::new(HostLink { port: link_port, carrier: Carrier::Operations(link) });
        let arrivals = pci::start_arrivals(&exec, &pci, &front, &link, first);
        let face =
            Face { exec, dram, link, pci, bar_bytes, front, arrivals, sensor: None, translation, recorder };
        Ok((face, below))
    }
}
