//! Profiles.

use crate::asking::Asking;
use crate::errors::{UsageError, json, raised};
use aster_lab::asked::drives;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::profiles::{Named, Source};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A profile with its overrides applied.
#[pyclass(frozen, module = "aster._aster")]
pub(crate) struct Profile {
    /// As the user named it.
    wanted: PathBuf,
    source: Source,
    pub(crate) overrides: Vec<String>,
    pub(crate) profile: aster_device::Profile,
}

impl Profile {
    fn new(wanted: PathBuf, source: Source, overrides: Vec<String>) -> Result<Self, Failure> {
        let profile = source.profile(&overrides)?;
        Ok(Profile { wanted, source, overrides, profile })
    }

    /// As the user named it.
    pub(crate) fn wanted(&self) -> &Path {
        &self.wanted
    }

    /// What reports call it.
    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }
}

#[pymethods]
impl Profile {
    /// The profile that is called so, or the one in that file, with `KEY=VALUE` overrides applied.
    #[staticmethod]
    fn find(wanted: PathBuf, overrides: Vec<String>) -> PyResult<Self> {
        let source = Source::find(&wanted).map_err(|failure| raised(&failure))?;
        Profile::new(wanted, source, overrides).map_err(|failure| raised(&failure))
    }

    /// As [`Profile::find`], of a profile whose name, file and text are known.
    #[staticmethod]
    fn of_text(
        wanted: PathBuf,
        name: String,
        file: String,
        text: String,
        overrides: Vec<String>,
    ) -> PyResult<Self> {
        Profile::new(wanted, Source { name, file, text }, overrides).map_err(|failure| raised(&failure))
    }

    /// The same with further overrides.
    fn changed(&self, overrides: Vec<String>) -> PyResult<Self> {
        let all = self.overrides.iter().cloned().chain(overrides).collect();
        Profile::new(self.wanted.clone(), self.source.clone(), all).map_err(|failure| raised(&failure))
    }

    #[getter(name)]
    fn name_for_python(&self) -> &str {
        self.name()
    }

    #[getter]
    fn overrides(&self) -> Vec<String> {
        self.overrides.clone()
    }

    /// What [`Profile::of_text`] makes the same of.
    #[getter]
    fn parts(&self) -> (&Path, &str, &str, &str, Vec<String>) {
        let Source { name, file, text } = &self.source;
        (&self.wanted, name, file, text, self.overrides.clone())
    }

    /// The whole profile as TOML, with all defaults filled in.
    fn to_toml(&self) -> PyResult<String> {
        self.profile.to_toml().map_err(|error| UsageError::new_err(error.to_string()))
    }

    /// All keys as JSON.
    fn keys_json(&self) -> PyResult<String> {
        json(&self.profile)
    }

    /// What `aster check --json` prints.
    fn check_json(&self, py: Python<'_>) -> PyResult<String> {
        let named = Named { name: self.source.name.clone(), profile: self.profile.clone() };
        let checked = Asking::while_detached(py, |asking| {
            drives::check(&self.wanted, named, &mut || asking.goes_on(None, None, 0.0))
        })?;
        json(&checked.map_err(|failure| raised(&failure))?.0)
    }
}

/// The shipped profiles as JSON.
#[pyfunction]
pub(crate) fn profiles() -> PyResult<String> {
    json(&drives::listed().map_err(|failure| raised(&failure))?)
}
