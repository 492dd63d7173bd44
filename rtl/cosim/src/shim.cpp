// The Verilated channel as flat C structs; src/model.rs declares the same structs.
#include <cstdint>

#include "VChannel.h"
#include "verilated.h"

extern "C" {

struct AddressPort {
    uint64_t address;
    uint8_t valid, id, length, size, burst;
};

struct Outputs {
    uint64_t dq;
    AddressPort read_at, write_at;
    uint64_t write_data;
    uint64_t mailbox;
    uint32_t ce_n;
    uint32_t over_length;
    uint8_t cle, ale, we_n, re_n, dqs, dqs_enable, dq_enable;
    uint8_t write_valid, write_strobes, write_last;
    uint8_t read_ready, answer_ready;
    uint8_t begin, over, over_slot, over_verdict, over_index, memory_error;
};

struct Inputs {
    uint64_t dq;
    uint64_t read_data;
    uint32_t ready;
    uint8_t read_at_ready, write_at_ready, write_ready;
    uint8_t read_valid, read_id, read_response, read_last;
    uint8_t answer_valid, answer_id, answer_response;
};

struct Model {
    VerilatedContext context;
    VChannel channel{&context};
};

Model* aster_channel_new() {
    auto* model = new Model;
    auto& c = model->channel;
    c.rst_ni = 0;
    c.cpu_rst_ni = 0;
    for (int edge = 0; edge <= 8; edge++) {
        c.clk_i = c.cpu_clk_i = edge & 1;
        c.eval();
    }
    c.rst_ni = 1;
    c.cpu_rst_ni = 1;
    c.eval();
    return model;
}

void aster_channel_delete(Model* model) {
    model->channel.final();
    delete model;
}

void aster_channel_outputs(Model* model, Outputs* out) {
    auto& c = model->channel;
    *out = Outputs{
        .dq = c.dq_o,
        .read_at = {c.axi_araddr_o, c.axi_arvalid_o, c.axi_arid_o, c.axi_arlen_o, c.axi_arsize_o,
                    c.axi_arburst_o},
        .write_at = {c.axi_awaddr_o, c.axi_awvalid_o, c.axi_awid_o, c.axi_awlen_o, c.axi_awsize_o,
                     c.axi_awburst_o},
        .write_data = c.axi_wdata_o,
        .mailbox = c.over_mailbox_o,
        .ce_n = c.ce_no,
        .over_length = c.over_length_o,
        .cle = c.cle_o,
        .ale = c.ale_o,
        .we_n = c.we_no,
        .re_n = c.re_no,
        .dqs = c.dqs_o,
        .dqs_enable = c.dqs_oe_o,
        .dq_enable = c.dq_oe_o,
        .write_valid = c.axi_wvalid_o,
        .write_strobes = c.axi_wstrb_o,
        .write_last = c.axi_wlast_o,
        .read_ready = c.axi_rready_o,
        .answer_ready = c.axi_bready_o,
        .begin = c.begin_o,
        .over = c.over_o,
        .over_slot = c.over_slot_o,
        .over_verdict = c.over_verdict_o,
        .over_index = c.over_index_o,
        .memory_error = c.over_memory_error_o,
    };
}

// The second half of a cycle: the inputs reach the outputs that depend on them without a register.
void aster_channel_evaluate(Model* model, const Inputs* in) {
    auto& c = model->channel;
    c.dq_i = in->dq;
    c.ready_i = in->ready;
    c.axi_arready_i = in->read_at_ready;
    c.axi_awready_i = in->write_at_ready;
    c.axi_wready_i = in->write_ready;
    c.axi_rvalid_i = in->read_valid;
    c.axi_rid_i = in->read_id;
    c.axi_rdata_i = in->read_data;
    c.axi_rresp_i = in->read_response;
    c.axi_rlast_i = in->read_last;
    c.axi_bvalid_i = in->answer_valid;
    c.axi_bid_i = in->answer_id;
    c.axi_bresp_i = in->answer_response;
    c.clk_i = 0;
    c.eval();
}

void aster_channel_edge(Model* model) {
    model->channel.clk_i = 1;
    model->channel.eval();
}

static void cpu_cycle(VChannel& c) {
    c.cpu_clk_i = 0;
    c.eval();
    c.cpu_clk_i = 1;
    c.eval();
}

void aster_channel_write(Model* model, uint16_t offset, uint64_t value) {
    auto& c = model->channel;
    c.reg_valid_i = 1;
    c.reg_write_i = 1;
    c.reg_addr_i = offset;
    c.reg_wdata_i = value;
    cpu_cycle(c);
    c.reg_valid_i = 0;
    c.reg_write_i = 0;
}

uint64_t aster_channel_read(Model* model, uint16_t offset) {
    auto& c = model->channel;
    // Signals that cross from the channel's clock arrive after some cycles of this clock.
    for (int synchroniser = 0; synchroniser < 3; synchroniser++) cpu_cycle(c);
    c.reg_valid_i = 1;
    c.reg_write_i = 0;
    c.reg_addr_i = offset;
    c.cpu_clk_i = 0;
    c.eval();
    const uint64_t value = c.reg_rdata_o;
    c.cpu_clk_i = 1;
    c.eval();
    c.reg_valid_i = 0;
    return value;
}
}
