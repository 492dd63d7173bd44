//! fio job files: text to [`Job`]s.
//!
//! Sections inherit from the `[global]` sections before them; `;` and `#` begin comments; sizes take fio's suffixes
//! after `kb_base`, and percentages of the drive where fio has them. [`options`] lists every option that fio has: those that are taken,
//! those that change nothing here and why, and those that are refused by name. Anything else is an error that names
//! the option, its line and the nearest known option.

mod error;
mod option;
mod options;
mod others;
mod section;
mod shapes;
mod values;

pub use error::{JobFileError, Problem};
pub use option::{FioOption, Treatment};
pub use options::options;

use crate::Job;
use alloc::string::ToString;
use alloc::vec::Vec;
use section::Section;

/// The jobs of a job file, in their order.
///
/// # Errors
/// The first line that cannot be taken, with what is wrong and what would be right.
///
/// ```
/// let jobs = aster_workload::fio::parse("[global]\nbs=16k\n[scan]\nrw=read\n[update]\nrw=randwrite\niodepth=32\n")?;
/// assert_eq!(jobs[1].queue_depth, 32);
/// # Ok::<(), aster_workload::fio::JobFileError>(())
/// ```
pub fn parse(text: &str) -> Result<Vec<Job>, JobFileError> {
    let mut reader = Reader::default();
    let mut last_line = 1;
    for (index, raw) in text.lines().enumerate() {
        last_line = index + 1;
        reader.line(raw, last_line)?;
    }
    reader.close()?;
    if reader.jobs.is_empty() {
        return Err(JobFileError { line: last_line, problem: Problem::NoJobs });
    }
    Ok(reader.jobs)
}

/// A section whose lines are collected before they count: `kb_base` governs the lines before it too, as in fio.
struct Open<'a> {
    name: &'a str,
    line: usize,
    options: Vec<OptionLine<'a>>,
}

struct OptionLine<'a> {
    line: usize,
    name: &'a str,
    value: Option<&'a str>,
}

#[derive(Default)]
struct Reader<'a> {
    global: Section,
    open: Option<Open<'a>>,
    jobs: Vec<Job>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, raw: &'a str, line: usize) -> Result<(), JobFileError> {
        let content = raw.split([';', '#']).next().unwrap_or("").trim();
        if content.is_empty() {
            return Ok(());
        }
        if let Some(header) = content.strip_prefix('[') {
            let name = header.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or(JobFileError { line, problem: Problem::BadHeader })?;
            self.close()?;
            self.open = Some(Open { name, line, options: Vec::new() });
            return Ok(());
        }
        // `include FILE` has no equals sign.
        let (name, value) = match content.split_once('=').or_else(|| content.split_once(char::is_whitespace))
        {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (content, None),
        };
        match &mut self.open {
            Some(open) => open.options.push(OptionLine { line, name, value }),
            None => {
                let problem = Problem::OutsideSection { option: name.to_string() };
                return Err(JobFileError { line, problem });
            }
        }
        Ok(())
    }

    /// Ends the section that is open, if any.
    fn close(&mut self) -> Result<(), JobFileError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut section = self.global.clone();
        section.begin(open.name, open.line);
        for base_first in [true, false] {
            for option in open.options.iter().filter(|option| (option.name == "kb_base") == base_first) {
                let applied = section.apply(option.name, option.value, option.line);
                applied.map_err(|problem| JobFileError { line: option.line, problem })?;
            }
        }
        if open.name.eq_ignore_ascii_case("global") {
            self.global = section;
        } else {
            self.jobs.push(section.into_job()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
