-f ufsm/ufsm.f
-f sequencer/sequencer.f
-f packetizer/packetizer.f
channel/rtl/aster_cycle_tables.sv
channel/rtl/aster_registers.sv
channel/rtl/aster_pins.sv
channel/rtl/aster_channel.sv
