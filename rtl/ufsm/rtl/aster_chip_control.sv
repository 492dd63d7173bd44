// Chip Control: holds chip enables low for a transaction, tCS before its first step and tCH after its last
// (B7).
module aster_chip_control #(
    parameter integer WAYS = 8
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    // Cycles of tCS and tCH; zero counts as one.
    input  logic [7:0]      setup_i,
    input  logic [7:0]      hold_i,
    // The transaction begins in this cycle, on these chips.
    input  logic            begin_i,
    input  logic [WAYS-1:0] chips_i,
    // The chips are released: the hold begins in this cycle.
    input  logic            end_i,
    // A setup or hold that began before continues.
    output logic            busy_o,
    output logic            setup_last_o,
    output logic            hold_last_o,
    output logic            selected_o,
    output logic [WAYS-1:0] ce_no
);
  logic [7:0] left_q, left;
  logic [WAYS-1:0] chips_q;
  logic ending_q, ending, active;

  assign busy_o = left_q != 8'd0;
  assign active = begin_i || end_i || busy_o;
  assign ending = end_i || ending_q;
  assign left   = begin_i ? (setup_i == 8'd0 ? 8'd1 : setup_i)
      : end_i ? (hold_i == 8'd0 ? 8'd1 : hold_i) : left_q;

  assign setup_last_o = active && !ending && left == 8'd1;
  assign hold_last_o  = active && ending && left == 8'd1;
  assign selected_o   = begin_i || chips_q != '0;
  assign ce_no        = ~(begin_i ? chips_i : chips_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q   <= 8'd0;
      chips_q  <= '0;
      ending_q <= 1'b0;
    end else if (active) begin
      left_q   <= left - 8'd1;
      ending_q <= ending && !hold_last_o;
      if (begin_i) chips_q <= chips_i;
      else if (hold_last_o) chips_q <= '0;
    end
  end
endmodule
