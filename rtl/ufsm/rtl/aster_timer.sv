// Timer: compares the time since the last instruction's end, in picoseconds, with the nanoseconds that
// the next one has to wait (B8).
module aster_timer (
    input  logic        clk_i,
    input  logic        rst_ni,
    // The clock's period in picoseconds.
    input  logic [31:0] period_i,
    // The last cycle of an instruction: the next one is the first that counts from its end.
    input  logic        restart_i,
    input  logic [31:0] nanoseconds_i,
    output logic        over_o
);
  // Nanoseconds are below 2^32, so picoseconds are below 2^42, where the count stops.
  logic [42:0] since_q;
  logic [41:0] wanted;

  // Times 1000.
  assign wanted = {nanoseconds_i, 10'd0} - {6'd0, nanoseconds_i, 4'd0} - {7'd0, nanoseconds_i, 3'd0};
  assign over_o = since_q >= {1'b0, wanted};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) since_q <= 43'd0;
    else if (restart_i) since_q <= 43'd0;
    else if (!since_q[42]) since_q <= since_q + {11'd0, period_i};
  end
endmodule
