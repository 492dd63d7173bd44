// Proof: From the first cycle of a transaction to its last the chip enables that are low are those of its
//   BEGIN and no others.
// Block: ufsm
// Method: induction 2
// Sources: ufsm
// Assumes: a transaction begins when none runs, and is let go once, when no setup goes on: what the sequencer
//   keeps to.
module chip_control_keeps (
    input logic       clk_i,
    input logic       begin_i,
    input logic       end_i,
    input logic [3:0] chips_i,
    input logic [7:0] setup_i,
    input logic [7:0] hold_i
);
  reg rst_n = 1'b0;
  always @(posedge clk_i) rst_n <= 1'b1;

  wire busy, setup_last, hold_last, selected;
  wire [3:0] ce_n;
  (* hierconn *) wire \u_chips.ending_q ;
  aster_chip_control #(.WAYS(4)) u_chips (
      .clk_i, .rst_ni(rst_n), .setup_i, .hold_i, .begin_i, .chips_i, .end_i, .busy_o(busy),
      .setup_last_o(setup_last), .hold_last_o(hold_last), .selected_o(selected), .ce_no(ce_n)
  );

  // The transaction as its instructions define it: its chips, and whether they have been released.
  reg running = 1'b0, ending = 1'b0;
  reg [3:0] chips = 4'd0;
  always @(posedge clk_i) begin
    if (!rst_n) begin
      {running, ending, chips} <= 6'd0;
    end else begin
      if (begin_i) {running, ending, chips} <= {1'b1, 1'b0, chips_i};
      else if (hold_last) {running, ending, chips} <= 6'd0;
      else if (end_i) ending <= 1'b1;
    end
  end

  always @* begin
    assume (!begin_i || (rst_n && !running && chips_i != 4'd0));
    assume (!end_i || (rst_n && running && !ending && !busy));
  end

  always @(posedge clk_i) begin
    if (rst_n) begin
      if (begin_i) at_begin: assert (ce_n == ~chips_i);
      else if (running) inside: assert (ce_n == ~chips);
      else outside: assert (ce_n == 4'hf);
      told: assert (selected == (begin_i || running));
      let_go_only_at_the_end: assert (!hold_last || ending || end_i);
      // Lemmas that the induction needs: the module's state agrees with the state here.
      lemma_ending: assert (!\u_chips.ending_q || (running && ending && busy));
      lemma_busy: assert (!busy || running);
      lemma_hold: assert (!ending || (busy && \u_chips.ending_q ) || hold_last);
    end
  end
endmodule
