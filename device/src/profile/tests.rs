use super::*;

const TINY: &str = include_str!("../../../profiles/tiny.toml");

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
            "cosmos-board, cosmos-ocssd, cosmos-plus, cosmos-tlc, host-ftl, host-ftl-small, \
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

/// One bad value for each range and relation that the schema checks: (line of the profile, replacement, key).
const BAD_VALUES: &[(&str, &str, &str)] = &[
    ("channels = 2", "channels = 65", "geometry.channels"),
    ("slice_workers = 16", "slice_workers = 16\ntable_blocks = \"hide\"", "ftl.table_blocks"),
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
    ("[package]", "[restrict]\nplanes = 4\n[package]", "restrict.planes"),
    ("[package]", "[restrict]\nplanes = 0\n[package]", "restrict.planes"),
    // One of two planes has half of 24 blocks.
    ("[package]", "[restrict]\nplanes = 1\nblocks_per_lun = 13\n[package]", "restrict.blocks_per_lun"),
    ("[package]", "[restrict]\npages_per_block = 17\n[package]", "restrict.pages_per_block"),
    ("[package]", "[restrict]\npages_per_block = 0\n[package]", "restrict.pages_per_block"),
    (
        "[package]\nmanufacturer = \"ASTER\"\nmodel = \"TINY\"\n\
         id = [0x2C, 0xA4, 0x64, 0x32, 0xAA, 0x00]\ncells = \"mlc\"",
        "[restrict]\nlsb_pages = true\n[package]\nmanufacturer = \"ASTER\"\nmodel = \"TINY\"\n\
         id = [0x2C, 0xA4, 0x64, 0x32, 0xAA, 0x00]\ncells = \"slc\"",
        "restrict.lsb_pages",
    ),
    // 8 of 16 pages of MLC are LSB pages.
    ("[package]", "[restrict]\nlsb_pages = true\npages_per_block = 9\n[package]", "restrict.pages_per_block"),
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
    ("msb_factor = 2", "msb_factor = 2\nread_noise_mv = 1", "package.errors.read_noise_mv"),
    ("timing_mode = 4", "timing_mode = 4\nclock_ns = 0", "channel.clock_ns"),
    ("timing_mode = 4", "timing_mode = 4\nrate_mt_s = 0", "channel.rate_mt_s"),
    ("corrected = 13", "corrected = 15", "ecc.corrected"),
    ("designed = 14", "designed = 0", "ecc.designed"),
    ("generation = 2", "generation = 9", "link.generation"),
    ("lanes = 4", "lanes = 3", "link.lanes"),
    ("latency_ns = 300", "unlimited = true", "link.latency_ns"),
    ("latency_ns = 300", "latency_ns = 300\npacket_payload = 1", "link.packet_payload"),
    ("frequency_mhz = 1000", "frequency_mhz = 0", "cores.frequency_mhz"),
    ("[host]", "[host]\nworkers_per_queue = 8", "host.workers_per_queue"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\nworkers_per_queue = 65", "host.workers_per_queue"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\nfetch_ns = 400", "host.fetch_ns"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\ncompletion_ns = 400", "host.completion_ns"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\ndma_ns = 400", "host.dma_ns"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\nfetch_batch = 4", "host.fetch_batch"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\narbitration = \"weighted\"", "host.arbitration"),
    ("command = 500", "command = 500\nnvme_fetch = 100", "costs.nvme_fetch"),
    ("command = 500", "command = 500\nnvme_parse = 100", "costs.nvme_parse"),
    ("command = 500", "command = 500\nnvme_transfer = 100", "costs.nvme_transfer"),
    ("command = 500", "command = 500\nnvme_complete = 100", "costs.nvme_complete"),
    ("command = 500", "command = 500\nnvme_interrupt = 100", "costs.nvme_interrupt"),
    ("flash_core = true", "flash_core = true\nflash_mhz = 0.5", "cores.flash_mhz"),
    ("flash_core = true", "flash_mhz = 500", "cores.flash_mhz"),
    ("over_provisioning_percent = 32", "over_provisioning_percent = 0", "ftl.over_provisioning_percent"),
    ("buffer_entries = 32", "buffer_entries = 1", "ftl.buffer_entries"),
    ("buffer_entries = 32", "buffer_entries = 32\nkind = \"pages\"", "ftl.kind"),
    ("[host]", "[host]\ncommand_set = \"kv\"", "host.command_set"),
    ("[host]", "[host]\nfront_end = \"mailbox\"", "host.front_end"),
    ("[package]", "[own]\npages = 64\n[package]", "own"),
    ("[package]", "[target]\nkind = \"ours\"\n[package]", "target.kind"),
    ("[package]", "[target]\nkind = \"pblk\"\nsectors_per_write = 65\n[package]", "target.sectors_per_write"),
    ("[package]", "[target]\nkind = \"pblk\"\nmap_mib = 0\n[package]", "target.map_mib"),
    ("[package]", "[target]\nkind = \"x\"\ngather_pages = 65537\n[package]", "target.gather_pages"),
    ("[package]", "[target]\nkind = \"pblk\"\none_write_per_lun = 2\n[package]", "target.one_write_per_lun"),
    ("[package]", "[target]\nkind = \"ours\"\ncommand_ns = 2000000000\n[package]", "target.command_ns"),
    ("buffer_entries = 32", "buffer_entries = 32\nvictims = \"oldest\"", "ftl.victims"),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nvictims = \"d-choices\"\nvictim_choices = 0",
        "ftl.victim_choices",
    ),
    ("buffer_entries = 32", "buffer_entries = 32\nvictim_choices = 2", "ftl.victim_choices"),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nvictims = \"windowed-greedy\"\nvictim_window_percent = 101",
        "ftl.victim_window_percent",
    ),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nvictims = \"d-choices\"\nvictim_window_percent = 20",
        "ftl.victim_window_percent",
    ),
    ("buffer_entries = 32", "buffer_entries = 32\nplacement = \"diagonal\"", "ftl.placement"),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nassigner = \"random\"\nplacement = \"way-first\"",
        "ftl.assigner",
    ),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nassigner = \"channel-first\"\nplacement = \"way-first\"",
        "ftl.assigner",
    ),
    ("buffer_entries = 32", "buffer_entries = 32\nmapping = \"elsewhere\"", "ftl.mapping"),
    ("buffer_entries = 32", "buffer_entries = 32\nmap_cache_bytes = 100000", "ftl.map_cache_bytes"),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nmapping = \"demand-paged\"\nmap_cache_bytes = 100",
        "ftl.map_cache_bytes",
    ),
    ("buffer_entries = 32", "buffer_entries = 32\nmapping_unit_bytes = 3000", "ftl.mapping_unit_bytes"),
    ("buffer_entries = 32", "buffer_entries = 32\nmapping_unit_bytes = 256", "ftl.mapping_unit_bytes"),
    ("buffer_entries = 32", "buffer_entries = 32\nmapping_unit_bytes = 32768", "ftl.mapping_unit_bytes"),
    ("slice_workers = 16", "slice_workers = 0", "ftl.slice_workers"),
    ("slice_workers = 16", "slice_workers = 16\ngc_free_blocks = 1", "ftl.gc_free_blocks"),
    ("slice_workers = 16", "slice_workers = 16\ngc_depth = 17", "ftl.gc_depth"),
    ("slice_workers = 16", "slice_workers = 16\nwear_spread = 0", "ftl.wear_spread"),
    (
        "slice_workers = 16",
        "slice_workers = 16\nrefresh_corrected_percent = 101",
        "ftl.refresh_corrected_percent",
    ),
    ("slice_workers = 16", "slice_workers = 16\nbackground_gap_us = 1000001", "ftl.background_gap_us"),
    ("[host]", "[host]\nspare_threshold_percent = 101", "host.spare_threshold_percent"),
    ("queue_pairs = 4", "queue_pairs = 65", "host.queue_pairs"),
    ("queue_entries = 4096", "queue_entries = 1", "host.queue_entries"),
    ("command_slots = 32", "command_slots = 0", "host.command_slots"),
    ("block_bytes = 512", "block_bytes = 520", "host.block_bytes"),
    ("block_bytes = 512", "block_bytes = 512\ntransfer_bytes_max = 5000", "host.transfer_bytes_max"),
    // MDTS would encode 4096 as 0, which means no limit.
    ("block_bytes = 512", "block_bytes = 512\ntransfer_bytes_max = 4096", "host.transfer_bytes_max"),
    (
        "page_deviation_us = 10",
        "page_deviation_us = 10\ncolumn_change_ns = 65536",
        "package.column_change_ns",
    ),
    ("block_bytes = 512", "block_bytes = 512\nfetch_batch = 0", "host.fetch_batch"),
    ("block_bytes = 512", "block_bytes = 512\ncompletion_ns = 2000000000", "host.completion_ns"),
    ("block_bytes = 512", "block_bytes = 512\ndma_ns = 2000000000", "host.dma_ns"),
    ("block_bytes = 512", "block_bytes = 512\ndma_requests = 0", "host.dma_requests"),
    ("timing_mode = 4", "timing_mode = 4\nfifo_cycles = 2000000", "channel.fifo_cycles"),
    ("timing_mode = 4", "timing_mode = 4\ngap_cycles = 2000000", "channel.gap_cycles"),
    ("timing_mode = 4", "timing_mode = 9", "channel.timing_mode"),
    ("correct_ns = 1500", "correct_ns = 2000000000", "ecc.correct_ns"),
    ("correct_ns = 1500", "solver_channels = 3", "ecc.solver_channels"),
    ("correct_ns = 1500", "solver_ns = 2000000000", "ecc.solver_ns"),
    ("latency_ns = 300", "latency_ns = 300\npacket_overhead = 2000", "link.packet_overhead"),
    ("latency_ns = 300", "latency_ns = 300\nvendor_id = 0xFFFF", "link.vendor_id"),
    ("[ftl]", "[poll]\ninterval_ns = 0\n[ftl]", "poll.interval_ns"),
    ("[ftl]", "[poll]\nearly_ns = 2000000000\n[ftl]", "poll.early_ns"),
    ("[ftl]", "[poll]\npatience = 1\n[ftl]", "poll.patience"),
    ("[ftl]", "[scheduler]\nread_retries = 101\n[ftl]", "scheduler.read_retries"),
    ("[ftl]", "[scheduler]\npoll_ns = 1000001\n[ftl]", "scheduler.poll_ns"),
    ("[ftl]", "[scheduler]\npolicy = \"cosmos\"\n[ftl]", "scheduler.policy"),
    ("[ftl]", "[scheduler]\npolicy = \"lifo\"\n[ftl]", "scheduler.policy"),
    ("[ftl]", "[scheduler]\none_shot = true\n[ftl]", "scheduler.one_shot"),
    (
        "factory_bad_per_mille = 20",
        "program_failures_per_million = 2000000",
        "package.program_failures_per_million",
    ),
    (
        "factory_bad_per_mille = 20",
        "erase_failures_per_million = 2000000",
        "package.erase_failures_per_million",
    ),
    ("factory_bad_per_mille = 20", "failure_growth = -1", "package.failure_growth"),
    ("factory_bad_per_mille = 20", "endurance = 0", "package.endurance"),
    ("factory_bad_per_mille = 20", "wear_out_percent = 2000000", "package.wear_out_percent"),
    ("factory_bad_per_mille = 20", "endurance = 9\nwear_out_percent = 10", "package.wear_out_percent"),
    ("factory_bad_per_mille = 20", "nv_ddr2_mode_max = 8", "package.nv_ddr2_mode_max"),
    // More wrong bits than the code corrects: 0.02 of 2,216, and twice that on MSB pages.
    ("fresh = 1e-5", "fresh = 2e-2", "package.errors.fresh"),
    ("fresh = 1e-5", "cycle = 0.9", "package.errors.cycle"),
    ("fresh = 1e-5", "cycle_squared = 0.9", "package.errors.cycle_squared"),
    ("fresh = 1e-5", "retention = 0.9", "package.errors.retention"),
    ("fresh = 1e-5", "read = 0.9", "package.errors.read"),
    ("fresh = 1e-5", "csb_factor = -1", "package.errors.csb_factor"),
    ("fresh = 1e-5", "slc_factor = -1", "package.errors.slc_factor"),
    ("fresh = 1e-5", "retention_shift_mv = -1", "package.errors.retention_shift_mv"),
    ("fresh = 1e-5", "level_width_mv = -1", "package.errors.level_width_mv"),
    ("fresh = 1e-5", "neighbour = -1", "package.errors.neighbour"),
    ("fresh = 1e-5", "coupling_mv = -1", "package.errors.coupling_mv"),
    ("fresh = 1e-5", "coupling_mv = 5\nlifted = [1, 1, 1, 0]", "package.errors.coupling_mv"),
    ("fresh = 1e-5", "coupling_mv = 5\nlevel_width_mv = 9\nneighbour = 0.1", "package.errors.coupling_mv"),
    ("fresh = 1e-5", "coupling_mv = 5\nlevel_width_mv = 9\nlifted = [1, 1]", "package.errors.lifted"),
    ("fresh = 1e-5", "coupling_mv = 5\nlevel_width_mv = 9\nlifted = [1, 1, 2, 0]", "package.errors.lifted"),
    ("fresh = 1e-5", "lifted = [1, 1, 1, 0]", "package.errors.lifted"),
    (
        "[channel]",
        "[package.slc]\nprefix = 0xDA\nread_us = 0\nprogram_us = 1\nerase_us = 1\n[channel]",
        "package.slc.read_us",
    ),
    (
        "[channel]",
        "[package.slc]\nprefix = 0xDA\nread_us = 1\nprogram_us = 0\nerase_us = 1\n[channel]",
        "package.slc.program_us",
    ),
    (
        "[channel]",
        "[package.slc]\nprefix = 0xDA\nread_us = 1\nprogram_us = 1\nerase_us = 0\n[channel]",
        "package.slc.erase_us",
    ),
    (
        "[channel]",
        "[package.one_shot]\nprefixes = [1, 2, 3]\nload_confirm = 0x1A\nprogram_us = 0\n[channel]",
        "package.one_shot.program_us",
    ),
    (
        "[channel]",
        "[package.suspend]\nerase = 1\nerase_resume = 2\nprogram = 3\nprogram_resume = 4\n\
         latency_us = 0\n[channel]",
        "package.suspend.latency_us",
    ),
    ("[channel]", "[package.retry]\nfeature = 1\nlevels_mv = [0, 1]\n[channel]", "package.retry.feature"),
    ("[channel]", "[package.retry]\nfeature = 137\nlevels_mv = [0]\n[channel]", "package.retry.levels_mv"),
    ("[link]", "[board.buses]\nmemory_mb_per_s = 2000000000\n[link]", "board.buses.memory_mb_per_s"),
    ("[link]", "[board.buses]\nhost_mb_per_s = 2000000000\n[link]", "board.buses.host_mb_per_s"),
    ("[link]", "[board.buses]\nchannels_mb_per_s = 2000000000\n[link]", "board.buses.channels_mb_per_s"),
    ("[link]", "[board.buses]\nchannel_mb_per_s = 2000000000\n[link]", "board.buses.channel_mb_per_s"),
    ("[link]", "[board.buses]\nchannel_read_mb_per_s = -1.0\n[link]", "board.buses.channel_read_mb_per_s"),
    ("[link]", "[board.buses]\nchannel_write_mb_per_s = 2e9\n[link]", "board.buses.channel_write_mb_per_s"),
    (
        "[link]",
        "[board.buses]\nprocessor_memory_mb_per_s = 2000000000\n[link]",
        "board.buses.processor_memory_mb_per_s",
    ),
    (
        "[link]",
        "[board.buses]\ncentral_memory_mb_per_s = 2000000000\n[link]",
        "board.buses.central_memory_mb_per_s",
    ),
    ("[link]", "uncached_ns = 2000000\n[link]", "board.uncached_ns"),
    ("[link]", "[board.buses]\nregister_cycles = 20000\n[link]", "board.buses.register_cycles"),
    (
        "[link]",
        "[board.buses]\nregister_cycles = 1\ncentral_mhz = 1\ncontrol_mhz = 1\n[link]",
        "board.buses.processor_mhz",
    ),
    (
        "[link]",
        "[board.buses]\nregister_cycles = 1\nprocessor_mhz = 1\ncontrol_mhz = 1\n[link]",
        "board.buses.central_mhz",
    ),
    (
        "[link]",
        "[board.buses]\nregister_cycles = 1\nprocessor_mhz = 1\ncentral_mhz = 1\n[link]",
        "board.buses.control_mhz",
    ),
    ("slice = 200", "slice = 20000000", "costs.slice"),
    ("slice = 200", "translate = 20000000", "costs.translate"),
    ("slice = 200", "buffer = 20000000", "costs.buffer"),
    ("slice = 200", "dma = 20000000", "costs.dma"),
    ("slice = 200", "complete = 20000000", "costs.complete"),
    ("slice = 200", "move_page = 20000000", "costs.move_page"),
    ("flash_request = 200", "flash_request = 20000000", "costs.flash_request"),
    ("transaction = 100", "transaction = 20000000", "costs.transaction"),
    ("poll = 100", "poll = 20000000", "costs.poll"),
    ("slice = 200", "loop_pass = 20000000", "costs.loop_pass"),
    ("slice = 200", "loop_status = 20000000", "costs.loop_status"),
    ("slice = 200", "loop_compare = 20000000", "costs.loop_compare"),
    ("slice = 200", "loop_issue = 20000000", "costs.loop_issue"),
    ("slice = 200", "loop_finish = 20000000", "costs.loop_finish"),
    ("slice = 200", "fil_take = 20000000", "costs.fil_take"),
    ("slice = 200", "fil_dispatch = 20000000", "costs.fil_dispatch"),
    ("slice = 200", "fil_poll = 20000000", "costs.fil_poll"),
    ("slice = 200", "fil_finish = 20000000", "costs.fil_finish"),
    ("slice = 200", "ecc_submit = 20000000", "costs.ecc_submit"),
    ("slice = 200", "ecc_frame = 20000000", "costs.ecc_frame"),
    ("slice = 200", "ecc_error = 20000000", "costs.ecc_error"),
    ("slice = 200", "ecc_submit = 1", "costs.ecc_submit"),
    ("slice = 200", "ecc_frame = 1", "costs.ecc_frame"),
    ("slice = 200", "ecc_error = 1", "costs.ecc_error"),
    ("flash_core = true", "flash_core = true\necc_core = true", "cores.ecc_core"),
    ("flash_core = true", "flash_core = true\necc_mhz = 500", "cores.ecc_mhz"),
    ("flash_core = true", "flash_core = true\necc_core = true\necc_mhz = 0.5", "cores.ecc_mhz"),
    ("correct_ns = 1500", "correction = \"on-demand\"", "ecc.correction"),
    (
        "correct_ns = 1500",
        "correct_ns = 1500\ncorrection = \"on-demand\"\nscrambler = false",
        "ecc.correct_ns",
    ),
    (
        "correct_ns = 1500",
        "solver_channels = 2\ncorrection = \"on-demand\"\nscrambler = false",
        "ecc.solver_channels",
    ),
    ("correct_ns = 1500", "solver_ns = 300\ncorrection = \"on-demand\"\nscrambler = false", "ecc.solver_ns"),
];

/// Each check of the schema needs a bad value here.
#[test]
fn no_check_is_left_out() {
    let sources = concat!(
        include_str!("check.rs"),
        include_str!("schema.rs"),
        include_str!("scheduler.rs"),
        include_str!("softssd.rs"),
        include_str!("package.rs")
    );
    let words: Vec<_> = sources.split('"').skip(1).step_by(2).collect();
    // A package's name has its own test.
    let checked = words.iter().filter(|word| {
        let of_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
        word.contains('.') && word.chars().all(of_key) && **word != "package.part"
    });
    let tried: Vec<_> = BAD_VALUES.iter().map(|(_, _, key)| *key).collect();
    let left_out: Vec<_> = checked.filter(|key| !tried.contains(key)).collect();
    assert!(left_out.is_empty(), "no bad value is tried for {left_out:?}");
    assert!(tried.len() > 90, "{}", tried.len());
}

#[test]
fn each_bad_value_names_its_key_and_what_is_allowed() {
    for (old, new, key) in BAD_VALUES {
        let e = error(&with(old, new));
        assert_eq!(e.key.as_deref(), Some(*key), "{new}: {e}");
        assert!(e.reason.contains("must") || e.reason.contains("only") || e.reason.contains("gives"), "{e}");
        // A message about a number says what it is and what it must be.
        let forms = ["must be from ", "must be 1, 2", "must be 512", "must be a power", "must be a multiple"];
        if forms.iter().any(|form| e.reason.starts_with(form)) {
            assert!(e.reason.contains(", but is ") || e.reason.contains(", but one is "), "{e}");
        }
        if !new.contains("[package]") {
            assert!(e.line.is_some(), "{e}");
        }
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
