//! What an FTL on the host tells of a command that one task carries out as a whole: a command of one slice.

use aster_events::{Event, Recorder};
use aster_exec::Exec;
use aster_ports::host::{HostCommand, HostOp};
use aster_units::SECTOR_BYTES;

/// A command begins, and its only slice, which the running task carries out.
pub fn tell_began(recorder: &Recorder, exec: &Exec, command: &HostCommand) {
    let HostCommand { id, op, offset, length, .. } = *command;
    recorder.emit(exec.now(), || Event::CommandStarted { command: id.0, offset, length });
    recorder.emit(exec.now(), || Event::SliceStarted {
        command: id.0,
        lpn: (offset / SECTOR_BYTES as u64) as u32,
        write: !matches!(op, HostOp::Read | HostOp::Compare),
        task: exec.current().number(),
    });
}

/// It has ended.
pub fn tell_ended(recorder: &Recorder, exec: &Exec, command: &HostCommand) {
    recorder.emit(exec.now(), || Event::SliceEnded { task: exec.current().number() });
    recorder.emit(exec.now(), || Event::CommandFinished { command: command.id.0 });
}
