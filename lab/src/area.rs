//! The area of our channel controller beside Table III of the BABOL paper.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The top module.
const TOP: &str = "aster_channel";

/// One controller's share of an FPGA.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Area {
    /// Its name.
    pub controller: &'static str,
    /// Look-up tables, those used as memory included.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Block RAMs of 36 Kibit; halves are those of 18 Kibit.
    pub bram: f64,
}

/// Table III of the BABOL paper, by Vivado.
pub const TABLE_III: [Area; 3] = [
    Area { controller: "BABOL", lut: 3_539, ff: 3_635, bram: 6.0 },
    Area { controller: "synchronous", lut: 9_343, ff: 13_021, bram: 11.5 },
    Area { controller: "asynchronous", lut: 3_909, ff: 3_745, bram: 8.0 },
];

/// yosys's result for our controller, and the paper's columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AreaReport {
    /// Ours, with eight ways.
    pub ours: Area,
    /// Our look-up tables that are used as memory.
    pub lut_memory: u64,
    /// The paper's.
    pub table_iii: [Area; 3],
    /// Our cells, by Xilinx's names.
    pub cells: BTreeMap<String, u64>,
    /// The tool that synthesised ours.
    pub tool: String,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum AreaError {
    /// yosys is missing.
    #[error("`yosys` is not installed; `make setup` installs it")]
    NoYosys,
    /// A file list can't be read.
    #[error("{path}: {error}; run this in the project's folder, or say where its rtl is with --rtl")]
    Sources {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        error: std::io::Error,
    },
    /// yosys failed.
    #[error("yosys can't synthesise the controller:\n{0}")]
    Yosys(String),
    /// Running yosys failed.
    #[error("yosys can't be run: {0}")]
    Run(#[from] std::io::Error),
}

/// Synthesises the controller of the folder `rtl` for a 7-series FPGA. Takes a minute.
///
/// # Errors
/// When yosys is missing or fails, or `rtl` doesn't contain the controller.
pub fn babol_area(rtl: &Path) -> Result<AreaReport, AreaError> {
    let version = yosys(Path::new("."), &["-V"])?;
    let mut files = Vec::new();
    collect(rtl, &rtl.join("channel/channel.f"), &mut files)?;
    // yosys runs in `rtl`: its scripts can't quote an include folder with a blank in its name.
    let quoted: Vec<String> = files.iter().map(|file| format!("\"{}\"", file.display())).collect();
    let script = format!(
        "read_verilog -sv -Iinclude {}; synth_xilinx -flatten -top {TOP}; tee -q -o /dev/stdout stat -json",
        quoted.join(" ")
    );
    let text = yosys(rtl, &["-q", "-p", &script])?;
    report(&text, version.trim()).ok_or(AreaError::Yosys(text))
}

/// The files of a list, those of included lists first, each file once, with paths relative to `rtl`.
fn collect(rtl: &Path, list: &Path, files: &mut Vec<PathBuf>) -> Result<(), AreaError> {
    let text = std::fs::read_to_string(list)
        .map_err(|error| AreaError::Sources { path: list.to_path_buf(), error })?;
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "-f" => collect(rtl, &rtl.join(words.next().unwrap_or_default()), files)?,
            _ => {
                let file = PathBuf::from(word);
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
    }
    Ok(())
}

fn yosys(folder: &Path, arguments: &[&str]) -> Result<String, AreaError> {
    let done = Command::new("yosys").args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let done = done.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => AreaError::NoYosys,
        _ => AreaError::Run(error),
    })?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        Err(AreaError::Yosys(String::from_utf8_lossy(&done.stderr).into_owned()))
    }
}

/// The report from yosys' statistics; `None` when they count no cells.
fn report(statistics: &str, tool: &str) -> Option<AreaReport> {
    let parsed: serde_json::Value = serde_json::from_str(statistics).ok()?;
    let design = parsed.get("design").or_else(|| parsed.get("modules")?.get(format!("\\{TOP}")))?;
    let cells: BTreeMap<String, u64> = design
        .get("num_cells_by_type")?
        .as_object()?
        .iter()
        .map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0)))
        .collect();
    let sum = |wanted: &dyn Fn(&str) -> bool| -> u64 {
        cells.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| count).sum()
    };
    // A distributed RAM of 32 × 8 or 64 × 4 with four ports takes a slice's four look-up tables (7 series,
    // UG474); one with two ports, two.
    let memory = 4 * sum(&|name| matches!(name, "RAM32M" | "RAM64M"))
        + 2 * sum(&|name| matches!(name, "RAM32X1D" | "RAM64X1D"))
        + 4 * sum(&|name| name == "RAM128X1D");
    let ours = Area {
        controller: "Aster",
        lut: sum(&|name| name.strip_prefix("LUT").is_some_and(|n| n.parse::<u8>().is_ok())) + memory,
        ff: sum(&|name| matches!(name, "FDRE" | "FDSE" | "FDCE" | "FDPE")),
        bram: sum(&|name| name == "RAMB36E1") as f64 + sum(&|name| name == "RAMB18E1") as f64 / 2.0,
    };
    Some(AreaReport { ours, lut_memory: memory, table_iii: TABLE_III, cells, tool: tool.to_string() })
}

/// The report as a table for people.
pub fn table(report: &AreaReport) -> String {
    let mut out = format!("{:<25}{:>8}{:>8}{:>8}\n", "", "LUT", "FF", "BRAM");
    for area in std::iter::once(&report.ours).chain(&report.table_iii) {
        let whose = match area.controller {
            "Aster" => "Aster".to_string(),
            paper => format!("Table III, {paper}"),
        };
        let _ = writeln!(out, "{whose:<25}{:>8}{:>8}{:>8}", area.lut, area.ff, area.bram);
    }
    let _ = write!(
        out,
        "\n{} of Aster's LUTs are memory. Aster is one channel controller of eight ways, synthesised by {}; \
         the paper's are\n\
         placed by Vivado. The two count differently: read this as an order of magnitude, \
         not as a comparison.",
        report.lut_memory, report.tool
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATISTICS: &str = r#"{ "design": { "num_cells": 9, "num_cells_by_type": {
        "LUT2": 10, "LUT6": 5, "RAM32M": 2, "RAM64X1D": 1, "FDRE": 7, "FDCE": 3,
        "RAMB36E1": 2, "RAMB18E1": 1, "INV": 4 } } }"#;

    #[test]
    fn tables_flip_flops_and_block_rams_are_counted_from_the_cells() {
        let report = report(STATISTICS, "Yosys 1").unwrap();
        assert_eq!(report.ours, Area { controller: "Aster", lut: 25, ff: 10, bram: 2.5 });
        assert_eq!(report.lut_memory, 10);
        let table = table(&report);
        assert!(table.contains("Table III, BABOL") && table.contains("11.5"), "{table}");
    }

    #[test]
    fn statistics_without_cells_are_no_report() {
        assert_eq!(report("{}", ""), None);
        assert_eq!(report("", ""), None);
    }

    #[test]
    fn a_folder_without_the_controller_is_an_error_that_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = babol_area(folder.path()).unwrap_err().to_string();
        assert!(error.contains("channel.f") && error.contains("--rtl"), "{error}");
    }
}
