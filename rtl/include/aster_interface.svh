// Generated from rtl/interface.toml by `cargo xtask generate`; edit that and run it again.
// For `include inside a module body; a module rarely uses them all.
// verilator lint_off UNUSEDPARAM
// The most instruction words of a transaction.
localparam [31:0] LIMIT_WORDS = 32'd32;
// The most descriptors of a transaction.
localparam [31:0] LIMIT_DESCRIPTORS = 32'd8;
// Transactions that queue in the controller.
localparam [31:0] LIMIT_SLOTS = 32'd4;
// Cycle tables, one for each interface and timing mode in use.
localparam [31:0] LIMIT_TABLES = 32'd4;
// Words of eight bytes in each of the Packetizer's FIFOs.
localparam [31:0] LIMIT_FIFO_WORDS = 32'd512;
// Phases of a controller cycle, as the output serialiser gives them.
localparam [31:0] LIMIT_PHASES = 32'd8;
// Cycles from a push being sampled to the first cycle of an idle channel's transaction.
localparam [31:0] LIMIT_FIFO_LATENCY = 32'd2;
// Bytes that fit into a transaction's result, or into a descriptor's immediate value.
localparam [31:0] LIMIT_MAILBOX_BYTES = 32'd8;
// Chip Control: the operand is a bitmap, one bit per chip enable (B7). Opens a transaction.
localparam [3:0] OPCODE_BEGIN = 4'd1;
// C/A Writer: the length counts latches, which follow, four per word (B4).
localparam [3:0] OPCODE_COMMAND_ADDRESS = 4'd2;
// Data Writer: the length counts bytes; the descriptor field names their source (B5).
localparam [3:0] OPCODE_DATA_WRITE = 4'd3;
// Data Reader: the length counts bytes; the descriptor field names their destination (B6).
localparam [3:0] OPCODE_DATA_READ = 4'd4;
// Timer: pause for at least the operand's nanoseconds (B8).
localparam [3:0] OPCODE_TIMER = 4'd5;
// Chip Control with an empty bitmap: closes the transaction.
localparam [3:0] OPCODE_END = 4'd6;
// It ran.
localparam [7:0] VERDICT_GOOD = 8'd0;
// More words or descriptors than a transaction holds.
localparam [7:0] VERDICT_TOO_LONG = 8'd1;
// Chip Control selects no chip.
localparam [7:0] VERDICT_NO_CHIP = 8'd2;
// A C/A Writer instruction lacks some of its latches.
localparam [7:0] VERDICT_LATCHES_PAST_END = 8'd3;
// A C/A Writer instruction without a latch.
localparam [7:0] VERDICT_NO_LATCHES = 8'd4;
// A latch that is neither command nor address.
localparam [7:0] VERDICT_BAD_LATCH = 8'd5;
// A burst without a byte.
localparam [7:0] VERDICT_NO_BYTES = 8'd6;
// An unknown opcode.
localparam [7:0] VERDICT_UNKNOWN_OPCODE = 8'd7;
// Two Timers in succession.
localparam [7:0] VERDICT_TIMER_AFTER_TIMER = 8'd8;
// No BEGIN first, no END last, or something after END.
localparam [7:0] VERDICT_UNFRAMED = 8'd9;
// Chip Control names a chip that isn't there.
localparam [7:0] VERDICT_CHIP = 8'd10;
// A burst without its descriptor, or with one of the other direction.
localparam [7:0] VERDICT_DESCRIPTOR = 8'd11;
// A burst longer than page and spare.
localparam [7:0] VERDICT_LENGTH = 8'd12;
// A mailbox burst of more bytes than an immediate value holds.
localparam [7:0] VERDICT_FRAME = 8'd13;
// 0x4153_5445_5200_0001: ASTER, version 1.
localparam [11:0] REGISTER_IDENT = 12'd0;
// Longest burst and ways.
localparam [11:0] REGISTER_CONFIG = 12'd8;
// The controller clock's period in picoseconds, for TIMER.
localparam [11:0] REGISTER_PERIOD = 12'd16;
// Begins a transaction. Ignored when no slot is free.
localparam [11:0] REGISTER_OPEN = 12'd24;
// Appends an instruction word.
localparam [11:0] REGISTER_WORD = 12'd32;
// Appends half a descriptor: first its fields, then its immediate value.
localparam [11:0] REGISTER_DESCRIPTOR = 12'd40;
// Queues the open transaction.
localparam [11:0] REGISTER_PUSH = 12'd48;
// Queue and R/B#.
localparam [11:0] REGISTER_STATUS = 12'd56;
// The oldest result.
localparam [11:0] REGISTER_RESULT = 12'd64;
// The oldest result's mailbox bytes, first byte lowest. Reading it removes the result.
localparam [11:0] REGISTER_MAILBOX = 12'd72;
// Cycle tables, one word after the other.
localparam [11:0] REGISTER_TABLE = 12'd256;
// Bytes from one to the next.
localparam [11:0] REGISTER_TABLE_STRIDE = 12'd32;
// Chip bitmap or nanoseconds.
localparam integer WORD_OPERAND_LSB = 0;
localparam integer WORD_OPERAND_WIDTH = 32;
// Bytes, or latches.
localparam integer WORD_LENGTH_LSB = 32;
localparam integer WORD_LENGTH_WIDTH = 20;
// Index of the descriptor of a burst.
localparam integer WORD_DESCRIPTOR_LSB = 52;
localparam integer WORD_DESCRIPTOR_WIDTH = 4;
// What the word asks for.
localparam integer WORD_OPCODE_LSB = 60;
localparam integer WORD_OPCODE_WIDTH = 4;
// The byte on DQ.
localparam integer LATCH_VALUE_LSB = 0;
localparam integer LATCH_VALUE_WIDTH = 8;
// 1 for a command latch (CLE), 0 for an address latch (ALE).
localparam integer LATCH_COMMAND_LSB = 8;
localparam integer LATCH_COMMAND_WIDTH = 1;
// Zero; any other value is not a latch.
localparam integer LATCH_RESERVED_LSB = 9;
localparam integer LATCH_RESERVED_WIDTH = 7;
// Byte address in memory of the first byte, a multiple of 8.
localparam integer DESCRIPTOR_ADDRESS_LSB = 0;
localparam integer DESCRIPTOR_ADDRESS_WIDTH = 48;
// AXI ID that its memory accesses carry.
localparam integer DESCRIPTOR_TAG_LSB = 48;
localparam integer DESCRIPTOR_TAG_WIDTH = 4;
// 1 when bytes go into the package (Data Writer).
localparam integer DESCRIPTOR_INWARD_LSB = 52;
localparam integer DESCRIPTOR_INWARD_WIDTH = 1;
// 1 when bytes come from the immediate value or go to the result, instead of memory.
localparam integer DESCRIPTOR_MAILBOX_LSB = 53;
localparam integer DESCRIPTOR_MAILBOX_WIDTH = 1;
// The cycle table that the transaction uses.
localparam integer PUSH_TABLE_LSB = 0;
localparam integer PUSH_TABLE_WIDTH = 2;
// The longest burst in bytes: page and spare.
localparam integer CONFIG_LONGEST_LSB = 0;
localparam integer CONFIG_LONGEST_WIDTH = 20;
// Chip enables in use.
localparam integer CONFIG_WAYS_LSB = 32;
localparam integer CONFIG_WAYS_WIDTH = 6;
// Slots in which a transaction can be opened.
localparam integer STATUS_FREE_LSB = 0;
localparam integer STATUS_FREE_WIDTH = 3;
// Results that wait to be read.
localparam integer STATUS_RESULTS_LSB = 4;
localparam integer STATUS_RESULTS_WIDTH = 3;
// A transaction owns the channel.
localparam integer STATUS_BUSY_LSB = 8;
localparam integer STATUS_BUSY_WIDTH = 1;
// The R/B# pins, one bit per way.
localparam integer STATUS_READY_LSB = 32;
localparam integer STATUS_READY_WIDTH = 32;
// 1 when this is a result; 0 when none waits.
localparam integer RESULT_VALID_LSB = 0;
localparam integer RESULT_VALID_WIDTH = 1;
// The slot that it was pushed from.
localparam integer RESULT_SLOT_LSB = 4;
localparam integer RESULT_SLOT_WIDTH = 2;
// Its result: a verdict code.
localparam integer RESULT_VERDICT_LSB = 8;
localparam integer RESULT_VERDICT_WIDTH = 8;
// The offending word.
localparam integer RESULT_INDEX_LSB = 16;
localparam integer RESULT_INDEX_WIDTH = 8;
// Bytes asked for, when a burst was too long.
localparam integer RESULT_LENGTH_LSB = 32;
localparam integer RESULT_LENGTH_WIDTH = 20;
// Memory answered an access with an error.
localparam integer RESULT_MEMORY_ERROR_LSB = 24;
localparam integer RESULT_MEMORY_ERROR_WIDTH = 1;
// 0 SDR, 1 NV-DDR, 2 NV-DDR2.
localparam integer TABLE_MODE_LSB = 0;
localparam integer TABLE_MODE_WIDTH = 2;
// Cycles that every step is a multiple of: a CLK period in NV-DDR, 1 in the others.
localparam integer TABLE_GRAIN_LSB = 2;
localparam integer TABLE_GRAIN_WIDTH = 8;
// tCS: CE# low to the first latch cycle.
localparam integer TABLE_CHIP_SETUP_LSB = 10;
localparam integer TABLE_CHIP_SETUP_WIDTH = 8;
// tCH: the last cycle to CE# high.
localparam integer TABLE_CHIP_HOLD_LSB = 18;
localparam integer TABLE_CHIP_HOLD_WIDTH = 8;
// From a transaction's end to the next one's start: the controller's own gap, or tCEH if that is more.
localparam integer TABLE_GAP_LSB = 26;
localparam integer TABLE_GAP_WIDTH = 8;
// tWC (tCAD in NV-DDR): one latch.
localparam integer TABLE_LATCH_LSB = 34;
localparam integer TABLE_LATCH_WIDTH = 8;
// Phases from a latch's beginning to its CLE, ALE and DQ.
localparam integer TABLE_LATCH_FROM_LSB = 42;
localparam integer TABLE_LATCH_FROM_WIDTH = 10;
// Phases that CLE, ALE and DQ stay after the edge: tCLH, tALH, tDH (tCALH, tCAH).
localparam integer TABLE_LATCH_HOLD_LSB = 52;
localparam integer TABLE_LATCH_HOLD_WIDTH = 10;
// tWPRE, tCDQSS.
localparam integer TABLE_WRITE_PREAMBLE_LSB = 64;
localparam integer TABLE_WRITE_PREAMBLE_WIDTH = 8;
// tWPST.
localparam integer TABLE_WRITE_POSTAMBLE_LSB = 72;
localparam integer TABLE_WRITE_POSTAMBLE_WIDTH = 8;
// tRPRE, and the strobe's way to the package and back.
localparam integer TABLE_READ_PREAMBLE_LSB = 80;
localparam integer TABLE_READ_PREAMBLE_WIDTH = 8;
// tRPST.
localparam integer TABLE_READ_POSTAMBLE_LSB = 88;
localparam integer TABLE_READ_POSTAMBLE_WIDTH = 8;
// Phases of one transfer of data output.
localparam integer TABLE_BYTE_PHASES_OUT_LSB = 96;
localparam integer TABLE_BYTE_PHASES_OUT_WIDTH = 12;
// Phases of one transfer of data input.
localparam integer TABLE_BYTE_PHASES_IN_LSB = 108;
localparam integer TABLE_BYTE_PHASES_IN_WIDTH = 12;
// tWB: last latch to the release of the chip.
localparam integer TABLE_T_WB_LSB = 128;
localparam integer TABLE_T_WB_WIDTH = 12;
// tWHR: latch to data output.
localparam integer TABLE_T_WHR_LSB = 140;
localparam integer TABLE_T_WHR_WIDTH = 12;
// tADL: latch to data input.
localparam integer TABLE_T_ADL_LSB = 152;
localparam integer TABLE_T_ADL_WIDTH = 12;
// tCCS: column change to data.
localparam integer TABLE_T_CCS_LSB = 164;
localparam integer TABLE_T_CCS_WIDTH = 12;
// tRHW: data output to a latch.
localparam integer TABLE_T_RHW_LSB = 176;
localparam integer TABLE_T_RHW_WIDTH = 12;
// Minimum from the channel's release to the next transaction's first latch on WE# (CLK in NV-DDR).
localparam integer TABLE_LEAD_LSB = 192;
localparam integer TABLE_LEAD_WIDTH = 12;
// Words and bits that a packed cycle table takes.
localparam integer TABLE_WORDS = 4;
localparam integer TABLE_BITS = 256;
// verilator lint_on UNUSEDPARAM
