// Proof: The FIFO neither overflows nor loses, repeats, reorders or changes a word.
// Block: packetizer
// Method: reachability
// Sources: packetizer
// Assumes: nothing is pushed when full, nothing taken when empty: `packetizer_keeps` proves it of the
//   Packetizer.
//
// The witness: one word, chosen freely among all that are pushed, is followed by its distance to the front.
// When it stands at the front it must come out, and as it went in. Depth 8 and 4 bits a word stand for any:
// neither occurs in the logic but as a width.
module fifo_keeps (
    input logic       clk_i,
    input logic       push_i,
    input logic       pop_i,
    input logic [3:0] data_i,
    input logic       choose_i
);
  reg rst_n = 1'b0;
  always @(posedge clk_i) rst_n <= 1'b1;

  wire [3:0] data, count;
  wire empty, full;
  aster_fifo #(.WIDTH(4), .DEPTH(8)) u_fifo (
      .clk_i, .rst_ni(rst_n), .push_i(push_i), .data_i, .pop_i(pop_i), .data_o(data), .count_o(count),
      .empty_o(empty), .full_o(full)
  );

  // The number of words before the followed one, and its value.
  reg following = 1'b0;
  reg [3:0] before, word, held = 4'd0;
  always @(posedge clk_i) begin
    if (!rst_n) begin
      following <= 1'b0;
      held <= 4'd0;
    end else begin
      held <= held + {3'd0, push_i} - {3'd0, pop_i};
      if (!following && push_i && choose_i) begin
        following <= 1'b1;
        before <= held - {3'd0, pop_i};
        word <= data_i;
      end else if (following && pop_i) begin
        if (before == 4'd0) following <= 1'b0;
        before <= before - 4'd1;
      end
    end
  end

  always @* begin
    assume (!push_i || (rst_n && !full));
    assume (!pop_i || (rst_n && !empty));
  end

  always @(posedge clk_i) begin
    if (rst_n) begin
      counts: assert (count == held);
      bounded: assert (held <= 4'd8);
      empty_when_none: assert (empty == (held == 4'd0));
      full_when_eight: assert (full == (held == 4'd8));
      if (following) begin
        inside: assert (before < held);
        if (before == 4'd0) front: assert (data == word);
      end
    end
  end
endmodule
