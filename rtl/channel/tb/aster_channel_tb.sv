// The whole controller: what it puts on the pins and into memory, and in which cycle. The expected cycles
// are typed from the cycle rules of rtl/README.md, at 10 ns.
module aster_channel_tb;
  `include "aster_interface.svh"

  localparam integer WAYS = 4;

  logic clk = 1'b0;
  logic rst_n = 1'b0;
  initial forever #5 clk = !clk;

  integer errors = 0;

  // ---- The controller. Both clocks are one here, so that a push's cycle is known.
  logic reg_valid = 1'b0, reg_write = 1'b0;
  logic [11:0] reg_addr = 12'd0;
  logic [63:0] reg_wdata = 64'd0;
  logic [63:0] reg_rdata;
  logic [WAYS-1:0] ce_n;
  logic [WAYS-1:0] ready = 4'b1010;
  logic [7:0] cle, ale, we_n, re_n, dqs;
  logic dqs_oe, dq_oe, begins, over, over_memory_error;
  logic [63:0] dq, dq_in, over_mailbox;
  logic [2:0] strobed;
  logic [1:0] over_slot;
  logic [7:0] over_verdict, over_index;
  logic [19:0] over_length;
  logic [3:0] arid, awid;
  logic [47:0] araddr, awaddr;
  logic [7:0] arlen, awlen, wstrb;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst;
  logic arvalid, rready, awvalid, wlast, wvalid, bready;
  logic [63:0] rdata, wdata;
  logic rvalid, rlast, wready, bvalid;
  logic [1:0] bresp;

  aster_channel #(.WAYS(WAYS), .FIFO_WORDS(4)) u_channel (
      .clk_i(clk), .rst_ni(rst_n), .cpu_clk_i(clk), .cpu_rst_ni(rst_n), .reg_valid_i(reg_valid),
      .reg_write_i(reg_write), .reg_addr_i(reg_addr), .reg_wdata_i(reg_wdata), .reg_rdata_o(reg_rdata),
      .ce_no(ce_n), .cle_o(cle), .ale_o(ale), .we_no(we_n), .re_no(re_n), .dqs_o(dqs), .dqs_oe_o(dqs_oe),
      .dq_o(dq), .dq_oe_o(dq_oe), .dq_i(dq_in), .ready_i(ready), .strobed_o(strobed), .begin_o(begins),
      .over_o(over), .over_slot_o(over_slot), .over_verdict_o(over_verdict), .over_index_o(over_index),
      .over_length_o(over_length), .over_mailbox_o(over_mailbox), .over_memory_error_o(over_memory_error),
      .axi_arid_o(arid), .axi_araddr_o(araddr), .axi_arlen_o(arlen), .axi_arsize_o(arsize),
      .axi_arburst_o(arburst), .axi_arvalid_o(arvalid), .axi_arready_i(1'b1), .axi_rid_i(4'd0),
      .axi_rdata_i(rdata), .axi_rresp_i(2'd0), .axi_rlast_i(rlast), .axi_rvalid_i(rvalid),
      .axi_rready_o(rready), .axi_awid_o(awid), .axi_awaddr_o(awaddr), .axi_awlen_o(awlen),
      .axi_awsize_o(awsize), .axi_awburst_o(awburst), .axi_awvalid_o(awvalid), .axi_awready_i(1'b1),
      .axi_wdata_o(wdata), .axi_wstrb_o(wstrb), .axi_wlast_o(wlast), .axi_wvalid_o(wvalid),
      .axi_wready_i(wready), .axi_bid_i(4'd0), .axi_bresp_i(bresp), .axi_bvalid_i(bvalid),
      .axi_bready_o(bready)
  );

  // ---- Memory. The byte at an address is the address's low byte; one word every `read_every` cycles of the
  // transaction, and one word taken in the cycles that `write_from` and `write_every` allow.
  integer cycle = 0;
  integer read_every = 1;
  integer write_from = 0;
  integer write_every = 1;
  logic fail_writes = 1'b0;
  logic [47:0] reads_at[0:63];
  logic [8:0] reads_left[0:63];
  integer reads_in = 0, reads_out = 0;
  logic [47:0] writes_at[0:63];
  integer writes_in = 0, writes_out = 0;
  logic [47:0] write_offset = 48'd0;
  logic [63:0] written[0:1023];
  logic [7:0] written_strobes[0:1023];
  integer write_count = 0;
  logic [47:0] read_at;
  assign read_at = reads_at[reads_out % 64];
  for (genvar i = 0; i < 8; i++) begin : gen_byte
    assign rdata[8*i+:8] = read_at[7:0] + i;
  end
  assign rvalid = reads_in != reads_out && (cycle + 1) % read_every == 0;
  assign rlast  = reads_left[reads_out % 64] == 9'd1;
  assign wready = cycle >= write_from && cycle % write_every == 0;

  always @(posedge clk) begin
    if (arvalid) begin
      reads_at[reads_in % 64]   <= araddr;
      reads_left[reads_in % 64] <= {1'b0, arlen} + 9'd1;
      reads_in <= reads_in + 1;
      if (araddr[11:3] + {1'b0, arlen} > 511) begin
        errors <= errors + 1;
        $display("FAIL: a read across 4 KiB");
      end
    end
    if (rvalid && rready) begin
      reads_at[reads_out % 64]   <= read_at + 48'd8;
      reads_left[reads_out % 64] <= reads_left[reads_out % 64] - 9'd1;
      if (rlast) reads_out <= reads_out + 1;
    end
    if (awvalid) begin
      writes_at[writes_in % 64] <= awaddr;
      writes_in <= writes_in + 1;
      if (awaddr[11:3] + {1'b0, awlen} > 511) begin
        errors <= errors + 1;
        $display("FAIL: a write across 4 KiB");
      end
    end
    bvalid <= wvalid && wready && wlast;
    bresp  <= fail_writes ? 2'd2 : 2'd0;
    if (wvalid && wready) begin
      written[10'((writes_at[writes_out % 64] + write_offset) >> 3)]         <= wdata;
      written_strobes[10'((writes_at[writes_out % 64] + write_offset) >> 3)] <= wstrb;
      write_count  <= write_count + 1;
      write_offset <= wlast ? 48'd0 : write_offset + 48'd8;
      if (wlast) writes_out <= writes_out + 1;
    end
  end

  // ---- The package: its bytes are a count, one for each strobe that it sees. `mode` says what a strobe is.
  localparam logic [1:0] SDR = 2'd0;
  logic [1:0] mode = SDR;
  localparam logic [1:0] NV_DDR = 2'd1;
  localparam logic [1:0] NV_DDR2 = 2'd2;
  logic [7:0] out_count = 8'd0;
  for (genvar i = 0; i < 8; i++) begin : gen_lane
    assign dq_in[8*i+:8] = i < strobed ? out_count + i : 8'hee;
  end

  // ---- What happens on the pins: a list of events, each with its cycle and phase.
  localparam integer SELECTED = 1;
  localparam integer COMMAND = 2;
  localparam integer ADDRESS = 3;
  localparam integer BYTE_IN = 4;
  localparam integer BYTE_OUT = 5;
  localparam integer RELEASED = 6;
  localparam integer OVER = 7;
  integer kinds[0:1023];
  integer cycles[0:1023];
  integer phases[0:1023];
  integer values[0:1023];
  integer count = 0;
  integer seen = 0;

  task automatic note(input integer kind, input integer phase, input integer value);
    kinds[count % 1024]  = kind;
    cycles[count % 1024] = begins ? 0 : cycle;
    phases[count % 1024] = phase;
    values[count % 1024] = value;
    count = count + 1;
  endtask

  logic we_before = 1'b1, re_before = 1'b1, dqs_before = 1'b0;
  logic [WAYS-1:0] ce_before = 4'hf;
  logic reading = 1'b0;
  logic output_cycle = 1'b0;
  integer strobes;

  initial forever begin
    @(posedge clk);
    if (rst_n) begin
      strobes = 0;
      if (ce_before == 4'hf && ce_n != 4'hf) note(SELECTED, 0, {28'd0, ~ce_n});
      if (ce_before != 4'hf && ce_n == 4'hf) note(RELEASED, 0, 0);
      for (int i = 0; i < 8; i++) begin
        if (we_n[i] && !we_before && ce_n != 4'hf) begin
          if (cle[i] && !ale[i]) note(COMMAND, i, {24'd0, dq[8*i+:8]});
          else if (ale[i] && !cle[i]) note(ADDRESS, i, {24'd0, dq[8*i+:8]});
          else if (mode == SDR) note(BYTE_IN, i, {24'd0, dq[8*i+:8]});
        end
        // Between bursts DQS is low, or floats.
        if (dqs_oe && dqs[i] != dqs_before) note(BYTE_IN, i, {24'd0, dq[8*i+:8]});
        // RE# starts a byte by falling, or by each edge but the one that opens the preamble and the one, with
        // CLE, ALE or CE# high, that lets it go; in NV-DDR CLK does, by the edges of a cycle that CLE, ALE
        // and W/R# make one of data output.
        if (we_n[i] && !we_before) output_cycle = cle[i] && ale[i] && !re_n[i];
        if (mode == SDR ? re_before && !re_n[i]
            : mode == NV_DDR2 ? reading && re_before != re_n[i] && !cle[i] && !ale[i] && ce_n != 4'hf
            : we_n[i] != we_before && output_cycle && ce_n != 4'hf) begin
          note(BYTE_OUT, i, {24'd0, out_count} + strobes);
          strobes = strobes + 1;
        end
        if (mode == NV_DDR2 && !re_n[i]) reading = 1'b1;
        we_before  = we_n[i];
        re_before  = re_n[i];
        dqs_before = dqs_oe && dqs[i];
      end
      if (mode == NV_DDR2 && re_n[7]) reading = 1'b0;
      if (strobes != {29'd0, strobed}) begin
        errors = errors + 1;
        $display("FAIL: %0d strobes on RE#, %0d bytes taken in cycle %0d", strobes, strobed, cycle);
      end
      ce_before = ce_n;
      if (over) note(OVER, {30'd0, over_slot}, {24'd0, over_verdict});
      // Only once the controller has taken the lanes of this cycle.
      @(negedge clk);
      out_count = out_count + strobes[7:0];
    end
  end
  always @(posedge clk) cycle <= begins ? 1 : cycle + 1;

  task automatic expect_event(input integer kind, input integer at, input integer phase, input integer value);
    if (seen >= count) begin
      errors = errors + 1;
      $display("FAIL: event %0d (kind %0d, cycle %0d) never came", seen, kind, at);
    end else if (kinds[seen] != kind || cycles[seen] != at || phases[seen] != phase
        || values[seen] != value) begin
      errors = errors + 1;
      $display("FAIL: event %0d: kind %0d cycle %0d phase %0d value %0d instead of %0d %0d %0d %0d", seen,
               kinds[seen], cycles[seen], phases[seen], values[seen], kind, at, phase, value);
    end
    seen = seen + 1;
  endtask

  task automatic expect_end;
    if (seen != count) begin
      errors = errors + 1;
      $display("FAIL: %0d events, %0d of them wanted; the next is of kind %0d in cycle %0d", count, seen,
               kinds[seen], cycles[seen]);
    end
    count = 0;
    seen  = 0;
  endtask

  task automatic expect_equal(input [63:0] is, input [63:0] wanted);
    if (is !== wanted) begin
      errors = errors + 1;
      $display("FAIL: %h instead of %h", is, wanted);
    end
  endtask

  // ---- The CPU.
  task automatic write(input [11:0] addr, input [63:0] data);
    reg_valid = 1'b1;
    reg_write = 1'b1;
    reg_addr  = addr;
    reg_wdata = data;
    @(negedge clk);
    reg_valid = 1'b0;
  endtask

  logic [63:0] got;
  task automatic read(input [11:0] addr);
    reg_valid = 1'b1;
    reg_write = 1'b0;
    reg_addr  = addr;
    #1 got = reg_rdata;
    @(negedge clk);
    reg_valid = 1'b0;
  endtask

  function automatic [63:0] instruction(input [3:0] opcode, input [3:0] descriptor, input [19:0] length,
                                        input [31:0] operand);
    instruction = {opcode, 4'd0, descriptor, length, operand};
  endfunction

  task automatic descriptor(input inward, input to_mailbox, input [47:0] address, input [63:0] immediate);
    write(REGISTER_DESCRIPTOR, {10'd0, to_mailbox, inward, 4'd5, address});
    write(REGISTER_DESCRIPTOR, immediate);
  endtask

  localparam [63:0] BEGIN_2 = {OPCODE_BEGIN, 28'd0, 32'd4};
  localparam [63:0] END_ALL = {OPCODE_END, 60'd0};

  task automatic wait_over(input integer transactions);
    integer left;
    left = transactions;
    while (left > 0) begin
      @(posedge clk);
      if (over) left = left - 1;
    end
    // Any activity after the end would be an unexpected event.
    repeat (8) @(negedge clk);
  endtask

  task automatic expect_result(input [7:0] verdict, input [7:0] index, input [19:0] length, input error,
                               input [63:0] mailbox_bytes);
    read(REGISTER_RESULT);
    expect_equal({63'd0, got[RESULT_VALID_LSB]}, 64'd1);
    expect_equal({56'd0, got[RESULT_VERDICT_LSB+:8]}, {56'd0, verdict});
    expect_equal({56'd0, got[RESULT_INDEX_LSB+:8]}, {56'd0, index});
    expect_equal({44'd0, got[RESULT_LENGTH_LSB+:20]}, {44'd0, length});
    expect_equal({63'd0, got[RESULT_MEMORY_ERROR_LSB]}, {63'd0, error});
    read(REGISTER_MAILBOX);
    expect_equal(got, mailbox_bytes);
  endtask

  logic [TABLE_BITS-1:0] cycle_table;
  `define ENTRY(name) cycle_table[TABLE_``name``_LSB+:TABLE_``name``_WIDTH]
  task automatic load_table(input [1:0] number);
    for (int i = 0; i < TABLE_WORDS; i++) begin
      write(REGISTER_TABLE + {5'd0, number, 5'd0} + 12'(8 * i), cycle_table[64*i+:64]);
      read(REGISTER_TABLE + {5'd0, number, 5'd0} + 12'(8 * i));
      expect_equal(got, cycle_table[64*i+:64]);
    end
  endtask

  // A transaction with one or two wrong words, which must end with `verdict` and must not change the
  // pins.
  task automatic expect_refused(input [7:0] verdict, input [7:0] index, input [19:0] length);
    write(REGISTER_PUSH, 64'd0);
    wait_over(1);
    expect_equal({56'd0, values[0][7:0]}, {56'd0, verdict});
    expect_equal(64'(kinds[0]), 64'(OVER));
    count = 0;
    expect_result(verdict, index, length, 1'b0, 64'd0);
  endtask

  // ---- Transactions, instruction by instruction.
  task automatic open;
    write(REGISTER_OPEN, 64'd0);
  endtask
  task automatic word(input [63:0] data);
    write(REGISTER_WORD, data);
  endtask
  // The first four of `number` latches.
  task automatic latches(input [19:0] number, input [63:0] first);
    word(instruction(OPCODE_COMMAND_ADDRESS, 4'd0, number, 32'd0));
    word(first);
  endtask
  task automatic read_burst(input [3:0] index, input [19:0] bytes);
    word(instruction(OPCODE_DATA_READ, index, bytes, 32'd0));
  endtask
  task automatic write_burst(input [3:0] index, input [19:0] bytes);
    word(instruction(OPCODE_DATA_WRITE, index, bytes, 32'd0));
  endtask
  task automatic timer(input [31:0] nanoseconds);
    word(instruction(OPCODE_TIMER, 4'd0, 20'd0, nanoseconds));
  endtask

  // The tables by their numbers. A transaction uses the one of `mode`.
  localparam logic [1:0] TABLE_SDR = 2'd0;
  localparam logic [1:0] TABLE_NV_DDR2 = 2'd1;
  localparam logic [1:0] TABLE_NV_DDR = 2'd2;
  task automatic run;
    word(END_ALL);
    write(REGISTER_PUSH, {62'd0, mode == SDR ? TABLE_SDR : mode == NV_DDR ? TABLE_NV_DDR : TABLE_NV_DDR2});
    wait_over(1);
    expect_event(SELECTED, 0, 0, 4);
  endtask
  task automatic expect_over(input integer released, input integer at, input integer slot, input error,
                             input [63:0] mailbox_bytes);
    expect_event(RELEASED, released, 0, 0);
    expect_event(OVER, at, slot, 0);
    expect_end;
    expect_result(VERDICT_GOOD, 8'd0, 20'd0, error, mailbox_bytes);
  endtask
  // A command with its edge at `edge_at`, and a burst.
  task automatic command_and_burst(input [7:0] command, input inward, input to_mailbox, input [47:0] address,
                                   input [19:0] bytes, input integer edge_at);
    open;
    descriptor(inward, to_mailbox, address, 64'd0);
    word(BEGIN_2);
    latches(20'd1, {56'h01, command});
    if (inward) write_burst(4'd0, bytes);
    else read_burst(4'd0, bytes);
    run;
    expect_event(COMMAND, edge_at, 0, {24'd0, command});
  endtask

  integer pushed_at;
  integer free_cycle = 0;
  always @(posedge clk) free_cycle <= free_cycle + 1;
  integer begun_at;
  always @(posedge clk) if (begins) begun_at <= free_cycle;

  initial begin
    repeat (4) @(negedge clk);
    rst_n = 1'b1;
    checker_rst_n = 1'b1;
    @(negedge clk);

    read(REGISTER_IDENT);
    expect_equal(got, 64'h4153_5445_5200_0001);
    write(REGISTER_CONFIG, 64'd4 << CONFIG_WAYS_LSB | 64'd4352);
    read(REGISTER_CONFIG);
    expect_equal(got, 64'h0000_0004_0000_1100);
    write(REGISTER_PERIOD, 64'd10_000);

    // SDR mode 0: tCS 70, tCH 20, tWC 100, tWB 200, tWHR 120, tADL 400, tCCS 500, tRHW 200 ns; holds of 20
    // ns.
    cycle_table = '0;
    `ENTRY(MODE) = SDR;
    `ENTRY(GRAIN) = 1;
    `ENTRY(CHIP_SETUP) = 7;
    `ENTRY(CHIP_HOLD) = 2;
    `ENTRY(GAP) = 2;
    `ENTRY(LATCH) = 10;
    `ENTRY(LATCH_FROM) = 16;
    `ENTRY(LATCH_HOLD) = 16;
    `ENTRY(BYTE_PHASES_OUT) = 80;
    `ENTRY(BYTE_PHASES_IN) = 80;
    `ENTRY(T_WB) = 20;
    `ENTRY(T_WHR) = 12;
    `ENTRY(T_ADL) = 40;
    `ENTRY(T_CCS) = 50;
    `ENTRY(T_RHW) = 20;
    `ENTRY(LEAD) = 21;
    load_table(TABLE_SDR);

    // NV-DDR2 mode 7, with 2.5 ns per byte in, but 5 ns per byte out.
    `ENTRY(MODE) = NV_DDR2;
    `ENTRY(CHIP_SETUP) = 2;
    `ENTRY(CHIP_HOLD) = 1;
    `ENTRY(LATCH) = 3;
    `ENTRY(LATCH_FROM) = 4;
    `ENTRY(LATCH_HOLD) = 4;
    `ENTRY(WRITE_PREAMBLE) = 2;
    `ENTRY(WRITE_POSTAMBLE) = 1;
    `ENTRY(READ_PREAMBLE) = 3;
    `ENTRY(READ_POSTAMBLE) = 3;
    `ENTRY(BYTE_PHASES_OUT) = 4;
    `ENTRY(BYTE_PHASES_IN) = 2;
    `ENTRY(T_WB) = 10;
    `ENTRY(T_WHR) = 8;
    `ENTRY(T_RHW) = 10;
    `ENTRY(LEAD) = 6;
    load_table(TABLE_NV_DDR2);

    // NV-DDR mode 1: a CLK of 3 cycles, 30 ns.
    `ENTRY(MODE) = NV_DDR;
    `ENTRY(GRAIN) = 3;
    `ENTRY(CHIP_SETUP) = 3;
    `ENTRY(CHIP_HOLD) = 3;
    `ENTRY(GAP) = 3;
    `ENTRY(LATCH) = 6;
    `ENTRY(LATCH_FROM) = 36;
    `ENTRY(LATCH_HOLD) = 12;
    `ENTRY(WRITE_PREAMBLE) = 6;
    `ENTRY(WRITE_POSTAMBLE) = 6;
    `ENTRY(READ_PREAMBLE) = 3;
    `ENTRY(READ_POSTAMBLE) = 3;
    `ENTRY(BYTE_PHASES_OUT) = 12;
    `ENTRY(BYTE_PHASES_IN) = 12;
    `ENTRY(T_WB) = 12;
    `ENTRY(T_WHR) = 9;
    `ENTRY(T_ADL) = 42;
    `ENTRY(T_CCS) = 51;
    `ENTRY(T_RHW) = 12;
    `ENTRY(LEAD) = 15;
    load_table(TABLE_NV_DDR);

    // READ's command phase: tCS 7, seven latches of 10, tWB 20, tCH 2. Then the same again; the queue
    // holds both.
    for (int i = 0; i < 2; i++) begin
      open;
      word(BEGIN_2);
      latches(20'd7, 64'h0012_0011_0010_0100);
      word(64'h0000_0130_0014_0013);
      word(END_ALL);
      if (i == 0) pushed_at = free_cycle;
      write(REGISTER_PUSH, 64'd0);
    end
    read(REGISTER_STATUS);
    expect_equal({61'd0, got[STATUS_FREE_LSB+:3]}, 64'd2);
    expect_equal({32'd0, got[STATUS_READY_LSB+:32]}, 64'd10);
    wait_over(2);
    for (int i = 0; i < 2; i++) begin
      expect_event(SELECTED, 0, 0, 4);
      expect_event(COMMAND, 17, 0, 32'h00);
      expect_event(ADDRESS, 27, 0, 32'h10);
      expect_event(ADDRESS, 37, 0, 32'h11);
      expect_event(ADDRESS, 47, 0, 32'h12);
      expect_event(ADDRESS, 57, 0, 32'h13);
      expect_event(ADDRESS, 67, 0, 32'h14);
      expect_event(COMMAND, 77, 0, 32'h30);
      expect_event(RELEASED, 99, 0, 0);
      expect_event(OVER, 99, i, 0);
    end
    expect_end;
    // The second began 99 + 2 cycles after the first. The first began two cycles after its push was
    // sampled, which is one cycle after the cycle that wrote it.
    expect_equal({32'd0, begun_at - pushed_at}, 64'd105);
    read(REGISTER_STATUS);
    expect_equal({61'd0, got[STATUS_RESULTS_LSB+:3]}, 64'd2);
    expect_result(VERDICT_GOOD, 8'd0, 20'd0, 1'b0, 64'd0);
    expect_result(VERDICT_GOOD, 8'd0, 20'd0, 1'b0, 64'd0);
    read(REGISTER_RESULT);
    expect_equal(got, 64'd0);

    // READ STATUS: latch at 17, tWHR 12, RE# low for half of 10 cycles. The chip is released when tRHW 20
    // − lead 21 is over: at once.
    out_count = 8'he0;
    command_and_burst(8'h70, 1'b0, 1'b1, 48'd0, 20'd1, 17);
    expect_event(BYTE_OUT, 29, 0, 32'he0);
    expect_over(41, 41, 2, 1'b0, 64'he0);

    // A Timer counts from the last latch: 17 + ⌈155 ns⌉ = 33, the C/A's own wait (none) is over long before.
    // Then SET FEATURES of four bytes in SDR, tADL 40 after the address at 53: each byte 10 cycles, WE# up
    // after five.
    open;
    descriptor(1'b1, 1'b1, 48'd0, 64'h0000_0000_0403_0201);
    word(BEGIN_2);
    latches(20'd1, 64'h01ff);
    timer(32'd155);
    latches(20'd2, 64'h0091_01ef);
    write_burst(4'd0, 20'd4);
    run;
    expect_event(COMMAND, 17, 0, 32'hff);
    expect_event(COMMAND, 43, 0, 32'hef);
    expect_event(ADDRESS, 53, 0, 32'h91);
    expect_event(BYTE_IN, 98, 0, 32'h01);
    expect_event(BYTE_IN, 108, 0, 32'h02);
    expect_event(BYTE_IN, 118, 0, 32'h03);
    expect_event(BYTE_IN, 128, 0, 32'h04);
    expect_over(135, 135, 3, 1'b0, 64'd0);

    // READ STATUS in NV-DDR2: the byte comes twice. Latch at 5, tWHR 8: preamble 13 to 15, two strobes of
    // half a cycle each, postamble 17 to 19; tRHW 10 − lead 6 after 20 is 24; tCH 1.
    mode = NV_DDR2;
    out_count = 8'h40;
    command_and_burst(8'h70, 1'b0, 1'b1, 48'd0, 20'd1, 5);
    expect_event(BYTE_OUT, 16, 0, 32'h40);
    expect_event(BYTE_OUT, 16, 4, 32'h41);
    expect_over(25, 25, 0, 1'b0, 64'h40);

    // PROGRAM of 19 bytes in NV-DDR2 from a memory that gives a word every 30 cycles: words come in the
    // cycles 29, 59 and 89 and begin in the next. tADL 40 after the latch at 5: preamble 45 and 46, the first
    // word at 47, the second at 60, the third, of three bytes and one that fills up, at 90. One cycle for it,
    // postamble, tCH.
    read_every = 30;
    command_and_burst(8'h80, 1'b1, 1'b0, 48'h20, 20'd19, 5);
    for (int i = 0; i < 8; i++) expect_event(BYTE_IN, 47 + i / 4, 2 * (i % 4) + 1, 32'h20 + i);
    for (int i = 0; i < 8; i++) expect_event(BYTE_IN, 60 + i / 4, 2 * (i % 4) + 1, 32'h28 + i);
    for (int i = 0; i < 4; i++) expect_event(BYTE_IN, 90, 2 * i + 1, i == 3 ? 32'hff : 32'h30 + i);
    expect_over(93, 93, 1, 1'b0, 64'd0);
    read_every = 1;

    // Two bursts of 43 and 4 bytes in NV-DDR2 to the same descriptor, across a 4 KiB boundary, while memory
    // takes nothing before cycle 60. Latch (E0h) at 5, tCCS 50, preamble 55 to 57. Words of 4 cycles at 58,
    // 62, 66 and 70 fill the FIFO of four. Memory takes the first in cycle 80, so the fifth begins at 81;
    // from then on nothing waits: 85 the sixth, of 4 transfers. Postamble, at 90 the next burst: preamble,
    // four transfers at 93 and 94, postamble; tRHW 10 − lead 6 after 98; tCH 1.
    write_from = 80;
    out_count = 8'h00;
    open;
    descriptor(1'b0, 1'b0, 48'hff0, 64'd0);
    word(BEGIN_2);
    latches(20'd1, 64'h01e0);
    read_burst(4'd0, 20'd43);
    read_burst(4'd0, 20'd4);
    run;
    expect_event(COMMAND, 5, 0, 32'he0);
    for (int i = 0; i < 32; i++) expect_event(BYTE_OUT, 58 + i / 2, 4 * (i % 2), i);
    for (int i = 32; i < 44; i++) expect_event(BYTE_OUT, 81 + (i - 32) / 2, 4 * (i % 2), i);
    for (int i = 44; i < 48; i++) expect_event(BYTE_OUT, 93 + (i - 44) / 2, 4 * (i % 2), i);
    expect_over(103, 103, 2, 1'b0, 64'd0);
    expect_equal(64'(write_count), 64'd7);
    for (int i = 0; i < 5; i++) begin
      expect_equal(written[(510+i)%1024], 64'h0706_0504_0302_0100 + 64'h0808_0808_0808_0808 * i);
      expect_equal({56'd0, written_strobes[(510+i)%1024]}, 64'hff);
    end
    expect_equal(written[515] & 64'hff_ffff, 64'h2a_2928);
    expect_equal({56'd0, written_strobes[515]}, 64'h07);
    expect_equal(written[516] & 64'hffff_ffff, 64'h2f2e_2d2c);
    expect_equal({56'd0, written_strobes[516]}, 64'h0f);

    // Memory that takes a word late, with an error: a burst of 8 bytes, tWHR 8 after the latch, is on the bus
    // from 16 to 19; offered at 20, taken at 150. The chip goes at 28 (tRHW 10 − lead 6 after 23); the
    // transaction is over in the cycle after.
    write_from = 150;
    fail_writes = 1'b1;
    command_and_burst(8'h05, 1'b0, 1'b0, 48'h100, 20'd8, 5);
    for (int i = 0; i < 8; i++) expect_event(BYTE_OUT, 16 + i / 2, 4 * (i % 2), 48 + i);
    expect_over(28, 151, 3, 1'b1, 64'd0);
    write_from = 0;
    fail_writes = 1'b0;

    // NV-DDR: steps begin on CLK's edges. Latches at 9 and 15; a Timer of 55 ns is six cycles, as CLK has it;
    // then tADL 42 after 15, preamble 57 to 62. The first word comes in cycle 60, so it is there in the
    // period from 63 on, and begins at 66: eight bytes of 12 phases each, DQ a byte's length after the data
    // input cycle and DQS in its middle. The second word comes in cycle 121: at 126. Two transfers of it,
    // three cycles, postamble 6, tCH 3.
    mode = NV_DDR;
    read_every = 61;
    open;
    descriptor(1'b1, 1'b0, 48'h40, 64'd0);
    word(BEGIN_2);
    latches(20'd2, 64'h0033_0180);
    timer(32'd55);
    write_burst(4'd0, 20'd9);
    run;
    expect_event(COMMAND, 9, 0, 32'h80);
    expect_event(ADDRESS, 15, 0, 32'h33);
    for (int i = 0; i < 8; i++) expect_event(BYTE_IN, 66 + (12 * i + 18) / 8, (12 * i + 18) % 8, 32'h40 + i);
    expect_event(BYTE_IN, 126 + 18 / 8, 2, 32'h48);
    expect_event(BYTE_IN, 126 + 30 / 8, 6, 32'hff);
    expect_over(138, 138, 0, 1'b0, 64'd0);
    read_every = 1;

    // The same without waiting for memory: preamble 57 to 62, the words at 63 and, without a pause, at 75.
    open;
    descriptor(1'b1, 1'b0, 48'h40, 64'd0);
    word(BEGIN_2);
    latches(20'd2, 64'h0033_0180);
    write_burst(4'd0, 20'd16);
    run;
    expect_event(COMMAND, 9, 0, 32'h80);
    expect_event(ADDRESS, 15, 0, 32'h33);
    for (int i = 0; i < 16; i++) expect_event(BYTE_IN, 63 + (12 * i + 18) / 8, (12 * i + 18) % 8, 32'h40 + i);
    expect_over(96, 96, 1, 1'b0, 64'd0);

    // READ STATUS in NV-DDR: latch at 9, tWHR 9, preamble 18 to 20, the byte twice by one cycle of CLK from
    // 21 on; postamble 24 to 26; tRHW 12 is less than the lead of 15; tCH 3.
    out_count = 8'h60;
    command_and_burst(8'h70, 1'b0, 1'b1, 48'd0, 20'd1, 9);
    expect_event(BYTE_OUT, 21, 0, 32'h60);
    expect_event(BYTE_OUT, 22, 4, 32'h61);
    expect_over(30, 30, 2, 1'b0, 64'h60);

    // 42 bytes of data out after E0h, tCCS 51: words of 12 cycles at 63, 75, 87 and 99 fill the FIFO of four.
    // Memory takes the first in cycle 130, so there is room in the period from 132 on: the fifth word begins
    // at 135, the sixth, of 2 transfers, follows it.
    write_from = 130;
    out_count = 8'h00;
    command_and_burst(8'he0, 1'b0, 1'b0, 48'h200, 20'd42, 9);
    for (int i = 0; i < 32; i++) expect_event(BYTE_OUT, 63 + 12 * i / 8, 12 * i % 8, i);
    for (int i = 32; i < 42; i++) expect_event(BYTE_OUT, 135 + 12 * (i - 32) / 8, 12 * i % 8, i);
    expect_over(156, 156, 3, 1'b0, 64'd0);
    write_from = 0;
    mode = SDR;

    // All waits in a row, SDR: 2 us after tCS at 7 the first latch begins, at 207; tWHR 12 after 217 a byte,
    // until 239; tRHW 20 then a latch from 259 to 269; tADL 40 and from 309 on nine bytes, two words. Nothing
    // to wait for at the end but tCH.
    out_count = 8'h55;
    open;
    descriptor(1'b0, 1'b1, 48'd0, 64'd0);
    descriptor(1'b1, 1'b0, 48'h80, 64'd0);
    word(BEGIN_2);
    timer(32'd2000);
    latches(20'd1, 64'h0170);
    read_burst(4'd0, 20'd1);
    latches(20'd1, 64'h0180);
    write_burst(4'd1, 20'd9);
    run;
    expect_event(COMMAND, 217, 0, 32'h70);
    expect_event(BYTE_OUT, 229, 0, 32'h55);
    expect_event(COMMAND, 269, 0, 32'h80);
    for (int i = 0; i < 9; i++) expect_event(BYTE_IN, 314 + 10 * i, 0, 32'h80 + i);
    expect_over(401, 401, 0, 1'b0, 64'h55);

    // Wrong transactions, each for a different reason. Nothing of them reaches the bus.
    open;
    expect_refused(VERDICT_UNFRAMED, 8'd0, 20'd0);
    open;
    word(instruction(OPCODE_BEGIN, 4'd0, 20'd0, 32'd0));
    expect_refused(VERDICT_NO_CHIP, 8'd0, 20'd0);
    open;
    word(BEGIN_2);
    latches(20'd5, 64'h0);
    expect_refused(VERDICT_LATCHES_PAST_END, 8'd1, 20'd0);
    open;
    word(BEGIN_2);
    word(instruction(OPCODE_COMMAND_ADDRESS, 4'd0, 20'd0, 32'd0));
    word(END_ALL);
    expect_refused(VERDICT_NO_LATCHES, 8'd1, 20'd0);
    // The latch after the last one is ignored. The last one is checked, even if others are missing.
    open;
    word(BEGIN_2);
    latches(20'd3, 64'hffff_0001_0002_0003);
    latches(20'd9, 64'h0200_0001_0002_0003);
    expect_refused(VERDICT_BAD_LATCH, 8'd3, 20'd0);
    open;
    word(BEGIN_2);
    read_burst(4'd0, 20'd0);
    expect_refused(VERDICT_NO_BYTES, 8'd1, 20'd0);
    open;
    word(BEGIN_2);
    word(instruction(4'd9, 4'd0, 20'd0, 32'd0));
    expect_refused(VERDICT_UNKNOWN_OPCODE, 8'd1, 20'd0);
    open;
    word(BEGIN_2);
    timer(32'd1);
    timer(32'd1);
    word(END_ALL);
    expect_refused(VERDICT_TIMER_AFTER_TIMER, 8'd2, 20'd0);
    open;
    word(BEGIN_2);
    word(END_ALL);
    word(END_ALL);
    expect_refused(VERDICT_UNFRAMED, 8'd2, 20'd0);
    open;
    word(BEGIN_2);
    word(BEGIN_2);
    expect_refused(VERDICT_UNFRAMED, 8'd1, 20'd0);
    open;
    word(BEGIN_2);
    for (int i = 0; i < 32; i++) word(END_ALL);
    expect_refused(VERDICT_TOO_LONG, 8'd2, 20'd0);
    open;
    word({OPCODE_BEGIN, 28'd0, 32'h10});
    read_burst(4'd0, 20'd1);
    word(END_ALL);
    expect_refused(VERDICT_CHIP, 8'd0, 20'd0);
    open;
    descriptor(1'b0, 1'b0, 48'd0, 64'd0);
    word(BEGIN_2);
    read_burst(4'd0, 20'd1);
    read_burst(4'd1, 20'd1);
    word(END_ALL);
    expect_refused(VERDICT_DESCRIPTOR, 8'd2, 20'd0);
    open;
    descriptor(1'b0, 1'b0, 48'd0, 64'd0);
    word(BEGIN_2);
    read_burst(4'd0, 20'd4353);
    write_burst(4'd0, 20'd1);
    word(END_ALL);
    expect_refused(VERDICT_LENGTH, 8'd1, 20'd4353);
    open;
    descriptor(1'b1, 1'b1, 48'd0, 64'd0);
    word(BEGIN_2);
    write_burst(4'd0, 20'd9);
    word(END_ALL);
    expect_refused(VERDICT_FRAME, 8'd1, 20'd0);

    read(REGISTER_STATUS);
    expect_equal(got, 64'h0000_000a_0000_0004);
    expect_equal({17'd0, violated}, 64'd0);
    if (errors != 0) $fatal(1, "%0d errors", errors);
    $display("PASS");
    $finish;
  end

  // ---- The ONFI checker, in every mode, at the chip that all transactions are for.
  `include "onfi_parameters.svh"
  `include "onfi_limits.svh"
  wire [46:0] violation;
  wire [46:0] violated;
  // The checker's reset is synchronous, the controller's is not.
  logic checker_rst_n = 1'b0;
  onfi_checker u_checker (
      .clk_i(clk), .rst_ni(checker_rst_n), .mode_i(mode),
      .limits_i(onfi_limits(mode, mode == SDR ? 4'd0 : mode == NV_DDR ? 4'd1 : 4'd7, 1250)), .ce_ni(ce_n[2]),
      .cle_i(cle), .ale_i(ale), .we_ni(we_n), .re_ni(re_n), .dqs_i(dqs), .dqs_oe_i(dqs_oe), .dq_i(dq),
      .dq_oe_i(dq_oe), .ready_i(ready[2]), .violation_o(violation), .violated_o(violated)
  );

  initial begin
    #1_000_000 $fatal(1, "the bench hangs");
  end

  logic unused_bits;
  assign unused_bits = ^{violation, arid, awid, arsize, awsize, arburst, awburst, bready, dq_oe, over_index,
      over_length, over_memory_error, over_mailbox};
endmodule
