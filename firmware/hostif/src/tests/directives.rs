//! Directives: streams that the host names (NVMe 1.4 §9).

use super::bench::{Bench, DATA, config};
use super::mandatory::identify;
use crate::{Nvm, StreamOffer};
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::directive::{Directive, DirectiveDword11, DirectiveType, StreamParameters, operation};
use aster_wire::nvme::identify::{AdminSupport, Cns, IdentifyController};
use aster_wire::nvme::io::{BlockRange, IoCommand, RangeDword12};
use aster_wire::nvme::{NSID_ALL, Sqe, Status};
use zerocopy::FromBytes;

const INVALID: Status = Status::INVALID_FIELD.with_dnr(true);

fn send(directive: Directive) -> Sqe {
    AdminCommand::DirectiveSend(directive).to_sqe(1, 0, 0, 0)
}
fn receive(directive: Directive) -> Sqe {
    AdminCommand::DirectiveReceive(directive).to_sqe(1, 0, DATA, 0)
}
fn streams(operation: u8, bytes: u32) -> Directive {
    Directive::new(DirectiveType::Streams, operation, bytes)
}
fn allocate(count: u32) -> Sqe {
    let ask = Directive { dword12: count, ..streams(operation::ALLOCATE_RESOURCES, 0) };
    AdminCommand::DirectiveReceive(ask).to_sqe(1, 0, 0, 0)
}
fn release(identifier: u16) -> Sqe {
    let mut which = streams(operation::RELEASE_IDENTIFIER, 0);
    which.control = which.control.with_specific(identifier);
    send(which)
}
fn enable(enable: bool) -> Sqe {
    send(Directive::enable(DirectiveType::Streams, enable))
}
/// A drive that offers three streams.
fn offering() -> Bench {
    let offer = StreamOffer { streams: 3, write_bytes: 16 << 10, granularity: 256 };
    let mut bench = Bench::with_set(config(), Box::new(Nvm::default().with_streams(offer)));
    bench.enable();
    bench.create_pair(1, 64);
    bench
}
fn enabled() -> Bench {
    let mut bench = offering();
    assert!(bench.status(0, enable(true)).is_success());
    bench
}
/// The drive's stream of a write that names this one.
fn stream_of(bench: &mut Bench, identifier: u16) -> u8 {
    let write = IoCommand::Write(BlockRange::new(0, 1).with_stream(identifier)).to_sqe(1, 0, DATA, 0);
    assert_eq!(bench.status(1, write), Status::SUCCESS);
    let id = bench.ftl.seen.borrow().last().unwrap().id;
    bench.ftl.port.stream(id)
}
fn parameters(bench: &mut Bench) -> StreamParameters {
    let page = bench.fetch_page(receive(streams(operation::PARAMETERS, 32)));
    StreamParameters::read_from_prefix(page).unwrap().0
}
/// The open identifiers as Get Status tells them.
fn open(bench: &mut Bench) -> Vec<u16> {
    let page = bench.fetch_page(receive(streams(operation::STATUS, 32)));
    let numbers: Vec<u16> = page[..32].chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
    let (count, rest) = numbers.split_first().unwrap();
    assert!(rest[usize::from(*count)..].iter().all(|&number| number == 0));
    rest[..usize::from(*count)].to_vec()
}

#[test]
fn a_drive_without_streams_has_no_directives() {
    let mut bench = Bench::ready(config());
    assert!(bench.status(0, enable(true)).is(Status::INVALID_OPCODE));
    assert!(bench.status(0, receive(streams(operation::PARAMETERS, 32))).is(Status::INVALID_OPCODE));
    let write = IoCommand::Write(BlockRange::new(0, 1).with_stream(1)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(1, write).is(INVALID));
}

#[test]
fn identify_and_the_directive_say_what_there_is() {
    let mut bench = offering();
    let page = bench.fetch_page(identify(Cns::Controller.raw(), 0));
    let controller = IdentifyController::view(page).unwrap();
    assert!(AdminSupport(controller.oacs.get()).directives());
    let ask = receive(Directive::new(DirectiveType::Identify, operation::DIRECTIVES, 4096));
    let told = |bench: &mut Bench| (bench.fetch_page(ask)[0], bench.page()[32], bench.page()[64]);
    assert_eq!(told(&mut bench), (0b11, 0b01, 0));
    assert!(bench.status(0, enable(true)).is_success());
    assert_eq!(told(&mut bench), (0b11, 0b11, 0), "streams don't survive a reset, as the third says");
    let told = parameters(&mut bench);
    assert_eq!((told.streams_max.get(), told.available.get(), told.open.get()), (3, 3, 0));
    assert_eq!((told.write_blocks.get() << 9, told.granularity.get()), (16 << 10, 256));
}

#[test]
fn a_write_may_name_a_stream_while_the_directive_is_enabled() {
    let mut bench = offering();
    let write = IoCommand::Write(BlockRange::new(0, 1).with_stream(7)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(1, write).is(INVALID));
    assert!(bench.status(0, enable(true)).is_success());
    assert_eq!([7, 900, 7, 0, 1].map(|identifier| stream_of(&mut bench, identifier)), [1, 2, 1, 0, 3]);
    assert_eq!(open(&mut bench), [1, 7, 900]);
    assert!(bench.status(0, enable(false)).is_success());
    assert!(bench.status(1, write).is(INVALID));
    assert!(bench.status(0, enable(true)).is_success());
    assert_eq!(open(&mut bench), [], "disabling has released all of them");
}

#[test]
fn what_names_no_stream_has_none_whatever_its_slot_had_before() {
    let mut bench = enabled();
    assert_eq!(stream_of(&mut bench, 9), 1);
    let zeroes = IoCommand::WriteZeroes(BlockRange::new(0, 1)).to_sqe(1, 0, 0, 0);
    for _ in 0..64 {
        assert!(bench.status(1, zeroes).is_success());
        let id = bench.ftl.seen.borrow().last().unwrap().id;
        assert_eq!(bench.ftl.port.stream(id), 0);
        assert_eq!(stream_of(&mut bench, 9), 1);
    }
}

#[test]
fn the_stream_that_was_used_the_longest_time_ago_makes_room() {
    let mut bench = enabled();
    assert_eq!([5, 6, 7, 5].map(|identifier| stream_of(&mut bench, identifier)), [1, 2, 3, 1]);
    assert_eq!(stream_of(&mut bench, 8), 2);
    assert_eq!(open(&mut bench), [5, 7, 8]);
    assert!(bench.status(0, release(7)).is_success());
    assert!(bench.status(0, release(7)).is_success(), "to release one that isn't open is no error");
    assert_eq!(stream_of(&mut bench, 6), 3);
}

#[test]
fn a_namespace_may_have_streams_for_itself() {
    let mut bench = enabled();
    for identifier in [5, 6, 7] {
        stream_of(&mut bench, identifier);
    }
    assert_eq!(parameters(&mut bench).open.get(), 3);
    assert_eq!(bench.send(0, allocate(2)).result.get(), 2);
    assert!(bench.status(0, allocate(2)).is(INVALID), "they must be given back first");
    let told = parameters(&mut bench);
    assert_eq!((told.available.get(), told.open.get()), (1, 0));
    assert_eq!((told.namespace_allocated.get(), told.namespace_open.get()), (2, 2));
    assert_eq!(open(&mut bench), [6, 7]);
    stream_of(&mut bench, 8);
    assert_eq!(open(&mut bench), [7, 8]);
    let all = AdminCommand::DirectiveReceive(streams(operation::STATUS, 32)).to_sqe(NSID_ALL, 0, DATA, 0);
    assert_eq!(bench.fetch_page(all)[..2], [0, 0], "none is of those that nobody has");
    assert!(bench.status(0, send(streams(operation::RELEASE_RESOURCES, 0))).is_success());
    assert_eq!(parameters(&mut bench).namespace_allocated.get(), 0);
    assert_eq!(bench.send(0, allocate(100)).result.get(), 3, "as many as there are");
}

#[test]
fn a_reset_disables_streams_and_a_format_closes_them() {
    let mut bench = enabled();
    stream_of(&mut bench, 5);
    let format = AdminCommand::FormatNvm(aster_wire::nvme::admin::FormatDword10(0)).to_sqe(1, 0, 0, 0);
    assert!(bench.status(0, format).is_success());
    assert_eq!(open(&mut bench), []);
    bench.disable();
    bench.enable();
    bench.create_pair(1, 64);
    let write = IoCommand::Write(BlockRange::new(0, 1).with_stream(5)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(1, write).is(INVALID));
}

#[test]
fn what_no_directive_has_is_refused() {
    let mut bench = enabled();
    let with = |control: DirectiveDword11| Directive { control, ..Directive::default() };
    let of =
        |directive, operation| with(DirectiveDword11(0).with_directive(directive).with_operation(operation));
    for sqe in [
        send(of(2, 1)),
        send(of(0, 2)),
        send(of(1, 3)),
        receive(of(0, 2)),
        receive(of(1, 4)),
        receive(of(0xff, 0xff)),
        allocate(0),
        send(Directive::enable(DirectiveType::Identify, false)),
        AdminCommand::DirectiveSend(streams(operation::RELEASE_IDENTIFIER, 0)).to_sqe(NSID_ALL, 0, 0, 0),
    ] {
        assert!(bench.status(0, sqe).is(INVALID), "{sqe:?}");
    }
    let elsewhere = AdminCommand::DirectiveSend(streams(operation::RELEASE_IDENTIFIER, 0)).to_sqe(2, 0, 0, 0);
    assert!(bench.status(0, elsewhere).is(Status::INVALID_NAMESPACE_OR_FORMAT.with_dnr(true)));
    let mut write = BlockRange::new(0, 1).with_stream(1);
    write.control = RangeDword12(write.control.0).with_directive_type(2);
    assert!(bench.status(1, IoCommand::Write(write).to_sqe(1, 0, DATA, 0)).is(INVALID));
}
