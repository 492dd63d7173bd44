// Walks a transaction's bursts of one direction in order, and requests them from memory piece by piece:
// AXI4 bursts of up to 16 beats, none across 4 KiB.
module aster_burst_walker (
    input  logic        clk_i,
    input  logic        rst_ni,
    // A transaction begins. One bit per word: set if the word is such a burst.
    input  logic        begin_i,
    input  logic [31:0] bursts_i,
    // Requests the next burst's word. In the cycle of the grant, the word and its descriptor are valid.
    output logic        want_o,
    output logic [4:0]  index_o,
    input  logic        grant_i,
    input  logic [47:0] address_i,
    input  logic [3:0]  tag_i,
    input  logic [17:0] words_i,
    // A piece. Once valid, it is stable until it is taken. `permit_i` falls only when a piece was taken.
    input  logic        permit_i,
    output logic        valid_o,
    input  logic        ready_i,
    output logic [47:0] address_o,
    output logic [7:0]  length_o,
    output logic [3:0]  tag_o,
    output logic [4:0]  beats_o
);
  logic [31:0] bursts_q, bursts;
  logic [17:0] words_q;
  logic [44:0] address_q;
  logic [3:0]  tag_q;

  assign bursts = begin_i ? bursts_i : bursts_q;
  assign want_o = bursts != 32'd0 && words_q == 18'd0;

  function automatic logic [4:0] lowest(input logic [31:0] bits);
    lowest = 5'd0;
    for (int i = 31; i >= 0; i--) if (bits[i]) lowest = i[4:0];
  endfunction
  assign index_o = lowest(bursts);

  // A piece ends with the burst, after 16 beats, or at the 4 KiB page's end.
  logic [9:0] in_page;
  logic [4:0] beats, beats_in_page;
  assign in_page       = 10'd512 - {1'b0, address_q[8:0]};
  assign beats_in_page = in_page > 10'd16 ? 5'd16 : in_page[4:0];
  assign beats         = words_q < {13'd0, beats_in_page} ? words_q[4:0] : beats_in_page;

  assign valid_o   = words_q != 18'd0 && permit_i;
  assign address_o = {address_q, 3'd0};
  assign length_o  = {3'd0, beats - 5'd1};
  assign tag_o     = tag_q;
  assign beats_o   = beats;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bursts_q  <= 32'd0;
      words_q   <= 18'd0;
      address_q <= 45'd0;
      tag_q     <= 4'd0;
    end else begin
      bursts_q <= grant_i ? bursts & (bursts - 32'd1) : bursts;
      if (grant_i) begin
        words_q   <= words_i;
        address_q <= address_i[47:3];
        tag_q     <= tag_i;
      end else if (valid_o && ready_i) begin
        words_q   <= words_q - {13'd0, beats};
        address_q <= address_q + {40'd0, beats};
      end
    end
  end

  logic unused_address;
  assign unused_address = ^address_i[2:0];
endmodule
