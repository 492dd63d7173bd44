//! The Verilated model behind `shim.cpp`. All unsafe code of the simulation is in this file.

use aster_ports::pins::{
    AxiAddress, AxiMaster, AxiWrite, ChannelIn, ChannelOut, CycleChannel, Over, PinsOut,
};
use std::ptr::NonNull;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct AddressPort {
    address: u64,
    valid: u8,
    id: u8,
    length: u8,
    size: u8,
    burst: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Outputs {
    dq: u64,
    read_at: AddressPort,
    write_at: AddressPort,
    write_data: u64,
    mailbox: u64,
    ce_n: u32,
    over_length: u32,
    cle: u8,
    ale: u8,
    we_n: u8,
    re_n: u8,
    dqs: u8,
    dqs_enable: u8,
    dq_enable: u8,
    write_valid: u8,
    write_strobes: u8,
    write_last: u8,
    read_ready: u8,
    answer_ready: u8,
    begin: u8,
    over: u8,
    over_slot: u8,
    over_verdict: u8,
    over_index: u8,
    memory_error: u8,
}

#[repr(C)]
struct Inputs {
    dq: u64,
    read_data: u64,
    ready: u32,
    read_at_ready: u8,
    write_at_ready: u8,
    write_ready: u8,
    read_valid: u8,
    read_id: u8,
    read_response: u8,
    read_last: u8,
    answer_valid: u8,
    answer_id: u8,
    answer_response: u8,
}

/// The model, opaque.
#[repr(C)]
struct Model {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn aster_channel_new() -> *mut Model;
    fn aster_channel_delete(model: *mut Model);
    fn aster_channel_outputs(model: *mut Model, out: *mut Outputs);
    fn aster_channel_evaluate(model: *mut Model, inputs: *const Inputs);
    fn aster_channel_edge(model: *mut Model);
    fn aster_channel_write(model: *mut Model, offset: u16, value: u64);
    fn aster_channel_read(model: *mut Model, offset: u16) -> u64;
}

/// One channel controller in RTL, which has just been reset when it is created.
pub struct RtlChannel {
    // Owned: created by `aster_channel_new` and deleted once, in `drop`. Not shared: the type is neither
    // Send nor Sync.
    model: NonNull<Model>,
    outputs: ChannelOut,
}

impl RtlChannel {
    /// Builds a channel and resets it.
    ///
    /// # Panics
    /// When there is no memory for it.
    pub fn new() -> Self {
        // SAFETY: takes no arguments. Returns a model that nothing else refers to, or throws, which ends
        // the process.
        let model = NonNull::new(unsafe { aster_channel_new() }).expect("memory for a Verilated channel");
        let mut channel = RtlChannel { model, outputs: ChannelOut::default() };
        channel.look();
        channel
    }

    /// Copies the outputs as they are now.
    fn look(&mut self) {
        let mut out = Outputs::default();
        // SAFETY: the model lives until `drop`; `out` is laid out as in shim.cpp and written before the call
        // returns.
        unsafe { aster_channel_outputs(self.model.as_ptr(), &mut out) };
        self.outputs = out.into();
    }
}

impl Default for RtlChannel {
    fn default() -> Self {
        RtlChannel::new()
    }
}

impl Drop for RtlChannel {
    fn drop(&mut self) {
        // SAFETY: created by `aster_channel_new`, and deleted nowhere else.
        unsafe { aster_channel_delete(self.model.as_ptr()) };
    }
}

impl CycleChannel for RtlChannel {
    fn write_register(&mut self, offset: u16, value: u64) {
        // SAFETY: the model lives until `drop`, and `&mut self` keeps others away.
        unsafe { aster_channel_write(self.model.as_ptr(), offset, value) };
    }

    fn read_register(&mut self, offset: u16) -> u64 {
        // SAFETY: as above.
        unsafe { aster_channel_read(self.model.as_ptr(), offset) }
    }

    fn outputs(&self) -> &ChannelOut {
        &self.outputs
    }

    fn evaluate(&mut self, inputs: &ChannelIn) -> &ChannelOut {
        let inputs = Inputs::from(inputs);
        // SAFETY: as above; `inputs` is laid out as in shim.cpp and not kept.
        unsafe { aster_channel_evaluate(self.model.as_ptr(), &inputs) };
        self.look();
        &self.outputs
    }

    fn edge(&mut self) {
        // SAFETY: as above.
        unsafe { aster_channel_edge(self.model.as_ptr()) };
        self.look();
    }
}

impl From<AddressPort> for AxiAddress {
    fn from(port: AddressPort) -> Self {
        AxiAddress {
            valid: port.valid != 0,
            id: port.id,
            address: port.address,
            length: port.length,
            size: port.size,
            burst: port.burst,
        }
    }
}

impl From<Outputs> for ChannelOut {
    fn from(out: Outputs) -> Self {
        ChannelOut {
            pins: PinsOut {
                ce_n: out.ce_n,
                cle: out.cle,
                ale: out.ale,
                we_n: out.we_n,
                re_n: out.re_n,
                dqs: out.dqs,
                dqs_enable: out.dqs_enable != 0,
                dq: out.dq,
                dq_enable: out.dq_enable != 0,
            },
            memory: AxiMaster {
                read_at: out.read_at.into(),
                read_ready: out.read_ready != 0,
                write_at: out.write_at.into(),
                write: AxiWrite {
                    valid: out.write_valid != 0,
                    data: out.write_data,
                    strobes: out.write_strobes,
                    last: out.write_last != 0,
                },
                answer_ready: out.answer_ready != 0,
            },
            begin: out.begin != 0,
            over: (out.over != 0).then_some(Over {
                slot: out.over_slot,
                verdict: out.over_verdict,
                index: out.over_index,
                length: out.over_length,
                mailbox: out.mailbox,
                memory_error: out.memory_error != 0,
            }),
        }
    }
}

impl From<&ChannelIn> for Inputs {
    fn from(inputs: &ChannelIn) -> Self {
        let memory = &inputs.memory;
        Inputs {
            dq: inputs.pins.dq,
            read_data: memory.read.data,
            ready: inputs.pins.ready,
            read_at_ready: memory.read_at_ready.into(),
            write_at_ready: memory.write_at_ready.into(),
            write_ready: memory.write_ready.into(),
            read_valid: memory.read.valid.into(),
            read_id: memory.read.id,
            read_response: memory.read.response,
            read_last: memory.read.last.into(),
            answer_valid: memory.answer.valid.into(),
            answer_id: memory.answer.id,
            answer_response: memory.answer.response,
        }
    }
}
