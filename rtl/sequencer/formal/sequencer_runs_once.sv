// Proof: Each instruction of a transaction is started once, in the order of the words, none left out or
//   repeated; at any time one uFSM at the most has been started and isn't done. A transaction is over once:
//   refused, or after its END.
// Block: sequencer
// Method: reachability
// Sources: sequencer
// Assumes: uFSMs are any that take a cycle or more from their start to their last one; a transaction waits
//   until it is over (`queue_keeps`), its words stay while they are looked at, and lie before an END within
//   the 32 words, as the word checker has it.
module sequencer_runs_once (
    input logic        clk_i,
    input logic        valid_i,
    input logic        good_i,
    input logic [63:0] word_i,
    input logic [63:0] next_word_i,
    input logic [63:0] latch_word_i,
    // Cycle table: any values, changing at any time.
    input logic [7:0]  grain_i,
    input logic [7:0]  gap_i,
    input logic [11:0] wait_i,
    input logic [11:0] column_wait_i,
    input logic [11:0] lead_i,
    input logic        drained_i,
    input logic        timer_over_i,
    // Whether the started uFSM is done in this cycle; whether a latch ends, and its number.
    input logic        done_i,
    input logic        latch_last_i,
    input logic [6:0]  latch_index_i
);
  `include "aster_interface.svh"

  reg rst_n = 1'b0;
  always @(posedge clk_i) rst_n <= 1'b1;

  wire [4:0] address, latch_address;
  wire [19:0] bytes;
  wire [6:0] count;
  wire [2:0] descriptor;
  wire begins, over, refused, running, ends, latches_start, write_start, read_start;

  // The uFSM that was started, one bit each, until it is done.
  localparam integer SETUP = 0;
  localparam integer LATCHES = 1;
  localparam integer WRITE = 2;
  localparam integer READ = 3;
  localparam integer HOLD = 4;
  wire [4:0] starts = {ends, read_start, write_start, latches_start, begins};
  reg [4:0] busy = 5'd0;
  wire [4:0] active = starts | busy;
  wire [4:0] last = done_i ? active : 5'd0;
  always @(posedge clk_i) busy <= rst_n ? active & ~last : 5'd0;

  aster_sequencer #(.WAYS(2)) u_sequencer (
      .clk_i, .rst_ni(rst_n), .valid_i, .good_i, .address_o(address), .word_i, .next_word_i,
      .latch_address_o(latch_address), .latch_word_i, .grain_i, .gap_i, .t_wb_i(wait_i), .t_whr_i(wait_i),
      .t_adl_i(wait_i), .t_ccs_i(column_wait_i), .t_rhw_i(wait_i), .lead_i, .drained_i, .begin_o(begins),
      .over_o(over), .refused_o(refused), .running_o(running), .rest_o(), .aligned_o(), .grain_cycle_o(),
      .chips_o(), .end_o(ends), .chips_busy_i(busy[SETUP] || busy[HOLD]), .setup_last_i(last[SETUP]),
      .hold_last_i(last[HOLD]), .latches_start_o(latches_start), .latches_count_o(count), .latch_index_i,
      .latch_value_o(), .latch_command_o(), .latches_busy_i(busy[LATCHES]), .latch_last_i,
      .latches_last_i(last[LATCHES]), .write_start_o(write_start), .read_start_o(read_start),
      .read_pending_o(), .bytes_o(bytes), .descriptor_o(descriptor), .write_busy_i(busy[WRITE]),
      .write_last_i(last[WRITE]), .read_busy_i(busy[READ]), .read_last_i(last[READ]), .restart_o(),
      .nanoseconds_o(), .timer_over_i
  );

  // ---- The transaction read word by word: the place of the next instruction, behind a Timer if any.
  reg under_way = 1'b0, ended = 1'b0;
  reg [4:0] next = 5'd0;
  wire [3:0] opcode_here = word_i[WORD_OPCODE_LSB +: WORD_OPCODE_WIDTH];
  wire timed = under_way && opcode_here == OPCODE_TIMER;
  wire [63:0] header = timed ? next_word_i : word_i;
  wire [3:0] opcode = header[WORD_OPCODE_LSB +: WORD_OPCODE_WIDTH];
  wire [19:0] length = header[WORD_LENGTH_LSB +: WORD_LENGTH_WIDTH];
  wire [5:0] place = {1'b0, next} + {5'd0, timed};
  wire [20:0] latch_words = opcode == OPCODE_COMMAND_ADDRESS ? ({1'b0, length} + 21'd3) >> 2 : 21'd0;
  wire [20:0] behind = {15'd0, place} + 21'd1 + latch_words;
  // The latches that are being written: where they begin.
  reg [4:0] latches_at;
  reg [6:0] latches_left;
  wire [4:0] latches_from = latches_start ? place[4:0] + 5'd1 : latches_at;
  wire [6:0] latches = latches_start ? length[6:0] : latches_left;
  always @(posedge clk_i) begin
    if (!rst_n || over) {under_way, ended, next} <= 7'd0;
    else if (begins) {under_way, ended, next} <= {1'b1, 1'b0, 5'd1};
    else if (ends) ended <= 1'b1;
    else if (starts != 5'd0) next <= behind[4:0];
    latches_at <= latches_from;
    latches_left <= latches;
  end

  // ---- The assumptions about the queue, the word checker and the C/A Writer.
  reg waited_q = 1'b0;
  reg [4:0] address_q;
  reg [63:0] word_q, next_word_q;
  reg good_q;
  always @(posedge clk_i) begin
    waited_q <= rst_n && valid_i && !over;
    {address_q, word_q, next_word_q, good_q} <= {address, word_i, next_word_i, good_i};
  end
  always @* begin
    if (!rst_n) assume (!valid_i);
    if (waited_q) begin
      assume (valid_i && good_i == good_q);
      assume (address != address_q || (word_i == word_q && next_word_i == next_word_q));
    end
    if (under_way && !ended) assume (opcode == OPCODE_END ? place <= 6'd31 : behind <= 21'd31);
    if (active[LATCHES]) assume (latch_index_i < latches);
    if (latches_start) assume (latch_index_i == 7'd0);
  end

  always @(posedge clk_i) begin
    if (rst_n) begin
      one_at_once: assert ((active & (active - 5'd1)) == 5'd0);
      none_restarted: assert ((starts & busy) == 5'd0);
      begins_when_its_turn: assert (!begins || (valid_i && good_i && !under_way && address == 5'd0));
      only_inside: assert (!(latches_start || write_start || read_start || ends) || (under_way && !ended));
      // The started instruction is the next one, and is complete.
      if (under_way && !ended) at_its_place: assert (address == next);
      if (latches_start) latches_next: assert (opcode == OPCODE_COMMAND_ADDRESS && {13'd0, count} == length);
      if (write_start) write_next: assert (opcode == OPCODE_DATA_WRITE && bytes == length);
      if (read_start) read_next: assert (opcode == OPCODE_DATA_READ && bytes == length);
      if (ends) end_next: assert (opcode == OPCODE_END);
      if (write_start || read_start) its_descriptor: assert (descriptor == header[WORD_DESCRIPTOR_LSB +: 3]);
      if (active[LATCHES]) its_latches: assert (latch_address == latches_from + latch_index_i[6:2]);
      // `over` comes once for each transaction that waits.
      over_waits: assert (!over || valid_i);
      refused_touches_nothing: assert (!refused || (over && !good_i && !under_way && active == 5'd0));
      over_after_end: assert (!over || refused || (under_way && ended && active == 5'd0 && drained_i));
      told: assert (!running || under_way || begins);
    end
  end
endmodule
