//! The profile that a user names, with what overrides it.

use super::failure::Failure;
use super::files::{HAND_WRITTEN_MAX, read_text};
use super::set;
use crate::warning::Warning;
use aster_device::FreshErrors;
use aster_device::profile::{PACKAGES, Profile, SHIPPED};
use aster_image::{KeptProfile, is_image, kept_profile};
use std::path::{MAIN_SEPARATOR, Path};

/// A profile and what to call it.
pub struct Named {
    /// The shipped profile's name, or the file's without its ending.
    pub name: String,
    /// The profile, checked.
    pub profile: Profile,
}

/// The profile that the user named, with overrides applied.
///
/// # Errors
/// When there is none, or it is wrong.
pub fn find(wanted: &Path, overrides: &[String]) -> Result<Named, Failure> {
    find_with(wanted, None, overrides)
}

/// The profile that the user named, or else the one that the image at `image` keeps, with overrides applied.
///
/// # Errors
/// As [`find`], and when there is no image, or it keeps none.
pub fn find_or_kept(
    wanted: Option<&Path>,
    image: Option<&Path>,
    overrides: &[String],
) -> Result<Named, Failure> {
    let image = match (wanted, image) {
        (Some(wanted), _) => return find(wanted, overrides),
        (None, Some(image)) => image,
        (None, None) => return Err(Failure::usage("name a profile (see `aster profiles`)")),
    };
    if !image.exists() {
        return Err(Failure::file(image, "no such image; name a profile, and it is made as that drive"));
    }
    if image.is_dir() {
        return Err(Failure::file(image, "is a folder; name a file"));
    }
    let Some(KeptProfile { name, text }) = kept_profile(image)? else {
        let problem = "keeps no profile yet: name the one that it was made with, which `aster run` and \
                       `aster serve` let it keep from then on";
        return Err(Failure::file(image, problem));
    };
    let of_image = format!("{}'s profile", image.display());
    // The text is Aster's own. If this version refuses it, another one wrote it.
    if let Err(error) = Profile::parse(&of_image, &text) {
        return Err(Failure::usage(format!(
            "{error}. Another version of Aster kept this profile, or a program with pieces of its own: use \
             that one, or name a profile, which may have pieces of Aster's in their place"
        )));
    }
    let profile = set::parse_with(&of_image, &text, overrides)?;
    set::refuse_unread(&profile, overrides)?;
    Ok(Named { name, profile })
}

/// As [`find`], with the profile's package replaced by the shipped package `part`, if given.
///
/// # Errors
/// Also when there is no such package, or the profile's page format doesn't fit it.
pub fn find_with(wanted: &Path, part: Option<&str>, overrides: &[String]) -> Result<Named, Failure> {
    if let Some(part) = part
        && !PACKAGES.iter().any(|(name, _)| *name == part)
    {
        let known: Vec<_> = PACKAGES.iter().map(|(name, _)| *name).collect();
        return Err(Failure::usage(format!(
            "--package {part}: no such package; there are {}",
            known.join(", ")
        )));
    }
    let source = Source::find(wanted)?;
    let profile = match part {
        None => source.profile(overrides)?,
        Some(part) => Source {
            file: format!("{} with package {part}", source.file),
            text: set::with_package(&source.file, &source.text, part)?,
            name: String::new(),
        }
        .profile(overrides)?,
    };
    Ok(Named { name: source.name, profile })
}

/// The text of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The shipped profile's name, or the file's without its ending.
    pub name: String,
    /// What errors call it.
    pub file: String,
    /// The text.
    pub text: String,
}

impl Source {
    /// Of the profile that the user named.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(wanted: &Path) -> Result<Self, Failure> {
        if let Some((name, text)) = shipped(wanted) {
            let file = format!("profiles/{name}.toml");
            return Ok(Source { name: name.to_owned(), file, text: text.to_owned() });
        }
        if !wanted.exists() && !looks_like_a_file(wanted) {
            return Err(unknown(wanted));
        }
        if !wanted.exists()
            && let Some((name, _)) = wanted.file_stem().and_then(|stem| shipped(Path::new(stem)))
        {
            return Err(Failure::file(
                wanted,
                format!("no such file; the shipped profile is named without an ending: {name}"),
            ));
        }
        if is_image(wanted) {
            let problem = "is a drive's image, but a profile is expected here: name the profile that it was \
                           made with, and this file with --image, if the command has that option";
            return Err(Failure::file(wanted, problem));
        }
        let text = read_text(wanted, HAND_WRITTEN_MAX, "a profile")?;
        let name = wanted.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(Source { name, file: wanted.display().to_string(), text })
    }

    /// The profile with `overrides` applied.
    ///
    /// # Errors
    /// When it, or one of them, is wrong.
    pub fn profile(&self, overrides: &[String]) -> Result<Profile, Failure> {
        let profile = set::parse_with(&self.file, &self.text, overrides)?;
        set::refuse_unread(&profile, overrides)?;
        Ok(profile)
    }
}

/// The shipped profile of that name, and its text.
pub fn shipped(wanted: &Path) -> Option<(&'static str, &'static str)> {
    SHIPPED.iter().copied().find(|(name, _)| wanted.to_str() == Some(name))
}

/// True for a name that can't be meant as a shipped profile's.
fn looks_like_a_file(wanted: &Path) -> bool {
    wanted.extension().is_some() || wanted.to_string_lossy().contains(MAIN_SEPARATOR)
}

/// Neither a file nor a shipped profile is called that.
pub fn unknown(wanted: &Path) -> Failure {
    let wanted = wanted.to_string_lossy();
    let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let nearest = names
        .iter()
        .map(|name| (aster_units::edit_distance(&wanted, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len() / 2)
        .map_or(".".to_owned(), |(_, name)| format!("; did you mean \"{name}\"?"));
    Failure::usage(format!(
        "\"{wanted}\" is neither a file nor a shipped profile{nearest} Shipped are {}.",
        names.join(", ")
    ))
}

/// Above this share of lost chunks in new pages there is a warning.
const LOSS_WORTH_A_WORD: f64 = 1e-6;

/// A warning when the profile's ECC can hardly correct even new cells.
pub fn doubt(fresh: &FreshErrors) -> Option<Warning> {
    (fresh.lost > LOSS_WORTH_A_WORD).then(|| {
        let message = format!(
            "package.errors.fresh: in the worst pages of a new block one chunk in {:.0} has more than the {} \
             wrong bits that \
             ecc.corrected allows: expect reads to fail",
            1.0 / fresh.lost,
            fresh.corrected
        );
        Warning::new("fresh-errors", message).with([("lost_share", fresh.lost)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(wanted: &str) -> String {
        match find(Path::new(wanted), &[]) {
            Ok(_) => panic!("{wanted} was found"),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn a_misspelt_profile_gets_the_nearest_name() {
        assert!(problem("cosmos-puls").contains("did you mean \"cosmos-plus\"?"));
        assert!(problem("idael").contains("did you mean \"ideal\"?"));
        let far = problem("quantum-drive");
        assert!(
            !far.contains("did you mean")
                && aster_device::profile::SHIPPED.iter().all(|(name, _)| far.contains(name)),
            "{far}"
        );
    }

    #[test]
    fn a_missing_file_is_told_as_a_file() {
        assert!(problem("nowhere/my.toml").starts_with("nowhere/my.toml: "));
        for shipped in ["tiny.toml", "profiles/tiny.toml"] {
            let told = problem(shipped);
            assert!(
                told.starts_with(&format!("{shipped}: no such file")) && told.ends_with(": tiny"),
                "{told}"
            );
        }
        assert!(!problem("mine.toml").contains("shipped"));
    }

    #[test]
    fn every_shipped_profile_is_found_by_its_name() {
        for (name, _) in SHIPPED {
            assert_eq!(find(Path::new(name), &[]).map_err(|e| e.to_string()).unwrap().name, *name);
        }
    }
}
