//! What a command does at the same page of several lanes of an array controller: one operation of theirs
//! (H2, G24).

use crate::config::VectorsConfig;
use aster_ports::flash::{Flags, FlashRequest, TOGETHER_MAX};
use aster_units::PageInBlock;

/// Requests that are submitted together, or a single one.
pub(crate) struct Group {
    page: PageInBlock,
    requests: [FlashRequest; TOGETHER_MAX],
    count: usize,
}

impl Group {
    /// A request for `page` of its block.
    pub fn of(request: FlashRequest, page: PageInBlock) -> Self {
        Group { page, requests: [request; TOGETHER_MAX], count: 1 }
    }
    /// The requests, in the order in which they joined.
    pub fn requests(&self) -> &[FlashRequest] {
        &self.requests[..self.count]
    }
    /// Adds a request if it is for the same page of the same die on a later lane of the same controller. Each
    /// lane has its own block.
    pub fn join(&mut self, request: &FlashRequest, page: PageInBlock, config: &VectorsConfig) -> bool {
        let last = &self.requests[self.count - 1];
        let plain = |r: &FlashRequest| r.targets().len() == 1 && r.flags == Flags::default();
        let place = |r: &FlashRequest| config.geometry.lun_addr(r.lun);
        let (before, behind) = (place(last), place(request));
        let controller = |channel: u16| channel.checked_div(config.lanes.into());
        let joins = self.count < TOGETHER_MAX
            && controller(before.channel).is_some()
            && controller(before.channel) == controller(behind.channel)
            && before.channel < behind.channel
            && (before.way, before.lun, self.page) == (behind.way, behind.lun, page)
            && last.phase == request.phase
            && plain(last)
            && plain(request);
        if joins {
            self.requests[self.count] = *request;
            self.count += 1;
        }
        joins
    }
}
