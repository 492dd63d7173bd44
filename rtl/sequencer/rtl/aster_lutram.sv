// A small memory with synchronous writes and asynchronous reads (distributed RAM). A reader in another
// clock must wait until a handshake says that a word has been written.
module aster_lutram #(
    parameter integer WIDTH = 64,
    parameter integer DEPTH = 32
) (
    input  logic                     clk_i,
    input  logic                     write_i,
    input  logic [$clog2(DEPTH)-1:0] write_address_i,
    input  logic [WIDTH-1:0]         write_data_i,
    input  logic [$clog2(DEPTH)-1:0] read_address_i,
    output logic [WIDTH-1:0]         read_data_o
);
  (* ram_style = "distributed" *)
  logic [WIDTH-1:0] memory[DEPTH];

  assign read_data_o = memory[read_address_i];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_address_i] <= write_data_i;
  end
endmodule
