// The sequencer reads a transaction's words and starts a uFSM in the first cycle in which the instruction
// may begin (rtl/README.md, Cycle rules).
//
// A uFSM that is busy in this cycle began before. If none is busy, the next instruction is at the output
// of the instruction memory, with the one behind it: a Timer takes no cycle, and only makes the
// instruction behind it wait. All waits count from the end of the last instruction, except tRHW, which
// counts from the end of the last read burst.
module aster_sequencer #(
    parameter integer WAYS = 8
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    // The transaction whose turn it is, whether it is legal, and its words.
    input  logic            valid_i,
    input  logic            good_i,
    output logic [4:0]      address_o,
    input  logic [63:0]     word_i,
    input  logic [63:0]     next_word_i,
    output logic [4:0]      latch_address_o,
    input  logic [63:0]     latch_word_i,
    // Cycle table.
    input  logic [7:0]      grain_i,
    input  logic [7:0]      gap_i,
    input  logic [11:0]     t_wb_i,
    input  logic [11:0]     t_whr_i,
    input  logic [11:0]     t_adl_i,
    input  logic [11:0]     t_ccs_i,
    input  logic [11:0]     t_rhw_i,
    input  logic [11:0]     lead_i,
    // Everything read from packages has reached memory.
    input  logic            drained_i,
    // Whether this is the transaction's first cycle, whether the transaction is over in this cycle, and
    // whether it is over without having begun.
    output logic            begin_o,
    output logic            over_o,
    output logic            refused_o,
    output logic            running_o,
    // The last cycle before the next transaction can begin. No transaction begins in it.
    output logic            rest_o,
    // Whether the cycle is the grain's first, and its number in the grain.
    output logic            aligned_o,
    output logic [7:0]      grain_cycle_o,
    // Chip Control
    output logic [WAYS-1:0] chips_o,
    output logic            end_o,
    input  logic            chips_busy_i,
    input  logic            setup_last_i,
    input  logic            hold_last_i,
    // C/A Writer
    output logic            latches_start_o,
    output logic [6:0]      latches_count_o,
    input  logic [6:0]      latch_index_i,
    output logic [7:0]      latch_value_o,
    output logic            latch_command_o,
    input  logic            latches_busy_i,
    input  logic            latch_last_i,
    input  logic            latches_last_i,
    // Data Writer and Data Reader
    output logic            write_start_o,
    output logic            read_start_o,
    // The waiting instruction is a read burst.
    output logic            read_pending_o,
    output logic [19:0]     bytes_o,
    output logic [2:0]      descriptor_o,
    input  logic            write_busy_i,
    input  logic            write_last_i,
    input  logic            read_busy_i,
    input  logic            read_last_i,
    // Timer
    output logic            restart_o,
    output logic [31:0]     nanoseconds_o,
    input  logic            timer_over_i
);
  `include "aster_interface.svh"

  // Commands after which tCCS applies (ONFI 5.1, CHANGE READ COLUMN and CHANGE WRITE COLUMN).
  localparam logic [7:0] CHANGE_READ_COLUMN_CONFIRM = 8'he0;
  localparam logic [7:0] CHANGE_WRITE_COLUMN = 8'h85;

  logic running_q, released_q;
  logic [7:0] gap_q, grain_q, command_q;
  logic [4:0] address_q, latches_at_q;
  logic [2:0] descriptor_q;
  // Whether a latch was the last on the bus; whether a read burst has come since the last latch; cycles since
  // the last instruction's and the last read burst's end, stopping beyond all waits.
  logic latched_q, read_q;
  logic [12:0] since_q, since_read_q;

  // A transaction begins, or is refused.
  logic turn;
  assign turn      = !running_q && gap_q == 8'd0 && valid_i;
  assign begin_o   = turn && good_i;
  assign refused_o = turn && !good_i;
  assign over_o    = refused_o || (released_q && drained_i);
  assign running_o = begin_o || (running_q && !released_q);
  assign rest_o    = over_o ? gap_i <= 8'd1 : !running_q && !begin_o && gap_q <= 8'd1;
  assign chips_o   = word_i[WORD_OPERAND_LSB+:WAYS];

  assign grain_cycle_o = begin_o ? 8'd0 : grain_q;
  assign aligned_o     = grain_cycle_o == 8'd0;

  // The next instruction.
  logic is_timer;
  logic [63:0] word;
  logic [3:0] opcode;
  assign is_timer      = word_i[WORD_OPCODE_LSB+:WORD_OPCODE_WIDTH] == OPCODE_TIMER;
  assign word          = is_timer ? next_word_i : word_i;
  assign opcode        = word[WORD_OPCODE_LSB+:WORD_OPCODE_WIDTH];
  assign nanoseconds_o = word_i[WORD_OPERAND_LSB+:WORD_OPERAND_WIDTH];

  // When it may begin.
  logic free, may, rhw_over;
  logic [11:0] read_wait, write_wait, wait_cycles;
  assign free = running_q && !released_q && !chips_busy_i && !latches_busy_i && !write_busy_i && !read_busy_i;
  assign may  = free && aligned_o && (!is_timer || timer_over_i);
  assign read_wait  = command_q == CHANGE_READ_COLUMN_CONFIRM ? t_ccs_i : t_whr_i;
  assign write_wait = command_q == CHANGE_WRITE_COLUMN && t_ccs_i > t_adl_i ? t_ccs_i : t_adl_i;
  assign wait_cycles = opcode == OPCODE_DATA_READ ? read_wait
      : opcode == OPCODE_DATA_WRITE ? write_wait : t_wb_i;

  logic latch_wait_over;
  logic [13:0] since_release;
  assign latch_wait_over = !latched_q || since_q >= {1'b0, wait_cycles};
  assign rhw_over        = !read_q || since_read_q >= {1'b0, t_rhw_i};
  // The next transaction's first latch comes no earlier than `lead` after this one's end.
  assign since_release   = {1'b0, since_read_q} + {2'd0, lead_i};

  assign latches_start_o = may && opcode == OPCODE_COMMAND_ADDRESS && rhw_over;
  assign write_start_o   = may && opcode == OPCODE_DATA_WRITE && latch_wait_over;
  assign read_start_o    = may && opcode == OPCODE_DATA_READ && latch_wait_over;
  assign read_pending_o = free && opcode == OPCODE_DATA_READ;
  assign end_o = may && opcode == OPCODE_END && latch_wait_over
      && (!read_q || since_release >= {2'd0, t_rhw_i});

  assign bytes_o         = word[WORD_LENGTH_LSB+:WORD_LENGTH_WIDTH];
  assign latches_count_o = word[WORD_LENGTH_LSB+:7];
  assign descriptor_o    = write_start_o || read_start_o ? word[WORD_DESCRIPTOR_LSB+:3] : descriptor_q;

  // Latches follow their header, four per word.
  logic [4:0] behind, latch_words;
  logic [15:0] latch;
  assign behind          = address_q + (is_timer ? 5'd2 : 5'd1);
  assign latch_words     = latches_count_o[6:2] + {4'd0, latches_count_o[1:0] != 2'd0};
  assign latch_address_o = (latches_start_o ? behind : latches_at_q) + latch_index_i[6:2];
  assign latch           = latch_word_i[16*latch_index_i[1:0]+:16];
  assign latch_value_o   = latch[LATCH_VALUE_LSB+:LATCH_VALUE_WIDTH];
  assign latch_command_o = latch[LATCH_COMMAND_LSB];
  assign address_o       = address_q;

  assign restart_o = begin_o || setup_last_i || latches_last_i || write_last_i || read_last_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q    <= 1'b0;
      released_q   <= 1'b0;
      gap_q        <= 8'd0;
      grain_q      <= 8'd0;
      command_q    <= 8'd0;
      address_q    <= 5'd0;
      latches_at_q <= 5'd0;
      descriptor_q <= 3'd0;
      latched_q    <= 1'b0;
      read_q       <= 1'b0;
      since_q      <= 13'd0;
      since_read_q <= 13'd0;
    end else begin
      // A refused transaction changes neither bus nor gap.
      if (begin_o) running_q <= 1'b1;
      else if (over_o) running_q <= 1'b0;
      if (hold_last_i) released_q <= 1'b1;
      else if (over_o) released_q <= 1'b0;
      if (over_o && !refused_o) gap_q <= gap_i == 8'd0 ? 8'd0 : gap_i - 8'd1;
      else if (gap_q != 8'd0) gap_q <= gap_q - 8'd1;
      grain_q <= {1'b0, grain_cycle_o} + 9'd1 >= {1'b0, grain_i} ? 8'd0 : grain_cycle_o + 8'd1;

      if (over_o) address_q <= 5'd0;
      else if (begin_o) address_q <= 5'd1;
      else if (latches_start_o) address_q <= behind + latch_words;
      else if (write_start_o || read_start_o) address_q <= behind;
      if (latches_start_o) latches_at_q <= behind;
      descriptor_q <= descriptor_o;

      since_q      <= restart_o ? 13'd0 : since_q[12] ? since_q : since_q + 13'd1;
      since_read_q <= read_last_i ? 13'd0 : since_read_q[12] ? since_read_q : since_read_q + 13'd1;
      if (begin_o) begin
        latched_q <= 1'b0;
        read_q    <= 1'b0;
        command_q <= 8'd0;
      end else begin
        if (latches_start_o) latched_q <= 1'b1;
        else if (write_start_o || read_start_o) latched_q <= 1'b0;
        if (read_last_i) read_q <= 1'b1;
        else if (latches_start_o) read_q <= 1'b0;
        if (latch_last_i && latch_command_o) command_q <= latch_value_o;
      end
    end
  end

  logic unused_bits;
  assign unused_bits = ^{word, next_word_i, latch};
endmodule
