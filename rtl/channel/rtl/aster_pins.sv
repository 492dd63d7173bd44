// Combines the uFSMs' pins and generates NV-DDR's CLK. Only one uFSM acts at a time, except that a
// latch's hold may reach into whatever follows it.
module aster_pins (
    // 0 SDR, 1 NV-DDR, 2 NV-DDR2; CLK's period, the cycle's number in it, and whether any chip is selected.
    input  logic [1:0]  mode_i,
    input  logic [7:0]  grain_i,
    input  logic [7:0]  grain_cycle_i,
    input  logic        selected_i,
    input  logic [7:0]  latch_cle_i,
    input  logic [7:0]  latch_ale_i,
    input  logic [7:0]  latch_we_ni,
    input  logic [63:0] latch_dq_i,
    input  logic        latch_dq_oe_i,
    // Data in this period of NV-DDR's CLK, and in the next.
    input  logic        data_now_i,
    input  logic        data_next_i,
    input  logic [7:0]  write_we_ni,
    input  logic [63:0] write_dq_i,
    input  logic        write_dq_oe_i,
    // CLK's level, even while no chip is selected.
    output logic [7:0]  clock_o,
    output logic [7:0]  cle_o,
    output logic [7:0]  ale_o,
    output logic [7:0]  we_no,
    output logic [63:0] dq_o,
    output logic        dq_oe_o
);
  localparam logic [1:0] NV_DDR = 2'd1;

  // Between transactions WE# is high in every mode: a rise together with CE#'s fall could be a latch in
  // SDR.
  logic [7:0] half;
  assign half    = grain_i >> 1;
  assign clock_o = grain_cycle_i < half ? 8'hff : grain_cycle_i == half && grain_i[0] ? 8'h0f : 8'h00;

  // CLE and ALE change where CLK falls, half a period before the rises that sample them.
  logic [7:0] data;
  assign data    = clock_o & {8{data_now_i}} | ~clock_o & {8{data_next_i}};
  assign cle_o   = latch_cle_i | data;
  assign ale_o   = latch_ale_i | data;
  assign we_no   = !selected_i ? 8'hff : mode_i == NV_DDR ? clock_o : latch_we_ni & write_we_ni;
  assign dq_o    = latch_dq_i | write_dq_i;
  assign dq_oe_o = latch_dq_oe_i || write_dq_oe_i;
endmodule
