// The register file: 64-bit registers at the offsets of interface.toml, with one transfer per cycle of
// the CPU's clock.
module aster_registers #(
    parameter integer WAYS = 8
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    input  logic        write_i,
    input  logic [11:0] address_i,
    input  logic [63:0] write_data_i,
    output logic [63:0] read_data_o,
    // Settings. They change only while nothing is queued.
    output logic [19:0] longest_o,
    output logic [5:0]  ways_o,
    output logic [31:0] period_o,
    // Cycle tables
    output logic        table_write_o,
    output logic [1:0]  table_o,
    output logic [1:0]  table_word_o,
    input  logic [63:0] table_data_i,
    // Transactions
    output logic        open_o,
    output logic        word_o,
    output logic        descriptor_o,
    output logic        push_o,
    input  logic [2:0]  free_i,
    // Results
    input  logic [2:0]  results_i,
    input  logic [1:0]  result_slot_i,
    input  logic [7:0]  result_verdict_i,
    input  logic [7:0]  result_index_i,
    input  logic [19:0] result_length_i,
    input  logic        result_error_i,
    input  logic [63:0] mailbox_i,
    output logic        take_o,
    // The channel's state, synchronised to this clock.
    input  logic        busy_i,
    input  logic [31:0] ready_i
);
  `include "aster_interface.svh"

  localparam logic [63:0] IDENT = 64'h4153_5445_5200_0001;
  // 10 ns
  localparam logic [31:0] PERIOD_DEFAULT = 32'd10000;

  logic [19:0] longest_q;
  logic [5:0] ways_q;
  logic [31:0] period_q;
  assign longest_o = longest_q;
  assign ways_o    = ways_q;
  assign period_o  = period_q;

  logic write, read;
  assign write        = valid_i && write_i;
  assign read         = valid_i && !write_i;
  assign open_o       = write && address_i == REGISTER_OPEN;
  assign word_o       = write && address_i == REGISTER_WORD;
  assign descriptor_o = write && address_i == REGISTER_DESCRIPTOR;
  assign push_o       = write && address_i == REGISTER_PUSH;
  assign take_o       = read && address_i == REGISTER_MAILBOX;

  // The tables are in one block: the table's number and the word's number are bits of the offset.
  logic in_tables;
  assign in_tables     = address_i[11:7] == REGISTER_TABLE[11:7] && address_i[2:0] == 3'd0;
  assign table_o       = address_i[6:5];
  assign table_word_o  = address_i[4:3];
  assign table_write_o = write && in_tables;

  logic [63:0] config_word, status, result;
  assign config_word = (64'(longest_q) << CONFIG_LONGEST_LSB) | (64'(ways_q) << CONFIG_WAYS_LSB);
  assign status = (64'(free_i) << STATUS_FREE_LSB) | (64'(results_i) << STATUS_RESULTS_LSB)
      | (64'(busy_i) << STATUS_BUSY_LSB) | (64'(ready_i) << STATUS_READY_LSB);
  assign result = results_i == 3'd0 ? 64'd0
      : (64'd1 << RESULT_VALID_LSB) | (64'(result_slot_i) << RESULT_SLOT_LSB)
      | (64'(result_verdict_i) << RESULT_VERDICT_LSB) | (64'(result_index_i) << RESULT_INDEX_LSB)
      | (64'(result_error_i) << RESULT_MEMORY_ERROR_LSB) | (64'(result_length_i) << RESULT_LENGTH_LSB);

  assign read_data_o = in_tables ? table_data_i : address_i == REGISTER_IDENT ? IDENT
      : address_i == REGISTER_CONFIG ? config_word : address_i == REGISTER_PERIOD ? {32'd0, period_q}
      : address_i == REGISTER_STATUS ? status : address_i == REGISTER_RESULT ? result
      : address_i == REGISTER_MAILBOX && results_i != 3'd0 ? mailbox_i : 64'd0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      longest_q <= '1;
      ways_q    <= WAYS[5:0];
      period_q  <= PERIOD_DEFAULT;
    end else begin
      if (write && address_i == REGISTER_CONFIG) begin
        longest_q <= write_data_i[CONFIG_LONGEST_LSB+:CONFIG_LONGEST_WIDTH];
        ways_q    <= write_data_i[CONFIG_WAYS_LSB+:CONFIG_WAYS_WIDTH];
      end
      if (write && address_i == REGISTER_PERIOD) period_q <= write_data_i[31:0];
    end
  end

  logic unused_data;
  assign unused_data = ^write_data_i;
endmodule
