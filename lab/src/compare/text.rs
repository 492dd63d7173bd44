//! A comparison as a table.

use super::sides::{Comparison, Difference, FigureRow, Sampled};
use serde_json::Value;
use std::fmt::Write;

/// Rows that differ, or with `all` every row, in columns.
pub fn compare_text(of: &Comparison, all: bool) -> String {
    let mut out = String::new();
    for (at, runs) in of.runs.iter().enumerate() {
        let seeds: Vec<String> = runs.seeds.iter().flatten().map(u64::to_string).collect();
        let seeds = match &seeds[..] {
            [] => String::new(),
            [seed] => format!(", seed {seed}"),
            seeds => format!(", {} runs with seeds {}", runs.files.len(), seeds.join(", ")),
        };
        let _ = writeln!(out, "{}: {}{seeds}", letter(at), runs.files.join(", "));
    }
    if !of.setup.is_empty() {
        let _ = writeln!(out);
        let mut rows = vec![head(of, "setup")];
        rows.extend(of.setup.iter().map(|row| {
            let mut cells = vec![row.key.clone()];
            for (at, value) in row.values.iter().enumerate() {
                cells.push(told(value));
                if at > 0 {
                    cells.push(String::new());
                }
            }
            cells
        }));
        columns(&mut out, &rows);
    }
    let differs = |row: &&FigureRow| all || is_different(row);
    let mut group = "";
    let mut rows = Vec::new();
    for row in of.figures.iter().filter(differs) {
        if row.group != group {
            columns(&mut out, &rows);
            group = &row.group;
            let _ = writeln!(out);
            rows = vec![head(of, group)];
        }
        let mut cells = vec![row.figure.clone()];
        for (at, (value, difference)) in row.values.iter().zip(&row.differences).enumerate() {
            cells.push(value.as_ref().map_or_else(|| "–".to_owned(), with_interval));
            if at > 0 {
                cells.push(difference.as_ref().map_or_else(String::new, change));
            }
        }
        rows.push(cells);
    }
    columns(&mut out, &rows);
    let same = of.figures.iter().filter(|row| !is_different(row)).count();
    if same > 0 && !all {
        let verb = if same == 1 { "figure is" } else { "figures are" };
        let _ = writeln!(out, "\n{same} {verb} the same in all; --all shows them.");
    }
    if of.runs.iter().any(|runs| runs.files.len() > 1) {
        let _ = writeln!(
            out,
            "\n±: half of the 95 % confidence interval of the mean, over seeds. *: the difference is beyond \
             what seeds\nmake, by Welch's t at 95 %; one figure in twenty is so by chance."
        );
    }
    out
}

fn is_different(row: &FigureRow) -> bool {
    let first = row.values[0].map(|value| value.mean);
    row.values.iter().any(|value| value.map(|value| value.mean) != first)
        || row.values.iter().flatten().any(|value| value.half_width_95.is_some_and(|half| half > 0.0))
}

fn letter(at: usize) -> String {
    match u8::try_from(at).ok().filter(|at| *at < 26) {
        Some(at) => char::from(b'A' + at).to_string(),
        None => format!("#{}", at + 1),
    }
}

fn head(of: &Comparison, what: &str) -> Vec<String> {
    let mut cells = vec![what.to_owned()];
    for at in 0..of.runs.len() {
        cells.push(letter(at));
        if at > 0 {
            cells.push(format!("{}/A", letter(at)));
        }
    }
    cells
}

fn columns(out: &mut String, rows: &[Vec<String>]) {
    let Some(first) = rows.first() else { return };
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..first.len()).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let blank = " ".repeat(width - cell.chars().count());
            if column == 0 { format!("{cell}{blank}") } else { format!("{blank}{cell}") }
        });
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

/// Characters of the longest text that a cell shows.
const TEXT_MAX: usize = 40;

fn told(value: &Value) -> String {
    let text = match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.lines().collect::<Vec<_>>().join("; "),
        value => value.to_string(),
    };
    match text.chars().count() > TEXT_MAX {
        true => text.chars().take(TEXT_MAX - 1).chain(['…']).collect(),
        false => text,
    }
}

fn with_interval(value: &Sampled) -> String {
    match value.half_width_95 {
        Some(half) => format!("{} ±{}", number(value.mean), number(half)),
        None => number(value.mean),
    }
}

fn change(of: &Difference) -> String {
    let mark = match of.beyond_chance {
        Some(true) => " *",
        Some(false) => "  ",
        None => "",
    };
    match of.ratio {
        Some(_) if of.difference == 0.0 => format!("={mark}"),
        Some(ratio) if (0.5..2.0).contains(&ratio) => format!("{:+.2} %{mark}", (ratio - 1.0) * 100.0),
        Some(ratio) => format!("×{}{mark}", number(ratio)),
        None if of.difference == 0.0 => format!("={mark}"),
        None => format!("{}{}{mark}", if of.difference > 0.0 { "+" } else { "" }, number(of.difference)),
    }
}

/// Five digits, or all of a whole number.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = 4 - (value.abs().log10().floor() as i32).clamp(-6, 4);
    let text = format!("{value:.*}", digits as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
