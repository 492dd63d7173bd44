bit_fields! {
    /// The status register that READ STATUS returns (ONFI 5.1 §5.13).
    pub struct Status(u8) {
        /// FAIL: the last command failed; with cache and multi-plane operations, the last page's.
        fail, with_fail: 0, 1 => bool;
        /// FAILC: the command before the last failed; only for cached programs.
        fail_previous, with_fail_previous: 1, 1 => bool;
        /// CSP: command specific.
        command_specific, with_command_specific: 3, 1 => bool;
        /// VSP: vendor specific.
        vendor_specific, with_vendor_specific: 4, 1 => bool;
        /// ARDY: no array operation is in progress.
        array_ready, with_array_ready: 5, 1 => bool;
        /// RDY: the LUN takes another command and its register can be read.
        ready, with_ready: 6, 1 => bool;
        /// WP_n: set when the package is not write protected.
        not_write_protected, with_not_write_protected: 7, 1 => bool;
    }
}

impl Status {
    /// Idle, the last command passed, not write protected: E0h.
    pub const IDLE: Status = Status(0).with_array_ready(true).with_ready(true).with_not_write_protected(true);
    /// An array operation is in progress: 80h.
    pub const BUSY: Status = Status(0).with_not_write_protected(true);
    /// RDY and ARDY are both set. Compare by bits, never with a whole byte (G18).
    pub const fn is_idle(self) -> bool {
        self.ready() && self.array_ready()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_those_of_section_5_13() {
        assert_eq!((Status::IDLE.0, Status::BUSY.0), (0xe0, 0x80));
        assert_eq!(Status::IDLE.with_fail(true).0, 0xe1);
        assert!(!Status(0xc0).is_idle() && Status(0xc0).ready());
        assert!(Status(0x60).is_idle() && !Status(0x60).not_write_protected());
    }
}
