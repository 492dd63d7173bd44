//! `aster open-channel`.

use aster_openchannel::BlockFlags;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

pub(super) const OPEN_CHANNEL_EXAMPLES: &str = "\
Examples:
  aster open-channel cosmos-ocssd id
  aster open-channel pocket-ocssd table ch0.lun1
  aster open-channel pocket-ocssd --image d.aster erase ch0.lun0.blk5
  echo hello | aster open-channel pocket-ocssd --image d.aster write ch0.lun0.pl0.blk5.pg0 --data -
  aster open-channel pocket-ocssd --image d.aster read ch0.lun0.pl0.blk5.pg0 --data out.bin
  aster open-channel pocket-ocssd --image d.aster mark grown-bad ch1.lun0.blk7
  aster open-channel pocket-ocssd-2 report ch0.lun1

An address is ch7.lun7.pl0.blk1.pg0.sec0, or the physical page address as a number, 0xfc0200; on a \
drive of 2.0 the logical block. Without sec it \
names all sectors of the page, and without pl the blocks or pages of all planes. Erase and mark ignore page \
and sector. One command carries 1 to 64 addresses.

Exit status: 0 when the drive did everything, 1 when a sector or block failed, 2 for mistakes in the command \
line or profile, 130 when it was interrupted.";

#[derive(Args, Debug)]
pub(crate) struct OpenChannelArgs {
    /// A shipped profile (see `aster profiles`) or a TOML file, with host.command_set =
    /// "open-channel-1.2" or "open-channel-2.0"
    pub(crate) profile: PathBuf,
    /// Keep the drive in this file; it is made when there is none [default: in memory, gone afterwards]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) image: Option<PathBuf>,
    /// Print what the drive answers as JSON on standard output, and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Override a key of the profile, such as ftl.buffer_entries=64, or take it away by KEY=; may be repeated
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub(crate) set: Vec<String>,
    #[command(subcommand)]
    pub(crate) command: VectorCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum VectorCommand {
    /// Print what the drive says of itself: its array, the format of addresses, its times (E2h)
    Id,
    /// Print the bad-block tables of LUNs, on a drive of 1.2 (F2h)
    Table {
        /// The LUNs, such as ch0.lun1 [default: all]
        luns: Vec<String>,
    },
    /// Print the chunks of LUNs: states and write pointers, on a drive of 2.0 (log page CAh)
    Report {
        /// The LUNs, such as ch0.lun1 [default: all]
        luns: Vec<String>,
    },
    /// Read sectors and their metadata (92h), or as they are in the array (96h)
    Read {
        /// The sectors
        #[arg(required = true)]
        addresses: Vec<String>,
        /// Write the data to this file
        #[arg(long, value_name = "FILE")]
        data: Option<PathBuf>,
        /// Write the metadata to this file, 16 bytes per sector; with --raw the spare area's bytes
        #[arg(long, value_name = "FILE")]
        metadata: Option<PathBuf>,
        /// Read without ECC and scrambler, with each sector's share of the spare area in place of metadata;
        /// the drive must have been built with ftl.raw_vectors
        #[arg(long)]
        raw: bool,
    },
    /// Write sectors: whole pages, each the next one of its block (91h), or as they are to be in the
    /// array (95h)
    Write {
        /// The sectors, in the order of the data
        #[arg(required = true)]
        addresses: Vec<String>,
        /// The data, from a file or standard input (`-`); zeroes follow a shorter one
        #[arg(long, value_name = "FILE")]
        data: PathBuf,
        /// The metadata, 16 bytes per sector; with --raw the spare area's bytes; zeroes follow a shorter one
        /// [default: zeroes]
        #[arg(long, value_name = "FILE")]
        metadata: Option<PathBuf>,
        /// Write without ECC and scrambler, with each sector's share of the spare area in place of metadata;
        /// the drive must have been built with ftl.raw_vectors
        #[arg(long)]
        raw: bool,
    },
    /// Erase blocks, or reset chunks (90h)
    Erase {
        /// The blocks
        #[arg(required = true)]
        addresses: Vec<String>,
    },
    /// Set the state of blocks in the bad-block table, on a drive of 1.2 (F1h)
    Mark {
        /// The state
        state: StateArg,
        /// The blocks
        #[arg(required = true)]
        addresses: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StateArg {
    /// May be written
    Free,
    /// Was bad when the package was made
    FactoryBad,
    /// Went bad in use
    GrownBad,
    /// Is the drive's own
    Device,
    /// Is the host's, for what it likes
    Host,
}

impl From<StateArg> for BlockFlags {
    fn from(state: StateArg) -> BlockFlags {
        match state {
            StateArg::Free => BlockFlags::Free,
            StateArg::FactoryBad => BlockFlags::FactoryBad,
            StateArg::GrownBad => BlockFlags::GrownBad,
            StateArg::Device => BlockFlags::Device,
            StateArg::Host => BlockFlags::Host,
        }
    }
}
