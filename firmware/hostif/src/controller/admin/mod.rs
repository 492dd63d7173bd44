//! Admin commands (NVMe 1.4 §5).

mod abort;
mod aer;
mod doorbells;
mod features;
mod format;
mod health;
mod identify;
mod log;
mod queues;

use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::slots::Permit;
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::{Sqe, Status};

/// How an admin command continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    /// It is done with this result (completion dword 0).
    Done(u32),
    /// This many bytes of the slot's scratch memory go to the host.
    Data(usize),
    /// This many bytes come from the host first.
    Fetches(usize),
    /// It goes to the FTL.
    ToFtl,
    /// It waits for an event.
    AwaitsEvent,
    /// It has deleted this submission queue, and waits for the queue's DMA to end.
    AwaitsDeletion(u16),
}

type Answer = Result<Reply, Status>;

/// A status that repeating the command won't change (DNR).
const fn refuse<T>(status: Status) -> Result<T, Status> {
    Err(status.with_dnr(true))
}

impl Controller {
    pub(crate) fn start_admin(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        let Some(permit) = self.start_own_admin(ports, permit) else { return };
        let sqe = *self.slots[permit.id()].sqe();
        match self.execute_admin(ports, &permit, &sqe) {
            Ok(Reply::Done(result)) => self.finish(ports, permit, Status::SUCCESS, result.into()),
            Ok(Reply::Data(bytes)) => self.send_scratch(ports, permit, bytes),
            Ok(Reply::Fetches(bytes)) => self.fetch_feature(ports, permit, bytes),
            Ok(Reply::ToFtl) => self.forward(ports, permit),
            Ok(Reply::AwaitsEvent) => {
                self.slots.await_event(permit);
                self.deliver_events(ports);
            }
            Ok(Reply::AwaitsDeletion(queue)) => {
                self.slots.await_deletion(permit);
                self.check_deletion(ports, queue);
            }
            Err(status) => self.finish(ports, permit, status, 0),
        }
    }

    fn execute_admin(&mut self, ports: &mut ControllerPorts, permit: &Permit, sqe: &Sqe) -> Answer {
        let id = permit.id();
        match AdminCommand::decode(sqe).map_err(|e| e.status())? {
            AdminCommand::CreateIoCq(command) => self.create_completion_queue(sqe, command),
            AdminCommand::CreateIoSq(command) => self.create_submission_queue(sqe, command),
            AdminCommand::DeleteIoCq(queue) => self.delete_completion_queue(ports, queue),
            AdminCommand::DeleteIoSq(queue) => self.delete_submission_queue(ports, id, queue),
            AdminCommand::Identify(command) => self.identify(ports, id, sqe, command),
            AdminCommand::GetLogPage(command) => self.get_log_page(ports, id, sqe, command),
            AdminCommand::SetFeatures(command) => self.set_features(ports, sqe, command),
            AdminCommand::GetFeatures(command) => self.get_features(ports, id, sqe, command),
            AdminCommand::Abort(command) => self.abort(ports, permit, command),
            AdminCommand::AsyncEventRequest => self.request_event(id),
            AdminCommand::KeepAlive => {
                self.begin_interval(ports);
                Ok(Reply::Done(0))
            }
            AdminCommand::DoorbellBufferConfig if self.queues.offers_doorbell_buffer() => {
                self.configure_doorbells(sqe)
            }
            AdminCommand::FormatNvm(command) => self.format(permit, sqe, command),
            AdminCommand::DoorbellBufferConfig
            | AdminCommand::FirmwareCommit(_)
            | AdminCommand::FirmwareImageDownload(_)
            | AdminCommand::DirectiveSend(_)
            | AdminCommand::DirectiveReceive(_)
            | AdminCommand::Other(_) => refuse(Status::INVALID_OPCODE),
        }
    }

    /// The slot's scratch memory, zeroed, to build a data structure in.
    fn scratch<'a>(&self, ports: &'a mut ControllerPorts, id: u16) -> &'a mut [u8] {
        let at = self.dma.layout().scratch(id);
        let scratch = &mut ports.sram[at..at + crate::config::SCRATCH_BYTES];
        scratch.fill(0);
        scratch
    }
}
