// Proof: None of the Packetizer's FIFOs is pushed when it is full or popped when it is empty, whatever memory
//   and the bus do. A write address or word that is offered stays so until it is taken.
// Block: packetizer
// Method: reachability
// Sources: packetizer ufsm
// Assumes: a burst starts when none goes on (`sequencer_runs_once`) and in a cycle in which a step may begin;
//   its table has `byte_phases` of 2 to 15 and stays; FIFOs of 4 words. Memory needs to keep to nothing.
module packetizer_keeps (
    input logic        clk_i,
    input logic        write_start_i,
    input logic        read_start_i,
    input logic [19:0] bytes_i,
    input logic        mailbox_i,
    input logic        aligned_i,
    // Whatever these are in the first cycle, they stay.
    input logic [1:0]  mode_i,
    input logic [7:0]  preamble_i,
    input logic [7:0]  postamble_i,
    input logic [3:0]  byte_phases_i,
    input logic [7:0]  grain_i,
    // The transaction, and what words and descriptors say.
    input logic        begin_i,
    input logic        over_i,
    input logic [31:0] fetches_i,
    input logic [31:0] stores_i,
    input logic [19:0] burst_length_i,
    input logic [3:0]  burst_descriptor_i,
    input logic [47:0] memory_address_i,
    input logic [3:0]  memory_tag_i,
    input logic        axi_arready_i,
    input logic [1:0]  axi_rresp_i,
    input logic        axi_rvalid_i,
    input logic        axi_awready_i,
    input logic        axi_wready_i,
    input logic        axi_bvalid_i
);
  reg rst_n = 1'b0;
  reg [1:0] mode;
  reg [7:0] preamble, postamble, grain;
  reg [3:0] byte_phases;
  always @(posedge clk_i) begin
    rst_n <= 1'b1;
    if (!rst_n)
      {mode, preamble, postamble, grain, byte_phases} <=
          {mode_i, preamble_i, postamble_i, grain_i, byte_phases_i};
  end

  wire write_busy, read_busy, taken, store_valid, mailbox_word, fetched_valid, fetched_more, room, more_room,
      awvalid, wvalid;
  aster_packetizer #(.FIFO_WORDS(4)) u_packetizer (
      .clk_i, .rst_ni(rst_n), .begin_i, .fetches_i, .stores_i, .over_i, .burst_address_o(), .burst_length_i,
      .burst_descriptor_i, .memory_index_o(), .memory_address_i, .memory_tag_i,
      .fetched_valid_o(fetched_valid), .fetched_more_o(fetched_more), .fetched_o(), .fetched_taken_i(taken),
      .room_o(room), .more_room_o(more_room), .store_valid_i(store_valid && !mailbox_word), .store_i(64'd0),
      .store_bytes_i(4'd8), .drained_o(), .memory_error_o(), .axi_arid_o(), .axi_araddr_o(), .axi_arlen_o(),
      .axi_arsize_o(), .axi_arburst_o(), .axi_arvalid_o(), .axi_arready_i, .axi_rid_i(4'd0),
      .axi_rdata_i(64'd0), .axi_rresp_i, .axi_rlast_i(1'b0), .axi_rvalid_i, .axi_rready_o(), .axi_awid_o(),
      .axi_awaddr_o(), .axi_awlen_o(), .axi_awsize_o(), .axi_awburst_o(), .axi_awvalid_o(awvalid),
      .axi_awready_i, .axi_wdata_o(), .axi_wstrb_o(), .axi_wlast_o(), .axi_wvalid_o(wvalid), .axi_wready_i,
      .axi_bid_i(4'd0), .axi_bresp_i(2'd0), .axi_bvalid_i, .axi_bready_o()
  );
  aster_data_writer u_writer (
      .clk_i, .rst_ni(rst_n), .mode_i(mode), .preamble_i(preamble), .postamble_i(postamble),
      .byte_phases_i({8'd0, byte_phases}), .grain_i(grain), .aligned_i, .start_i(write_start_i), .bytes_i,
      .mailbox_i, .word_valid_i(fetched_valid), .following_valid_i(fetched_more), .word_i(64'd0),
      .immediate_i(64'd0), .word_taken_o(taken), .busy_o(write_busy), .last_o(), .selected_i(1'b1),
      .latch_cycles_i(8'd1), .latch_last_i(1'b0), .data_now_o(), .data_next_o(), .we_no(), .dqs_o(),
      .dqs_oe_o(), .dq_o(), .dq_oe_o()
  );
  aster_data_reader u_reader (
      .clk_i, .rst_ni(rst_n), .mode_i(mode), .preamble_i(preamble), .postamble_i(postamble),
      .byte_phases_i({8'd0, byte_phases}), .grain_i(grain), .aligned_i, .clock_i(8'd0), .pending_i(1'b0),
      .start_i(read_start_i), .bytes_i, .mailbox_i, .room_i(room), .following_room_i(more_room),
      .lanes_i(32'd0), .busy_o(read_busy), .last_o(), .word_valid_o(store_valid), .word_o(), .word_bytes_o(),
      .mailbox_o(mailbox_word), .let_go_i(1'b0), .data_now_o(), .data_next_o(), .re_no(), .strobed_o()
  );

  always @* begin
    if (!rst_n) assume (!write_start_i && !read_start_i && !begin_i);
    if (rst_n) assume (byte_phases >= 4'd2);
    if (write_start_i || read_start_i) begin
      assume (!write_busy && !read_busy && aligned_i && bytes_i != 20'd0);
      assume (!write_start_i || !read_start_i);
    end
  end

  (* hierconn *) wire \u_packetizer.u_fetch_fifo.push_i , \u_packetizer.u_fetch_fifo.pop_i ,
      \u_packetizer.u_fetch_fifo.full_o , \u_packetizer.u_fetch_fifo.empty_o ;
  (* hierconn *) wire \u_packetizer.u_store_fifo.push_i , \u_packetizer.u_store_fifo.pop_i ,
      \u_packetizer.u_store_fifo.full_o , \u_packetizer.u_store_fifo.empty_o ;
  (* hierconn *) wire \u_packetizer.u_pieces.push_i , \u_packetizer.u_pieces.pop_i ,
      \u_packetizer.u_pieces.full_o , \u_packetizer.u_pieces.empty_o ;
  reg aw_waits = 1'b0, w_waits = 1'b0;
  always @(posedge clk_i)
    {aw_waits, w_waits} <= rst_n ? {awvalid && !axi_awready_i, wvalid && !axi_wready_i} : 2'd0;
  always @(posedge clk_i) if (rst_n) begin
    address_stays: assert (!aw_waits || awvalid);
    word_stays: assert (!w_waits || wvalid);
    fetched_fits: assert (!\u_packetizer.u_fetch_fifo.push_i || !\u_packetizer.u_fetch_fifo.full_o );
    fetched_there: assert (!\u_packetizer.u_fetch_fifo.pop_i || !\u_packetizer.u_fetch_fifo.empty_o );
    stored_fits: assert (!\u_packetizer.u_store_fifo.push_i || !\u_packetizer.u_store_fifo.full_o );
    stored_there: assert (!\u_packetizer.u_store_fifo.pop_i || !\u_packetizer.u_store_fifo.empty_o );
    piece_fits: assert (!\u_packetizer.u_pieces.push_i || !\u_packetizer.u_pieces.full_o );
    piece_there: assert (!\u_packetizer.u_pieces.pop_i || !\u_packetizer.u_pieces.empty_o );
  end
endmodule
