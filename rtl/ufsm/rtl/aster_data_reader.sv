// Data Reader: a burst of bytes out of the package, in SDR, NV-DDR and NV-DDR2 (B6).
//
// The deserialiser delivers the bytes strobed in a cycle in the same cycle, the first in lane 0. There
// are at most four.
module aster_data_reader (
    input  logic        clk_i,
    input  logic        rst_ni,
    // 0 SDR, 1 NV-DDR, 2 NV-DDR2.
    input  logic [1:0]  mode_i,
    input  logic [7:0]  preamble_i,
    input  logic [7:0]  postamble_i,
    input  logic [11:0] byte_phases_i,
    // NV-DDR's CLK: its period in cycles, whether a step may begin in this cycle (on an edge of CLK), and
    // its level.
    input  logic [7:0]  grain_i,
    input  logic        aligned_i,
    input  logic [7:0]  clock_i,
    // The next instruction is a read burst that has to wait.
    input  logic        pending_i,
    input  logic        start_i,
    input  logic [19:0] bytes_i,
    input  logic        mailbox_i,
    // There is room for a word.
    input  logic        room_i,
    input  logic        following_room_i,
    input  logic [31:0] lanes_i,
    output logic        busy_o,
    output logic        last_o,
    // A word is complete. Its first `word_bytes_o` bytes are data. With `twice_o`, the mailbox's bytes
    // come twice.
    output logic        word_valid_o,
    output logic [63:0] word_o,
    output logic [3:0]  word_bytes_o,
    output logic        mailbox_o,
    // The last cycle of a latch, or of the gap between transactions. RE#, which is held low after an
    // NV-DDR2 burst, goes high in it.
    input  logic        let_go_i,
    // Data output in this period of NV-DDR's CLK, and in the next.
    output logic        data_now_o,
    output logic        data_next_o,
    output logic [7:0]  re_no,
    // Bytes strobed in this cycle.
    output logic [2:0]  strobed_o
);
  localparam logic [1:0] SDR = 2'd0;
  localparam logic [1:0] NV_DDR = 2'd1;

  localparam logic [1:0] NV_DDR2 = 2'd2;

  logic active, data_now, data_next, nv_ddr, twice, unused_odd_word, word_last;
  logic [3:0] word_bytes, transfers, first, next;
  logic [23:0] index;
  logic [7:0] valid, late;

  assign nv_ddr = mode_i == NV_DDR;

  aster_burst u_burst (
      .clk_i,
      .rst_ni,
      .ddr_i(mode_i != SDR),
      .nv_ddr_i(nv_ddr),
      .grain_i,
      .aligned_i,
      .preamble_i,
      .postamble_i,
      .byte_phases_i,
      .start_i,
      .bytes_i,
      .mailbox_i,
      .word_ready_i(room_i),
      .following_i(following_room_i),
      .busy_o,
      .active_o(active),
      .data_now_o(data_now),
      .data_next_o(data_next),
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
  assign data_now_o   = data_now && nv_ddr;
  assign data_next_o  = data_next && nv_ddr;

  // NV-DDR's W/R# changes where CLK falls. It is low from the fall after the latches that a burst waits
  // for to the fall after the burst.
  logic turned_q, turned, turned_before_q, turned_before;
  assign turned = aligned_i ? nv_ddr && (active || pending_i) : turned_q;
  assign turned_before = aligned_i ? turned_q : turned_before_q;

  // An NV-DDR2 burst ends with CLE, ALE or CE# going high, and RE# is held low for tRPSTH after that: it
  // rises a phase before the next latch's edge, or before the next transaction can begin.
  logic held_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {turned_q, turned_before_q} <= 2'd0;
      held_q               <= 1'b0;
    end else begin
      {turned_q, turned_before_q} <= {turned, turned_before};
      if (last_o && mode_i == NV_DDR2) held_q <= 1'b1;
      else if (let_go_i) held_q <= 1'b0;
    end
  end

  logic [7:0] turn;
  assign turn  = clock_i & {8{turned_before}} | ~clock_i & {8{turned}};
  assign re_no = active && mode_i == SDR ? ~(valid & ~late) : active && mode_i == NV_DDR2 ? valid & ~odd
      : held_q ? {let_go_i, 7'd0} : ~turn;
endmodule
