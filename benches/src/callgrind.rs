//! Runs a program again under callgrind.

use std::process::Command;

/// What callgrind has counted, and what the program printed.
pub struct Counted {
    /// Callgrind's profile, with the names of files and functions written out and absolute lines.
    pub profile: String,
    /// The program's standard output.
    pub said: String,
}

/// Runs this program with `arguments` under callgrind.
///
/// # Errors
/// When valgrind is missing, or the program fails under it.
pub fn run(arguments: &[String]) -> Result<Counted, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let out = folder.path().join("callgrind.out");
    let run = Command::new("valgrind")
        // Without their mangled names, functions of one generic function would be one.
        .args(["--tool=callgrind", "--demangle=no", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(this)
        .args(arguments)
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    if !run.status.success() {
        return Err(format!("valgrind failed: {}", String::from_utf8_lossy(&run.stderr)));
    }
    let profile = std::fs::read_to_string(&out).map_err(|e| e.to_string())?;
    Ok(Counted { profile, said: String::from_utf8_lossy(&run.stdout).into_owned() })
}
