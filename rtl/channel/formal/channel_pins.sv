// Proof: Whatever legal transactions follow one another, and whatever cycle table keeps the ONFI minima, no
//   timing parameter of SDR, NV-DDR or NV-DDR2 is violated at any chip's pins, and no chip enable moves
//   inside a transaction.
// Block: channel
// Long: bounded 18
// Sources: channel checker
// Instead: aster_instruction_queue aster_packetizer
// Assumes: the real channel but for instruction queue and Packetizer, which give any legal words and data;
//   the bounds of the table below, NV-DDR with a CLK of the controller's period; waits that software owes
//   (tWB inside a transaction, tRR, tITC, tCR2) are not looked at; a transaction begins with a C/A
//   instruction whose first latch is a command; bursts of both directions have a latch between them; no
//   Timer.
module channel_pins (
    input logic              clk_i,
    // Whatever these are in the first cycle, they stay.
    input logic [255:0]      table_i,
    input logic [47*7-1:0]   limits_i,
    input logic              watched_i,
    // Instruction words, after the table and two words of latches; whether a transaction waits.
    input logic [63:0]       word_i,
    input logic              valid_i,
    // The Packetizer: data, never changing, and its stalls.
    input logic [63:0]       data_i,
    input logic              fetched_i,
    input logic              room_i,
    input logic              drained_i
);
  `include "aster_interface.svh"
  `include "onfi_parameters.svh"
  localparam integer WIDTH = 7;
  localparam integer WAYS = 2;

  reg rst_n = 1'b0;
  reg [2:0] step = 3'd0;
  reg [255:0] cycles;
  reg [47*WIDTH-1:0] limits;
  reg watched;
  reg [63:0] data;
  always @(posedge clk_i) begin
    rst_n <= 1'b1;
    if (rst_n && step != 3'd6) step <= step + 3'd1;
    if (!rst_n) {cycles, limits, watched, data} <= {table_i, limits_i, watched_i, data_i};
  end

  wire [WAYS-1:0] ce_n;
  wire [7:0] cle, ale, we_n, re_n, dqs;
  wire [63:0] dq;
  wire dqs_oe, dq_oe, begins, over;
  aster_channel #(.WAYS(WAYS), .FIFO_WORDS(2)) u_channel (
      .clk_i, .rst_ni(rst_n), .cpu_clk_i(clk_i), .cpu_rst_ni(rst_n), .reg_valid_i(!step[2] || valid_i),
      .reg_write_i(1'b1), .reg_addr_i(step[2] ? REGISTER_OPEN : REGISTER_TABLE + {7'd0, step[1:0], 3'd0}),
      .reg_wdata_i(step[2] ? word_i : cycles[64*step[1:0] +: 64]), .reg_rdata_o(),
      .ce_no(ce_n), .cle_o(cle), .ale_o(ale), .we_no(we_n), .re_no(re_n), .dqs_o(dqs), .dqs_oe_o(dqs_oe),
      .dq_o(dq), .dq_oe_o(dq_oe), .dq_i(64'd0), .ready_i({WAYS{1'b1}}), .strobed_o(), .begin_o(begins),
      .over_o(over), .over_slot_o(), .over_verdict_o(), .over_index_o(), .over_length_o(), .over_mailbox_o(),
      .over_memory_error_o(), .axi_arid_o(), .axi_araddr_o(), .axi_arlen_o(), .axi_arsize_o(),
      .axi_arburst_o(), .axi_arvalid_o(), .axi_arready_i(1'b0), .axi_rid_i(4'd0), .axi_rdata_i(data),
      .axi_rresp_i(2'd0), .axi_rlast_i(1'b0), .axi_rvalid_i(fetched_i), .axi_rready_o(), .axi_awid_o(),
      .axi_awaddr_o(), .axi_awlen_o(), .axi_awsize_o(), .axi_awburst_o(), .axi_awvalid_o(),
      .axi_awready_i(room_i), .axi_wdata_o(), .axi_wstrb_o(), .axi_wlast_o(), .axi_wvalid_o(),
      .axi_wready_i(drained_i), .axi_bid_i(4'd0), .axi_bresp_i(2'd0), .axi_bvalid_i(1'b0), .axi_bready_o()
  );

  wire [1:0] mode = cycles[TABLE_MODE_LSB +: TABLE_MODE_WIDTH];
  localparam [46:0] SKIPPED = (47'd1 << T_WB) | (47'd1 << T_RR) | (47'd1 << T_ITC) | (47'd1 << T_CR2);
  onfi_checker #(.WIDTH(WIDTH), .MASK(~SKIPPED)) u_checker (
      .clk_i, .rst_ni(rst_n), .mode_i(mode), .limits_i(limits), .ce_ni(ce_n[watched]), .cle_i(cle),
      .ale_i(ale), .we_ni(we_n), .re_ni(re_n), .dqs_i(dqs), .dqs_oe_i(dqs_oe), .dq_i(dq), .dq_oe_i(dq_oe),
      .ready_i(1'b1), .violation_o(), .violated_o()
  );

  // ---- Chip enables: those of the first cycle stay alone until they go high together.
  reg [WAYS-1:0] selected = {WAYS{1'b0}};
  always @(posedge clk_i) begin
    if (rst_n) selected <= ~ce_n;
    if (rst_n) begin
      if (begins) nothing_before: assert (selected == {WAYS{1'b0}});
      else other_chips: assert (~ce_n == selected || ce_n == {WAYS{1'b1}});
    end
  end

  // ---- The table: in cycles, small; then the minima, in phases.
  `define CYCLES(name) {6'd0, cycles[TABLE_``name``_LSB +: 8]}
  `define LONG(name) {2'd0, cycles[TABLE_``name``_LSB +: 12]}
  `define PHASES(name) {4'd0, cycles[TABLE_``name``_LSB +: 10]}
  `define LIMIT(name) {{(14-WIDTH){1'b0}}, limits[name*WIDTH +: WIDTH]}
  wire [13:0] chip_setup = `CYCLES(CHIP_SETUP);
  wire [13:0] chip_hold = `CYCLES(CHIP_HOLD);
  wire [13:0] gap = `CYCLES(GAP);
  wire [13:0] latch = `CYCLES(LATCH);
  wire [13:0] from = `PHASES(LATCH_FROM);
  wire [13:0] hold = `PHASES(LATCH_HOLD);
  wire [13:0] bytes_in = `LONG(BYTE_PHASES_IN);
  wire [13:0] bytes_out = `LONG(BYTE_PHASES_OUT);
  wire [13:0] write_pre = `CYCLES(WRITE_PREAMBLE);
  wire [13:0] write_post = `CYCLES(WRITE_POSTAMBLE);
  wire [13:0] read_pre = `CYCLES(READ_PREAMBLE);
  wire [13:0] read_post = `CYCLES(READ_POSTAMBLE);
  wire [13:0] adl = `LONG(T_ADL);
  wire [13:0] whr = `LONG(T_WHR);
  wire [13:0] ccs = `LONG(T_CCS);
  wire [13:0] rhw = `LONG(T_RHW);
  wire [13:0] half_in = bytes_in >> 1;
  wire [13:0] half_out = bytes_out >> 1;
  always @* if (rst_n) begin
    assume (mode != 2'd3);
    assume (cycles[TABLE_GRAIN_LSB +: 8] == 8'd1);
    assume (chip_setup != 0 && chip_setup <= 2 && chip_hold != 0 && chip_hold <= 2 && gap != 0 && gap <= 3);
    assume (latch != 0 && latch <= 3 && hold != 0 && hold <= from && from < 8 * latch && hold <= 8);
    assume (write_pre <= 2 && write_post <= 2 && read_pre <= 2 && read_post <= 2);
    assume (bytes_in >= 2 && bytes_in <= 16 && bytes_out >= 2 && bytes_out <= 16);
    assume (cycles[TABLE_T_WB_LSB +: 12] <= 12'd4 && adl <= 4 && whr <= 4 && ccs <= 5 && rhw <= 8);
    assume (`LONG(LEAD) == chip_hold + gap + chip_setup + latch);
    // CE#. tCSD is of the pins' rest between transactions, a latch's hold included.
    assume (8 * (chip_setup + latch) >= `LIMIT(T_CS) && 8 * chip_hold >= `LIMIT(T_CH)
        && 8 * gap >= `LIMIT(T_CEH));
    assume (8 * gap >= `LIMIT(T_CSD) && 8 * chip_hold > hold);
    assume (8 * (chip_setup + latch) >= `LIMIT(T_CR) && 8 * (chip_setup + latch) >= `LIMIT(T_CS1));
    // Latches.
    assume (8 * latch >= `LIMIT(T_WC) && 4 * latch >= `LIMIT(T_WP) && 4 * latch >= `LIMIT(T_WH));
    assume (8 * latch - from >= `LIMIT(T_CLS) && 8 * latch - from >= `LIMIT(T_ALS));
    assume (8 * latch - from >= `LIMIT(T_CALS) && 8 * latch - from >= `LIMIT(T_CAS));
    assume (hold >= `LIMIT(T_CLH) && hold >= `LIMIT(T_ALH) && hold >= `LIMIT(T_CALH)
        && hold >= `LIMIT(T_CAH));
    // Waits.
    assume (8 * whr >= `LIMIT(T_WHR) && 8 * adl >= `LIMIT(T_ADL) && 8 * ccs >= `LIMIT(T_CCS));
    // The next transaction's first WE# pulse begins half a latch before `lead` is over; in NV-DDR tRHW ends
    // at the latch's edge.
    if (mode != 2'd1)
      assume (8 * rhw + (mode == 2'd0 ? half_out : 8 * read_post) >= 4 * latch + `LIMIT(T_RHW));
    else assume (8 * (rhw + read_post) >= `LIMIT(T_RHW));
    assume (8 * whr >= hold + `LIMIT(T_AR) && 8 * whr >= hold + `LIMIT(T_CLR)
        && 8 * whr >= hold + `LIMIT(T_DBS));
    assume (hold >= `LIMIT(T_DBS));
    assume (ccs >= whr && 8 * adl >= hold + `LIMIT(T_CDQSS) && 8 * adl > hold);
    // SDR data.
    if (mode == 2'd0) begin
      assume (!bytes_in[0] && !bytes_out[0] && half_in >= 4 * latch);
      assume (write_pre == 0 && write_post == 0 && read_pre == 0 && read_post == 0);
      assume (bytes_in >= `LIMIT(T_WC) && half_in >= `LIMIT(T_WP) && half_in >= `LIMIT(T_WH));
      assume (8 * latch - from >= `LIMIT(T_DS) && hold >= `LIMIT(T_DH) && half_in >= `LIMIT(T_DS)
          && half_in >= `LIMIT(T_DH));
      assume (bytes_out >= `LIMIT(T_RC) && half_out >= `LIMIT(T_RP) && half_out >= `LIMIT(T_REH));
      assume (half_in >= `LIMIT(T_CLS) && half_in >= `LIMIT(T_ALS));
    end else if (mode == 2'd1) begin
      // CLK of one cycle: CLE, ALE and W/R# change in its middle, DQS comes three quarters of it behind the
      // data input cycle.
      assume (bytes_in == 4 && bytes_out == 4 && hold == 4 && from == 8 * latch - 4 && whr != 0 && adl != 0);
      assume (write_pre != 0 && write_post != 0 && read_pre != 0 && read_post != 0);
      assume (`LIMIT(T_CK) <= 8 && `LIMIT(T_CALS) <= 4 && `LIMIT(T_CALH) <= 4);
      assume (`LIMIT(T_DQSS_MIN) <= 6 && (`LIMIT(T_DQSS_MAX) == 0 || `LIMIT(T_DQSS_MAX) >= 6));
      assume (`LIMIT(T_DS) <= 2 && `LIMIT(T_DH) <= 2 && `LIMIT(T_DSC) <= 8);
      assume (8 * write_pre + 6 >= `LIMIT(T_WPRE) && 8 * write_post - 2 >= `LIMIT(T_WPST));
      assume (8 * (whr + read_pre) - 4 >= `LIMIT(T_WRCK));
      assume (8 * latch >= `LIMIT(T_CAD) && 8 * whr >= `LIMIT(T_CAD) && 8 * adl >= `LIMIT(T_CAD));
    end else begin
      // The strobe of a burst is held low to the edge of the latch that ends it, RE# to a phase before;
      // beyond CE# for a latch's length, and for the gap but a phase.
      assume (8 * latch - from - 1 >= `LIMIT(T_RPSTH) && 8 * gap - 1 >= `LIMIT(T_RPSTH));
      assume (8 * latch - from >= `LIMIT(T_WPSTH) && 8 * latch >= `LIMIT(T_WPSTH));
      assume (write_pre != 0 && write_post != 0 && read_pre != 0 && read_post != 0);
      assume (8 * write_pre + half_in >= `LIMIT(T_WPRE) && 8 * write_post >= `LIMIT(T_WPST)
          && 2 * bytes_in >= `LIMIT(T_DSC));
      assume (half_in >= `LIMIT(T_DS) && half_in >= `LIMIT(T_DH));
      assume (8 * read_pre >= `LIMIT(T_RPRE) && 8 * read_post >= `LIMIT(T_RPST)
          && 2 * bytes_out >= `LIMIT(T_RC));
    end
  end
endmodule

// Any words that the word checker lets through; the same address holds the same latches.
module aster_instruction_queue #(
    parameter integer VERDICT_BITS = 38,
    parameter integer RESULT_BITS = 65
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    cpu_clk_i,
    input  logic                    cpu_rst_ni,
    input  logic                    open_i,
    input  logic                    word_write_i,
    input  logic [4:0]              word_index_i,
    input  logic [63:0]             word_i,
    input  logic                    descriptor_write_i,
    input  logic [2:0]              descriptor_index_i,
    input  logic                    descriptor_half_i,
    input  logic [63:0]             descriptor_i,
    input  logic                    push_i,
    input  logic [VERDICT_BITS-1:0] push_verdict_i,
    input  logic [31:0]             push_fetches_i,
    input  logic [31:0]             push_stores_i,
    output logic                    opened_o,
    output logic [2:0]              free_o,
    output logic [2:0]              results_o,
    input  logic                    take_i,
    output logic [1:0]              result_slot_o,
    output logic [VERDICT_BITS-1:0] result_verdict_o,
    output logic [RESULT_BITS-1:0]  result_o,
    output logic                    valid_o,
    output logic [1:0]              slot_o,
    output logic [VERDICT_BITS-1:0] verdict_o,
    output logic [31:0]             fetches_o,
    output logic [31:0]             stores_o,
    input  logic                    over_i,
    input  logic [RESULT_BITS-1:0]  over_result_i,
    input  logic [4:0]              address_i,
    output logic [63:0]             word_o,
    output logic [63:0]             next_word_o,
    input  logic [4:0]              latch_address_i,
    output logic [63:0]             latch_word_o,
    input  logic [4:0]              burst_address_i,
    output logic [19:0]             burst_length_o,
    output logic [3:0]              burst_descriptor_o,
    input  logic [2:0]              mailbox_index_i,
    output logic                    mailbox_o,
    output logic [63:0]             immediate_o,
    input  logic [2:0]              memory_index_i,
    output logic [47:0]             memory_address_o,
    output logic [3:0]              memory_tag_o
);
  `include "aster_interface.svh"
  // The first words after the table are latches.
  reg [63:0] latches_even, latches_odd;
  reg [2:0] age_q = 3'd0;
  always @(posedge clk_i) begin
    if (rst_ni && age_q != 3'd6) age_q <= age_q + 3'd1;
    if (age_q == 3'd4) latches_even <= word_i;
    if (age_q == 3'd5) latches_odd <= word_i;
  end

  assign {opened_o, free_o, results_o, result_slot_o, result_verdict_o, result_o} = '0;
  assign {slot_o, verdict_o, fetches_o, stores_o, next_word_o} = '0;
  assign {burst_length_o, burst_descriptor_o, memory_address_o, memory_tag_o} = '0;
  // The cycle table has been written by then.
  assign valid_o = open_i && age_q == 3'd6;
  assign word_o = word_i;
  assign latch_word_o = latch_address_i[0] ? latches_odd : latches_even;
  assign mailbox_o = word_i[WORD_DESCRIPTOR_LSB];
  assign immediate_o = latches_even;

  wire [3:0] opcode = word_i[WORD_OPCODE_LSB +: WORD_OPCODE_WIDTH];
  wire [19:0] length = word_i[WORD_LENGTH_LSB +: WORD_LENGTH_WIDTH];
  // What was carried out last: the word that stood there when the address moved on. A burst in the other
  // direction, without a latch between, is nothing that a package could be asked for.
  reg [4:0] address_q;
  reg [3:0] opcode_q, last_q;
  // A word stays as it is while it is looked at.
  reg [63:0] word_q;
  reg stays_q = 1'b0;
  always @(posedge clk_i) {word_q, stays_q} <= {word_i, rst_ni && age_q == 3'd6};
  wire [3:0] last = address_i != address_q ? opcode_q : last_q;
  always @(posedge clk_i) {address_q, opcode_q, last_q} <= {address_i, opcode, last};
  always @* if (rst_ni && age_q == 3'd6) begin
    assume (!stays_q || address_i != address_q || word_i == word_q);
    assume (last != OPCODE_DATA_READ || opcode != OPCODE_DATA_WRITE);
    assume (last != OPCODE_DATA_WRITE || opcode != OPCODE_DATA_READ);
    // A transaction's first latch is a command: none is split from its addresses.
    assume (latches_even[LATCH_COMMAND_LSB]);
    assume (length != 20'd0 && length <= 20'd3);
    if (address_i == 5'd0) assume (word_i[1:0] != 2'd0 && opcode == OPCODE_BEGIN);
    else if (address_i == 5'd1) assume (opcode == OPCODE_COMMAND_ADDRESS);
    else assume (opcode == OPCODE_COMMAND_ADDRESS || opcode == OPCODE_DATA_READ || opcode == OPCODE_DATA_WRITE
        || opcode == OPCODE_END);
  end
endmodule

// Any data, and any stalls.
module aster_packetizer #(
    parameter integer FIFO_WORDS = 512
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        begin_i,
    input  logic [31:0] fetches_i,
    input  logic [31:0] stores_i,
    input  logic        over_i,
    output logic [4:0]  burst_address_o,
    input  logic [19:0] burst_length_i,
    input  logic [3:0]  burst_descriptor_i,
    output logic [2:0]  memory_index_o,
    input  logic [47:0] memory_address_i,
    input  logic [3:0]  memory_tag_i,
    output logic        fetched_valid_o,
    output logic        fetched_more_o,
    output logic [63:0] fetched_o,
    input  logic        fetched_taken_i,
    output logic        room_o,
    output logic        more_room_o,
    input  logic        store_valid_i,
    input  logic [63:0] store_i,
    input  logic [3:0]  store_bytes_i,
    output logic        drained_o,
    output logic        memory_error_o,
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
  assign {burst_address_o, memory_index_o, memory_error_o} = '0;
  assign {axi_arid_o, axi_araddr_o, axi_arlen_o, axi_arsize_o, axi_arburst_o, axi_arvalid_o,
      axi_rready_o} = '0;
  assign {axi_awid_o, axi_awaddr_o, axi_awlen_o, axi_awsize_o, axi_awburst_o, axi_awvalid_o} = '0;
  assign {axi_wdata_o, axi_wstrb_o, axi_wlast_o, axi_wvalid_o, axi_bready_o} = '0;
  assign fetched_valid_o = axi_rvalid_i;
  assign fetched_more_o = axi_rvalid_i;
  assign fetched_o = axi_rdata_i;
  assign room_o = axi_awready_i;
  assign more_room_o = axi_awready_i;
  assign drained_o = axi_wready_i;
endmodule
