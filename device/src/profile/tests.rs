use super::*;

const TINY: &str = include_str!("../../../profiles/tiny.toml");

fn error(text: &str) -> ProfileError {
    Profile::parse("drive.toml", text).expect_err("the profile is wrong")
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
    assert!(e.to_string().contains("cosmos-plus, ideal, tiny"), "{e}");
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
    let e = error(&format!("{TINY}\n[flt]\nx = 1\n"));
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

/// What is wrong only when parts meet: (line of the profile, replacement, key, line that is named).
const MISFITS: &[(&str, &str, &str, &str)] = &[
    (
        "over_provisioning_percent = 32",
        "over_provisioning_percent = 1",
        "ftl.over_provisioning_percent",
        "over_provisioning_percent = 1",
    ),
    ("timing_mode = 4", "timing_mode = 9", "channel.timing_mode", "timing_mode = 9"),
    ("spare_bytes = 1664", "spare_bytes = 100", "ecc", "[ecc]"),
    ("model = \"TINY\"", "model = \"µ\"", "package.model", "model = \"µ\""),
    (
        "slice_workers = 16",
        "slice_workers = 16\ngc_free_blocks = 9\n[restrict]\nblocks_per_lun = 8",
        "ftl.gc_free_blocks",
        "gc_free_blocks = 9",
    ),
    // A key that has its default stands at its table's header.
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
    let e = error(&with("channels = 2", "channels = \"two\""));
    assert_eq!(e.key.as_deref(), Some("geometry.channels"));
    assert!(e.line.is_some() && e.reason.contains("invalid type"), "{e}");
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
fn broken_toml_names_the_line() {
    let e = error(&with("[geometry]", "[geometry"));
    assert!(e.line.is_some(), "{e}");
}

/// One bad value for each range and relation that the schema checks: (line of the profile, replacement, key).
const BAD_VALUES: &[(&str, &str, &str)] = &[
    ("channels = 2", "channels = 65", "geometry.channels"),
    ("ways = 2", "ways = 0", "geometry.ways"),
    ("luns = 2", "luns = 3", "geometry.luns"),
    ("planes = 2", "planes = 5", "geometry.planes"),
    ("blocks_per_lun = 24", "blocks_per_lun = 25", "geometry.blocks_per_lun"),
    ("pages_per_block = 16", "pages_per_block = 5000", "geometry.pages_per_block"),
    ("page_bytes = 16384", "page_bytes = 10000", "geometry.page_bytes"),
    ("spare_bytes = 1664", "spare_bytes = 60000", "geometry.spare_bytes"),
    ("[package]", "[restrict]\nchannels = 3\n[package]", "restrict.channels"),
    ("[package]", "[restrict]\nways = 3\n[package]", "restrict.ways"),
    ("[package]", "[restrict]\nblocks_per_lun = 48\n[package]", "restrict.blocks_per_lun"),
    ("read_us = [58, 90]", "read_us = [58]", "package.read_us"),
    ("program_us = [481, 2295]", "program_us = [481, -1]", "package.program_us"),
    ("erase_us = 5000", "erase_us = 0", "package.erase_us"),
    ("die_deviation_us = 3", "die_deviation_us = -3", "package.die_deviation_us"),
    ("page_deviation_us = 10", "page_deviation_us = 1e9", "package.page_deviation_us"),
    ("page_deviation_us = 10", "page_deviation_us = 60", "package.page_deviation_us"),
    (
        "page_deviation_us = 10",
        "page_deviation_us = 10\ncolumn_change_ns = 4000000000",
        "package.column_change_ns",
    ),
    ("field = 12", "field = 70000", "ecc.field"),
    ("detect_ns = 3000", "detect_ns = 2000000000", "ecc.detect_ns"),
    ("dram_mb_per_s = 4000", "dram_mb_per_s = 9000000000000000000", "board.dram_mb_per_s"),
    ("latency_ns = 300", "latency_ns = 2000000000", "link.latency_ns"),
    ("interrupt_ns = 200", "interrupt_ns = 2000000000", "cores.interrupt_ns"),
    ("command = 500", "command = 9000000000000000000", "costs.command"),
    ("block_bytes = 512", "block_bytes = 512\nfetch_ns = 2000000000", "host.fetch_ns"),
    ("factory_bad_per_mille = 20", "factory_bad_per_mille = 900", "package.factory_bad_per_mille"),
    ("fresh = 1e-5", "fresh = 0.9", "package.errors.fresh"),
    ("msb_factor = 2", "msb_factor = -2", "package.errors.msb_factor"),
    ("timing_mode = 4", "timing_mode = 4\nclock_ns = 0", "channel.clock_ns"),
    ("timing_mode = 4", "timing_mode = 4\nrate_mt_s = 0", "channel.rate_mt_s"),
    ("corrected = 13", "corrected = 15", "ecc.corrected"),
    ("designed = 14", "designed = 0", "ecc.designed"),
    ("generation = 2", "generation = 9", "link.generation"),
    ("lanes = 4", "lanes = 3", "link.lanes"),
    ("latency_ns = 300", "latency_ns = 300\npacket_payload = 1", "link.packet_payload"),
    ("frequency_mhz = 1000", "frequency_mhz = 0", "cores.frequency_mhz"),
    ("over_provisioning_percent = 32", "over_provisioning_percent = 0", "ftl.over_provisioning_percent"),
    ("buffer_entries = 32", "buffer_entries = 1", "ftl.buffer_entries"),
    ("slice_workers = 16", "slice_workers = 0", "ftl.slice_workers"),
    ("slice_workers = 16", "slice_workers = 16\ngc_free_blocks = 1", "ftl.gc_free_blocks"),
    ("slice_workers = 16", "slice_workers = 16\ngc_depth = 17", "ftl.gc_depth"),
    ("queue_pairs = 4", "queue_pairs = 65", "host.queue_pairs"),
    ("queue_entries = 64", "queue_entries = 1", "host.queue_entries"),
    ("command_slots = 32", "command_slots = 0", "host.command_slots"),
    ("block_bytes = 512", "block_bytes = 520", "host.block_bytes"),
    ("block_bytes = 512", "block_bytes = 512\ntransfer_bytes_max = 5000", "host.transfer_bytes_max"),
    ("block_bytes = 512", "block_bytes = 512\nfetch_batch = 0", "host.fetch_batch"),
];

#[test]
fn each_bad_value_names_its_key_and_what_is_allowed() {
    for (old, new, key) in BAD_VALUES {
        let e = error(&with(old, new));
        assert_eq!(e.key.as_deref(), Some(*key), "{new}: {e}");
        assert!(e.reason.contains("must") || e.reason.contains("only") || e.reason.contains("gives"), "{e}");
        if !new.contains("[package]") {
            assert!(e.line.is_some(), "{e}");
        }
    }
}

#[test]
fn small_blocks_on_a_drive_that_keeps_fingerprints_are_refused() {
    let e = error(&with("seed = 7", "seed = 7\ncontent = \"fingerprint\""));
    assert_eq!(e.key.as_deref(), Some("host.block_bytes"));
}
