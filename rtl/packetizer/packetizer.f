-f sequencer/sequencer.f
packetizer/rtl/aster_fifo.sv
packetizer/rtl/aster_burst_walker.sv
packetizer/rtl/aster_mailbox.sv
packetizer/rtl/aster_packetizer.sv
