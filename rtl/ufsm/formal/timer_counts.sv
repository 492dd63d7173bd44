// Proof: The Timer is over exactly when the picoseconds since the last instruction's end have reached the
//   nanoseconds asked for.
// Block: ufsm
// Long: induction 2
// Sources: ufsm
// Assumes: the clock's period doesn't change; less than 2^63 ps go by without an instruction.
module timer_counts (
    input logic        clk_i,
    input logic        restart_i,
    input logic [31:0] nanoseconds_i,
    // Any value in the first cycle, which then doesn't change.
    input logic [31:0] period_i
);
  reg rst_n = 1'b0;
  reg [31:0] period;
  always @(posedge clk_i) begin
    rst_n <= 1'b1;
    if (!rst_n) period <= period_i;
  end

  wire over;
  (* hierconn *) wire [42:0] \u_timer.since_q ;
  aster_timer u_timer (
      .clk_i, .rst_ni(rst_n), .period_i(period), .restart_i, .nanoseconds_i, .over_o(over)
  );

  // The time itself, in enough bits that it never saturates.
  reg [63:0] since;
  always @(posedge clk_i) begin
    if (!rst_n || restart_i) since <= 64'd0;
    else since <= since + {32'd0, period};
  end
  always @* assume (!rst_n || !since[63]);

  always @(posedge clk_i) begin
    if (rst_n) begin
      // A thousand times n is 1024 n less 24 n.
      over_when_reached: assert (over == (since + {28'd0, nanoseconds_i, 4'd0} + {29'd0, nanoseconds_i, 3'd0}
          >= {22'd0, nanoseconds_i, 10'd0}));
      // Lemmas: the module's count is the time as long as it hasn't stopped.
      lemma_count: assert (\u_timer.since_q [42] || {21'd0, \u_timer.since_q } == since);
      lemma_stopped: assert (!\u_timer.since_q [42] || since >= 64'h400_0000_0000);
    end
  end
endmodule
