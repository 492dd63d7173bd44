//! The machine that a run runs on.

use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// Facts about the machine. Simulated figures don't depend on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The operating system with its release.
    pub os: String,
    /// The processor, as it calls itself, or its architecture.
    pub cpu: String,
    /// Cores that the program may use; `null` when the system doesn't say.
    pub cores: Option<usize>,
}

impl HostFacts {
    /// This machine.
    pub fn here() -> Self {
        let kernel = |of: &str| read_to_string(format!("/proc/sys/kernel/{of}")).ok();
        let os = match (kernel("ostype"), kernel("osrelease")) {
            (Some(name), Some(release)) => format!("{} {}", name.trim(), release.trim()),
            _ => std::env::consts::OS.to_owned(),
        };
        let model = read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text).map(str::to_owned));
        HostFacts {
            os,
            cpu: model.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().ok().map(usize::from),
        }
    }
}

/// The first processor's name.
fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_says_what_it_is() {
        let here = HostFacts::here();
        assert!(!here.os.is_empty() && !here.cpu.is_empty() && here.cores.is_some_and(|cores| cores > 0));
        assert_eq!(model("processor\t: 0\nmodel name\t: Fast 9000 @ 1 GHz\n"), Some("Fast 9000 @ 1 GHz"));
        assert_eq!(model("processor\t: 0\nFeatures\t: fp asimd\n"), None);
    }
}
