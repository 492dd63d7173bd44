// Watches the pins of one chip enable and says which ONFI timing parameters they violate (ONFI 5.1 §4).
//
// Pins come phase by phase, PHASES per cycle, phase 0 in the lowest bits, as the controller gives them to
// its serialiser (rtl/README.md). Limits are in phases, with minima rounded up: edges are on phases, so
// an interval is too short exactly if it has fewer phases than that. A limit of zero never fails.
// doc/checker.md says between which edges each one is measured.
`default_nettype none

`ifdef FORMAL
`define ONFI_HOLDS(label, index) label: assert (!violation_o[index]);
`elsif SYNTHESIS
`define ONFI_HOLDS(label, index)
`else
`define ONFI_HOLDS(label, index) \
  begin : label \
    assert (!(REPORT && violation_o[index])) else $display("ONFI violation: label at %0t in %m", $time); \
  end
`endif
`define ONFI_LIMIT(index) limits_i[(index)*WIDTH +: WIDTH]
`define ONFI_AGE(event) age[(event)*WIDTH +: WIDTH]
`define ONFI_AT_LEAST(index, interval) violation[index] = violation[index] | ((interval) < `ONFI_LIMIT(index))

module onfi_checker #(
    parameter integer PHASES = 8,
    // Width of limits and counters. Counters stop at their greatest value, which must exceed every limit.
    parameter integer WIDTH = 16,
    // Which parameters are checked, one bit each.
    parameter [46:0] MASK = 47'h7fff_ffff_ffff,
    // Whether simulation prints each violation.
    parameter [0:0] REPORT = 1'b1
) (
    input  wire                    clk_i,
    input  wire                    rst_ni,
    // 0 SDR, 1 NV-DDR, 2 NV-DDR2.
    input  wire [1:0]              mode_i,
    input  wire [47*WIDTH-1:0]     limits_i,
    input  wire                    ce_ni,
    input  wire [PHASES-1:0]       cle_i,
    input  wire [PHASES-1:0]       ale_i,
    input  wire [PHASES-1:0]       we_ni,
    input  wire [PHASES-1:0]       re_ni,
    input  wire [PHASES-1:0]       dqs_i,
    input  wire                    dqs_oe_i,
    input  wire [8*PHASES-1:0]     dq_i,
    input  wire                    dq_oe_i,
    input  wire                    ready_i,
    // What this cycle violates, and what any cycle since reset has violated.
    output wire [46:0]             violation_o,
    output reg  [46:0]             violated_o
);
  `include "onfi_parameters.svh"

  localparam [1:0] SDR = 2'd0;
  localparam [1:0] NV_DDR = 2'd1;
  localparam [1:0] NV_DDR2 = 2'd2;

  // Commands that matter to the checker (ONFI 5.1 §5).
  localparam [7:0] CHANGE_WRITE_COLUMN = 8'h85;
  localparam [7:0] CHANGE_READ_COLUMN_CONFIRM = 8'he0;
  localparam [7:0] READ_STATUS = 8'h70;
  localparam [7:0] READ_STATUS_ENHANCED = 8'h78;
  localparam [7:0] SET_FEATURES = 8'hef;
  localparam [7:0] RESET = 8'hff;
  // The feature that sets data interface and timing mode.
  localparam [7:0] TIMING_MODE_FEATURE = 8'h01;

  // Command latches after which a LUN goes busy.
  function automatic starts_work(input [7:0] value);
    case (value)
      8'h10, 8'h11, 8'h15, 8'h30, 8'h31, 8'h32, 8'h35, 8'h3f, 8'hd0, 8'hd1, 8'hfc, 8'hff: starts_work = 1'b1;
      default: starts_work = 1'b0;
    endcase
  endfunction
  // Commands whose address latch starts the work.
  function automatic address_starts_work(input [7:0] value);
    case (value)
      8'hec, 8'hed, 8'hee: address_starts_work = 1'b1;
      default: address_starts_work = 1'b0;
    endcase
  endfunction

  // What ages are counted from, in phases. CHANGE is of either level, RISE and FALL are of the pin.
  localparam integer SELECT = 0;
  localparam integer RELEASE = 1;
  localparam integer WE_RISE = 2;
  localparam integer WE_FALL = 3;
  localparam integer RE_RISE = 4;
  localparam integer RE_FALL = 5;
  localparam integer CLE_CHANGE = 6;
  localparam integer ALE_CHANGE = 7;
  localparam integer CLE_FALL = 8;
  localparam integer ALE_FALL = 9;
  localparam integer DQ_CHANGE = 10;
  // The edge that sampled DQ last: WE# or CLK, and DQS.
  localparam integer SAMPLED = 11;
  localparam integer STROBED = 12;
  localparam integer DQS_RISE = 13;
  localparam integer DQS_FALL = 14;
  // DQS driven low ahead of a burst.
  localparam integer DQS_LOW = 15;
  // The last edge that CE# has to be held after.
  localparam integer CYCLE = 16;
  localparam integer LATCH = 17;
  localparam integer CONFIRM = 18;
  localparam integer COLUMN = 19;
  localparam integer DATA_OUT = 20;
  localparam integer READY = 21;
  localparam integer SWITCH = 22;
  localparam integer DATA_IN = 23;
  // CE#, CLE or ALE high: what ends an NV-DDR2 burst.
  localparam integer CLOSE = 24;
  localparam integer AGES = 25;

  localparam [WIDTH-1:0] NONE = {WIDTH{1'b0}};
  localparam [WIDTH-1:0] EVER = {WIDTH{1'b1}};

  reg [AGES*WIDTH-1:0] age_q, age;
  // How long RE# was low the last time.
  reg [WIDTH-1:0] re_low_q, re_low;
  // Levels of the phase before.
  reg ce_q, cle_q, ale_q, we_q, re_q, dqs_q, dqs_oe_q, dq_oe_q, ready_q;
  reg ce_p, cle_p, ale_p, we_p, re_p, dqs_p, dqs_oe_p, dq_oe_p;
  reg [7:0] dq_q, dq_p, command_q, command;
  // Whether the last latch was an address, and whether it was that of the timing mode's feature.
  reg address_q, address, mode_feature_q, mode_feature;
  // RE# edges of a burst: none, the preamble's, the first data edge, more.
  reg [1:0] read_q, read;
  // Whether a write burst has strobed, has strobed low, and has had a data input cycle clocked (NV-DDR).
  reg writing_q, writing, wrote_low_q, wrote_low, clocked_q, clocked;
  // Whether CE# had been high long enough for tCR2 when it fell, and whether the strobe of a finished
  // burst is still held.
  reg rested_q, rested, read_hold_q, read_hold, write_hold_q, write_hold;
  // What would be too short if the WE# pulse that has begun is a data input cycle, which its rise will
  // show (SDR).
  reg [2:0] pending_q, pending;

  reg [46:0] violation;
  integer p, i;
  reg ce, cle, ale, we, re, dqs, dqs_oe, dq_oe, low, low_p;
  reg [7:0] dq;
  reg rise, fall, re_up, re_down, is_latch, strobe, clock_in, is_out, is_in, out_begins, in_begins, closes,
      moved;

  always @* begin
    violation = 47'd0;
    age = age_q;
    re_low = re_low_q;
    {ce_p, cle_p, ale_p, we_p} = {ce_q, cle_q, ale_q, we_q};
    {re_p, dqs_p, dqs_oe_p, dq_oe_p} = {re_q, dqs_q, dqs_oe_q, dq_oe_q};
    {dq_p, command, address, mode_feature} = {dq_q, command_q, address_q, mode_feature_q};
    {read, writing, wrote_low, clocked} = {read_q, writing_q, wrote_low_q, clocked_q};
    {rested, read_hold, write_hold, pending} = {rested_q, read_hold_q, write_hold_q, pending_q};
    {ce, dqs_oe, dq_oe} = {!ce_ni, dqs_oe_i, dq_oe_i};
    {cle, ale, we, re, dqs, low, low_p, dq} = 15'd0;
    {rise, fall, re_up, re_down, is_latch, strobe, clock_in} = 7'd0;
    {is_out, is_in, out_begins, in_begins, closes, moved} = 6'd0;

    for (p = 0; p < PHASES; p = p + 1) begin
      {cle, ale, we, re, dqs, dq} = {cle_i[p], ale_i[p], we_ni[p], re_ni[p], dqs_i[p], dq_i[8*p +: 8]};
      low = dqs_oe && !dqs;
      low_p = dqs_oe_p && !dqs_p;
      for (i = 0; i < AGES; i = i + 1) begin
        if (`ONFI_AGE(i) != EVER) `ONFI_AGE(i) = `ONFI_AGE(i) + 1'b1;
      end

      // ---- What happens in this phase.
      if (p == 0 && ready_i && !ready_q) `ONFI_AGE(READY) = NONE;
      if (cle != cle_p) `ONFI_AGE(CLE_CHANGE) = NONE;
      if (ale != ale_p) `ONFI_AGE(ALE_CHANGE) = NONE;
      if (cle_p && !cle) `ONFI_AGE(CLE_FALL) = NONE;
      if (ale_p && !ale) `ONFI_AGE(ALE_FALL) = NONE;
      moved = (dq_oe && dq != dq_p) || dq_oe != dq_oe_p;
      if (moved) `ONFI_AGE(DQ_CHANGE) = NONE;
      rise = ce && ce_p && we && !we_p;
      fall = ce && ce_p && !we && we_p;
      re_up = ce && ce_p && re && !re_p;
      re_down = ce && ce_p && !re && re_p;
      closes = (!ce && ce_p) || (ce && ((cle && !cle_p) || (ale && !ale_p)));
      is_latch = rise && cle != ale && (mode_i != NV_DDR || re);
      clock_in = rise && cle && ale && re && mode_i == NV_DDR;
      strobe = ce && dqs_oe && dqs_oe_p && dqs != dqs_p && (dqs || writing) && mode_i != SDR;
      case (mode_i)
        SDR: begin
          is_out = re_down;
          is_in = rise && !cle && !ale;
          out_begins = re_down;
          in_begins = 1'b0;
        end
        NV_DDR: begin
          is_out = rise && cle && ale && !re;
          is_in = strobe;
          out_begins = is_out && read == 2'd0;
          in_begins = clock_in && !clocked;
        end
        default: begin
          // With CLE or ALE high, the edge is the release of the strobe of a finished burst.
          is_out = (re_up || re_down) && !cle && !ale;
          is_in = strobe;
          out_begins = re_down && is_out && read == 2'd0;
          in_begins = strobe && !writing;
        end
      endcase

      // ---- Chip enable.
      if (ce && !ce_p) begin
        `ONFI_AT_LEAST(T_CEH, `ONFI_AGE(RELEASE));
        rested = `ONFI_AGE(RELEASE) >= `ONFI_LIMIT(CR2_IDLE);
        `ONFI_AGE(SELECT) = NONE;
      end
      if (!ce && ce_p) begin
        `ONFI_AT_LEAST(T_CH, `ONFI_AGE(CYCLE));
        `ONFI_AGE(RELEASE) = NONE;
      end
      if (mode_i == NV_DDR2 && !ce && (cle != cle_p || ale != ale_p || we != we_p)) begin
        `ONFI_AT_LEAST(T_CSD, `ONFI_AGE(RELEASE));
      end

      // ---- WE# or CLK, with CLE and ALE around its edge.
      if (mode_i == NV_DDR) begin
        if (rise) begin
          `ONFI_AT_LEAST(T_CK, `ONFI_AGE(WE_RISE));
          `ONFI_AGE(WE_RISE) = NONE;
        end
        if (ce && ce_p && (cle != cle_p || ale != ale_p || re != re_p)) begin
          `ONFI_AT_LEAST(T_CALH, `ONFI_AGE(WE_RISE));
        end
        if (re != re_p) begin
          if (re) `ONFI_AGE(RE_RISE) = NONE;
          else `ONFI_AGE(RE_FALL) = NONE;
        end
        if (rise) begin
          `ONFI_AT_LEAST(T_CALS, `ONFI_AGE(CLE_CHANGE));
          `ONFI_AT_LEAST(T_CALS, `ONFI_AGE(ALE_CHANGE));
          `ONFI_AT_LEAST(T_CALS, `ONFI_AGE(RE_RISE));
          `ONFI_AT_LEAST(T_CALS, `ONFI_AGE(RE_FALL));
        end
      end else begin
        if (fall) begin
          `ONFI_AT_LEAST(T_WH, `ONFI_AGE(WE_RISE));
          `ONFI_AT_LEAST(T_WC, `ONFI_AGE(WE_FALL));
          `ONFI_AT_LEAST(T_RHW, `ONFI_AGE(DATA_OUT));
          pending[0] = address && command != CHANGE_WRITE_COLUMN && `ONFI_AGE(LATCH) < `ONFI_LIMIT(T_ADL);
          pending[1] = command == CHANGE_WRITE_COLUMN && `ONFI_AGE(COLUMN) < `ONFI_LIMIT(T_CCS);
          pending[2] = command != SET_FEATURES && `ONFI_AGE(SWITCH) < `ONFI_LIMIT(T_ITC);
          `ONFI_AGE(WE_FALL) = NONE;
        end
        if (rise) begin
          `ONFI_AT_LEAST(T_WP, `ONFI_AGE(WE_FALL));
          `ONFI_AGE(WE_RISE) = NONE;
        end
        if (mode_i == SDR) begin
          if (rise) begin
            `ONFI_AT_LEAST(T_CLS, `ONFI_AGE(CLE_CHANGE));
            `ONFI_AT_LEAST(T_ALS, `ONFI_AGE(ALE_CHANGE));
          end
          if (ce && ce_p && cle != cle_p) `ONFI_AT_LEAST(T_CLH, `ONFI_AGE(WE_RISE));
          if (ce && ce_p && ale != ale_p) `ONFI_AT_LEAST(T_ALH, `ONFI_AGE(WE_RISE));
        end else begin
          if (rise) begin
            `ONFI_AT_LEAST(T_CALS, `ONFI_AGE(CLE_CHANGE));
            `ONFI_AT_LEAST(T_CALS, `ONFI_AGE(ALE_CHANGE));
          end
          if (ce && ce_p && (cle != cle_p || ale != ale_p)) `ONFI_AT_LEAST(T_CALH, `ONFI_AGE(WE_RISE));
        end
      end
      if (mode_i == NV_DDR ? (rise && (cle || ale)) : rise) `ONFI_AGE(CYCLE) = NONE;

      // ---- DQ around the edge that samples it. A bus that isn't driven has no setup.
      if (mode_i == SDR) begin
        if (rise) begin
          `ONFI_AT_LEAST(T_DS, dq_oe ? `ONFI_AGE(DQ_CHANGE) : NONE);
          `ONFI_AGE(SAMPLED) = NONE;
        end
        if (moved) `ONFI_AT_LEAST(T_DH, `ONFI_AGE(SAMPLED));
      end else begin
        if (is_latch) begin
          `ONFI_AT_LEAST(T_CAS, dq_oe ? `ONFI_AGE(DQ_CHANGE) : NONE);
          `ONFI_AGE(SAMPLED) = NONE;
        end
        if (strobe) begin
          `ONFI_AT_LEAST(T_DS, dq_oe ? `ONFI_AGE(DQ_CHANGE) : NONE);
          `ONFI_AGE(STROBED) = NONE;
        end
        if (moved) begin
          `ONFI_AT_LEAST(T_CAH, `ONFI_AGE(SAMPLED));
          `ONFI_AT_LEAST(T_DH, `ONFI_AGE(STROBED));
        end
      end

      // ---- Latches.
      if (is_latch) begin
        `ONFI_AT_LEAST(T_CS, `ONFI_AGE(SELECT));
        `ONFI_AT_LEAST(T_WB, `ONFI_AGE(CONFIRM));
        if (mode_i == NV_DDR) begin
          `ONFI_AT_LEAST(T_CAD, `ONFI_AGE(LATCH));
          `ONFI_AT_LEAST(T_RHW, `ONFI_AGE(DATA_OUT));
        end
      end

      // ---- Data output.
      if (out_begins) begin
        `ONFI_AT_LEAST(T_WHR, `ONFI_AGE(LATCH));
        `ONFI_AT_LEAST(T_WB, `ONFI_AGE(CONFIRM));
        if (command == CHANGE_READ_COLUMN_CONFIRM) `ONFI_AT_LEAST(T_CCS, `ONFI_AGE(COLUMN));
        `ONFI_AT_LEAST(T_ITC, `ONFI_AGE(SWITCH));
        if (command != READ_STATUS && command != READ_STATUS_ENHANCED) `ONFI_AT_LEAST(T_RR, `ONFI_AGE(READY));
        if (mode_i == NV_DDR) begin
          `ONFI_AT_LEAST(T_CAD, `ONFI_AGE(LATCH));
          `ONFI_AT_LEAST(T_WRCK, `ONFI_AGE(RE_FALL));
        end else begin
          `ONFI_AT_LEAST(T_AR, `ONFI_AGE(ALE_FALL));
          `ONFI_AT_LEAST(T_CLR, `ONFI_AGE(CLE_FALL));
        end
        if (mode_i == NV_DDR2) begin
          `ONFI_AT_LEAST(T_CR, `ONFI_AGE(SELECT));
          `ONFI_AT_LEAST(T_CS1, `ONFI_AGE(SELECT));
          if (rested) `ONFI_AT_LEAST(T_CR2, `ONFI_AGE(SELECT));
        end
      end
      if (mode_i == SDR) begin
        if (re_down) begin
          `ONFI_AT_LEAST(T_REH, `ONFI_AGE(RE_RISE));
          `ONFI_AT_LEAST(T_RC, `ONFI_AGE(RE_FALL));
        end
        if (re_up) `ONFI_AT_LEAST(T_RP, `ONFI_AGE(RE_FALL));
      end
      if (mode_i == NV_DDR2) begin
        if (re_up && read == 2'd1) `ONFI_AT_LEAST(T_RPRE, `ONFI_AGE(RE_FALL));
        if (re_up && read == 2'd3) `ONFI_AT_LEAST(T_RC, `ONFI_AGE(RE_RISE));
        if (re_down && read == 2'd3) `ONFI_AT_LEAST(T_RC, `ONFI_AGE(RE_FALL));
      end

      // ---- Data input.
      if (mode_i == SDR && is_in) begin
        violation[T_ADL] = violation[T_ADL] | pending[0];
        violation[T_CCS] = violation[T_CCS] | pending[1];
        violation[T_ITC] = violation[T_ITC] | pending[2];
      end
      if (in_begins) begin
        if (address && command != CHANGE_WRITE_COLUMN) `ONFI_AT_LEAST(T_ADL, `ONFI_AGE(LATCH));
        if (command == CHANGE_WRITE_COLUMN) `ONFI_AT_LEAST(T_CCS, `ONFI_AGE(COLUMN));
        `ONFI_AT_LEAST(T_ITC, `ONFI_AGE(SWITCH));
        `ONFI_AT_LEAST(T_RHW, `ONFI_AGE(DATA_OUT));
        if (mode_i == NV_DDR) begin
          `ONFI_AT_LEAST(T_CAD, `ONFI_AGE(LATCH));
          `ONFI_AGE(DATA_IN) = NONE;
        end else begin
          `ONFI_AT_LEAST(T_CS1, `ONFI_AGE(SELECT));
          `ONFI_AT_LEAST(T_CDQSS, `ONFI_AGE(SELECT));
          `ONFI_AT_LEAST(T_CDQSS, `ONFI_AGE(CLE_FALL));
          `ONFI_AT_LEAST(T_CDQSS, `ONFI_AGE(ALE_FALL));
        end
      end
      if (strobe && dqs && !writing) begin
        `ONFI_AT_LEAST(T_WPRE, `ONFI_AGE(DQS_LOW));
        if (mode_i == NV_DDR) begin
          // Without a clocked data input cycle, DQS counts as too early.
          `ONFI_AT_LEAST(T_DQSS_MIN, clocked ? `ONFI_AGE(DATA_IN) : NONE);
          violation[T_DQSS_MAX] = violation[T_DQSS_MAX] | (clocked && `ONFI_LIMIT(T_DQSS_MAX) != NONE
              && `ONFI_AGE(DATA_IN) > `ONFI_LIMIT(T_DQSS_MAX));
        end
      end
      if (strobe && dqs && writing) `ONFI_AT_LEAST(T_DSC, `ONFI_AGE(DQS_RISE));
      if (strobe && !dqs && wrote_low) `ONFI_AT_LEAST(T_DSC, `ONFI_AGE(DQS_FALL));

      // ---- The end of a burst. In NV-DDR2 CE#, CLE or ALE high ends it, with the strobe low before it and
      // held after it.
      if (mode_i == NV_DDR2) begin
        if (read_hold && re) begin
          `ONFI_AT_LEAST(T_RPSTH, `ONFI_AGE(CLOSE));
          read_hold = 1'b0;
        end
        if (write_hold && !low) begin
          `ONFI_AT_LEAST(T_WPSTH, `ONFI_AGE(CLOSE));
          write_hold = 1'b0;
        end
        if (ce && ((cle_p && !cle) || (ale_p && !ale))) begin
          `ONFI_AT_LEAST(T_DBS, (re && !low) ? `ONFI_AGE(RE_RISE) : NONE);
        end
        if (closes && read != 2'd0) begin
          // If RE# is high by now, its last low time was the postamble, and it wasn't held.
          `ONFI_AT_LEAST(T_RPST, re_p ? re_low : `ONFI_AGE(RE_FALL));
          `ONFI_AT_LEAST(T_RPSTH, re ? NONE : EVER);
          read_hold = !re;
        end
        if (writing && (closes || !dqs_oe)) begin
          `ONFI_AT_LEAST(T_WPST, dqs_p ? NONE : `ONFI_AGE(DQS_FALL));
          `ONFI_AT_LEAST(T_WPSTH, low ? EVER : NONE);
          write_hold = low;
        end
      end
      if (mode_i == NV_DDR && writing && (!dqs_oe || !ce)) begin
        `ONFI_AT_LEAST(T_WPST, dqs_p ? NONE : `ONFI_AGE(DQS_FALL));
      end
      if (closes) `ONFI_AGE(CLOSE) = NONE;

      // ---- State for later phases.
      if (mode_i != NV_DDR && re_up) begin
        re_low = `ONFI_AGE(RE_FALL);
        `ONFI_AGE(RE_RISE) = NONE;
      end
      if (mode_i != NV_DDR && re_down) `ONFI_AGE(RE_FALL) = NONE;
      // In NV-DDR2 the last strobe is a fall: the rise that follows ends the postamble.
      if (mode_i == SDR ? re_up || re_down : mode_i == NV_DDR ? is_out : re_down) `ONFI_AGE(DATA_OUT) = NONE;
      if (strobe && dqs) `ONFI_AGE(DQS_RISE) = NONE;
      if (strobe && !dqs) begin
        `ONFI_AGE(DQS_FALL) = NONE;
        wrote_low = 1'b1;
      end
      if (low && !low_p && !writing) `ONFI_AGE(DQS_LOW) = NONE;
      if (is_out && read != 2'd3) read = read + 1'b1;
      writing = (writing || strobe) && dqs_oe;
      wrote_low = wrote_low && writing;
      clocked = (clocked || clock_in) && dqs_oe;
      if (closes || !ce) {read, writing, wrote_low} = 4'd0;
      if (mode_i == NV_DDR && !(cle && ale)) read = 2'd0;
      // A pause ends the announcement: tDQSS applies again when data continue.
      if (is_latch || !ce || (rise && mode_i == NV_DDR && !clock_in)) clocked = 1'b0;
      if (is_in && command == SET_FEATURES) begin
        `ONFI_AGE(CONFIRM) = NONE;
        if (mode_feature) `ONFI_AGE(SWITCH) = NONE;
      end
      if (is_latch) begin
        `ONFI_AGE(LATCH) = NONE;
        // tCCS applies to the data of the chosen column, not to data of another command.
        `ONFI_AGE(COLUMN) = EVER;
        address = ale;
        if (cle) begin
          command = dq;
          mode_feature = 1'b0;
          if (starts_work(dq)) `ONFI_AGE(CONFIRM) = NONE;
          if (dq == CHANGE_READ_COLUMN_CONFIRM) `ONFI_AGE(COLUMN) = NONE;
          if (dq == RESET && mode_i != SDR) `ONFI_AGE(SWITCH) = NONE;
        end else begin
          mode_feature = command == SET_FEATURES && dq == TIMING_MODE_FEATURE;
          if (address_starts_work(command)) `ONFI_AGE(CONFIRM) = NONE;
          if (command == CHANGE_WRITE_COLUMN) `ONFI_AGE(COLUMN) = NONE;
        end
      end
      {ce_p, cle_p, ale_p, we_p, re_p, dqs_p, dqs_oe_p, dq_oe_p} = {ce, cle, ale, we, re, dqs, dqs_oe, dq_oe};
      if (dq_oe) dq_p = dq;
    end
    if (!rst_ni) violation = 47'd0;
  end

  assign violation_o = violation & MASK;

  always @(posedge clk_i) begin
    if (!rst_ni) begin
      age_q <= {AGES{EVER}};
      re_low_q <= EVER;
      {ce_q, cle_q, ale_q, we_q, re_q, dqs_q, dqs_oe_q, dq_oe_q, ready_q} <= 9'b0_0_0_1_1_1_0_0_1;
      {dq_q, command_q, address_q, mode_feature_q} <= {8'd0, RESET, 2'd0};
      {read_q, writing_q, wrote_low_q, clocked_q} <= 5'd0;
      {rested_q, read_hold_q, write_hold_q, pending_q} <= 6'd0;
      violated_o <= 47'd0;
    end else begin
      age_q <= age;
      re_low_q <= re_low;
      {ce_q, cle_q, ale_q, we_q, re_q, dqs_q, dqs_oe_q, dq_oe_q} <=
          {ce_p, cle_p, ale_p, we_p, re_p, dqs_p, dqs_oe_p, dq_oe_p};
      ready_q <= ready_i;
      {dq_q, command_q, address_q, mode_feature_q} <= {dq_p, command, address, mode_feature};
      {read_q, writing_q, wrote_low_q, clocked_q} <= {read, writing, wrote_low, clocked};
      {rested_q, read_hold_q, write_hold_q, pending_q} <= {rested, read_hold, write_hold, pending};
      violated_o <= violated_o | violation_o;
    end
  end

  // One assertion for each parameter, under its name.
  always @(posedge clk_i) begin
    if (rst_ni) begin
      `ONFI_HOLDS(tCS, T_CS)
      `ONFI_HOLDS(tCH, T_CH)
      `ONFI_HOLDS(tCEH, T_CEH)
      `ONFI_HOLDS(tWP, T_WP)
      `ONFI_HOLDS(tWH, T_WH)
      `ONFI_HOLDS(tWC, T_WC)
      `ONFI_HOLDS(tCLS, T_CLS)
      `ONFI_HOLDS(tCLH, T_CLH)
      `ONFI_HOLDS(tALS, T_ALS)
      `ONFI_HOLDS(tALH, T_ALH)
      `ONFI_HOLDS(tDS, T_DS)
      `ONFI_HOLDS(tDH, T_DH)
      `ONFI_HOLDS(tCALS, T_CALS)
      `ONFI_HOLDS(tCALH, T_CALH)
      `ONFI_HOLDS(tCAS, T_CAS)
      `ONFI_HOLDS(tCAH, T_CAH)
      `ONFI_HOLDS(tCAD, T_CAD)
      `ONFI_HOLDS(tCK, T_CK)
      `ONFI_HOLDS(tWB, T_WB)
      `ONFI_HOLDS(tWHR, T_WHR)
      `ONFI_HOLDS(tADL, T_ADL)
      `ONFI_HOLDS(tCCS, T_CCS)
      `ONFI_HOLDS(tRHW, T_RHW)
      `ONFI_HOLDS(tRR, T_RR)
      `ONFI_HOLDS(tITC, T_ITC)
      `ONFI_HOLDS(tRP, T_RP)
      `ONFI_HOLDS(tREH, T_REH)
      `ONFI_HOLDS(tRC, T_RC)
      `ONFI_HOLDS(tAR, T_AR)
      `ONFI_HOLDS(tCLR, T_CLR)
      `ONFI_HOLDS(tCR, T_CR)
      `ONFI_HOLDS(tCR2, T_CR2)
      `ONFI_HOLDS(tCS1, T_CS1)
      `ONFI_HOLDS(tRPRE, T_RPRE)
      `ONFI_HOLDS(tRPST, T_RPST)
      `ONFI_HOLDS(tRPSTH, T_RPSTH)
      `ONFI_HOLDS(tWPRE, T_WPRE)
      `ONFI_HOLDS(tWPST, T_WPST)
      `ONFI_HOLDS(tWPSTH, T_WPSTH)
      `ONFI_HOLDS(tDSC, T_DSC)
      `ONFI_HOLDS(tDQSS_min, T_DQSS_MIN)
      `ONFI_HOLDS(tDQSS_max, T_DQSS_MAX)
      `ONFI_HOLDS(tCDQSS, T_CDQSS)
      `ONFI_HOLDS(tDBS, T_DBS)
      `ONFI_HOLDS(tCSD, T_CSD)
      `ONFI_HOLDS(tWRCK, T_WRCK)
    end
  end
endmodule

`undef ONFI_HOLDS
`undef ONFI_LIMIT
`undef ONFI_AGE
`undef ONFI_AT_LEAST
`default_nettype wire
