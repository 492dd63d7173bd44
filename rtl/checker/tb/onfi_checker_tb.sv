// SDR mode 5 by hand at 10 ns: a READ STATUS that keeps every minimum, and then one violation at a time.
`default_nettype none

module onfi_checker_tb;
  `include "onfi_parameters.svh"
  `include "onfi_limits.svh"

  reg clk = 1'b0;
  reg rst_n = 1'b0;
  reg ce_n = 1'b1;
  reg [7:0] cle = 8'h00;
  reg [7:0] we_n = 8'hff;
  reg [7:0] re_n = 8'hff;
  reg [63:0] dq = 64'd0;
  reg dq_oe = 1'b0;
  wire [46:0] violation;
  wire [46:0] violated;
  integer errors = 0;

  onfi_checker #(.REPORT(1'b0)) checker_i (
      .clk_i(clk), .rst_ni(rst_n), .mode_i(2'd0), .limits_i(onfi_limits(2'd0, 4'd5, 1250)),
      .ce_ni(ce_n), .cle_i(cle), .ale_i(8'h00), .we_ni(we_n), .re_ni(re_n), .dqs_i(8'hff), .dqs_oe_i(1'b0),
      .dq_i(dq), .dq_oe_i(dq_oe), .ready_i(1'b1), .violation_o(violation), .violated_o(violated)
  );

  initial forever #5 clk = !clk;

  task automatic cycles(input integer count);
    repeat (count) @(negedge clk);
  endtask

  // READ STATUS: 70h in a latch of two cycles, `whr` cycles, one byte of two cycles, `hold` cycles, CE# high.
  task automatic status(input [7:0] low, input integer whr, input [7:0] strobe, input integer hold);
    ce_n = 1'b0; cycles(2);
    cle = 8'hff; dq = {8{8'h70}}; dq_oe = 1'b1; we_n = low; cycles(1);
    we_n = 8'h00; cycles(1);
    we_n = 8'hff; cycles(1);
    cle = 8'h00; dq_oe = 1'b0; cycles(whr);
    re_n = strobe; cycles(1);
    re_n = 8'hff; cycles(1);
    cycles(hold);
    // tRHW reaches into the next transaction.
    ce_n = 1'b1; cycles(6);
  endtask

  task automatic expect_only(input [46:0] wanted);
    if (violated != wanted) begin
      errors = errors + 1;
      $display("FAIL: wanted %b, found %b", wanted, violated);
    end
    rst_n = 1'b0; cycles(2);
    rst_n = 1'b1; cycles(1);
  endtask

  initial begin
    cycles(2);
    rst_n = 1'b1; cycles(1);
    status(8'hff, 8, 8'h00, 1);
    status(8'hff, 8, 8'h00, 1);
    expect_only(47'd0);
    // RE# low for three phases: 3.75 ns.
    status(8'hff, 8, 8'hf8, 1);
    expect_only(47'd1 << T_RP);
    // 70 ns from the latch to RE#: one cycle after the latch CLE is still up.
    status(8'hff, 6, 8'h00, 1);
    expect_only(47'd1 << T_WHR);
    // CE# goes low 10 ns after it went high.
    ce_n = 1'b0; cycles(2);
    ce_n = 1'b1; cycles(1);
    ce_n = 1'b0; cycles(1);
    expect_only(47'd1 << T_CEH);
    ce_n = 1'b1;
    if (violation != 47'd0) errors = errors + 1;
    if (errors == 0) $display("PASS");
    $finish;
  end
endmodule
`default_nettype wire
