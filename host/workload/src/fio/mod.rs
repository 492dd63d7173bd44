//! fio job files: text to [`Job`]s.
//!
//! Sections inherit from the `[global]` sections before them; `;` and `#` begin comments; sizes take fio's
//! suffixes as `kb_base` defines them, and percentages of the drive where fio allows them. [`options`] lists
//! every option of fio: those that are supported, those that change nothing here and why, and those that are
//! refused. Anything else is an error that names the option, its line and the nearest known option.

mod error;
mod expression;
mod option;
mod options;
mod others;
mod section;
mod shapes;
mod values;
mod variables;

pub use error::{JobFileError, Mistake, Problem};
pub use option::{FioOption, Treatment};
pub use options::options;
pub use section::Lines;
pub use variables::expanded;

use crate::Job;
use alloc::string::ToString;
use alloc::vec::Vec;
use error::Mistakes;
use section::Section;

/// The jobs of a job file, in their order.
///
/// # Errors
/// Each invalid line, with what is wrong and what would be right.
///
/// ```
/// let text = "[global]\nbs=16k\n[scan]\nrw=read\n[update]\nrw=randwrite\niodepth=32\n";
/// let jobs = aster_workload::fio::parse(text)?;
/// assert_eq!(jobs[1].queue_depth, 32);
/// # Ok::<(), aster_workload::fio::JobFileError>(())
/// ```
pub fn parse(text: &str) -> Result<Vec<Job>, JobFileError> {
    Ok(parse_with_lines(text)?.into_iter().map(|(job, _)| job).collect())
}

/// As [`parse`], with the lines of each job's options.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_lines(text: &str) -> Result<Vec<(Job, Lines)>, JobFileError> {
    let mut reader = Reader::default();
    let mut last_line = 1;
    // Some editors put a byte order mark at the beginning of a file.
    for (index, raw) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        last_line = index + 1;
        reader.line(raw, last_line);
    }
    reader.close();
    if reader.jobs.is_empty() && reader.mistakes.count() == 0 {
        reader.mistakes.add(Mistake::at(last_line, Problem::NoJobs));
    }
    reader.mistakes.verdict()?;
    Ok(reader.jobs)
}

/// A section whose lines are collected before they are applied. As in fio, `kb_base` also governs the
/// lines before it.
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
    jobs: Vec<(Job, Lines)>,
    mistakes: Mistakes,
    /// Whether a section has begun, even with a bad header. Lines outside of any section are thus reported
    /// once.
    inside: bool,
}

impl<'a> Reader<'a> {
    fn line(&mut self, raw: &'a str, line: usize) {
        let content = raw.split([';', '#']).next().unwrap_or("").trim();
        if content.is_empty() {
            return;
        }
        if let Some(header) = content.strip_prefix('[') {
            self.close();
            self.inside = true;
            let name = header.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            if name.is_none() {
                self.mistakes.add(Mistake::at(line, Problem::BadHeader));
            }
            // Lines after a bad section name are read as a job's, too.
            self.open = Some(Open { name: name.unwrap_or("?"), line, options: Vec::new() });
            return;
        }
        // `include FILE` has no equals sign.
        let (name, value) = match content.split_once('=').or_else(|| content.split_once(char::is_whitespace))
        {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (content, None),
        };
        match &mut self.open {
            Some(open) => open.options.push(OptionLine { line, name, value }),
            None if self.inside => {}
            None => {
                self.inside = true;
                let problem = Problem::OutsideSection { option: name.to_string() };
                self.mistakes.add(Mistake::at(line, problem));
            }
        }
    }

    /// Ends the section that is open, if any.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let before = self.mistakes.count();
        let mut section = self.global.clone();
        section.begin(open.name, open.line);
        for option in open.options.iter().filter(|option| option.name == "kb_base") {
            self.apply(&mut section, option);
        }
        for option in open.options.iter().filter(|option| option.name != "kb_base") {
            self.apply(&mut section, option);
        }
        if open.name.eq_ignore_ascii_case("global") {
            section.is_faulty |= self.mistakes.count() > before;
            self.global = section;
            return;
        }
        // After mistakes in single options, checks of their combination would report false ones.
        if section.is_faulty || self.mistakes.count() > before {
            return;
        }
        let lines = section.lines();
        match section.into_job() {
            Ok(job) => self.jobs.push((job, lines)),
            Err(mistakes) => mistakes.into_iter().for_each(|mistake| self.mistakes.add(mistake)),
        }
    }

    fn apply(&mut self, section: &mut Section, option: &OptionLine<'_>) {
        if let Err(problem) = section.apply(option.name, option.value, option.line) {
            self.mistakes.add(Mistake::at(option.line, problem));
        }
    }
}

#[cfg(test)]
mod tests;
