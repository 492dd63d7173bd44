//! Host Behavior Support (NVMe 1.4 §5.21.1.22), the feature that has data.

use super::bench::{Bench, DATA, HOST_BYTES, config};
use super::mandatory::{get_feature, set_feature};
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::nvme::admin::{AbortDword10, AdminCommand};
use aster_wire::nvme::features::{FeatureId, FeatureSelect};
use aster_wire::nvme::registers::Csts;
use aster_wire::nvme::{NSID_ALL, Sqe, Status};

const BYTES: usize = 512;

fn set(prp1: u64, prp2: u64) -> Sqe {
    set_feature(FeatureId::HostBehaviorSupport, 0, 0).with_prps(prp1, prp2)
}
fn get(select: FeatureSelect) -> Sqe {
    get_feature(FeatureId::HostBehaviorSupport, select, 0, 0).with_prps(DATA, 0)
}
/// Sets the feature from 512 bytes that begin with these.
fn set_to(bench: &mut Bench, bytes: &[u8]) -> Status {
    let at = DATA as usize;
    bench.memory.0[at..at + BYTES].fill(0);
    bench.memory.0[at..at + bytes.len()].copy_from_slice(bytes);
    bench.status(0, set(DATA, 0))
}
fn value(bench: &mut Bench, select: FeatureSelect) -> Vec<u8> {
    let page = bench.fetch_page(get(select));
    assert_eq!(page[BYTES], 0xee, "no more than the structure comes");
    page[..BYTES].to_vec()
}
fn of(acre: u8) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    bytes[0] = acre;
    bytes
}

#[test]
fn what_the_host_sets_comes_back_and_a_reset_forgets_it() {
    let mut bench = Bench::ready(config());
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(0));
    assert_eq!(set_to(&mut bench, &[1]), Status::SUCCESS);
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(1));
    for select in [FeatureSelect::Default, FeatureSelect::Saved] {
        assert_eq!(value(&mut bench, select), of(0), "{select}");
    }
    let capabilities = bench.send(0, get(FeatureSelect::Capabilities));
    assert_eq!((capabilities.status(), capabilities.result.get()), (Status::SUCCESS, 0b100));
    bench.disable();
    bench.enable();
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(0));
}

#[test]
fn reserved_bytes_are_ignored_and_a_reserved_value_is_refused() {
    let mut bench = Bench::ready(config());
    assert_eq!(set_to(&mut bench, &[1, 1, 0xff]), Status::SUCCESS);
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(1), "they aren't kept");
    for acre in [2, 0xff] {
        let status = set_to(&mut bench, &[acre]);
        assert!(status.is(Status::INVALID_FIELD) && status.bits().dnr(), "{acre}: {status}");
    }
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(1), "it stays as it was");
    assert_eq!(set_to(&mut bench, &[0]), Status::SUCCESS);
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(0));
}

#[test]
fn data_over_two_pages_are_read_and_bad_pointers_have_their_status() {
    let mut bench = Bench::ready(config());
    // Its first four bytes are the last ones of a page.
    bench.memory.0[DATA as usize..][..0x2000].fill(0);
    bench.memory.0[DATA as usize + 4092] = 1;
    assert_eq!(bench.status(0, set(DATA + 4092, DATA + 0x1000)), Status::SUCCESS);
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(1));
    for (name, sqe, expected) in [
        ("PRP1 at an odd address", set(DATA + 1, 0), Status::PRP_OFFSET_INVALID),
        ("PRP2 with an offset", set(DATA + 4092, DATA + 8), Status::PRP_OFFSET_INVALID),
        ("PRP1 outside memory", set(HOST_BYTES as u64, 0), Status::DATA_TRANSFER_ERROR),
        ("get, outside memory", get(FeatureSelect::Current).with_prps(HOST_BYTES as u64, 0), {
            if Bench::writes_are_answered() { Status::DATA_TRANSFER_ERROR } else { Status::SUCCESS }
        }),
    ] {
        let status = bench.status(0, sqe);
        assert!(status.is(expected), "{name}: {status}, not {expected}");
    }
    let of_namespace = |nsid| set_feature(FeatureId::HostBehaviorSupport, nsid, 0).with_prps(DATA, 0);
    assert!(bench.status(0, of_namespace(1)).is(Status::FEATURE_NOT_NAMESPACE_SPECIFIC));
    assert!(bench.status(0, of_namespace(NSID_ALL)).is_success());
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
}

#[test]
fn an_abort_or_a_reset_while_its_data_come_leaves_the_feature_as_it_was() {
    let mut bench = Bench::ready(config());
    bench.memory.0[DATA as usize..][..BYTES].copy_from_slice(&of(1));
    let cid = bench.push(0, set(DATA, 0));
    let abort = AdminCommand::Abort(AbortDword10(0).with_cid(cid)).to_sqe(0, 0, 0, 0);
    bench.ring(0);
    // The entry comes, the data don't.
    bench.hold_link = true;
    bench.run();
    assert!(bench.carry_out_one());
    bench.run();
    bench.set_one_aside();
    bench.hold_link = false;
    let done = bench.send(0, abort);
    assert_eq!(bench.completion(0, cid), None);
    bench.release_link();
    assert_eq!((done.status(), done.result.get() & 1), (Status::SUCCESS, 0), "it was aborted");
    assert!(bench.completion(0, cid).expect("it ends").status().is(Status::ABORT_REQUESTED));
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(0));

    bench.memory.0[DATA as usize..][..BYTES].copy_from_slice(&of(1));
    bench.push(0, set(DATA, 0));
    bench.ring(0);
    bench.hold_link = true;
    bench.run();
    bench.front.mmio_write(0x14, 4, bench.cc().with_en(false).0.into());
    bench.release_link();
    assert_eq!(bench.csts(), Csts(0));
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    bench.enable();
    assert_eq!(value(&mut bench, FeatureSelect::Current), of(0));
}
