use super::*;
use std::sync::LazyLock;

mod bad_values;
mod board;

/// `tiny`, but for keys that the tests set themselves.
static TINY: LazyLock<String> = LazyLock::new(|| {
    let own = |line: &&str| {
        ["mapping_unit_bytes", "placement = \"striped\"", "collection"]
            .iter()
            .all(|key| !line.starts_with(key))
    };
    include_str!("../../../profiles/tiny.toml")
        .lines()
        .filter(own)
        .fold(String::new(), |all, line| all + line + "\n")
});

fn error(text: &str) -> ProfileError {
    Profile::parse("drive.toml", text).expect_err("the profile is wrong")
}

fn parsed(text: &str) -> Profile {
    Profile::parse("drive.toml", text).expect("the profile is right")
}

/// The tiny profile with one line replaced.
fn with(old: &str, new: &str) -> String {
    assert!(TINY.contains(old), "the tiny profile has the line '{old}'");
    TINY.replacen(old, new, 1)
}

#[test]
fn all_shipped_profiles_parse() {
    for (name, _) in SHIPPED {
        let profile = shipped(name).unwrap_or_else(|e| panic!("{e}"));
        assert!(!profile.description.is_empty());
    }
}

#[test]
fn an_unknown_profile_lists_those_there_are() {
    let e = shipped("cosmos").unwrap_err();
    assert!(
        e.to_string().contains(
            "cosmos-board, cosmos-ocssd, cosmos-ocssd-2, cosmos-plus, cosmos-tlc, host-ftl, host-ftl-small, \
                       ideal, pocket, "
        ),
        "{e}"
    );
}

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_nearest_known_one() {
    let e = error(&with("buffer_entries = 32", "bufer_entries = 32"));
    assert_eq!(e.key.as_deref(), Some("ftl.bufer_entries"));
    let line = TINY.lines().position(|l| l == "buffer_entries = 32").map(|i| i + 1);
    assert_eq!(e.line, line);
    assert!(e.reason.contains("did you mean 'buffer_entries'"), "{e}");
    assert!(e.to_string().starts_with(&format!("drive.toml:{}: ftl.bufer_entries: ", line.unwrap())), "{e}");
}

#[test]
fn an_unknown_table_is_named() {
    let e = error(&format!("{}\n[flt]\nx = 1\n", *TINY));
    assert!(e.reason.contains("did you mean 'ftl'"), "{e}");
    assert_eq!(e.key.as_deref(), Some("flt"), "{e}");
    let line = TINY.lines().count() + 2;
    assert!(e.to_string().starts_with(&format!("drive.toml:{line}: flt: ")), "{e}");
}

#[test]
fn an_unknown_key_is_told_with_all_its_tables() {
    let e = error(&with("fresh = 1e-5", "package = 1"));
    assert_eq!(e.key.as_deref(), Some("package.errors.package"));
    let e = error(&with("[package.errors]", "[package.erors]"));
    assert_eq!(e.key.as_deref(), Some("package.erors"));
}

/// Errors that show only when the parts are put together: (line of the profile, replacement, key, line
/// that the error names).
const MISFITS: &[(&str, &str, &str, &str)] = &[
    (
        "over_provisioning_percent = 32",
        "over_provisioning_percent = 1",
        "ftl.over_provisioning_percent",
        "over_provisioning_percent = 1",
    ),
    ("timing_mode = 4", "timing_mode = 9", "channel.timing_mode", "timing_mode = 9"),
    // With all its blocks the drive has 25 MiB at 32 % of spare.
    (
        "blocks_per_lun = 24",
        "blocks_per_lun = 24\ncapacity = \"40 MiB\"",
        "geometry.capacity",
        "capacity = \"40 MiB\"",
    ),
    ("blocks_per_lun = 24", "capacity = \"40 mb\"", "geometry.capacity", "capacity = \"40 mb\""),
    ("blocks_per_lun = 24", "capacity = \"900 TB\"", "geometry.capacity", "capacity = \"900 TB\""),
    ("blocks_per_lun = 24\n", "", "geometry.blocks_per_lun", "[geometry]"),
    ("spare_bytes = 1664", "spare_bytes = 100", "ecc", "[ecc]"),
    ("model = \"TINY\"", "model = \"µ\"", "package.model", "model = \"µ\""),
    (
        "slice_workers = 16",
        "slice_workers = 16\ngc_free_blocks = 9\n[restrict]\nblocks_per_lun = 8",
        "ftl.gc_free_blocks",
        "gc_free_blocks = 9",
    ),
    // An error in a key with its default names the line of the table's header.
    (
        "die_deviation_us = 3\npage_deviation_us = 10",
        "die_deviation_us = 70",
        "package.page_deviation_us",
        "[package]",
    ),
];

#[test]
fn parts_that_do_not_fit_are_told_with_file_line_and_key() {
    for (old, new, key, at) in MISFITS {
        let text = with(old, new);
        let e = error(&text);
        assert_eq!(e.key.as_deref(), Some(*key), "{new}: {e}");
        assert_eq!(e.line, text.lines().position(|l| l == *at).map(|i| i + 1), "{e}");
        assert!(e.to_string().starts_with("drive.toml:"), "{e}");
    }
}

#[test]
fn a_value_of_the_wrong_type_names_key_and_line() {
    for (old, new, key) in [
        ("channels = 2", "channels = \"two\"", "geometry.channels"),
        ("block_bytes = 512", "block_bytes = 512\nauto_completion = 1", "host.auto_completion"),
        ("[host]", "[host]   # a comment\nauto_completion = 1", "host.auto_completion"),
    ] {
        let e = error(&with(old, new));
        assert_eq!(e.key.as_deref(), Some(key));
        assert!(e.line.is_some() && e.reason.starts_with("must be "), "{e}");
    }
}

/// Values that a key's type doesn't take: (line of the profile, replacement, key, part of the message).
const UNFIT: &[(&str, &str, &str, &str)] = &[
    (
        "buffer_entries = 32",
        "buffer_entries = 99999999999",
        "ftl.buffer_entries",
        "must be from 4 to 16777216, but is 99999999999",
    ),
    (
        "buffer_entries = 32",
        "buffer_entries = -1",
        "ftl.buffer_entries",
        "must be from 4 to 16777216, but is -1",
    ),
    (
        "buffer_entries = 32",
        "buffer_entries = \"4k\"",
        "ftl.buffer_entries",
        "must be a whole number from 4 to 16777216, but is \"4k\"; written out it is 4096",
    ),
    ("detect_ns = 3000", "detect_ns = -1", "ecc.detect_ns", "must be from 0 to 1000000000 ns, but is -1"),
    (
        "detect_ns = 3000",
        "detect_ns = 1.5",
        "ecc.detect_ns",
        "must be a whole number from 0 to 1000000000 ns, but is 1.5",
    ),
    ("designed = 14", "designed = -1", "ecc.designed", "must be from 1 to 200, but is -1"),
    // The range depends on another key.
    (
        "corrected = 13",
        "corrected = 1e3",
        "ecc.corrected",
        "must be a whole number from 1 to 14, but is 1000.0",
    ),
    ("command = 500", "command = -5", "costs.command", "must be from 0 to 10000000 cycles, but is -5"),
    (
        "frequency_mhz = 1000",
        "frequency_mhz = \"fast\"",
        "cores.frequency_mhz",
        "must be a number from 1 to 100000 MHz",
    ),
    ("lanes = 4", "lanes = 300", "link.lanes", "must be 1, 2, 4, 8 or 16, but is 300"),
    ("[package]", "[restrict]\nways = 300\n[package]", "restrict.ways", "must be from 1 to 16, but is 300"),
    (
        "spare_bytes = 1664",
        "spare_bytes = 1664\ncapacity = \"512 GX\"",
        "geometry.capacity",
        "must be a whole number with MB, GB, TB, MiB, GiB or TiB, as \"512 GB\", but is \"512 GX\"",
    ),
    (
        "spare_bytes = 1664",
        "spare_bytes = -1",
        "geometry.spare_bytes",
        "at most 65536 (16-bit column address), but is -1",
    ),
    (
        "block_bytes = 512",
        "block_bytes = 512\nauto_completion = 1",
        "host.auto_completion",
        "must be true or false, but is 1",
    ),
    ("model = \"TINY\"", "model = 5", "package.model", "must be a text in quotes, but is 5"),
    ("read_us = [58, 90]", "read_us = 58", "package.read_us", "must be a list, such as [1, 2], but is 58"),
    (
        "read_us = [58, 90]",
        "read_us = [58, \"x\"]",
        "package.read_us",
        "each must be a number µs, but one is \"x\"",
    ),
    ("0x32, 0xAA, 0x00]", "0x32, 0xAA, 300]", "package.id", "each must be from 0 to 255, but one is 300"),
    ("0x32, 0xAA, 0x00]", "0x32, 0xAA]", "package.id", "must be a list of 6, but has 5"),
    (
        "slice_workers = 16",
        "slice_workers = 16\nwear_levelling = \"dynamik\"",
        "ftl.wear_levelling",
        "must be \"none\", \"dynamic\" or \"static\", but is \"dynamik\"; did you mean \"dynamic\"?",
    ),
    (
        "slice_workers = 16",
        "slice_workers = 16\nfirst_access = \"assign\"",
        "ftl.first_access",
        "must be \"zeroes\" or \"assigns\", but is \"assign\"; did you mean \"assigns\"?",
    ),
    (
        "slice_workers = 16",
        "slice_workers = 16\ncollection = \"pace\"",
        "ftl.collection",
        "must be \"on-demand\" or \"paced\", but is \"pace\"; did you mean \"paced\"?",
    ),
    (
        "slice_workers = 16",
        "slice_workers = 16\nwear_levelling = 1",
        "ftl.wear_levelling",
        "must be \"none\", \"dynamic\" or \"static\", but is 1",
    ),
    ("[channel]", "[package.slc]\nprefix = 3\n[channel]", "package.slc", "lacks the key 'read_us'"),
    (
        "[package]",
        "[package]\nsuspend = 4",
        "package.suspend",
        "must be a table with keys of its own, but is 4",
    ),
    ("seed = 7", "seed = 99999999999999999999", "seed", "whole numbers are from -9223372036854775808 to"),
];

#[test]
fn a_value_that_a_key_does_not_take_is_told_with_what_it_takes_and_no_type_of_rust() {
    for (old, new, key, said) in UNFIT {
        let e = error(&with(old, new));
        assert_eq!(e.key.as_deref(), Some(*key), "{new}: {e}");
        assert!(e.reason.contains(said), "{new}: {e}");
        assert!(e.line.is_some(), "{new}: {e}");
        for rust in
            ["u8", "u16", "u32", "u64", "usize", "i16", "f64", "struct", "variant", "field", "map", "`"]
        {
            assert!(!e.reason.split_whitespace().any(|word| word == rust), "{rust}: {e}");
        }
    }
}

#[test]
fn a_wrong_value_beside_a_package_is_told_with_line_and_key() {
    let text = format!("{}\n", shipped::SHIPPED.iter().find(|(name, _)| *name == "babol").unwrap().1);
    let wrong = text.replacen("[package]\n", "[package]\nread_us = 5\n", 1);
    let e = error(&wrong);
    assert_eq!(
        (e.key.as_deref(), e.reason.as_str()),
        (Some("package.read_us"), "must be a list, such as [1, 2], but is 5")
    );
    assert_eq!(e.line, wrong.lines().position(|l| l == "read_us = 5").map(|at| at + 1));
}

#[test]
fn an_unknown_controller_is_told_with_those_there_are() {
    let e = error(&with("timing_mode = 4", "timing_mode = 4\ncontroller = \"sychronous\""));
    assert_eq!(e.key.as_deref(), Some("channel.controller"));
    for known in ["software", "synchronous", "asynchronous"] {
        assert!(e.reason.contains(known), "{e}");
    }
    assert!(e.line.is_some(), "{e}");
}

#[test]
fn a_missing_key_says_which() {
    let e = error(&with("page_bytes = 16384\n", ""));
    assert!(e.reason.contains("page_bytes"), "{e}");
}

#[test]
fn a_missing_table_or_key_blames_no_other() {
    for text in ["description = \"x\"", "description = \"x\"\n", "\n\ndescription = \"x\"\nseed = 3\n"] {
        let e = error(text);
        assert_eq!(e.to_string(), "drive.toml: lacks the table [geometry]");
    }
    let header = "[geometry]\nchannels = 2\n";
    assert_eq!(
        error(&format!("{header}[package]\n")).to_string(),
        "drive.toml:1: geometry: lacks the key 'ways'"
    );
    assert_eq!(error("[geometry]\n").to_string(), "drive.toml:1: geometry: lacks the key 'channels'");
    let e = error(&with("page_bytes = 16384\n", ""));
    assert_eq!(e.key.as_deref(), Some("geometry"), "{e}");
    assert_eq!(e.line, TINY.lines().position(|l| l == "[geometry]").map(|i| i + 1), "{e}");
}

#[test]
fn what_takes_too_many_cycles_is_what_is_blamed() {
    for (old, new, key) in [
        (
            "page_deviation_us = 10",
            "page_deviation_us = 10\ncolumn_change_ns = 60000",
            "package.column_change_ns",
        ),
        ("timing_mode = 4", "timing_mode = 4\ngap_cycles = 1000", "channel.gap_cycles"),
        ("timing_mode = 4", "timing_mode = 4\nrate_mt_s = 1\nclock_ns = 0.5", "channel.rate_mt_s"),
    ] {
        let e = error(&with(old, new));
        assert_eq!(e.key.as_deref(), Some(key), "{new}: {e}");
        assert!(e.reason.contains("cycles"), "{e}");
    }
}

#[test]
fn broken_toml_names_the_line() {
    let e = error(&with("[geometry]", "[geometry"));
    assert!(e.line.is_some(), "{e}");
    for (old, new, said) in [
        (
            "seed = 7",
            "seed = 7 8",
            "seed: not a number, true or false, a text in quotes or a list such as [58, 90]: seed = 7 8",
        ),
        (
            "seed = 7",
            "seed = tru",
            "seed: not a number, true or false, a text in quotes or a list such as [58, 90]: seed = tru",
        ),
        ("seed = 7", "seed = 0x", "seed: not a number: seed = 0x"),
        ("seed = 7", "seed", "a key without = and a value: seed"),
        ("seed = 7", "= 7", "a key or a table without a name: = 7"),
        ("model = \"TINY\"", "model = \"TINY", "model: the text has no closing \": model = \"TINY"),
        ("read_us = [58, 90]", "read_us = [58 90]", "or a list such as [58, 90]: read_us = [58 90]"),
    ] {
        let e = error(&with(old, new)).to_string();
        assert!(e.contains(said) && !e.contains("expected"), "{new}: {e}");
    }
}

/// C31 and C83: a one-shot program writes all pages of a word line.
#[test]
fn a_restriction_leaves_word_lines_whole_that_are_programmed_in_one_shot() {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "cosmos-tlc").expect("it is shipped");
    let with = |restrict: &str| {
        Profile::parse("drive.toml", &text.replacen("[package]", &format!("{restrict}\n[package]"), 1))
    };
    assert!(with("[restrict]\npages_per_block = 9").is_ok());
    let e = with("[restrict]\npages_per_block = 10").unwrap_err();
    assert_eq!(e.key.as_deref(), Some("restrict.pages_per_block"), "{e}");
    let e = with("[restrict]\nlsb_pages = true").unwrap_err();
    assert!(e.key.as_deref() == Some("scheduler.one_shot") && e.reason.contains("restrict.lsb_pages"), "{e}");
}

#[test]
fn small_blocks_on_a_drive_that_keeps_fingerprints_are_refused() {
    let e = error(&with("seed = 7", "seed = 7\ncontent = \"fingerprint\""));
    assert_eq!(e.key.as_deref(), Some("host.block_bytes"));
}

/// The tiny profile with its package and geometry replaced by a shipped package and the keys in `more`.
fn with_part(part: &str, more: &str) -> String {
    let start = TINY.find("[geometry]").expect("a table");
    let end = TINY.find("[channel]").expect("a table");
    let rest = TINY[end..].replace("gc_free_blocks", "# gc_free_blocks");
    format!("{}[geometry]\nchannels = 1\n\n[package]\npart = \"{part}\"\n{more}\n\n{rest}", &TINY[..start])
}

#[test]
fn each_shipped_package_makes_a_drive_that_the_rooms_accept() {
    for (part, _) in PACKAGES {
        let profile =
            Profile::parse("drive.toml", &with_part(part, "")).unwrap_or_else(|e| panic!("{part}: {e}"));
        let nand = crate::configure::nand(&profile, aster_units::Content::Full).unwrap();
        let flash = crate::configure::flash(&profile).unwrap();
        assert_eq!(nand.variant.commands, flash.variant.commands, "{part}");
        assert_eq!(flash.variant.id, Some(nand.identity.id), "{part}");
    }
}

/// Table I: tR 100, 78 and 53 µs; pages of 16,384 bytes; 8, 8 and 2 LUNs per channel (B21). One LUN reads at
/// 57.5, 62.3 and 68.8 MB/s at 100 MT/s when a transfer takes 185 µs (B24).
#[test]
fn the_packages_of_table_i_have_its_numbers() {
    for (part, t_r, luns, megabytes) in
        [("hynix", 100.0, 8, 57.5), ("toshiba", 78.0, 8, 62.3), ("micron", 53.0, 2, 68.8)]
    {
        let profile = Profile::parse("drive.toml", &with_part(part, "")).unwrap();
        let g = profile.array_geometry();
        assert_eq!((g.page_bytes, g.luns_per_channel()), (16_384, luns), "{part}");
        assert_eq!(g.raw_page_bytes(), 18_048, "(G20)");
        assert!(profile.package.read_us.iter().all(|t| *t == t_r), "{part}");
        let ideal: f64 = 16_384.0 / (t_r + 185.0);
        assert!((ideal - megabytes).abs() < 0.06, "{part}: {ideal}");
    }
}

#[test]
fn an_unknown_package_lists_those_there_are() {
    let e = error(&with_part("hinix", ""));
    assert_eq!(e.key.as_deref(), Some("package.part"));
    assert!(e.reason.contains("hynix, micron, mt29f1t08, onfi-slc, tlc-3d, toshiba"), "{e}");
    let line = with_part("hinix", "").lines().position(|l| l.starts_with("part = ")).map(|i| i + 1);
    assert_eq!(e.line, line);
    assert!(error(&with_part("hynix", "").replace("\"hynix\"", "7")).reason.contains("a package's name"));
}

#[test]
fn what_the_profile_says_comes_in_the_package_s_place() {
    let text =
        with_part("hynix", "erase_us = 4000\nerrors.fresh = 1e-9").replace("channels = 1", "channels = 2");
    let profile = Profile::parse("drive.toml", &text).unwrap();
    assert_eq!((profile.package.erase_us, profile.package.errors.fresh), (4_000.0, 1e-9));
    assert_eq!((profile.geometry.channels, profile.geometry.ways), (2, 8));
    assert_eq!(profile.package.errors.msb_factor, 1.8, "the rest stays");
}

#[test]
fn a_misspelt_key_beside_a_package_is_named_with_its_line() {
    let text = with_part("hynix", "erase_su = 4000");
    let e = error(&text);
    assert_eq!(e.key.as_deref(), Some("package.erase_su"));
    assert_eq!(e.line, text.lines().position(|l| l == "erase_su = 4000").map(|i| i + 1));
    assert!(e.reason.contains("did you mean 'erase_us'"), "{e}");
    let text = with_part("hynix", "\n[package.suspand]\nerase = 1");
    assert_eq!(error(&text).key.as_deref(), Some("package.suspand"));
}

#[test]
fn a_package_that_contradicts_itself_or_its_bus_is_refused() {
    let too_fast = with_part("hynix", "").replace("timing_mode = 4", "timing_mode = 5");
    assert_eq!(error(&too_fast).key.as_deref(), Some("channel.timing_mode"));
    let cases = [
        ("slc.prefix = 0x70", "opcodes that are free"),
        ("suspend.latency_us = 0", "must be from"),
        ("retry.feature = 1", "must be from 128"),
        ("retry.levels_mv = [0]", "must be from 2"),
    ];
    for (line, reason) in cases {
        let e = error(&with_part("micron", line));
        assert!(e.reason.contains(reason), "{line}: {e}");
    }
}

/// Each key that only vendor commands reveal reaches the package and, if the firmware needs it, the firmware.
#[test]
fn vendor_keys_reach_package_and_firmware() {
    let parse = |more: &str| Profile::parse("drive.toml", &with_part("tlc-3d", more)).unwrap();
    let configs = |profile: &Profile| {
        let nand = crate::configure::nand(profile, aster_units::Content::Full).unwrap();
        (nand, format!("{:?}", crate::configure::flash(profile).unwrap().variant))
    };
    let plain = configs(&parse(""));
    for (line, asks) in [
        ("pair_loss = false", false),
        ("slc.prefix = 0xDA", true),
        ("slc.read_us = 26", true),
        ("slc.program_us = 260", true),
        ("slc.erase_us = 5100", true),
        ("one_shot.prefixes = [1, 2, 4]", true),
        ("one_shot.load_confirm = 0x1B", true),
        ("one_shot.program_us = 2400", true),
        ("suspend.erase = 0x62", true),
        ("suspend.erase_resume = 0xD3", true),
        ("suspend.program = 0x86", true),
        ("suspend.program_resume = 0x14", true),
        ("suspend.latency_us = 50", true),
        ("retry.feature = 0x8A", true),
        ("retry.levels_mv = [0, -10]", true),
        ("errors.slc_factor = 0.5", false),
    ] {
        let changed = configs(&parse(line));
        assert!(changed.0 != plain.0, "{line} doesn't reach the package");
        assert_eq!(changed.1 != plain.1, asks, "{line} and the firmware");
    }
}

/// The chosen number of blocks is the smallest that gives the drive its capacity and spare. It is written
/// out, and a profile with it means the same drive.
#[test]
fn a_capacity_by_name_chooses_the_blocks() {
    let of = |capacity: &str| parsed(&with("blocks_per_lun = 24", &format!("capacity = \"{capacity}\"")));
    for (capacity, bytes) in [("20 MiB", 20u64 << 20), ("100 MB", 100_003_840), ("1 GiB", 1 << 30)] {
        let profile = of(capacity);
        let pages = bytes.div_ceil(16_384);
        assert_eq!(crate::namespace(&profile, None, None).unwrap().0, pages * 16_384, "{capacity}");
        let blocks = profile.geometry.blocks_per_lun;
        let text = profile.to_toml().unwrap();
        assert_eq!(parsed(&text), profile, "{capacity}");
        let fewer = text.replace(
            &format!("blocks_per_lun = {blocks}\n"),
            &format!("blocks_per_lun = {}\n", blocks - u32::from(profile.geometry.planes)),
        );
        assert!(error(&fewer).reason.contains("blocks per LUN"), "{capacity}: {}", error(&fewer));
    }
    // A restricted array gets the capacity that its spare leaves.
    let mut restricted = of("1 GiB");
    restricted.restrict.blocks_per_lun = Some(24);
    let all = parsed(&with("blocks_per_lun = 24", "blocks_per_lun = 24"));
    let bytes = |profile| crate::namespace(profile, None, None).unwrap().0;
    assert_eq!(bytes(&restricted), bytes(&all));
}
