//! Submission queue entries: any bytes, and entries that are nearly right.

use super::function::{Function, Memory};
use super::input::Input;
use aster_units::Duration;
use aster_wire::nvme::{AdminOpcode, IoOpcode, Sqe};
use zerocopy::FromBytes;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut function = Function::drawn(&mut input);
    function.enable();
    function.create_pair(1);
    function.create_pair(2);
    // The drive can't send more completions than it got commands.
    let (mut sent, mut answered) = ([0u32; 3], [0u32; 3]);
    while !input.is_empty() {
        let queue = input.below(3) as u16;
        let sqe = if input.u8().is_multiple_of(4) {
            Sqe::read_from_bytes(&input.bytes::<64>()).expect("64 bytes")
        } else {
            plausible(&mut input, queue)
        };
        // A full queue takes no more entries until completions come.
        if sent[usize::from(queue)].saturating_sub(answered[usize::from(queue)])
            < super::function::ENTRIES - 1
        {
            function.push(queue, sqe);
            sent[usize::from(queue)] += 1;
        }
        if input.u8().is_multiple_of(4) {
            for queue in 0..3 {
                function.ring(queue);
            }
            function.run_for(Duration::from_micros(u64::from(input.u8())));
            for queue in 0..3u16 {
                while function.reap(queue).is_some() {
                    answered[usize::from(queue)] += 1;
                }
            }
        }
    }
    for queue in 0..3 {
        function.ring(queue);
    }
    function.run_for(Duration::from_millis(20));
    for queue in 0..3u16 {
        while function.reap(queue).is_some() {
            answered[usize::from(queue)] += 1;
        }
        // Entries may have created a queue over the memory of another one, so each queue is only held to
        // the commands of all queues.
        assert!(answered[usize::from(queue)] <= sent.iter().sum(), "completions of nobody's commands");
    }
    function.must_work_after_a_reset();
}

/// An entry whose fields mostly have values with an effect.
fn plausible(input: &mut Input, queue: u16) -> Sqe {
    let opcode = match queue {
        0 => input.of(AdminOpcode::ALL).raw(),
        _ => input.of(IoOpcode::ALL).raw(),
    };
    let mut address = || match input.u8() % 8 {
        0 => input.u64(),
        1 => Function::data() + u64::from(input.below(0x8000)),
        // Across the queues, other commands' lists or the end of memory.
        2 => Memory::AT + u64::from(input.u8()) * 4096,
        _ => Function::data() + u64::from(input.u8() % 32) * 4096,
    };
    let (prp1, prp2) = (address(), address());
    Sqe::new(opcode, u32::from(input.u8() % 3))
        .with_cid(u16::from(input.u8()))
        .with_prps(prp1, prp2)
        .with_dword(10, input.u32() & input.of(&[0xff, 0xffff, 0x000f_0003, u32::MAX]))
        .with_dword(11, input.u32() & input.of(&[0, 0x3, 0x0003_0003, u32::MAX]))
        .with_dword(12, input.u32() & input.of(&[0x7, 0xff, 0xc000_ffff, u32::MAX]))
}
