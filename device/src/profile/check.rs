//! The checks of a profile that types can't make: ranges and relations.

use super::cores::{STACK_BYTES_MAX, STACK_BYTES_MIN, TasksName};
use super::error::not_one_of;
use super::ftl::{MappingName, TableBlocksName};
use super::package::CommandName;
use super::package::{coupling, numbers};
use super::schema::{
    AssignerName, COSMOS, ContentKind, ControllerName, D_CHOICES, DataModeName, FIL, ONE_STREAM,
    OPEN_CHANNEL_12, OPEN_CHANNEL_20, Profile, READS_FIRST, UPDATE_DISTANCE, VECTORS, WINDOWED_GREEDY,
};
use super::target::TARGETS;
use super::words::unit_of;
use aster_ftl::STREAMS_MAX;
use aster_units::{CellMode, Geometry, GeometryError};

/// A key and what is wrong with its value.
type Refused = (&'static str, String);

/// Refuses a number outside of `low..=high`, and a NaN.
pub(super) fn range(key: &'static str, value: f64, low: f64, high: f64) -> Result<(), Refused> {
    if value.is_finite() && value >= low && value <= high {
        Ok(())
    } else {
        let unit = unit_of(key);
        Err((key, format!("must be from {low} to {high}{unit}, but is {value}")))
    }
}

/// Refuses `ftl.assigner` together with `ftl.placement` in a profile's keys, even if it has its default
/// value.
pub(crate) fn check_placed_once(keys: &toml::Table) -> Result<(), Refused> {
    let given = |key: &str| keys.get("ftl")?.get(key)?.as_str();
    match (given("assigner"), given("placement")) {
        (Some(_), Some(placement)) => Err(placed_twice(placement)),
        _ => Ok(()),
    }
}

fn placed_twice(placement: &str) -> Refused {
    let reason = format!("must go beside ftl.placement = \"{placement}\", which says the same");
    ("ftl.assigner", reason)
}

impl Profile {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        self.check_geometry()?;
        self.check_package()?;
        self.check_channel()?;
        self.check_board()?;
        self.check_power()?;
        self.check_thermal()?;
        self.check_emmc()?;
        self.check_cores()?;
        self.check_lanes()?;
        self.check_ftl()?;
        self.check_scheduler()?;
        self.check_host()?;
        self.check_target()
    }

    fn check_target(&self) -> Result<(), Refused> {
        let Some(target) = &self.target else { return Ok(()) };
        range("target.command_ns", f64::from(target.command_ns.unwrap_or(0)), 0.0, 1e9)?;
        range("target.page_cache_mib", f64::from(target.page_cache_mib.unwrap_or(16)), 16.0, 1e6)?;
        if target.page_cache_mib.is_some() && !TARGETS.contains(&target.kind.as_str()) {
            let reason = format!(
                "must be absent under a target that isn't Aster's: target.kind {}",
                not_one_of(TARGETS, &target.kind)
            );
            return Err(("target.page_cache_mib", reason));
        }
        range("target.sectors_per_write", f64::from(target.sectors_per_write.unwrap_or(1)), 1.0, 64.0)?;
        range("target.gather_pages", f64::from(target.gather_pages.unwrap_or(0)), 0.0, 65536.0)?;
        // 0 is for none.
        let composite_bytes = target.composite_bytes.filter(|&bytes| bytes > 0).unwrap_or(4096);
        range("target.composite_bytes", f64::from(composite_bytes), 4096.0, 1e9)?;
        range("target.hot_writes", f64::from(target.hot_writes.unwrap_or(0)), 0.0, 65536.0)?;
        range("target.wear_window", f64::from(target.wear_window.unwrap_or(2)), 2.0, 65536.0)?;
        range("target.region_percent", target.region_percent.unwrap_or(1.0), 0.0, 1000.0)?;
        range("target.region_groups", f64::from(target.region_groups.unwrap_or(1)), 1.0, 65536.0)?;
        range("target.region_accesses", f64::from(target.region_accesses.unwrap_or(1)), 1.0, 1e6)?;
        range("target.status_entries", f64::from(target.status_entries.unwrap_or(1)), 1.0, 16.0)?;
        range("target.status_us", f64::from(target.status_us.unwrap_or(1)), 1.0, 65535.0)?;
        match (target.status_entries.unwrap_or(1), target.status_us) {
            (2.., None) => {
                let reason = "must be 1 without target.status_us: nothing would wait for more entries";
                return Err(("target.status_entries", reason.to_owned()));
            }
            (1, Some(_)) => {
                let reason = "must be absent without target.status_entries: each entry is sent at once";
                return Err(("target.status_us", reason.to_owned()));
            }
            _ => {}
        }
        range("target.map_mib", f64::from(target.map_mib.unwrap_or(1)), 1.0, 1e6)
    }

    fn check_geometry(&self) -> Result<(), Refused> {
        let g = &self.geometry;
        if g.blocks_per_lun == 0 && g.capacity.is_none() {
            let reason = "must be given, unless geometry.capacity is: \"512 GB\" chooses the blocks for it";
            return Err(("geometry.blocks_per_lun", reason.to_owned()));
        }
        let full = Geometry { channels: g.channels, ways: g.ways, ..self.array_geometry() };
        let refused = |key: &'static str, g: &Geometry, e: GeometryError| {
            (key, format!("must be {}, but is {}", e.must, g.number(e.field)))
        };
        full.validate().map_err(|e| refused(geometry_key(e.field), &full, e))?;
        let r = &self.restrict;
        if r.lsb_pages && self.cell_mode() == CellMode::Slc {
            let reason = "must stay false with package.cells = \"slc\": all their pages are LSB pages";
            return Err(("restrict.lsb_pages", reason.to_owned()));
        }
        let used = self.used_geometry();
        used.validate().map_err(|e| refused(restrict_key(e.field), &used, e))?;
        let at_most = |key, used: Option<u32>, all: u32, what: &str| match used {
            Some(used) if used > all => {
                Err((key, format!("must be at most {all}, as many as {what}, but is {used}")))
            }
            _ => Ok(()),
        };
        let array = "the geometry has";
        at_most("restrict.channels", r.channels.map(u32::from), u32::from(g.channels), array)?;
        at_most("restrict.ways", r.ways.map(u32::from), u32::from(g.ways), array)?;
        at_most("restrict.planes", r.planes.map(u32::from), u32::from(g.planes), array)?;
        let of_planes = match r.planes {
            Some(_) => "the planes used have",
            None => array,
        };
        let blocks = self.blocks_of_planes(used.planes);
        at_most("restrict.blocks_per_lun", r.blocks_per_lun, blocks, of_planes)?;
        let of_block = if r.lsb_pages { "LSB pages of a block are" } else { array };
        let pages = self.usable_pages().into();
        at_most("restrict.pages_per_block", r.pages_per_block.map(u32::from), pages, of_block)
    }

    fn check_package(&self) -> Result<(), Refused> {
        let types = usize::from(CellMode::from(self.package.cells).bits());
        for (key, times) in
            [("package.read_us", &self.package.read_us), ("package.program_us", &self.package.program_us)]
        {
            if times.len() != types {
                return Err((
                    key,
                    format!("must give {types} times, one a page type, but gives {}", times.len()),
                ));
            }
            if let Some(time) = times.iter().find(|t| !(t.is_finite() && **t > 0.0 && **t < 1e6)) {
                let reason = format!("must be times above 0 and below one second, but one is {time} µs");
                return Err((key, reason));
            }
        }
        let p = &self.package;
        range("package.erase_us", p.erase_us, 0.001, 1e7)?;
        range("package.die_deviation_us", p.die_deviation_us, 0.0, 1e4)?;
        range("package.page_deviation_us", p.page_deviation_us, 0.0, 1e4)?;
        let deviation = p.die_deviation_us + p.page_deviation_us;
        let shortest =
            p.read_us.iter().chain(&p.program_us).chain([&p.erase_us]).fold(f64::MAX, |a, b| a.min(*b));
        if deviation >= shortest {
            let reason = format!(
                "must stay, with die_deviation_us, below the shortest array time of {shortest} µs, but they \
                 are {deviation}"
            );
            return Err(("package.page_deviation_us", reason));
        }
        range("package.factory_bad_per_mille", f64::from(p.factory_bad_per_mille), 0.0, 500.0)?;
        range("package.program_failures_per_million", f64::from(p.program_failures_per_million), 0.0, 1e6)?;
        range("package.erase_failures_per_million", f64::from(p.erase_failures_per_million), 0.0, 1e6)?;
        range("package.failure_growth", p.failure_growth, 0.0, 1e3)?;
        range("package.endurance", f64::from(p.endurance), 1.0, f64::from(u32::MAX))?;
        range("package.wear_out_percent", f64::from(p.wear_out_percent), 0.0, 1e6)?;
        if p.wear_out_percent > 0 && u64::from(p.endurance) * u64::from(p.wear_out_percent) < 100 {
            let reason = format!(
                "must be at least one cycle, but is {} % of an endurance of {}",
                p.wear_out_percent, p.endurance
            );
            return Err(("package.wear_out_percent", reason));
        }
        for (key, value, low, high) in numbers(p) {
            range(key, value, low, high)?;
        }
        if let Some(slow) = &p.slow_lun {
            let luns = self.array_geometry().total_luns();
            range("package.slow_lun.lun", slow.lun.into(), 0.0, f64::from(luns) - 1.0)?;
        }
        // The parameter page has 16 bits for it.
        range("package.column_change_ns", f64::from(p.column_change_ns), 1.0, f64::from(u16::MAX))?;
        coupling(p)
    }

    fn check_channel(&self) -> Result<(), Refused> {
        let p = &self.package;
        if self.channel.data_interface == DataModeName::NvDdr2
            && self.channel.timing_mode > p.nv_ddr2_mode_max
        {
            let reason = format!(
                "must be at most the package's nv_ddr2_mode_max, {}, but is {}",
                p.nv_ddr2_mode_max, self.channel.timing_mode
            );
            return Err(("channel.timing_mode", reason));
        }
        if let Some(rate) = self.channel.rate_mt_s {
            range("channel.rate_mt_s", f64::from(rate), 1.0, 1e4)?;
        }
        range("channel.clock_ns", self.channel.clock_ns, 0.5, 1e3)?;
        range("channel.fifo_cycles", f64::from(self.channel.fifo_cycles), 0.0, 1e6)?;
        range("channel.gap_cycles", f64::from(self.channel.gap_cycles), 0.0, 1e6)?;
        range("ecc.field", f64::from(self.ecc.field), 5.0, 16.0)?;
        range("ecc.detect_ns", f64::from(self.ecc.detect_ns), 0.0, 1e9)?;
        range("ecc.correct_ns", f64::from(self.ecc.correct_ns), 0.0, 1e9)?;
        range(
            "ecc.solver_channels",
            f64::from(self.ecc.solver_channels),
            0.0,
            f64::from(self.geometry.channels),
        )?;
        range("ecc.solver_ns", f64::from(self.ecc.solver_ns), 0.0, 1e9)?;
        range("ecc.designed", self.ecc.designed as f64, 1.0, 200.0)?;
        range("ecc.corrected", self.ecc.corrected as f64, 1.0, self.ecc.designed as f64)
    }

    fn check_board(&self) -> Result<(), Refused> {
        range("board.dram_mb_per_s", self.board.dram_mb_per_s as f64, 0.0, 1e9)?;
        // FFFFh is what an empty slot reads as.
        range("link.vendor_id", f64::from(self.link.vendor_id), 0.0, f64::from(u16::MAX - 1))?;
        range("link.latency_ns", f64::from(self.link.latency_ns), 0.0, 1e9)?;
        if self.link.unlimited && self.link.latency_ns == 0 {
            let reason = "must be above 0 with link.unlimited, but is 0: a command would cost no time, and \
                          a job that goes by time never end";
            return Err(("link.latency_ns", reason.to_owned()));
        }
        range("link.generation", f64::from(self.link.generation), 1.0, 5.0)?;
        if ![1, 2, 4, 8, 16].contains(&self.link.lanes) {
            return Err(("link.lanes", format!("must be 1, 2, 4, 8 or 16, but is {}", self.link.lanes)));
        }
        range("link.packet_payload", f64::from(self.link.packet_payload), 64.0, 4096.0)?;
        range("link.packet_overhead", f64::from(self.link.packet_overhead), 0.0, 1024.0)?;
        let b = &self.board.buses;
        for (key, mb_per_s) in [
            ("board.buses.memory_mb_per_s", b.memory_mb_per_s),
            ("board.buses.host_mb_per_s", b.host_mb_per_s),
            ("board.buses.channels_mb_per_s", b.channels_mb_per_s),
            ("board.buses.channel_mb_per_s", b.channel_mb_per_s),
            ("board.buses.processor_memory_mb_per_s", b.processor_memory_mb_per_s),
            ("board.buses.central_memory_mb_per_s", b.central_memory_mb_per_s),
        ] {
            range(key, mb_per_s as f64, 0.0, 1e9)?;
        }
        range("board.buses.channel_read_mb_per_s", b.channel_read_mb_per_s, 0.0, 1e9)?;
        range("board.buses.channel_write_mb_per_s", b.channel_write_mb_per_s, 0.0, 1e9)?;
        range("board.uncached_ns", f64::from(self.board.uncached_ns), 0.0, 1e6)?;
        range("board.buses.register_cycles", b.register_cycles, 0.0, 1e4)?;
        // A clock of which no cycles are counted may be left out.
        let slowest = if b.register_cycles == 0.0 { 0.0 } else { 1.0 };
        for (key, mhz) in [
            ("board.buses.processor_mhz", b.processor_mhz),
            ("board.buses.central_mhz", b.central_mhz),
            ("board.buses.control_mhz", b.control_mhz),
        ] {
            range(key, mhz, slowest, 1e5)?;
        }
        Ok(())
    }

    fn check_cores(&self) -> Result<(), Refused> {
        let c = &self.cores;
        range("cores.interrupt_ns", f64::from(c.interrupt_ns), 0.0, 1e9)?;
        range("cores.frequency_mhz", c.frequency_mhz, 1.0, 1e5)?;
        if let Some(mhz) = c.flash_mhz {
            range("cores.flash_mhz", mhz, 1.0, 1e5)?;
            if !c.flash_core {
                return Err(("cores.flash_mhz", "must be left out without cores.flash_core".to_owned()));
            }
        }
        if let Some(bytes) = c.stack_bytes {
            let (least, most) = (f64::from(STACK_BYTES_MIN), f64::from(STACK_BYTES_MAX));
            range("cores.stack_bytes", f64::from(bytes), least, most)?;
            if c.tasks != TasksName::Stackful {
                let reason = "must be left out without cores.tasks = \"stackful\"";
                return Err(("cores.stack_bytes", reason.to_owned()));
            }
        }
        range("poll.early_ns", f64::from(self.poll.early_ns), 0.0, 1e9)?;
        range("poll.interval_ns", f64::from(self.poll.interval_ns), 1.0, 1e9)?;
        range("poll.patience", f64::from(self.poll.patience), 2.0, 1e6)?;
        let c = &self.costs;
        for (key, cycles) in [
            ("costs.command", c.command),
            ("costs.slice", c.slice),
            ("costs.translate", c.translate),
            ("costs.buffer", c.buffer),
            ("costs.dma", c.dma),
            ("costs.complete", c.complete),
            ("costs.move_page", c.move_page),
            ("costs.flash_request", c.flash_request),
            ("costs.transaction", c.transaction),
            ("costs.poll", c.poll),
            ("costs.loop_pass", c.loop_pass),
            ("costs.loop_status", c.loop_status),
            ("costs.loop_compare", c.loop_compare),
            ("costs.loop_issue", c.loop_issue),
            ("costs.loop_finish", c.loop_finish),
            ("costs.nvme_fetch", c.nvme_fetch),
            ("costs.nvme_parse", c.nvme_parse),
            ("costs.nvme_transfer", c.nvme_transfer),
            ("costs.nvme_complete", c.nvme_complete),
            ("costs.nvme_interrupt", c.nvme_interrupt),
            ("costs.nvme_register", c.nvme_register),
            ("costs.tlp_build", c.tlp_build),
            ("costs.tlp_receive", c.tlp_receive),
            ("costs.tlp_copy_kib", c.tlp_copy_kib),
            ("costs.tlp_describe", c.tlp_describe),
            ("costs.tlp_notice", c.tlp_notice),
            ("costs.fil_take", c.fil_take),
            ("costs.fil_dispatch", c.fil_dispatch),
            ("costs.fil_poll", c.fil_poll),
            ("costs.fil_finish", c.fil_finish),
            ("costs.ecc_submit", c.ecc_submit),
            ("costs.ecc_frame", c.ecc_frame),
            ("costs.ecc_error", c.ecc_error),
            ("costs.ecc_encode", c.ecc_encode),
        ] {
            range(key, cycles as f64, 0.0, 1e7)?;
        }
        Ok(())
    }

    fn check_ftl(&self) -> Result<(), Refused> {
        let g = &self.geometry;
        range("ftl.over_provisioning_percent", self.ftl.over_provisioning_percent, 0.5, 900.0)?;
        range("ftl.buffer_entries", f64::from(self.ftl.buffer_entries), 4.0, f64::from(1u32 << 24))?;
        range("ftl.slice_workers", f64::from(self.ftl.slice_workers), 1.0, 4096.0)?;
        range(
            "ftl.gc_free_blocks",
            f64::from(self.ftl.gc_free_blocks),
            2.0,
            f64::from(g.blocks_per_lun) / 2.0,
        )?;
        if let (Some(placement), true) = (&self.ftl.placement, self.ftl.assigner != AssignerName::default()) {
            return Err(placed_twice(placement));
        }
        for (key, given, least, most, of) in [
            ("ftl.victim_choices", self.ftl.victim_choices, 1.0, 1000.0, D_CHOICES),
            ("ftl.victim_window_percent", self.ftl.victim_window_percent, 1.0, 100.0, WINDOWED_GREEDY),
        ] {
            let Some(given) = given else { continue };
            range(key, f64::from(given), least, most)?;
            if self.ftl.victims != of {
                let reason = format!(
                    "must go with ftl.victims = \"{of}\", which alone reads it, but that is \"{}\"",
                    self.ftl.victims
                );
                return Err((key, reason));
            }
        }
        range("ftl.streams", f64::from(self.ftl.streams), 1.0, f64::from(STREAMS_MAX))?;
        match (self.ftl.streams, self.ftl.stream_policy == ONE_STREAM) {
            (2.., true) => {
                let reason = format!(
                    "must be a policy that chooses among ftl.streams = {}, such as \"{UPDATE_DISTANCE}\": \
                     with \"{ONE_STREAM}\" only the first would be written",
                    self.ftl.streams
                );
                return Err(("ftl.stream_policy", reason));
            }
            (1, false) => {
                let reason = format!(
                    "must be 2 or more with ftl.stream_policy = \"{}\", which chooses among them",
                    self.ftl.stream_policy
                );
                return Err(("ftl.streams", reason));
            }
            _ => {}
        }
        if let Some(bytes) = self.ftl.map_cache_bytes {
            range("ftl.map_cache_bytes", bytes as f64, 1024.0, (1u64 << 40) as f64)?;
            if self.ftl.mapping != MappingName::DemandPaged {
                let reason = "must go with ftl.mapping = \"demand-paged\", which alone reads it";
                return Err(("ftl.map_cache_bytes", reason.to_owned()));
            }
        }
        if self.ftl.table_blocks != TableBlocksName::Off {
            let refuse = |reason: &str| Err(("ftl.table_blocks", reason.to_owned()));
            if self.ftl.kind != VECTORS {
                return refuse("must stay \"off\" without ftl.kind = \"vectors\", which alone reads it");
            }
            let used = self.used_geometry();
            if used.blocks_per_lun <= u32::from(used.planes) {
                return refuse("must stay \"off\" with one block per plane, which it would take away");
            }
        }
        self.check_multi_plane()?;
        self.check_raw_vectors()?;
        self.check_open_chunks()?;
        range("ftl.gc_depth", f64::from(self.ftl.gc_depth), 1.0, 16.0)?;
        range("ftl.wear_spread", f64::from(self.ftl.wear_spread), 1.0, 1e9)?;
        range("ftl.refresh_corrected_percent", f64::from(self.ftl.refresh_corrected_percent), 0.0, 100.0)?;
        range("ftl.background_gap_us", f64::from(self.ftl.background_gap_us), 0.0, 1e6)
    }

    /// What carries out multi-plane operations, and what splits them again (G13).
    fn check_multi_plane(&self) -> Result<(), Refused> {
        let needs = |ok, what: &str| match ok || !self.ftl.mp_native {
            true => Ok(()),
            false => Err(("ftl.mp_native", format!("must go with {what}"))),
        };
        needs(self.ftl.kind == VECTORS, "ftl.kind = \"vectors\", which alone reads it")?;
        needs(self.used_geometry().planes > 1, "several planes")?;
        let has = self.package.commands.contains(&CommandName::MultiPlane);
        needs(has, "a package that has the command: package.commands = [\"multi-plane\"]")?;
        let software = self.channel.controller == ControllerName::Software;
        needs(software, "channel.controller = \"software\", since the others do one plane after the other")?;
        let policy = &self.scheduler.policy;
        needs(
            policy != COSMOS,
            "another scheduler.policy than \"cosmos\", whose operations are of one page",
        )?;
        needs(policy != FIL, "another scheduler.policy than \"fil\", whose transactions are of one page")
    }

    /// What carries out raw vectors (O1): the others program pages through their ECC alone.
    fn check_raw_vectors(&self) -> Result<(), Refused> {
        let needs = |ok, what: &str| match ok || !self.ftl.raw_vectors {
            true => Ok(()),
            false => Err(("ftl.raw_vectors", format!("must go with {what}"))),
        };
        let has = self.ftl.kind == VECTORS && self.host.command_set == OPEN_CHANNEL_12;
        needs(
            has,
            "ftl.kind = \"vectors\" and host.command_set = \"open-channel-1.2\", which alone has them",
        )?;
        let software = self.channel.controller == ControllerName::Software;
        needs(software, "channel.controller = \"software\", since the others program no page without ECC")?;
        let policy = &self.scheduler.policy;
        needs(policy != COSMOS && policy != FIL, "another scheduler.policy than \"cosmos\" and \"fil\"")
    }

    /// The bound of open chunks (P29). pblk begins a line before all chunks of the one before it are full.
    fn check_open_chunks(&self) -> Result<(), Refused> {
        let (most, g) = (self.ftl.open_chunks_max, self.used_geometry());
        if most == 0 {
            return Ok(());
        }
        if self.ftl.kind != VECTORS || !self.is_of_chunks() {
            let reason =
                format!("must go with host.command_set = \"{OPEN_CHANNEL_20}\", which alone has chunks");
            return Err(("ftl.open_chunks_max", reason));
        }
        let least = 2 * g.total_luns();
        if self.target.is_some() && most < least {
            let reason = format!(
                "must be at least {least} under an FTL on the host, two chunks of each LUN, but is {most}"
            );
            return Err(("ftl.open_chunks_max", reason));
        }
        range("ftl.open_chunks_max", most.into(), 1.0, f64::from(1u32 << 31))
    }

    fn check_scheduler(&self) -> Result<(), Refused> {
        let (g, p) = (&self.geometry, &self.package);
        range("scheduler.read_retries", f64::from(self.scheduler.read_retries), 0.0, 100.0)?;
        range("scheduler.poll_ns", f64::from(self.scheduler.poll_ns), 0.0, 1e6)?;
        if self.scheduler.policy == COSMOS && g.luns != 1 {
            let reason =
                format!("\"cosmos\" has one queue a way: geometry.luns must be 1, but is {}", g.luns);
            return Err(("scheduler.policy", reason));
        }
        if self.scheduler.suspends > 0 {
            let needs = |ok, what: &str| match ok {
                true => Ok(()),
                false => Err(("scheduler.suspends", format!("must be 0 without {what}"))),
            };
            let goes_first = self.scheduler.policy == READS_FIRST;
            needs(goes_first, "scheduler.policy = \"reads-first\", which lets reads overtake")?;
            let software = self.channel.controller == ControllerName::Software;
            needs(software, "channel.controller = \"software\"")?;
            needs(p.suspend.is_some(), "a package that has the commands, package.suspend")?;
        }
        if self.scheduler.multi_plane {
            let needs = |ok, what: &str| match ok {
                true => Ok(()),
                false => Err(("scheduler.multi_plane", format!("must go with {what}"))),
            };
            needs(self.scheduler.policy == FIL, "scheduler.policy = \"fil\", which alone reads it")?;
            needs(self.used_geometry().planes > 1, "several planes")?;
            let has = p.commands.contains(&CommandName::MultiPlane);
            needs(has, "a package that has the command: package.commands = [\"multi-plane\"]")?;
        }
        if self.scheduler.one_shot {
            let needs = |ok, what: &str| match ok {
                true => Ok(()),
                false => Err(("scheduler.one_shot", format!("must stay false without {what}"))),
            };
            needs(self.scheduler.policy == COSMOS, "scheduler.policy = \"cosmos\"")?;
            needs(p.one_shot.is_some(), "a package with one-shot programming, package.one_shot")?;
            needs(
                g.pages_per_block.is_multiple_of(3),
                "whole word lines, geometry.pages_per_block a multiple of 3",
            )?;
            needs(!self.restrict.lsb_pages, "the upper pages that restrict.lsb_pages leaves out")?;
            if !self.used_geometry().pages_per_block.is_multiple_of(3) {
                let pages = self.used_geometry().pages_per_block;
                let reason = format!(
                    "must be a multiple of 3, whole word lines, with scheduler.one_shot, but is {pages}"
                );
                return Err(("restrict.pages_per_block", reason));
            }
            needs(self.ftl.gc_depth >= 3, "ftl.gc_depth of at least 3, the pages of a word line")?;
        }
        Ok(())
    }

    fn check_host(&self) -> Result<(), Refused> {
        let h = &self.host;
        range("host.queue_pairs", f64::from(h.queue_pairs), 1.0, 65_535.0)?;
        range("host.queue_entries", f64::from(h.queue_entries), 2.0, 4096.0)?;
        range("host.command_slots", f64::from(h.command_slots), 1.0, 4096.0)?;
        range("host.fetch_ns", f64::from(h.fetch_ns), 0.0, 1e9)?;
        range("host.completion_ns", f64::from(h.completion_ns), 0.0, 1e9)?;
        range("host.dma_ns", f64::from(h.dma_ns), 0.0, 1e9)?;
        // Under the big loop the units of a page travel together, plus one if they begin inside a unit.
        let together = if self.scheduler.policy == COSMOS { self.geometry.page_bytes / 4096 + 1 } else { 1 };
        range("host.dma_requests", h.dma_requests().into(), together.into(), u16::MAX.into())?;
        range("host.spare_threshold_percent", f64::from(h.spare_threshold_percent), 0.0, 100.0)?;
        range("host.fetch_batch", f64::from(h.fetch_batch), 1.0, 64.0)?;
        if !h.transfer_bytes_max.is_power_of_two() || !(8192..=1 << 21).contains(&h.transfer_bytes_max) {
            return Err((
                "host.transfer_bytes_max",
                format!("must be a power of two from 8192 to 2097152, but is {}", h.transfer_bytes_max),
            ));
        }
        if ![512, 4096].contains(&h.block_bytes) {
            return Err(("host.block_bytes", format!("must be 512 or 4096, but is {}", h.block_bytes)));
        }
        if h.block_bytes != 4096 && self.content == ContentKind::Fingerprint {
            let reason = format!("must be 4096 on a drive that keeps fingerprints, but is {}", h.block_bytes);
            return Err(("host.block_bytes", reason));
        }
        self.check_nvme_software()?;
        self.check_packets()?;
        self.check_command_fifo()?;
        self.check_correction()
    }
}

pub(crate) fn geometry_key(field: &str) -> &'static str {
    match field {
        "channels" => "geometry.channels",
        "ways" => "geometry.ways",
        "luns" => "geometry.luns",
        "planes" => "geometry.planes",
        "pages_per_block" => "geometry.pages_per_block",
        "page_bytes" => "geometry.page_bytes",
        "spare_bytes" => "geometry.spare_bytes",
        _ => "geometry.blocks_per_lun",
    }
}

fn restrict_key(field: &str) -> &'static str {
    match field {
        "channels" => "restrict.channels",
        "ways" => "restrict.ways",
        "planes" => "restrict.planes",
        "pages_per_block" => "restrict.pages_per_block",
        _ => "restrict.blocks_per_lun",
    }
}
