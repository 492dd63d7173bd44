//! The driver of a message unit.

use super::fake::{Fake, Manners};
use crate::driver::{ArrayDriver, ArrayError, ArrayInfo, Ended, Gone, REGION_BYTES};
use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::vec::Vec;
use aster_exec::{Core, Exec};
use aster_parties::TargetMemory;
use aster_ports::dram::Dram;
use aster_units::{Content, Duration, Frequency, Instant, Rng};
use aster_wire::array::registers::UnitStatus;
use aster_wire::array::{Blocks, Command, Opcode, SectorSpan, StatusCode};
use core::cell::{Cell, RefCell};

/// The same as the unit of [`Fake`].
const INFO: ArrayInfo =
    ArrayInfo { channels: 4, lanes: 8, dies: 2, planes: 2, blocks: 24, pages: 16, sectors: 4 };
/// Where the driver's region begins.
const REGION: u64 = TargetMemory::BYTES_BASE;

struct Bench {
    exec: Exec,
    fake: Rc<Fake>,
    driver: Rc<ArrayDriver>,
}

impl Bench {
    fn new(manners: Manners) -> Self {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).expect("not 0"));
        let buffers = Dram::new(Content::Full, 4, 64, 1, 0, 0);
        let memory = Rc::new(RefCell::new(TargetMemory::new(REGION_BYTES, &buffers)));
        let fake = Fake::new(&exec, &memory, manners);
        let driver = ArrayDriver::new(&core, fake.clone(), memory, REGION);
        *fake.driver.borrow_mut() = Some(driver.clone());
        Bench { exec, fake, driver }
    }
    /// Runs until nothing is left to do; a hang is a failure.
    fn run(&self) {
        while let Some(at) = self.exec.next_deadline() {
            assert!(at < Instant::ZERO + Duration::from_secs(200), "it hangs");
            self.exec.advance_to(at);
        }
    }
    fn bring_up(&self) -> Result<ArrayInfo, ArrayError> {
        let result = Rc::new(Cell::new(None));
        let (driver, into) = (self.driver.clone(), result.clone());
        self.exec.spawn(async move { into.set(Some(driver.bring_up().await)) });
        self.run();
        result.get().expect("it ends")
    }
    fn up(manners: Manners) -> Self {
        let bench = Bench::new(manners);
        assert_eq!(bench.bring_up(), Ok(INFO));
        bench
    }
    /// Sends commands, each by a task of its own, and returns how they ended.
    fn send(&self, count: u16) -> Vec<Result<Ended, Gone>> {
        let ends = Rc::new(RefCell::new(Vec::new()));
        for n in 0..count {
            let (driver, ends) = (self.driver.clone(), ends.clone());
            self.exec.spawn(async move {
                let ended = driver.send(read(n)).await;
                ends.borrow_mut().push(ended);
            });
        }
        self.run();
        ends.take()
    }
}

fn read(n: u16) -> Command {
    Command::new(Opcode::Erase, 0, 0, 0, Blocks::One { lane: 0, block: 0 }).at(n, SectorSpan::of(0, 1))
}

#[test]
fn one_command_alone_leaves_at_once() {
    let bench = Bench::up(Manners::default());
    let before = bench.exec.now();
    let ends = bench.send(1);
    assert_eq!(ends, [Ok(Ended { code: StatusCode::Done, failed: 0, corrected: 0 })]);
    assert_eq!(bench.fake.frames.borrow().len(), 1);
    assert!(bench.exec.now() < before + Duration::from_secs(2));
}

#[test]
fn what_is_sent_at_one_instant_shares_frames_and_keeps_its_order() {
    let bench = Bench::up(Manners::default());
    assert_eq!(bench.send(60).len(), 60);
    let frames = bench.fake.frames.borrow();
    // 21 commands of 24 bytes fit into a frame.
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [21, 21, 18]);
    assert!(frames.iter().flatten().map(|command| command.page).eq(0..60));
}

/// H10: a host that overflows the FIFO, or sends more commands than there are slots, would stop the drive.
#[test]
fn no_more_frames_and_commands_are_out_than_the_unit_holds() {
    let bench = Bench::up(Manners { fetch: Duration::from_micros(30), ..Manners::default() });
    let ends = Rc::new(Cell::new(0));
    let mut random = Rng::new(3);
    for n in 0..2_000 {
        let (driver, ends, exec) = (bench.driver.clone(), ends.clone(), bench.exec.clone());
        let at = Duration::from_micros(random.below(4_000));
        bench.exec.spawn(async move {
            exec.sleep(at).await;
            let ended = driver.send(read(n)).await;
            assert_eq!(ended.map(|ended| ended.failed), Ok(n as u8));
            ends.set(ends.get() + 1);
        });
    }
    bench.run();
    assert_eq!(ends.get(), 2_000);
    assert!(bench.fake.most_in_work.get() <= 64);
    // It is used up: what comes then gathers in frames.
    assert!(bench.fake.most_in_fifo.get() >= 15);
    assert!(bench.fake.frames.borrow().iter().any(|frame| frame.len() > 1));
    assert_eq!((bench.driver.room(), bench.driver.fault()), (64, None));
}

#[test]
fn a_drive_that_breaks_the_rules_is_given_up_in_words() {
    let stopped = UnitStatus(0).with_frame_error(true).with_ready(true);
    for (manners, error, words) in [
        (
            Manners { lose: Some(3), ..Manners::default() },
            ArrayError::LostStatus { expected: 3, found: 4 },
            "status entry 4 came where 3 was expected",
        ),
        (
            Manners { wrong_id: Some(2), ..Manners::default() },
            ArrayError::UnknownCommand(101),
            "a status came for command 101, which the drive does not have",
        ),
        (
            Manners { code: 0x77, ..Manners::default() },
            ArrayError::UnknownCode(0x77),
            "a status came with code 0x77, which means nothing",
        ),
        (Manners { stop_at: Some(0), ..Manners::default() }, ArrayError::Stopped(stopped), "has stopped"),
        (
            Manners { swallow: Some(4), ..Manners::default() },
            ArrayError::Overdue { id: 4, waited: Duration::from_secs(30) },
            "command 4 has not ended within 30",
        ),
    ] {
        let bench = Bench::up(manners);
        let ends = bench.send(70);
        assert_eq!(ends.len(), 70, "{error}: a command never ends");
        assert!(ends.contains(&Err(Gone)));
        assert_eq!(bench.driver.fault(), Some(error));
        assert!(error.to_string().contains(words), "{error}");
        // Later commands end, too.
        assert_eq!(bench.send(3), [Err(Gone); 3]);
    }
}

#[test]
fn a_drive_that_is_none_is_refused_in_words() {
    let refused = |manners| Bench::new(manners).bring_up().unwrap_err();
    assert_eq!(refused(Manners { has_msi: false, ..Manners::default() }), ArrayError::NoMsi);
    assert_eq!(refused(Manners { id: u32::MAX, ..Manners::default() }), ArrayError::NotThere);
    assert_eq!(refused(Manners { id: 0x1234, ..Manners::default() }), ArrayError::OtherDevice(0x1234));
    let late = refused(Manners { ready_after: None, ..Manners::default() });
    assert_eq!(late, ArrayError::NotReady { waited: Duration::from_secs(60), status: UnitStatus(0) });
    assert!(late.to_string().starts_with("the drive was not ready within 60"), "{late}");
}
