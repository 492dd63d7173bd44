//! Runs a drive in deterministic virtual time: a host value and a device value, each with its own clock,
//! advanced in turn (design §1, §2). A run is a function of profile, workload and seed.
#![forbid(unsafe_code)]

mod image;
mod machine;

pub use image::{
    CheckStage, CloneSerial, ImageCheck, ImageError, ImageInfo, KeptProfile, check_image, check_image_pages,
    check_image_with, clone_image, image_info, image_state, is_image, is_serial, keep_profile, kept_profile,
    make_image, open_image, open_image_live,
};
pub use machine::{Machine, RunError, VirtualBar};
