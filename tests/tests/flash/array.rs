//! Frames on a whole drive without a map, with no FTL: pages of single lanes and of groups are erased,
//! written, copied within the drive and read by many commands at once, while power is cut and the host is
//! reset. What a status has called done is there afterwards.

use aster_device::plug::{
    DriveState, Exec, Function, HostMemory, MediaState, PieceError, Promises, SharedDram, TargetMemory,
    TargetNeeds, TargetPiece, TargetPorts, TargetView, TranslationStats, TranslationView,
};
use aster_device::profile::TargetProfile;
use aster_device::{Media, Pieces, Profile};
use aster_driver::Config;
use aster_events::Recorder;
use aster_hostftl::driver::{ArrayDriver, ArrayInfo, REGION_BYTES};
use aster_run_virtual::Machine;
use aster_tests::{cases, config, profile};
use aster_units::{BufferId, Content, Lpn, Ppa, Rng};
use aster_wire::array::{
    Blocks, Command, CommandFlags, Destination, HostAddress, LANES_MAX, NO_BLOCK, Opcode, SectorSpan,
    StatusCode,
};
use aster_wire::ocssd::TableHeader;
use aster_wire::onfi::Status;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Tasks, each with a block of one lane, and those after them with a group.
const SINGLES: usize = 24;
const GROUPS: usize = 4;
/// The task whose group has parity, on a lane that changes with the page.
const WITH_PARITY: usize = SINGLES + 3;
/// Page buffers and OOB runs of a task: a page of each lane.
const PAGES: usize = LANES_MAX;
const SECTORS: u8 = 4;
const PAGE_BYTES: u32 = 4096 * SECTORS as u32;
const OOB_BYTES: usize = 16 * SECTORS as usize;
const OOB: CommandFlags = CommandFlags(0).with_oob(true);

/// What a task knows of its block or group, which outlasts its host.
#[derive(Clone, Default)]
struct Known {
    /// Versions of the pages that a status has called done.
    done: Vec<u64>,
    /// A write or an erase is with the drive, or has been when the host went.
    uncertain: bool,
}

#[derive(Default)]
struct World {
    known: RefCell<Vec<Known>>,
    versions: Cell<u64>,
    writes: Cell<u64>,
    checks: Cell<u64>,
    /// Pages that were copied, by way.
    copies: Cell<[u64; 3]>,
    /// Groups with bad blocks are erased, instead of the tasks' work.
    erases_bad: bool,
}

struct Exerciser(Rc<World>);

struct Running {
    world: Rc<World>,
    driver: Rc<ArrayDriver>,
    memory: Rc<RefCell<TargetMemory>>,
    buffers: SharedDram,
    exec: Exec,
    checked: Cell<usize>,
    error: RefCell<Option<String>>,
}

impl TargetPiece for Exerciser {
    fn needs(&self) -> TargetNeeds {
        let data_buffers = ((SINGLES + GROUPS) * PAGES) as u32;
        TargetNeeds { data_buffers, oob_bytes: OOB_BYTES as u8, ..TargetNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        PAGE_BYTES.into()
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let TargetPorts { core, buffers, function, .. } = ports;
        let oob = (SINGLES + GROUPS) * PAGES * OOB_BYTES;
        let memory = Rc::new(RefCell::new(TargetMemory::new(REGION_BYTES + oob, &buffers)));
        let driver = ArrayDriver::new(&core, function, Rc::clone(&memory), TargetMemory::BYTES_BASE);
        let running = Rc::new(Running {
            world: self.0,
            driver,
            memory,
            buffers,
            exec: core.exec().clone(),
            checked: Cell::new(0),
            error: RefCell::new(None),
        });
        let (main, its_core) = (Rc::clone(&running), core.clone());
        core.spawn(async move {
            match main.driver.bring_up().await {
                Ok(info) if main.world.erases_bad => match main.erase_bad(&info).await {
                    Ok(()) => main.checked.set(SINGLES + GROUPS),
                    Err(error) => *main.error.borrow_mut() = Some(error),
                },
                Ok(info) => (0..SINGLES + GROUPS).for_each(|task| {
                    let running = Rc::clone(&main);
                    its_core.spawn(async move { running.work(task, &info).await });
                }),
                Err(error) => *main.error.borrow_mut() = Some(error.to_string()),
            }
        });
        Ok(running)
    }
}

impl Running {
    /// The lanes and the block of a task. No two tasks share a block.
    fn blocks(task: usize) -> (u8, Blocks) {
        let die = (task % 2) as u8;
        match task.checked_sub(SINGLES) {
            None => (die, Blocks::One { lane: (task / 2 % LANES_MAX) as u8, block: (task / 16) as u16 }),
            Some(group) => {
                (die, Blocks::Group(std::array::from_fn(|lane| (4 + 3 * group + lane % 3) as u16)))
            }
        }
    }
    /// Where a task copies its pages: to the same planes, to the other ones, or to the other die. No two
    /// tasks share a block there either.
    fn copied_to(task: usize, way: usize) -> (u8, Blocks) {
        let (die, blocks) = Running::blocks(task);
        let moved = |block: u16, same: u16, other: u16| block + if way == 1 { other } else { same };
        let blocks = match blocks {
            // Blocks 0 and 1 of each die, to 16 to 23.
            Blocks::One { lane, block } => {
                let of_die = 16 + 4 * u16::from(die);
                Blocks::One { lane, block: moved(of_die + block, 0, if block == 0 { 3 } else { 1 }) }
            }
            Blocks::Group(blocks) => Blocks::Group(blocks.map(|block| moved(block, 24, 37))),
        };
        (if way == 2 { 1 - die } else { die }, blocks)
    }
    /// Lanes of a task with data of its own.
    fn data_lanes(task: usize) -> usize {
        Running::blocks(task).1.members().count() - usize::from(task == WITH_PARITY)
    }
    /// A command for a page of a task, with the task's buffers and runs.
    fn command(&self, task: usize, opcode: Opcode, page: u16) -> Command {
        self.command_at(Running::blocks(task), task, opcode, page)
    }
    fn command_at(&self, (die, blocks): (u8, Blocks), task: usize, opcode: Opcode, page: u16) -> Command {
        let command = Command::new(opcode, 0, 0, die, blocks);
        if opcode == Opcode::Erase {
            return command;
        }
        let lanes = Running::data_lanes(task);
        let mut command = command.at(page, SectorSpan::of(0, SECTORS)).with_flags(OOB);
        if task == WITH_PARITY {
            command = command.with_parity_on((page % 8) as u8);
        }
        for n in 0..lanes {
            let at = self.memory.borrow().address_of(BufferId((task * PAGES + n) as u32), 0);
            command = command.with_host(HostAddress::of(at, PAGE_BYTES));
        }
        command.with_host(HostAddress::of(self.oob_at(task), (lanes * OOB_BYTES) as u32))
    }
    fn oob_at(&self, task: usize) -> u64 {
        TargetMemory::BYTES_BASE + (REGION_BYTES + task * PAGES * OOB_BYTES) as u64
    }
    /// Puts a version's content, which differs by lane and sector, into the task's memory, or compares it.
    fn content(&self, task: usize, version: u64, write: bool) -> bool {
        let lanes = Running::data_lanes(task);
        let (mut same, mut buffers) = (true, self.buffers.borrow_mut());
        let mut memory = self.memory.borrow_mut();
        let oob = memory.bytes_mut(self.oob_at(task), lanes * OOB_BYTES).expect("in memory");
        for lane in 0..lanes {
            let page = buffers.page_mut(BufferId((task * PAGES + lane) as u32));
            let words =
                page.chunks_exact_mut(8).chain(oob[lane * OOB_BYTES..][..OOB_BYTES].chunks_exact_mut(8));
            for (n, word) in words.enumerate() {
                let value = (version << 16 | (lane as u64) << 12 | n as u64 & 0xfff).to_le_bytes();
                if write {
                    word.copy_from_slice(&value);
                } else {
                    same &= word == value;
                }
            }
        }
        same
    }
    async fn send(&self, command: Command) -> Option<StatusCode> {
        self.driver.send(command).await.ok().map(|ended| ended.code)
    }
    async fn check(&self, task: usize, page: u16, version: u64) -> Result<(), String> {
        self.content(task, 0, true);
        let code = self.send(self.command(task, Opcode::Read, page)).await;
        if code != Some(StatusCode::Done) || !self.content(task, version, false) {
            return Err(format!("task {task}, page {page}: {code:?}, not version {version}"));
        }
        self.world.checks.set(self.world.checks.get() + 1);
        if task == WITH_PARITY { self.check_parity(task, page).await } else { Ok(()) }
    }
    /// Copies all pages of a task's block to another one, and reads them there (H3, H31).
    async fn copy(&self, task: usize, way: usize, versions: &[u64]) -> Result<(), String> {
        let (die, blocks) = Running::blocks(task);
        let to = Running::copied_to(task, way);
        let erased = self.send(self.command_at(to, task, Opcode::Erase, 0)).await;
        let copy = |page: u16, to_page: u16| {
            let copy = Command::new(Opcode::Copy, 0, 0, die, blocks).at(page, SectorSpan::of(0, SECTORS));
            copy.to(Destination { die: to.0, page: to_page, blocks: to.1 })
        };
        let ahead = self.send(copy(0, 1)).await;
        if (erased, ahead) != (Some(StatusCode::Done), Some(StatusCode::Refused)) {
            return Err(format!("task {task}, way {way}: erase {erased:?}, copy to page 1 {ahead:?}"));
        }
        for page in 0..versions.len() as u16 {
            let code = self.send(copy(page, page)).await;
            if code != Some(StatusCode::Done) {
                return Err(format!("task {task}, way {way}: a copy of page {page} ended with {code:?}"));
            }
        }
        for (page, version) in (0..).zip(versions) {
            self.content(task, 0, true);
            let code = self.send(self.command_at(to, task, Opcode::Read, page)).await;
            if code != Some(StatusCode::Done) || !self.content(task, *version, false) {
                return Err(format!(
                    "task {task}, way {way}: page {page} was copied and isn't there: {code:?}"
                ));
            }
        }
        let mut copies = self.world.copies.get();
        copies[way] += versions.len() as u64;
        self.world.copies.set(copies);
        Ok(())
    }
    /// Each lane of a task says that it is ready and that its last operation hasn't failed.
    async fn check_status(&self, task: usize) -> Result<(), String> {
        let (die, blocks) = Running::blocks(task);
        let (at, lanes) = (self.oob_at(task), blocks.members().count());
        self.memory.borrow_mut().bytes_mut(at, OOB_BYTES).expect("in memory").fill(0);
        let status = Command::new(Opcode::Status, 0, 0, die, blocks).with_host(HostAddress::of(at, 16));
        let code = self.send(status).await;
        let memory = self.memory.borrow();
        let (of_lanes, behind) = memory.bytes(at, OOB_BYTES).expect("in memory").split_at(lanes);
        let idle =
            of_lanes.iter().all(|&byte| byte == Status::IDLE.0) && behind.iter().all(|&byte| byte == 0);
        if code != Some(StatusCode::Done) || !idle {
            return Err(format!("task {task}: {code:?}, with the lanes' status {of_lanes:x?}"));
        }
        Ok(())
    }
    /// H33: the sum of all lanes is zero, of their data and of their OOB.
    async fn check_parity(&self, task: usize, page: u16) -> Result<(), String> {
        let (die, blocks) = Running::blocks(task);
        let buffer = |lane: usize| BufferId((task * PAGES + lane) as u32);
        let mut read = Command::new(Opcode::Read, 0, 0, die, blocks)
            .at(page, SectorSpan::of(0, SECTORS))
            .with_flags(OOB);
        for lane in 0..LANES_MAX {
            let at = self.memory.borrow().address_of(buffer(lane), 0);
            read = read.with_host(HostAddress::of(at, PAGE_BYTES));
        }
        let read = read.with_host(HostAddress::of(self.oob_at(task), (LANES_MAX * OOB_BYTES) as u32));
        let code = self.send(read).await;
        let (buffers, memory) = (self.buffers.borrow(), self.memory.borrow());
        let oob = memory.bytes(self.oob_at(task), LANES_MAX * OOB_BYTES).expect("in memory");
        let mut sum = vec![0; buffers.page(buffer(0)).len() + OOB_BYTES];
        for lane in 0..LANES_MAX {
            let bytes = buffers.page(buffer(lane)).iter().chain(&oob[lane * OOB_BYTES..][..OOB_BYTES]);
            sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
        }
        if code != Some(StatusCode::Done) || sum.iter().any(|&byte| byte != 0) {
            return Err(format!("page {page}: {code:?}, and the lanes add up to {sum:x?}"));
        }
        Ok(())
    }
    /// The blocks of a lane of channel 0 and die 0 that are bad.
    async fn bad_of(&self, lane: u8, info: &ArrayInfo) -> Result<Vec<bool>, String> {
        let bytes = size_of::<TableHeader>() + info.blocks as usize;
        let at = HostAddress::of(self.oob_at(0), bytes.next_multiple_of(16) as u32);
        let report = Command::new(Opcode::Report, 0, 0, 0, Blocks::One { lane, block: 0 }).with_host(at);
        let code = self.send(report).await;
        if code != Some(StatusCode::Done) {
            return Err(format!("the report on lane {lane}: {code:?}"));
        }
        let memory = self.memory.borrow();
        let table = memory.bytes(self.oob_at(0), bytes).expect("in memory");
        Ok(table[size_of::<TableHeader>()..].iter().map(|&state| state != 0).collect())
    }
    /// An erase of a group erases its good blocks, and names the bad ones.
    async fn erase_bad(&self, info: &ArrayInfo) -> Result<(), String> {
        let mut of_lanes = Vec::new();
        for lane in 0..LANES_MAX as u8 {
            of_lanes.push(self.bad_of(lane, info).await?);
        }
        let mut tried = 0;
        for block in 0..info.blocks as u16 {
            let bad: Vec<u8> = (0..LANES_MAX as u8)
                .filter(|&lane| of_lanes[usize::from(lane)][usize::from(block)])
                .collect();
            if bad.is_empty() {
                continue;
            }
            tried += 1;
            let bits = bad.iter().fold(0, |bits, lane| bits | 1u8 << lane);
            let good = || (0..LANES_MAX as u8).filter(|lane| !bad.contains(lane));
            let one = |opcode, lane| self.command_at((0, Blocks::One { lane, block }), 0, opcode, 0);
            for lane in good() {
                let before = self.send(one(Opcode::Erase, lane)).await;
                let written = self.send(one(Opcode::Write, lane)).await;
                if (before, written) != (Some(StatusCode::Done), Some(StatusCode::Done)) {
                    return Err(format!("block {block} of lane {lane}: {before:?}, {written:?}"));
                }
            }
            let erase = async |lanes: u8| {
                let blocks = std::array::from_fn(|n| if lanes >> n & 1 != 0 { block } else { NO_BLOCK });
                let ended = self.driver.send(Command::new(Opcode::Erase, 0, 0, 0, Blocks::Group(blocks)));
                ended.await.map(|ended| (ended.code, ended.failed)).map_err(|_| "given up".to_owned())
            };
            let (some, none) = (erase(0xff).await?, erase(bits).await?);
            if some != (StatusCode::EraseFailed, bits) || none != (StatusCode::Refused, bits) {
                return Err(format!("block {block}, bad on lanes {bad:?}: {some:?}, {none:?}"));
            }
            for lane in good() {
                let read = self.send(one(Opcode::Read, lane)).await;
                let written = self.send(one(Opcode::Write, lane)).await;
                if (read, written) != (Some(StatusCode::Erased), Some(StatusCode::Done)) {
                    return Err(format!("block {block} of lane {lane} wasn't erased: {read:?}, {written:?}"));
                }
            }
        }
        if tried > 10 { Ok(()) } else { Err(format!("only {tried} groups with bad blocks")) }
    }
    async fn work(&self, task: usize, info: &ArrayInfo) {
        if let Err(error) = self.try_work(task, info).await {
            self.error.borrow_mut().get_or_insert(error);
        }
    }
    async fn try_work(&self, task: usize, info: &ArrayInfo) -> Result<(), String> {
        let known = || self.world.known.borrow()[task].clone();
        for (page, version) in (0..).zip(known().done) {
            self.check(task, page, version).await?;
        }
        self.checked.set(self.checked.get() + 1);
        let mut random = Rng::new(self.world.versions.get() * 64 + task as u64);
        loop {
            let before = known();
            let page = before.done.len() as u16;
            let change = |change: fn(&mut Known, u64), version| {
                change(&mut self.world.known.borrow_mut()[task], version);
            };
            if before.uncertain || page == info.pages {
                change(|known, _| *known = Known { done: Vec::new(), uncertain: true }, 0);
                let code = self.send(self.command(task, Opcode::Erase, 0)).await;
                if code != Some(StatusCode::Done) {
                    return Err(format!("task {task}: an erase ended with {code:?}"));
                }
                change(|known, _| known.uncertain = false, 0);
                // What is erased says so; what lies beyond the drive, or behind the next page, is refused.
                let read = self.send(self.command(task, Opcode::Read, 0)).await;
                let behind = self.send(self.command(task, Opcode::Write, 1)).await;
                let beyond = self.send(self.command(task, Opcode::Read, info.pages)).await;
                let refused = Some(StatusCode::Refused);
                if (read, behind, beyond) != (Some(StatusCode::Erased), refused, refused) {
                    return Err(format!("task {task}: {read:?}, {behind:?}, {beyond:?}"));
                }
                self.check_status(task).await?;
                continue;
            }
            let version = self.world.versions.get() + 1;
            self.world.versions.set(version);
            self.content(task, version, true);
            change(|known, _| known.uncertain = true, 0);
            let code = self.send(self.command(task, Opcode::Write, page)).await;
            if code != Some(StatusCode::Done) {
                return Err(format!("task {task}, page {page}: a write ended with {code:?}"));
            }
            let done = |known: &mut Known, version| {
                known.done.push(version);
                known.uncertain = false;
            };
            change(done, version);
            self.world.writes.set(self.world.writes.get() + 1);
            let again = random.below(u64::from(page) + 1) as u16;
            self.check(task, again, known().done[usize::from(again)]).await?;
            if random.below(8) == 0 {
                self.copy(task, random.below(3) as usize, &known().done).await?;
            }
            if random.below(4) == 0 {
                self.exec.sleep(aster_units::Duration::from_micros(random.below(300))).await;
            }
        }
    }
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        match (self.boot_error(), self.checked.get() == SINGLES + GROUPS) {
            (Some(_), _) => DriveState::Failed,
            (None, true) => DriveState::Ready,
            (None, false) => DriveState::Booting,
        }
    }
    fn boot_error(&self) -> Option<String> {
        self.error.borrow().clone().or_else(|| self.driver.fault().map(|fault| fault.to_string()))
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats { state: self.state(), ..TranslationStats::default() }
    }
    fn promises(&self) -> Promises {
        Promises::ALL
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl TargetView for Running {
    fn interrupt(&self, _: u64, data: u32) {
        if let Some(stopped) = self.driver.interrupt(data) {
            self.driver.fail(stopped);
        }
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
}

/// With `lanes` the NAC of these lanes carries out groups in lockstep, on a core of its own (H2).
fn small(lanes: Option<u8>) -> Profile {
    profile("host-ftl", |p| {
        p.channel.lanes = lanes;
        (p.cores.flash_core, p.cores.flash_mhz) = (lanes.is_some(), lanes.map(|_| 160.0));
        p.restrict.channels = Some(8);
        p.restrict.pages_per_block = Some(8);
        p.restrict.blocks_per_lun = Some(56);
        p.ftl.buffer_entries = 256;
        p.package.factory_bad_per_mille = 0;
        (p.package.program_failures_per_million, p.package.erase_failures_per_million) = (0, 0);
        p.host.block_bytes = 4096;
        p.target = Some(TargetProfile { kind: "exerciser".to_owned(), ..TargetProfile::default() });
    })
}

fn pieces(world: &Rc<World>) -> Pieces {
    let world = Rc::clone(world);
    Pieces::default().target("exerciser", move |_, _| Ok(Box::new(Exerciser(Rc::clone(&world)))))
}

/// H25: each lane of a group erases its own block.
#[test]
fn an_erase_of_a_group_with_bad_blocks_erases_the_good_ones_and_names_the_others() {
    for lanes in [None, Some(8)] {
        let mut profile = small(lanes);
        profile.package.factory_bad_per_mille = 120;
        let world = Rc::new(World { erases_bad: true, ..World::default() });
        let (recorder, set_up) = (Recorder::default(), Config { depth: 4, ..config(&profile) });
        let media = Media::fresh();
        let content = Some(Content::Fingerprint);
        Machine::power_on_with(pieces(&world), "a", &profile, content, media, &recorder, set_up)
            .unwrap_or_else(|e| panic!("power-on: {e}"))
            .boot()
            .unwrap_or_else(|e| panic!("with {lanes:?} lanes in lockstep: {e}"));
    }
}

/// H3, H9 to H13, H31, H33, G24: singles, groups and one with parity, copies, cuts of both sides, and hosts
/// that go alone.
#[test]
fn what_a_status_has_called_done_outlasts_cuts_and_resets() {
    let kinds = [(Content::Full, None), (Content::Fingerprint, None), (Content::Full, Some(8))];
    for (content, lanes) in kinds {
        let world = Rc::new(World::default());
        world.known.borrow_mut().resize(SINGLES + GROUPS, Known { done: Vec::new(), uncertain: true });
        let profile = small(lanes);
        let set_up = || Config { depth: 4, ..config(&profile) };
        let power_on = |media| {
            let recorder = Recorder::default();
            Machine::power_on_with(pieces(&world), "a", &profile, Some(content), media, &recorder, set_up())
                .unwrap_or_else(|e| panic!("power-on: {e}"))
        };
        let mut machine = power_on(Media::fresh());
        let mut random = Rng::new(17);
        for round in 0..cases(40, 400) {
            machine.boot().unwrap_or_else(|e| panic!("round {round}: {e}"));
            for _ in 0..random.below(8_000) {
                assert!(machine.step(), "its tasks go on");
            }
            let fault = machine.device().translation().boot_error();
            assert_eq!(fault, None, "round {round}");
            machine = if round % 2 == 0 {
                power_on(machine.cut_power())
            } else {
                let drive = machine.cut_host().expect("there is a target");
                Machine::power_on_over(pieces(&world), "a", &profile, drive, set_up())
                    .unwrap_or_else(|e| panic!("power-on: {e}"))
            };
        }
        let (writes, checks) = (world.writes.get(), world.checks.get());
        assert!(writes > 1_500 && checks > 2_000, "{writes} writes, {checks} checks");
        let copies = world.copies.get();
        assert!(copies.iter().all(|&pages| pages > 100), "pages copied by way: {copies:?}");
    }
}
