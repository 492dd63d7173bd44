//! Accesses of BAR0 and configuration space in any order, of any size, at any time.

use super::function::Function;
use super::input::Input;
use crate::profile;
use aster_device::plug::ReadTag;
use aster_units::Duration;
use aster_wire::nvme::registers::Register;

/// The used bytes of BAR0, and some more.
const BAR: u32 = 0x3400;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let function = Function::drawn(&mut input);
    host(input, function);
}

/// The same over NVMe in software that spends time on each access. The host gives some reads up, and asks for
/// answers of reads that there may not be.
pub(super) fn run_in_firmware(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let cycles = 1 + u64::from(input.u8()) * 40;
    let function = Function::of(profile("softssd-small", |p| {
        p.host.register_packets = false;
        p.costs.nvme_register = cycles;
    }));
    host(input, function);
}

/// The same where accesses are packets, which the drive's host may have more of than credits.
pub(super) fn run_by_packets(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let cycles = u64::from(input.u8()) * 40;
    let function = Function::of(profile("softssd-small", |p| {
        assert!(p.host.register_packets);
        p.costs.nvme_register = cycles;
    }));
    host(input, function);
}

fn host(mut input: Input<'_>, mut function: Function) {
    while !input.is_empty() {
        // A function only gets accesses that are aligned to their size. The server splits others.
        let size = input.of(&[1u8, 2, 4, 8]);
        let aligned = |offset: u32, size: u8| offset & !(u32::from(size) - 1);
        match input.below(8) {
            0 => {
                let offset = aligned(input.below(BAR), size);
                match input.below(4) {
                    0 => {
                        function.device.begin_bar_read(0, offset, size);
                    }
                    1 => {
                        function.device.take_bar_read(ReadTag(input.u8().into()));
                    }
                    _ => {
                        function.device.bar_read(0, offset, size);
                    }
                }
            }
            1 => {
                let (offset, value) = (aligned(input.below(BAR), size), input.u64());
                function.device.bar_write(0, offset, size, value);
            }
            // Most of these are past the end.
            2 => {
                let (offset, value) = (aligned(input.u32(), size), input.u64());
                function.device.bar_write(0, offset, size, value);
                function.device.bar_read(0, offset, size);
            }
            // Named registers are written more often than other bytes.
            3 | 4 => {
                let register = input.of(Register::ALL);
                let value = if input.u8() & 1 == 0 { input.u64() } else { u64::from(input.u8()) };
                function.set_register(register, value);
            }
            5 => {
                let size = size.min(4);
                let (offset, value) = (aligned(input.below(4096), size), input.u32());
                function.device.config_read(offset as u16, size);
                function.device.config_write(offset as u16, size, value);
            }
            6 => function.enable_function(),
            _ => function.run_for(Duration::from_nanos(u64::from(input.u8()) * 500)),
        }
    }
    function.must_work_after_a_reset();
}
