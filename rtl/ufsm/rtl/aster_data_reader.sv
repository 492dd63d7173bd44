// Data Reader: a burst of bytes out of the package, in SDR, NV-DDR and NV-DDR2 (B6).
//
// The deserialiser gives the bytes strobed in a cycle in that cycle, the first in lane 0. No more than four are.
module aster_data_reader (
    input  logic        clk_i,
    input  logic        rst_ni,
    // 0 SDR, 1 NV-DDR, 2 NV-DDR2.
    input  logic [1:0]  mode_i,
    input  logic [7:0]  preamble_i,
    input  logic [7:0]  postamble_i,
    input  logic [11:0] byte_phases_i,
    // Whether a step may begin in this cycle: on an edge of NV-DDR's CLK.
    input  logic        aligned_i,
    input  logic        start_i,
    input  logic [19:0] bytes_i,
    input  logic        mailbox_i,
    // There is room for a word.
    input  logic        room_i,
    input  logic [31:0] lanes_i,
    output logic        busy_o,
    output logic        last_o,
    // A word is complete; its first `word_bytes_o` bytes are data. The mailbox's come twice when `twice_o`.
    output logic        word_valid_o,
    output logic [63:0] word_o,
    output logic [3:0]  word_bytes_o,
    output logic        mailbox_o,
    // CLE and ALE of NV-DDR.
    output logic        cle_ale_o,
    output logic [7:0]  re_no,
    // Bytes strobed in this cycle.
    output logic [2:0]  strobed_o
);
  localparam logic [1:0] SDR = 2'd0;
  localparam logic [1:0] NV_DDR = 2'd1;

  logic active, pause, twice, unused_odd_word, word_last;
  logic [3:0] word_bytes, transfers, first, next;
  logic [23:0] index;
  logic [7:0] valid, late;

  aster_burst u_burst (
      .clk_i,
      .rst_ni,
      .ddr_i(mode_i != SDR),
      .preamble_i,
      .postamble_i,
      .byte_phases_i,
      .start_i,
      .bytes_i,
      .mailbox_i,
      .word_ready_i(aligned_i && (mailbox_o || room_i)),
      .busy_o,
      .active_o(active),
      .pause_o(pause),
      .mailbox_o,
      .twice_o(twice),
      .odd_word_o(unused_odd_word),
      .word_bytes_o(word_bytes),
      .transfers_o(transfers),
      .index_o(index),
      .valid_o(valid),
      .late_o(late),
      .begun_before_o(first),
      .begun_after_o(next),
      .word_last_o(word_last),
      .last_o
  );

  logic strobing;
  assign strobing  = valid != 8'd0;
  assign strobed_o = strobing ? next[2:0] - first[2:0] : 3'd0;

  logic [63:0] word_q, word;
  logic [7:0] taken;
  assign taken = strobing ? (8'hff << first) & ~(8'hff << next) : 8'h00;
  for (genvar i = 0; i < 8; i++) begin : gen_byte
    logic [1:0] lane;
    assign lane = 2'(i) - first[1:0];
    assign word[8*i+:8] = taken[i] ? lanes_i[8*lane+:8] : word_q[8*i+:8];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) word_q <= 64'd0;
    else word_q <= word;
  end

  logic [7:0] odd;
  logic unused_index;
  assign unused_index = ^index;
  for (genvar i = 0; i < 8; i++) begin : gen_level
    assign odd[i] = index[3*i];
  end

  assign word_valid_o = word_last;
  assign word_o       = twice ? {32'd0, word[55:48], word[39:32], word[23:16], word[7:0]} : word;
  assign word_bytes_o = twice ? transfers >> 1 : word_bytes;
  assign cle_ale_o    = active && mode_i == NV_DDR && !pause;
  assign re_no        = !active ? 8'hff : mode_i == SDR ? ~(valid & ~late) : mode_i == NV_DDR ? 8'h00 : valid & ~odd;
endmodule
