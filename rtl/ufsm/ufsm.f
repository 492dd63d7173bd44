ufsm/rtl/aster_phase_window.sv
ufsm/rtl/aster_burst.sv
ufsm/rtl/aster_chip_control.sv
ufsm/rtl/aster_ca_writer.sv
ufsm/rtl/aster_data_writer.sv
ufsm/rtl/aster_data_reader.sv
ufsm/rtl/aster_timer.sv
