//! The kinds of channels of a drive: the timed model, or hardware simulated cycle by cycle.

use crate::configure::BuildError;
use crate::profile::ControllerName;
use aster_channel::{ChannelStats, CycleEngine, Engine, EngineConfig};
use aster_events::Recorder;
use aster_nand::NandPackage;
use aster_ports::channel::{BusTap, ChannelPort};
use aster_ports::dram::SharedDram;
use aster_ports::pins::CycleChannel;
use aster_txn::interface::limits::FIFO_LATENCY;
use aster_units::{ChannelId, Content};
use std::rc::Rc;

/// Makes the channels of a drive. A run that uses RTL injects it here, since a device knows no simulator
/// (design §1).
#[derive(Clone, Copy, Debug, Default)]
pub enum ChannelHardware {
    /// The timed model.
    #[default]
    Timed,
    /// Controllers simulated cycle by cycle, each just reset.
    Cycles(fn(ChannelId) -> Box<dyn CycleChannel>),
}

/// A channel's engine, of either kind.
pub(crate) trait ChannelEngine {
    fn stats(&self) -> ChannelStats;
    fn set_tap(&self, tap: Option<Box<dyn BusTap>>);
}

impl ChannelEngine for Engine<NandPackage> {
    fn stats(&self) -> ChannelStats {
        Engine::stats(self)
    }
    fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        Engine::set_tap(self, tap);
    }
}

impl ChannelEngine for CycleEngine<NandPackage> {
    fn stats(&self) -> ChannelStats {
        CycleEngine::stats(self)
    }
    fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        CycleEngine::set_tap(self, tap);
    }
}

impl ChannelHardware {
    /// Checks that a drive with this content and configuration can have such channels.
    pub(crate) fn check(
        self,
        content: Content,
        controller: ControllerName,
        config: &EngineConfig,
    ) -> Result<(), BuildError> {
        let value = |key, reason: String| Err(BuildError::Value { key, reason });
        match self {
            ChannelHardware::Timed => Ok(()),
            ChannelHardware::Cycles(_) if content == Content::Fingerprint => {
                value("content", "must be \"full\" on RTL channels: bytes go over their pins".to_owned())
            }
            ChannelHardware::Cycles(_) if config.clock.fifo_latency as usize != FIFO_LATENCY => value(
                "channel.fifo_cycles",
                format!("must be {FIFO_LATENCY} on RTL channels, as their pipeline is"),
            ),
            // The other controllers choose the next transaction in the same cycle in which the previous
            // one ends. The cycle channel instead has a queue that holds both.
            ChannelHardware::Cycles(_) if controller != ControllerName::Software => value(
                "channel.controller",
                "must be \"software\" on RTL channels: their RTL is that controller's".to_owned(),
            ),
            ChannelHardware::Cycles(_) => Ok(()),
        }
    }

    /// Starts the engine of `port`'s channel.
    pub(crate) fn start(
        self,
        port: &Rc<ChannelPort>,
        dram: &SharedDram,
        packages: Vec<NandPackage>,
        config: EngineConfig,
        recorder: &Recorder,
    ) -> Rc<dyn ChannelEngine> {
        match self {
            ChannelHardware::Timed => Engine::start(port, dram, packages, config, recorder),
            ChannelHardware::Cycles(make) => {
                CycleEngine::start(port, dram, packages, config, recorder, make(port.id()))
            }
        }
    }
}
