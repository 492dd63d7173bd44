// C/A Writer: command and address latches one after the other, each with its edge at the end of its cycles
// (B4).
//
// A latch's CLE, ALE and DQ are held beyond its edge, into the next latch or whatever follows, and so
// beyond the instruction.
module aster_ca_writer (
    input  logic        clk_i,
    input  logic        rst_ni,
    // Cycles of a latch (zero counts as one), and phases as in the cycle table.
    input  logic [7:0]  latch_cycles_i,
    input  logic [9:0]  latch_from_i,
    input  logic [9:0]  latch_hold_i,
    // The first of `count_i` latches begins in this cycle.
    input  logic        start_i,
    input  logic [6:0]  count_i,
    // The number of the latch on the bus in this cycle, and that latch.
    output logic [6:0]  index_o,
    input  logic [7:0]  value_i,
    input  logic        command_i,
    // An instruction that began before continues.
    output logic        busy_o,
    // The last cycle of a latch, and of the instruction.
    output logic        latch_last_o,
    output logic        last_o,
    output logic [7:0]  cle_o,
    output logic [7:0]  ale_o,
    // WE# of the asynchronous modes.
    output logic [7:0]  we_no,
    output logic [63:0] dq_o,
    output logic        dq_oe_o
);
  logic [6:0] left_q, left, index_q;
  logic [7:0] cycle_q, cycle;
  logic [9:0] tail_q;
  logic [7:0] tail_value_q;
  logic       tail_command_q, active;

  assign busy_o  = left_q != 7'd0;
  assign active  = start_i || busy_o;
  assign left    = start_i ? count_i : left_q;
  assign cycle   = start_i ? 8'd0 : cycle_q;
  assign index_o = start_i ? 7'd0 : index_q;

  assign latch_last_o = active && {1'b0, cycle} + 9'd1 >= {1'b0, latch_cycles_i};
  assign last_o       = latch_last_o && left <= 7'd1;

  // WE# is low for the second half: 4 phases for each cycle of the latch.
  logic [7:0] half;
  assign half  = latch_cycles_i >> 1;
  assign we_no = !active || cycle < half ? 8'hff : cycle == half && latch_cycles_i[0] ? 8'h0f : 8'h00;

  logic [7:0] here, tail;
  assign here = !active || cycle < {1'b0, latch_from_i[9:3]} ? 8'h00
      : cycle == {1'b0, latch_from_i[9:3]} ? 8'hff << latch_from_i[2:0] : 8'hff;
  assign tail = ~here & (|tail_q[9:3] ? 8'hff : ~(8'hff << tail_q[2:0]));
  for (genvar i = 0; i < 8; i++) begin : gen_phase
    assign dq_o[8*i+:8] = here[i] ? value_i : tail[i] ? tail_value_q : 8'd0;
  end
  assign cle_o   = (here & {8{command_i}}) | (tail & {8{tail_command_q}});
  assign ale_o   = (here & {8{!command_i}}) | (tail & {8{!tail_command_q}});
  assign dq_oe_o = active || tail_q != 10'd0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q         <= 7'd0;
      index_q        <= 7'd0;
      cycle_q        <= 8'd0;
      tail_q         <= 10'd0;
      tail_value_q   <= 8'd0;
      tail_command_q <= 1'b0;
    end else begin
      if (latch_last_o) begin
        tail_q         <= latch_hold_i;
        tail_value_q   <= value_i;
        tail_command_q <= command_i;
      end else begin
        tail_q <= tail_q > 10'd8 ? tail_q - 10'd8 : 10'd0;
      end
      if (active) begin
        left_q  <= latch_last_o ? left - 7'd1 : left;
        index_q <= latch_last_o ? index_o + 7'd1 : index_o;
        cycle_q <= latch_last_o ? 8'd0 : cycle + 8'd1;
      end
    end
  end
endmodule
