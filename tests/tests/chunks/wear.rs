//! The wear-level index of chunks (P29), beside the erases of their blocks' cells.

use super::*;
use aster_device::profile::ContentKind;

/// Blocks made for 51 erases, so that each one counts 5.
fn worn() -> Profile {
    drive(|p| {
        p.package.endurance = 51;
        p.package.factory_bad_per_mille = 0;
        let e = &mut p.package.errors;
        (e.fresh, e.cycle, e.cycle_squared, e.retention, e.read) = (0.0, 0.0, 0.0, 0.0, 0.0);
    })
}

impl Host {
    fn wear(&self, first: u64) -> u8 {
        self.report()[self.shape.index_of(self.shape.decode(first).unwrap()) as usize].wear
    }
    /// Writes a page in all planes of a chunk and resets it, so many times.
    fn wear_out(&self, first: u64, times: u64) {
        for version in 0..times {
            assert_eq!(self.write(&blocks(first, 0..8), version), DONE);
            assert_eq!(self.reset(&[first]).0, DONE);
        }
    }
    fn erases_of_cells(&self, first: u64) -> u32 {
        let (lun, block) = self.array(first, 0);
        self.machine.device().nand().block(lun, block).erases
    }
}

#[test]
fn the_index_counts_erases_and_what_is_written_keeps_it_over_a_loss_of_power() {
    let profile = worn();
    let host = Host::power_on(&profile, Media::fresh());
    let chunk = host.free_chunks(0)[0];
    let others = [host.free_chunks(1)[0], host.free_chunks(2)[0]];
    host.wear_out(chunk, 9);
    assert_eq!((host.wear(chunk), host.erases_of_cells(chunk)), (45, 9));
    assert_eq!(host.wear(others[0]), 0);
    host.wear_out(others[0], 3);
    // Both are written, the third one stays free.
    for first in [chunk, others[0]] {
        assert_eq!(host.write(&blocks(first, 0..8), 7), DONE);
    }
    assert_eq!(host.wear(chunk), 45, "a write doesn't wear");
    let host = Host::power_on(&profile, host.end());
    assert_eq!((host.wear(chunk), host.wear(others[0])), (45, 15));
    assert_eq!(host.wear(others[1]), 0, "those that are written have had all erases of their LUN");
    host.must_hold(&blocks(chunk, 0..8), 7);
    // What goes on from there is counted on.
    let (ended, told) = host.reset(&[chunk]);
    assert_eq!((ended, told[0].wear), (DONE, 50));
    host.wear_out(chunk, 50);
    assert_eq!(host.wear(chunk), 255, "and there it ends");
}

/// Both planes of a chunk are erased together, though only one of them may have been written.
#[test]
fn a_chunk_of_which_one_plane_is_written_has_its_own_wear() {
    let profile = worn();
    let host = Host::power_on(&profile, Media::fresh());
    let (old, new) = (host.free_chunks(0)[0], host.free_chunks(1)[0]);
    host.wear_out(old, 9);
    assert_eq!(host.write(&blocks(old, 0..8), 1), DONE);
    assert_eq!(host.write(&blocks(new, 0..4), 1), DONE);
    let host = Host::power_on(&profile, host.end());
    assert_eq!((host.wear(old), host.wear(new)), (45, 0));
}

/// Of chunks that are free, nothing on the media tells. They share the erases of their LUN, over any number
/// of losses of power.
#[test]
fn free_chunks_share_the_erases_that_their_lun_has_had() {
    let profile = worn();
    let mut host = Host::power_on(&profile, Media::fresh());
    let chunks = u64::from(profile.geometry.blocks_per_lun / u32::from(profile.geometry.planes));
    let chunk = host.free_chunks(0)[0];
    // One is erased so often that each of them counts as six.
    host.wear_out(chunk, 6 * chunks);
    assert_eq!(u64::from(host.wear(chunk)), 30 * chunks);
    for _ in 0..3 {
        host = Host::power_on(&profile, host.end());
        let index: Vec<_> = host.report().iter().map(|told| told.wear).collect();
        let of_lun = &index[..chunks as usize];
        assert!(of_lun.iter().all(|&wear| wear == 30), "{of_lun:?}");
        assert!(index[chunks as usize..].iter().all(|&wear| wear == 0), "{index:?}");
    }
    // What one has more is missing of the others.
    host.wear_out(chunk, 4);
    assert_eq!(host.write(&blocks(chunk, 0..8), 1), DONE);
    let host = Host::power_on(&profile, host.end());
    assert_eq!((host.wear(chunk), host.wear(host.free_chunks(1)[0])), (50, 30));
}

/// A copy goes to a block that has a wear of its own.
#[test]
fn a_copy_does_not_carry_the_wear_of_its_source() {
    let profile = worn();
    let host = Host::power_on(&profile, Media::fresh());
    let (from, to) = (host.free_chunks(0)[0], host.free_chunks(1)[0]);
    host.wear_out(from, 6);
    host.wear_out(to, 2);
    assert_eq!(host.write(&blocks(from, 0..8), 1), DONE);
    assert_eq!(host.copy(&blocks(from, 0..8), &blocks(to, 0..8)), DONE);
    let host = Host::power_on(&profile, host.end());
    assert_eq!((host.wear(from), host.wear(to)), (30, 10));
}

/// What stands beside a page that holds fingerprints is read as well.
#[test]
fn a_drive_that_keeps_fingerprints_finds_the_wear_of_its_chunks() {
    let profile = Profile { content: ContentKind::Fingerprint, ..worn() };
    let host = Host::power_on(&profile, Media::fresh());
    let chunks = [host.free_chunks(0)[0], host.free_chunks(1)[0]];
    let write = |host: &Host, first| {
        let blocks = blocks(first, 0..8);
        host.run(async move |driver| {
            let data = Moved::TagsToDrive(&[[7; 8]; 8]);
            let vector =
                Vector { opcode: io::WRITE, control: 0, addresses: &blocks, data, metadata: Moved::Nothing };
            driver.send_vector(QUEUE, vector).await.unwrap()
        })
    };
    for (first, times) in [(chunks[0], 9), (chunks[1], 2)] {
        for _ in 0..times {
            assert_eq!((write(&host, first), host.reset(&[first]).0), (DONE, DONE));
        }
        assert_eq!(write(&host, first), DONE);
    }
    let host = Host::power_on(&profile, host.end());
    assert_eq!(chunks.map(|first| host.wear(first)), [45, 10]);
    assert_eq!(chunks.map(|first| host.chunk(first)), [(ChunkFlags::Open, 8); 2]);
}
