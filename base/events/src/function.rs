//! The functions of the firmware, as the papers name them (Cosmos+ C32 to C41), and the costs of a
//! profile that belong to each.

macro_rules! functions {
    ($( $(#[doc = $doc:literal])* $name:ident $snake:literal [$($cost:literal),*] )*) => {
        /// A function of the firmware that a core spends its time in.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        pub enum Function { $( $(#[doc = $doc])* $name ),* }

        impl Function {
            /// All functions in the order of declaration, which is the order in which a command passes
            /// them.
            pub const ALL: &'static [Function] = &[$(Function::$name),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();
            /// Its name, `snake_case`.
            pub const fn name(self) -> &'static str {
                match self { $(Function::$name => $snake),* }
            }
            /// What it does, in a few words.
            pub const fn summary(self) -> &'static str {
                match self { $(Function::$name => concat!($($doc),*)),* }.trim_ascii()
            }
            /// The profile's costs that are charged for it: keys of `[costs]`.
            pub const fn costs(self) -> &'static [&'static str] {
                match self { $(Function::$name => &[$($cost),*]),* }
            }
        }
    };
}

functions! {
    /// looks for commands, takes and answers them
    NvmeManager "nvme_manager" ["command", "complete", "loop_pass"]
    /// divides commands into slices
    NvmCommandManager "nvm_command_manager" ["slice"]
    /// finds and allocates data buffer entries
    DataBufferManager "data_buffer_manager" ["buffer"]
    /// looks logical pages up and maps them anew
    AddressTranslator "address_translator" ["translate"]
    /// asks for host DMA
    HostDma "host_dma" ["dma"]
    /// moves pages in garbage collection
    GarbageCollector "garbage_collector" ["move_page"]
    /// replays the log after power-on
    Recovery "recovery" ["replay"]
    /// looks whether operations have ended
    StatusChecker "status_checker" ["loop_status"]
    /// brings an operation that has ended to its set and its way
    DependencyChecker "dependency_checker" ["loop_finish"]
    /// orders a channel's operations
    PriorityManager "priority_manager" ["loop_compare"]
    /// passes operations to the controllers
    Issuer "issuer" ["loop_issue"]
    /// has reads repeated that could not be corrected
    ReadRetry "read_retry" []
    /// takes a flash request and starts its operation
    FlashRequest "flash_request" ["flash_request"]
    /// builds and enqueues transactions
    Transaction "transaction" ["transaction"]
    /// looks at the status of a LUN that was busy
    Polling "polling" ["poll"]
    /// fetches NVMe commands, moves their data and completes them
    NvmeSoftware "nvme_software" [
        "nvme_fetch", "nvme_parse", "nvme_transfer", "nvme_complete", "nvme_interrupt",
        "nvme_register"
    ]
    /// takes flash requests into queues, starts their phases and polls for the ends of these
    FlashInterface "flash_interface" ["fil_take", "fil_dispatch", "fil_poll", "fil_finish"]
    /// passes frames with wrong bits to the ECC engine, which corrects them, and encodes for a CRC detector
    Correction "correction" ["ecc_submit", "ecc_frame", "ecc_error", "ecc_encode"]
    /// builds packets and looks at those that come back
    TransactionLayer "transaction_layer" [
        "tlp_build", "tlp_receive", "tlp_copy_kib", "tlp_describe", "tlp_notice"
    ]
}

impl Function {
    /// The function with this number in events.
    pub fn of_number(number: u8) -> Option<Function> {
        Self::ALL.get(usize::from(number)).copied()
    }
    /// Its number in events.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// The firmware of a drive, as the operation monitor needs to know it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Firmware {
    /// Cores that it runs on.
    pub cores: u8,
    /// Of them, those of array controllers: from number 1 on. 0 where flash software has one core at most.
    pub controllers: u8,
    /// Its functions that cost time, in the order of [`Function::ALL`].
    pub functions: alloc::vec::Vec<Function>,
}

impl Firmware {
    /// What to call a core, by its number.
    pub fn core_name(&self, core: u8) -> alloc::string::String {
        match core.checked_sub(1) {
            Some(controller) if controller < self.controllers => alloc::format!("controller {controller}"),
            _ => alloc::format!("core {core}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn numbers_names_and_costs_are_one_functions_alone() {
        let names: BTreeSet<_> = Function::ALL.iter().map(|f| f.name()).collect();
        assert_eq!(names.len(), Function::COUNT);
        let costs: alloc::vec::Vec<_> = Function::ALL.iter().flat_map(|f| f.costs()).collect();
        assert_eq!(costs.iter().collect::<BTreeSet<_>>().len(), costs.len());
        for &function in Function::ALL {
            assert_eq!(Function::of_number(function.number()), Some(function));
        }
        assert_eq!(Function::of_number(Function::COUNT as u8), None);
    }
}
