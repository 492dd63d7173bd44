//! Keys of SoftSSD's parts: what may stand beside what.

use super::check::range;
use super::ecc::CorrectionName;
use super::schema::{ArbitrationName, COSMOS, NVME_SOFTWARE, Profile, WORKERS_PER_QUEUE};

type Refused = (&'static str, String);

impl Profile {
    /// Correction in hardware has latencies; correction in software has a core and costs.
    pub(super) fn check_correction(&self) -> Result<(), Refused> {
        let (e, c) = (&self.ecc, &self.costs);
        let refuse = |key, reason: &str| Err((key, reason.to_owned()));
        if let Some(mhz) = self.cores.ecc_mhz {
            range("cores.ecc_mhz", mhz, 1.0, 1e5)?;
            if !self.cores.ecc_core {
                return refuse("cores.ecc_mhz", "must be left out without cores.ecc_core");
            }
        }
        if e.correction == CorrectionName::Hardware {
            if self.cores.ecc_core {
                return refuse("cores.ecc_core", "must go with ecc.correction = \"on-demand\"");
            }
            for (key, cycles) in [
                ("costs.ecc_submit", c.ecc_submit),
                ("costs.ecc_frame", c.ecc_frame),
                ("costs.ecc_error", c.ecc_error),
            ] {
                if cycles > 0 {
                    return refuse(key, "must be 0 without ecc.correction = \"on-demand\"");
                }
            }
            return Ok(());
        }
        if e.scrambler {
            return refuse(
                "ecc.correction",
                "must be \"hardware\" with ecc.scrambler: with a wrong bit in its seed, a page can't be \
                 descrambled before it is corrected",
            );
        }
        for (key, used) in [
            ("ecc.correct_ns", e.correct_ns > 0),
            ("ecc.solver_channels", e.solver_channels > 0),
            ("ecc.solver_ns", e.solver_ns > 0),
        ] {
            if used {
                return refuse(
                    key,
                    "must be 0 with ecc.correction = \"on-demand\", which spends cycles instead",
                );
            }
        }
        if self.scheduler.policy == COSMOS {
            return refuse(
                "ecc.correction",
                "must be \"hardware\" with scheduler.policy = \"cosmos\", which sends a page to the host as \
                 soon as it has been read",
            );
        }
        Ok(())
    }

    /// NVMe in software has workers and costs; NVMe in hardware has latencies and an arbiter.
    pub(super) fn check_nvme_software(&self) -> Result<(), Refused> {
        let (host, c) = (&self.host, &self.costs);
        let refuse = |key, reason: &str| Err((key, reason.to_owned()));
        if host.front_end != NVME_SOFTWARE {
            if host.workers_per_queue.is_some() {
                return refuse("host.workers_per_queue", "must be left out without \"nvme-software\"");
            }
            for (key, cycles) in [
                ("costs.nvme_fetch", c.nvme_fetch),
                ("costs.nvme_parse", c.nvme_parse),
                ("costs.nvme_transfer", c.nvme_transfer),
                ("costs.nvme_complete", c.nvme_complete),
                ("costs.nvme_interrupt", c.nvme_interrupt),
            ] {
                if cycles > 0 {
                    return refuse(key, "must be 0 without \"nvme-software\"");
                }
            }
            return Ok(());
        }
        let workers = host.workers_per_queue();
        if !(1..=64).contains(&workers) {
            return Err(("host.workers_per_queue", format!("must be from 1 to 64, but is {workers}")));
        }
        for (key, nanoseconds) in [
            ("host.fetch_ns", host.fetch_ns),
            ("host.completion_ns", host.completion_ns),
            ("host.dma_ns", host.dma_ns),
        ] {
            if nanoseconds > 0 {
                return refuse(key, "must be 0 with \"nvme-software\", which spends cycles instead");
            }
        }
        if host.fetch_batch != WORKERS_PER_QUEUE {
            return refuse(
                "host.fetch_batch",
                "must be left out with \"nvme-software\": workers take single entries",
            );
        }
        if host.arbitration != ArbitrationName::RoundRobin {
            return refuse(
                "host.arbitration",
                "must be left out with \"nvme-software\": each queue has workers",
            );
        }
        Ok(())
    }
}
