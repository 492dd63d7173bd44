//! Vector copies (P29).

use super::*;

/// Sectors of any chunks come together in another one, with their metadata; only places change.
#[test]
fn copies_stay_within_the_drive() {
    for partial in [true, false] {
        let profile = drive(|p| p.ftl.partial_reads = partial);
        let host = Host::power_on(&profile, Media::fresh());
        let [a, b, to, bad] = [0, 1, 2, 3].map(|unit| host.free_chunks(0)[unit]);
        assert_eq!(host.write(&[blocks(a, 0..32), blocks(b, 0..24)].concat(), 1), DONE);
        let sources: Vec<u64> =
            (0..16).flat_map(|n| [a + 31 - n, b + n]).chain(blocks(a, 0..8)).chain(blocks(b, 4..8)).collect();
        assert_eq!(sources.len(), 44);
        let moved = host.machine.device().stats().ftl.host_bytes_written;
        assert_eq!(host.copy(&sources, &blocks(to, 0..44)), DONE);
        assert_eq!(host.machine.device().stats().ftl.host_bytes_written, moved, "no data of the host's");
        assert_eq!(host.chunk(to), (ChunkFlags::Open, 44));
        let (ended, found) = host.read(&blocks(to, 0..44));
        assert_eq!(ended, DONE);
        for (source, found) in sources.iter().zip(found) {
            assert!(found == content(*source, 1), "what block {source:x}h held");
        }
        // What can't be copied is refused before anything is written.
        let before = (host.totals(), host.report());
        let four = blocks(to, 44..48);
        assert_eq!(host.copy(&blocks(a, 0..4), &blocks(to, 48..52)), refused(status::OUT_OF_ORDER));
        let unwritten = [a, b + 24, a + 1, b + 63];
        assert_eq!(host.copy(&unwritten, &four), VectorEnd { status: status::UNWRITTEN, failed: 0b1010 });
        assert_eq!(host.copy(&[a, a + 1, 1 << 11, a], &four), refused(status::OUT_OF_RANGE));
        let (lun, block) = host.array(a, 0);
        let wrong: Vec<u32> = (0..400).map(|n| n * 7).collect();
        assert!(host.machine.device().nand().flip_bits(lun, block, PageInBlock(0), &wrong));
        let end = host.copy(&[b, a, a + 4, b + 1], &four);
        assert_eq!((end.status, end.failed & 0b0010), (status::ECC_FAIL, 0b0010));
        assert_eq!((host.totals(), host.report()), before);
        // A destination that fails is told of as in a write. The first vector takes the chunk's first page.
        let (lun, block) = host.array(bad, 0);
        host.machine.device().nand().fail_program(lun, block, PageInBlock(0));
        let end = host.copy(&blocks(b, 0..8), &blocks(bad, 0..8));
        assert_eq!(end, VectorEnd { status: status::WRITE_NEXT_UNIT, failed: 0x0f });
        // One block needs no list.
        assert_eq!(host.copy(&[b], &[to + 44]), refused(status::OUT_OF_ORDER), "a part of a page");
    }
}

/// A copy that is sent right behind the write of its sources finds what that has written.
#[test]
fn a_copy_waits_until_its_sources_are_written() {
    // A LUN reads before it programs.
    let profile = profile("pocket-ocssd-2", |p| {
        p.target = None;
        p.scheduler.policy = "reads-first".to_owned();
    });
    let host = Host::power_on(&profile, Media::fresh());
    let chunks = host.free_chunks(0);
    for n in 0..8 {
        let block = chunks[0] + n;
        let driver = Rc::clone(host.machine.driver());
        host.machine.host().spawn(async move {
            let (data, beside) = content(block, 1);
            let (data, metadata) = (Moved::ToDrive(&data), Moved::ToDrive(&beside));
            let vector = Vector { opcode: io::WRITE, control: 0, addresses: &[block], data, metadata };
            assert_eq!(driver.send_vector(QUEUE, vector).await.unwrap(), DONE);
        });
        assert_eq!(host.copy(&[block], &[chunks[1] + n]), DONE);
    }
    let (ended, found) = host.read(&blocks(chunks[1], 0..8));
    let expected = blocks(chunks[0], 0..8).into_iter().map(|block| content(block, 1));
    assert!(ended == DONE && found.into_iter().eq(expected));
}
