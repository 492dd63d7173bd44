//! Mutations: one thing wrong in a copy of `rtl`, which the proof that is there for it must find.

use std::fs;
use std::path::Path;

/// One thing wrong.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// What is wrong, for messages.
    pub name: &'static str,
    /// The file, from `rtl`.
    pub file: &'static str,
    /// What stands there, once.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
    /// The proof that fails by it.
    pub proof: &'static str,
}

/// The first mutation of each proof is done every time, all of them with `ASTER_LONG=1`.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "a latch holds CLE, ALE and DQ a phase too short",
        file: "ufsm/rtl/aster_ca_writer.sv",
        from: "tail_q         <= latch_hold_i;",
        to: "tail_q         <= latch_hold_i - 10'd1;",
        proof: "ca_writer_pins",
    },
    Mutation {
        name: "WE# low a cycle too short",
        file: "ufsm/rtl/aster_ca_writer.sv",
        from: "assign half  = latch_cycles_i >> 1;",
        to: "assign half  = (latch_cycles_i >> 1) + 8'd1;",
        proof: "ca_writer_pins",
    },
    Mutation {
        name: "another chip enable in the middle of a transaction",
        file: "ufsm/rtl/aster_chip_control.sv",
        from: "assign ce_no        = ~(begin_i ? chips_i : chips_q);",
        to: "assign ce_no        = ~(begin_i || end_i ? chips_i : chips_q);",
        proof: "chip_control_keeps",
    },
    Mutation {
        name: "chips never let go",
        file: "ufsm/rtl/aster_chip_control.sv",
        from: "else if (hold_last_o) chips_q <= '0;",
        to: "else if (setup_last_o) chips_q <= chips_q;",
        proof: "chip_control_keeps",
    },
    Mutation {
        name: "the FIFO doesn't pass a word on that is written while it is empty",
        file: "packetizer/rtl/aster_fifo.sv",
        from: "pass_q <= push_i && write_q == read_d;",
        to: "pass_q <= 1'b0;",
        proof: "fifo_keeps",
    },
    Mutation {
        name: "the FIFO is full a word too late",
        file: "packetizer/rtl/aster_fifo.sv",
        from: "assign full_o  = count_q[BITS];",
        to: "assign full_o  = count_q[BITS] && count_q[0];",
        proof: "fifo_keeps",
    },
    Mutation {
        name: "no tWHR",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "assign read_start_o    = may && opcode == OPCODE_DATA_READ && latch_wait_over;",
        to: "assign read_start_o    = may && opcode == OPCODE_DATA_READ;",
        proof: "channel_pins",
    },
    Mutation {
        name: "no tCCS",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "command_q == CHANGE_READ_COLUMN_CONFIRM ? t_ccs_i : t_whr_i;",
        to: "t_whr_i;",
        proof: "channel_pins",
    },
    Mutation {
        name: "tADL counts a cycle short",
        file: "sequencer/rtl/aster_sequencer.sv",
        from: "since_q >= {1'b0, wait_cycles}",
        to: "since_q + 13'd1 >= {1'b0, wait_cycles}",
        proof: "channel_pins",
    },
    Mutation {
        name: "a setup a cycle short",
        file: "ufsm/rtl/aster_chip_control.sv",
        from: "begin_i ? (setup_i == 8'd0 ? 8'd1 : setup_i)",
        to: "begin_i ? (setup_i <= 8'd1 ? 8'd1 : setup_i - 8'd1)",
        proof: "channel_pins",
    },
    Mutation {
        name: "a preamble a cycle short",
        file: "ufsm/rtl/aster_burst.sv",
        from: "assign count     = start_i ? preamble_i : count_q;",
        to: "assign count     = start_i ? preamble_i - 8'd1 : count_q;",
        proof: "channel_pins",
    },
];

impl Mutation {
    /// Copies `rtl` to `folder` with this one thing wrong.
    ///
    /// # Panics
    /// When what is to be replaced doesn't stand there exactly once: the list has to follow the sources.
    pub fn copy(&self, rtl: &Path, folder: &Path) {
        copy_sources(rtl, folder);
        let file = folder.join(self.file);
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let found = text.matches(self.from).count();
        assert_eq!(found, 1, "`{}` stands {found} times in {}", self.from, self.file);
        fs::write(&file, text.replace(self.from, self.to)).expect("the copy can be written");
    }
}

/// Copies what is SystemVerilog, and the file lists.
fn copy_sources(from: &Path, to: &Path) {
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
