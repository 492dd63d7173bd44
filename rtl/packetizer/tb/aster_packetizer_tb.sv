// The Packetizer against a memory that stalls at random: checks addresses, lengths, order, strobes and
// IDs of many transactions.
module aster_packetizer_tb;
  logic clk = 1'b0, rst_n = 1'b0;
  initial forever #5 clk = !clk;

  logic begins = 1'b0, over = 1'b0, fetched_valid, fetched_more, fetched_taken = 1'b0, room, more_room,
      store_valid = 1'b0, drained, memory_error;
  logic [31:0] fetches = 32'd0, stores = 32'd0;
  logic [4:0] burst_address;
  logic [2:0] memory_index;
  logic [63:0] fetched, store = 64'd0;
  logic [3:0] store_bytes = 4'd8;
  logic [3:0] arid, awid, bid = 4'd0;
  logic [47:0] araddr, awaddr;
  logic [7:0] arlen, awlen, wstrb;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst, bresp = 2'd0;
  logic arvalid, arready = 1'b0, rvalid, rlast, rready, awvalid, awready, wlast, wvalid, wready, bready;
  logic bvalid = 1'b0;
  logic [63:0] rdata, wdata;
  logic late_error = 1'b0;
  integer errors = 0;

  // Words of the transaction: bursts at 1, 3, 5 …, each with a length and a descriptor; descriptors have
  // address and tag.
  logic [19:0] lengths[0:31];
  logic [2:0] descriptors[0:31];
  logic [47:0] addresses[0:7];

  aster_packetizer #(.FIFO_WORDS(16)) u_packetizer (
      .clk_i(clk), .rst_ni(rst_n), .begin_i(begins), .fetches_i(fetches), .stores_i(stores), .over_i(over),
      .burst_address_o(burst_address), .burst_length_i(lengths[burst_address]),
      .burst_descriptor_i({1'b0, descriptors[burst_address]}), .memory_index_o(memory_index),
      .memory_address_i(addresses[memory_index]), .memory_tag_i({1'b1, memory_index}),
      .fetched_valid_o(fetched_valid), .fetched_more_o(fetched_more), .fetched_o(fetched),
      .fetched_taken_i(fetched_taken), .room_o(room), .more_room_o(more_room), .store_valid_i(store_valid),
      .store_i(store), .store_bytes_i(store_bytes), .drained_o(drained), .memory_error_o(memory_error),
      .axi_arid_o(arid), .axi_araddr_o(araddr), .axi_arlen_o(arlen), .axi_arsize_o(arsize),
      .axi_arburst_o(arburst), .axi_arvalid_o(arvalid), .axi_arready_i(arready), .axi_rid_i(4'd0),
      .axi_rdata_i(rdata), .axi_rresp_i(2'd0), .axi_rlast_i(rlast), .axi_rvalid_i(rvalid),
      .axi_rready_o(rready), .axi_awid_o(awid), .axi_awaddr_o(awaddr), .axi_awlen_o(awlen),
      .axi_awsize_o(awsize), .axi_awburst_o(awburst), .axi_awvalid_o(awvalid), .axi_awready_i(awready),
      .axi_wdata_o(wdata), .axi_wstrb_o(wstrb), .axi_wlast_o(wlast), .axi_wvalid_o(wvalid),
      .axi_wready_i(wready), .axi_bid_i(bid), .axi_bresp_i(bresp), .axi_bvalid_i(bvalid),
      .axi_bready_o(bready)
  );

  task automatic expect_equal(input [63:0] is, input [63:0] wanted, input integer what);
    if (is !== wanted) begin
      errors = errors + 1;
      if (errors < 20) $display("FAIL: check %0d at %0t: %h instead of %h", what, $time, is, wanted);
    end
  endtask

  // What memory holds at an address.
  function automatic [63:0] content(input [47:0] at);
    content = 64'h9e37_79b9_7f4a_7c15 * {16'd0, at};
  endfunction

  // ---- Memory: it hesitates as `seed` says. In one transaction of three it takes words as they come, in one
  // only when it has their address, and in one it takes no address before the first word is offered. AXI4
  // allows all of that.
  logic [1:0] manner = 2'd0;
  localparam logic [1:0] ADDRESS_FIRST = 2'd1;
  localparam logic [1:0] WORD_FIRST = 2'd2;
  logic [31:0] seed = 32'd1;
  always @(posedge clk) seed <= {seed[30:0], seed[31] ^ seed[21] ^ seed[1] ^ seed[0]};
  logic [47:0] reads[0:255];
  logic [8:0] reads_left[0:255];
  logic [3:0] reads_id[0:255];
  logic [7:0] reads_in = 0, reads_out = 0;
  logic hold_ar = 1'b0, hold_aw = 1'b0, hold_w = 1'b0;
  logic [47:0] held_ar = 48'd0, held_aw = 48'd0;
  logic [63:0] held_w = 64'd0;
  assign rvalid = reads_in != reads_out && seed[3];
  assign rdata  = content(reads[reads_out]);
  assign rlast  = reads_left[reads_out] == 9'd1;

  // What memory has received: addresses in order, words in order, and which word of a piece is the last.
  logic [47:0] got_at[0:65535];
  logic last_at[0:65535];
  integer at_count = 0;
  logic [63:0] got[0:65535];
  logic [7:0] got_strobes[0:65535];
  logic got_last[0:65535];
  integer got_count = 0;
  // Pieces asked for, complete, and answered.
  integer pieces_asked = 0, pieces_complete = 0, pieces_answered = 0;
  assign awready = (seed[9] || seed[4]) && (manner != WORD_FIRST || wvalid || got_count > at_count);
  assign wready  = seed[12] && (manner != ADDRESS_FIRST || at_count > got_count);

  always @(posedge clk) begin
    arready <= seed[5];
    bvalid  <= late_error || (pieces_answered < pieces_asked && pieces_answered < pieces_complete);
    bresp   <= late_error ? 2'd2 : 2'd0;
    if (!late_error && pieces_answered < pieces_asked && pieces_answered < pieces_complete)
      pieces_answered <= pieces_answered + 1;
    // What is offered must be stable until it is taken.
    hold_ar <= arvalid && !arready;
    hold_aw <= awvalid && !awready;
    hold_w  <= wvalid && !wready;
    held_ar <= {araddr[39:0], arlen};
    held_aw <= {awaddr[39:0], awlen};
    held_w  <= wdata;
    if (hold_ar && (!arvalid || held_ar != {araddr[39:0], arlen})) errors <= errors + 1;
    if (hold_aw && (!awvalid || held_aw != {awaddr[39:0], awlen})) errors <= errors + 1;
    if (hold_w && (!wvalid || held_w != wdata)) errors <= errors + 1;
    if (arvalid && arready) begin
      reads[reads_in]      <= araddr;
      reads_left[reads_in] <= {1'b0, arlen} + 9'd1;
      reads_id[reads_in]   <= arid;
      reads_in             <= reads_in + 8'd1;
      // A piece is within 16 beats and a page, and different IDs are never in flight together.
      if (arlen > 8'd15 || {2'd0, araddr[11:3]} + {3'd0, arlen} > 11'd511 || araddr[2:0] != 3'd0)
        errors <= errors + 1;
      if (reads_in != reads_out && reads_id[reads_in-8'd1] != arid) errors <= errors + 1;
    end
    if (rvalid && rready) begin
      reads[reads_out]      <= reads[reads_out] + 48'd8;
      reads_left[reads_out] <= reads_left[reads_out] - 9'd1;
      if (rlast) reads_out <= reads_out + 8'd1;
    end
    if (awvalid && awready) begin
      for (int k = 0; k < 16; k++) begin
        if (k <= {24'd0, awlen}) begin
          got_at[16'(at_count + k)]  <= awaddr + 48'(8 * k);
          last_at[16'(at_count + k)] <= k == {24'd0, awlen};
        end
      end
      at_count     <= at_count + {24'd0, awlen} + 1;
      pieces_asked <= pieces_asked + 1;
      if (awlen > 8'd15 || {2'd0, awaddr[11:3]} + {3'd0, awlen} > 11'd511 || awaddr[2:0] != 3'd0)
        errors <= errors + 1;
    end
    if (wvalid && wready) begin
      got[got_count[15:0]]         <= wdata;
      got_strobes[got_count[15:0]] <= wstrb;
      got_last[got_count[15:0]]    <= wlast;
      got_count                    <= got_count + 1;
      if (wlast) pieces_complete <= pieces_complete + 1;
    end
  end

  // ---- Transactions: bursts in order, as a bus would have them.
  logic [47:0] next_at[0:7];
  integer sent = 0;
  logic [47:0] sent_at[0:65535];
  logic [3:0] sent_bytes[0:65535];

  logic told;
  task automatic fetch_burst(input logic [4:0] word);
    logic [2:0] descriptor;
    descriptor = descriptors[word];
    for (int k = 0; k < ({12'd0, lengths[word]} + 7) / 8; k++) begin
      while (!fetched_valid || seed[17]) @(negedge clk);
      expect_equal(fetched, content(next_at[descriptor]), 1);
      next_at[descriptor] = next_at[descriptor] + 48'd8;
      // If another word was announced behind this one, it is there when this one is taken.
      told = fetched_more;
      fetched_taken = 1'b1;
      @(negedge clk);
      fetched_taken = 1'b0;
      if (told) expect_equal({63'd0, fetched_valid}, 64'd1, 8);
    end
  endtask

  task automatic store_burst(input logic [4:0] word);
    logic [2:0] descriptor;
    logic [19:0] left;
    descriptor = descriptors[word];
    left = lengths[word];
    while (left != 20'd0) begin
      while (!room || seed[19]) @(negedge clk);
      told = more_room;
      store_valid = 1'b1;
      store_bytes = left > 20'd8 ? 4'd8 : left[3:0];
      store       = ~content(next_at[descriptor]);
      sent_at[sent[15:0]] = next_at[descriptor];
      sent_bytes[sent[15:0]] = store_bytes;
      sent = sent + 1;
      next_at[descriptor] = next_at[descriptor] + 48'd8;
      left = left - {16'd0, store_bytes};
      @(negedge clk);
      store_valid = 1'b0;
      if (told) expect_equal({63'd0, room}, 64'd1, 9);
    end
  endtask

  // Words and addresses come in any order. Checks those of which both have come.
  integer checked = 0;
  task automatic check_words;
    while (checked < got_count && checked < at_count) begin
      expect_equal({16'd0, got_at[checked[15:0]]}, {16'd0, sent_at[checked[15:0]]}, 5);
      expect_equal(got[checked[15:0]], ~content(sent_at[checked[15:0]]), 6);
      expect_equal({56'd0, got_strobes[checked[15:0]]}, {56'd0, ~(8'hff << sent_bytes[checked[15:0]])}, 7);
      expect_equal({63'd0, got_last[checked[15:0]]}, {63'd0, last_at[checked[15:0]]}, 10);
      checked = checked + 1;
    end
  endtask

  initial begin
    repeat (3) @(negedge clk);
    rst_n = 1'b1;
    for (int transaction = 0; transaction < 60; transaction++) begin
      manner = 2'(transaction % 3);
      for (int i = 0; i < 8; i++) begin
        addresses[i] = {16'h12, 16'(i * 8 + transaction), seed[15:3], 3'd0};
        next_at[i]   = addresses[i];
      end
      fetches = 32'd0;
      stores  = 32'd0;
      for (int i = 1; i < 32; i += 2) begin
        @(negedge clk);
        lengths[i]     = seed[7] ? {10'd0, seed[30:21]} + 20'd1 : {16'd0, seed[24:21]} + 20'd1;
        descriptors[i] = {seed[11:10], seed[13]};
        // Even descriptors go into the package.
        if (seed[2]) begin
          if (seed[13]) stores[i] = 1'b1;
          else fetches[i] = 1'b1;
        end
      end
      begins = 1'b1;
      @(negedge clk);
      begins = 1'b0;
      for (int i = 1; i < 32; i += 2) begin
        if (fetches[i]) fetch_burst(i[4:0]);
        if (stores[i]) store_burst(i[4:0]);
      end
      while (!drained) @(negedge clk);
      expect_equal({63'd0, memory_error}, {63'd0, transaction == 40}, 2);
      expect_equal({63'd0, fetched_valid}, 64'd0, 3);
      over = 1'b1;
      @(negedge clk);
      over = 1'b0;
      // A late error counts for the next transaction.
      late_error = transaction == 39;
      repeat (2) @(negedge clk);
      late_error = 1'b0;
      expect_equal(64'(got_count), 64'(sent), 4);
      check_words;
    end
    repeat (50) @(negedge clk);
    check_words;
    expect_equal(64'(checked), 64'(sent), 11);
    expect_equal(64'(pieces_answered), 64'(pieces_asked), 12);
    if (errors != 0) $fatal(1, "%0d errors", errors);
    $display("PASS");
    $finish;
  end

  logic unused_bits;
  assign unused_bits = ^{arsize, awsize, arburst, awburst, bready, arid, awid};

  initial #4_000_000 $fatal(1, "the bench hangs");
endmodule
