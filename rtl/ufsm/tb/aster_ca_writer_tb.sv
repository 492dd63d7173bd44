// Latches against the definition: WE# low for the second half, CLE, ALE and DQ from `from` phases after the
// beginning until `hold` phases after the edge, for lengths that divide and that don't, and again with
// nothing between two instructions.
module aster_ca_writer_tb;
  logic clk = 1'b0, rst_n = 1'b0;
  initial forever #5 clk = !clk;

  logic [7:0] latch_cycles = 8'd1;
  logic [9:0] latch_from = 10'd0, latch_hold = 10'd0;
  logic start = 1'b0;
  logic [6:0] count = 7'd1, index;
  logic [7:0] cle, ale, we_n;
  logic [63:0] dq;
  logic busy, latch_last, last, dq_oe;
  integer errors = 0;

  // Each third latch is a command; its value is its number.
  aster_ca_writer u_writer (
      .clk_i(clk), .rst_ni(rst_n), .latch_cycles_i(latch_cycles), .latch_from_i(latch_from),
      .latch_hold_i(latch_hold), .start_i(start), .count_i(count), .index_o(index),
      .value_i({1'b0, index} + 8'h40), .command_i(index % 3 == 0), .busy_o(busy), .latch_last_o(latch_last),
      .last_o(last), .cle_o(cle), .ale_o(ale), .we_no(we_n), .dq_o(dq), .dq_oe_o(dq_oe)
  );

  task automatic check(input integer is, input integer wanted, input integer what, input integer at);
    if (is != wanted) begin
      errors = errors + 1;
      if (errors < 20)
        $display("FAIL: latch of %0d from %0d hold %0d, phase %0d, check %0d: %0h instead of %0h",
                 latch_cycles, latch_from, latch_hold, at, what, is, wanted);
    end
  endtask

  // The latch that a phase carries, or -1.
  function automatic integer carried(input integer at, input integer length, input integer from,
                                     input integer hold, input integer latches);
    integer newest;
    newest = at / (8 * length);
    carried = -1;
    if (newest < latches && at % (8 * length) >= from) carried = newest;
    else if (newest > 0 && newest <= latches && at % (8 * length) < hold) carried = newest - 1;
  endfunction

  task automatic latches(input integer length, input integer from, input integer hold, input integer number,
                         input integer after);
    integer at, what;
    latch_cycles = 8'(length);
    latch_from   = 10'(from);
    latch_hold   = 10'(hold);
    count        = 7'(number);
    for (int c = 0; c < length * number + after; c++) begin
      start = c == 0;
      #1;
      check({31'd0, last}, c == length * number - 1 ? 1 : 0, 1, 8 * c);
      check({31'd0, latch_last}, c < length * number && c % length == length - 1 ? 1 : 0, 2, 8 * c);
      check({31'd0, busy}, c > 0 && c < length * number ? 1 : 0, 3, 8 * c);
      for (int i = 0; i < 8; i++) begin
        at   = 8 * c + i;
        what = carried(at, length, from, hold, number);
        check({31'd0, we_n[i]}, at < 8 * length * number && at % (8 * length) >= 4 * length ? 0 : 1, 4, at);
        // The latch before may still be held at the beginning of the first one.
        if (at >= hold) begin
          check({31'd0, cle[i]}, what >= 0 && what % 3 == 0 ? 1 : 0, 5, at);
          check({31'd0, ale[i]}, what >= 0 && what % 3 != 0 ? 1 : 0, 6, at);
          check({24'd0, dq[8*i+:8]}, what >= 0 ? what + 64 : 0, 7, at);
          if (what >= 0) check({31'd0, dq_oe}, 1, 8, at);
        end
      end
      @(negedge clk);
    end
    start = 1'b0;
  endtask

  initial begin
    @(negedge clk);
    rst_n = 1'b1;
    for (int length = 1; length <= 7; length++)
      for (int from = 0; from < 8 * length; from += 3)
        for (int hold = 0; hold <= from; hold += 5) latches(length, from, hold, 4, hold / 8 + 2);
    latches(10, 16, 16, 7, 3);
    latches(25, 188, 12, 2, 0);
    latches(3, 4, 4, 124, 0);
    latches(3, 4, 4, 1, 2);
    if (errors != 0) $fatal(1, "%0d errors", errors);
    $display("PASS");
    $finish;
  end
endmodule
