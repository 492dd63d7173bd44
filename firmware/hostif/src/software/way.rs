//! The drive's side of the host link, as NVMe in software gets it.

use super::packets::PacketConfig;
use alloc::rc::Rc;
use aster_ports::dram::SharedDram;
use aster_ports::link::LinkPort;
use aster_ports::tlp::TlpPort;

/// How NVMe in software reaches the host.
#[derive(Clone, Copy)]
pub(crate) enum HostWay<'a> {
    /// By operations of a link.
    Operations(&'a Rc<LinkPort>),
    /// By packets, with data from and to this memory.
    Packets { port: &'a Rc<TlpPort>, memory: &'a SharedDram, config: PacketConfig },
}
