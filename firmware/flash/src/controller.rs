mod around;
mod page_read;
mod together;
mod writes;

pub use around::ReadsBetween;

use crate::Lun;
use crate::operations::{
    copyback, erase_block, erase_planes, get_features, program_one_shot, program_page, program_planes,
    program_raw_page, read_bytes, read_page, read_planes, read_raw_page, read_status, read_transfer,
    read_trigger, reset, set_features, slc_erase, slc_program, slc_read, transfer_planes, trigger_planes,
};
use aster_events::Function;
use aster_ports::channel::FrameReport;
use aster_ports::flash::{
    Capabilities, Flags, FlashError, FlashOp, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Outcomes,
    Target,
};
use aster_units::Column;
use aster_wire::onfi::Status;
use aster_wire::onfi::feature::FeatureAddress;

/// Serves I3 requests of one LUN with operations in software: the software-defined channel controller (B1).
pub struct Controller {
    lun: Lun,
}

impl Controller {
    /// A controller for `lun`.
    pub fn new(lun: Lun) -> Self {
        Controller { lun }
    }

    /// What this controller can do with a package that has no SLC mode.
    pub const CAPABILITIES: Capabilities =
        Capabilities { compound: true, targets: MAX_TARGETS as u8, raw: true, slc: false };

    /// What this controller can do with its package.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities { slc: self.lun.commands().pseudo_slc.is_some(), ..Self::CAPABILITIES }
    }

    /// The LUN it drives.
    pub fn lun(&self) -> &Lun {
        &self.lun
    }

    /// Carries out a request: all planes together if targets and package permit, else one target after the
    /// other. Calls `fault` with the reason if a target ended in an error.
    pub async fn execute(&self, request: &FlashRequest, fault: impl Fn(FlashError)) -> Outcomes {
        self.lun.spend(Function::FlashRequest, self.lun.config().costs.request);
        let mut outcomes = [Outcome::default(); MAX_TARGETS];
        let targets = request.targets();
        if self.lun.is_dead() {
            outcomes[..targets.len()].fill(self.not_done());
            return outcomes;
        }
        let copies = request.phase == FlashOp::CopyBack;
        if request.flags.one_shot || request.is_raw_page() || copies {
            let whole = async {
                match request.flags.one_shot {
                    _ if copies => self.copy_back(request).await,
                    true => self.one_shot(request).await,
                    false => self.raw_page(request).await,
                }
            };
            let outcome = whole.await.unwrap_or_else(|error| {
                fault(error);
                self.not_done()
            });
            outcomes[..targets.len()].fill(outcome);
            return outcomes;
        }
        if targets.len() > 1 && self.goes_together(request) {
            if let Err(error) = self.together(request.phase, targets, &mut outcomes).await {
                fault(error);
                outcomes[..targets.len()].fill(self.not_done());
            }
            return outcomes;
        }
        for (outcome, target) in outcomes.iter_mut().zip(targets) {
            *outcome = match self.one(request, target).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    fault(error);
                    self.not_done()
                }
            };
        }
        outcomes
    }

    /// How a target ends that was not carried out.
    fn not_done(&self) -> Outcome {
        let status = if self.lun.is_dead() { FlashStatus::Dead } else { FlashStatus::Error };
        Outcome { status, ..Outcome::default() }
    }

    /// Programs a word line in one shot (C83).
    async fn one_shot(&self, request: &FlashRequest) -> Result<Outcome, FlashError> {
        match (request.phase, request.targets()) {
            (FlashOp::Program, &[lsb, csb, msb]) => {
                Ok(of_status(program_one_shot(&self.lun, [lsb, csb, msb]).await?))
            }
            _ => Err(self.lun.unsupported("one-shot")),
        }
    }

    /// Copies a page within its plane.
    async fn copy_back(&self, request: &FlashRequest) -> Result<Outcome, FlashError> {
        match request.targets() {
            [from, to] if request.flags == Flags::default() => {
                Ok(of_status(copyback(&self.lun, from.row, to.row).await?))
            }
            _ => Err(self.lun.unsupported("copyback")),
        }
    }

    /// Moves a page as it is, data and spare area.
    async fn raw_page(&self, request: &FlashRequest) -> Result<Outcome, FlashError> {
        match (request.phase, request.targets()) {
            (FlashOp::Read, [data, spare]) => {
                read_raw_page(&self.lun, data, spare.buffer).await?;
                Ok(Outcome::default())
            }
            (FlashOp::Program, [data, spare]) => {
                Ok(of_status(program_raw_page(&self.lun, data.row, data.buffer, spare.buffer).await?))
            }
            _ => Err(self.lun.unsupported("raw page")),
        }
    }

    /// Whether one multi-plane command serves all targets: operations on different planes, at the same page
    /// of each.
    fn goes_together(&self, request: &FlashRequest) -> bool {
        let plain = !request.flags.raw && !request.flags.slc && self.lun.commands().multi_plane;
        let can = match request.phase {
            FlashOp::Read | FlashOp::Trigger | FlashOp::Transfer | FlashOp::Program | FlashOp::Erase => true,
            FlashOp::CopyBack
            | FlashOp::Status
            | FlashOp::Reset
            | FlashOp::SetFeatures
            | FlashOp::GetFeatures => false,
        };
        if !plain || !can {
            return false;
        }
        let g = &self.lun.config().shape.geometry;
        let place = |target: &Target| {
            let (lun, block, page) = g.split_row(target.row);
            (lun, g.plane(block), if request.phase == FlashOp::Erase { 0 } else { page.0 })
        };
        let targets = request.targets();
        targets.iter().enumerate().all(|(i, target)| {
            let (lun, plane, page) = place(target);
            targets[..i].iter().map(place).all(|(l, p, q)| l == lun && p != plane && q == page)
        })
    }

    async fn together(
        &self,
        phase: FlashOp,
        targets: &[Target],
        outcomes: &mut Outcomes,
    ) -> Result<(), FlashError> {
        let mut failed = [false; MAX_TARGETS];
        match phase {
            FlashOp::Read => {
                let mut found = [FrameReport::default(); MAX_TARGETS];
                read_planes(&self.lun, targets, &mut found).await?;
                *outcomes = found.map(Outcome::from);
                return Ok(());
            }
            FlashOp::Trigger => return trigger_planes(&self.lun, targets).await,
            FlashOp::Transfer => {
                let mut found = [FrameReport::default(); MAX_TARGETS];
                transfer_planes(&self.lun, targets, &mut found).await?;
                *outcomes = found.map(Outcome::from);
                return Ok(());
            }
            FlashOp::Program => program_planes(&self.lun, targets, &mut failed).await?,
            _ => erase_planes(&self.lun, targets, &mut failed).await?,
        }
        *outcomes = failed.map(of_fail);
        Ok(())
    }

    async fn one(&self, request: &FlashRequest, target: &Target) -> Result<Outcome, FlashError> {
        let (lun, row) = (&self.lun, target.row);
        let refused = || lun.unsupported(request.phase.name());
        if request.flags.slc && lun.commands().pseudo_slc.is_none() {
            return Err(refused());
        }
        if request.flags.slc {
            return match (request.phase, request.flags.raw) {
                (FlashOp::Read, false) => {
                    Ok(Outcome::from(slc_read(lun, row, target.sectors, target.buffer).await?))
                }
                (FlashOp::Program, false) => Ok(of_status(slc_program(lun, row, target.buffer).await?)),
                (FlashOp::Erase, _) => Ok(of_status(slc_erase(lun, row).await?)),
                _ => Err(refused()),
            };
        }
        Ok(match (request.phase, request.flags.raw) {
            (FlashOp::Read, false) => {
                Outcome::from(read_page(lun, row, target.sectors, target.buffer).await?)
            }
            (FlashOp::Read, true) => {
                read_trigger(lun, row).await?;
                self.transfer_spare(target).await?;
                Outcome::default()
            }
            (FlashOp::Transfer, true) => {
                self.transfer_spare(target).await?;
                Outcome::default()
            }
            (FlashOp::Trigger, _) => {
                read_trigger(lun, row).await?;
                Outcome::default()
            }
            (FlashOp::Transfer, false) => {
                Outcome::from(read_transfer(lun, row, target.sectors, target.buffer).await?)
            }
            (FlashOp::Program, false) => of_status(program_page(lun, row, target.buffer).await?),
            (FlashOp::Erase, _) => of_status(erase_block(lun, row).await?),
            (FlashOp::Status, _) => match read_status(lun, row).await? {
                status if status.ready() => of_status(status),
                _ => Outcome { status: FlashStatus::Busy, ..Outcome::default() },
            },
            (FlashOp::Reset, _) => of_status(reset(lun).await?),
            (FlashOp::SetFeatures | FlashOp::GetFeatures, _)
                if request.feature.address == FeatureAddress::TimingMode.raw() =>
            {
                return Err(refused());
            }
            (FlashOp::SetFeatures, _) => {
                of_status(set_features(lun, request.feature.address, request.feature.value).await?)
            }
            (FlashOp::GetFeatures, _) => {
                let feature = get_features(lun, request.feature.address).await?;
                Outcome { feature, ..Outcome::default() }
            }
            (FlashOp::Program, true) | (FlashOp::CopyBack, _) => return Err(refused()),
        })
    }

    /// The raw bytes right behind the data area, where a factory mark is (P4), into the buffer's OOB.
    async fn transfer_spare(&self, target: &Target) -> Result<(), FlashError> {
        let page_bytes = self.lun.config().shape.geometry.page_bytes;
        let length = u32::from(self.lun.config().layout.oob_bytes());
        read_bytes(&self.lun, target.row, Column(page_bytes as u16), length, target.buffer, page_bytes).await
    }
}

#[inline]
fn of_status(status: Status) -> Outcome {
    of_fail(status.fail())
}

fn of_fail(failed: bool) -> Outcome {
    let status = if failed { FlashStatus::Failed } else { FlashStatus::Done };
    Outcome { status, ..Outcome::default() }
}
