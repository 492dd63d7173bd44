// Proof: What was pushed comes out once, in the order of the pushes, with the words and the verdict it was
//   pushed with; its result comes back once, in the same order, as it was given; a slot is free again when
//   its result has been taken, and not before.
// Block: sequencer
// Method: sat-induction 3
// Clocks: any
// Sources: sequencer
// Instead: aster_lutram
// Assumes: a transaction is over only when it is its turn; one access to a register at a time. The clocks do
//   what they like; a flip-flop that samples a changing bit takes the old or the new value, as those of
//   `aster_sync` are there for.
//
// The witness: one push, chosen freely, with one bit of one word that was written for it, and one bit of its
// verdict and result.
module queue_keeps (
    input logic        clk_i,
    input logic        cpu_clk_i,
    input logic        open_i,
    input logic        word_write_i,
    input logic [4:0]  word_index_i,
    input logic [63:0] word_i,
    input logic        push_i,
    input logic [1:0]  push_verdict_i,
    input logic        take_i,
    input logic        over_i,
    input logic [1:0]  over_result_i,
    input logic [4:0]  address_i,
    input logic [4:0]  latch_address_i,
    input logic        choose_i
);
  // The clocks start when the reset is over.
  reg rst_n = 1'b0, begun = 1'b0;
  always @($global_clock) {rst_n, begun} <= {1'b1, rst_n};

  wire opened, valid;
  wire [2:0] free, results;
  wire [1:0] result_slot, slot, result_verdict, result, verdict;
  wire [63:0] word, next_word, latch_word;
  aster_instruction_queue #(.VERDICT_BITS(2), .RESULT_BITS(2)) u_queue (
      .clk_i, .rst_ni(rst_n), .cpu_clk_i, .cpu_rst_ni(rst_n), .open_i, .word_write_i, .word_index_i, .word_i,
      .descriptor_write_i(1'b0), .descriptor_index_i(3'd0), .descriptor_half_i(1'b0), .descriptor_i(64'd0),
      .push_i, .push_verdict_i, .push_fetches_i(32'd0), .push_stores_i(32'd0), .opened_o(opened),
      .free_o(free), .results_o(results), .take_i, .result_slot_o(result_slot),
      .result_verdict_o(result_verdict), .result_o(result), .valid_o(valid), .slot_o(slot),
      .verdict_o(verdict), .fetches_o(), .stores_o(), .over_i, .over_result_i, .address_i, .word_o(word),
      .next_word_o(next_word), .latch_address_i, .latch_word_o(latch_word), .burst_address_i(5'd0),
      .burst_length_o(), .burst_descriptor_o(), .mailbox_index_i(3'd0), .mailbox_o(), .immediate_o(),
      .memory_index_i(3'd0), .memory_address_o(), .memory_tag_o()
  );

  // The followed word of a transaction and its followed bit, which are the same in all memories of words.
  (* hierconn *) wire [6:0] \u_queue.u_words.place , \u_queue.u_next_words.place , \u_queue.u_latches.place ;
  (* hierconn *) wire [6:0] \u_queue.u_words.lane , \u_queue.u_next_words.lane , \u_queue.u_latches.lane ;
  wire [4:0] index = \u_queue.u_words.place [4:0];
  wire [5:0] lane = \u_queue.u_words.lane [5:0];
  (* hierconn *) wire [6:0] \u_queue.u_verdicts.lane , \u_queue.u_result_verdicts.lane ,
      \u_queue.u_results.lane ;

  // ---- How many have been pushed, are over, and have been taken, modulo 8; and the chosen one's number.
  reg [2:0] pushed = 3'd0, over = 3'd0, taken = 3'd0, number;
  reg following = 1'b0, open = 1'b0, written, bit_written, chosen_written, chosen_bit, chosen_verdict,
      chosen_result;
  wire pushes = open && push_i;
  wire takes = take_i && results != 3'd0;
  always @(posedge cpu_clk_i) begin
    if (open_i && pushed - taken != 3'd4) begin
      open <= 1'b1;
      // Words written before this aren't part of the transaction.
      written <= 1'b0;
    end else if (pushes) begin
      open <= 1'b0;
      pushed <= pushed + 3'd1;
      if (!following && choose_i) begin
        {following, number} <= {1'b1, pushed};
        {chosen_written, chosen_bit, chosen_verdict} <= {written, bit_written, push_verdict_i[0]};
      end
    end
    if (open && word_write_i && word_index_i == index) {written, bit_written} <= {1'b1, word_i[lane]};
    if (takes) begin
      taken <= taken + 3'd1;
      if (following && taken == number) following <= 1'b0;
    end
  end
  always @(posedge clk_i) if (over_i) begin
    over <= over + 3'd1;
    if (over == number) chosen_result <= over_result_i[0];
  end
  wire [2:0] outstanding = pushed - over;
  wire [2:0] answered = over - taken;
  wire [2:0] used = pushed - taken;

  always @* begin
    if (!begun) assume (!clk_i && !cpu_clk_i);
    assume (!over_i || valid);
    assume ({1'b0, open_i} + {1'b0, word_write_i} + {1'b0, push_i} <= 2'd1);
    assume (\u_queue.u_words.place <= 7'd31 && \u_queue.u_words.lane <= 7'd63);
    assume (\u_queue.u_next_words.place == \u_queue.u_words.place
        && \u_queue.u_latches.place == \u_queue.u_words.place );
    assume (\u_queue.u_next_words.lane == \u_queue.u_words.lane
        && \u_queue.u_latches.lane == \u_queue.u_words.lane );
    assume (\u_queue.u_verdicts.lane == 7'd64 && \u_queue.u_result_verdicts.lane == 7'd0
        && \u_queue.u_results.lane == 7'd0);
  end

  always @* if (rst_n) begin
    never_more_than_slots: assert (used <= 3'd4 && outstanding <= used && answered <= used);
    slots_free: assert (opened == open && free == 3'd4 - used - {2'd0, open});
    // No turn without a push, no result without an end.
    no_ghost: assert (!valid || outstanding != 3'd0);
    no_ghost_result: assert (results <= answered);
    in_order: assert (slot == over[1:0] && result_slot == taken[1:0]);
    if (following && valid && over == number) begin
      its_verdict: assert (verdict[0] == chosen_verdict);
      if (chosen_written && address_i == index) its_word: assert (word[lane] == chosen_bit);
      if (chosen_written && address_i + 5'd1 == index) its_next_word: assert (next_word[lane] == chosen_bit);
      if (chosen_written && latch_address_i == index) its_latch_word: assert (latch_word[lane] == chosen_bit);
    end
    if (following && results != 3'd0 && taken == number) begin
      its_result: assert (result[0] == chosen_result && result_verdict[0] == chosen_verdict);
    end
  end

  // ---- The pushes and ends that have come as far as each flip-flop between the clocks.
  reg [2:0] pushed_first = 3'd0, pushed_second = 3'd0, pushed_here = 3'd0, over_first = 3'd0,
      over_second = 3'd0;
  // Edges since another push, or end, reached the first flip-flop.
  reg [1:0] seen = 2'd0;
  reg told = 1'b0;
  always @(posedge clk_i) begin
    {pushed_first, pushed_second, pushed_here} <= {pushed, pushed_first, pushed_second};
    seen <= pushed_first != pushed ? 2'd0 : seen == 2'd2 ? 2'd2 : seen + 2'd1;
  end
  always @(posedge cpu_clk_i) begin
    {over_first, over_second} <= {over, over_first};
    told <= over_first == over;
  end

  always @* if (rst_n) begin
    // None is lost: at the third edge after its push a transaction has its turn if it is the oldest; at the
    // second after its end its result is told.
    if (seen == 2'd2 && pushed_first == pushed) none_lost: assert (valid == (outstanding != 3'd0));
    if (told && over_first == over) no_result_lost: assert (results == answered);
  end

  // ---- Lemmas: a slot's toggles say how often it has been pushed, and has been over; memories hold what is
  // followed.
  function automatic [3:0] toggles(input [2:0] count);
    reg [3:0] first, second, third, fourth;
    begin
      {first, second, third, fourth} = {{1'b0, count} + 4'd3, {1'b0, count} + 4'd2, {1'b0, count} + 4'd1,
          {1'b0, count}};
      toggles = {fourth[2], third[2], second[2], first[2]};
    end
  endfunction
  (* hierconn *) wire [3:0] \u_queue.pushed_q , \u_queue.over_q , \u_queue.pushed_here_q ;
  (* hierconn *) wire [3:0] \u_queue.u_pushed.first_q , \u_queue.u_pushed.second_q , \u_queue.u_over.first_q ,
      \u_queue.u_over.second_q ;
  (* hierconn *) wire [2:0] \u_queue.write_q , \u_queue.read_q ;
  (* hierconn *) wire [3:0] \u_queue.u_words.kept , \u_queue.u_next_words.kept , \u_queue.u_latches.kept ;
  (* hierconn *) wire [3:0] \u_queue.u_verdicts.kept , \u_queue.u_result_verdicts.kept ,
      \u_queue.u_results.kept ;
  wire [2:0] steps_1 = pushed - pushed_first, steps_2 = pushed_first - pushed_second,
      steps_3 = pushed_second - pushed_here;
  wire [2:0] steps_4 = pushed_here - over, steps_5 = over - over_first, steps_6 = over_first - over_second;
  wire [2:0] steps_7 = over_second - taken;
  wire [5:0] steps = {3'd0, steps_1} + {3'd0, steps_2} + {3'd0, steps_3} + {3'd0, steps_4} + {3'd0, steps_5}
      + {3'd0, steps_6} + {3'd0, steps_7};
  wire [2:0] behind_taken = number - taken, behind_over = number - over;
  always @* if (rst_n) begin
    lemma_steps: assert (steps <= 6'd4);
    lemma_counts: assert (\u_queue.write_q == pushed && \u_queue.read_q == taken && (!open || used != 3'd4));
    lemma_pushed: assert (\u_queue.pushed_q == toggles(pushed)
        && \u_queue.u_pushed.first_q == toggles(pushed_first));
    lemma_here: assert (\u_queue.u_pushed.second_q == toggles(pushed_second)
        && \u_queue.pushed_here_q == toggles(pushed_here));
    lemma_over: assert (\u_queue.over_q == toggles(over) && \u_queue.u_over.first_q == toggles(over_first));
    lemma_over_seen: assert (\u_queue.u_over.second_q == toggles(over_second));
    lemma_seen: assert ((seen == 2'd0 || pushed_second == pushed_first)
        && (seen != 2'd2 || pushed_here == pushed_first));
    lemma_told: assert (!told || over_second == over_first);
    if (open && written) begin
      lemma_word: assert (\u_queue.u_words.kept [pushed[1:0]] == bit_written);
      lemma_next_word: assert (\u_queue.u_next_words.kept [pushed[1:0]] == bit_written);
      lemma_latch: assert (\u_queue.u_latches.kept [pushed[1:0]] == bit_written);
    end
    if (following) begin
      lemma_following: assert (behind_taken < used);
      if (chosen_written) begin
        lemma_words: assert (\u_queue.u_words.kept [number[1:0]] == chosen_bit);
        lemma_next_words: assert (\u_queue.u_next_words.kept [number[1:0]] == chosen_bit);
        lemma_latches: assert (\u_queue.u_latches.kept [number[1:0]] == chosen_bit);
      end
      lemma_verdict: assert (\u_queue.u_verdicts.kept [number[1:0]] == chosen_verdict);
      lemma_result_verdict: assert (\u_queue.u_result_verdicts.kept [number[1:0]] == chosen_verdict);
      if (behind_over >= outstanding)
        lemma_result: assert (\u_queue.u_results.kept [number[1:0]] == chosen_result);
    end
  end
endmodule

// A memory of four slots that keeps only one bit, at the same place of each. Nothing checks the other
// bits.
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
  localparam integer BITS = $clog2(DEPTH);
  localparam integer INSIDE = BITS - 2;
  (* anyconst *) reg [6:0] place;
  (* anyconst *) reg [6:0] lane;
  reg [3:0] kept;
  wire [6:0] write_inside = {{(9-BITS){1'b0}}, write_address_i} & ~(7'h7f << INSIDE);
  wire [6:0] read_inside = {{(9-BITS){1'b0}}, read_address_i} & ~(7'h7f << INSIDE);
  assign read_data_o = {WIDTH{(INSIDE == 0 || read_inside == place) && kept[read_address_i[BITS-1 -: 2]]}};
  always @(posedge clk_i) begin
    if (write_i && (INSIDE == 0 || write_inside == place))
      kept[write_address_i[BITS-1 -: 2]] <= write_data_i[lane];
  end
endmodule
