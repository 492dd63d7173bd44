//! What a drive of 2.0 answers of itself and of its chunks.

use super::answer::chunk_text;
use crate::console;
use aster_lab::asked::failure::Failure;
use aster_lab::words::counted;
use aster_openchannel::{ChunkDescriptor, ChunkFlags, Geometry20, Place};
use serde::Serialize;

/// What Geometry says.
#[derive(Serialize)]
pub(super) struct Geometry {
    version: String,
    groups: u16,
    units_per_group: u16,
    chunks_per_unit: u32,
    blocks_per_chunk: u32,
    write_min: u32,
    write_opt: u32,
    cached_blocks: u32,
    open_max: u32,
    open_per_unit_max: u32,
    read_ns: [u32; 2],
    write_ns: [u32; 2],
    reset_ns: [u32; 2],
    media_capabilities: u32,
    wear_threshold: u8,
    /// Bits of each field of an address, from the lowest on.
    address_bits: Bits,
}

#[derive(Serialize)]
struct Bits {
    block: u8,
    chunk: u8,
    unit: u8,
    group: u8,
}

impl Geometry {
    pub(super) fn of(of: &Geometry20) -> Self {
        Geometry {
            version: format!("{}.{}", of.major, of.minor),
            groups: of.groups.get(),
            units_per_group: of.units.get(),
            chunks_per_unit: of.chunks.get(),
            blocks_per_chunk: of.chunk_blocks.get(),
            write_min: of.write_min.get(),
            write_opt: of.write_opt.get(),
            cached_blocks: of.cached_blocks.get(),
            open_max: of.open_max.get(),
            open_per_unit_max: of.open_per_unit_max.get(),
            read_ns: [of.read_typical.get(), of.read_max.get()],
            write_ns: [of.write_typical.get(), of.write_max.get()],
            reset_ns: [of.reset_typical.get(), of.reset_max.get()],
            media_capabilities: of.capabilities.get(),
            wear_threshold: of.wear_threshold,
            address_bits: Bits {
                block: of.format.block,
                chunk: of.format.chunk,
                unit: of.format.unit,
                group: of.format.group,
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
        let most = |count: u32| if count == 0 { "any number".to_owned() } else { count.to_string() };
        let bits = &self.address_bits;
        console::print(&format!(
            "Open-Channel SSD {}\n  \
             array     {} groups, {} parallel units each, {} chunks of {} blocks of 4096 bytes\n  \
             addresses from bit 0 on: block {}, chunk {}, unit {}, group {} bits\n  \
             writes    of {} blocks at least and {} at best; {} kept back from reads\n  \
             open      {} of chunks, {} in a unit\n  \
             times     read {}, write {}, reset {}\n  \
             modes     media capabilities {:x}h, wear threshold {}\n",
            self.version,
            self.groups,
            self.units_per_group,
            self.chunks_per_unit,
            self.blocks_per_chunk,
            bits.block,
            bits.chunk,
            bits.unit,
            bits.group,
            self.write_min,
            self.write_opt,
            self.cached_blocks,
            most(self.open_max),
            most(self.open_per_unit_max),
            us(self.read_ns),
            us(self.write_ns),
            us(self.reset_ns),
            self.media_capabilities,
            self.wear_threshold,
        ))
    }
}

/// The chunks of a LUN.
#[derive(Serialize)]
pub(super) struct Report {
    channel: u16,
    lun: u16,
    chunks: Vec<Chunk>,
}

#[derive(Serialize)]
struct Chunk {
    address: String,
    lba: String,
    state: &'static str,
    /// Logical blocks.
    blocks: u64,
    /// How many of them are written.
    written: u64,
    wear: u8,
}

impl Report {
    pub(super) fn of(unit: Place, chunks: &[ChunkDescriptor]) -> Self {
        let chunks = chunks.iter().zip(0..).map(|(chunk, block)| Chunk {
            address: chunk_text(Place { block, ..unit }),
            lba: format!("0x{:08x}", chunk.first.get()),
            state: chunk.state().map_or("in no state", ChunkFlags::name),
            blocks: chunk.blocks.get(),
            written: chunk.written.get(),
            wear: chunk.wear,
        });
        Report { channel: unit.channel, lun: unit.lun, chunks: chunks.collect() }
    }
    pub(super) fn print_all(reports: &[Report], json: bool) -> Result<(), Failure> {
        if json {
            return console::json(&reports);
        }
        for Report { channel, lun, chunks } in reports {
            let is_free = |chunk: &&Chunk| chunk.state == ChunkFlags::Free.name();
            let free = counted(chunks.iter().filter(is_free).count() as u64, "chunk");
            console::line(&format!("ch{channel}.lun{lun}: {free} of {} free", chunks.len()))?;
            for Chunk { address, lba, state, blocks, written, .. } in chunks.iter().filter(|of| !is_free(of))
            {
                console::line(&format!("  {address} {lba} {state}, {written} of {blocks} blocks written"))?;
            }
        }
        Ok(())
    }
}
