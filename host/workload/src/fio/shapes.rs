//! Values with a grammar of their own: random distributions and steady states.

use super::values::{self, KbBase, TimeUnit};
use crate::{Distribution, Extent, Figure, PerDirection, Zone};
use alloc::vec::Vec;

/// A description of what `value` should be: the grammar of the distribution that it names, or the list of
/// names.
pub(super) fn distribution_meant(value: &str) -> &'static str {
    match value.split(':').next().unwrap_or_default() {
        "random" => "random, which has no parameter",
        "zipf" => "zipf[:theta[:center]], with a theta above 0 and up to 100 and a center from 0 to 1",
        "pareto" => "pareto[:h[:center]], with an h between 0 and 1 and a center from 0 to 1",
        "normal" => {
            "normal[:deviation[:center]], with a deviation from 0 to below 100 and a center from 0 to 1"
        }
        "zoned" => {
            "zoned:requests/size:..., [,write][,trim], in percent: those of requests add up to 100, those of \
             sizes to 100 at \
             most"
        }
        "zoned_abs" => {
            "zoned_abs:requests/bytes:..., [,write][,trim], whose percentages of requests add up to 100"
        }
        _ => "random, zipf, pareto, normal, zoned or zoned_abs",
    }
}
pub(super) const STEADY: &str =
    "iops, bw or lat, also with _slope, and a limit: iops:0.5%, bw_slope:1m, lat:20us";

/// Above this theta every request would go to one block.
const THETA_MAX: f64 = 100.0;
/// fio's defaults for theta and h.
const THETA_DEFAULT: f64 = 1.1;
const H_DEFAULT: f64 = 0.2;
/// The most zones, as in fio.
const ZONES_MAX: usize = 256;

fn real(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A distribution and its centre.
pub(super) fn distribution(value: &str, base: KbBase) -> Option<(Distribution, Option<f64>)> {
    let (kind, rest) = match value.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (value, None),
    };
    match kind {
        "random" => return rest.is_none().then_some((Distribution::Uniform, None)),
        "zoned" => return Some((Distribution::Zoned(zones(rest?, relative)?), None)),
        "zoned_abs" => {
            let zones = zones(rest?, |zones| absolute(zones, base))?;
            return Some((Distribution::Zoned(zones), None));
        }
        _ => {}
    }
    let (parameter, center) = match rest.map(|rest| rest.split_once(':').unwrap_or((rest, ""))) {
        None => (None, None),
        Some((parameter, "")) if !rest?.ends_with(':') => (Some(real(parameter)?), None),
        Some((parameter, center)) => {
            (Some(real(parameter)?), Some(real(center).filter(|c| (0.0..=1.0).contains(c))?))
        }
    };
    let distribution = match kind {
        "zipf" => Distribution::Zipf(
            Some(parameter.unwrap_or(THETA_DEFAULT)).filter(|&theta| theta > 0.0 && theta <= THETA_MAX)?,
        ),
        "pareto" => {
            Distribution::Pareto(Some(parameter.unwrap_or(H_DEFAULT)).filter(|&h| h > 0.0 && h < 1.0)?)
        }
        "normal" => {
            Distribution::Normal(Some(parameter.unwrap_or(0.0)).filter(|d| (0.0..100.0).contains(d))?)
        }
        _ => return None,
    };
    Some((distribution, center))
}

/// Zones for reads, writes and trims. A direction whose zones are left out after a comma is uniform.
fn zones(text: &str, parse: impl Fn(&str) -> Option<Vec<Zone>>) -> Option<PerDirection<Vec<Zone>>> {
    let zones = values::per_direction(text, &PerDirection::all(Vec::new()), parse)?;
    let any = [&zones.read, &zones.write, &zones.trim].into_iter().any(|zones| !zones.is_empty());
    any.then_some(zones)
}

/// `60/10:30/20`: percentages of requests and of the region. Zones without a size share evenly what the
/// others leave.
fn relative(text: &str) -> Option<Vec<Zone>> {
    let parts = parts(text, |size| values::integer(size).filter(|&p| p <= 100))?;
    let given: u64 = parts.iter().filter_map(|part| part.1).sum();
    let mut blanks = parts.iter().filter(|part| part.1.is_none()).count() as u64;
    let mut rest = 100u64.checked_sub(given)?;
    let sized = parts.into_iter().map(|(requests_percent, size)| {
        let size = size.unwrap_or_else(|| {
            let share = rest / blanks;
            (rest, blanks) = (rest - share, blanks - 1);
            share
        });
        Zone { requests_percent, size: Extent::Percent(size as u8) }
    });
    Some(sized.collect())
}

/// `60/20g:40/100g`: percentages of requests and sizes.
fn absolute(text: &str, base: KbBase) -> Option<Vec<Zone>> {
    let sized = parts(text, |size| values::size(size, base))?.into_iter();
    sized
        .map(|(requests_percent, size)| Some(Zone { requests_percent, size: Extent::Bytes(size?) }))
        .collect()
}

/// (percent of the requests, size) pairs; a size that is left out or 0 counts as not given.
fn parts(text: &str, size: impl Fn(&str) -> Option<u64>) -> Option<Vec<(u8, Option<u64>)>> {
    let part = |part: &str| {
        let (requests, given) = part.split_once('/').unwrap_or((part, ""));
        let requests = values::integer(requests).filter(|&p| p <= 100)? as u8;
        let size = if given.is_empty() { None } else { Some(size(given)?).filter(|&size| size > 0) };
        Some((requests, size))
    };
    let all = text.split(':').map(part).collect::<Option<Vec<_>>>()?;
    let requests: u32 = all.iter().map(|part| u32::from(part.0)).sum();
    (requests == 100 && all.len() <= ZONES_MAX).then_some(all)
}

/// A criterion of a steady state without its times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Criterion {
    pub(super) figure: Figure,
    pub(super) slope: bool,
    pub(super) limit: f64,
    pub(super) percent: bool,
}

/// `iops:0.5%`, `bw_slope:1m`, `lat:20us`.
pub(super) fn criterion(value: &str, base: KbBase) -> Option<Criterion> {
    let (name, limit) = value.split_once(':')?;
    let (name, slope) = name.strip_suffix("_slope").map_or((name, false), |name| (name, true));
    let figure = match name {
        "iops" => Figure::Iops,
        "bw" => Figure::Bandwidth,
        "lat" => Figure::Latency,
        _ => return None,
    };
    let (limit, percent) = match (limit.strip_suffix('%'), figure) {
        (Some(percent), _) => (real(percent.trim())?, true),
        (None, Figure::Iops) => (real(limit)?, false),
        (None, Figure::Bandwidth) => (values::size(limit, base)? as f64, false),
        (None, Figure::Latency) => {
            (values::time(limit, TimeUnit::Microseconds)?.as_picos() as f64 / 1e3, false)
        }
    };
    (limit > 0.0).then_some(Criterion { figure, slope, limit, percent })
}
