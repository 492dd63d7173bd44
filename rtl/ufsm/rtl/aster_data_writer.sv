// Data Writer: a burst of bytes into the package, in SDR, NV-DDR and NV-DDR2 (B5).
module aster_data_writer (
    input  logic        clk_i,
    input  logic        rst_ni,
    // 0 SDR, 1 NV-DDR, 2 NV-DDR2.
    input  logic [1:0]  mode_i,
    input  logic [7:0]  preamble_i,
    input  logic [7:0]  postamble_i,
    input  logic [11:0] byte_phases_i,
    // NV-DDR's CLK: its period in cycles, and whether a step may begin in this cycle (on an edge of CLK).
    input  logic [7:0]  grain_i,
    input  logic        aligned_i,
    input  logic        start_i,
    input  logic [19:0] bytes_i,
    input  logic        mailbox_i,
    // The word that memory has delivered, and the descriptor's immediate value for the mailbox. Both are
    // stable until the word is taken.
    input  logic        word_valid_i,
    input  logic        following_valid_i,
    input  logic [63:0] word_i,
    input  logic [63:0] immediate_i,
    output logic        word_taken_o,
    output logic        busy_o,
    output logic        last_o,
    // Whether a chip is selected, the cycles of a latch, and the last cycle of a latch: they determine
    // how long DQS is held low after an NV-DDR2 burst.
    input  logic        selected_i,
    input  logic [7:0]  latch_cycles_i,
    input  logic        latch_last_i,
    // Data input in this period of NV-DDR's CLK, and in the next.
    output logic        data_now_o,
    output logic        data_next_o,
    output logic [7:0]  we_no,
    output logic [7:0]  dqs_o,
    output logic        dqs_oe_o,
    output logic [63:0] dq_o,
    output logic        dq_oe_o
);
  localparam logic [1:0] SDR = 2'd0;
  localparam logic [1:0] NV_DDR = 2'd1;

  localparam logic [1:0] NV_DDR2 = 2'd2;

  logic active, data_now, data_next, to_mailbox, twice, odd_word, word_last, sdr, nv_ddr;
  logic [3:0] word_bytes, transfers, unused_before, unused_after;
  logic [23:0] index;
  logic [7:0] valid, late;

  assign sdr    = mode_i == SDR;
  assign nv_ddr = mode_i == NV_DDR;

  aster_burst u_burst (
      .clk_i,
      .rst_ni,
      .ddr_i(!sdr),
      .nv_ddr_i(nv_ddr),
      .grain_i,
      .aligned_i,
      .preamble_i,
      .postamble_i,
      .byte_phases_i,
      .start_i,
      .bytes_i,
      .mailbox_i,
      .word_ready_i(word_valid_i),
      .following_i(following_valid_i),
      .busy_o,
      .active_o(active),
      .data_now_o(data_now),
      .data_next_o(data_next),
      .mailbox_o(to_mailbox),
      .twice_o(twice),
      .odd_word_o(odd_word),
      .word_bytes_o(word_bytes),
      .transfers_o(transfers),
      .index_o(index),
      .valid_o(valid),
      .late_o(late),
      .begun_before_o(unused_before),
      .begun_after_o(unused_after),
      .word_last_o(word_last),
      .last_o
  );

  // The byte that fills up an odd burst leaves cells as they are.
  localparam logic [7:0] FILL = 8'hff;
  logic [7:0] fill;
  logic [31:0] half_word;
  logic [63:0] twice_word, word;
  assign fill       = twice ? 8'h00 : 8'hff << word_bytes;
  assign half_word  = odd_word ? immediate_i[63:32] : immediate_i[31:0];
  assign twice_word = {{2{half_word[31:24]}}, {2{half_word[23:16]}}, {2{half_word[15:8]}},
      {2{half_word[7:0]}}};
  assign word       = twice ? twice_word : to_mailbox ? immediate_i : word_i;

  // In NV-DDR, DQ and DQS come one transfer (half a CLK period) after the data input cycle that they
  // belong to, so DQS rises three quarters of a period after CLK. A word's last transfer reaches into
  // whatever follows it.
  logic [11:0] half, tail_q;
  logic [7:0] tail_value_q;
  logic [2:0] last_at;
  assign half    = byte_phases_i >> 1;
  assign last_at = transfers[2:0] - 3'd1;

  for (genvar i = 0; i < 8; i++) begin : gen_phase
    logic [2:0] at, from;
    logic shown, tail;
    assign at    = index[3*i+:3];
    assign from  = at - {2'd0, nv_ddr};
    assign shown = valid[i] && (!nv_ddr || at != 3'd0);
    assign tail  = tail_q > 12'(i);
    assign dq_o[8*i+:8] = shown ? fill[from] ? FILL : word[8*from+:8] : tail ? tail_value_q : 8'd0;
    // From the half of an even transfer to the half of the odd one that follows.
    assign dqs_o[i] = shown ? late[i] ^ from[0] : tail && tail_q > half + 12'(i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tail_q       <= 12'd0;
      tail_value_q <= 8'd0;
    end else if (word_last && nv_ddr) begin
      tail_q       <= byte_phases_i;
      tail_value_q <= fill[last_at] ? FILL : word[8*last_at+:8];
    end else begin
      tail_q <= tail_q > 12'd8 ? tail_q - 12'd8 : 12'd0;
    end
  end

  // An NV-DDR2 burst ends with CLE, ALE or CE# going high, and DQS is held low for tWPSTH after that: to the
  // edge of the next latch, or for as many cycles after CE#.
  logic held_q, letting_go;
  logic [7:0] since_q, since;
  assign since      = letting_go ? since_q + 8'd1 : 8'd0;
  assign letting_go = held_q && (!selected_i || since_q != 8'd0);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q  <= 1'b0;
      since_q <= 8'd0;
    end else begin
      if (last_o && mode_i == NV_DDR2) held_q <= 1'b1;
      else if (latch_last_i || since >= latch_cycles_i && letting_go) held_q <= 1'b0;
      since_q <= since;
    end
  end

  logic unused_transfers;
  assign unused_transfers = transfers[3];

  assign word_taken_o = word_last && !to_mailbox;
  assign we_no        = sdr ? ~(valid & ~late) : 8'hff;
  assign dqs_oe_o     = (active && !sdr) || held_q;
  assign dq_oe_o      = active;
  assign data_now_o   = data_now && nv_ddr;
  assign data_next_o  = data_next && nv_ddr;
endmodule
