use super::{Profile, ProfileError};

/// The shipped profiles by name.
pub const SHIPPED: &[(&str, &str)] = &[
    ("babol", include_str!("../../../profiles/babol.toml")),
    ("cosmos-board", include_str!("../../../profiles/cosmos-board.toml")),
    ("cosmos-ocssd", include_str!("../../../profiles/cosmos-ocssd.toml")),
    ("cosmos-ocssd-2", include_str!("../../../profiles/cosmos-ocssd-2.toml")),
    ("cosmos-plus", include_str!("../../../profiles/cosmos-plus.toml")),
    ("cosmos-tlc", include_str!("../../../profiles/cosmos-tlc.toml")),
    ("host-ftl", include_str!("../../../profiles/host-ftl.toml")),
    ("host-ftl-small", include_str!("../../../profiles/host-ftl-small.toml")),
    ("ideal", include_str!("../../../profiles/ideal.toml")),
    ("pocket", include_str!("../../../profiles/pocket.toml")),
    ("pocket-ocssd", include_str!("../../../profiles/pocket-ocssd.toml")),
    ("pocket-ocssd-2", include_str!("../../../profiles/pocket-ocssd-2.toml")),
    ("softssd", include_str!("../../../profiles/softssd.toml")),
    ("softssd-small", include_str!("../../../profiles/softssd-small.toml")),
    ("tiny", include_str!("../../../profiles/tiny.toml")),
];

/// A shipped profile by name.
///
/// # Errors
/// When no profile has that name. The reason lists the names that exist.
pub fn shipped(name: &str) -> Result<Profile, ProfileError> {
    match SHIPPED.iter().find(|(n, _)| *n == name) {
        Some((name, text)) => Profile::parse(&format!("profiles/{name}.toml"), text),
        None => {
            let names: Vec<_> = SHIPPED.iter().map(|(n, _)| *n).collect();
            Err(ProfileError {
                file: name.to_owned(),
                line: None,
                key: None,
                reason: format!("no such file, and no shipped profile: those are {}", names.join(", ")),
            })
        }
    }
}
