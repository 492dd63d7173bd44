//! What a command asks for.

wire_enum! {
    /// What a command asks for.
    pub enum Opcode(u8) {
        Nop = 0x00, "NOP";
        Read = 0x01, "READ";
        Write = 0x02, "WRITE";
        Erase = 0x03, "ERASE";
        Copy = 0x04, "COPY";
        Report = 0x06, "REPORT";
        Status = 0x07, "STATUS";
    }
}

impl Opcode {
    /// Whether the command names blocks.
    pub const fn has_blocks(self) -> bool {
        !matches!(self, Opcode::Nop | Opcode::Report | Opcode::Status)
    }
    /// Whether data cross the link, so that there must be host addresses; otherwise there are none.
    pub const fn has_data(self) -> bool {
        matches!(self, Opcode::Read | Opcode::Write | Opcode::Report | Opcode::Status)
    }
}
