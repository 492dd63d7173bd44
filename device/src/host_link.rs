//! A drive's link to the host, of either kind.

use aster_board::{Link, LinkStats, PciFunction, TlpLink};
use aster_ports::credits::Credit;
use aster_ports::link::{LinkOp, LinkPort};
use aster_ports::tlp::{COMPLETION_TIMEOUT, TlpPort, TlpSettings, TlpStats};
use aster_units::Duration;
use std::rc::Rc;

/// How firmware that is the transaction layer exchanges packets with the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transport {
    /// What the host has set in Device Control.
    pub settings: TlpSettings,
    /// The root complex's read completion boundary, in bytes.
    pub completion_boundary: u32,
    /// The credits that the root complex has granted for posted requests.
    pub posted: Credit,
    /// And for non-posted ones.
    pub non_posted: Credit,
    /// How long firmware waits for the answer to a read.
    pub completion_timeout: Duration,
    /// The credits that the function grants the host's accesses to registers: for writes, and for reads.
    /// `None` where they are calls.
    pub registers: Option<(Credit, Credit)>,
}

/// What the board has for the link.
pub(crate) enum Carrier {
    /// It carries whole operations.
    Operations(Rc<Link>),
    /// It carries packets, which the front end sends by this port.
    Packets(Rc<TlpLink>, Rc<TlpPort>),
}

/// The link.
pub(crate) struct HostLink {
    /// What a run mode carries out.
    pub(crate) port: Rc<LinkPort>,
    pub(crate) carrier: Carrier,
}

impl HostLink {
    /// What it has carried.
    pub(crate) fn stats(&self) -> LinkStats {
        match &self.carrier {
            Carrier::Operations(link) => link.stats(),
            Carrier::Packets(link, _) => link.stats(),
        }
    }
    /// One way through it.
    pub(crate) fn latency(&self) -> Duration {
        match &self.carrier {
            Carrier::Operations(link) => link.latency(),
            Carrier::Packets(link, _) => link.latency(),
        }
    }
    /// The link across which the host's register accesses are packets, if they are.
    pub(crate) fn register_packets(&self) -> Option<&Rc<TlpLink>> {
        match &self.carrier {
            Carrier::Packets(link, port) if port.requests().are_wanted() => Some(link),
            Carrier::Packets(..) | Carrier::Operations(_) => None,
        }
    }
    /// The port by which the front end sends packets, if it does.
    pub(crate) fn packets(&self) -> Option<&Rc<TlpPort>> {
        match &self.carrier {
            Carrier::Operations(_) => None,
            Carrier::Packets(_, port) => Some(port),
        }
    }
    /// How packets are exchanged, if the front end sends them.
    pub(crate) fn transport(&self) -> Option<Transport> {
        let Carrier::Packets(link, port) = &self.carrier else { return None };
        let [posted, non_posted, _] = link.credits();
        let registers = self.register_packets().map(|link| {
            let [writes, reads, _] = link.credits_of_core();
            (writes, reads)
        });
        Some(Transport {
            settings: port.settings(),
            completion_boundary: link.completion_boundary(),
            posted,
            non_posted,
            completion_timeout: COMPLETION_TIMEOUT,
            registers,
        })
    }
    /// What it has carried in packets.
    pub(crate) fn packet_stats(&self) -> Option<TlpStats> {
        self.packets().map(|port| port.stats())
    }
    /// Takes over what the host has set in Device Control.
    pub(crate) fn follow(&self, function: &PciFunction) {
        if let Carrier::Packets(link, _) = &self.carrier {
            link.set(function.link_settings());
        }
    }
    /// Sends a message that was pending behind a mask. It crosses the link like any other.
    pub(crate) fn message(&self, vector: u16) {
        match &self.carrier {
            Carrier::Operations(_) => self.port.push(LinkOp::Interrupt { vector }),
            Carrier::Packets(link, _) => link.message(vector),
        }
    }
}
