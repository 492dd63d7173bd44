//! Finding the unit and switching it on.

use super::error::ArrayError;
use super::thermometer::Thermometer;
use aster_exec::Exec;
use aster_parties::DriveFunction;
use aster_units::Duration;
use aster_wire::array::registers::{self, Control, Pages, Shape, StatusConfig, UnitStatus};
use aster_wire::pcie::{CAPABILITIES_BEGIN, CapabilityId, MsiControl};

/// Configuration space (PCIe 4.0 §7.5.1).
const COMMAND: u16 = 0x04;
const CAPABILITIES: u16 = 0x34;
/// Memory Space and Bus Master.
const MEMORY_AND_BUS_MASTER: u32 = 0x0006;
/// The capabilities that fit into configuration space: a list that is longer has a circle.
const CAPABILITIES_MAX: usize = 48;
/// Where messages go. The lowest bits of a message's data are the vector's.
const MESSAGE: (u32, u32) = (0xfee0_0000, 0x4020);
/// Four vectors: status, temperature, fatal.
const VECTORS_LOG2: u8 = 2;
/// How often the status register is read while waiting for the unit, and for how long.
const POLL: Duration = Duration::from_micros(100);
const PATIENCE: Duration = Duration::from_secs(60);

/// The array, as the drive reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayInfo {
    /// Channels, each with a NAND array controller.
    pub channels: u8,
    /// Lanes of a channel.
    pub lanes: u8,
    /// Dies of a lane.
    pub dies: u8,
    /// Planes of a die. A block's plane is its number modulo this.
    pub planes: u8,
    /// Blocks of a die, of all planes.
    pub blocks: u32,
    /// Pages of a block.
    pub pages: u16,
    /// Sectors of a page.
    pub sectors: u8,
}

impl ArrayInfo {
    /// Dies of all channels.
    pub fn all_dies(&self) -> usize {
        usize::from(self.channels) * usize::from(self.dies)
    }
    /// The number of a die among those of all channels.
    pub fn die(&self, channel: u8, die: u8) -> usize {
        usize::from(channel) * usize::from(self.dies) + usize::from(die)
    }
}

fn read(function: &dyn DriveFunction, register: u32) -> u32 {
    function.bar_read(0, register, 4) as u32
}

fn find_msi(function: &dyn DriveFunction) -> Result<u16, ArrayError> {
    let mut at = function.config_read(CAPABILITIES, 1) as u16;
    for _ in 0..CAPABILITIES_MAX {
        if at < u16::from(CAPABILITIES_BEGIN) {
            break;
        }
        if function.config_read(at, 1) == u32::from(CapabilityId::Msi.raw()) {
            let control = MsiControl(function.config_read(at + 2, 2) as u16);
            if control.capable_log2() >= VECTORS_LOG2 && control.is_64_bit() {
                return Ok(at);
            }
        }
        at = function.config_read(at + 1, 1) as u16;
    }
    Err(ArrayError::NoMsi)
}

/// Finds the unit, waits until it is ready, reads its temperature and switches it on: with the address of the
/// status buffer, and when status frames are sent.
pub(super) async fn bring_up(
    exec: &Exec,
    function: &dyn DriveFunction,
    (buffer, config): (u64, StatusConfig),
    thermometer: &Thermometer,
) -> Result<ArrayInfo, ArrayError> {
    let msi = find_msi(function)?;
    function.config_write(COMMAND, 2, MEMORY_AND_BUS_MASTER);
    function.config_write(msi + 0x04, 4, MESSAGE.0);
    function.config_write(msi + 0x08, 4, 0);
    function.config_write(msi + 0x0c, 2, MESSAGE.1);
    let control = MsiControl(0).with_enable(true).with_enabled_log2(VECTORS_LOG2);
    function.config_write(msi + 0x02, 2, control.0.into());
    match read(function, registers::ID) {
        registers::ID_AND_VERSION => {}
        u32::MAX => return Err(ArrayError::NotThere),
        other => return Err(ArrayError::OtherDevice(other)),
    }
    function.bar_write(0, registers::CONTROL, 4, Control(0).with_reset(true).0.into());
    let began = exec.now();
    // The unit has been reset for certain once nothing of a host before is in it (H10).
    loop {
        // A drive that has lost its power meanwhile has no memory space any more.
        let status = match read(function, registers::STATUS) {
            u32::MAX => return Err(ArrayError::NotThere),
            status => UnitStatus(status),
        };
        let stopped = status.frame_error() || status.status_error() || status.overflow();
        if status.ready() && status.commands() == 0 && !stopped {
            break;
        }
        let waited = exec.now().since(began);
        if waited >= PATIENCE || function.fault().is_some() {
            return Err(ArrayError::NotReady { waited, status });
        }
        exec.sleep(POLL).await;
    }
    let (shape, pages) = (Shape(read(function, registers::SHAPE)), Pages(read(function, registers::PAGES)));
    let info = ArrayInfo {
        channels: shape.channels(),
        lanes: shape.lanes(),
        dies: shape.dies(),
        planes: shape.planes(),
        blocks: read(function, registers::BLOCKS),
        pages: pages.pages(),
        sectors: pages.sectors(),
    };
    check(&info)?;
    // Messages before the reset may have been lost.
    thermometer.read(function);
    function.bar_write(0, registers::STATUS_BUFFER, 8, buffer);
    function.bar_write(0, registers::STATUS_CONFIG, 4, config.0.into());
    function.bar_write(0, registers::CONTROL, 4, Control(0).with_enable(true).0.into());
    Ok(info)
}

fn check(info: &ArrayInfo) -> Result<(), ArrayError> {
    for (what, count) in [
        ("channels", u32::from(info.channels)),
        ("lanes", info.lanes.into()),
        ("dies", info.dies.into()),
        ("planes", info.planes.into()),
        ("blocks", info.blocks),
        ("pages", info.pages.into()),
        ("sectors", info.sectors.into()),
    ] {
        if count == 0 {
            return Err(ArrayError::Shape(what));
        }
    }
    Ok(())
}
