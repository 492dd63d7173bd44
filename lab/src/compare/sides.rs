//! Reports side by side: what differs in the runs, in how they were made and in their figures, with
//! confidence where runs differ by their seeds alone.

use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A report that is compared.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its file.
    pub file: String,
    /// What `aster run --json` has printed.
    pub report: Value,
}

/// Reports side by side.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Comparison {
    /// What is compared: each is a run, or several that differ by their seeds alone. The first is what the
    /// others are compared with.
    pub runs: Vec<Runs>,
    /// What differs in how they were made: keys of the profile, the work, versions.
    pub setup: Vec<SetupRow>,
    /// All figures that are numbers.
    pub figures: Vec<FigureRow>,
}

/// A run, or several that differ by their seeds alone.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Runs {
    /// The name of the run.
    pub name: String,
    /// The files of its reports.
    pub files: Vec<String>,
    /// Their seeds; `null` of a report that doesn't tell.
    pub seeds: Vec<Option<u64>>,
}

/// Something that differs in how runs were made.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SetupRow {
    /// What it is: a key of the profile, or a part of the provenance.
    pub key: String,
    /// Its value in each of the runs; `null` where it isn't there.
    pub values: Vec<Value>,
}

/// A figure.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct FigureRow {
    /// The part of the report that it is of: `total`, a task, `drive`, `firmware` …
    pub group: String,
    /// Its name in that part.
    pub figure: String,
    /// In each of the runs; `null` where it isn't there.
    pub values: Vec<Option<Sampled>>,
    /// The difference of each from the first; `null` for the first, and where one of both is missing.
    pub differences: Vec<Option<Difference>>,
}

/// A figure of a run, or the mean of several.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Sampled {
    /// The figure, or the mean.
    pub mean: f64,
    /// How many runs have it.
    pub runs: usize,
    /// Half of the 95 % confidence interval of the mean, by Student's t; `null` of a single run.
    pub half_width_95: Option<f64>,
    #[serde(skip)]
    variance: f64,
}

/// How a figure differs.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Difference {
    /// The figure minus that of the first.
    pub difference: f64,
    /// The figure over that of the first; `null` if that is zero.
    pub ratio: Option<f64>,
    /// Half of the 95 % confidence interval of the difference, by Welch's t; `null` unless both have several
    /// runs.
    pub half_width_95: Option<f64>,
    /// Whether that interval leaves zero out: the difference is more than what seeds make; `null` without
    /// an interval.
    pub beyond_chance: Option<bool>,
}

/// Parts of a report that are no figures of the run, or lists of them.
const LEFT_OUT: [&str; 10] = [
    "provenance",
    "warnings",
    "limits",
    "trace",
    "spans",
    "wall_s",
    "first_lost_page",
    "buckets",
    "over_time",
    "copies",
];
/// Parts of the provenance that don't say what was run.
const NOT_SETUP: [&str; 4] = ["seed", "arguments", "host", "overrides"];

/// Compares reports, the first with all others.
///
/// # Errors
/// Names the file that is no report.
pub fn compare(reads: Vec<Read>) -> Result<Comparison, String> {
    let mut groups: Vec<Group> = Vec::new();
    for read in reads {
        let figures = figures_of(&read.report).ok_or_else(|| {
            format!("{}: is no report of `aster run --json`: it has no \"total\" and \"tasks\"", read.file)
        })?;
        let setup = setup_of(&read.report);
        // A report that doesn't tell how it was made is compared by itself.
        let known = groups.iter_mut().find(|(other, _)| !setup.is_empty() && *other == setup);
        match known {
            Some((_, runs)) => runs.push((read, figures)),
            None => groups.push((setup, vec![(read, figures)])),
        }
    }
    if groups.len() < 2 && groups.iter().all(|(_, runs)| runs.len() < 2) {
        return Err("name two reports or more".into());
    }
    let runs = groups.iter().map(|(_, runs)| Runs {
        name: runs[0].0.report["name"].as_str().unwrap_or_default().to_owned(),
        files: runs.iter().map(|(read, _)| read.file.clone()).collect(),
        seeds: runs.iter().map(|(read, _)| read.report["provenance"]["seed"].as_u64()).collect(),
    });
    let runs = runs.collect();
    Ok(Comparison {
        runs,
        setup: differing(&groups.iter().map(|of| &of.0).collect::<Vec<_>>()),
        figures: rows(&groups),
    })
}

/// Where a figure is: its part of the report, the place of the part, and its name, as the report orders them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Path {
    order: (usize, usize),
    group: String,
    name: String,
}

/// All numbers of a report; `None` if it is none.
fn figures_of(report: &Value) -> Option<BTreeMap<Path, f64>> {
    let tasks = report["tasks"].as_array()?;
    let mut figures = BTreeMap::new();
    let mut add = |order, group: &str, value: &Value| {
        let mut place = 0;
        numbers(value, "", &mut |name, number| {
            let path = Path { order: (order, place), group: group.to_owned(), name: name.to_owned() };
            place += 1;
            figures.insert(path, number);
        });
    };
    add(0, "total", report.get("total").filter(|total| total.is_object())?);
    for (at, task) in tasks.iter().enumerate() {
        let name = task["name"].as_str().unwrap_or_default();
        add(1 + at, &format!("task {name}"), task);
    }
    let others = report.as_object()?.iter().filter(|(key, _)| !matches!(&key[..], "total" | "tasks"));
    let (parts, own): (Vec<_>, Vec<_>) = others.partition(|(_, value)| value.is_object());
    let own: Map<String, Value> = own.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    add(1 + tasks.len(), "drive", &Value::Object(own));
    for (at, (key, value)) in parts.into_iter().filter(|(key, _)| !LEFT_OUT.contains(&&key[..])).enumerate() {
        add(2 + tasks.len() + at, key, value);
    }
    Some(figures)
}

/// Calls `each` with every number in `value`, by its path. Of lists, those whose members have a kind or a
/// name count.
fn numbers(value: &Value, path: &str, each: &mut dyn FnMut(&str, f64)) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                each(path, number);
            }
        }
        Value::Object(members) => {
            let counted = members.iter().filter(|(key, _)| !LEFT_OUT.contains(&&key[..]));
            counted.for_each(|(key, value)| numbers(value, &below(key), each));
        }
        Value::Array(members) => {
            for member in members {
                if let Some(kind) = member.get("kind").and_then(Value::as_str) {
                    // Its place in the list says nothing: a run without reads has its writes first.
                    let at = path.rsplit_once('.').map_or("", |(before, _)| before);
                    let at = if at.is_empty() { kind.to_owned() } else { format!("{at}.{kind}") };
                    numbers(member, &at, each);
                }
            }
        }
        _ => {}
    }
}

/// How a run was made, as keys with values; empty if the report doesn't tell.
fn setup_of(report: &Value) -> Map<String, Value> {
    let mut setup = Map::new();
    flat(&report["provenance"], "", &mut setup);
    setup
}

fn flat(value: &Value, path: &str, into: &mut Map<String, Value>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !NOT_SETUP.contains(&&key[..])) {
                let path = match (path, &key[..]) {
                    ("", key) => key.to_owned(),
                    // A key of the profile is called as in the profile.
                    ("profile", "keys") => String::new(),
                    (path, key) => format!("{path}.{key}"),
                };
                flat(value, &path, into);
            }
        }
        Value::Null => {}
        value => drop(into.insert(path.to_owned(), value.clone())),
    }
}

/// The keys in which `setups` differ.
fn differing(setups: &[&Map<String, Value>]) -> Vec<SetupRow> {
    let mut rows: Vec<SetupRow> = Vec::new();
    for key in setups.iter().flat_map(|setup| setup.keys()) {
        let values: Vec<Value> =
            setups.iter().map(|setup| setup.get(key).cloned().unwrap_or(Value::Null)).collect();
        let is_new = rows.iter().all(|row| row.key != *key);
        if is_new && values.iter().any(|value| *value != values[0]) {
            rows.push(SetupRow { key: key.clone(), values });
        }
    }
    rows
}

/// Reports that differ by their seeds alone, with their figures.
type Group = (Map<String, Value>, Vec<(Read, BTreeMap<Path, f64>)>);

fn rows(groups: &[Group]) -> Vec<FigureRow> {
    // In the order of the first report that has the figure.
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut samples: BTreeMap<(&str, &str), Vec<Vec<f64>>> = BTreeMap::new();
    for (at, (_, runs)) in groups.iter().enumerate() {
        for (path, value) in runs.iter().flat_map(|(_, figures)| figures) {
            let key = (&path.group[..], &path.name[..]);
            let of_all = samples.entry(key).or_insert_with(|| {
                order.push(key);
                vec![Vec::new(); groups.len()]
            });
            of_all[at].push(*value);
        }
    }
    // What came with a later report stands with its part.
    let parts: Vec<&str> = order.iter().map(|(part, _)| *part).collect();
    order.sort_by_key(|(part, _)| parts.iter().position(|other| other == part));
    let row = |key: (&str, &str)| {
        let values: Vec<Option<Sampled>> = samples[&key].iter().map(|values| Sampled::of(values)).collect();
        let differences = values.iter().enumerate().map(|(at, value)| {
            let (first, other) = (values[0].as_ref()?, value.as_ref()?);
            (at > 0).then(|| other.difference_from(first))
        });
        let differences = differences.collect();
        FigureRow { group: key.0.to_owned(), figure: key.1.to_owned(), values, differences }
    };
    order.into_iter().map(row).collect()
}

impl Sampled {
    /// Of a run's figure, or of several runs'; `None` of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = if runs > 1 { squares / (runs - 1) as f64 } else { 0.0 };
        let half_width_95 =
            (runs > 1).then(|| student_975((runs - 1) as f64) * (variance / runs as f64).sqrt());
        Some(Sampled { mean, runs, half_width_95, variance })
    }

    /// How it differs from `first`.
    pub fn difference_from(&self, first: &Sampled) -> Difference {
        let difference = self.mean - first.mean;
        let ratio = (first.mean != 0.0).then(|| self.mean / first.mean);
        let [a, b] = [first, self].map(|of| of.variance / of.runs as f64);
        let half_width_95 = (first.runs > 1 && self.runs > 1).then(|| {
            let [da, db] = [first, self].map(|of| (of.runs - 1) as f64);
            // Welch and Satterthwaite's degrees of freedom.
            let freedom = match a + b > 0.0 {
                true => (a + b).powi(2) / (a.powi(2) / da + b.powi(2) / db),
                false => da + db,
            };
            student_975(freedom) * (a + b).sqrt()
        });
        let beyond_chance = half_width_95.map(|half| difference.abs() > half);
        Difference { difference, ratio, half_width_95, beyond_chance }
    }
}

/// The 97.5th percentile of Student's t by degrees of freedom, from 1 on.
const STUDENT_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The 97.5th percentile of Student's t; of a number of degrees that isn't whole, that of the next lower one,
/// which is the more careful.
fn student_975(freedom: f64) -> f64 {
    let whole = freedom.max(1.0).floor() as usize;
    match STUDENT_975.get(whole - 1) {
        Some(value) => *value,
        // Its expansion in 1/n around the normal distribution's 1.960: within a thousandth from 30 on.
        None => 1.959_964 + 2.372_27 / whole as f64,
    }
}

#[cfg(test)]
mod tests;
