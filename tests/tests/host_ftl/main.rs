//! Host-FTL: a drive that takes frames and knows no logical address, and FTLs on its host.

mod end;
mod lane;
mod raid;
mod refresh;
mod table;
mod wear;
mod whole;
