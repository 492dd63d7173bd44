// The cycle tables: the CPU writes them and reads them back in its clock, and the controller reads them.
// The CPU must not write a table that a queued transaction uses.
module aster_cycle_tables #(
    // Words of 64 bits that a table takes: 1 to 4.
    parameter integer WORDS = 4
) (
    input  logic                cpu_clk_i,
    input  logic                write_i,
    input  logic [1:0]          table_i,
    input  logic [1:0]          word_i,
    input  logic [63:0]         data_i,
    output logic [63:0]         data_o,
    // The controller's side.
    input  logic [1:0]          select_i,
    output logic [64*WORDS-1:0] table_o
);
`ifndef __ICARUS__  // which has no elaboration system tasks
  if (WORDS < 1 || WORDS > 4) begin : gen_words
    $error("a table's word is chosen by two bits");
  end
`endif

  logic [255:0] read;
  for (genvar i = 0; i < WORDS; i++) begin : gen_word
    logic write;
    assign write = write_i && word_i == i;
    aster_lutram #(.WIDTH(64), .DEPTH(4)) u_words (
        .clk_i(cpu_clk_i), .write_i(write), .write_address_i(table_i), .write_data_i(data_i),
        .read_address_i(select_i), .read_data_o(table_o[64*i+:64])
    );
    aster_lutram #(.WIDTH(64), .DEPTH(4)) u_read_back (
        .clk_i(cpu_clk_i), .write_i(write), .write_address_i(table_i), .write_data_i(data_i),
        .read_address_i(table_i), .read_data_o(read[64*i+:64])
    );
  end
  if (WORDS < 4) begin : gen_nothing
    assign read[255:64*WORDS] = '0;
  end
  assign data_o = read[64*word_i+:64];
endmodule
