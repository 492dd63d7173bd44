// Collects the bytes that a transaction reads into the mailbox, in order, as many as fit.
module aster_mailbox (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        begin_i,
    // One to eight bytes more.
    input  logic        valid_i,
    input  logic [63:0] word_i,
    input  logic [3:0]  bytes_i,
    output logic [63:0] mailbox_o
);
  logic [63:0] mailbox_q, kept;
  logic [3:0] count_q;
  logic [4:0] count_d;

  for (genvar i = 0; i < 8; i++) begin : gen_byte
    assign kept[8*i+:8] = bytes_i > i ? word_i[8*i+:8] : 8'd0;
  end
  assign count_d   = {1'b0, count_q} + {1'b0, bytes_i};
  assign mailbox_o = mailbox_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mailbox_q <= 64'd0;
      count_q   <= 4'd0;
    end else if (begin_i) begin
      mailbox_q <= 64'd0;
      count_q   <= 4'd0;
    end else if (valid_i && !count_q[3]) begin
      mailbox_q <= mailbox_q | kept << {count_q[2:0], 3'd0};
      count_q   <= count_d > 5'd8 ? 4'd8 : count_d[3:0];
    end
  end
endmodule
