// Checks a transaction word by word as it is written. At any time it has the verdict for the case that
// the transaction is pushed now.
//
// Order of precedence (rtl/README.md): too long; the first bad word or frame; a chip that isn't there;
// the first bad burst. Descriptors must be written before the words that name them.
module aster_word_checker #(
    parameter integer WAYS = 8
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // Chip enables in use, and the longest burst in bytes.
    input  logic [5:0]  ways_i,
    input  logic [19:0] longest_i,
    // A transaction begins.
    input  logic        open_i,
    input  logic        word_valid_i,
    input  logic [63:0] word_i,
    input  logic        descriptor_valid_i,
    input  logic [63:0] descriptor_i,
    // Where the present word or half descriptor goes, and whether there is room for it.
    output logic [4:0]  word_index_o,
    output logic        word_fits_o,
    output logic [2:0]  descriptor_index_o,
    output logic        descriptor_half_o,
    output logic        descriptor_fits_o,
    output logic [7:0]  verdict_o,
    output logic [7:0]  index_o,
    output logic [19:0] length_o,
    // Which words are bursts from memory, and to memory.
    output logic [31:0] fetches_o,
    output logic [31:0] stores_o
);
  `include "aster_interface.svh"

  localparam logic [5:0] WORDS_FULL = LIMIT_WORDS[5:0];
  localparam logic [4:0] HALVES_FULL = {LIMIT_DESCRIPTORS[3:0], 1'b0};

  // What has come so far. The counts stop at one more than fits.
  logic [5:0] words_q;
  logic [4:0] halves_q;
  logic [7:0] inward_q, mailbox_q;
  // Latches that the last C/A Writer instruction still lacks, and where its header is.
  logic [19:0] latches_q;
  logic [4:0] header_q;
  logic opened_q, ended_q, timer_q;
  // The first bad word or frame; a chip that isn't there; the first bad burst.
  logic fault_q, chip_q, burst_q;
  logic [7:0] fault_verdict_q, burst_verdict_q;
  logic [5:0] fault_index_q, burst_index_q;
  logic [19:0] burst_length_q;

  logic [3:0] opcode, descriptor;
  logic [19:0] length;
  logic [31:0] operand;
  assign opcode     = word_i[WORD_OPCODE_LSB+:WORD_OPCODE_WIDTH];
  assign descriptor = word_i[WORD_DESCRIPTOR_LSB+:WORD_DESCRIPTOR_WIDTH];
  assign length     = word_i[WORD_LENGTH_LSB+:WORD_LENGTH_WIDTH];
  assign operand    = word_i[WORD_OPERAND_LSB+:WORD_OPERAND_WIDTH];

  logic begins, latches, burst_in, burst_out, burst, timer, ends;
  assign begins    = opcode == OPCODE_BEGIN;
  assign latches   = opcode == OPCODE_COMMAND_ADDRESS;
  assign burst_in  = opcode == OPCODE_DATA_WRITE;
  assign burst_out = opcode == OPCODE_DATA_READ;
  assign burst     = burst_in || burst_out;
  assign timer     = opcode == OPCODE_TIMER;
  assign ends      = opcode == OPCODE_END;

  // Latches: four per word, or those that are left.
  logic in_latches, latches_complete, bad_latch;
  logic [3:0] reserved;
  for (genvar i = 0; i < 4; i++) begin : gen_latch
    assign reserved[i] = latches_q > i && word_i[16*i+LATCH_RESERVED_LSB+:LATCH_RESERVED_WIDTH] != '0;
  end
  assign in_latches       = latches_q != 20'd0;
  assign latches_complete = in_latches && latches_q <= 20'd4;
  assign bad_latch        = in_latches && reserved != 4'd0;

  // An error in the word itself comes before an error in its position. The position of a C/A Writer
  // instruction is checked once all its latches are there.
  logic [7:0] word_verdict, verdict_here;
  logic misplaced;
  assign word_verdict = begins && operand == 32'd0 ? VERDICT_NO_CHIP
      : latches && length == 20'd0 ? VERDICT_NO_LATCHES
      : burst && length == 20'd0 ? VERDICT_NO_BYTES
      : timer && timer_q ? VERDICT_TIMER_AFTER_TIMER
      : begins || latches || burst || timer || ends ? VERDICT_GOOD : VERDICT_UNKNOWN_OPCODE;
  assign misplaced = in_latches ? latches_complete && (ended_q || !opened_q)
      : !latches && (ended_q || opened_q == begins);
  assign verdict_here = in_latches && bad_latch ? VERDICT_BAD_LATCH
      : !in_latches && word_verdict != VERDICT_GOOD ? word_verdict
      : misplaced ? VERDICT_UNFRAMED : VERDICT_GOOD;

  // A header without an error, not a word of latches.
  logic instruction;
  assign instruction = word_valid_i && !fault_q && !in_latches && verdict_here == VERDICT_GOOD;

  logic described, to_mailbox, no_chip;
  logic [7:0] burst_verdict;
  assign described  = {descriptor, 1'b1} < halves_q && inward_q[descriptor[2:0]] == burst_in;
  assign to_mailbox = mailbox_q[descriptor[2:0]];
  assign burst_verdict = !described ? VERDICT_DESCRIPTOR : length > longest_i ? VERDICT_LENGTH
      : to_mailbox && burst_in && length > LIMIT_MAILBOX_BYTES[19:0] ? VERDICT_FRAME : VERDICT_GOOD;

  logic [31:0] present;
  for (genvar i = 0; i < 32; i++) begin : gen_way
    assign present[i] = ways_i > i && WAYS > i;
  end
  assign no_chip = (operand & ~present) != 32'd0;

  assign word_index_o       = words_q[4:0];
  assign word_fits_o        = words_q < WORDS_FULL;
  assign descriptor_index_o = halves_q[3:1];
  assign descriptor_half_o  = halves_q[0];
  assign descriptor_fits_o  = halves_q < HALVES_FULL;

  logic unfinished;
  assign unfinished = !fault_q && in_latches;
  assign verdict_o = words_q > WORDS_FULL || halves_q > HALVES_FULL ? VERDICT_TOO_LONG
      : fault_q ? fault_verdict_q : in_latches ? VERDICT_LATCHES_PAST_END : !ended_q ? VERDICT_UNFRAMED
      : chip_q ? VERDICT_CHIP : burst_q ? burst_verdict_q : VERDICT_GOOD;
  assign index_o = fault_q ? {2'd0, fault_index_q} : unfinished ? {3'd0, header_q}
      : !ended_q ? {2'd0, words_q} : chip_q ? 8'd0 : burst_q ? {2'd0, burst_index_q} : 8'd0;
  assign length_o = verdict_o == VERDICT_LENGTH ? burst_length_q : 20'd0;

  logic unused_bits;
  assign unused_bits = ^{word_i, descriptor_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      words_q         <= 6'd0;
      halves_q        <= 5'd0;
      inward_q        <= 8'd0;
      mailbox_q       <= 8'd0;
      latches_q       <= 20'd0;
      header_q        <= 5'd0;
      opened_q        <= 1'b0;
      ended_q         <= 1'b0;
      timer_q         <= 1'b0;
      fault_q         <= 1'b0;
      chip_q          <= 1'b0;
      burst_q         <= 1'b0;
      fault_verdict_q <= 8'd0;
      burst_verdict_q <= 8'd0;
      fault_index_q   <= 6'd0;
      burst_index_q   <= 6'd0;
      burst_length_q  <= 20'd0;
      fetches_o       <= 32'd0;
      stores_o        <= 32'd0;
    end else if (open_i) begin
      words_q   <= 6'd0;
      halves_q  <= 5'd0;
      latches_q <= 20'd0;
      opened_q  <= 1'b0;
      ended_q   <= 1'b0;
      timer_q   <= 1'b0;
      fault_q   <= 1'b0;
      chip_q    <= 1'b0;
      burst_q   <= 1'b0;
      fetches_o <= 32'd0;
      stores_o  <= 32'd0;
    end else begin
      if (descriptor_valid_i) begin
        if (halves_q <= HALVES_FULL) halves_q <= halves_q + 5'd1;
        if (descriptor_fits_o && !halves_q[0]) begin
          inward_q[halves_q[3:1]]  <= descriptor_i[DESCRIPTOR_INWARD_LSB];
          mailbox_q[halves_q[3:1]] <= descriptor_i[DESCRIPTOR_MAILBOX_LSB];
        end
      end
      if (word_valid_i) begin
        if (words_q <= WORDS_FULL) words_q <= words_q + 6'd1;
        if (!fault_q && verdict_here != VERDICT_GOOD) begin
          fault_q         <= 1'b1;
          fault_verdict_q <= verdict_here;
          fault_index_q   <= in_latches ? {1'b0, header_q} : words_q;
        end
        if (in_latches) latches_q <= latches_complete ? 20'd0 : latches_q - 20'd4;
      end
      if (instruction) begin
        timer_q <= timer;
        if (latches) begin
          latches_q <= length;
          header_q  <= words_q[4:0];
        end
        if (begins) begin
          opened_q <= 1'b1;
          chip_q   <= no_chip;
        end
        if (ends) ended_q <= 1'b1;
        if (burst && !burst_q && burst_verdict != VERDICT_GOOD) begin
          burst_q         <= 1'b1;
          burst_verdict_q <= burst_verdict;
          burst_index_q   <= words_q;
          burst_length_q  <= length;
        end
        if (burst && !to_mailbox) begin
          if (burst_in) fetches_o[words_q[4:0]] <= 1'b1;
          else stores_o[words_q[4:0]] <= 1'b1;
        end
      end
    end
  end
endmodule
