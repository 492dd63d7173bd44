//! Mutations: one error in a copy of `rtl`, which the proof for that property must find.

use std::fs;
use std::path::Path;

/// One error.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// What is wrong, for messages.
    pub name: &'static str,
    /// The file, from `rtl`.
    pub file: &'static str,
    /// The text to replace, which must appear once.
    pub from: &'static str,
    /// The replacement.
    pub to: &'static str,
    /// What finds it: the proof that fails, the checker's assertion, or the tests of the gate.
    pub found_by: &'static str,
}

/// The first mutation of each proof is tried every time, and all of them with `ASTER_LONG=1`.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "a latch holds CLE, ALE and DQ a phase too short",
        file: "ufsm/rtl/aster_ca_writer.sv",
        from: "tail_q         <= latch_hold_i;",
        to: "tail_q         <= latch_hold_i - 10'd1;",
        found_by: "ca_writer_pins",
    },
    Mutation {
        name: "WE# low a cycle too short",
        file: "ufsm/rtl/aster_ca_writer.sv",
        from: "assign half  = latch_cycles_i >> 1;",
        to: "assign half  = (latch_cycles_i >> 1) + 8'd1;",
        found_by: "ca_writer_pins",
    },
    Mutation {
        name: "another chip enable in the middle of a transaction",
        file: "ufsm/rtl/aster_chip_control.sv",
        from: "assign ce_no        = ~(begin_i ? chips_i : chips_q);",
        to: "assign ce_no        = ~(begin_i || end_i ? chips_i : chips_q);",
        found_by: "chip_control_keeps",
    },
    Mutation {
        name: "chips never let go",
        file: "ufsm/rtl/aster_chip_control.sv",
        from: "else if (hold_last_o) chips_q <= '0;",
        to: "else if (setup_last_o) chips_q <= chips_q;",
        found_by: "chip_control_keeps",
    },
    Mutation {
        name: "the Timer takes a microsecond for 992 nanoseconds",
        file: "ufsm/rtl/aster_timer.sv",
        from: " - {7'd0, nanoseconds_i, 3'd0};",
        to: " - {6'd0, nanoseconds_i, 4'd0};",
        found_by: "timer_counts",
    },
    Mutation {
        name: "the Timer counts a cycle short",
        file: "ufsm/rtl/aster_timer.sv",
        from: "else if (restart_i) since_q <= 43'd0;",
        to: "else if (restart_i) since_q <= {11'd0, period_i};",
        found_by: "timer_counts",
    },
    Mutation {
        name: "the FIFO doesn't pass a word on that is written while it is empty",
        file: "packetizer/rtl/aster_fifo.sv",
        from: "pass_q <= push_i && write_q == read_d;",
        to: "pass_q <= 1'b0;",
        found_by: "fifo_keeps",
    },
    Mutation {
        name: "the FIFO is full a word too late",
        file: "packetizer/rtl/aster_fifo.sv",
        from: "assign full_o  = count_q[BITS];",
        to: "assign full_o  = count_q[BITS] && count_q[0];",
        found_by: "fifo_keeps",
    },
    Mutation {
        name: "an instruction starts while a read burst goes on",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "!latches_busy_i && !write_busy_i && !read_busy_i;",
        to: "!latches_busy_i && !write_busy_i;",
        found_by: "sequencer_runs_once",
    },
    Mutation {
        name: "the instruction that a Timer stood before is run twice",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "address_q + (is_timer ? 5'd2 : 5'd1);",
        to: "address_q + 5'd1;",
        found_by: "sequencer_runs_once",
    },
    Mutation {
        name: "a transaction is over a second time",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "else if (over_o) released_q <= 1'b0;",
        to: "else if (begin_o) released_q <= 1'b0;",
        found_by: "sequencer_runs_once",
    },
    Mutation {
        name: "a slot's result is told before it has been pushed",
        file: "sequencer/rtl/aster_instruction_queue.sv",
        from: "assign waits[i] = pushed_q[i] == over_seen[i] && {1'b0, age} < used;",
        to: "assign waits[i] = pushed_q[i] == over_seen[i] && {1'b0, age} <= used;",
        found_by: "queue_keeps",
    },
    Mutation {
        name: "a fifth transaction takes the slot of the first",
        file: "sequencer/rtl/aster_instruction_queue.sv",
        from: "assign can_open = used < 3'd4;",
        to: "assign can_open = used <= 3'd4;",
        found_by: "queue_keeps",
    },
    Mutation {
        name: "the next transaction's words are read",
        file: "sequencer/rtl/aster_instruction_queue.sv",
        from: ".read_address_i({slot_q, latch_address_i}), .read_data_o(latch_word_o)",
        to: ".read_address_i({slot_q + 2'd1, latch_address_i}), .read_data_o(latch_word_o)",
        found_by: "queue_keeps",
    },
    Mutation {
        name: "memory delivers into a full FIFO",
        file: "packetizer/rtl/aster_packetizer.sv",
        from: "assign axi_rready_o    = !fetch_full;",
        to: "assign axi_rready_o    = !fetch_full || fetched_taken_i;",
        found_by: "packetizer_keeps",
    },
    Mutation {
        name: "a word is decided on that isn't behind the one on the bus",
        file: "ufsm/rtl/aster_burst.sv",
        from: "assign may     = mailbox_o || (word_run ? following_i : word_ready_i);",
        to: "assign may     = mailbox_o || word_ready_i;",
        found_by: "packetizer_keeps",
    },
    Mutation {
        name: "a word is offered before the address of its piece",
        file: "packetizer/rtl/aster_packetizer.sv",
        from: "assign axi_wvalid_o  = !store_empty && !piece_empty;",
        to: "assign axi_wvalid_o  = !store_empty;",
        found_by: "packetizer_keeps",
    },
    Mutation {
        name: "no tWHR",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "assign read_start_o    = may && opcode == OPCODE_DATA_READ && latch_wait_over;",
        to: "assign read_start_o    = may && opcode == OPCODE_DATA_READ;",
        found_by: "channel_pins",
    },
    Mutation {
        name: "no tCCS",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "command_q == CHANGE_READ_COLUMN_CONFIRM ? t_ccs_i : t_whr_i;",
        to: "t_whr_i;",
        found_by: "channel_pins",
    },
    Mutation {
        name: "tADL counts a cycle short",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "since_q >= {1'b0, wait_cycles}",
        to: "since_q + 13'd1 >= {1'b0, wait_cycles}",
        found_by: "channel_pins",
    },
    Mutation {
        name: "a setup a cycle short",
        file: "ufsm/rtl/aster_chip_control.sv",
        from: "begin_i ? (setup_i == 8'd0 ? 8'd1 : setup_i)",
        to: "begin_i ? (setup_i <= 8'd1 ? 8'd1 : setup_i - 8'd1)",
        found_by: "channel_pins",
    },
    Mutation {
        name: "a preamble a cycle short",
        file: "ufsm/rtl/aster_burst.sv",
        from: "assign count     = start_i ? preamble_i : count_q;",
        to: "assign count     = start_i ? preamble_i - 8'd1 : count_q;",
        found_by: "channel_pins",
    },
    Mutation {
        name: "W/R# turns with CLK's rise in NV-DDR",
        file: "ufsm/rtl/aster_data_reader.sv",
        from: "assign turn  = clock_i & {8{turned_before}} | ~clock_i & {8{turned}};",
        to: "assign turn  = {8{turned || (turned_before && ^clock_i)}};",
        found_by: "channel_pins",
    },
    Mutation {
        name: "NV-DDR's DQS comes with the data input cycle, not behind it",
        file: "ufsm/rtl/aster_data_writer.sv",
        from: "assign shown = valid[i] && (!nv_ddr || at != 3'd0);",
        to: "assign shown = valid[i] && (!nv_ddr || at == 3'd0);",
        found_by: "channel_pins",
    },
];

/// Mutations that the checker must find in the channel's bench, by the label of its assertion. They
/// concern what is specific to each data interface.
pub const BENCH_MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "CLE and ALE of NV-DDR's data change with CLK's rise",
        file: "channel/rtl/aster_pins.sv",
        from: "assign data    = clock_o & {8{data_now_i}} | ~clock_o & {8{data_next_i}};",
        to: "assign data    = {8{data_now_i || (data_next_i && 1'b0)}};",
        found_by: "tCALS",
    },
    Mutation {
        name: "DQS comes with NV-DDR's data input cycle, not behind it",
        file: "ufsm/rtl/aster_data_writer.sv",
        from: "assign shown = valid[i] && (!nv_ddr || at != 3'd0);",
        to: "assign shown = valid[i] && (!nv_ddr || at == 3'd0);",
        found_by: "tDQSS_min",
    },
    Mutation {
        name: "W/R# turns with CLK's rise",
        file: "ufsm/rtl/aster_data_reader.sv",
        from: "assign turn  = clock_i & {8{turned_before}} | ~clock_i & {8{turned}};",
        to: "assign turn  = {8{turned || (turned_before && ^clock_i)}};",
        found_by: "tCALH",
    },
    Mutation {
        name: "RE# is let go before NV-DDR2's burst is over",
        file: "ufsm/rtl/aster_data_reader.sv",
        from: "if (last_o && mode_i == NV_DDR2) held_q <= 1'b1;",
        to: "if (last_o && mode_i == NV_DDR2) held_q <= 1'b0;",
        found_by: "tRPSTH",
    },
    Mutation {
        name: "DQS is let go before NV-DDR2's burst is over",
        file: "ufsm/rtl/aster_data_writer.sv",
        from: "if (last_o && mode_i == NV_DDR2) held_q <= 1'b1;",
        to: "if (last_o && mode_i == NV_DDR2) held_q <= 1'b0;",
        found_by: "tWPSTH",
    },
    Mutation {
        name: "RE# low too short in SDR",
        file: "ufsm/rtl/aster_data_reader.sv",
        from: "~(valid & ~late)",
        to: "~(valid & ~late & 8'h0f)",
        found_by: "tRP",
    },
];

/// Mutations that the equality gate of `rtl/cosim` must find by comparison with the timed model, since
/// packages don't report them.
pub const GATE_MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "tRHW a cycle short",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "since_read_q >= {1'b0, t_rhw_i}",
        to: "since_read_q + 13'd1 >= {1'b0, t_rhw_i}",
        found_by: "equality",
    },
    Mutation {
        name: "the last byte of a burst doesn't reach memory",
        file: "packetizer/rtl/aster_packetizer.sv",
        from: "~(8'hff << store_bytes_i);",
        to: "~(8'hff << (store_bytes_i[3] ? store_bytes_i : store_bytes_i - 4'd1));",
        found_by: "equality",
    },
    Mutation {
        name: "FAILC in every status byte",
        file: "packetizer/rtl/aster_mailbox.sv",
        from: "bytes_i > i ? word_i[8*i+:8] : 8'd0;",
        to: "bytes_i > i ? word_i[8*i+:8] | {6'd0, bytes_i == 4'd1, 1'b0} : 8'd0;",
        found_by: "equality",
    },
    Mutation {
        name: "NV-DDR's words a period of CLK too early after a pause",
        file: "ufsm/rtl/aster_burst.sv",
        from: "(nv_ddr_i ? decided_q : mailbox_o || word_ready_i);",
        to: "(nv_ddr_i ? decided_q || mailbox_o || word_ready_i : mailbox_o || word_ready_i);",
        found_by: "equality",
    },
];

impl Mutation {
    /// Copies `rtl` to `folder` with this one error.
    ///
    /// # Panics
    /// If the text to replace doesn't appear exactly once: the list has to follow the sources.
    pub fn copy(&self, rtl: &Path, folder: &Path) {
        copy_sources(rtl, folder);
        let file = folder.join(self.file);
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let found = text.matches(self.from).count();
        assert_eq!(found, 1, "`{}` stands {found} times in {}", self.from, self.file);
        fs::write(&file, text.replace(self.from, self.to)).expect("the copy can be written");
    }
}

/// Copies the SystemVerilog sources and the file lists.
///
/// # Panics
/// When a folder can't be read or written.
pub fn copy_sources(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the copy's folder");
    for entry in fs::read_dir(from).expect("a folder of rtl") {
        let entry = entry.expect("an entry of rtl").path();
        let copy = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy_sources(&entry, &copy);
        } else if entry.extension().is_some_and(|e| e == "sv" || e == "svh" || e == "f") {
            fs::copy(&entry, &copy).expect("a copy of a source");
        }
    }
}
