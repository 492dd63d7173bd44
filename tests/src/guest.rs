//! A stock Linux guest, booted by `scripts/guest.sh`. `scripts/setup.sh --guest` downloads its parts.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// The guest's kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// Its NVMe driver is built in.
    Cloud,
    /// Its NVMe driver is a module.
    Modular,
    /// Linux 5.10 with LightNVM, a host of open-channel drives (`scripts/setup.sh --lightnvm`).
    LightNvm,
}

/// A running guest; dropping it ends it.
pub struct Guest {
    child: Child,
    console: BufReader<ChildStdout>,
    script: String,
    said: String,
    folder: TempDir,
}

impl Guest {
    /// Boots a guest with the drives at `sockets` that runs `script` of `tests/guest`, after `preamble`.
    pub fn boot(kernel: Kernel, sockets: &[PathBuf], preamble: &str, script: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().expect("a folder for the script");
        let text = std::fs::read_to_string(root.join("tests/guest").join(script)).expect("the script");
        let (run, errors) = (folder.path().join("run.sh"), folder.path().join("errors"));
        std::fs::write(&run, format!("{preamble}\n{text}")).expect("a copy of the script");
        let (boots, kernel) = match kernel {
            Kernel::Cloud => ("scripts/guest.sh", "cloud"),
            Kernel::Modular => ("scripts/guest.sh", "modular"),
            Kernel::LightNvm => ("scripts/lightnvm-guest.sh", "cloud"),
        };
        let mut command = Command::new(root.join(boots));
        command.arg("boot").arg(&run);
        for (slot, socket) in (4..).zip(sockets) {
            let device = format!(
                "{{\"driver\":\"vfio-user-pci\",\"socket\":{{\"type\":\"unix\",\"path\":\"{}\"}},\
                 \"addr\":\"{slot:02x}.0\"}}",
                socket.display()
            );
            command.args(["-device", &device]);
        }
        let mut child = command
            .env("ASTER_GUEST_KERNEL", kernel)
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(File::create(errors).expect("a file for errors"))
            .spawn()
            .expect("scripts/guest.sh runs");
        let console = BufReader::new(child.stdout.take().expect("it is piped"));
        Guest { child, console, script: script.to_owned(), said: String::new(), folder }
    }
    /// Waits until the console prints a line that contains this. If the guest ends first, panics with the
    /// console's output.
    pub fn wait_for(&mut self, text: &str) {
        loop {
            let begin = self.said.len();
            // What QEMU prints need not be UTF-8.
            let mut line = Vec::new();
            let read = self.console.read_until(b'\n', &mut line).expect("a console");
            self.said.push_str(&String::from_utf8_lossy(&line));
            if self.said[begin..].contains(text) {
                return;
            }
            assert!(
                read > 0,
                "{} ended before it said {text}:\n{}\n{}",
                self.script,
                self.said,
                self.errors()
            );
        }
    }
    /// Waits for the guest's end and returns the console's output. Panics with it if the script has
    /// failed.
    pub fn finish(mut self) -> String {
        let mut rest = Vec::new();
        self.console.read_to_end(&mut rest).expect("a console");
        self.said.push_str(&String::from_utf8_lossy(&rest));
        let status = self.child.wait().expect("it ends");
        let fine = status.success() && self.said.contains("GUEST-RC 0");
        assert!(fine, "{}: {status}\n{}\n{}", self.script, self.said, self.errors());
        std::mem::take(&mut self.said)
    }
    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Ends the script, its emulator and all other processes that it started. A script that has ended
        // has none left.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
