// Packetizer: an AXI4 master that moves the bursts' words between memory and the uFSMs, through one FIFO
// per direction.
//
// Addresses run ahead of the data from the transaction's start on. Words from memory wait in the FIFO
// and, when that is full, on the bus. Words from packages are offered to memory in the cycle after they
// have entered the FIFO.
module aster_packetizer #(
    // A power of two.
    parameter integer FIFO_WORDS = 512
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // A transaction begins: which of its words are bursts from memory, and which to memory. A transaction
    // that had begun is over.
    input  logic        begin_i,
    input  logic [31:0] fetches_i,
    input  logic [31:0] stores_i,
    input  logic        over_i,
    // A burst's word and then its descriptor, both at once.
    output logic [4:0]  burst_address_o,
    input  logic [19:0] burst_length_i,
    input  logic [3:0]  burst_descriptor_i,
    output logic [2:0]  memory_index_o,
    input  logic [47:0] memory_address_i,
    input  logic [3:0]  memory_tag_i,
    // To the Data Writer.
    output logic        fetched_valid_o,
    // There is another word behind it.
    output logic        fetched_more_o,
    output logic [63:0] fetched_o,
    input  logic        fetched_taken_i,
    // From the Data Reader.
    output logic        room_o,
    // There is room for two.
    output logic        more_room_o,
    input  logic        store_valid_i,
    input  logic [63:0] store_i,
    input  logic [3:0]  store_bytes_i,
    // Whether everything stored is in memory, and whether memory has reported an error since the last
    // transaction was over.
    output logic        drained_o,
    output logic        memory_error_o,
    // AXI4
    output logic [3:0]  axi_arid_o,
    output logic [47:0] axi_araddr_o,
    output logic [7:0]  axi_arlen_o,
    output logic [2:0]  axi_arsize_o,
    output logic [1:0]  axi_arburst_o,
    output logic        axi_arvalid_o,
    input  logic        axi_arready_i,
    input  logic [3:0]  axi_rid_i,
    input  logic [63:0] axi_rdata_i,
    input  logic [1:0]  axi_rresp_i,
    input  logic        axi_rlast_i,
    input  logic        axi_rvalid_i,
    output logic        axi_rready_o,
    output logic [3:0]  axi_awid_o,
    output logic [47:0] axi_awaddr_o,
    output logic [7:0]  axi_awlen_o,
    output logic [2:0]  axi_awsize_o,
    output logic [1:0]  axi_awburst_o,
    output logic        axi_awvalid_o,
    input  logic        axi_awready_i,
    output logic [63:0] axi_wdata_o,
    output logic [7:0]  axi_wstrb_o,
    output logic        axi_wlast_o,
    output logic        axi_wvalid_o,
    input  logic        axi_wready_i,
    input  logic [3:0]  axi_bid_i,
    input  logic [1:0]  axi_bresp_i,
    input  logic        axi_bvalid_i,
    output logic        axi_bready_o
);
  localparam integer COUNT = $clog2(FIFO_WORDS) + 1;
  // The most beats of reads, and pieces of writes, in flight.
  localparam logic [8:0] READ_BEATS_MAX = 9'd256;
  localparam logic [7:0] WRITES_MAX = 8'd255;
  localparam integer PIECES = 8;

  localparam logic [2:0] SIZE_8_BYTES = 3'd3;
  localparam logic [1:0] INCREMENTING = 2'd1;

  // Both walkers share the port to words and descriptors; a fetch has priority.
  logic fetch_want, store_want, store_grant;
  logic [4:0] fetch_index, store_index;
  logic [17:0] words;
  assign store_grant     = store_want && !fetch_want;
  assign burst_address_o = fetch_want ? fetch_index : store_index;
  assign memory_index_o  = burst_descriptor_i[2:0];
  assign words           = {1'b0, burst_length_i[19:3]} + {17'd0, burst_length_i[2:0] != 3'd0};

  // How many words of each descriptor's memory earlier bursts have used.
  localparam integer OFFSET = 23;
  logic [7:0] used_q, used;
  logic [OFFSET-1:0] offset_kept, offset;
  logic load;
  logic [47:0] address;
  assign load    = fetch_want || store_want;
  assign used    = begin_i ? 8'd0 : used_q;
  assign offset  = used[memory_index_o] ? offset_kept : '0;
  assign address = memory_address_i + {{(45 - OFFSET) {1'b0}}, offset, 3'd0};

  aster_lutram #(.WIDTH(OFFSET), .DEPTH(8)) u_offsets (
      .clk_i, .write_i(load), .write_address_i(memory_index_o),
      .write_data_i(offset + {{(OFFSET - 18) {1'b0}}, words}), .read_address_i(memory_index_o),
      .read_data_o(offset_kept)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= 8'd0;
    else used_q <= load ? used | (8'd1 << memory_index_o) : used;
  end

  // Memory to package. Memory may answer different IDs in any order, so only one ID is in flight at a
  // time.
  logic [8:0] read_beats_q;
  logic [3:0] read_tag_q;
  logic fetch_permit, fetch_asked, fetch_delivered, fetch_full, fetch_empty;
  logic [4:0] fetch_beats;
  assign fetch_permit = read_beats_q == 9'd0
      || (read_beats_q <= READ_BEATS_MAX - 9'd16 && read_tag_q == axi_arid_o);
  assign fetch_asked     = axi_arvalid_o && axi_arready_i;
  assign fetch_delivered = axi_rvalid_i && axi_rready_o;

  aster_burst_walker u_fetch (
      .clk_i, .rst_ni, .begin_i, .bursts_i(fetches_i), .want_o(fetch_want), .index_o(fetch_index),
      .grant_i(fetch_want), .address_i(address), .tag_i(memory_tag_i), .words_i(words),
      .permit_i(fetch_permit), .valid_o(axi_arvalid_o), .ready_i(axi_arready_i), .address_o(axi_araddr_o),
      .length_o(axi_arlen_o), .tag_o(axi_arid_o), .beats_o(fetch_beats)
  );

  logic [COUNT-1:0] fetch_count;
  aster_fifo #(.WIDTH(64), .DEPTH(FIFO_WORDS)) u_fetch_fifo (
      .clk_i, .rst_ni, .push_i(fetch_delivered), .data_i(axi_rdata_i), .pop_i(fetched_taken_i),
      .data_o(fetched_o), .count_o(fetch_count), .empty_o(fetch_empty), .full_o(fetch_full)
  );
  assign fetched_valid_o = !fetch_empty;
  assign fetched_more_o  = fetch_count > COUNT'(1);
  assign axi_rready_o    = !fetch_full;
  assign axi_arsize_o    = SIZE_8_BYTES;
  assign axi_arburst_o   = INCREMENTING;

  // Package to memory. A piece is known once its address is offered. Its words must not wait until memory
  // has accepted the address, since memory may wait for the first word (AXI4, dependencies between
  // channels).
  logic store_permit, store_asked, store_accepted, store_full, store_empty, piece_known, piece_known_q,
      piece_empty, piece_full;
  logic [7:0] writes_q;
  logic [3:0] piece_last, beat_q;
  logic [4:0] store_beats;
  assign store_permit   = piece_known_q || (!piece_full && writes_q != WRITES_MAX);
  assign store_asked    = axi_awvalid_o && axi_awready_i;
  assign piece_known    = axi_awvalid_o && !piece_known_q;
  assign store_accepted = axi_wvalid_o && axi_wready_i;

  aster_burst_walker u_store (
      .clk_i, .rst_ni, .begin_i, .bursts_i(stores_i), .want_o(store_want), .index_o(store_index),
      .grant_i(store_grant), .address_i(address), .tag_i(memory_tag_i), .words_i(words),
      .permit_i(store_permit), .valid_o(axi_awvalid_o), .ready_i(axi_awready_i), .address_o(axi_awaddr_o),
      .length_o(axi_awlen_o), .tag_o(axi_awid_o), .beats_o(store_beats)
  );

  logic [$clog2(PIECES):0] unused_pieces;
  logic [4:0] last_beat;
  assign last_beat = store_beats - 5'd1;
  aster_fifo #(.WIDTH(4), .DEPTH(PIECES)) u_pieces (
      .clk_i, .rst_ni, .push_i(piece_known), .data_i(last_beat[3:0]), .pop_i(store_accepted && axi_wlast_o),
      .data_o(piece_last), .count_o(unused_pieces), .empty_o(piece_empty), .full_o(piece_full)
  );

  logic [COUNT-1:0] store_count;
  logic [7:0] store_strobes;
  assign store_strobes = ~(8'hff << store_bytes_i);
  aster_fifo #(.WIDTH(72), .DEPTH(FIFO_WORDS)) u_store_fifo (
      .clk_i, .rst_ni, .push_i(store_valid_i), .data_i({store_strobes, store_i}), .pop_i(store_accepted),
      .data_o({axi_wstrb_o, axi_wdata_o}), .count_o(store_count), .empty_o(store_empty), .full_o(store_full)
  );
  assign room_o        = !store_full;
  assign more_room_o   = store_count < COUNT'(FIFO_WORDS - 1);
  assign drained_o     = store_empty;
  assign axi_wvalid_o  = !store_empty && !piece_empty;
  assign axi_wlast_o   = beat_q == piece_last;
  assign axi_awsize_o  = SIZE_8_BYTES;
  assign axi_awburst_o = INCREMENTING;
  assign axi_bready_o  = 1'b1;

  // Writes are posted. A response that comes after the transaction is over counts for the next one.
  logic error, error_q;
  assign error          = (fetch_delivered && axi_rresp_i[1]) || (axi_bvalid_i && axi_bresp_i[1]);
  assign memory_error_o = error || error_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_beats_q  <= 9'd0;
      read_tag_q    <= 4'd0;
      writes_q      <= 8'd0;
      beat_q        <= 4'd0;
      piece_known_q <= 1'b0;
      error_q       <= 1'b0;
    end else begin
      read_beats_q <= read_beats_q + (fetch_asked ? {4'd0, fetch_beats} : 9'd0) - {8'd0, fetch_delivered};
      if (fetch_asked) read_tag_q <= axi_arid_o;
      writes_q <= writes_q + {7'd0, store_asked} - {7'd0, axi_bvalid_i};
      if (store_accepted) beat_q <= axi_wlast_o ? 4'd0 : beat_q + 4'd1;
      piece_known_q <= axi_awvalid_o && !axi_awready_i;
      error_q <= memory_error_o && !over_i;
    end
  end

  logic unused_axi;
  assign unused_axi = ^{axi_rid_i, axi_rlast_i, axi_rresp_i[0], axi_bid_i, axi_bresp_i[0],
      burst_descriptor_i[3], last_beat[4]};
endmodule
