use crate::Lun;
use crate::operations::{
    erase_block, program_page, read_page, read_raw, read_status, read_transfer, read_trigger, reset,
};
use aster_ports::flash::{
    Capabilities, FlashError, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Outcomes, Phase, Target,
};
use aster_units::Column;
use aster_wire::onfi::Status;

/// Serves I3 requests of one LUN with operations in software: the software-defined channel controller (B1).
pub struct Controller {
    lun: Lun,
}

impl Controller {
    /// What this controller does.
    pub const CAPABILITIES: Capabilities =
        Capabilities { compound: true, targets: MAX_TARGETS as u8, raw: true, slc: false };

    /// A controller for `lun`.
    pub fn new(lun: Lun) -> Self {
        Controller { lun }
    }

    /// The LUN it drives.
    pub fn lun(&self) -> &Lun {
        &self.lun
    }

    /// Carries a request out, target after target. `fault` is told why a target ended in an error.
    pub async fn execute(&self, request: &FlashRequest, fault: impl Fn(FlashError)) -> Outcomes {
        self.lun.core().charge(self.lun.config().costs.request);
        let mut outcomes = [Outcome::default(); MAX_TARGETS];
        for (outcome, target) in outcomes.iter_mut().zip(request.targets()) {
            *outcome = match self.one(request, target).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    fault(error);
                    Outcome { status: FlashStatus::Error, ..Outcome::default() }
                }
            };
        }
        outcomes
    }

    async fn one(&self, request: &FlashRequest, target: &Target) -> Result<Outcome, FlashError> {
        let (lun, row) = (&self.lun, target.row);
        if request.flags.slc {
            return Err(FlashError::Unsupported);
        }
        Ok(match (request.phase, request.flags.raw) {
            (Phase::Read, false) => Outcome::from(read_page(lun, row, target.sectors, target.buffer).await?),
            (Phase::Read, true) => {
                self.read_spare(target).await?;
                Outcome::default()
            }
            (Phase::Trigger, _) => {
                read_trigger(lun, row).await?;
                Outcome::default()
            }
            (Phase::Transfer, false) => {
                Outcome::from(read_transfer(lun, row, target.sectors, target.buffer).await?)
            }
            (Phase::Program, false) => of_status(program_page(lun, row, target.buffer).await?),
            (Phase::Erase, _) => of_status(erase_block(lun, row).await?),
            (Phase::Status, _) => of_status(read_status(lun, row).await?),
            (Phase::Reset, _) => of_status(reset(lun).await?),
            (Phase::Transfer | Phase::Program, true) => return Err(FlashError::Unsupported),
        })
    }

    /// The raw bytes right behind the data area, where a factory mark is (P4), into the buffer's OOB.
    async fn read_spare(&self, target: &Target) -> Result<(), FlashError> {
        let page_bytes = self.lun.config().shape.geometry.page_bytes;
        let length = u32::from(self.lun.config().layout.oob_bytes());
        read_raw(&self.lun, target.row, Column(page_bytes as u16), length, target.buffer, page_bytes).await
    }
}

fn of_status(status: Status) -> Outcome {
    let status = if status.fail() { FlashStatus::Failed } else { FlashStatus::Done };
    Outcome { status, ..Outcome::default() }
}
