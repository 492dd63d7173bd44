//! Feature addresses and values of SET FEATURES and GET FEATURES (ONFI 5.1, feature parameter definitions).

use super::timing::DataInterface;

wire_enum! {
    /// Feature addresses. 80h–FFh are vendor specific.
    pub enum FeatureAddress(u8) {
        TimingMode = 0x01, "timing mode";
        NvDdr2Configuration = 0x02, "NV-DDR2 and NV-DDR3 configuration";
        DriveStrength = 0x10, "I/O drive strength";
        ExternalVpp = 0x30, "external Vpp configuration";
        VolumeConfiguration = 0x58, "volume configuration";
    }
}

/// First vendor specific feature address.
pub const VENDOR_FEATURES: u8 = 0x80;

bit_fields! {
    /// P1 of the timing mode feature, 01h.
    pub struct TimingModeP1(u8) {
        /// Timing mode number.
        mode, with_mode: 0, 4 => u8;
        /// Data interface: 0 SDR, 1 NV-DDR, 2 NV-DDR2, 3 NV-DDR3.
        interface, with_interface: 4, 2 => u8;
        /// Program clear: PROGRAM (80h) clears only the selected LUN's register.
        program_clear, with_program_clear: 6, 1 => bool;
    }
}

impl TimingModeP1 {
    /// The value that selects a data interface and mode. Asserts that the mode fits four bits.
    pub const fn of(interface: DataInterface, mode: u8) -> Self {
        TimingModeP1(0).with_interface(interface.feature_value()).with_mode(mode)
    }
    /// The data interface; `None` for NV-DDR3, which has no timing table here.
    pub const fn data_interface(self) -> Option<DataInterface> {
        match self.interface() {
            0 => Some(DataInterface::Sdr),
            1 => Some(DataInterface::NvDdr),
            2 => Some(DataInterface::NvDdr2),
            _ => None,
        }
    }
}

bit_fields! {
    /// P1 of the NV-DDR2 configuration feature, 02h.
    pub struct NvDdr2ConfigurationP1(u8) {
        /// VEN: use external VrefQ.
        external_vref, with_external_vref: 0, 1 => bool;
        /// CMPD: use the complementary strobe DQS_c.
        complementary_dqs, with_complementary_dqs: 1, 1 => bool;
        /// CMPR: use the complementary read enable RE_c.
        complementary_re, with_complementary_re: 2, 1 => bool;
        /// On-die termination of DQ, DQS and RE_n: 0 disabled, 1 150 Ω, 2 100 Ω, 3 75 Ω, 4 50 Ω, 5 30 Ω.
        termination, with_termination: 4, 4 => u8;
    }
}

bit_fields! {
    /// P2 of the NV-DDR2 configuration feature, 02h: warm-up cycles, coded 0, 1, 2 for 0, 1, 2 and 3 for 4
    /// cycles.
    pub struct NvDdr2ConfigurationP2(u8) {
        /// RE_n and DQS cycles before data out.
        output_warmup, with_output_warmup: 0, 4 => u8;
        /// DQS cycles before data in.
        input_warmup, with_input_warmup: 4, 4 => u8;
    }
}

wire_enum! {
    /// P1 of the drive strength feature, 10h.
    pub enum DriveStrength(u8) {
        Ohms18 = 0x00, "18 Ω, overdrive 2";
        Ohms25 = 0x01, "25 Ω, overdrive 1";
        Ohms35 = 0x02, "35 Ω, nominal";
        Ohms50 = 0x03, "50 Ω, underdrive";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nv_ddr2_mode_7_is_27h() {
        let p1 = TimingModeP1::of(DataInterface::NvDdr2, 7);
        assert_eq!(p1.0, 0x27);
        assert_eq!((p1.data_interface(), p1.mode()), (Some(DataInterface::NvDdr2), 7));
        assert_eq!(TimingModeP1(0x30).data_interface(), None);
        assert_eq!(TimingModeP1::of(DataInterface::NvDdr, 5).0, 0x15);
    }
}
