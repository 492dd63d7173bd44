use crate::Drive;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Which devices of a trace are replayed, and where on the drive.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Devices {
    /// The first device that appears, over the whole drive.
    #[default]
    First,
    /// All devices that appear, each over the whole drive.
    All,
    /// These devices, each in its region.
    Placed(Vec<Place>),
}

/// Where a device of a trace is replayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The device, as the format names it.
    pub device: String,
    /// Its part of the drive.
    pub region: Region,
}

/// A part of the drive, made of whole blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First byte on the drive.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Region {
    /// The region that covers a whole drive.
    pub const fn whole(drive: Drive) -> Self {
        Region { offset: 0, bytes: drive.bytes }
    }
}

/// A trace's requests to one device, as far as it has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// The device's name in the format.
    pub name: String,
    /// Where it is replayed; `None` if it is left out.
    pub region: Option<Region>,
    /// Requests recorded.
    pub requests: u64,
    /// Bytes of its writes.
    pub written_bytes: u64,
    /// One past the highest byte requested of the device, as recorded and widened to whole blocks; 0 if it
    /// is left out.
    pub end: u64,
    /// Bytes of its longest request, widened to whole blocks; 0 if it is left out.
    pub longest: u64,
}

/// A real trace has fewer devices than this; the limit bounds memory, since each device is kept and reported.
pub(super) const DEVICES_MAX: usize = 10_000;

/// The devices of a trace in the order in which they appear.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    known: Vec<Device>,
    by_name: BTreeMap<String, usize>,
    /// The device of the last request: most requests go to the same one.
    last: usize,
}

impl Table {
    pub(super) fn all(&self) -> &[Device] {
        &self.known
    }

    /// Counts a request to the device of this name, which is replayed if `devices` says so. Returns `None`
    /// for a new device when there are [`DEVICES_MAX`] already.
    pub(super) fn meet(&mut self, name: &str, devices: &Devices, drive: Drive) -> Option<&mut Device> {
        if self.known.get(self.last).is_none_or(|device| device.name != name) {
            self.last = match self.by_name.get(name) {
                Some(&known) => known,
                None if self.known.len() == DEVICES_MAX => return None,
                None => self.add(name, devices, drive),
            };
        }
        let device = &mut self.known[self.last];
        device.requests += 1;
        Some(device)
    }

    fn add(&mut self, name: &str, devices: &Devices, drive: Drive) -> usize {
        let region = match devices {
            Devices::First => self.known.is_empty().then_some(Region::whole(drive)),
            Devices::All => Some(Region::whole(drive)),
            Devices::Placed(places) => places.iter().find(|p| p.device == name).map(|p| p.region),
        };
        let name = name.to_string();
        self.by_name.insert(name.clone(), self.known.len());
        self.known.push(Device { name, region, requests: 0, written_bytes: 0, end: 0, longest: 0 });
        self.known.len() - 1
    }
}
