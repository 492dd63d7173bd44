//! What an open-channel drive says of itself.

use aster_units::{CellMode, Duration, Geometry};
use aster_wire::ocssd::identity::{Capabilities, MediaCapabilities, PlaneOperations, VERSION};
use aster_wire::ocssd::v2::{self, ChunkShape, Geometry20, MediaCapabilities as MediaCapabilities20};
use aster_wire::ocssd::{AddressFormat, Identity12, METADATA_BYTES, SECTOR_BYTES};
use zerocopy::little_endian::{U16, U32};

/// The facts that Identify tells: the array as the host addresses it, and its times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OpenChannelFacts {
    /// The array that the host addresses.
    pub geometry: Geometry,
    /// Chunks that may be open at a time; 0 for all. Of 2.0 only.
    pub open_chunks_max: u32,
    /// How its cells are used.
    pub cells: CellMode,
    /// Array read: typical, longest.
    pub read: (Duration, Duration),
    /// Page program: typical, longest.
    pub program: (Duration, Duration),
    /// Block erase: typical, longest.
    pub erase: (Duration, Duration),
    /// Bytes of the spare area beside each sector in a raw vector; 0 without raw vectors. Of 1.2 only.
    pub raw_spare_bytes: u16,
    /// The packages' identifier (READ ID).
    pub id: [u8; 6],
}

impl OpenChannelFacts {
    /// Whether Identify of 1.2 has room for them: 8 bits for channels and for the LUNs of each, 16 for the
    /// blocks of a plane. Otherwise the field and what it must be.
    ///
    /// # Errors
    /// The key of the geometry, and what it must be.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let g = &self.geometry;
        let fits = |ok, key, must| if ok { Ok(()) } else { Err((key, must)) };
        fits(
            g.luns_per_channel() <= u8::MAX.into(),
            "geometry.ways",
            "such that a channel has 255 LUNs at most",
        )?;
        let blocks = g.blocks_per_lun / u32::from(g.planes);
        fits(blocks <= u16::MAX.into(), "geometry.blocks_per_lun", "at most 65535 per plane")?;
        fits(g.planes <= 4, "geometry.planes", "1, 2 or 4, since 1.2 has no mode for more")
    }
    /// Geometry of 2.0 (P29). A write of a page in all planes suits the drive best. Nothing stays in volatile
    /// memory once a write has completed.
    pub(crate) fn geometry20(&self) -> Geometry20 {
        let shape = ChunkShape::of(&self.geometry);
        let nanos = |time: Duration| U32::new(u32::try_from(time.as_nanos()).unwrap_or(u32::MAX));
        let mut geometry = Geometry20::default();
        geometry.major = v2::VERSION;
        geometry.format = shape.format();
        geometry.capabilities = U32::new(MediaCapabilities20(0).with_copy(true).0);
        geometry.groups = U16::new(shape.groups() as u16);
        geometry.units = U16::new(shape.units() as u16);
        geometry.chunks = U32::new(shape.chunks());
        geometry.chunk_blocks = U32::new(shape.chunk_blocks());
        geometry.write_min = U32::new(shape.page_blocks());
        geometry.write_opt = U32::new(shape.row_blocks());
        geometry.open_max = U32::new(self.open_chunks_max);
        geometry.read_typical = nanos(self.read.0);
        geometry.read_max = nanos(self.read.1);
        geometry.write_typical = nanos(self.program.0);
        geometry.write_max = nanos(self.program.1);
        geometry.reset_typical = nanos(self.erase.0);
        geometry.reset_max = nanos(self.erase.1);
        geometry
    }
    /// Identify of 1.2 (P24).
    pub(crate) fn identity(&self) -> Identity12 {
        let g = &self.geometry;
        let nanos = |time: Duration| U32::new(u32::try_from(time.as_nanos()).unwrap_or(u32::MAX));
        let [dual, quad] = [2, 4].map(|planes| g.planes == planes);
        let operations = PlaneOperations(0)
            .with_read_single(true)
            .with_program_single(true)
            .with_erase_single(true)
            .with_read_dual(dual)
            .with_program_dual(dual)
            .with_erase_dual(dual)
            .with_read_quad(quad)
            .with_program_quad(quad)
            .with_erase_quad(quad);
        let mut identity = Identity12::default();
        identity.version = VERSION;
        identity.group_count = 1;
        identity.capabilities = U32::new(Capabilities(0).with_bad_block_table(true).0);
        identity.address_format = AddressFormat::of_geometry(g);
        let group = &mut identity.groups[0];
        group.media_id[..self.id.len()].copy_from_slice(&self.id);
        group.flash_type = u8::from(self.cells != CellMode::Slc);
        group.channels = g.channels as u8;
        group.luns = g.luns_per_channel() as u8;
        group.planes = g.planes;
        group.blocks = U16::new((g.blocks_per_lun / u32::from(g.planes)) as u16);
        group.pages = U16::new(g.pages_per_block);
        group.page_bytes = U16::new(g.page_bytes as u16);
        group.sector_bytes = U16::new(SECTOR_BYTES as u16);
        group.metadata_bytes = U16::new(METADATA_BYTES as u16);
        group.raw_spare_bytes = U16::new(self.raw_spare_bytes);
        group.read_typical = nanos(self.read.0);
        group.read_max = nanos(self.read.1);
        group.program_typical = nanos(self.program.0);
        group.program_max = nanos(self.program.1);
        group.erase_typical = nanos(self.erase.0);
        group.erase_max = nanos(self.erase.1);
        group.plane_operations = U32::new(operations.0);
        group.media_capabilities = U32::new(MediaCapabilities(0).0);
        group.parallel_channels = U16::new(g.channels);
        identity
    }
}
