// Compares the places of transfers with a division, for every length of a transfer up to five cycles and
// some longer ones, and every word.
module aster_phase_window_tb;
  logic clk = 1'b0, rst_n = 1'b0;
  initial forever #5 clk = !clk;

  logic [11:0] byte_phases = 12'd2;
  logic begins = 1'b0, run = 1'b0;
  logic [3:0] transfers = 4'd1;
  logic [23:0] index;
  logic [7:0] valid, late;
  logic [3:0] begun_before, begun_after;
  logic last;
  integer errors = 0;

  aster_phase_window u_window (
      .clk_i(clk), .rst_ni(rst_n), .byte_phases_i(byte_phases), .begin_i(begins), .run_i(run),
      .transfers_i(transfers), .index_o(index), .valid_o(valid), .late_o(late), .begun_before_o(begun_before),
      .begun_after_o(begun_after), .last_o(last)
  );

  task automatic check(input integer is, input integer wanted, input integer what, input integer cycle);
    if (is != wanted) begin
      errors = errors + 1;
      if (errors < 20)
        $display("FAIL: %0d phases, %0d transfers, cycle %0d, check %0d: %0d instead of %0d", byte_phases,
                 transfers, cycle, what, is, wanted);
    end
  endtask

  task automatic run_word(input integer length, input integer count);
    integer cycles, phase, at, begun;
    byte_phases = 12'(length);
    transfers   = 4'(count);
    cycles = (count * length + 7) / 8;
    for (int c = 0; c < cycles; c++) begin
      begins = c == 0;
      run    = 1'b1;
      #1;
      for (int i = 0; i < 8; i++) begin
        phase = 8 * c + i;
        at    = phase / length;
        check({31'd0, valid[i]}, at < count ? 1 : 0, 1, c);
        if (at < count) begin
          check({29'd0, index[3*i+:3]}, at, 2, c);
          check({31'd0, late[i]}, phase % length >= length / 2 ? 1 : 0, 3, c);
        end
      end
      check({31'd0, last}, c == cycles - 1 ? 1 : 0, 4, c);
      check({28'd0, begun_before}, (8 * c + length - 1) / length, 5, c);
      begun = (8 * c + 7) / length + 1;
      check({28'd0, begun_after}, begun > count ? count : begun, 6, c);
      @(negedge clk);
    end
    run = 1'b0;
  endtask

  initial begin
    @(negedge clk);
    rst_n = 1'b1;
    for (int length = 2; length <= 40; length++)
      for (int count = 1; count <= 8; count++) run_word(length, count);
    run_word(80, 8);
    run_word(1023, 3);
    run_word(4095, 2);
    // A pause between words changes nothing.
    run_word(3, 8);
    repeat (3) @(negedge clk);
    run_word(3, 5);
    if (errors != 0) $fatal(1, "%0d errors", errors);
    $display("PASS");
    $finish;
  end
endmodule
