// Proof: Latches of the C/A Writer violate no timing parameter of SDR or NV-DDR2, whatever follows what.
// Block: ufsm
// Method: reachability
// Sources: ufsm checker
// Assumes: a cycle table that keeps the ONFI minima; an instruction starts when none goes on; DQ, CLE and ALE
//   are the writer's for as long as a latch's hold lasts; CE# is low.
module ca_writer_pins (
    input logic       clk_i,
    input logic       start_i,
    input logic [6:0] count_i,
    input logic [7:0] value_i,
    input logic       command_i,
    // Cycle table and limits: any values in the first cycle, which then don't change.
    input logic [7:0] latch_cycles_i,
    input logic [9:0] latch_from_i,
    input logic [9:0] latch_hold_i,
    input logic       nv_ddr2_i,
    input logic [47*6-1:0] limits_i
);
  `include "onfi_parameters.svh"
  localparam integer WIDTH = 6;

  reg rst_n = 1'b0;
  always @(posedge clk_i) rst_n <= 1'b1;

  reg [7:0] latch_cycles;
  reg [9:0] latch_from, latch_hold;
  reg nv_ddr2;
  reg [47*WIDTH-1:0] limits;
  always @(posedge clk_i) begin
    if (!rst_n) {latch_cycles, latch_from, latch_hold} <= {latch_cycles_i, latch_from_i, latch_hold_i};
    if (!rst_n) {nv_ddr2, limits} <= {nv_ddr2_i, limits_i};
  end

  wire busy, latch_last;
  wire [7:0] cle, ale, we_n;
  wire [63:0] dq;
  wire dq_oe;
  aster_ca_writer u_writer (
      .clk_i, .rst_ni(rst_n), .latch_cycles_i(latch_cycles), .latch_from_i(latch_from),
      .latch_hold_i(latch_hold), .start_i, .count_i, .index_o(), .value_i, .command_i, .busy_o(busy),
      .latch_last_o(latch_last), .last_o(), .cle_o(cle), .ale_o(ale), .we_no(we_n), .dq_o(dq), .dq_oe_o(dq_oe)
  );

  localparam [46:0] MASK = (47'd1 << T_WP) | (47'd1 << T_WH) | (47'd1 << T_WC) | (47'd1 << T_CLS)
      | (47'd1 << T_CLH) | (47'd1 << T_ALS) | (47'd1 << T_ALH) | (47'd1 << T_DS) | (47'd1 << T_DH)
      | (47'd1 << T_CALS) | (47'd1 << T_CALH) | (47'd1 << T_CAS) | (47'd1 << T_CAH);
  onfi_checker #(.WIDTH(WIDTH), .MASK(MASK)) u_checker (
      .clk_i, .rst_ni(rst_n), .mode_i(nv_ddr2 ? 2'd2 : 2'd0), .limits_i(limits), .ce_ni(1'b0), .cle_i(cle),
      .ale_i(ale), .we_ni(we_n), .re_ni(8'hff), .dqs_i(8'hff), .dqs_oe_i(1'b0), .dq_i(dq), .dq_oe_i(dq_oe),
      .ready_i(1'b1), .violation_o(), .violated_o()
  );

  // The table's phases, extended to the bits that the sums need.
  wire [12:0] cycle = {2'd0, latch_cycles, 3'd0};
  wire [12:0] from = {3'd0, latch_from};
  wire [12:0] hold = {3'd0, latch_hold};
  `define LIMIT(index) {{(13-WIDTH){1'b0}}, limits[index*WIDTH +: WIDTH]}
  reg [7:0] value_q;
  reg command_q, middle_q;
  always @(posedge clk_i) begin
    {value_q, command_q} <= {value_i, command_i};
    middle_q <= rst_n && (start_i || busy) && !latch_last;
  end
  always @* if (rst_n) begin
    assume (latch_cycles != 8'd0 && latch_cycles <= 8'd3);
    assume (hold != 13'd0 && hold <= from && from < cycle);
    assume (cycle >= `LIMIT(T_WC) && (cycle >> 1) >= `LIMIT(T_WP) && (cycle >> 1) >= `LIMIT(T_WH));
    assume (cycle - from >= `LIMIT(T_CLS) && cycle - from >= `LIMIT(T_ALS) && cycle - from >= `LIMIT(T_DS));
    assume (cycle - from >= `LIMIT(T_CALS) && cycle - from >= `LIMIT(T_CAS));
    assume (hold >= `LIMIT(T_CLH) && hold >= `LIMIT(T_ALH) && hold >= `LIMIT(T_DH));
    assume (hold >= `LIMIT(T_CALH) && hold >= `LIMIT(T_CAH));
    assume (!start_i || ( !busy && count_i != 7'd0));
    assume (!middle_q || (value_i == value_q && command_i == command_q));
  end
endmodule
