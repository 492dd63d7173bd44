sequencer/rtl/aster_lutram.sv
sequencer/rtl/aster_sync.sv
sequencer/rtl/aster_word_checker.sv
sequencer/rtl/aster_instruction_queue.sv
sequencer/rtl/aster_sequencer.sv
