//! A live drive on its socket: a polled client, doorbells in mapped memory, 4 KiB random reads at queue depth 32. Client and server
//! poll a core each, so these are requests a wall second, and other work on the machine counts.

use aster_run_live::Pace;
use aster_tests::live::{Host, Ring, Running, transfer};
use aster_tests::profile;
use aster_units::Rng;
use std::time::{Duration, Instant};

const DEPTH: usize = 32;
const MEMORY: u64 = 8 << 20;
/// Blocks of 4 KiB that are written first and read from then on.
const BLOCKS: u64 = 16_384;
const MEASURED: Duration = Duration::from_secs(3);

/// Prints requests a second.
pub fn measure() {
    let drive = Running::start(&profile("ideal", |_| ()), Pace::Fast, None);
    let mut host = Host::connect(&drive.socket(), Ring::Mapped, MEMORY);
    host.enable();
    let mut queue = host.create_queue(1, 128);
    let buffers: Vec<u64> = (0..DEPTH).map(|_| host.alloc(4096)).collect();
    for block in 0..BLOCKS {
        let written = host.send(&mut queue, transfer(true, block, 1, buffers[0]));
        assert!(written.status().is_success(), "{}", written.status());
    }
    let mut random = Rng::new(1);
    let (began, mut done, mut flying) = (Instant::now(), 0u64, 0);
    while began.elapsed() < MEASURED {
        if flying < DEPTH {
            while flying < DEPTH {
                let at = buffers[(done as usize + flying) % DEPTH];
                host.push(&mut queue, transfer(false, random.below(BLOCKS), 1, at));
                flying += 1;
            }
            host.ring(&queue);
        }
        let mut taken = 0;
        while let Some(completion) = host.poll(&mut queue) {
            assert!(completion.status().is_success(), "{}", completion.status());
            taken += 1;
        }
        if taken > 0 {
            host.ring_head(&queue);
            done += taken;
            flying -= taken as usize;
        }
    }
    let rate = done as f64 / began.elapsed().as_secs_f64();
    println!("live: 4 KiB random reads, QD {DEPTH}, whole drive over vfio-user: {rate:.0} a second");
    drop(host);
    drive.stop().unwrap_or_else(|error| panic!("{error}"));
}
