//! The board (`hardware/board`): link, core clock, buses.

use super::error::{BuildError, value};
use super::target::least_target_command;
use super::times::{micros, nanos};
use crate::core_role::CoreRole;
use crate::profile::{MESSAGE_UNIT, Profile, TransportName};
use aster_board::{
    Critical, EmmcTimes, Heat, JunctionConfig, LinkConfig, PciLink, SensorConfig, ThermalConfig, Throttling,
    TlpLinkConfig, WireConfig, ZERO_CELSIUS,
};
use aster_parties::{CoreBuses, PciIds, PowerReport, PowerValue};
use aster_ports::flash::DieGroups;
use aster_ports::link::LinkOp;
use aster_ports::resource::{Bandwidth, SharedBandwidth};
use aster_units::{Duration, Frequency, LunAddr, LunIndex};
use aster_wire::nvme::cqe::CQE_BYTES;
use aster_wire::nvme::sqe::SQE_BYTES;

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

/// The largest header of a memory request, which `link.packet_overhead` has in it.
const HEADER_BYTES: u32 = 16;
/// The smallest one.
const SHORT_HEADER_BYTES: u32 = 12;
/// Read completion boundary of the host's root complex: PCIe lets it be 64 or 128 bytes (PCIe 4.0 §2.3.1.1).
const COMPLETION_BOUNDARY: u32 = 64;

/// The same link when firmware sends the packets itself.
pub(crate) fn packet_link(profile: &Profile) -> TlpLinkConfig {
    let LinkConfig { bytes_per_second, latency, packet_overhead, .. } = link(profile);
    let framing = packet_overhead.saturating_sub(HEADER_BYTES);
    TlpLinkConfig {
        wire: WireConfig { bytes_per_second, latency, framing },
        max_payload: pci_link(profile).max_payload,
        completion_boundary: COMPLETION_BOUNDARY,
    }
}

/// The least time that a command takes before firmware and flash do anything for it: doorbell and
/// submission entry on the link, the controller's latencies, the completion entry and its interrupt.
///
/// It is above zero for each profile that passes its check, so simulated time advances whatever a host
/// sends.
pub fn least_command(profile: &Profile) -> Duration {
    if let Some(target) = &profile.target {
        return least_target_command(target);
    }
    let mut link = link(profile);
    if profile.host.transport == TransportName::Tlp {
        // A header may have 12 bytes.
        link.packet_overhead = SHORT_HEADER_BYTES + packet_link(profile).wire.framing;
    }
    let interrupt = LinkOp::Interrupt { vector: 0 };
    let sent = [SQE_BYTES as u32, CQE_BYTES as u32, interrupt.bytes()].map(|bytes| link.occupies(bytes));
    let controller = nanos(profile.host.fetch_ns) + nanos(profile.host.completion_ns);
    // The doorbell crosses the link once, the fetch of the entry twice, and the completion once, closely
    // followed by the interrupt.
    sent.into_iter().fold(link.latency * 4 + controller, |sum, part| sum + part)
}

/// Bytes per second of one lane after line coding: 8b/10b in generations 1 and 2, 128b/130b from 3 on
/// (PCIe 4.0 §4.2).
fn lane_bytes_per_second(generation: u8) -> u64 {
    match generation {
        1 => 250_000_000,
        2 => 500_000_000,
        n => (8_000_000_000u64 << (n - 3)) * 128 / 130 / 8,
    }
}

/// What a drive's PCIe function tells of its power, if its profile says something.
pub(crate) fn power_report(profile: &Profile) -> Option<PowerReport> {
    let power = profile.board.power.as_ref()?;
    Some(PowerReport::of_heat(power_value(power.d0_w), power_value(power.d3hot_w)))
}

/// A power as it is told. What the product of floating-point numbers has in excess isn't rounded up: 16.1 W
/// are 16,100 mW.
fn power_value(watts: f64) -> PowerValue {
    PowerValue::of_milliwatts((watts * 1e3 - 1e-6).ceil() as u32)
}

/// The board's temperature sensor, if there is one, and what it measures.
pub(crate) fn sensor(profile: &Profile) -> Option<SensorConfig> {
    let t = profile.board.thermal.as_ref()?;
    Some(SensorConfig {
        board: ThermalConfig {
            ambient: t.ambient_c + ZERO_CELSIUS,
            kelvin_per_watt: t.kelvin_per_watt,
            time_constant: Duration::from_millis(t.time_constant_ms.into()),
            junction: t.controller.map(|controller| JunctionConfig {
                kelvin_per_watt: controller.kelvin_per_watt,
                time_constant: Duration::from_millis(controller.time_constant_ms.into()),
            }),
        },
        heat: Heat {
            idle: t.idle_w,
            read: t.read_uj * 1e-6,
            program: t.program_uj * 1e-6,
            erase: t.erase_uj * 1e-6,
            bus_byte: t.bus_byte_nj * 1e-9,
            link_byte: t.link_byte_nj * 1e-9,
            cycle: t.controller.map_or(0.0, |controller| controller.cycle_nj) * 1e-9,
            controller_idle: t.controller.map_or(0.0, |controller| controller.idle_w),
        },
        throttling: Throttling {
            alarm: t.alarm_c + ZERO_CELSIUS,
            cooled: t.cooled_c + ZERO_CELSIUS,
            dies: t.throttle_dies,
            critical: t
                .critical
                .map(|critical| Critical { kelvins: critical.from_c + ZERO_CELSIUS, dies: critical.dies }),
        },
        interval: Duration::from_millis(t.sample_ms.into()),
    })
}

/// The board's eMMC, if there is one.
pub(crate) fn emmc(profile: &Profile) -> Option<EmmcTimes> {
    let emmc = profile.board.emmc.as_ref()?;
    Some(EmmcTimes { read: micros(emmc.read_us), write: micros(emmc.write_us) })
}

/// From how many kelvins on the host is told that the drive is hot, if it has a sensor.
pub(crate) fn alarm_kelvins(profile: &Profile) -> Option<u16> {
    sensor(profile).map(|sensor| sensor.throttling.alarm.round() as u16)
}

/// From how many kelvins on the host is told that the drive is critically hot, if the profile says so.
pub(crate) fn critical_kelvins(profile: &Profile) -> Option<u16> {
    Some(sensor(profile)?.throttling.critical?.kelvins.round() as u16)
}

/// The dies that a hot drive lets work one after the other. The lanes of an array controller work in
/// lockstep, so their LUNs are one die; a drive without such controllers is a single one.
pub(crate) fn die_groups(profile: &Profile) -> DieGroups {
    let geometry = profile.used_geometry();
    let lanes = u16::from(profile.lanes().max(1));
    let has_controllers = profile.channel.lanes.is_some() || profile.host.front_end == MESSAGE_UNIT;
    let (mut die_of, mut controller_of, mut dies) = (Vec::new(), Vec::new(), Vec::new());
    for lun in 0..geometry.total_luns() {
        let LunAddr { channel, way, lun } = geometry.lun_addr(LunIndex(lun));
        let (controller, channel) = if has_controllers { (channel / lanes, 0) } else { (0, channel) };
        let die = (controller, channel, way, lun);
        let number = dies.iter().position(|known| *known == die).unwrap_or_else(|| {
            dies.push(die);
            controller_of.push(controller);
            dies.len() - 1
        });
        die_of.push(number as u16);
    }
    // The packer of one-shot programs waits for the rest of a word line.
    DieGroups { die_of, controller_of, take_turns: !profile.scheduler.one_shot }
}

/// The ids of a drive's PCIe function. Each drive is a subsystem of its own.
pub(crate) fn pci_ids(profile: &Profile) -> PciIds {
    let (vendor, device) = (profile.link.vendor_id, profile.link.device_id);
    PciIds { vendor, device, subsystem_vendor: vendor, subsystem: device, revision: 1 }
}
/// Max_Payload_Size in bytes that a function offers whose packets are counted and not sent.
const MAX_PAYLOAD: u32 = 256;

pub(crate) fn pci_link(profile: &Profile) -> PciLink {
    let max_payload = match profile.host.transport {
        TransportName::Link => MAX_PAYLOAD,
        TransportName::Tlp => profile.link.packet_payload,
    };
    PciLink { speed: profile.link.generation, lanes: profile.link.lanes, max_payload }
}

/// The clock of the core that `role` has for itself.
pub(crate) fn frequency(profile: &Profile, role: CoreRole) -> Result<Frequency, BuildError> {
    let cores = &profile.cores;
    let own = match role {
        CoreRole::Translation => None,
        CoreRole::Flash(_) => cores.flash_mhz.map(|mhz| ("cores.flash_mhz", mhz)),
        CoreRole::Correction => cores.ecc_mhz.map(|mhz| ("cores.ecc_mhz", mhz)),
    };
    let (key, mhz) = own.unwrap_or(("cores.frequency_mhz", cores.frequency_mhz));
    Frequency::from_hertz((mhz * 1e6) as u64).ok_or_else(|| value(key, "must not be 0"))
}

/// The way to memory of the host interface controller and of each channel (C55, buses 1 to 4).
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
    /// The buses that the core contends for.
    pub(crate) core: CoreBuses,
    /// The buses that a channel controller's completion flag passes on its way to memory: 11 behind 9, and
    /// 8 behind 0.
    pub(crate) completions: [SharedBandwidth; 2],
}

/// Bytes per cycle on buses 9 to 11 (C55).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_told_as_the_profile_has_it() {
        let of = |watts| {
            let PowerValue { data, scale } = power_value(watts);
            (data, scale)
        };
        assert_eq!((of(0.001), of(0.5), of(9.1)), ((1, 3), (50, 2), (91, 1)));
        assert_eq!((of(16.1), of(16.101), of(25.5)), ((161, 1), (162, 1), (255, 1)));
    }
}
