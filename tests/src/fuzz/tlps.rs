//! Transaction layer packets: any bytes, and packets that are nearly right.

use super::input::Input;
use aster_wire::pcie::tlp::{
    Completion, CompletionStatus, ConfigRequest, FunctionId, MemoryRequest, Message, MessageCode, Tag, Tlp,
    TlpHeader,
};

/// A packet's header without an error.
fn header(input: &mut Input) -> TlpHeader {
    let (function, tag) = (FunctionId(input.u32() as u16), Tag::new(input.below(1024) as u16));
    match input.below(4) {
        0 => {
            let address = if input.u8() < 128 { u64::from(input.u32()) } else { input.u64() >> 8 };
            let most = 4096 - (address % 4096) as u32;
            let bytes = input.below(most.min(600) + 1);
            let write = bytes > 0 && input.u8() < 128;
            TlpHeader::Memory(MemoryRequest::of_memory(write, function, tag, address, bytes))
        }
        1 => TlpHeader::Config(ConfigRequest {
            write: input.u8() < 128,
            forwarded: input.u8() < 128,
            requester: function,
            tag,
            target: FunctionId(input.u32() as u16),
            register: input.below(1024) as u16,
            enables: input.below(16) as u8,
            poisoned: input.u8() < 128,
        }),
        2 => {
            let empty = Completion::without_data(function, input.of(CompletionStatus::ALL), function, tag);
            let lower_address = input.below(128) as u8;
            let byte_count = 1 + input.below(4096) as u16;
            let most = (u32::from(lower_address & 3) + u32::from(byte_count)).div_ceil(4);
            let data = empty.status == CompletionStatus::Success;
            let dwords = if data { input.below(most.min(200) + 1) as u16 } else { 0 };
            TlpHeader::Completion(Completion { byte_count, lower_address, dwords, ..empty })
        }
        _ => TlpHeader::Message(Message {
            routing: input.below(6) as u8,
            code: input.of(MessageCode::ALL),
            requester: function,
            tag,
            rest: input.u64(),
            dwords: input.below(8) as u16,
            attributes: Default::default(),
        }),
    }
}

/// What is accepted is written back, bit for bit.
fn parses(packet: &[u8]) -> bool {
    match Tlp::parse(packet) {
        Ok(tlp) => {
            let mut back = vec![0; packet.len()];
            assert_eq!(tlp.encode(&mut back), packet.len());
            assert_eq!(back, packet);
            if let TlpHeader::Memory(request) = tlp.header {
                let (from, bytes) = request.span();
                assert!(from / 4096 == (from + u64::from(bytes.max(1)) - 1) / 4096, "{request:?}");
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    while !input.is_empty() {
        let header = header(&mut input);
        let payload: Vec<u8> = (0..header.payload_bytes()).map(|n| n as u8).collect();
        let mut packet = vec![0; header.bytes() + payload.len()];
        Tlp { header, payload: &payload }.encode(&mut packet);
        assert!(parses(&packet), "{header:?}");
        assert_eq!(Tlp::parse(&packet).map(|tlp| tlp.header), Ok(header));
        // One bit, or the length, is wrong.
        let at = input.below(packet.len() as u32) as usize;
        packet[at] ^= 1 << input.below(8);
        parses(&packet);
        packet.truncate(input.below(packet.len() as u32 + 1) as usize);
        parses(&packet);
        parses(input.take(20));
    }
}
