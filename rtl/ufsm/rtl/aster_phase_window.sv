// Finds where the transfers of one FIFO word are in the eight phases of a cycle.
//
// A word of up to eight transfers begins with a cycle. Each transfer takes byte_phases_i phases, at least
// two, so that at most four end in a cycle. Boundaries are found from the distance to the next one,
// without division.
module aster_phase_window (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [11:0] byte_phases_i,
    // The word begins in this cycle, or it began before and continues.
    input  logic        begin_i,
    input  logic        run_i,
    // How many transfers the word has: 1 to 8.
    input  logic [3:0]  transfers_i,
    // For each phase: the transfer that it belongs to, whether there is one, and whether the phase is in its
    // second half.
    output logic [23:0] index_o,
    output logic [7:0]  valid_o,
    output logic [7:0]  late_o,
    // Transfers that began before this cycle, and by its end.
    output logic [3:0]  begun_before_o,
    output logic [3:0]  begun_after_o,
    // The last cycle of the word.
    output logic        last_o
);
  // The remaining phases of the transfer in which the cycle begins, and its number.
  logic [11:0] left_q, left, left_d;
  logic [3:0]  number_q, number, number_d;
  logic [11:0] half, rest;

  assign left   = begin_i ? byte_phases_i : left_q;
  assign number = begin_i ? 4'd0 : number_q;
  assign half   = byte_phases_i >> 1;
  // The phases that remain of a transfer when its second half begins.
  assign rest   = byte_phases_i - half;

  // Anything beyond the cycle counts as 15 phases away.
  logic [6:0] left_near, whole_near, half_near, first_half;
  assign left_near  = |left[11:4] ? 7'd15 : {3'd0, left[3:0]};
  assign whole_near = |byte_phases_i[11:4] ? 7'd15 : {3'd0, byte_phases_i[3:0]};
  assign half_near  = |half[11:4] ? 7'd15 : {3'd0, half[3:0]};

  logic [11:0] until_half;
  assign until_half = left > rest ? left - rest : 12'd0;
  assign first_half = |until_half[11:4] ? 7'd15 : {3'd0, until_half[3:0]};

  // Phases at which the following transfers begin, and at which the halves of this one and those begin.
  logic [6:0] begin_1, begin_2, begin_3, begin_4;
  logic [6:0] half_1, half_2, half_3, half_4;
  assign begin_1 = left_near;
  assign begin_2 = begin_1 + whole_near;
  assign begin_3 = begin_2 + whole_near;
  assign begin_4 = begin_3 + whole_near;
  assign half_1  = begin_1 + half_near;
  assign half_2  = begin_2 + half_near;
  assign half_3  = begin_3 + half_near;
  assign half_4  = begin_4 + half_near;

  // For the phases 0 to 8, whether each of those has been reached.
  logic [8:0] begun_1, begun_2, begun_3, begun_4;
  logic [7:0] late_0, late_1, late_2, late_3, late_4, there;
  assign begun_1 = 9'h1ff << begin_1;
  assign begun_2 = 9'h1ff << begin_2;
  assign begun_3 = 9'h1ff << begin_3;
  assign begun_4 = 9'h1ff << begin_4;
  assign late_0  = 8'hff << first_half;
  assign late_1  = 8'hff << half_1;
  assign late_2  = 8'hff << half_2;
  assign late_3  = 8'hff << half_3;
  assign late_4  = 8'hff << half_4;
  assign there   = ~(8'hff << transfers_i);

  for (genvar i = 0; i < 8; i++) begin : gen_phase
    logic [2:0] begins, halves;
    logic [3:0] index;
    assign begins = {2'd0, begun_1[i]} + {2'd0, begun_2[i]} + {2'd0, begun_3[i]} + {2'd0, begun_4[i]};
    assign halves = {2'd0, late_0[i]} + {2'd0, late_1[i]} + {2'd0, late_2[i]} + {2'd0, late_3[i]}
        + {2'd0, late_4[i]};
    assign index = number + {1'b0, begins};
    assign index_o[3*i+:3] = index[2:0];
    assign valid_o[i] = run_i && !index[3] && there[index[2:0]];
    assign late_o[i] = halves != begins;
  end

  logic [2:0] ends, begins_inside;
  assign ends = {2'd0, begun_1[8]} + {2'd0, begun_2[8]} + {2'd0, begun_3[8]} + {2'd0, begun_4[8]};
  assign begins_inside = {2'd0, begun_1[7]} + {2'd0, begun_2[7]} + {2'd0, begun_3[7]} + {2'd0, begun_4[7]};

  logic [3:0] first, next;
  assign first          = number + {3'd0, left != byte_phases_i};
  assign next           = number + 4'd1 + {1'b0, begins_inside};
  assign begun_before_o = first;
  assign begun_after_o  = next > transfers_i ? transfers_i : next;

  assign number_d = number + {1'b0, ends};
  assign last_o   = run_i && number_d >= transfers_i;

  // More than one boundary needs transfers of at most seven phases, so the sums are short.
  logic [11:0] skipped;
  assign skipped = ends == 3'd0 ? 12'd0 : ends == 3'd1 ? byte_phases_i : ends == 3'd2 ? byte_phases_i << 1
      : ends == 3'd3 ? byte_phases_i + (byte_phases_i << 1) : byte_phases_i << 2;
  assign left_d = left + skipped - 12'd8;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q   <= 12'd0;
      number_q <= 4'd0;
    end else if (run_i) begin
      left_q   <= left_d;
      number_q <= number_d;
    end
  end
endmodule
