//! SPDK's own initiator, if it is available: `ASTER_SPDK` names the folder of its programs (docs/serve.md).
//!
//! A test client does the same on every machine (`tests/tests/live_clients.rs`). This test shows whether SPDK
//! still behaves like that.

use crate::place::Place;
use aster_tests::cases;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// Huge pages of 2 MiB that SPDK takes here.
const HUGE_PAGES: u64 = 128;
const MEGABYTES: &str = "256";

/// A drive that SPDK finds in the folder `drive`.
struct Served {
    place: Place,
    server: Child,
    /// Its messages about clients.
    said: BufReader<ChildStderr>,
}

impl Served {
    fn start() -> Self {
        let place = Place::new();
        std::fs::create_dir(place.path("drive")).unwrap();
        let serve = ["serve", "pocket", "--vfio-user", "drive/cntrl", "--pace", "fast"];
        let mut server = place.command(&serve).stderr(Stdio::piped()).spawn().unwrap();
        // It prints a line when it listens; the rest of its output is read at the end.
        let mut said = BufReader::new(server.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("stop it with Ctrl-C") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "the server ended");
        }
        Served { place, server, said }
    }
    /// Runs a program of SPDK's against the drive; returns its output.
    fn drive(&self, program: &Path, arguments: &[&str]) -> String {
        // Without a name it would be taken for a discovery controller.
        let folder = self.place.path("drive");
        let address = format!("trtype:VFIOUSER traddr:{} subnqn:nqn.2024-01.example:any", folder.display());
        let ran = Command::new(program).args(arguments).args(["-r", &address]).output();
        let ran = ran.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let said =
            [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(ran.status.success(), "{} {arguments:?}: {}\n{said}", program.display(), ran.status);
        said
    }
    /// Ends the server; returns its messages about clients.
    fn stop(mut self) -> String {
        let stop = format!("kill -TERM {}", self.server.id());
        assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        assert!(self.server.wait().unwrap().success(), "{said}");
        said
    }
}

/// Whether huge pages are available: there are enough, and a hugetlbfs is mounted, as DPDK needs it.
fn has_huge_pages() -> bool {
    let free = std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    let free = free.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0u64);
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    free >= HUGE_PAGES && mounts.lines().any(|line| line.split(' ').nth(2) == Some("hugetlbfs"))
}

/// Requests per second in total, as `spdk_nvme_perf` prints them in its last table.
fn iops(said: &str) -> f64 {
    let total = said.lines().find_map(|line| line.trim().strip_prefix("Total")).expect("a total");
    let number = total.split(':').nth(1).and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("a number in {total:?}"))
}

#[test]
fn spdk_identifies_the_drive_and_reads_and_writes_it_in_either_kind_of_memory() {
    let Some(folder) = std::env::var_os("ASTER_SPDK").filter(|folder: &OsString| !folder.is_empty()) else {
        return println!("no SPDK here: ASTER_SPDK names no folder with its programs");
    };
    let folder = Path::new(&folder);
    let (identify, perf) = (folder.join("spdk_nvme_identify"), folder.join("spdk_nvme_perf"));
    let mut kinds = vec![("without huge pages", vec!["--no-huge", "-s", MEGABYTES])];
    if has_huge_pages() {
        kinds.push(("huge pages, in one file", vec!["-g", "-s", MEGABYTES]));
    } else {
        println!("no {HUGE_PAGES} free huge pages of 2 MiB, or no hugetlbfs: without them alone");
    }
    let seconds = cases(1, 5).to_string();
    for (kind, memory) in kinds {
        let served = Served::start();
        let said = served.drive(&identify, &memory);
        assert!(said.contains("Aster pocket"), "{kind}: {said}");
        assert!(!said.contains("get_feature("), "{kind}: a feature that it asks for is refused: {said}");
        for job in [["-w", "randwrite"], ["-w", "randread"], ["-w", "randrw"]] {
            let mix = if job[1] == "randrw" { vec!["-M", "50"] } else { Vec::new() };
            let common = ["-q", "32", "-o", "4096", "-t", &seconds];
            let said = served.drive(&perf, &[&memory[..], &job[..], &mix[..], &common[..]].concat());
            let iops = iops(&said);
            println!("{kind}: {} {iops} IOPS", job[1]);
            assert!(iops > 0.0, "{kind}: {said}");
            assert!(!said.contains("completed with error"), "{kind}: {said}");
        }
        let told = served.stop();
        assert!(!told.contains("refused") && !told.contains("0x"), "{kind}: {told}");
    }
}
