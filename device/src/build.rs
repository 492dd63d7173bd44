//! From a profile to the configurations of the rooms.

use crate::profile::{
    ArbitrationName, AssignerName, CommandName, ControllerName, DataModeName, FactoryMarksName,
    LevellingName, PackageProfile, PlacementName, Profile, ProfileError, PseudoSlcProfile, READS_FIRST,
    TransactionOrder,
};
use aster_board::{LinkConfig, PciIds};
use aster_channel::{
    BusTiming, ClockTooFast, CycleTable, Ecc, EngineClock, EngineConfig, KeySolver, SharedSolver, StageConfig,
};
use aster_flash::schedule::TransactionPolicy;
use aster_flash::{FlashConfig, FlashCosts, LunShape, PackageVariant, PollPolicy};
use aster_ftl::{Assigner, Capacity, FtlConfig, FtlCosts, Refresh, WearLevelling};
use aster_hostif::{BlockSize, HostIfConfig};
use aster_nand::{
    ArrayTiming, BusConfig, ErrorModel, FactoryMarks, FailureModel, Identity, LEVELS_MAX, NandConfig,
    NandError, PerType, Variant,
};
use aster_parties::{MediaFacts, PieceError};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::link::LinkOp;
use aster_ports::package::{DataMode, Interface};
use aster_ports::resource::{Bandwidth, SharedBandwidth};
use aster_sched::cosmos::{LoopConfig, LoopCosts};
use aster_sched::{CoreBuses, PackageLimit, Policy, TaskScheduler, Tasks};
use aster_units::{CellMode, Content, Duration, Frequency};
use aster_wire::nvme::cqe::CQE_BYTES;
use aster_wire::nvme::sqe::SQE_BYTES;
use aster_wire::onfi::command_set::{OneShot, ReadRetry, Suspend};
use aster_wire::onfi::parameter_page::Endurance;
use aster_wire::onfi::{CommandSet, DataInterface, Timing};

/// Free blocks of a LUN that only garbage collection may take: one to move a victim's pages to, and one more
/// so that a program failure on the way leaves somewhere to go.
pub(crate) const GC_RESERVE_BLOCKS: u32 = 2;
/// OOB bytes that the FTL gets with every page.
pub(crate) const OOB_BYTES: u8 = 16;

/// Why a profile doesn't make a drive.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The profile is wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A value that only shows when parts meet.
    #[error("{key}: {reason}")]
    Value {
        /// The profile's key.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The NAND image or array.
    #[error(transparent)]
    Nand(#[from] NandError),
    /// The front end's configuration.
    #[error("host: {0}")]
    Host(#[from] aster_hostif::ConfigError),
    /// The FTL's configuration.
    #[error("ftl: {0}")]
    Ftl(#[from] aster_ftl::ConfigError),
    /// A party that could not be started.
    #[error(transparent)]
    Piece(#[from] PieceError),
}

pub(crate) fn value(key: &'static str, reason: impl ToString) -> BuildError {
    BuildError::Value { key, reason: reason.to_string() }
}

pub(crate) fn micros(us: f64) -> Duration {
    Duration::from_nanos_f64(us * 1e3)
}

fn nanos(ns: u32) -> Duration {
    Duration::from_nanos(u64::from(ns))
}

/// Times by page type as LSB, CSB, MSB; what the cells don't have repeats its neighbour.
fn per_type(times: &[f64]) -> [Duration; 3] {
    match *times {
        [lsb] => [micros(lsb); 3],
        [lsb, msb] => [micros(lsb), micros(msb), micros(msb)],
        [lsb, csb, msb, ..] => [micros(lsb), micros(csb), micros(msb)],
        [] => [Duration::ZERO; 3],
    }
}

impl From<PlacementName> for Placement {
    fn from(name: PlacementName) -> Placement {
        match name {
            PlacementName::Spare => Placement::Spare,
            PlacementName::Interleaved => Placement::Interleaved,
        }
    }
}

fn interface(name: DataModeName) -> (DataInterface, DataMode) {
    match name {
        DataModeName::Sdr => (DataInterface::Sdr, DataMode::Sdr),
        DataModeName::NvDdr => (DataInterface::NvDdr, DataMode::NvDdr),
        DataModeName::NvDdr2 => (DataInterface::NvDdr2, DataMode::NvDdr2),
    }
}

pub(crate) fn layout(profile: &Profile) -> Result<PageLayout, BuildError> {
    let g = profile.array_geometry();
    let parity_bits = profile.ecc.field as usize * profile.ecc.designed;
    PageLayout::new(
        g.sectors_per_page(),
        g.raw_page_bytes(),
        profile.ecc.chunk_bytes,
        parity_bits.div_ceil(8) as u16,
        OOB_BYTES,
        profile.ecc.placement.into(),
    )
    .map_err(|e| value("ecc", e))
}

pub(crate) fn nand(profile: &Profile, content: Content) -> Result<NandConfig, BuildError> {
    let p = &profile.package;
    let of = |times: &[f64]| {
        let [lsb, csb, msb] = per_type(times);
        PerType { lsb, csb, msb }
    };
    let padded = |key, text: &str, into: &mut [u8]| {
        if text.len() > into.len() || !text.is_ascii() {
            return Err(value(key, format!("must be at most {} ASCII characters", into.len())));
        }
        into.fill(b' ');
        into[..text.len()].copy_from_slice(text.as_bytes());
        Ok(())
    };
    let (mut manufacturer, mut model) = ([0; 12], [0; 20]);
    padded("package.manufacturer", &p.manufacturer, &mut manufacturer)?;
    padded("package.model", &p.model, &mut model)?;
    let t_ccs = nanos(p.column_change_ns);
    let variant = variant(p);
    Ok(NandConfig {
        geometry: profile.array_geometry(),
        layout: layout(profile)?,
        content,
        cells: p.cells.into(),
        timing: ArrayTiming {
            read: of(&p.read_us),
            program: of(&p.program_us),
            erase: micros(p.erase_us),
            deviation_die: micros(p.die_deviation_us),
            deviation_page: micros(p.page_deviation_us),
            slc_read: variant.slc_read,
            slc_program: variant.slc_program,
            slc_erase: variant.slc_erase,
            one_shot_program: variant.one_shot_program,
            suspend: variant.suspend,
            ..ArrayTiming::COSMOS_MLC
        },
        bus: BusConfig {
            sdr_mode_max: 5,
            nv_ddr_mode_max: Some(5),
            nv_ddr2_mode_max: Some(p.nv_ddr2_mode_max),
            t_ccs,
        },
        variant: Variant {
            commands: commands(p),
            read_levels_mv: p.retry.as_ref().map(|retry| retry.levels_mv.clone()).unwrap_or_default(),
            pair_loss: p.pair_loss,
            lsb_pages: profile.restrict.lsb_pages,
        },
        identity: Identity { id: p.id, manufacturer, model, endurance: endurance(p.endurance) },
        errors: ErrorModel {
            fresh: p.errors.fresh,
            cycle: p.errors.cycle,
            cycle_squared: p.errors.cycle_squared,
            retention: p.errors.retention,
            read: p.errors.read,
            csb_factor: p.errors.csb_factor,
            msb_factor: p.errors.msb_factor,
            slc_factor: p.errors.slc_factor,
            retention_shift_mv: p.errors.retention_shift_mv,
            level_width_mv: p.errors.level_width_mv,
            read_noise_mv: p.errors.read_noise_mv,
            neighbour: p.errors.neighbour,
            coupling_mv: p.errors.coupling_mv,
            lifted: lifted(&p.errors.lifted),
        },
        failures: FailureModel {
            factory_bad_per_mille: p.factory_bad_per_mille,
            factory_marks: match p.factory_marks {
                FactoryMarksName::FirstPage => FactoryMarks::FirstPage,
                FactoryMarksName::LastPage => FactoryMarks::LastPage,
                FactoryMarksName::FirstOrLastPage => FactoryMarks::FirstOrLastPage,
            },
            program_per_million: p.program_failures_per_million,
            erase_per_million: p.erase_failures_per_million,
            growth_per_thousand_cycles: p.failure_growth,
            wear_out_cycles: (u64::from(p.endurance) * u64::from(p.wear_out_percent) / 100)
                .try_into()
                .unwrap_or(u32::MAX),
        },
        seed: profile.seed,
    })
}

/// The optional and vendor specific commands of a package.
fn commands(p: &PackageProfile) -> CommandSet {
    let has = |command| p.commands.contains(&command);
    CommandSet {
        read_cache: has(CommandName::ReadCache),
        program_cache: has(CommandName::ProgramCache),
        multi_plane: has(CommandName::MultiPlane),
        copyback: has(CommandName::Copyback),
        reset_lun: has(CommandName::ResetLun),
        odt_configure: has(CommandName::OdtConfigure),
        zq_calibration: has(CommandName::ZqCalibration),
        pseudo_slc: p.slc.as_ref().map(|slc| slc.prefix),
        one_shot: p.one_shot.as_ref().map(|o| OneShot { pages: o.prefixes, load_confirm: o.load_confirm }),
        suspend: p.suspend.as_ref().map(|s| Suspend {
            erase: s.erase,
            erase_resume: s.erase_resume,
            program: s.program,
            program_resume: s.program_resume,
        }),
        read_retry: p
            .retry
            .as_ref()
            .map(|retry| ReadRetry { feature: retry.feature, levels: retry.levels_mv.len() as u8 }),
    }
}

/// What firmware knows of a package's commands, and how long they take. A command that it lacks has the plain
/// one's time.
fn variant(p: &PackageProfile) -> PackageVariant {
    let longest = |times: &[f64]| times.iter().fold(0.0, |a: f64, b| a.max(*b));
    let slc = |of: fn(&PseudoSlcProfile) -> f64, plain: f64| micros(p.slc.as_ref().map_or(plain, of));
    PackageVariant {
        commands: commands(p),
        id: Some(p.id),
        slc_read: slc(|slc| slc.read_us, longest(&p.read_us)),
        slc_program: slc(|slc| slc.program_us, longest(&p.program_us)),
        slc_erase: slc(|slc| slc.erase_us, p.erase_us),
        one_shot_program: micros(p.one_shot.as_ref().map_or(longest(&p.program_us), |o| o.program_us)),
        suspend: p.suspend.as_ref().map_or(Duration::ZERO, |s| micros(s.latency_us)),
    }
}

/// As a parameter page says it: value times a power of ten, rounded down.
fn endurance(cycles: u32) -> Endurance {
    let (mut value, mut exponent) = (cycles, 0);
    while value > 255 {
        value /= 10;
        exponent += 1;
    }
    Endurance { value: value as u8, exponent }
}

/// Bytes that the NAND image of a profile's drive takes; sparse until written.
///
/// # Errors
/// When the profile doesn't make a drive.
pub fn nand_image_bytes(profile: &Profile, content: Option<Content>) -> Result<u64, BuildError> {
    let config = nand(profile, content.unwrap_or(profile.content.into()))?;
    config.validate()?;
    Ok(aster_nand::NandArray::image_bytes(&config))
}

/// Bytes of that image, from its beginning, that say what the array holds, pages' checksums among it.
///
/// # Errors
/// As [`nand_image_bytes`].
pub fn nand_records_bytes(profile: &Profile, content: Option<Content>) -> Result<u64, BuildError> {
    let config = nand(profile, content.unwrap_or(profile.content.into()))?;
    config.validate()?;
    Ok(aster_nand::NandArray::image_records_bytes(&config))
}

pub(crate) fn flash(profile: &Profile) -> Result<FlashConfig, BuildError> {
    let p = &profile.package;
    let (_, mode) = interface(profile.channel.data_interface);
    Ok(FlashConfig {
        layout: layout(profile)?,
        shape: LunShape { geometry: profile.array_geometry(), cells: CellMode::from(p.cells) },
        t_r: per_type(&p.read_us),
        t_prog: per_type(&p.program_us),
        t_bers: micros(p.erase_us),
        t_rst: ArrayTiming::COSMOS_MLC.reset,
        variant: variant(p),
        interface: Interface { mode, timing_mode: profile.channel.timing_mode },
        scramble: profile.ecc.scrambler,
        poll: PollPolicy {
            interval: nanos(profile.poll.interval_ns),
            early: nanos(profile.poll.early_ns),
            patience: profile.poll.patience,
        },
        costs: FlashCosts {
            request: profile.costs.flash_request,
            transaction: profile.costs.transaction,
            poll: profile.costs.poll,
        },
    })
}

/// The share of each level that a lift makes wrong; checked to be no more than there are.
fn lifted(shares: &[f64]) -> [f64; LEVELS_MAX] {
    core::array::from_fn(|level| shares.get(level).copied().unwrap_or_default())
}

pub(crate) fn clock(profile: &Profile) -> EngineClock {
    EngineClock {
        period: Duration::from_nanos_f64(profile.channel.clock_ns),
        fifo_latency: profile.channel.fifo_cycles,
        gap: profile.channel.gap_cycles,
    }
}

fn timing_of(profile: &Profile, interface: DataInterface, mode: u8) -> Result<BusTiming, BuildError> {
    let timing = Timing::of(interface, mode).map_err(|e| value("channel.timing_mode", e))?;
    let bus = BusTiming::of_onfi(&timing, nanos(profile.package.column_change_ns));
    Ok(match profile.channel.rate_mt_s {
        Some(rate) => bus.at_most(u64::from(rate) * 1_000_000),
        None => bus,
    })
}

/// The bus after bring-up.
pub(crate) fn bus_timing(profile: &Profile) -> Result<BusTiming, BuildError> {
    let (fast, _) = interface(profile.channel.data_interface);
    timing_of(profile, fast, profile.channel.timing_mode)
}

/// The key that makes an entry of a cycle table too great: where the profile chose the time itself, it is
/// that key.
fn too_long(profile: &Profile, error: &ClockTooFast) -> BuildError {
    let chosen = match error.entry {
        "t_ccs" => Some("package.column_change_ns"),
        "gap" => Some("channel.gap_cycles"),
        "byte_phases_out" | "byte_phases_in" => profile.channel.rate_mt_s.map(|_| "channel.rate_mt_s"),
        _ => None,
    };
    match chosen {
        Some(key) => {
            let clock = profile.channel.clock_ns;
            let entry = error.entry;
            value(
                key,
                format!(
                    "takes more cycles of channel.clock_ns, {clock} ns, than the controller's register '{entry}' can count"
                ),
            )
        }
        None => value("channel.clock_ns", error),
    }
}

pub(crate) fn engine(
    profile: &Profile,
    memory: &SharedBandwidth,
    solver: Option<SharedSolver>,
) -> Result<EngineConfig, BuildError> {
    let layout = layout(profile)?;
    let clock = clock(profile);
    let table = |bus: &BusTiming| CycleTable::new(bus, &clock).map_err(|e| too_long(profile, &e));
    let mut tables = vec![table(&bus_timing(profile)?)?];
    if tables[0].interface != Interface::POWER_ON {
        tables.push(table(&timing_of(profile, DataInterface::Sdr, 0)?)?);
    }
    let e = &profile.ecc;
    Ok(EngineConfig {
        clock,
        tables,
        stages: StageConfig {
            layout,
            ecc: Ecc::new(e.field, e.designed, e.corrected, &layout).map_err(|e| value("ecc", e))?,
            detect_latency: nanos(e.detect_ns),
            correct_latency: nanos(e.correct_ns),
            solver,
        },
        longest_burst: profile.array_geometry().raw_page_bytes(),
        memory: memory.clone(),
    })
}

pub(crate) fn link(profile: &Profile) -> LinkConfig {
    let l = &profile.link;
    let bytes_per_second = lane_bytes_per_second(l.generation) * u64::from(l.lanes);
    LinkConfig {
        bytes_per_second: if l.unlimited { 0 } else { bytes_per_second },
        latency: nanos(l.latency_ns),
        packet_overhead: l.packet_overhead,
        packet_payload: l.packet_payload,
    }
}

/// What every command costs before firmware or flash do anything for it: the doorbell and the submission
/// entry on the link, what the controller takes for it, the completion entry and the interrupt behind it.
///
/// It is above zero for each profile that passes its check, so that simulated time goes on whatever a host
/// asks for.
pub fn least_command(profile: &Profile) -> Duration {
    let link = link(profile);
    let interrupt = LinkOp::Interrupt { vector: 0 };
    let sent = [SQE_BYTES as u32, CQE_BYTES as u32, interrupt.bytes()].map(|bytes| link.occupies(bytes));
    let controller = nanos(profile.host.fetch_ns) + nanos(profile.host.completion_ns);
    // The doorbell goes one way, the entry's fetch both, the completion one with the interrupt close behind.
    sent.into_iter().fold(link.latency * 4 + controller, |sum, part| sum + part)
}

/// Bytes a second of one lane after line coding: 8b/10b in generations 1 and 2, 128b/130b from 3 on (PCIe 4.0
/// §4.2).
fn lane_bytes_per_second(generation: u8) -> u64 {
    match generation {
        1 => 250_000_000,
        2 => 500_000_000,
        n => (8_000_000_000u64 << (n - 3)) * 128 / 130 / 8,
    }
}

pub(crate) fn pci_ids(profile: &Profile) -> PciIds {
    let l = &profile.link;
    PciIds { vendor: l.vendor_id, device: l.device_id, link_speed: l.generation, lanes: l.lanes }
}

pub(crate) fn frequency(profile: &Profile) -> Result<Frequency, BuildError> {
    Frequency::from_hertz((profile.cores.frequency_mhz * 1e6) as u64)
        .ok_or_else(|| value("cores.frequency_mhz", "must not be 0"))
}

/// The drive's task scheduler: the one brought, or what the profile names.
pub(crate) fn tasks(profile: &Profile, own: Option<Box<dyn TaskScheduler>>) -> Tasks {
    // Below a scheduler that isn't made of workers there is nothing left to choose.
    let policy = if profile.scheduler.policy == READS_FIRST { Policy::ReadsFirst } else { Policy::Fifo };
    let geometry = profile.array_geometry();
    let packages = u32::from(geometry.channels) * u32::from(geometry.ways);
    let ours = || -> Box<dyn TaskScheduler> {
        match profile.scheduler.package_operations_max {
            0 => Box::new(policy),
            operations_max => Box::new(PackageLimit { inner: policy, operations_max }),
        }
    };
    let scheduler = own.unwrap_or_else(ours);
    Tasks::new(scheduler, packages)
}

/// Which transaction a channel's port takes next.
pub(crate) fn transactions(profile: &Profile) -> TransactionPolicy {
    match profile.scheduler.transactions {
        TransactionOrder::Fifo => TransactionPolicy::Fifo,
        TransactionOrder::RoundRobin => TransactionPolicy::RoundRobin,
        TransactionOrder::ByClass => TransactionPolicy::ByClass,
        TransactionOrder::ShortestFirst => TransactionPolicy::ShortestFirst,
        TransactionOrder::FairShare => TransactionPolicy::FairShare,
    }
}

pub(crate) fn host(
    profile: &Profile,
    name: &str,
    content: Content,
    namespace_bytes: u64,
    block_size: BlockSize,
) -> HostIfConfig {
    let h = &profile.host;
    let mut model: String = format!("Aster {name}").chars().filter(|c| matches!(c, ' '..='~')).collect();
    model.truncate(40);
    HostIfConfig {
        queue_pairs: h.queue_pairs,
        queue_entries: u32::from(h.queue_entries),
        slots: h.command_slots,
        dma_requests: h.dma_requests(),
        transfer_pages_log2: (h.transfer_bytes_max / 4096).trailing_zeros() as u8,
        serial: format!("ASTER{:012X}", profile.seed & 0xffff_ffff_ffff),
        model,
        firmware_revision: env!("CARGO_PKG_VERSION").chars().take(8).collect(),
        vendor_id: profile.link.vendor_id,
        subsystem_vendor_id: profile.link.vendor_id,
        ieee_oui: [0; 3],
        namespace_bytes,
        offers_512: content == Content::Full,
        block_size,
        volatile_write_cache: true,
        weighted_round_robin: h.arbitration == ArbitrationName::Weighted,
        arbitration_burst_log2: 3,
        fetch_batch: h.fetch_batch,
        vectors: h.queue_pairs + 1,
        fetch_latency: nanos(h.fetch_ns),
        completion_latency: nanos(h.completion_ns),
        transfer_latency: nanos(h.dma_ns),
        auto_completion: h.auto_completion,
        media_errors_max: h.media_errors_max,
        history: Default::default(),
    }
}

/// What a translation may know of a profile's media.
pub(crate) fn media_facts(profile: &Profile, content: Content) -> MediaFacts {
    // Of a word line whose upper pages are left out, none can take the others along.
    let takes_along =
        !profile.restrict.lsb_pages && (profile.package.pair_loss || profile.scheduler.one_shot);
    MediaFacts {
        geometry: profile.used_geometry(),
        restriction: profile.restriction(),
        content,
        lost_together: if takes_along { CellMode::from(profile.package.cells).bits() as u16 } else { 1 },
        whole_lines: profile.scheduler.one_shot,
        correctable: profile.ecc.corrected.min(u8::MAX.into()) as u8,
    }
}

/// The page-mapping FTL of a profile; of its front end it hears when it starts.
pub(crate) fn ftl(profile: &Profile, facts: &MediaFacts) -> FtlConfig {
    let f = &profile.ftl;
    let c = &profile.costs;
    FtlConfig {
        geometry: facts.geometry,
        restriction: Some(facts.restriction),
        content: facts.content,
        capacity: Capacity::OverProvisioning(f.over_provisioning_percent),
        buffer_entries: f.buffer_entries,
        slice_workers: f.slice_workers,
        command_slots: 1,
        auto_completion: false,
        partial_reads: f.partial_reads,
        assigner: match f.assigner {
            AssignerName::ChannelFirst => Assigner::ChannelFirst,
            AssignerName::WayFirst => Assigner::WayFirst,
            AssignerName::Random => Assigner::Random { seed: profile.seed },
        },
        gc_reserve_blocks: GC_RESERVE_BLOCKS,
        gc_free_blocks: f.gc_free_blocks,
        gc_depth: f.gc_depth,
        pages_per_word_line: facts.lost_together,
        whole_lines: facts.whole_lines,
        checkpoint_pages: f.checkpoint_pages,
        wear_levelling: match f.wear_levelling {
            LevellingName::None => WearLevelling::None,
            LevellingName::Dynamic => WearLevelling::Dynamic,
            LevellingName::Static => WearLevelling::Static { spread: f.wear_spread },
        },
        refresh: refresh(profile, facts.correctable),
        scan_interval: Duration::from_micros(f.scan_us.into()),
        background_gap: Duration::from_micros(f.background_gap_us.into()),
        costs: FtlCosts {
            command: c.command,
            slice: c.slice,
            translate: c.translate,
            buffer: c.buffer,
            dma: c.dma,
            complete: c.complete,
            move_page: c.move_page,
            replay: c.replay,
        },
    }
}

fn refresh(profile: &Profile, correctable: u8) -> Refresh {
    // A share of few bits is one bit at least.
    let corrected = (u32::from(correctable) * profile.ftl.refresh_corrected_percent).div_ceil(100) as u8;
    Refresh { corrected, correctable, reads: profile.ftl.refresh_reads }
}

/// The block format of a drive: the one it was made with (`kept`), else the profile's. Small blocks need full
/// content.
pub(crate) fn block_size(profile: &Profile, content: Content, kept: Option<BlockSize>) -> BlockSize {
    match (content, kept, profile.host.block_bytes) {
        (Content::Fingerprint, _, _) => BlockSize::Bytes4096,
        (Content::Full, Some(kept), _) => kept,
        (Content::Full, None, 512) => BlockSize::Bytes512,
        (Content::Full, None, _) => BlockSize::Bytes4096,
    }
}

/// The big loop of a profile that has one.
pub(crate) fn big_loop(profile: &Profile, flash: &FlashConfig) -> LoopConfig {
    let (c, b) = (&profile.costs, &profile.board.buses);
    let longest = |times: [Duration; 3]| times.into_iter().fold(Duration::ZERO, Duration::max);
    let patience = |typical: Duration| typical * u64::from(flash.poll.patience);
    let crossing = |mhz: f64| match b.register_cycles {
        0.0 => Duration::ZERO,
        cycles => Duration::from_nanos_f64(cycles * 1e3 / mhz),
    };
    LoopConfig {
        geometry: profile.array_geometry(),
        detached: profile.channel.controller != ControllerName::Software,
        read_retries: profile.scheduler.read_retries,
        read_levels: flash.variant.commands.read_retry,
        auto_completion: profile.host.auto_completion,
        one_shot: profile.scheduler.one_shot,
        costs: LoopCosts {
            pass: c.loop_pass,
            status: c.loop_status,
            compare: c.loop_compare,
            issue: c.loop_issue,
            finish: c.loop_finish,
        },
        register_access: (crossing(b.processor_mhz) + crossing(b.central_mhz) + crossing(b.control_mhz)) * 2,
        memory_access: nanos(profile.board.uncached_ns),
        give_up: [
            longest(flash.t_r),
            longest(flash.t_prog).max(flash.variant.one_shot_program),
            flash.t_bers,
        ]
        .map(patience),
    }
}

/// The way to memory of the host interface controller, and of each channel (C55, buses 1 to 4).
pub(crate) fn buses(profile: &Profile, memory: &SharedBandwidth) -> (SharedBandwidth, Vec<SharedBandwidth>) {
    let b = &profile.board.buses;
    let bus = |mb_per_s: u64, next: &SharedBandwidth| match mb_per_s {
        0 => SharedBandwidth::clone(next),
        limited => Bandwidth::behind(limited * 1_000_000, next),
    };
    let interconnect = bus(b.memory_mb_per_s, memory);
    let channels = bus(b.channels_mb_per_s, &interconnect);
    let each = (0..profile.array_geometry().channels).map(|_| bus(b.channel_mb_per_s, &channels));
    (bus(b.host_mb_per_s, &interconnect), each.collect())
}

/// The control path (C55, buses 0 and 6 to 11).
pub(crate) struct ControlBuses {
    /// What the core contends for.
    pub(crate) core: CoreBuses,
    /// What a channel controller's completion flag passes on its way to memory: 11 behind 9, and 8 behind 0.
    pub(crate) completions: [SharedBandwidth; 2],
}

/// Bytes that buses 9 to 11 move in a cycle (C55).
const CONTROL_BYTES: f64 = 4.0;

/// The control path of `profile`, to `memory`.
pub(crate) fn control_buses(profile: &Profile, memory: &SharedBandwidth) -> ControlBuses {
    let b = &profile.board.buses;
    let rate = |mhz: f64| (mhz * 1e6 * CONTROL_BYTES) as u64;
    let central = Bandwidth::new(rate(b.central_mhz));
    let host = Bandwidth::behind(rate(b.control_mhz), &central);
    let channels = Bandwidth::behind(rate(b.control_mhz), &central);
    let to_memory = |mb_per_s: u64| Bandwidth::behind(mb_per_s * 1_000_000, memory);
    ControlBuses {
        completions: [SharedBandwidth::clone(&channels), to_memory(b.central_memory_mb_per_s)],
        core: CoreBuses { host, channels, memory: to_memory(b.processor_memory_mb_per_s) },
    }
}

/// The key equation solver of each channel: neighbours share one, or none does (C22).
pub(crate) fn solvers(profile: &Profile) -> Vec<Option<SharedSolver>> {
    let (e, channels) = (&profile.ecc, usize::from(profile.array_geometry().channels));
    let shared = usize::from(e.solver_channels);
    if shared == 0 {
        return vec![None; channels];
    }
    let solvers: Vec<_> =
        (0..channels.div_ceil(shared)).map(|_| KeySolver::new(nanos(e.solver_ns))).collect();
    (0..channels).map(|channel| Some(SharedSolver::clone(&solvers[channel / shared]))).collect()
}
