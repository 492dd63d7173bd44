//! Better messages for mistakes on the command line that clap explains badly: numbers out of range, options
//! that contradict `--again`, and commands that don't exist.
//!
//! clap's messages name Rust's ranges (`0 is not in 1..=128`) and types
//! (`number too large to fit in target type`). Its usage line is made of the given options, as if they were
//! right.

use aster_device::profile::Profile;
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsString;

/// `error`, from parsing `arguments`, with a plain description of what a number must be.
pub(crate) fn in_words(command: &mut Command, arguments: &[OsString], error: Error) -> Error {
    if let Some(other) = beside_again(&error) {
        let text = format!("{other} beside --again REPORT, whose run is repeated as it was: leave it out\n");
        return Error::raw(ErrorKind::ArgumentConflict, text).with_cmd(command);
    }
    if let Some(text) = unknown_command(command, arguments, &error) {
        return Error::raw(ErrorKind::InvalidSubcommand, text).with_cmd(command);
    }
    if let Some(text) = option_of_others(command, arguments, &error) {
        return Error::raw(ErrorKind::UnknownArgument, text).with_cmd(command);
    }
    let (Some(argument), Some(value)) =
        (text_of(&error, ContextKind::InvalidArg), text_of(&error, ContextKind::InvalidValue))
    else {
        return error;
    };
    let Some(said) = source_of(&error) else { return error };
    let is_none =
        ["invalid digit", "too large", "too small", "empty string"].iter().any(|why| said.contains(why));
    let range = match range_of(&said) {
        Some(range) => range,
        // Find the range from the error for the largest number.
        None if is_none => {
            let largest = i64::MAX.to_string();
            let probe = command.try_get_matches_from_mut(with(arguments, &value, &largest));
            let told = probe.err().and_then(|error| range_of(&source_of(&error)?));
            told.unwrap_or((0, u64::MAX.into()))
        }
        None => return error,
    };
    let must = match range {
        (low, high) if high >= i64::MAX.into() && low > 0 => format!("a whole number, at least {low}"),
        (low, high) => format!("a whole number from {low} to {high}"),
    };
    let text = format!("invalid value '{value}' for '{argument}': must be {must}\n");
    Error::raw(ErrorKind::ValueValidation, text).with_cmd(command)
}

/// An option that was given with `--again` and contradicts it.
fn beside_again(error: &Error) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) if error.kind() == ErrorKind::ArgumentConflict => vec![text.clone()],
        Some(ContextValue::Strings(texts)) if error.kind() == ErrorKind::ArgumentConflict => texts.clone(),
        _ => Vec::new(),
    };
    let (is_again, others): (Vec<_>, Vec<_>) = [of(ContextKind::InvalidArg), of(ContextKind::PriorArg)]
        .concat()
        .into_iter()
        .partition(|name| name.starts_with("--again"));
    (!is_again.is_empty() && !others.is_empty()).then(|| others.join(" and "))
}

/// What to say of a command that doesn't exist: those that do. clap takes one behind an argument, as in
/// `aster open-channel PROFILE COMMAND`, for an argument too many.
fn unknown_command(command: &Command, arguments: &[OsString], error: &Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return None,
    };
    let Some(ContextValue::String(unknown)) = error.get(kind) else { return None };
    let before = arguments.iter().skip(1).take_while(|argument| argument.to_str() != Some(unknown));
    let within = before.fold(command, |within, argument| within.find_subcommand(argument).unwrap_or(within));
    let names: Vec<_> =
        within.get_subcommands().map(|one| one.get_name()).filter(|name| *name != "help").collect();
    if unknown.starts_with('-') || names.is_empty() {
        return None;
    }
    let edits = |name: &&&str| aster_units::edit_distance(unknown, name);
    let near = names.iter().min_by_key(edits).filter(|name| edits(name) <= name.len().max(unknown.len()) / 2);
    let meant = near.map_or(".".to_owned(), |near| format!("; did you mean '{near}'?"));
    Some(format!("there is no command '{unknown}'{meant} The commands are {}\n", names.join(", ")))
}

/// What to say of an option that other commands have, or that is a key of the profile. clap's tip would be to
/// pass it as a value.
fn option_of_others(command: &Command, arguments: &[OsString], error: &Error) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    // Another option of a similar name is a better tip.
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let name = unknown.strip_prefix("--")?.split('=').next()?;
    let has = |command: &Command, name| command.get_arguments().any(|one| one.get_long() == Some(name));
    let within = command.find_subcommand(arguments.get(1)?)?;
    let others: Vec<_> = command.get_subcommands().filter(|one| has(one, name)).collect();
    let key = name.replace('-', "_");
    let is_key = has(within, "set") && Profile::known_keys().contains(&key);
    if others.is_empty() && !is_key {
        return None;
    }
    let mut text = format!("unexpected argument '--{name}': aster {} has no such option", within.get_name());
    if !others.is_empty() {
        let names: Vec<_> = others.iter().map(|one| one.get_name()).collect();
        text += &format!("; of aster {} it is one", names.join(", "));
    }
    if is_key {
        text += &format!(". --set {key}=… sets that key of the profile");
    }
    Some(text + "\n")
}

fn text_of(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) if error.kind() == ErrorKind::ValueValidation => Some(text.clone()),
        _ => None,
    }
}

fn source_of(error: &Error) -> Option<String> {
    std::error::Error::source(error).map(ToString::to_string)
}

/// The ends of the range in "0 is not in 1..=128".
fn range_of(said: &str) -> Option<(i128, i128)> {
    let (low, high) = said.split_once(" is not in ")?.1.split_once("..")?;
    let (high, is_in) = high.strip_prefix('=').map_or((high, false), |high| (high, true));
    // Without an upper end it is the type's.
    let high =
        if high.is_empty() { u64::MAX.into() } else { high.parse::<i128>().ok()? - i128::from(!is_in) };
    Some((low.parse().ok()?, high))
}

/// `arguments` with `value` replaced by another value.
fn with(arguments: &[OsString], value: &str, other: &str) -> Vec<OsString> {
    let replaced = |argument: &OsString| match argument.to_str() {
        Some(text) if text == value => other.into(),
        Some(text) => match text.split_once('=') {
            Some((option, written)) if written == value => format!("{option}={other}").into(),
            _ => argument.clone(),
        },
        None => argument.clone(),
    };
    arguments.iter().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_in_each_form() {
        assert_eq!(range_of("0 is not in 1..=128"), Some((1, 128)));
        assert_eq!(range_of("0 is not in 1..18446744073709551615"), Some((1, 18_446_744_073_709_551_614)));
        assert_eq!(range_of("0 is not in 1.."), Some((1, 18_446_744_073_709_551_615)));
        assert_eq!(range_of("expected simulated seconds"), None);
    }
}
