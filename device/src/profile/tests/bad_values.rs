//! A value that each check of the schema refuses.

use super::{Profile, error, with};

/// One bad value for each range and relation that the schema checks: (line of the profile, replacement, key).
const BAD_VALUES: &[(&str, &str, &str)] = &[
    ("channels = 2", "channels = 65", "geometry.channels"),
    ("slice_workers = 16", "slice_workers = 16\ntable_blocks = \"hide\"", "ftl.table_blocks"),
    ("slice_workers = 16", "slice_workers = 16\nmp_native = true", "ftl.mp_native"),
    ("slice_workers = 16", "slice_workers = 16\nraw_vectors = true", "ftl.raw_vectors"),
    ("slice_workers = 16", "slice_workers = 16\nopen_chunks_max = 4", "ftl.open_chunks_max"),
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
    ("timing_mode = 4", "timing_mode = 4\nlanes = 0", "channel.lanes"),
    ("timing_mode = 4", "timing_mode = 4\nlanes = 9", "channel.lanes"),
    // There are two channels, and one if the array is restricted.
    ("timing_mode = 4", "timing_mode = 4\nlanes = 3", "channel.lanes"),
    ("timing_mode = 4", "timing_mode = 4\nlanes = 2\n[restrict]\nchannels = 1", "channel.lanes"),
    ("corrected = 13", "corrected = 15", "ecc.corrected"),
    ("designed = 14", "designed = 0", "ecc.designed"),
    ("generation = 2", "generation = 9", "link.generation"),
    ("lanes = 4", "lanes = 3", "link.lanes"),
    ("latency_ns = 300", "unlimited = true", "link.latency_ns"),
    ("latency_ns = 300", "latency_ns = 300\npacket_payload = 1", "link.packet_payload"),
    ("frequency_mhz = 1000", "frequency_mhz = 0", "cores.frequency_mhz"),
    ("[host]", "[host]\nworkers_per_queue = 8", "host.workers_per_queue"),
    ("[host]", "[host]\ncommand_fifo = true", "host.command_fifo"),
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
    ("command = 500", "command = 500\nnvme_register = 100", "costs.nvme_register"),
    ("[host]", "[host]\ntransport = \"tlp\"", "host.transport"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\ncompletion_offload = true", "host.completion_offload"),
    ("[host]", "[host]\nfront_end = \"nvme-software\"\nregister_packets = true", "host.register_packets"),
    ("slice = 200", "tlp_build = 20000000", "costs.tlp_build"),
    ("slice = 200", "tlp_build = 1", "costs.tlp_build"),
    ("slice = 200", "tlp_receive = 20000000", "costs.tlp_receive"),
    ("slice = 200", "tlp_receive = 1", "costs.tlp_receive"),
    ("slice = 200", "tlp_copy_kib = 20000000", "costs.tlp_copy_kib"),
    ("slice = 200", "tlp_copy_kib = 1", "costs.tlp_copy_kib"),
    ("slice = 200", "tlp_describe = 20000000", "costs.tlp_describe"),
    ("slice = 200", "tlp_describe = 1", "costs.tlp_describe"),
    ("slice = 200", "tlp_notice = 20000000", "costs.tlp_notice"),
    ("slice = 200", "tlp_notice = 1", "costs.tlp_notice"),
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
    ("[package]", "[target]\nkind = \"pblk\"\npage_cache_mib = 8\n[package]", "target.page_cache_mib"),
    ("[package]", "[target]\nkind = \"hostftl\"\nwear_window = 1\n[package]", "target.wear_window"),
    ("[package]", "[target]\nkind = \"hostftl\"\nregion_percent = -1.0\n[package]", "target.region_percent"),
    ("[package]", "[target]\nkind = \"hostftl\"\nregion_groups = 0\n[package]", "target.region_groups"),
    ("[package]", "[target]\nkind = \"hostftl\"\nregion_accesses = 0\n[package]", "target.region_accesses"),
    ("[package]", "[target]\nkind = \"hostftl\"\nstatus_entries = 17\n[package]", "target.status_entries"),
    ("[package]", "[target]\nkind = \"hostftl\"\nstatus_entries = 2\n[package]", "target.status_entries"),
    ("[package]", "[target]\nkind = \"hostftl\"\nstatus_us = 0\n[package]", "target.status_us"),
    ("[package]", "[target]\nkind = \"hostftl\"\nstatus_us = 9\n[package]", "target.status_us"),
    ("[package]", "[target]\nkind = \"none\"\npage_cache_mib = 64\n[package]", "target.page_cache_mib"),
    ("[package]", "[target]\nkind = \"own\"\npage_cache_mib = 64\n[package]", "target.page_cache_mib"),
    ("[package]", "[target]\nkind = \"x\"\ngather_pages = 65537\n[package]", "target.gather_pages"),
    ("[package]", "[target]\nkind = \"x\"\ncomposite_bytes = 512\n[package]", "target.composite_bytes"),
    ("[package]", "[target]\nkind = \"x\"\nraid = \"both\"\n[package]", "target.raid"),
    ("[package]", "[target]\nkind = \"x\"\nhot_writes = 65537\n[package]", "target.hot_writes"),
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
    ("buffer_entries = 32", "buffer_entries = 32\nstreams = 0", "ftl.streams"),
    ("buffer_entries = 32", "buffer_entries = 32\nstreams = 17", "ftl.streams"),
    ("buffer_entries = 32", "buffer_entries = 32\nstreams = 2", "ftl.stream_policy"),
    ("buffer_entries = 32", "buffer_entries = 32\nstream_policy = \"update-distance\"", "ftl.streams"),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nstreams = 2\nstream_policy = \"temperature\"",
        "ftl.stream_policy",
    ),
    ("buffer_entries = 32", "buffer_entries = 32\nplacement = \"diagonal\"", "ftl.placement"),
    ("buffer_entries = 32", "buffer_entries = 32\nplacement = \"cwdc\"", "ftl.placement"),
    (
        "buffer_entries = 32",
        "buffer_entries = 32\nplacement = \"striped\"\nmapping = \"demand-paged\"",
        "ftl.placement",
    ),
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
    ("queue_pairs = 4", "queue_pairs = 65536", "host.queue_pairs"),
    ("queue_pairs = 4", "queue_pairs = 0", "host.queue_pairs"),
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
    ("[ftl]", "[scheduler]\nsuspends = 4\n[ftl]", "scheduler.suspends"),
    ("[ftl]", "[scheduler]\npolicy = \"reads-first\"\nsuspends = 4\n[ftl]", "scheduler.suspends"),
    ("[ftl]", "[scheduler]\npoll_ns = 1000001\n[ftl]", "scheduler.poll_ns"),
    ("[ftl]", "[scheduler]\npolicy = \"cosmos\"\n[ftl]", "scheduler.policy"),
    ("[ftl]", "[scheduler]\npolicy = \"lifo\"\n[ftl]", "scheduler.policy"),
    ("[ftl]", "[scheduler]\none_shot = true\n[ftl]", "scheduler.one_shot"),
    ("[ftl]", "[scheduler]\nmulti_plane = true\n[ftl]", "scheduler.multi_plane"),
    ("[ftl]", "[scheduler]\npolicy = \"fil\"\nmulti_plane = true\n[ftl]", "scheduler.multi_plane"),
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
    ("[channel]", "[package.slow_lun]\nlun = 8\none_in = 1\ntimes = 2\n[channel]", "package.slow_lun.lun"),
    ("[channel]", "[package.slow_lun]\nlun = 3\none_in = 0\ntimes = 2\n[channel]", "package.slow_lun.one_in"),
    ("[channel]", "[package.slow_lun]\nlun = 3\none_in = 1\ntimes = 0\n[channel]", "package.slow_lun.times"),
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
    ("slice = 200", "ecc_encode = 20000000", "costs.ecc_encode"),
    ("slice = 200", "ecc_encode = 1", "costs.ecc_encode"),
    ("correct_ns = 1500", "detector = \"crc\"", "ecc.detector"),
    ("correct_ns = 1500", "detector = \"parity\"", "ecc.detector"),
    ("slice = 200", "ecc_submit = 1", "costs.ecc_submit"),
    ("slice = 200", "ecc_frame = 1", "costs.ecc_frame"),
    ("slice = 200", "ecc_error = 1", "costs.ecc_error"),
    ("flash_core = true", "flash_core = true\necc_core = true", "cores.ecc_core"),
    ("flash_core = true", "flash_core = true\necc_mhz = 500", "cores.ecc_mhz"),
    ("flash_core = true", "flash_core = true\ntasks = \"threads\"", "cores.tasks"),
    ("flash_core = true", "flash_core = true\nstack_bytes = 65536", "cores.stack_bytes"),
    (
        "flash_core = true",
        "flash_core = true\ntasks = \"stackful\"\nstack_bytes = 16384",
        "cores.stack_bytes",
    ),
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
        include_str!("../check.rs"),
        include_str!("../schema.rs"),
        include_str!("../ecc.rs"),
        include_str!("../lanes.rs"),
        include_str!("../scheduler.rs"),
        include_str!("../softssd.rs"),
        include_str!("../package.rs")
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

/// One loop has one core, and an NVMe drive without cores for controllers has nobody who reads how many lanes
/// a controller has.
#[test]
fn lanes_need_somebody_who_reads_them() {
    let text = with("timing_mode = 4", "timing_mode = 4\nlanes = 1");
    assert!(Profile::parse("tiny", &text).is_ok());
    let one_loop = format!("{text}\n[scheduler]\npolicy = \"fil\"\n");
    for (text, reason) in [
        (text.replace("flash_core = true", ""), "must be left out without cores.flash_core"),
        (one_loop.clone(), "must be left out with scheduler.policy = \"fil\""),
    ] {
        let e = error(&text);
        assert_eq!(e.key.as_deref(), Some("channel.lanes"), "{e}");
        assert!(e.reason.starts_with(reason), "{e}");
    }
    let of_one_controller = one_loop.replace("lanes = 1", "lanes = 2");
    assert!(Profile::parse("tiny", &of_one_controller).is_ok());
}

/// Limits of a link that carries packets of its own.
#[test]
fn packets_have_limits_of_their_own() {
    let packets = "[host]\nfront_end = \"nvme-software\"\ntransport = \"tlp\"";
    for (more, key, reason) in [
        ("packet_payload = 96", "link.packet_payload", "must be a power of two from 128 to 4096"),
        ("packet_payload = 64", "link.packet_payload", "must be a power of two from 128 to 4096"),
        ("latency_ns = 1000001", "link.latency_ns", "must be at most 1000000"),
    ] {
        let text = match more.strip_prefix("latency_ns") {
            Some(_) => with("latency_ns = 300", more),
            None => with("latency_ns = 300", &format!("latency_ns = 300\n{more}")),
        };
        assert!(Profile::parse("tiny", &text).is_ok(), "{more} is for a link of operations");
        let e = error(&text.replace("[host]", packets));
        assert_eq!(e.key.as_deref(), Some(key), "{e}");
        assert!(e.reason.starts_with(reason), "{e}");
    }
}

/// S20: memory bounds the queues, since each has workers.
#[test]
fn more_workers_than_memory_holds_are_refused_with_both_numbers() {
    let text = |pairs: u32, workers: u32, tasks: &str| {
        let host =
            format!("front_end = \"nvme-software\"\nworkers_per_queue = {workers}\nqueue_pairs = {pairs}");
        with("queue_pairs = 4", &host).replace("flash_core = true", &format!("flash_core = true\n{tasks}"))
    };
    for (pairs, workers, tasks) in [(65_535, 16, ""), (16_383, 64, ""), (3_749, 8, "tasks = \"stackful\"")] {
        let parsed = Profile::parse("tiny", &text(pairs, workers, tasks));
        assert!(parsed.is_ok(), "{pairs} pairs of {workers} workers: {:?}", parsed.err());
    }
    for (pairs, workers, tasks, most, all) in
        [(65_535, 17, "", 61_679, 1_114_112), (3_750, 8, "tasks = \"stackful\"", 3_749, 30_008)]
    {
        let e = error(&text(pairs, workers, tasks));
        assert_eq!(e.key.as_deref(), Some("host.queue_pairs"), "{e}");
        assert!(e.reason.starts_with(&format!("must be at most {most} with {workers} workers")), "{e}");
        assert!(e.reason.ends_with(&format!("but is {pairs}, which needs {all}")), "{e}");
    }
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
