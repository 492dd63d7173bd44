//! `--set KEY=VALUE`: keys of a profile that the command line overrides, or takes away by `--set KEY=`.

use super::failure::Failure;
use aster_device::profile::{NO_TARGET, Profile, ProfileError};
use toml::{Table, Value};

/// One `--set`.
#[derive(Clone, PartialEq, Debug)]
struct Override {
    /// As it was written.
    argument: String,
    /// The key, table after table.
    path: Vec<String>,
    /// `None` takes the key away.
    value: Option<Value>,
}

impl Override {
    fn parse(argument: &str) -> Result<Self, Failure> {
        let fail = |problem: &str| Failure::usage(format!("--set {argument}: {problem}"));
        let Some((key, value)) = argument.split_once('=') else {
            return Err(fail("expected KEY=VALUE, such as ftl.buffer_entries=64, or KEY= without a value"));
        };
        let path: Vec<String> = key.trim().split('.').map(|part| part.trim().to_owned()).collect();
        let plain = |part: &String| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        if !path.iter().all(plain) {
            return Err(fail("expected a key with its table, such as ftl.buffer_entries"));
        }
        if value.trim().is_empty() {
            return Ok(Override { argument: argument.to_owned(), path, value: None });
        }
        if is_whole_number(value.trim()) && value.trim().replace('_', "").parse::<i64>().is_err() {
            return Err(fail(&format!("whole numbers are from {} to {}", i64::MIN, i64::MAX)));
        }
        match value_of(value.trim()) {
            Some(value) => Ok(Override { argument: argument.to_owned(), path, value: Some(value) }),
            None => Err(fail("expected a number, true, false, a word, \"text\" or a list such as [58, 90]")),
        }
    }

    fn key(&self) -> String {
        self.path.join(".")
    }

    /// Takes the key away, or the table.
    fn remove(&self, profile: &mut Table) -> Result<(), Failure> {
        let Some((last, tables)) = self.path.split_last() else { return Ok(()) };
        let mut table = Some(profile);
        for name in tables {
            table = table.and_then(|table| table.get_mut(name)).and_then(Value::as_table_mut);
        }
        match table.and_then(|table| table.remove(last)) {
            Some(_) => Ok(()),
            None => {
                let near = elsewhere(&self.path, "unknown key");
                let near = near.filter(|_| !Profile::known_keys().contains(&self.key()));
                let near = near.map_or(String::new(), |key| format!("; did you mean '{key}'?"));
                Err(Failure::usage(format!(
                    "--set {}: the profile doesn't have this key, so it can't be taken away{near}",
                    self.argument
                )))
            }
        }
    }
    /// Sets the value, in a new table if necessary.
    fn apply(&self, profile: &mut Table) -> Result<(), Failure> {
        let Some(value) = &self.value else { return self.remove(profile) };
        if self.key() == "target.kind" && value.as_str() == Some(NO_TARGET) {
            // What the file has in this table is for the target that goes.
            profile.remove("target");
        }
        let Some((last, tables)) = self.path.split_last() else { return Ok(()) };
        let mut table = profile;
        for name in tables {
            let entry = table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(inner) = entry else {
                return Err(Failure::usage(format!(
                    "--set {}: {name} is a value, not a table",
                    self.argument
                )));
            };
            table = inner;
        }
        table.insert(last.clone(), value.clone());
        Ok(())
    }
}

/// Digits, with a sign perhaps and `_` between them.
fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_digit() || c == '_')
}

/// A value as TOML writes it; words need no quotes.
fn value_of(text: &str) -> Option<Value> {
    if text.is_empty() || text.contains(['\n', '\r']) {
        return None;
    }
    let toml = toml::from_str::<Table>(&format!("value = {text}")).ok();
    match toml.and_then(|mut table| table.remove("value")) {
        Some(value) => Some(value),
        None => (!text.starts_with(['[', '{', '"', '\''])).then(|| Value::String(text.to_owned())),
    }
}

/// `text` with its package, and the package's keys of its geometry, replaced by the shipped package `part`.
///
/// # Errors
/// When the text isn't valid TOML.
pub fn with_package(name: &str, text: &str, part: &str) -> Result<String, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
    let mut table: Table = toml::from_str(text).map_err(|error| fail(&error))?;
    let named = Table::from_iter([("part".to_owned(), Value::String(part.to_owned()))]);
    table.insert("package".to_owned(), Value::Table(named));
    table.remove("restrict");
    if let Some(Value::Table(geometry)) = table.get_mut("geometry") {
        geometry.retain(|key, _| key == "channels");
    }
    toml::to_string(&table).map_err(|error| fail(&error))
}

/// The keys that `arguments` override, with their tables, and their values.
///
/// # Errors
/// The first argument that isn't a key and a value.
pub fn values(arguments: &[String]) -> Result<Vec<(String, Value)>, Failure> {
    let parsed = |argument: &String| {
        let change = Override::parse(argument)?;
        let needs = || {
            let reason = "needs a value here: `aster reproduce` takes no key away";
            Failure::usage(format!("--set {argument}: {reason}"))
        };
        Ok((change.key(), change.value.ok_or_else(needs)?))
    };
    arguments.iter().map(parsed).collect()
}

/// The arguments as they stand on the command line.
pub fn spelt(arguments: &[String]) -> String {
    let spelt: Vec<_> = arguments.iter().map(|argument| format!("--set {argument}")).collect();
    spelt.join(" ")
}

/// Parses the profile `text`, which errors call `name`, with `arguments` applied.
///
/// The text is checked without overrides first, so that an error in it has its line. After that only the
/// overrides can be wrong, and the error names the one at fault.
///
/// # Errors
/// What is wrong with the text or an argument.
pub fn parse_with(name: &str, text: &str, arguments: &[String]) -> Result<Profile, Failure> {
    let profile = Profile::parse(name, text).map_err(Failure::usage)?;
    if arguments.is_empty() {
        return Ok(profile);
    }
    let overrides = arguments.iter().map(|a| Override::parse(a)).collect::<Result<Vec<_>, _>>()?;
    let mut table: Table =
        toml::from_str(text).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    drop_other_placement(&mut table, &overrides);
    for change in &overrides {
        change.apply(&mut table)?;
    }
    let text = toml::to_string(&table).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Profile::parse(name, &text).map_err(|error| blame(&overrides, error))
}

/// Where pages go has two keys, of which a profile has one: a file's gives way to the other one of the
/// command line. The profile that an image keeps has one of them by default.
fn drop_other_placement(table: &mut Table, overrides: &[Override]) {
    let sets = |name: &str| overrides.iter().any(|o| o.value.is_some() && o.path == ["ftl", name]);
    let other = match (sets("placement"), sets("assigner")) {
        (true, false) => "assigner",
        (false, true) => "placement",
        _ => return,
    };
    if let Some(ftl) = table.get_mut("ftl").and_then(Value::as_table_mut) {
        ftl.remove(other);
    }
}

/// Refuses an argument that changes nothing: its key is one that nobody reads in this profile's drive.
///
/// # Errors
/// Names the argument, and who reads the key.
pub fn refuse_unread(profile: &Profile, arguments: &[String]) -> Result<(), Failure> {
    for argument in arguments {
        let change = Override::parse(argument)?;
        if change.value.is_some()
            && let Some(why) = profile.unread(&change.key())
        {
            return Err(Failure::usage(format!("--set {argument}: {why}")));
        }
    }
    Ok(())
}

/// Turns an error of the changed profile into one that names the argument at fault.
fn blame(overrides: &[Override], error: ProfileError) -> Failure {
    let at_fault = |o: &&Override| {
        let key = o.key();
        // An error about an unknown table has the table's own name.
        error.key.as_deref().is_some_and(|k| k == key || key.starts_with(&format!("{k}.")))
    };
    // If several override the same key, the last one counts.
    if let Some(change) = overrides.iter().rev().find(at_fault) {
        let reason = match elsewhere(&change.path, &error.reason) {
            Some(key) => format!("unknown key; did you mean '{key}'?"),
            None => error.reason,
        };
        return Failure::usage(format!("--set {}: {reason}", change.argument));
    }
    let all: Vec<_> = overrides.iter().map(|o| format!("--set {}", o.argument)).collect();
    let key = error.key.map_or(String::new(), |key| format!("{key}: "));
    Failure::usage(format!("{}: {key}{}", all.join(" "), error.reason))
}

/// The most edits for a suggestion.
const EDITS_MAX: usize = 2;

/// A key of another table with the same or nearly the same name as the unknown key at `path`; `None` when
/// `reason` is about another mistake, or suggests a key of the same table.
fn elsewhere(path: &[String], reason: &str) -> Option<String> {
    if !reason.starts_with("unknown key") || reason.contains("did you mean") {
        return None;
    }
    let wanted = path.last()?;
    let edits = |key: &String| aster_units::edit_distance(wanted, key.rsplit('.').next().unwrap_or(key));
    let near = Profile::known_keys()
        .into_iter()
        .map(|key| (edits(&key), key))
        .filter(|(edits, _)| *edits <= EDITS_MAX);
    // Short words are similar to everything.
    let near = near.filter(|(edits, _)| 3 * edits < wanted.len());
    near.min().map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::profile::SHIPPED;

    fn tiny(arguments: &[&str]) -> Result<Profile, String> {
        let text = SHIPPED.iter().find(|(name, _)| *name == "tiny").unwrap().1;
        let arguments: Vec<_> = arguments.iter().map(|&a| a.to_owned()).collect();
        parse_with("tiny", text, &arguments).map_err(|e| e.to_string())
    }

    #[test]
    fn every_kind_of_value_arrives() {
        let changed = tiny(&[
            "ftl.buffer_entries=64",
            "description=\"my drive\"",
            "package.cells=slc",
            "package.read_us=[25]",
            "package.program_us = [200.5]",
            "package.errors.fresh=1e-7",
            "ecc.scrambler=false",
            "restrict.blocks_per_lun=16",
        ])
        .unwrap();
        assert_eq!((changed.ftl.buffer_entries, changed.description.as_str()), (64, "my drive"));
        assert_eq!(
            (&changed.package.read_us[..], &changed.package.program_us[..]),
            (&[25.0][..], &[200.5][..])
        );
        assert_eq!((changed.package.errors.fresh, changed.ecc.scrambler), (1e-7, false));
        assert_eq!(changed.restrict.blocks_per_lun, Some(16), "a table that the file doesn't have");
        assert_eq!(changed.geometry, tiny(&[]).unwrap().geometry, "the rest stays");
    }

    #[test]
    fn a_placement_takes_the_place_of_the_files_by_either_of_its_keys() {
        let (name, text) = SHIPPED.iter().find(|(name, _)| *name == "cosmos-plus").unwrap();
        let kept = Profile::parse(name, text).unwrap().to_toml().unwrap();
        assert!(kept.contains("assigner = "), "an image keeps every key");
        let set = |text: &str, argument: &str| parse_with(name, text, &[argument.to_owned()]).unwrap();
        let random = set(&kept, "ftl.placement=random");
        assert_eq!(random.ftl.placement.as_deref(), Some("random"));
        let kept = random.to_toml().unwrap();
        assert_eq!(set(&kept, "ftl.assigner=way-first").ftl.placement, None);
        let both = tiny(&["ftl.placement=random", "ftl.assigner=way-first"]).unwrap_err();
        assert!(both.contains("must go beside ftl.placement"), "{both}");
    }

    #[test]
    fn the_last_of_several_counts() {
        assert_eq!(tiny(&["seed=3", "seed=4"]).unwrap().seed, 4);
    }

    #[test]
    fn errors_name_the_argument() {
        for (argument, expected) in [
            ("ftl.bufer_entries=64", "did you mean 'buffer_entries'?"),
            ("ftll.buffer_entries=64", "did you mean 'ftl'?"),
            ("buffer_entries=64", "--set buffer_entries=64: unknown key; did you mean 'ftl.buffer_entries'?"),
            ("bufer_entries=64", "did you mean 'ftl.buffer_entries'?"),
            ("ftl.queue_pairs=64", "did you mean 'host.queue_pairs'?"),
            ("target.map_cache_bytes=65536", "did you mean 'ftl.map_cache_bytes'?"),
            (
                "target.page_cache_mib=64",
                "lacks the key 'kind': \"block\" for a drive that has an FTL of its own",
            ),
            ("ftl.kind=page-maping", "but is \"page-maping\"; did you mean \"page-mapping\"?"),
            ("target.kind=blok", "\"pblk\", but is \"blok\"; did you mean \"block\"?"),
            (
                "ftl.buffer_entries=64k",
                "must be a whole number from 4 to 16777216, but is \"64k\"; written out it is 65536",
            ),
            ("ftl.buffer_entries=99999999999", "must be from 4 to 16777216, but is 99999999999"),
            ("host.auto_completion=1", "must be true or false, but is 1"),
            ("ftl=1", "must be a table"),
            ("ftl.buffer_entries=-1", "-1"),
            ("ftl.buffer_entries=99999999999999999999", "99999999999999999999"),
            ("seed=18446744073709551615", "to 9223372036854775807"),
            ("seed=-9_223_372_036_854_775_809", "from -9223372036854775808"),
            ("ftl.buffer_entries=1", "must be from 4"),
            ("package.cells=slc", "must give 1 times"),
            ("seed.low=1", "seed is a value, not a table"),
            ("buffer_entries", "expected KEY=VALUE"),
            ("ftl.=1", "expected a key"),
            ("=1", "expected a key"),
            ("seed=[1", "expected a number"),
            ("seed=1\nftl.gc_depth=3", "expected a number"),
        ] {
            let error = tiny(&["cores.frequency_mhz=500", argument]).unwrap_err();
            assert!(error.contains(&format!("--set {argument}")), "{argument}: {error}");
            assert!(error.contains(expected), "{argument}: {error}");
        }
    }

    #[test]
    fn a_target_is_taken_away_with_its_keys() {
        let text = SHIPPED.iter().find(|(name, _)| *name == "pocket-ocssd").unwrap().1;
        let with = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(|&a| a.to_owned()).collect();
            parse_with("pocket-ocssd", text, &arguments).map(|p| p.target).map_err(|e| e.to_string())
        };
        assert!(with(&[]).unwrap().unwrap().command_ns.is_some());
        assert_eq!(with(&["target.kind=none"]), Ok(None));
        let error = with(&["target.kind=none", "target.map_mib=8"]).unwrap_err();
        assert!(error.starts_with("--set target.map_mib=8: must be absent with target.kind"), "{error}");
    }

    #[test]
    fn keys_are_taken_away() {
        let text = SHIPPED.iter().find(|(name, _)| *name == "softssd-small").unwrap().1;
        let with = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(|&a| a.to_owned()).collect();
            parse_with("softssd-small", text, &arguments).map_err(|e| e.to_string())
        };
        let software = [
            "host.front_end=nvme",
            "host.workers_per_queue=",
            "host.transport=",
            "host.completion_offload=",
            "host.register_packets=",
            "costs.nvme_register=",
            "costs.nvme_fetch=",
            "costs.nvme_parse=",
            "costs.nvme_transfer=",
            "costs.nvme_complete=",
            "costs.nvme_interrupt=",
            "costs.tlp_build=",
            "costs.tlp_receive=",
            "costs.tlp_copy_kib=",
            "costs.tlp_describe=",
            "costs.tlp_notice=",
        ];
        assert_eq!(with(&software).unwrap().host.front_end, "nvme", "NVMe in hardware");
        let error = with(&software[..2]).unwrap_err();
        assert!(error.contains("must"), "{error}");
        assert!(with(&["board.emmc.read_us=9", "board.emmc.write_us=9", "board.emmc="]).is_ok(), "a table");
        for (argument, expected) in [
            ("ftl.buffer_entries=", "buffer_entries"),
            ("ftl.refresh_reads=", "the profile doesn't have this key, so it can't be taken away"),
            ("ftl.workers_per_queue=", "did you mean 'host.workers_per_queue'?"),
            ("nothing.at.all=", "the profile doesn't have this key"),
            ("seed.low=", "the profile doesn't have this key"),
        ] {
            let error = with(&[argument]).unwrap_err();
            assert!(error.contains(expected), "{argument}: {error}");
        }
    }

    #[test]
    fn an_error_of_the_file_keeps_its_line() {
        let error =
            parse_with("my.toml", "description = 1\n", &["seed=1".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("my.toml:1: description: "), "{error}");
    }
}
