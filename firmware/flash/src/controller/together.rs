//! Requests of several lanes as one operation (H2, G24).

use super::Controller;
use crate::operations::{Lane, LaneEnd, erase_lanes, program_lanes, read_lanes};
use aster_events::Function;
use aster_ports::flash::{FlashError, FlashOp, FlashRequest, MAX_TARGETS, Outcome, Outcomes, TOGETHER_MAX};
use aster_units::LunIndex;

impl Controller {
    /// Carries out requests that belong together
    /// ([`FlashPort::submit_together`](aster_ports::flash::FlashPort::submit_together)), each on its lane.
    /// All of them cost what one request does. Lanes that have been given up take no part. Calls `fault` with
    /// each lane that ended in an error, and the reason.
    pub async fn execute_together(
        lanes: &[(&Controller, FlashRequest)],
        outcomes: &mut [Outcomes],
        fault: impl Fn(LunIndex, FlashError),
    ) {
        let Some(&(first, request)) = lanes.first() else { return };
        first.lun.spend(Function::FlashRequest, first.lun.config().costs.request);
        let lane = |n: usize| Lane { lun: &lanes[n].0.lun, target: lanes[n].1.targets()[0] };
        let (mut alive, mut places, mut count) = ([lane(0); TOGETHER_MAX], [0; TOGETHER_MAX], 0);
        for (n, (controller, _)) in lanes.iter().enumerate() {
            outcomes[n] = [Outcome::default(); MAX_TARGETS];
            if controller.lun.is_dead() {
                outcomes[n][0] = controller.not_done();
                continue;
            }
            (alive[count], places[count]) = (lane(n), n);
            count += 1;
        }
        let mut ends: [LaneEnd; TOGETHER_MAX] = core::array::from_fn(|_| Ok(Outcome::default()));
        match request.phase {
            FlashOp::Read => read_lanes(&alive[..count], &mut ends[..count]).await,
            FlashOp::Program => program_lanes(&alive[..count], &mut ends[..count]).await,
            FlashOp::Erase => erase_lanes(&alive[..count], &mut ends[..count]).await,
            other => unreachable!("no group can {}", other.name()),
        }
        for (end, n) in ends.into_iter().zip(places).take(count) {
            let (controller, request) = lanes[n];
            outcomes[n][0] = end.unwrap_or_else(|error| {
                fault(request.lun, error);
                controller.not_done()
            });
        }
    }
}
