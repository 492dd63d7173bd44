use super::expression::{evaluate, is_expression};
use crate::job::BlockSizes;
use crate::{Extent, PerDirection, TIME_MAX};
use alloc::vec::Vec;
use aster_units::Duration;

const PICOS_PER_MICROSECOND: u64 = 1_000_000;
const PICOS_PER_SECOND: u64 = 1_000_000_000_000;

/// What `k` means (fio's `kb_base`). With 1024, fio's default, `k` is 1024 and `ki` is 1000; with 1000 it is
/// the other way round, as in IEC 80000-13.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KbBase {
    Binary,
    Decimal,
}

/// A number, which may have a fraction, and what follows it.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

/// So many units, which may have a fraction: `1.5` of 1024 are 1536. What is less than one is cut off, as in
/// fio.
fn of_unit(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let parts: u128 = fraction.parse::<u64>().ok()?.into();
    let tenths = 10u128.checked_pow(fraction.len() as u32)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    whole.checked_add((parts * u128::from(unit) / tenths) as u64)
}

/// A whole number, decimal or `0x` hexadecimal, without unit, or an expression of such numbers.
pub(super) fn integer(text: &str) -> Option<u64> {
    if is_expression(text) {
        return evaluate(text, &|_| None);
    }
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

/// A number with an optional size suffix, or an expression of such numbers.
pub(super) fn size(text: &str, base: KbBase) -> Option<u64> {
    if is_expression(text) {
        return evaluate(text, &|suffix| size_unit(suffix, base));
    }
    if text.starts_with("0x") || text.starts_with("0X") {
        return integer(text);
    }
    let (number, suffix) = digits(text);
    of_unit(number, size_unit(suffix, base)?)
}

/// What a size's suffix stands for.
fn size_unit(suffix: &str, base: KbBase) -> Option<u64> {
    let suffix = suffix.to_ascii_lowercase();
    let letters = suffix.strip_suffix('b').unwrap_or(&suffix);
    let (letter, has_i) = match letters.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (letters, false),
    };
    let power = match letter {
        "" if !has_i => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let unit: u64 = if (base == KbBase::Binary) != has_i { 1024 } else { 1000 };
    Some(unit.pow(power))
}

/// A size or a percentage of the drive.
pub(super) fn extent(text: &str, base: KbBase) -> Option<Extent> {
    match text.strip_suffix('%') {
        Some(percent) => integer(percent).filter(|&p| p <= 100).map(|p| Extent::Percent(p as u8)),
        None => size(text, base).map(Extent::Bytes),
    }
}

/// A block size: above 0 and within 32 bits.
fn block(text: &str, base: KbBase) -> Option<u32> {
    size(text, base).and_then(|bytes| u32::try_from(bytes).ok()).filter(|&bytes| bytes > 0)
}

/// The default unit of a time option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeUnit {
    Seconds,
    Microseconds,
}

/// A time with an optional unit, or an expression of times. Whatever the option, the unit there is the
/// microsecond.
pub(super) fn time(text: &str, default: TimeUnit) -> Option<Duration> {
    let picos = if is_expression(text) {
        evaluate(text, &|unit| time_unit(unit).map(|picos| picos / PICOS_PER_MICROSECOND))?
            .checked_mul(PICOS_PER_MICROSECOND)?
    } else {
        let (number, unit) = digits(text);
        let picos = match (unit, default) {
            ("", TimeUnit::Seconds) => PICOS_PER_SECOND,
            ("", TimeUnit::Microseconds) => PICOS_PER_MICROSECOND,
            (unit, _) => time_unit(unit)?,
        };
        of_unit(number, picos)?
    };
    Some(Duration::from_picos(picos)).filter(|&time| time <= TIME_MAX)
}

/// A unit of time in picoseconds.
fn time_unit(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "d" => PICOS_PER_SECOND * 86_400,
        "h" => PICOS_PER_SECOND * 3_600,
        "m" => PICOS_PER_SECOND * 60,
        "s" | "sec" => PICOS_PER_SECOND,
        "ms" | "msec" => 1_000 * PICOS_PER_MICROSECOND,
        "us" | "usec" => PICOS_PER_MICROSECOND,
        _ => return None,
    })
}

/// `read[,write][,trim]`: a missing value follows the one before it, an empty value keeps `current`.
pub(super) fn per_direction<T: Clone>(
    text: &str,
    current: &PerDirection<T>,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<PerDirection<T>> {
    let mut parts = text.split(',').map(str::trim);
    let value = |part: Option<&str>, current: &T, before: &T| match part {
        Some("") => Some(current.clone()),
        Some(part) => parse(part),
        None => Some(before.clone()),
    };
    let read = value(parts.next(), &current.read, &current.read)?;
    let write = value(parts.next(), &current.write, &read)?;
    let trim = value(parts.next(), &current.trim, &write)?;
    parts.next().is_none().then_some(PerDirection { read, write, trim })
}

/// `4k`.
pub(super) fn fixed(text: &str, base: KbBase) -> Option<BlockSizes> {
    block(text, base).map(BlockSizes::Fixed)
}

/// An alignment in bytes.
pub(super) fn alignment(text: &str, base: KbBase) -> Option<u32> {
    block(text, base)
}

/// `4k-64k` or `4k:64k`, in either order.
pub(super) fn range(text: &str, base: KbBase) -> Option<BlockSizes> {
    // Not a minus within an expression.
    let mut depth = 0i64;
    let between = text.find(|c| {
        depth += i64::from(c == '(') - i64::from(c == ')');
        depth == 0 && (c == '-' || c == ':')
    })?;
    let (a, b) = (&text[..between], &text[between + 1..]);
    let (a, b) = (block(a, base)?, block(b, base)?);
    Some(BlockSizes::Range { min: a.min(b), max: a.max(b) })
}

/// `4k/10:64k/90`: blank percentages share evenly what the others leave.
pub(super) fn split(text: &str, base: KbBase) -> Option<BlockSizes> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (bytes, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = match percent {
            "" => None,
            given => Some(integer(given).filter(|&p| p <= 100)?),
        };
        parts.push((block(bytes, base)?, percent));
    }
    let given: u64 = parts.iter().filter_map(|p| p.1).sum();
    let mut blanks = parts.iter().filter(|p| p.1.is_none()).count() as u64;
    let mut rest = 100u64.checked_sub(given)?;
    if blanks == 0 && rest != 0 {
        return None;
    }
    let filled = parts.iter().map(|(bytes, percent)| {
        let percent = percent.unwrap_or_else(|| {
            let share = rest / blanks;
            (rest, blanks) = (rest - share, blanks - 1);
            share
        });
        (*bytes, percent as u8)
    });
    Some(BlockSizes::Split(filled.collect()))
}

/// `1`, `0`, or nothing for true.
pub(super) fn boolean(text: Option<&str>) -> Option<bool> {
    match text {
        None | Some("1" | "true") => Some(true),
        Some("0" | "false") => Some(false),
        Some(_) => None,
    }
}
