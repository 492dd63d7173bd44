// The course of a burst, which is the same for Data Writer and Data Reader: preamble, words of eight
// transfers with possible pauses between them, postamble. Steps of zero cycles take none.
//
// NV-DDR announces data before CLK's rises: CLE and ALE change half a period earlier. A word is therefore
// decided on in the period before it.
module aster_burst (
    input  logic        clk_i,
    input  logic        rst_ni,
    // 1 in the modes with two transfers per strobe cycle.
    input  logic        ddr_i,
    // NV-DDR; cycles of its CLK; and whether a step may begin in this cycle: on an edge of that CLK.
    input  logic        nv_ddr_i,
    input  logic [7:0]  grain_i,
    input  logic        aligned_i,
    input  logic [7:0]  preamble_i,
    input  logic [7:0]  postamble_i,
    input  logic [11:0] byte_phases_i,
    // The burst begins in this cycle. In modes with transfers in pairs, the mailbox's bytes are
    // transferred twice.
    input  logic        start_i,
    input  logic [19:0] bytes_i,
    input  logic        mailbox_i,
    // There is a word to begin, or room for one; and the same for the word behind the one on the bus.
    // Neither is withdrawn.
    input  logic        word_ready_i,
    input  logic        following_i,
    // Whether a burst that began before continues, and whether this cycle belongs to a burst.
    output logic        busy_o,
    output logic        active_o,
    // The cycle carries transfers; in NV-DDR, the next period of CLK will.
    output logic        data_now_o,
    output logic        data_next_o,
    output logic        mailbox_o,
    output logic        twice_o,
    // Which word, as far as a mailbox reaches: 0, 1, 0 ….
    output logic        odd_word_o,
    // Bytes of this word that memory has, and its transfers.
    output logic [3:0]  word_bytes_o,
    output logic [3:0]  transfers_o,
    output logic [23:0] index_o,
    output logic [7:0]  valid_o,
    output logic [7:0]  late_o,
    output logic [3:0]  begun_before_o,
    output logic [3:0]  begun_after_o,
    // The last cycle of a word, and of the burst.
    output logic        word_last_o,
    output logic        last_o
);
  localparam logic [1:0] IDLE = 2'd0;
  localparam logic [1:0] PREAMBLE = 2'd1;
  localparam logic [1:0] STROBES = 2'd2;
  localparam logic [1:0] POSTAMBLE = 2'd3;

  logic [1:0]  state_q, state;
  logic [7:0]  count_q, count;
  logic [20:0] transfers_q, transfers;
  logic [19:0] bytes_q, bytes;
  logic        mailbox_q, in_word_q, odd_q;
  logic        strobing, word_begin, word_run, strobes_last, may, decided, decided_q;

  assign state     = start_i ? (preamble_i == 8'd0 ? STROBES : PREAMBLE) : state_q;
  assign count     = start_i ? preamble_i : count_q;
  assign bytes     = start_i ? bytes_i : bytes_q;
  assign mailbox_o = start_i ? mailbox_i : mailbox_q;
  assign twice_o   = mailbox_o && ddr_i;
  assign transfers = !start_i ? transfers_q : !ddr_i ? {1'b0, bytes_i} : mailbox_i ? {bytes_i, 1'b0}
      : {1'b0, bytes_i} + {20'd0, bytes_i[0]};

  assign busy_o     = state_q != IDLE;
  assign active_o   = state != IDLE;
  assign strobing   = state == STROBES;
  assign word_begin = strobing && (start_i || !in_word_q) && aligned_i
      && (nv_ddr_i ? decided_q : mailbox_o || word_ready_i);
  assign word_run   = strobing && (word_begin || (in_word_q && !start_i));
  assign data_now_o = word_run;

  // The mailbox never has to wait.
  assign may     = mailbox_o || (word_run ? following_i : word_ready_i);
  assign decided = aligned_i ? may : decided_q;
  // The word ends with this period of CLK, whose second half the cycle reaches into.
  logic last_pair;
  assign last_pair = index_o[23:21] == transfers_o[2:0] - 3'd1;
  assign data_next_o = word_run ? !last_pair || (decided && transfers > 21'd8)
      : decided && (strobing || (state == PREAMBLE && count <= grain_i));
  assign odd_word_o = !start_i && odd_q;

  assign transfers_o  = |transfers[20:3] ? 4'd8 : {1'b0, transfers[2:0]};
  assign word_bytes_o = |bytes[19:3] ? 4'd8 : {1'b0, bytes[2:0]};
  assign strobes_last = word_last_o && transfers <= 21'd8;
  assign last_o       = (strobes_last && postamble_i == 8'd0) || (state == POSTAMBLE && count <= 8'd1);

  aster_phase_window u_window (
      .clk_i,
      .rst_ni,
      .byte_phases_i,
      .begin_i(word_begin),
      .run_i(word_run),
      .transfers_i(transfers_o),
      .index_o,
      .valid_o,
      .late_o,
      .begun_before_o,
      .begun_after_o,
      .last_o(word_last_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= IDLE;
      count_q     <= 8'd0;
      transfers_q <= 21'd0;
      bytes_q     <= 20'd0;
      mailbox_q   <= 1'b0;
      in_word_q   <= 1'b0;
      odd_q       <= 1'b0;
      decided_q   <= 1'b0;
    end else if (active_o) begin
      mailbox_q   <= mailbox_o;
      in_word_q   <= word_run && !word_last_o;
      odd_q       <= odd_word_o ^ word_last_o;
      decided_q   <= decided && !last_o;
      transfers_q <= word_last_o ? transfers - {17'd0, transfers_o} : transfers;
      bytes_q     <= word_last_o ? bytes - {16'd0, word_bytes_o} : bytes;
      count_q     <= state == STROBES ? postamble_i : count - 8'd1;
      state_q     <= last_o ? IDLE : strobes_last ? POSTAMBLE
          : state == PREAMBLE && count <= 8'd1 ? STROBES : state;
    end
  end
endmodule
