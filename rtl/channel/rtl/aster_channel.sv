// A flash channel controller in the manner of BABOL: registers, instruction queue, sequencer, five uFSMs and
// Packetizer.
//
// The pins are not registered here: their serialisers sample them at the cycle's end, eight phases each.
module aster_channel #(
    // Chip enables: 1 to 32.
    parameter integer WAYS = 8,
    // Words in each of the Packetizer's FIFOs: a power of two, or 0 for as many as interface.toml says.
    parameter integer FIFO_WORDS = 0
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            cpu_clk_i,
    input  logic            cpu_rst_ni,
    // Register bus, in the CPU's clock: one transfer per cycle, with read data in the same cycle.
    input  logic            reg_valid_i,
    input  logic            reg_write_i,
    input  logic [11:0]     reg_addr_i,
    input  logic [63:0]     reg_wdata_i,
    output logic [63:0]     reg_rdata_o,
    // Pins of the package: one bit per phase, phase 0 lowest.
    output logic [WAYS-1:0] ce_no,
    output logic [7:0]      cle_o,
    output logic [7:0]      ale_o,
    output logic [7:0]      we_no,
    output logic [7:0]      re_no,
    output logic [7:0]      dqs_o,
    output logic            dqs_oe_o,
    output logic [63:0]     dq_o,
    output logic            dq_oe_o,
    input  logic [63:0]     dq_i,
    input  logic [WAYS-1:0] ready_i,
    // How many lanes of dq_i the Data Reader takes in this cycle.
    output logic [2:0]      strobed_o,
    // The transaction whose turn it is: whether it begins in this cycle, whether it is over in this
    // cycle, its slot and its result.
    output logic            begin_o,
    output logic            over_o,
    output logic [1:0]      over_slot_o,
    output logic [7:0]      over_verdict_o,
    output logic [7:0]      over_index_o,
    output logic [19:0]     over_length_o,
    output logic [63:0]     over_mailbox_o,
    output logic            over_memory_error_o,
    // AXI4
    output logic [3:0]      axi_arid_o,
    output logic [47:0]     axi_araddr_o,
    output logic [7:0]      axi_arlen_o,
    output logic [2:0]      axi_arsize_o,
    output logic [1:0]      axi_arburst_o,
    output logic            axi_arvalid_o,
    input  logic            axi_arready_i,
    input  logic [3:0]      axi_rid_i,
    input  logic [63:0]     axi_rdata_i,
    input  logic [1:0]      axi_rresp_i,
    input  logic            axi_rlast_i,
    input  logic            axi_rvalid_i,
    output logic            axi_rready_o,
    output logic [3:0]      axi_awid_o,
    output logic [47:0]     axi_awaddr_o,
    output logic [7:0]      axi_awlen_o,
    output logic [2:0]      axi_awsize_o,
    output logic [1:0]      axi_awburst_o,
    output logic            axi_awvalid_o,
    input  logic            axi_awready_i,
    output logic [63:0]     axi_wdata_o,
    output logic [7:0]      axi_wstrb_o,
    output logic            axi_wlast_o,
    output logic            axi_wvalid_o,
    input  logic            axi_wready_i,
    input  logic [3:0]      axi_bid_i,
    input  logic [1:0]      axi_bresp_i,
    input  logic            axi_bvalid_i,
    output logic            axi_bready_o
);
  `include "aster_interface.svh"

  localparam integer FIFO_DEPTH = FIFO_WORDS == 0 ? LIMIT_FIFO_WORDS : FIFO_WORDS;

`ifndef __ICARUS__  // which has no elaboration system tasks
  if (WAYS < 1 || WAYS > 32) begin : gen_ways
    $error("WAYS must be 1 to 32");
  end
  if (FIFO_DEPTH < 2 || FIFO_DEPTH != 1 << $clog2(FIFO_DEPTH)) begin : gen_fifo_words
    $error("FIFO_WORDS must be a power of two");
  end
`endif

  // The checker's verdict on a transaction, with the transaction's cycle table: {table, length, index,
  // verdict}.
  localparam integer VERDICT_BITS = 38;
  // {memory error, mailbox}
  localparam integer RESULT_BITS = 65;

  // ---- The CPU's clock: registers and word checker.
  logic [19:0] longest, checked_length;
  logic [5:0] ways;
  logic [31:0] period, ready_wide, fetches_pushed, stores_pushed;
  logic table_write, open, word_write, descriptor_write, push, opened, take, busy_seen;
  logic [1:0] table_index, table_word, result_slot;
  logic [63:0] table_data;
  logic [2:0] free, results, descriptor_index;
  logic [4:0] word_index;
  logic word_fits, descriptor_half, descriptor_fits;
  logic [7:0] checked_verdict, checked_index;
  logic [VERDICT_BITS-1:0] result_verdict;
  logic [RESULT_BITS-1:0] result;
  logic [WAYS-1:0] ready_seen;
  assign ready_wide = 32'(ready_seen);

  aster_registers #(.WAYS(WAYS)) u_registers (
      .clk_i(cpu_clk_i), .rst_ni(cpu_rst_ni), .valid_i(reg_valid_i), .write_i(reg_write_i),
      .address_i(reg_addr_i), .write_data_i(reg_wdata_i), .read_data_o(reg_rdata_o), .longest_o(longest),
      .ways_o(ways), .period_o(period), .table_write_o(table_write), .table_o(table_index),
      .table_word_o(table_word), .table_data_i(table_data), .open_o(open), .word_o(word_write),
      .descriptor_o(descriptor_write), .push_o(push), .free_i(free), .results_i(results),
      .result_slot_i(result_slot), .result_verdict_i(result_verdict[7:0]),
      .result_index_i(result_verdict[15:8]), .result_length_i(result_verdict[35:16]),
      .result_error_i(result[64]), .mailbox_i(result[63:0]), .take_o(take), .busy_i(busy_seen),
      .ready_i(ready_wide)
  );

  aster_word_checker #(.WAYS(WAYS)) u_checker (
      .clk_i(cpu_clk_i), .rst_ni(cpu_rst_ni), .ways_i(ways), .longest_i(longest), .open_i(open),
      .word_valid_i(word_write && opened), .word_i(reg_wdata_i),
      .descriptor_valid_i(descriptor_write && opened), .descriptor_i(reg_wdata_i), .word_index_o(word_index),
      .word_fits_o(word_fits), .descriptor_index_o(descriptor_index), .descriptor_half_o(descriptor_half),
      .descriptor_fits_o(descriptor_fits), .verdict_o(checked_verdict), .index_o(checked_index),
      .length_o(checked_length), .fetches_o(fetches_pushed), .stores_o(stores_pushed)
  );

  // ---- Between the clocks.
  logic valid, over, mailbox_word, burst_mailbox, running, running_q;
  logic [1:0] slot;
  logic [VERDICT_BITS-1:0] verdict;
  logic [31:0] fetches, stores;
  logic [4:0] address, latch_address, burst_address;
  logic [63:0] word, next_word, latch_word, immediate;
  logic [19:0] burst_length;
  logic [3:0] burst_descriptor, memory_tag;
  logic [2:0] burst_index, memory_index;
  logic [47:0] memory_address;
  logic [TABLE_BITS-1:0] cycles;
  logic memory_error, refused;
  logic [63:0] collected;
  logic [RESULT_BITS-1:0] outcome;
  // A refused transaction has no mailbox bytes and no memory error.
  assign outcome = refused ? '0 : {memory_error, collected};

  aster_instruction_queue #(.VERDICT_BITS(VERDICT_BITS), .RESULT_BITS(RESULT_BITS)) u_queue (
      .clk_i, .rst_ni, .cpu_clk_i, .cpu_rst_ni, .open_i(open), .word_write_i(word_write && word_fits),
      .word_index_i(word_index), .word_i(reg_wdata_i),
      .descriptor_write_i(descriptor_write && descriptor_fits), .descriptor_index_i(descriptor_index),
      .descriptor_half_i(descriptor_half), .descriptor_i(reg_wdata_i), .push_i(push),
      .push_verdict_i({
        reg_wdata_i[PUSH_TABLE_LSB+:PUSH_TABLE_WIDTH], checked_length, checked_index, checked_verdict
      }),
      .push_fetches_i(fetches_pushed), .push_stores_i(stores_pushed), .opened_o(opened), .free_o(free),
      .results_o(results), .take_i(take), .result_slot_o(result_slot), .result_verdict_o(result_verdict),
      .result_o(result), .valid_o(valid), .slot_o(slot), .verdict_o(verdict), .fetches_o(fetches),
      .stores_o(stores), .over_i(over), .over_result_i(outcome), .address_i(address), .word_o(word),
      .next_word_o(next_word), .latch_address_i(latch_address), .latch_word_o(latch_word),
      .burst_address_i(burst_address), .burst_length_o(burst_length), .burst_descriptor_o(burst_descriptor),
      .mailbox_index_i(burst_index), .mailbox_o(burst_mailbox), .immediate_o(immediate),
      .memory_index_i(memory_index), .memory_address_o(memory_address), .memory_tag_o(memory_tag)
  );

  aster_cycle_tables #(.WORDS(TABLE_WORDS)) u_tables (
      .cpu_clk_i, .write_i(table_write), .table_i(table_index), .word_i(table_word), .data_i(reg_wdata_i),
      .data_o(table_data), .select_i(verdict[37:36]), .table_o(cycles)
  );

  aster_sync #(.WIDTH(WAYS)) u_ready (
      .clk_i(cpu_clk_i), .rst_ni(cpu_rst_ni), .data_i(ready_i), .data_o(ready_seen)
  );
  aster_sync #(.WIDTH(1)) u_busy (
      .clk_i(cpu_clk_i), .rst_ni(cpu_rst_ni), .data_i(running_q), .data_o(busy_seen)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) running_q <= 1'b0;
    else running_q <= running;
  end

  // ---- The controller's clock: sequencer and uFSMs.
  logic [1:0] mode;
  logic [7:0] grain, grain_cycle;
  assign mode  = cycles[TABLE_MODE_LSB+:TABLE_MODE_WIDTH];
  assign grain = cycles[TABLE_GRAIN_LSB+:TABLE_GRAIN_WIDTH];

  logic begins, aligned, release_chips, chips_busy, setup_last, hold_last, selected, drained;
  logic [WAYS-1:0] chips;
  logic latches_start, latches_busy, latch_last, latches_last, latch_command;
  logic [6:0] latches_count, latch_index;
  logic [7:0] latch_value;
  logic write_start, write_busy, write_last, read_start, read_busy, read_last, read_pending, rest;
  logic [19:0] bytes;
  logic restart, timer_over;
  logic [31:0] nanoseconds;

  aster_sequencer #(.WAYS(WAYS)) u_sequencer (
      .clk_i, .rst_ni, .valid_i(valid), .good_i(verdict[7:0] == VERDICT_GOOD), .address_o(address),
      .word_i(word), .next_word_i(next_word), .latch_address_o(latch_address), .latch_word_i(latch_word),
      .grain_i(grain), .gap_i(cycles[TABLE_GAP_LSB+:TABLE_GAP_WIDTH]),
      .t_wb_i(cycles[TABLE_T_WB_LSB+:TABLE_T_WB_WIDTH]), .t_whr_i(cycles[TABLE_T_WHR_LSB+:TABLE_T_WHR_WIDTH]),
      .t_adl_i(cycles[TABLE_T_ADL_LSB+:TABLE_T_ADL_WIDTH]),
      .t_ccs_i(cycles[TABLE_T_CCS_LSB+:TABLE_T_CCS_WIDTH]),
      .t_rhw_i(cycles[TABLE_T_RHW_LSB+:TABLE_T_RHW_WIDTH]), .lead_i(cycles[TABLE_LEAD_LSB+:TABLE_LEAD_WIDTH]),
      .drained_i(drained), .begin_o(begins), .over_o(over), .refused_o(refused), .running_o(running),
      .aligned_o(aligned), .grain_cycle_o(grain_cycle), .chips_o(chips), .end_o(release_chips),
      .chips_busy_i(chips_busy), .setup_last_i(setup_last), .hold_last_i(hold_last),
      .latches_start_o(latches_start), .latches_count_o(latches_count), .latch_index_i(latch_index),
      .latch_value_o(latch_value), .latch_command_o(latch_command), .latches_busy_i(latches_busy),
      .latch_last_i(latch_last), .latches_last_i(latches_last), .rest_o(rest), .write_start_o(write_start),
      .read_start_o(read_start), .read_pending_o(read_pending), .bytes_o(bytes), .descriptor_o(burst_index),
      .write_busy_i(write_busy), .write_last_i(write_last), .read_busy_i(read_busy), .read_last_i(read_last),
      .restart_o(restart), .nanoseconds_o(nanoseconds), .timer_over_i(timer_over)
  );

  aster_chip_control #(.WAYS(WAYS)) u_chip_control (
      .clk_i, .rst_ni, .setup_i(cycles[TABLE_CHIP_SETUP_LSB+:TABLE_CHIP_SETUP_WIDTH]),
      .hold_i(cycles[TABLE_CHIP_HOLD_LSB+:TABLE_CHIP_HOLD_WIDTH]), .begin_i(begins), .chips_i(chips),
      .end_i(release_chips), .busy_o(chips_busy), .setup_last_o(setup_last), .hold_last_o(hold_last),
      .selected_o(selected), .ce_no
  );

  logic [7:0] latch_cle, latch_ale, latch_we_n, write_we_n, clock;
  logic [63:0] latch_dq, write_dq, fetched, store;
  logic latch_dq_oe, write_dq_oe, write_now, write_next, read_now, read_next, fetched_valid, fetched_more,
      more_room, fetched_taken, room, store_valid;
  logic [3:0] store_bytes;

  aster_ca_writer u_ca_writer (
      .clk_i, .rst_ni, .latch_cycles_i(cycles[TABLE_LATCH_LSB+:TABLE_LATCH_WIDTH]),
      .latch_from_i(cycles[TABLE_LATCH_FROM_LSB+:TABLE_LATCH_FROM_WIDTH]),
      .latch_hold_i(cycles[TABLE_LATCH_HOLD_LSB+:TABLE_LATCH_HOLD_WIDTH]), .start_i(latches_start),
      .count_i(latches_count), .index_o(latch_index), .value_i(latch_value), .command_i(latch_command),
      .busy_o(latches_busy), .latch_last_o(latch_last), .last_o(latches_last), .cle_o(latch_cle),
      .ale_o(latch_ale), .we_no(latch_we_n), .dq_o(latch_dq), .dq_oe_o(latch_dq_oe)
  );

  aster_data_writer u_data_writer (
      .clk_i, .rst_ni, .mode_i(mode),
      .preamble_i(cycles[TABLE_WRITE_PREAMBLE_LSB+:TABLE_WRITE_PREAMBLE_WIDTH]),
      .postamble_i(cycles[TABLE_WRITE_POSTAMBLE_LSB+:TABLE_WRITE_POSTAMBLE_WIDTH]),
      .byte_phases_i(cycles[TABLE_BYTE_PHASES_IN_LSB+:TABLE_BYTE_PHASES_IN_WIDTH]), .grain_i(grain),
      .aligned_i(aligned), .start_i(write_start), .bytes_i(bytes), .mailbox_i(burst_mailbox),
      .word_valid_i(fetched_valid), .following_valid_i(fetched_more), .word_i(fetched),
      .immediate_i(immediate), .word_taken_o(fetched_taken), .busy_o(write_busy), .last_o(write_last),
      .selected_i(selected), .latch_cycles_i(cycles[TABLE_LATCH_LSB+:TABLE_LATCH_WIDTH]),
      .latch_last_i(latch_last), .data_now_o(write_now), .data_next_o(write_next), .we_no(write_we_n), .dqs_o,
      .dqs_oe_o, .dq_o(write_dq), .dq_oe_o(write_dq_oe)
  );

  aster_data_reader u_data_reader (
      .clk_i, .rst_ni, .mode_i(mode), .preamble_i(cycles[TABLE_READ_PREAMBLE_LSB+:TABLE_READ_PREAMBLE_WIDTH]),
      .postamble_i(cycles[TABLE_READ_POSTAMBLE_LSB+:TABLE_READ_POSTAMBLE_WIDTH]),
      .byte_phases_i(cycles[TABLE_BYTE_PHASES_OUT_LSB+:TABLE_BYTE_PHASES_OUT_WIDTH]), .grain_i(grain),
      .aligned_i(aligned), .clock_i(clock), .pending_i(read_pending), .start_i(read_start), .bytes_i(bytes),
      .mailbox_i(burst_mailbox), .room_i(room), .following_room_i(more_room), .lanes_i(dq_i[31:0]),
      .busy_o(read_busy), .last_o(read_last), .word_valid_o(store_valid), .word_o(store),
      .word_bytes_o(store_bytes), .mailbox_o(mailbox_word), .let_go_i(latch_last || rest),
      .data_now_o(read_now), .data_next_o(read_next), .re_no, .strobed_o
  );

  aster_timer u_timer (
      .clk_i, .rst_ni, .period_i(period), .restart_i(restart), .nanoseconds_i(nanoseconds),
      .over_o(timer_over)
  );

  aster_pins u_pins (
      .mode_i(mode), .grain_i(grain), .grain_cycle_i(grain_cycle), .selected_i(selected),
      .latch_cle_i(latch_cle), .latch_ale_i(latch_ale), .latch_we_ni(latch_we_n), .latch_dq_i(latch_dq),
      .latch_dq_oe_i(latch_dq_oe), .data_now_i(write_now || read_now), .data_next_i(write_next || read_next),
      .write_we_ni(write_we_n), .write_dq_i(write_dq), .write_dq_oe_i(write_dq_oe), .clock_o(clock), .cle_o,
      .ale_o, .we_no, .dq_o, .dq_oe_o
  );

  aster_mailbox u_mailbox (
      .clk_i, .rst_ni, .begin_i(begins), .valid_i(store_valid && mailbox_word), .word_i(store),
      .bytes_i(store_bytes), .mailbox_o(collected)
  );

  aster_packetizer #(.FIFO_WORDS(FIFO_DEPTH)) u_packetizer (
      .clk_i, .rst_ni, .begin_i(begins), .fetches_i(fetches), .stores_i(stores), .over_i(over && !refused),
      .burst_address_o(burst_address), .burst_length_i(burst_length), .burst_descriptor_i(burst_descriptor),
      .memory_index_o(memory_index), .memory_address_i(memory_address), .memory_tag_i(memory_tag),
      .fetched_valid_o(fetched_valid), .fetched_more_o(fetched_more), .fetched_o(fetched),
      .fetched_taken_i(fetched_taken), .room_o(room), .more_room_o(more_room),
      .store_valid_i(store_valid && !mailbox_word), .store_i(store), .store_bytes_i(store_bytes),
      .drained_o(drained), .memory_error_o(memory_error), .axi_arid_o, .axi_araddr_o, .axi_arlen_o,
      .axi_arsize_o, .axi_arburst_o, .axi_arvalid_o, .axi_arready_i, .axi_rid_i, .axi_rdata_i, .axi_rresp_i,
      .axi_rlast_i, .axi_rvalid_i, .axi_rready_o, .axi_awid_o, .axi_awaddr_o, .axi_awlen_o, .axi_awsize_o,
      .axi_awburst_o, .axi_awvalid_o, .axi_awready_i, .axi_wdata_o, .axi_wstrb_o, .axi_wlast_o, .axi_wvalid_o,
      .axi_wready_i, .axi_bid_i, .axi_bresp_i, .axi_bvalid_i, .axi_bready_o
  );

  assign begin_o             = begins;
  assign over_o              = over;
  assign over_slot_o         = slot;
  assign over_verdict_o      = verdict[7:0];
  assign over_index_o        = verdict[15:8];
  assign over_length_o       = verdict[35:16];
  assign over_mailbox_o      = outcome[63:0];
  assign over_memory_error_o = outcome[64];

  logic unused_bits;
  assign unused_bits = ^{cycles, result_verdict[37:36], dq_i[63:32]};
endmodule
