// A FIFO whose oldest word is at the output from the cycle after it was written on. Its memory has
// synchronous reads (block RAM).
module aster_fifo #(
    parameter integer WIDTH = 72,
    // A power of two, at least 2.
    parameter integer DEPTH = 512
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    // Not when full.
    input  logic                   push_i,
    input  logic [WIDTH-1:0]       data_i,
    // Not when empty.
    input  logic                   pop_i,
    output logic [WIDTH-1:0]       data_o,
    output logic [$clog2(DEPTH):0] count_o,
    output logic                   empty_o,
    output logic                   full_o
);
  localparam integer BITS = $clog2(DEPTH);
`ifndef __ICARUS__  // which has no elaboration system tasks
  if (DEPTH < 2 || DEPTH != 1 << BITS) begin : gen_depth
    $error("DEPTH must be a power of two");
  end
`endif

  logic [WIDTH-1:0] memory[DEPTH];
  logic [BITS-1:0] write_q, read_q, read_d;
  logic [BITS:0] count_q;

  assign count_o = count_q;
  assign empty_o = count_q == '0;
  assign full_o  = count_q[BITS];
  assign read_d  = pop_i ? read_q + 1'b1 : read_q;

  // The next word is fetched a cycle ahead. A word that is being written in this cycle bypasses the
  // memory.
  logic [WIDTH-1:0] fetched_q, passed_q;
  logic pass_q;
  assign data_o = pass_q ? passed_q : fetched_q;

  always_ff @(posedge clk_i) begin
    if (push_i) memory[write_q] <= data_i;
    fetched_q <= memory[read_d];
    passed_q  <= data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      count_q <= '0;
      pass_q  <= 1'b0;
    end else begin
      if (push_i) write_q <= write_q + 1'b1;
      read_q <= read_d;
      pass_q <= push_i && write_q == read_d;
      if (push_i && !pop_i) count_q <= count_q + 1'b1;
      else if (pop_i && !push_i) count_q <= count_q - 1'b1;
    end
  end
endmodule
