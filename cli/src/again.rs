//! `aster run --again REPORT`: repeats a report's run, from the report alone.

use crate::args::{Cli, Command, HardwareArg, RunArgs};
use aster_device::profile::read;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::read_text;
use aster_lab::own::{OwnWork, Setup, record_of, setup_of};
use aster_lab::provenance::{Build, Provenance, WorkRecord};
use aster_lab::warning::Warning;
use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Histograms make reports long.
const REPORT_MAX: u64 = 256 << 20;
/// Keys of a report that aren't results of the simulation.
const NOT_FIGURES: [&str; 6] = ["provenance", "wall_s", "name", "spans", "warnings", "interrupted"];
/// Whole numbers up to here are exact as floating point.
const WHOLE_MAX: f64 = (1_u64 << 53) as f64;
/// The most figures that a message names.
const NAMED_MAX: usize = 3;

/// This program.
pub(crate) fn build() -> Build {
    let commit = env!("ASTER_COMMIT");
    let commit = (!commit.is_empty()).then(|| commit.to_owned());
    Build { version: env!("CARGO_PKG_VERSION").to_owned(), commit }
}

/// A report whose run is to be repeated.
pub(crate) struct Again {
    path: PathBuf,
    report: Value,
    provenance: Provenance,
}

impl Again {
    /// Reads the report at `path`.
    ///
    /// # Errors
    /// When it isn't a report, or its run can't be repeated.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let report = of_text(&read_text(path, REPORT_MAX, "a report of `aster run --json`")?)
            .map_err(|problem| Failure::file(path, problem))?;
        let provenance = provenance_of(&report).map_err(|problem| Failure::file(path, problem))?;
        let refuse = |problem: String| Err(Failure::file(path, problem));
        if !provenance.own_pieces.is_empty() {
            return refuse(format!(
                "its drive had pieces that are not Aster's ({}): only the program that brought them can \
                 repeat it",
                provenance.own_pieces.join(", ")
            ));
        }
        if report.get("interrupted") == Some(&Value::Bool(true)) {
            return refuse(
                "its run was interrupted: where that was can't be repeated, and neither can its figures"
                    .to_owned(),
            );
        }
        if let Some(Value::String(error)) = report.get("error") {
            return refuse(format!(
                "its run was broken off ({error}): where that was can't be repeated, and neither can its \
                 figures"
            ));
        }
        if let WorkRecord::Live { name } = &provenance.work {
            return refuse(format!(
                "its requests came from a program as it ran (\"{name}\"): only that program can repeat it"
            ));
        }
        Ok(Again { path: path.to_owned(), report, provenance })
    }

    /// The warning to show before the run.
    pub(crate) fn notes(&self) -> Option<Warning> {
        let (then, now) = (&self.provenance.aster, build());
        (*then != now).then(|| {
            let (path, then, now) = (self.path.display(), in_words(then), in_words(&now));
            let message = format!("{path}: made by aster {then}, and this is {now}: figures may differ");
            Warning::new("other-program", message)
        })
    }

    /// The arguments of the run, with the outputs that `args` ask for.
    ///
    /// # Errors
    /// When the run's inputs are missing or have changed.
    pub(crate) fn arguments(&self, args: RunArgs) -> Result<RunArgs, Failure> {
        let provenance = &self.provenance;
        let fail = |problem: String| Failure::file(&self.path, problem);
        let hardware = HardwareArg::from_str(&provenance.hardware, false).map_err(|_| {
            fail(format!("its channels are \"{}\", which this aster doesn't know", provenance.hardware))
        })?;
        let mut made = RunArgs { hardware, seed: provenance.seed, ..args };
        match &provenance.work {
            WorkRecord::Job { .. } if made.source.trace.is_some() => {
                return Err(fail("its work was a job file and no trace: leave --trace out".to_owned()));
            }
            WorkRecord::Job { name, verify, .. } => {
                made.source.job = Some(name.into());
                made.verify = *verify;
            }
            // Refused when it was read.
            WorkRecord::Live { .. } => {}
            WorkRecord::Trace { path, name, .. } => {
                let recorded = self.recorded()?;
                match (&made.source.trace, path) {
                    // It is checked to be the same, wherever it is now.
                    (Some(_), _) => {}
                    (None, Some(path)) if path.exists() => made.source.trace = Some(path.clone()),
                    (None, Some(path)) => {
                        let problem = "which isn't there: name the file that holds it now with --trace";
                        return Err(fail(format!("its trace was {}, {problem}", path.display())));
                    }
                    (None, None) => {
                        return Err(fail(format!(
                            "its trace came from {name}, which was read once and not kept: name a file that \
                             holds it \
                             with --trace"
                        )));
                    }
                }
                (made.replay, made.verify) = (recorded.replay, recorded.verify);
            }
        }
        match &provenance.image {
            Some(image) if made.image.is_none() && image.state.is_some() => {
                made.image = Some(image.path.clone())
            }
            _ => {}
        }
        if let Some(state) = provenance.image.as_ref().map(|image| &image.state) {
            match (&made.image, state) {
                (Some(path), Some(_)) if !path.exists() => {
                    return Err(fail(format!("its drive was kept in {}, which isn't there", path.display())));
                }
                (Some(path), None) if path.exists() => return Err(self.not_new(path)),
                _ => {}
            }
        } else if let Some(path) = made.image.as_ref().filter(|path| path.exists()) {
            return Err(self.not_new(path));
        }
        Ok(made)
    }

    fn not_new(&self, path: &Path) -> Failure {
        let problem = format!(
            "its drive was new, and {} is a drive already: name a file that isn't there",
            path.display()
        );
        Failure::file(&self.path, problem)
    }

    /// The command line that the report was made by.
    fn recorded(&self) -> Result<RunArgs, Failure> {
        let line = std::iter::once("aster").chain(self.provenance.arguments.iter().map(String::as_str));
        match Cli::try_parse_from(line).map(|cli| cli.command) {
            Ok(Command::Run(run)) => Ok(*run),
            Ok(Command::Explain(explain)) => Ok(explain.run),
            Ok(_) => Err(Failure::file(&self.path, "its arguments are not those of a run")),
            Err(error) => {
                let first = error.to_string();
                let first = first.lines().next().unwrap_or_default().to_owned();
                Err(Failure::file(&self.path, format!("its arguments are not taken by this aster: {first}")))
            }
        }
    }

    /// The setup that the run had.
    ///
    /// # Errors
    /// When this version can't build a drive from its profile.
    pub(crate) fn setup(&self) -> Result<Setup, Failure> {
        setup_of(&self.provenance).map_err(|problem| Failure::file(&self.path, problem))
    }

    /// The text of its job file.
    pub(crate) fn job_text(&self) -> Option<&str> {
        match &self.provenance.work {
            WorkRecord::Job { text, .. } => Some(text),
            WorkRecord::Trace { .. } | WorkRecord::Live { .. } => None,
        }
    }

    /// Refuses inputs that have changed: the trace from which `work` was read, and an image whose content is
    /// now `state`, which is computed only if needed.
    ///
    /// # Errors
    /// What has changed, or that the image can't be read.
    pub(crate) fn check(
        &self,
        work: &OwnWork,
        state: impl FnOnce() -> Result<Option<String>, Failure>,
    ) -> Result<(), Failure> {
        if let (WorkRecord::Trace { sha256, .. }, WorkRecord::Trace { name, sha256: now, .. }) =
            (&self.provenance.work, record_of(work))
            && *sha256 != now
        {
            let problem = format!(
                "is another trace than the one of {}: its SHA-256 is {now} and was {sha256}",
                self.path.display()
            );
            return Err(Failure::file(Path::new(&name), problem));
        }
        let then = self.provenance.image.as_ref().and_then(|image| image.state.as_deref());
        if then.is_some() && then != state()?.as_deref() {
            return Err(Failure::file(
                &self.path,
                "its drive holds something else than when the run began: name a copy from before it with \
                 --image \
                 (`aster image clone` makes one)",
            ));
        }
        Ok(())
    }

    /// Gives a trace its name of then, wherever the file is now.
    pub(crate) fn rename(&self, work: &mut OwnWork) {
        if let (WorkRecord::Trace { name: then, .. }, OwnWork::Trace { file, .. }) =
            (&self.provenance.work, work)
        {
            file.rename(then);
        }
    }

    /// The new report describes the work as the old one does, except for where a trace is now.
    pub(crate) fn hand_on(&self, provenance: &mut Provenance) {
        let before = std::mem::replace(&mut provenance.work, self.provenance.work.clone());
        if let (WorkRecord::Trace { path, .. }, WorkRecord::Trace { path: now @ Some(_), .. }) =
            (&mut provenance.work, before)
        {
            *path = now;
        }
        provenance.arguments.clone_from(&self.provenance.arguments);
    }

    /// Whether `report`, as it would be printed, has the same figures.
    ///
    /// # Errors
    /// When they can't be compared.
    pub(crate) fn compare(&self, report: &impl Serialize) -> Result<Compared, Failure> {
        let now = serde_json::to_value(report).map_err(Failure::run)?;
        Ok(verdict(&self.path, &self.report, &now, self.provenance.aster == build()))
    }
}

/// The result of comparing the figures of a repeated run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Compared {
    /// All are the same; the message.
    Same(String),
    /// Some differ, which is possible with another version of the program; the message.
    Other(String),
    /// Some differ although the program is the same; the message.
    Wrong(String),
}

impl Compared {
    /// Its entry in the run's list of warnings.
    pub(crate) fn warning(&self) -> Option<Warning> {
        match self {
            Compared::Same(_) => None,
            Compared::Other(text) | Compared::Wrong(text) => Some(Warning::new("figures-differ", text)),
        }
    }
}

/// A report from its text.
///
/// # Errors
/// Why it isn't one, as a message for the user.
fn of_text(text: &str) -> Result<Value, String> {
    let again = "make it anew with `aster run … --json`";
    if text.trim().is_empty() {
        return Err(format!("is empty and no report: {again}"));
    }
    let report = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => format!(
            "is only the beginning of a report: it is cut off in line {}; take the whole file, or {again}",
            error.line()
        ),
        _ => format!(
            "is no report as --json prints it: line {}, column {} is no JSON; take the file as it was \
             printed, or {again}",
            error.line(),
            error.column()
        ),
    })?;
    Ok(plain_numbers(report))
}

/// What a report of `aster run --json` says of where its figures come from.
///
/// # Errors
/// When it doesn't say how its run is repeated; a message for the user.
fn provenance_of(report: &Value) -> Result<Provenance, String> {
    const OLD: &str = "precondition_percent";
    #[derive(Deserialize)]
    struct Told {
        provenance: Provenance,
    }
    let Some(told) = report.get("provenance") else {
        return Err("doesn't say where its figures come from: reports of `aster run --json` do, from \
                    version 0.1 on"
            .to_owned());
    };
    if let Some(percent) = told.get(OLD) {
        let now = match percent {
            Value::Null => "null".to_owned(),
            percent => format!("{{\"overwritten\": {percent}}}"),
        };
        return Err(format!(
            "provenance.{OLD}: an older aster said by this key what was written before the work, and no run \
             is repeated without that: if the report is whole, put \"precondition\": {now} in its place, or \
             make it anew with `aster run … --json`"
        ));
    }
    read(report).map(|Told { provenance }| provenance)
}

/// Whole numbers as such: other programs write 1 as 1.0 and 1.0 as 1, and mean the same.
fn plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(n) => match n.as_f64() {
            Some(x) if n.is_f64() && x.fract() == 0.0 && (0.0..=WHOLE_MAX).contains(&x) => (x as u64).into(),
            _ => Value::Number(n),
        },
        Value::Array(all) => all.into_iter().map(plain_numbers).collect(),
        Value::Object(all) => all.into_iter().map(|(key, value)| (key, plain_numbers(value))).collect(),
        other => other,
    }
}

/// Compares the figures `then`, from the file at `path`, and `now`.
fn verdict(path: &Path, then: &Value, now: &Value, is_same_program: bool) -> Compared {
    let figures = |report: &Value| {
        let mut figures = report.clone();
        if let Value::Object(keys) = &mut figures {
            keys.retain(|key, _| !NOT_FIGURES.contains(&key.as_str()));
        }
        figures
    };
    let mut differences = Vec::new();
    differ("", &figures(then), &figures(now), &mut differences);
    let path = path.display();
    let named = differences[..differences.len().min(NAMED_MAX)].join("; ");
    let more = if differences.len() > NAMED_MAX { ", and others" } else { "" };
    let text = match differences.len() {
        0 => return Compared::Same(format!("every figure is as in {path}")),
        1 => format!("a figure differs from {path}: {named}"),
        many => format!("{many} figures differ from {path}: {named}{more}"),
    };
    if is_same_program { Compared::Wrong(text) } else { Compared::Other(text) }
}

fn in_words(build: &Build) -> String {
    match &build.commit {
        Some(commit) => format!("{} ({commit})", build.version),
        None => build.version.clone(),
    }
}

/// Finds where two values differ, and both values. A key that only one of them has is a difference, too.
fn differ(place: &str, then: &Value, now: &Value, found: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differ(&place, a, b, found),
                    (Some(_), None) => found.push(format!("{place} was there and is missing now")),
                    (None, _) => found.push(format!("{place} is missing there")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| differ(&format!("{place}[{i}]"), a, b, found));
        }
        (Value::Array(a), Value::Array(b)) => {
            found.push(format!("{place} was a list of {} and is one of {}", a.len(), b.len()));
        }
        // 1 and 1.0 are the same number, whichever program wrote it.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if then == now => {}
        _ => {
            let short = |value: &Value| match value {
                Value::Object(_) | Value::Array(_) => "other in shape".to_owned(),
                value => value.to_string(),
            };
            found.push(format!("{place} was {} and is {}", short(then), short(now)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_is_told_by_its_place() {
        let mut found = Vec::new();
        let (a, b) = (json!({"kinds": [{"iops": 1.5}, 2]}), json!({"kinds": [{"iops": 1.25}, 2]}));
        differ("tasks", &a, &a, &mut found);
        assert!(found.is_empty());
        differ("tasks", &a, &b, &mut found);
        assert_eq!(found, ["tasks.kinds[0].iops was 1.5 and is 1.25"]);
        differ("tasks", &json!([1]), &json!([1, 2]), &mut found);
        assert_eq!(found[1..], ["tasks was a list of 1 and is one of 2"]);
    }

    #[test]
    fn a_figure_that_only_one_report_has_is_a_difference() {
        let whole = json!({"name": "a", "wall_s": 1, "tasks": [{"iops": 1}], "total": {"all": 2}});
        let judge = |then: &Value, now: &Value| match verdict(Path::new("r.json"), then, now, true) {
            Compared::Same(text) => Ok(text),
            Compared::Other(text) | Compared::Wrong(text) => Err(text),
        };
        let same = "every figure is as in r.json".to_owned();
        assert_eq!(judge(&whole, &whole), Ok(same.clone()));
        assert_eq!(
            judge(&json!({"tasks": [{"iops": 1}], "total": {"all": 2}, "spans": {}}), &whole),
            Ok(same)
        );
        for (part, there, now) in [
            (json!({"total": {"all": 2}}), "tasks is missing there", "tasks was there and is missing now"),
            (
                json!({"tasks": [{}], "total": {"all": 2}}),
                "tasks[0].iops is missing there",
                "tasks[0].iops was there and is missing now",
            ),
        ] {
            let error = |what| Err(format!("a figure differs from r.json: {what}"));
            assert_eq!(judge(&part, &whole), error(there));
            assert_eq!(judge(&whole, &part), error(now));
        }
        let error = judge(&json!({}), &whole).unwrap_err();
        assert!(error.starts_with("2 figures differ from r.json: tasks is missing there; total"), "{error}");
        let other_program = verdict(Path::new("r.json"), &json!({}), &whole, false);
        assert!(matches!(other_program, Compared::Other(text) if text.starts_with("2 figures differ")));
    }

    #[test]
    fn numbers_are_compared_as_numbers_however_they_are_written() {
        let (ours, theirs) = (r#"{"a": 1.0, "b": 100, "c": 0.1}"#, r#"{"a": 1, "b": 1e2, "c": 0.10}"#);
        let [ours, theirs] = [ours, theirs].map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert!(matches!(verdict(Path::new("r"), &theirs, &ours, true), Compared::Same(_)));
        let other = json!({"a": 1, "b": 100, "c": 0.11});
        assert!(matches!(verdict(Path::new("r"), &other, &ours, true), Compared::Wrong(_)));
        // A count that came back as 100.0 is read as 100; a floating-point key of a profile takes that, too.
        let read =
            of_text(r#"{"count": 100.0, "clock": 1e3, "share": 0.5, "big": 1e300, "low": -2.0}"#).unwrap();
        assert_eq!(read, json!({"count": 100, "clock": 1000, "share": 0.5, "big": 1e300, "low": -2.0}));
    }

    #[test]
    fn a_report_that_is_cut_off_or_none_is_told_in_plain_words() {
        let problem = |text: &str| of_text(text).unwrap_err();
        assert!(problem(" \n").starts_with("is empty and no report: make it anew"));
        let cut = problem("{\n \"tasks\": [[1, 2],\n [3");
        assert!(
            cut.starts_with("is only the beginning of a report: it is cut off in line 3; take the whole"),
            "{cut}"
        );
        let none = problem("Dear Aster,");
        assert!(none.starts_with("is no report as --json prints it: line 1, column 1 is no JSON"), "{none}");
    }
}
