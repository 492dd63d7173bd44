// Replays a recorded sequence of pins to the checker: +pins=FILE, one line per cycle, and +limits=FILE.
// Prints `VIOLATION cycle bits`.
`default_nettype none
module onfi_replay #(
    parameter integer PHASES = 8
);
  reg clk = 1'b0;
  reg rst_n = 1'b0;
  reg ce_n = 1'b1, dqs_oe = 1'b0, dq_oe = 1'b0, ready = 1'b1;
  reg [PHASES-1:0] cle = 0, ale = 0, we_n = {PHASES{1'b1}}, re_n = {PHASES{1'b1}}, dqs = {PHASES{1'b1}};
  reg [8*PHASES-1:0] dq = 0;
  reg [1:0] mode = 2'd0;
  reg [47*16-1:0] limits = 752'd0;
  wire [46:0] violation, violated;

  onfi_checker #(.PHASES(PHASES), .REPORT(1'b0)) checker_i (
      .clk_i(clk), .rst_ni(rst_n), .mode_i(mode), .limits_i(limits), .ce_ni(ce_n), .cle_i(cle), .ale_i(ale),
      .we_ni(we_n), .re_ni(re_n), .dqs_i(dqs), .dqs_oe_i(dqs_oe), .dq_i(dq), .dq_oe_i(dq_oe), .ready_i(ready),
      .violation_o(violation), .violated_o(violated)
  );

  reg [8*256-1:0] name;
  integer file, got, cycle;
  initial begin
    if (!$value$plusargs("limits=%s", name)) $display("FAIL: no +limits");
    file = $fopen(name, "r");
    got = $fscanf(file, "%h %h", mode, limits);
    $fclose(file);
    #1 clk = 1'b1;
    #1 clk = 1'b0;
    rst_n = 1'b1;
    if (!$value$plusargs("pins=%s", name)) $display("FAIL: no +pins");
    file = $fopen(name, "r");
    cycle = 0;
    got = $fscanf(file, "%b %h %h %h %h %h %b %h %b %b", ce_n, cle, ale, we_n, re_n, dqs, dqs_oe, dq, dq_oe,
        ready);
    while (got == 10) begin
      #1 if (violation != 47'd0) $display("VIOLATION %0d %b", cycle, violation);
      clk = 1'b1;
      #1 clk = 1'b0;
      cycle = cycle + 1;
      got = $fscanf(file, "%b %h %h %h %h %h %b %h %b %b", ce_n, cle, ale, we_n, re_n, dqs, dqs_oe, dq, dq_oe,
          ready);
    end
    $display("CYCLES %0d", cycle);
    $finish;
  end
endmodule
`default_nettype wire
