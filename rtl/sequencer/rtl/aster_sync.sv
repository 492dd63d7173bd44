// Synchronises bits that change one at a time to another clock: two flip-flops each.
module aster_sync #(
    parameter integer WIDTH = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [WIDTH-1:0] data_i,
    output logic [WIDTH-1:0] data_o
);
  (* ASYNC_REG = "TRUE" *)
  logic [WIDTH-1:0] first_q;
  (* ASYNC_REG = "TRUE" *)
  logic [WIDTH-1:0] second_q;

  assign data_o = second_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q  <= '0;
      second_q <= '0;
    end else begin
      first_q  <= data_i;
      second_q <= first_q;
    end
  end
endmodule
