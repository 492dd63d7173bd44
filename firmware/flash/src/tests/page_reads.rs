//! A controller carries page reads out in a function of its own. The slow twin is one operation after the
//! other, which does the same at the same times.

use super::*;
use crate::{Controller, PollPolicy};
use alloc::format;
use alloc::string::String;
use aster_events::Function;
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, Outcome, Target};

const PAGES: u16 = 6;

/// A read as the controller carries it out.
async fn by_controller(
    controller: &Controller,
    target: Target,
    begun: Option<Instant>,
    next: Option<RowAddr>,
) -> (Outcome, Option<Instant>, String) {
    let request = FlashRequest::single(FlashOp::Read, LunIndex(0), target);
    let why = RefCell::new(String::new());
    let fault = |error| *why.borrow_mut() = format!("{error:?}");
    let mut outcome = Outcome::default();
    let begun = controller.execute_page_read(&request, &mut outcome, begun, || next, fault).await;
    (outcome, begun, why.into_inner())
}

/// The same read by operations.
async fn by_operations(
    lun: &Lun,
    target: Target,
    begun: Option<Instant>,
    next: Option<RowAddr>,
) -> (Outcome, Option<Instant>, String) {
    let Target { row, sectors, buffer } = target;
    let spend = || lun.spend(Function::FlashRequest, lun.config().costs.request);
    let read = async {
        match begun {
            Some(since) => read_begun(lun, row, since).await?,
            None => {
                spend();
                read_trigger(lun, row).await?;
            }
        }
        if let Some(next) = next {
            spend();
            if let Ok((frame, since)) = read_transfer_and_trigger(lun, row, sectors, buffer, next).await {
                return Ok::<_, FlashError>((frame, Some(since)));
            }
        }
        Ok((read_transfer(lun, row, sectors, buffer).await?, None))
    };
    match read.await {
        Ok((frame, begun)) => (Outcome::from(frame), begun, String::new()),
        Err(error) => {
            let why = format!("{error:?}");
            (Outcome { status: FlashStatus::Error, ..Outcome::default() }, None, why)
        }
    }
}

/// Random reads one behind the other, some of them begun ahead, and some of rows that there aren't. Returns
/// their results with the times at which they came, and what was seen on the bus.
fn reads(seed: u64, by_itself: bool) -> (Vec<String>, Vec<Seen>) {
    let mut rng = Rng::new(seed);
    let us = |most| Duration::from_micros(most);
    let (longer, shorter) = (us(rng.below(2) * rng.below(40)), us(rng.below(2) * rng.below(40)));
    // Such software gives up before any page is there.
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
    let expected = |t_r: Duration| (t_r + shorter).saturating_sub(longer);
    config.t_r = config.t_r.map(|t_r| if is_hasty { us(5) } else { expected(t_r) });
    (config.poll, config.costs) = (policy, costs);
    let config = Rc::new(config);
    let lun = || Lun::new(&bench.core, &bench.port, &config, 0, 0);
    let written = lun();
    let rows: Vec<RowAddr> = (0..PAGES).map(|page| bench.row(2, page)).collect();
    let programmed = rows.clone();
    bench.run(async move || {
        for row in programmed {
            let _ = program_page(&written, row, BufferId(0)).await;
        }
    });
    let seen = bench.watch();
    let (lun, same, exec) = (lun(), lun(), bench.exec.clone());
    let found = bench.run(async move || {
        let controller = Controller::new(same);
        let (mut found, mut begun, mut row) = (Vec::new(), None, rows[0]);
        for _ in 0..12 {
            let draw = |rng: &mut Rng| match rng.below(6) {
                0 => RowAddr(0x00ff_ffff),
                n => rows[n as usize],
            };
            let next = (rng.below(3) > 0).then(|| draw(&mut rng));
            let first = rng.below(4) as u8;
            let sectors = SectorRange { first, count: 1 + rng.below(u64::from(4 - first)) as u8 };
            let target = Target { row, sectors, buffer: BufferId(1) };
            let read = match by_itself {
                true => by_controller(&controller, target, begun, next).await,
                false => by_operations(&lun, target, begun, next).await,
            };
            begun = read.1;
            row = next.unwrap_or_else(|| draw(&mut rng));
            found.push(format!("{} {read:?}", exec.now()));
        }
        found
    });
    let seen = seen.borrow().clone();
    (found, seen)
}

#[test]
fn a_page_read_by_itself_is_its_operations_one_after_the_other() {
    let mut wrong = 0;
    for seed in 0..60 {
        let (fast, slow) = (reads(seed, true), reads(seed, false));
        assert_eq!(fast, slow, "seed {seed}");
        wrong += fast.0.iter().filter(|read| read.contains("NeverReady")).count();
    }
    assert!(wrong > 0, "some LUN is asked for longer than the software's patience");
}
