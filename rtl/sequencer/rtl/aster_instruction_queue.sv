// The queue of transactions. The CPU writes it in its clock; the sequencer reads it in the controller's
// clock.
//
// Slots are used one after the other. Only toggles cross between the clocks, two per slot: `pushed` in
// one direction and `over` in the other. A slot's memory belongs to the CPU until the push, to the
// controller until the transaction is over, and then to the CPU until the result is taken.
module aster_instruction_queue #(
    // Bits of a verdict record, and of a result record.
    parameter integer VERDICT_BITS = 38,
    parameter integer RESULT_BITS = 65
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    cpu_clk_i,
    input  logic                    cpu_rst_ni,
    // The CPU's side. Opens a transaction, and writes its words and descriptors.
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
    // The controller's side: the transaction whose turn it is.
    output logic                    valid_o,
    output logic [1:0]              slot_o,
    output logic [VERDICT_BITS-1:0] verdict_o,
    output logic [31:0]             fetches_o,
    output logic [31:0]             stores_o,
    input  logic                    over_i,
    input  logic [RESULT_BITS-1:0]  over_result_i,
    // Its words: two consecutive ones, the latches of a third, and a burst for the Packetizer.
    input  logic [4:0]              address_i,
    output logic [63:0]             word_o,
    output logic [63:0]             next_word_o,
    input  logic [4:0]              latch_address_i,
    output logic [63:0]             latch_word_o,
    input  logic [4:0]              burst_address_i,
    output logic [19:0]             burst_length_o,
    output logic [3:0]              burst_descriptor_o,
    // Its descriptors: one for the sequencer and one for the Packetizer.
    input  logic [2:0]              mailbox_index_i,
    output logic                    mailbox_o,
    output logic [63:0]             immediate_o,
    input  logic [2:0]              memory_index_i,
    output logic [47:0]             memory_address_o,
    output logic [3:0]              memory_tag_o
);
  `include "aster_interface.svh"

  localparam integer SLOTS = 4;
  localparam integer WORDS = 32;
  localparam integer DESCRIPTORS = 8;
`ifndef __ICARUS__  // which has no elaboration system tasks
  if (LIMIT_SLOTS != 4 || LIMIT_WORDS != 32 || LIMIT_DESCRIPTORS != 8) begin : gen_limits
    $error("indices are 2, 5 and 3 bits wide");
  end
`endif

  // The CPU's side: where the next transaction is written, and which result is the oldest. The third bit
  // distinguishes full from empty.
  logic [2:0] write_q, read_q, used;
  logic [SLOTS-1:0] pushed_q, over_seen;
  logic opened_q, can_open;

  assign used     = write_q - read_q;
  assign can_open = used < 3'd4;
  assign opened_o = opened_q;
  assign free_o   = 3'd4 - used - {2'd0, opened_q};

  // A slot's result waits if its two toggles agree and it has been pushed.
  logic [SLOTS-1:0] waits;
  for (genvar i = 0; i < SLOTS; i++) begin : gen_waits
    logic [1:0] age;
    assign age = 2'(i) - read_q[1:0];
    assign waits[i] = pushed_q[i] == over_seen[i] && {1'b0, age} < used;
  end
  assign results_o     = {2'd0, waits[0]} + {2'd0, waits[1]} + {2'd0, waits[2]} + {2'd0, waits[3]};
  assign result_slot_o = read_q[1:0];

  always_ff @(posedge cpu_clk_i or negedge cpu_rst_ni) begin
    if (!cpu_rst_ni) begin
      write_q  <= 3'd0;
      read_q   <= 3'd0;
      opened_q <= 1'b0;
      pushed_q <= '0;
    end else begin
      if (open_i && can_open) opened_q <= 1'b1;
      else if (push_i && opened_q) begin
        opened_q <= 1'b0;
        write_q  <= write_q + 3'd1;
        pushed_q[write_q[1:0]] <= !pushed_q[write_q[1:0]];
      end
      if (take_i && results_o != 3'd0) read_q <= read_q + 3'd1;
    end
  end

  // The controller's side. The register behind the two flip-flops is the queue's.
  logic [SLOTS-1:0] pushed_seen, pushed_here_q, over_q;
  logic [1:0] slot_q;

  aster_sync #(.WIDTH(SLOTS)) u_pushed (.clk_i, .rst_ni, .data_i(pushed_q), .data_o(pushed_seen));
  aster_sync #(.WIDTH(SLOTS)) u_over (
      .clk_i(cpu_clk_i), .rst_ni(cpu_rst_ni), .data_i(over_q), .data_o(over_seen)
  );

  assign valid_o = pushed_here_q[slot_q] != over_q[slot_q];
  assign slot_o  = slot_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pushed_here_q <= '0;
      over_q        <= '0;
      slot_q        <= 2'd0;
    end else begin
      pushed_here_q <= pushed_seen;
      if (over_i) begin
        over_q[slot_q] <= !over_q[slot_q];
        slot_q         <= slot_q + 2'd1;
      end
    end
  end

  // Words, once for each reader and as wide as it reads.
  logic write_word;
  logic [6:0] write_address;
  assign write_word    = word_write_i && opened_q;
  assign write_address = {write_q[1:0], word_index_i};

  aster_lutram #(.WIDTH(64), .DEPTH(SLOTS * WORDS)) u_words (
      .clk_i(cpu_clk_i), .write_i(write_word), .write_address_i(write_address), .write_data_i(word_i),
      .read_address_i({slot_q, address_i}), .read_data_o(word_o)
  );
  aster_lutram #(.WIDTH(64), .DEPTH(SLOTS * WORDS)) u_next_words (
      .clk_i(cpu_clk_i), .write_i(write_word), .write_address_i(write_address), .write_data_i(word_i),
      .read_address_i({slot_q, address_i + 5'd1}), .read_data_o(next_word_o)
  );
  aster_lutram #(.WIDTH(64), .DEPTH(SLOTS * WORDS)) u_latches (
      .clk_i(cpu_clk_i), .write_i(write_word), .write_address_i(write_address), .write_data_i(word_i),
      .read_address_i({slot_q, latch_address_i}), .read_data_o(latch_word_o)
  );
  aster_lutram #(.WIDTH(24), .DEPTH(SLOTS * WORDS)) u_bursts (
      .clk_i(cpu_clk_i), .write_i(write_word), .write_address_i(write_address),
      .write_data_i({
        word_i[WORD_DESCRIPTOR_LSB+:WORD_DESCRIPTOR_WIDTH], word_i[WORD_LENGTH_LSB+:WORD_LENGTH_WIDTH]
      }),
      .read_address_i({slot_q, burst_address_i}), .read_data_o({burst_descriptor_o, burst_length_o})
  );

  logic write_fields, write_immediate;
  logic [4:0] descriptor_address;
  assign write_fields       = descriptor_write_i && opened_q && !descriptor_half_i;
  assign write_immediate    = descriptor_write_i && opened_q && descriptor_half_i;
  assign descriptor_address = {write_q[1:0], descriptor_index_i};

  aster_lutram #(.WIDTH(52), .DEPTH(SLOTS * DESCRIPTORS)) u_memory (
      .clk_i(cpu_clk_i), .write_i(write_fields), .write_address_i(descriptor_address),
      .write_data_i({
        descriptor_i[DESCRIPTOR_TAG_LSB+:DESCRIPTOR_TAG_WIDTH],
        descriptor_i[DESCRIPTOR_ADDRESS_LSB+:DESCRIPTOR_ADDRESS_WIDTH]
      }),
      .read_address_i({slot_q, memory_index_i}), .read_data_o({memory_tag_o, memory_address_o})
  );
  aster_lutram #(.WIDTH(1), .DEPTH(SLOTS * DESCRIPTORS)) u_mailbox (
      .clk_i(cpu_clk_i), .write_i(write_fields), .write_address_i(descriptor_address),
      .write_data_i(descriptor_i[DESCRIPTOR_MAILBOX_LSB+:DESCRIPTOR_MAILBOX_WIDTH]),
      .read_address_i({slot_q, mailbox_index_i}), .read_data_o(mailbox_o)
  );
  aster_lutram #(.WIDTH(64), .DEPTH(SLOTS * DESCRIPTORS)) u_immediate (
      .clk_i(cpu_clk_i), .write_i(write_immediate), .write_address_i(descriptor_address),
      .write_data_i(descriptor_i), .read_address_i({slot_q, mailbox_index_i}), .read_data_o(immediate_o)
  );

  // The checker's verdict at the push, for both sides, and the result.
  logic push;
  assign push = push_i && opened_q;

  aster_lutram #(.WIDTH(VERDICT_BITS + 64), .DEPTH(SLOTS)) u_verdicts (
      .clk_i(cpu_clk_i), .write_i(push), .write_address_i(write_q[1:0]),
      .write_data_i({push_verdict_i, push_fetches_i, push_stores_i}),
      .read_address_i(slot_q), .read_data_o({verdict_o, fetches_o, stores_o})
  );
  aster_lutram #(.WIDTH(VERDICT_BITS), .DEPTH(SLOTS)) u_result_verdicts (
      .clk_i(cpu_clk_i), .write_i(push), .write_address_i(write_q[1:0]), .write_data_i(push_verdict_i),
      .read_address_i(read_q[1:0]), .read_data_o(result_verdict_o)
  );
  aster_lutram #(.WIDTH(RESULT_BITS), .DEPTH(SLOTS)) u_results (
      .clk_i, .write_i(over_i), .write_address_i(slot_q), .write_data_i(over_result_i),
      .read_address_i(read_q[1:0]), .read_data_o(result_o)
  );
endmodule
