//! Doorbells: any value for any queue, while queues come and go and controllers are reset.

use super::function::{ENTRIES, Function};
use super::input::Input;
use aster_units::Duration;
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::DoorbellKind;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut function = Function::drawn(&mut input);
    function.enable();
    function.create_pair(1);
    let data = Function::data();
    while !input.is_empty() {
        match input.below(8) {
            0 | 1 => {
                let kind = input.of(&[DoorbellKind::SubmissionTail, DoorbellKind::CompletionHead]);
                let queue = if input.u8().is_multiple_of(8) { input.below(4096) } else { input.below(4) };
                let value = if input.u8().is_multiple_of(4) { input.u32() } else { input.below(ENTRIES + 1) };
                function.doorbell(queue as u16, kind, value);
            }
            2 | 3 => {
                let range = BlockRange::new(u64::from(input.u8()), 1 + input.below(16));
                let command =
                    if input.u8() & 1 == 0 { IoCommand::Read(range) } else { IoCommand::Write(range) };
                let queue = input.below(3) as u16;
                function.push(queue, command.to_sqe(1, 0, data, data + 4096));
                function.ring(queue);
            }
            4 => {
                let queue = input.below(4) as u16;
                let delete = input.of(&[AdminCommand::DeleteIoSq(queue), AdminCommand::DeleteIoCq(queue)]);
                function.push(0, delete.encode(0));
                function.ring(0);
            }
            5 => {
                function.disable();
                function.enable();
                function.create_pair(1 + input.below(2) as u16);
            }
            6 => {
                let queue = input.below(3) as u16;
                while function.reap(queue).is_some() {}
            }
            _ => function.run_for(Duration::from_micros(u64::from(input.u8()))),
        }
    }
    function.must_work_after_a_reset();
}
