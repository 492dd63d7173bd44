//! A controller carries programs and erases out in a function of its own. The slow twin is the operation
//! itself, which does the same at the same times.

use super::*;
use crate::{Controller, PollPolicy};
use alloc::format;
use alloc::string::String;
use aster_events::Function;
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, Outcome, Target};

/// A program or an erase as the controller carries it out.
async fn by_controller(controller: &Controller, request: FlashRequest) -> (Outcome, String) {
    let why = RefCell::new(String::new());
    let fault = |error| *why.borrow_mut() = format!("{error:?}");
    let mut outcome = Outcome::default();
    controller.execute_write(&request, &mut outcome, fault).await;
    (outcome, why.into_inner())
}

/// The same by its operation.
async fn by_operation(lun: &Lun, request: FlashRequest) -> (Outcome, String) {
    let Target { row, buffer, .. } = request.targets()[0];
    lun.spend(Function::FlashRequest, lun.config().costs.request);
    let done = match request.phase {
        FlashOp::Program => program_page(lun, row, buffer).await,
        _ => erase_block(lun, row).await,
    };
    let outcome = |status| Outcome { status, ..Outcome::default() };
    match done {
        Ok(status) if status.fail() => (outcome(FlashStatus::Failed), String::new()),
        Ok(_) => (outcome(FlashStatus::Done), String::new()),
        Err(error) => (outcome(FlashStatus::Error), format!("{error:?}")),
    }
}

/// Random programs and erases one behind the other, some of rows that there aren't and some of blocks that
/// can't be used. Returns their results with the times at which they came, and what was seen on the bus.
fn writes(seed: u64, by_itself: bool) -> (Vec<String>, Vec<Seen>) {
    let mut rng = Rng::new(seed);
    let us = |most| Duration::from_micros(most);
    let (longer, shorter) = (us(rng.below(2) * rng.below(40)), us(rng.below(2) * rng.below(40)));
    // Such software gives up before anything is programmed.
    let is_hasty = rng.below(4) == 0;
    let policy = PollPolicy {
        early: us(rng.below(3) * 5),
        patience: if is_hasty { 1 } else { 20 },
        ..PollPolicy::default()
    };
    let costs = FlashCosts { request: rng.below(2) * 700, transaction: 300, poll: rng.below(2) * 200 };
    let bench = Bench::new(GEOMETRY, Content::Fingerprint, Placement::Spare);
    bench.bring_up(0);
    let mut config = *bench.config;
    let expected = |time: Duration| if is_hasty { us(5) } else { (time + shorter).saturating_sub(longer) };
    config.t_prog = config.t_prog.map(expected);
    config.t_bers = expected(config.t_bers);
    (config.poll, config.costs) = (policy, costs);
    let config = Rc::new(config);
    let lun = || Lun::new(&bench.core, &bench.port, &config, 0, 0);
    let rows: Vec<RowAddr> = (0..12).map(|n| bench.row(n / 4, (n % 4) as u16)).collect();
    let seen = bench.watch();
    let (lun, same, exec) = (lun(), lun(), bench.exec.clone());
    let found = bench.run(async move || {
        let controller = Controller::new(same);
        let mut found = Vec::new();
        for _ in 0..16 {
            let row = match rng.below(13) {
                12 => RowAddr(0x00ff_ffff),
                n => rows[n as usize],
            };
            let phase = if rng.below(4) == 0 { FlashOp::Erase } else { FlashOp::Program };
            let target = Target { row, sectors: SectorRange::whole(4), buffer: BufferId(0) };
            let request = FlashRequest::single(phase, LunIndex(0), target);
            assert!(request.is_page_program() || request.is_block_erase());
            let done = match by_itself {
                true => by_controller(&controller, request).await,
                false => by_operation(&lun, request).await,
            };
            found.push(format!("{} {done:?}", exec.now()));
        }
        found
    });
    let seen = seen.borrow().clone();
    (found, seen)
}

#[test]
fn a_program_or_an_erase_by_itself_is_its_operation() {
    let (mut failed, mut gave_up) = (0, 0);
    for seed in 0..60 {
        let (fast, slow) = (writes(seed, true), writes(seed, false));
        assert_eq!(fast, slow, "seed {seed}");
        let count = |what: &str| fast.0.iter().filter(|done| done.contains(what)).count();
        failed += count("Failed");
        gave_up += count("NeverReady");
    }
    assert!(failed > 0, "some program or erase fails");
    assert!(gave_up > 0, "some LUN is asked for longer than the software's patience");
}
