//! Addresses as people write them.

use aster_openchannel::{ADDRESSES_MAX, Format, Place};
use aster_units::Geometry;

/// What an address names. Parts that it leaves out stand for all values of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Parts {
    channel: Option<u16>,
    lun: Option<u16>,
    plane: Option<u8>,
    block: Option<u32>,
    page: Option<u16>,
    sector: Option<u8>,
}

/// What a command's addresses are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Sectors, each at its place.
    Sector,
    /// Blocks, or chunks of 2.0; the rest of an address is stale (O9).
    Block,
    /// LUNs.
    Lun,
}

/// A drive's addresses.
#[derive(Clone, Copy)]
pub(super) struct Addresses<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) format: &'a Format,
}

impl Addresses<'_> {
    /// The places that `texts` name, each text's in ascending order.
    ///
    /// # Errors
    /// Names the address that is wrong, and why.
    pub(super) fn places(&self, texts: &[String], unit: Unit) -> Result<Vec<Place>, String> {
        let mut places = Vec::new();
        for text in texts {
            let of_text = self.of(text, unit).map_err(|problem| format!("{text}: {problem}"))?;
            places.extend(of_text);
        }
        if unit != Unit::Lun && places.len() > ADDRESSES_MAX {
            return Err(format!(
                "a command has {ADDRESSES_MAX} addresses at most, and these are {}; use more commands",
                places.len()
            ));
        }
        Ok(places)
    }

    fn of(&self, text: &str, unit: Unit) -> Result<Vec<Place>, String> {
        if let Some(address) = number(text) {
            let address = address.ok_or("is more than 64 bits")?;
            let place = match unit {
                Unit::Sector => self.format.decode(address, self.geometry),
                Unit::Block | Unit::Lun => self.format.block_at(address, self.geometry),
            };
            let kind = match self.format {
                Format::Physical(_) => "physical page address",
                Format::Logical(_) => "logical block",
            };
            return place.map(|place| vec![place]).ok_or_else(|| {
                format!(
                    "is no {kind} of this drive: a field has a value that the drive doesn't have, or bits \
                     beyond the fields are set"
                )
            });
        }
        let parts = Parts::parse(text)?;
        let named = |part: Option<u32>, name| part.ok_or_else(|| format!("{name} is missing"));
        let channel = named(parts.channel.map(u32::from), "ch")? as u16;
        let lun = named(parts.lun.map(u32::from), "lun")? as u16;
        let first = Place { channel, lun, ..Place::default() };
        let places = match unit {
            Unit::Lun => vec![first],
            Unit::Block => {
                let block = named(parts.block, "blk")?;
                let planes = match self.format {
                    Format::Physical(_) => range(parts.plane, self.geometry.planes),
                    // The first plane's block stands for its chunk.
                    Format::Logical(_) => 0..=0,
                };
                planes.map(|plane| Place { plane, block, ..first }).collect()
            }
            Unit::Sector => {
                let block = named(parts.block, "blk")?;
                let page = named(parts.page.map(u32::from), "pg")? as u16;
                let sectors = move || range(parts.sector, self.geometry.sectors_per_page());
                range(parts.plane, self.geometry.planes)
                    .flat_map(|plane| {
                        sectors().map(move |sector| Place { plane, block, page, sector, ..first })
                    })
                    .collect()
            }
        };
        match places.iter().all(|place: &Place| place.is_in(self.geometry)) {
            true => Ok(places),
            false => Err(format!("is outside of the drive, whose last sector is {}", self.last())),
        }
    }
    fn last(&self) -> Place {
        let g = self.geometry;
        Place {
            channel: g.channels - 1,
            lun: (g.luns_per_channel() - 1) as u16,
            plane: g.planes - 1,
            block: g.blocks_per_lun / u32::from(g.planes) - 1,
            page: g.pages_per_block - 1,
            sector: g.sectors_per_page() - 1,
        }
    }
}

/// All values below `count`, or the one that is given.
fn range(given: Option<u8>, count: u8) -> std::ops::RangeInclusive<u8> {
    given.map_or(0..=count.saturating_sub(1), |one| one..=one)
}

/// A plain number, decimal or hexadecimal. The inner value is missing for one beyond 64 bits.
fn number(text: &str) -> Option<Option<u64>> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return all.then(|| u64::from_str_radix(digits, 16).ok());
    }
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok())
}

impl Parts {
    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Parts::default();
        for part in text.split('.') {
            let digits = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
            let (name, value) = part.split_at(digits);
            match name {
                "ch" => set(&mut parts.channel, name, value),
                "lun" => set(&mut parts.lun, name, value),
                "pl" => set(&mut parts.plane, name, value),
                "blk" => set(&mut parts.block, name, value),
                "pg" => set(&mut parts.page, name, value),
                "sec" => set(&mut parts.sector, name, value),
                _ => Err(format!(
                    "\"{part}\" is no part of an address such as ch7.lun7.pl0.blk1.pg0.sec0 or 0xfc0200"
                )),
            }?;
        }
        Ok(parts)
    }
}

fn set<T: std::str::FromStr>(part: &mut Option<T>, name: &str, value: &str) -> Result<(), String> {
    if part.is_some() {
        return Err(format!("{name} is named twice"));
    }
    *part =
        Some(value.parse().map_err(|_| format!("{name}{value}: \"{value}\" is no number that {name} has"))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_openchannel::AddressFormat;

    /// The 64 GB layout of the slides (O8).
    const SLIDES: Geometry = Geometry {
        channels: 8,
        ways: 8,
        luns: 1,
        planes: 2,
        blocks_per_lun: 512,
        pages_per_block: 128,
        page_bytes: 16_384,
        spare_bytes: 0,
    };

    fn places(texts: &[&str], unit: Unit) -> Result<Vec<Place>, String> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let format = Format::Physical(AddressFormat::of_geometry(&SLIDES));
        Addresses { geometry: &SLIDES, format: &format }.places(&texts, unit)
    }

    fn names(texts: &[&str], unit: Unit) -> Vec<String> {
        places(texts, unit).unwrap().iter().map(Place::to_string).collect()
    }

    #[test]
    fn parts_and_numbers_name_the_same_places() {
        let sector = ["ch7.lun7.pl0.blk1.pg0.sec3"];
        for text in [sector[0], "0x00FC0203", "0xfc0203", "16515587", "sec3.pg0.blk1.pl0.lun7.ch7"] {
            assert_eq!(names(&[text], Unit::Sector), sector, "{text}");
        }
    }

    #[test]
    fn what_is_left_out_stands_for_all_in_the_order_of_writes() {
        let of_page = names(&["ch7.lun7.blk1.pg0"], Unit::Sector);
        let planes = [0, 1].iter().flat_map(|plane| (0..4).map(move |sector| (plane, sector)));
        let wanted: Vec<_> = planes.map(|(p, s)| format!("ch7.lun7.pl{p}.blk1.pg0.sec{s}")).collect();
        assert_eq!(of_page, wanted);
        // Page and sector of a block are stale.
        let blocks = names(&["ch7.lun7.blk1.pg9", "ch0.lun0.pl1.blk2"], Unit::Block);
        assert_eq!(
            blocks,
            ["ch7.lun7.pl0.blk1.pg0.sec0", "ch7.lun7.pl1.blk1.pg0.sec0", "ch0.lun0.pl1.blk2.pg0.sec0"]
        );
        assert_eq!(names(&["0xfc0204"], Unit::Block), ["ch7.lun7.pl0.blk1.pg0.sec0"]);
        assert_eq!(names(&["ch3.lun2"], Unit::Lun), ["ch3.lun2.pl0.blk0.pg0.sec0"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_the_address() {
        for (text, unit, reason) in [
            ("ch7.lun7.blk1", Unit::Sector, "pg is missing"),
            ("lun7.blk1", Unit::Block, "ch is missing"),
            ("ch7.lun8.blk1", Unit::Block, "whose last sector is ch7.lun7.pl1.blk255.pg127.sec3"),
            ("ch7.lun7.blk1.blk2", Unit::Block, "blk is named twice"),
            ("ch7.lun7.block1", Unit::Block, "\"block1\" is no part of an address"),
            ("ch7.lun7.pl300.blk1", Unit::Block, "\"300\" is no number that pl has"),
            ("ch7.lun7.pl-1.blk1", Unit::Block, "\"pl-1\" is no part of an address"),
            ("0x1000000", Unit::Sector, "is no physical page address of this drive"),
            ("0x10000000000000000", Unit::Sector, "is more than 64 bits"),
            ("", Unit::Block, "\"\" is no part of an address"),
        ] {
            let error = places(&[text], unit).unwrap_err();
            assert!(error.starts_with(&format!("{text}: ")) && error.contains(reason), "{error}");
        }
        let many = places(&["ch0.lun0.blk1.pg0"; 9], Unit::Sector).unwrap_err();
        assert!(many.contains("64 addresses at most, and these are 72"), "{many}");
    }
}
