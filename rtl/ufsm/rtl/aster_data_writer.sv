// Data Writer: a burst of bytes into the package, in SDR, NV-DDR and NV-DDR2 (B5).
module aster_data_writer (
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
    // What memory has delivered, and what the descriptor carries for the mailbox. Both hold until the word is taken.
    input  logic        word_valid_i,
    input  logic [63:0] word_i,
    input  logic [63:0] immediate_i,
    output logic        word_taken_o,
    output logic        busy_o,
    output logic        last_o,
    // CLE and ALE of NV-DDR.
    output logic        cle_ale_o,
    output logic [7:0]  we_no,
    output logic [7:0]  dqs_o,
    output logic        dqs_oe_o,
    output logic [63:0] dq_o,
    output logic        dq_oe_o
);
  localparam logic [1:0] SDR = 2'd0;
  localparam logic [1:0] NV_DDR = 2'd1;

  logic active, pause, to_mailbox, twice, odd_word, word_last, sdr;
  logic [3:0] word_bytes, unused_transfers, unused_before, unused_after;
  logic [23:0] index;
  logic [7:0] valid, late;

  assign sdr = mode_i == SDR;

  aster_burst u_burst (
      .clk_i,
      .rst_ni,
      .ddr_i(!sdr),
      .preamble_i,
      .postamble_i,
      .byte_phases_i,
      .start_i,
      .bytes_i,
      .mailbox_i,
      .word_ready_i(aligned_i && (to_mailbox || word_valid_i)),
      .busy_o,
      .active_o(active),
      .pause_o(pause),
      .mailbox_o(to_mailbox),
      .twice_o(twice),
      .odd_word_o(odd_word),
      .word_bytes_o(word_bytes),
      .transfers_o(unused_transfers),
      .index_o(index),
      .valid_o(valid),
      .late_o(late),
      .begun_before_o(unused_before),
      .begun_after_o(unused_after),
      .word_last_o(word_last),
      .last_o
  );

  // What fills up an odd burst leaves cells as they are.
  localparam logic [7:0] FILL = 8'hff;
  logic [7:0] fill;
  logic [31:0] half_word;
  logic [63:0] twice_word, word;
  assign fill       = twice ? 8'h00 : 8'hff << word_bytes;
  assign half_word  = odd_word ? immediate_i[63:32] : immediate_i[31:0];
  assign twice_word = {{2{half_word[31:24]}}, {2{half_word[23:16]}}, {2{half_word[15:8]}}, {2{half_word[7:0]}}};
  assign word       = twice ? twice_word : to_mailbox ? immediate_i : word_i;

  for (genvar i = 0; i < 8; i++) begin : gen_phase
    logic [2:0] at;
    assign at = index[3*i+:3];
    assign dq_o[8*i+:8] = !valid[i] ? 8'd0 : fill[at] ? FILL : word[8*at+:8];
    // From the half of an even transfer to the half of the odd one that follows.
    assign dqs_o[i] = valid[i] && (late[i] ^ at[0]);
  end

  assign word_taken_o = word_last && !to_mailbox;
  assign we_no        = sdr ? ~(valid & ~late) : 8'hff;
  assign dqs_oe_o     = active && !sdr;
  assign dq_oe_o      = active;
  assign cle_ale_o    = active && mode_i == NV_DDR && !pause;
endmodule
