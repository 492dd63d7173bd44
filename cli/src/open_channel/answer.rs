//! What a drive answers, for people and programs.

use crate::console;
use aster_driver::DriverError;
use aster_lab::asked::failure::Failure;
use aster_lab::words::counted;
use aster_openchannel::{BlockFlags, FieldBits, Format, Identity12, Place, Status, VectorError, meaning};
use aster_units::Geometry;
use serde::Serialize;
use std::collections::BTreeSet;

/// What Identify says.
#[derive(Serialize)]
pub(super) struct Identified {
    version: u8,
    channels: u8,
    luns_per_channel: u8,
    planes: u8,
    blocks_per_plane: u16,
    pages_per_block: u16,
    page_bytes: u16,
    sector_bytes: u16,
    metadata_bytes: u16,
    cells: &'static str,
    read_ns: [u32; 2],
    program_ns: [u32; 2],
    erase_ns: [u32; 2],
    plane_operations: u32,
    media_capabilities: u32,
    capabilities: u32,
    /// Lowest bit and number of bits of each field of an address.
    address_format: Fields,
}

#[derive(Serialize)]
struct Fields {
    channel: [u8; 2],
    lun: [u8; 2],
    plane: [u8; 2],
    block: [u8; 2],
    page: [u8; 2],
    sector: [u8; 2],
}

impl Identified {
    pub(super) fn of(identity: &Identity12) -> Self {
        let group = &identity.groups[0];
        let format = &identity.address_format;
        let bits = |field: FieldBits| [field.offset, field.bits];
        Identified {
            version: identity.version,
            channels: group.channels,
            luns_per_channel: group.luns,
            planes: group.planes,
            blocks_per_plane: group.blocks.get(),
            pages_per_block: group.pages.get(),
            page_bytes: group.page_bytes.get(),
            sector_bytes: group.sector_bytes.get(),
            metadata_bytes: group.metadata_bytes.get(),
            cells: if group.flash_type == 0 { "SLC" } else { "MLC" },
            read_ns: [group.read_typical.get(), group.read_max.get()],
            program_ns: [group.program_typical.get(), group.program_max.get()],
            erase_ns: [group.erase_typical.get(), group.erase_max.get()],
            plane_operations: group.plane_operations.get(),
            media_capabilities: group.media_capabilities.get(),
            capabilities: identity.capabilities.get(),
            address_format: Fields {
                channel: bits(format.channel),
                lun: bits(format.lun),
                plane: bits(format.plane),
                block: bits(format.block),
                page: bits(format.page),
                sector: bits(format.sector),
            },
        }
    }
    pub(super) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return console::json(self);
        }
        let us = |[typical, longest]: [u32; 2]| {
            format!("{} to {} µs", f64::from(typical) / 1e3, f64::from(longest) / 1e3)
        };
        let field = |name: &str, [offset, bits]: [u8; 2]| match bits {
            0 => format!("{name} none"),
            1 => format!("{name} {offset}"),
            _ => format!("{name} {}:{offset}", u16::from(offset) + u16::from(bits) - 1),
        };
        let format = &self.address_format;
        let fields = [
            field("ch", format.channel),
            field("lun", format.lun),
            field("pl", format.plane),
            field("blk", format.block),
            field("pg", format.page),
            field("sec", format.sector),
        ];
        console::print(&format!(
            "Open-Channel SSD 1.2, E2h version {}\n  \
             array     {} channels, {} LUNs each, {} planes of {} blocks of {} pages of {} bytes, {}\n  \
             sectors   {} bytes and {} of metadata\n  \
             addresses bits {}\n  \
             times     read {}, program {}, erase {}\n  \
             modes     plane operations {:06x}h, media capabilities {:x}h, capabilities {:x}h\n",
            self.version,
            self.channels,
            self.luns_per_channel,
            self.planes,
            self.blocks_per_plane,
            self.pages_per_block,
            self.page_bytes,
            self.cells,
            self.sector_bytes,
            self.metadata_bytes,
            fields.join(", "),
            us(self.read_ns),
            us(self.program_ns),
            us(self.erase_ns),
            self.plane_operations,
            self.media_capabilities,
            self.capabilities,
        ))
    }
}

/// A LUN's bad-block table.
#[derive(Serialize)]
pub(super) struct Table {
    channel: u16,
    lun: u16,
    blocks: usize,
    /// Blocks that aren't free.
    exceptions: Vec<Exception>,
}

#[derive(Serialize)]
struct Exception {
    address: String,
    state: &'static str,
}

impl Table {
    pub(super) fn of(geometry: &Geometry, lun: Place, states: &[BlockFlags]) -> Self {
        let planes = usize::from(geometry.planes);
        let exceptions = states.iter().enumerate().filter(|(_, state)| **state != BlockFlags::Free);
        let exceptions = exceptions.map(|(n, state)| Exception {
            address: block_text(Place { block: (n / planes) as u32, plane: (n % planes) as u8, ..lun }),
            state: state.name(),
        });
        let Place { channel, lun, .. } = lun;
        Table { channel, lun, blocks: states.len(), exceptions: exceptions.collect() }
    }
    pub(super) fn print_all(tables: &[Table], json: bool) -> Result<(), Failure> {
        if json {
            return console::json(&tables);
        }
        for Table { channel, lun, blocks, exceptions } in tables {
            let free = counted((blocks - exceptions.len()) as u64, "block");
            console::line(&format!("ch{channel}.lun{lun}: {free} of {blocks} free"))?;
            for Exception { address, state } in exceptions {
                console::line(&format!("  {address} {state}"))?;
            }
        }
        Ok(())
    }
}

/// A block's address in words, without page and sector.
pub(super) fn block_text(place: Place) -> String {
    let Place { channel, lun, plane, block, .. } = place;
    format!("ch{channel}.lun{lun}.pl{plane}.blk{block}")
}

/// A chunk's address in words.
pub(super) fn chunk_text(place: Place) -> String {
    let Place { channel, lun, block, .. } = place;
    format!("ch{channel}.lun{lun}.blk{block}")
}

/// How a command with addresses ended.
#[derive(Serialize)]
pub(super) struct Vector {
    #[serde(skip)]
    done: Done,
    /// The completion's status field without the phase tag, in hexadecimal.
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Simulated.
    microseconds: f64,
    addresses: Vec<Address>,
    #[serde(skip)]
    raw: Status,
}

#[derive(Serialize)]
struct Address {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ppa: Option<String>,
    /// The logical block, on a drive of 2.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    lba: Option<String>,
    /// Its bit in the completion.
    failed: bool,
}

/// What a command does when it succeeds: read, written or erased, and what.
#[derive(Clone, Copy)]
pub(super) struct Done {
    pub(super) verb: &'static str,
    pub(super) thing: &'static str,
}

impl Done {
    /// The address of what it is done to.
    fn text(self, place: Place) -> String {
        match self.thing {
            "block" => block_text(place),
            "chunk" => chunk_text(place),
            _ => place.to_string(),
        }
    }
}

impl Vector {
    /// # Errors
    /// When the command didn't end at all.
    pub(super) fn of(
        done: Done,
        format: &Format,
        places: &[Place],
        ended: &Result<(), VectorError>,
        microseconds: f64,
    ) -> Result<Self, Failure> {
        let (raw, bits) = match ended {
            Ok(()) => (Status::SUCCESS, 0),
            Err(VectorError::Failed { status, failed, .. }) => (*status, *failed),
            Err(VectorError::Driver(error)) => return Err(Failure::run(error)),
        };
        let is_lba = matches!(format, Format::Logical(_));
        let addresses = places.iter().enumerate().map(|(n, place)| {
            let number = format!("0x{:08x}", format.encode(*place));
            let (ppa, lba) = if is_lba { (None, Some(number)) } else { (Some(number), None) };
            Address { address: done.text(*place), ppa, lba, failed: bits >> n & 1 != 0 }
        });
        Ok(Vector {
            done,
            status: format!("{:04x}h", raw.raw()),
            reason: (!raw.is_success()).then(|| match meaning(raw) {
                Some(text) => text.to_owned(),
                None => raw.to_string(),
            }),
            microseconds,
            addresses: addresses.collect(),
            raw,
        })
    }
    /// Whether each sector was read.
    pub(super) fn has_all_data(&self) -> bool {
        let nothing = VectorError::Failed { status: self.raw, failed: 0, first: Place::default() };
        self.raw.is_success() || nothing.is_high_ecc()
    }

    /// Prints it. A command that failed is an error that names the first address of those that failed.
    pub(super) fn print(&self, sectors: Option<&[Sector]>, json: bool) -> Result<(), Failure> {
        if json {
            #[derive(Serialize)]
            struct Printed<'a> {
                #[serde(flatten)]
                vector: &'a Vector,
                #[serde(skip_serializing_if = "Option::is_none")]
                sectors: Option<&'a [Sector]>,
            }
            console::json(&Printed { vector: self, sectors })?;
        } else {
            self.print_words(sectors)?;
        }
        let Some(reason) = &self.reason else { return Ok(()) };
        let failed: Vec<_> = self.addresses.iter().filter(|address| address.failed).collect();
        let (first, others) = match failed.split_first() {
            Some((first, others)) => (first, others.len()),
            // The drive refused the command, and didn't say for which address.
            None => {
                let (first, count) = (&self.addresses[0], self.addresses.len());
                let of = if count == 1 { "" } else { " or an address behind it" };
                return Err(Failure::run(format!(
                    "{}{of} {reason} (status {}); nothing was done",
                    first.address, self.status
                )));
            }
        };
        let refused = VectorError::Failed { status: self.raw, failed: 1, first: Place::default() };
        let more = match (others, refused.is_block_refused()) {
            (0, true) => "; nothing was done".to_owned(),
            (n, true) => format!("; the same holds for {n} more; nothing was done"),
            (0, false) => String::new(),
            (n, false) => format!("; the same holds for {n} more"),
        };
        Err(Failure::run(format!("{} {reason} (status {}){more}", first.address, self.status)))
    }
    fn print_words(&self, sectors: Option<&[Sector]>) -> Result<(), Failure> {
        for (n, Address { address, ppa, lba, failed }) in self.addresses.iter().enumerate() {
            let mut line = address.clone();
            for number in [ppa, lba].into_iter().flatten() {
                line += &format!(" {number}");
            }
            match sectors.and_then(|sectors| sectors[n].as_words()) {
                Some(words) => line += &words,
                None if *failed => line += " failed",
                None => {}
            }
            console::line(&line)?;
        }
        if self.raw.is_success() {
            let Done { verb, thing } = self.done;
            let distinct: BTreeSet<_> = self.addresses.iter().map(|of| &of.address).collect();
            let count = counted(distinct.len() as u64, thing);
            console::line(&format!("{count} {verb} in {} µs, simulated", self.microseconds))?;
        }
        Ok(())
    }
}

/// What was read from a sector.
#[derive(Serialize)]
pub(super) struct Sector {
    /// In hexadecimal; absent if the sector couldn't be read.
    metadata: Option<String>,
    /// The first bytes.
    begins_with: Option<String>,
}

/// Bytes of a sector that are shown.
const SHOWN: usize = 16;

impl Sector {
    pub(super) fn of(
        vector: &Vector,
        data: &[u8],
        metadata: &[u8],
        len: usize,
        beside: usize,
    ) -> Vec<Sector> {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let is_refused = !vector.raw.is_success() && vector.addresses.iter().all(|address| !address.failed);
        let whole = vector.has_all_data();
        let sectors = vector.addresses.iter().zip(data.chunks(len)).zip(metadata.chunks(beside));
        let sectors = sectors.map(|((address, data), metadata)| {
            let there = whole || !address.failed && !is_refused;
            let shown = |bytes: &[u8]| there.then(|| hex(bytes));
            Sector {
                metadata: shown(&metadata[..SHOWN.min(beside)]),
                begins_with: shown(&data[..SHOWN.min(len)]),
            }
        });
        sectors.collect()
    }
    fn as_words(&self) -> Option<String> {
        let (metadata, begins_with) = (self.metadata.as_ref()?, self.begins_with.as_ref()?);
        Some(format!(" metadata {metadata} data {begins_with}…"))
    }
}

/// An admin command that failed, as a vector that did: it has no bits for its addresses.
pub(super) fn refused_by(places: &[Place], error: DriverError) -> VectorError {
    match error {
        DriverError::Command { status, .. } => VectorError::Failed { status, failed: 0, first: places[0] },
        error => VectorError::Driver(error),
    }
}
