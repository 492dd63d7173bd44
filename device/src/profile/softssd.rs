//! Keys of SoftSSD's parts: what may stand beside what.

use super::check::range;
use super::ecc::{CorrectionName, DetectorName};
use super::host::{ArbitrationName, NVME, NVME_SOFTWARE, TransportName, WORKERS_PER_QUEUE};
use super::schema::{COSMOS, Profile};

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
        if c.ecc_encode > 0 && e.detector != DetectorName::Crc {
            return refuse("costs.ecc_encode", "must be 0 without ecc.detector = \"crc\"");
        }
        if e.correction == CorrectionName::Hardware {
            if e.detector != DetectorName::Syndromes {
                return refuse(
                    "ecc.detector",
                    "must be \"syndromes\" without ecc.correction = \"on-demand\"",
                );
            }
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
                ("costs.nvme_register", c.nvme_register),
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
        self.check_workers(workers.into())?;
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

    /// A worker takes memory from the beginning, its stack above all. The admin queue has workers, too.
    fn check_workers(&self, each: u32) -> Result<(), Refused> {
        let (pairs, stacks) = (u32::from(self.host.queue_pairs), self.cores.stack_bytes().is_some());
        let (most, what) = match stacks {
            true => (STACKS_MAX, "workers with cores.tasks = \"stackful\""),
            false => (WORKERS_MAX, "workers"),
        };
        let all = (pairs + 1) * each;
        if all <= most {
            return Ok(());
        }
        let reason = format!(
            "must be at most {} with {each} workers per queue, since there is memory for {most} {what}, but \
             is {pairs}, which needs {all}",
            most / each - 1
        );
        Err(("host.queue_pairs", reason))
    }

    /// The FIFO is hardware's, and its registers take time.
    pub(super) fn check_command_fifo(&self) -> Result<(), Refused> {
        let needs = |ok, what: &str| match ok || !self.host.command_fifo {
            true => Ok(()),
            false => Err(("host.command_fifo", format!("must go with {what}"))),
        };
        needs(self.host.front_end == NVME, "host.front_end = \"nvme\", which alone has it")?;
        let policy = &self.scheduler.policy;
        needs(
            policy != COSMOS,
            "another scheduler.policy than \"cosmos\", whose loop always pays for its registers",
        )?;
        let takes_time = self.board.buses.register_cycles > 0.0;
        needs(takes_time, "board.buses.register_cycles above 0, since an access takes no time without")
    }

    /// Packets are NVMe's in software, and have costs and limits of their own.
    pub(super) fn check_packets(&self) -> Result<(), Refused> {
        let (host, c) = (&self.host, &self.costs);
        let refuse = |key, reason: &str| Err((key, reason.to_owned()));
        if host.transport == TransportName::Link {
            if host.completion_offload.is_some() {
                return refuse("host.completion_offload", "must go with host.transport = \"tlp\"");
            }
            if host.register_packets {
                return refuse("host.register_packets", "must go with host.transport = \"tlp\"");
            }
            for (key, cycles) in [
                ("costs.tlp_build", c.tlp_build),
                ("costs.tlp_receive", c.tlp_receive),
                ("costs.tlp_copy_kib", c.tlp_copy_kib),
                ("costs.tlp_describe", c.tlp_describe),
                ("costs.tlp_notice", c.tlp_notice),
            ] {
                if cycles > 0 {
                    return refuse(key, "must be 0 without host.transport = \"tlp\"");
                }
            }
            return Ok(());
        }
        if host.front_end != NVME_SOFTWARE {
            let reason = format!(
                "must be \"link\" with host.front_end = \"{}\": only \"{NVME_SOFTWARE}\" sends \
                 packets itself",
                host.front_end
            );
            return Err(("host.transport", reason));
        }
        let link = &self.link;
        if !link.packet_payload.is_power_of_two() || link.packet_payload < 128 {
            let reason = format!(
                "must be a power of two from 128 to 4096 with host.transport = \"tlp\", where it is the \
                 function's Max_Payload_Size, but is {}",
                link.packet_payload
            );
            return Err(("link.packet_payload", reason));
        }
        if link.latency_ns > PACKET_LATENCY_MAX_NS {
            let reason = format!(
                "must be at most {PACKET_LATENCY_MAX_NS} with host.transport = \"tlp\", whose reads wait \
                 50 ms for their answers, but is {}",
                link.latency_ns
            );
            return Err(("link.latency_ns", reason));
        }
        Ok(())
    }
}

/// Eight for each of 65,535 queue pairs, and again as many: they take some 4 GiB.
const WORKERS_MAX: u32 = 1 << 20;
/// A stack is two areas of the process, of which Linux permits 65,530 (`vm.max_map_count`).
const STACKS_MAX: u32 = 30_000;
/// The largest latency of a link of packets: a read passes the link twice, behind what is before it.
const PACKET_LATENCY_MAX_NS: u32 = 1_000_000;
