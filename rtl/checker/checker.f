checker/rtl/onfi_checker.sv
