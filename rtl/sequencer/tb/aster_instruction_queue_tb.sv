// The queue between two unrelated clocks: what is pushed arrives once, in order and complete, and so do
// the results, with either clock much faster than the other.
module aster_instruction_queue_tb;
  localparam integer TRANSACTIONS = 200;

  integer half = 5, cpu_half = 4;
  logic clk = 1'b0, cpu_clk = 1'b0, rst_n = 1'b0;
  initial forever #half clk = !clk;
  initial forever #cpu_half cpu_clk = !cpu_clk;

  logic open = 1'b0, word_write = 1'b0, descriptor_write = 1'b0, half_index = 1'b0, push = 1'b0, take = 1'b0,
      opened;
  logic [4:0] word_index = 5'd0;
  logic [63:0] word_in = 64'd0, descriptor_in = 64'd0;
  logic [37:0] verdict_in = 38'd0, verdict, result_verdict;
  logic [2:0] free, results;
  logic [1:0] result_slot, slot;
  logic [64:0] result, over_result = 65'd0;
  logic valid, over = 1'b0, to_mailbox;
  logic [31:0] fetches, stores;
  logic [4:0] address = 5'd0;
  logic [63:0] word, next_word, latch_word, immediate;
  logic [19:0] length;
  logic [3:0] burst_descriptor, tag;
  logic [47:0] memory_address;
  logic [63:0] fields;
  integer errors = 0, run = 0, pushed = 0, taken = 0;

  aster_instruction_queue u_queue (
      .clk_i(clk), .rst_ni(rst_n), .cpu_clk_i(cpu_clk), .cpu_rst_ni(rst_n), .open_i(open),
      .word_write_i(word_write), .word_index_i(word_index), .word_i(word_in),
      .descriptor_write_i(descriptor_write), .descriptor_index_i(3'd5), .descriptor_half_i(half_index),
      .descriptor_i(descriptor_in), .push_i(push), .push_verdict_i(verdict_in), .push_fetches_i(32'(pushed)),
      .push_stores_i(~32'(pushed)), .opened_o(opened), .free_o(free), .results_o(results), .take_i(take),
      .result_slot_o(result_slot), .result_verdict_o(result_verdict), .result_o(result), .valid_o(valid),
      .slot_o(slot), .verdict_o(verdict), .fetches_o(fetches), .stores_o(stores), .over_i(over),
      .over_result_i(over_result), .address_i(address), .word_o(word), .next_word_o(next_word),
      .latch_address_i(5'd31), .latch_word_o(latch_word), .burst_address_i(5'd31), .burst_length_o(length),
      .burst_descriptor_o(burst_descriptor), .mailbox_index_i(3'd5), .mailbox_o(to_mailbox),
      .immediate_o(immediate), .memory_index_i(3'd5), .memory_address_o(memory_address), .memory_tag_o(tag)
  );

  // Something different for each word of each transaction.
  function automatic [63:0] content(input integer transaction, input integer at);
    content = 64'h9e37_79b9_7f4a_7c15 * (64'(transaction) * 64'd64 + 64'(at) + 64'd1);
  endfunction

  task automatic expect_equal(input [63:0] is, input [63:0] wanted, input integer what);
    if (is !== wanted) begin
      errors = errors + 1;
      if (errors < 20)
        $display("FAIL: check %0d of transaction %0d: %h instead of %h", what, run, is, wanted);
    end
  endtask

  // The controller: looks at everything, and takes a while.
  initial forever begin
    @(negedge clk);
    if (rst_n && valid) begin
      expect_equal({62'd0, slot}, {62'd0, run[1:0]}, 1);
      expect_equal({26'd0, verdict}, 64'(run * 3 + 1), 2);
      expect_equal({stores, fetches}, {~32'(run), 32'(run)}, 3);
      for (int i = 0; i < 31; i++) begin
        address = 5'(i);
        #1 expect_equal(word, content(run, i), 4);
        expect_equal(next_word, content(run, i + 1), 5);
      end
      expect_equal(latch_word, content(run, 31), 6);
      expect_equal({40'd0, burst_descriptor, length}, {40'd0, latch_word[55:52], latch_word[51:32]}, 7);
      fields = content(run, 32);
      expect_equal({11'd0, to_mailbox, tag, memory_address}, {11'd0, fields[53], fields[51:0]}, 8);
      expect_equal(immediate, content(run, 33), 9);
      repeat (run % 5) @(negedge clk);
      over        = 1'b1;
      over_result = {1'b1, content(run, 34)};
      @(negedge clk);
      over = 1'b0;
      run  = run + 1;
      // The transaction must not appear again.
      if (run == pushed) expect_equal({63'd0, valid}, 64'd0, 10);
    end
  end

  task automatic cpu_cycle;
    @(negedge cpu_clk);
    open             = 1'b0;
    word_write       = 1'b0;
    descriptor_write = 1'b0;
    push             = 1'b0;
    take             = 1'b0;
  endtask

  task automatic take_one;
    expect_equal({62'd0, result_slot}, {62'd0, taken[1:0]}, 11);
    expect_equal({26'd0, result_verdict}, 64'(taken * 3 + 1), 12);
    expect_equal(result[63:0], content(taken, 34), 13);
    take = 1'b1;
    cpu_cycle;
    taken = taken + 1;
  endtask

  task automatic push_one;
    open = 1'b1;
    cpu_cycle;
    for (int i = 0; i < 32; i++) begin
      word_index = 5'(i);
      word_in    = content(pushed, i);
      word_write = 1'b1;
      cpu_cycle;
    end
    for (int i = 0; i < 2; i++) begin
      half_index       = i == 1;
      descriptor_in    = content(pushed, 32 + i);
      descriptor_write = 1'b1;
      cpu_cycle;
    end
    push       = 1'b1;
    verdict_in = 38'(pushed * 3 + 1);
    cpu_cycle;
    pushed = pushed + 1;
  endtask

  initial begin
    repeat (4) @(negedge clk);
    rst_n = 1'b1;
    cpu_cycle;
    for (int ratio = 0; ratio < 3; ratio++) begin
      half     = ratio == 1 ? 37 : 5;
      cpu_half = ratio == 2 ? 41 : 3;
      while (pushed < TRANSACTIONS * (ratio + 1)) begin
        if (free != 3'd0) push_one;
        else if (results == 3'd0) cpu_cycle;
        if (results != 3'd0 && (pushed % 3 != 0 || free == 3'd0)) take_one;
      end
      while (taken < pushed) begin
        if (results != 3'd0) take_one;
        else cpu_cycle;
      end
      expect_equal({61'd0, free}, 64'd4, 14);
    end
    // Without an open transaction nothing is pushed or written, and a full queue opens none.
    push = 1'b1;
    cpu_cycle;
    repeat (20) @(negedge clk);
    expect_equal({63'd0, valid}, 64'd0, 15);
    expect_equal({63'd0, opened}, 64'd0, 16);
    expect_equal(64'(run), 64'(3 * TRANSACTIONS), 17);
    if (errors != 0) $fatal(1, "%0d errors", errors);
    $display("PASS");
    $finish;
  end

  initial #100_000_000 $fatal(1, "the bench hangs");

  logic unused_bits;
  assign unused_bits = ^{opened, result, fields};
endmodule
