//! The operation monitor's modules by name.

use aster_device::Profile;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::monitor::lack_of;
use aster_observe::monitor::ShippedModule;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Which modules listen.
#[derive(Args, Clone, Debug)]
pub(crate) struct ModulesArgs {
    /// The operation monitor's modules, in the order of their entries in the table, separated by commas
    /// [default: all]
    #[arg(long = "monitor-modules", value_name = "LIST", value_delimiter = ',',
          requires = "samples", value_parser = shipped_module())]
    list: Option<Vec<ShippedModule>>,
}

/// Takes a module's name; the error and the long help name all of them.
fn shipped_module() -> impl TypedValueParser<Value = ShippedModule> {
    let known = ShippedModule::ALL.map(|module| PossibleValue::new(module.name()).help(module.summary()));
    PossibleValuesParser::new(known).map(|name| {
        let of_name = ShippedModule::ALL.into_iter().find(|module| module.name() == name);
        of_name.expect("the parser takes the names of modules")
    })
}

impl ModulesArgs {
    /// The modules, each once, for a drive of this profile: without those of what it doesn't have.
    ///
    /// # Errors
    /// When one is named twice, or `each_way` is given without a module that has entries for ways, or one is
    /// named of what the drive doesn't have.
    pub(crate) fn chosen(&self, profile: &Profile, each_way: bool) -> Result<Vec<ShippedModule>, Failure> {
        let named = self.list.iter().flatten();
        if let Some(lack) = named.filter_map(|&module| lack_of(module, profile)).next() {
            return Err(Failure::usage(format!("--monitor-modules: the drive has no {lack}")));
        }
        let list = self.list.as_deref().unwrap_or(&ShippedModule::ALL);
        for (place, module) in list.iter().enumerate() {
            if list[..place].contains(module) {
                return Err(Failure::usage(format!(
                    "--monitor-modules: {} stands there twice",
                    module.name()
                )));
            }
        }
        if each_way && !list.contains(&ShippedModule::Ways) {
            return Err(Failure::usage("--monitor-ways: --monitor-modules leaves the module ways out"));
        }
        Ok(list.iter().copied().filter(|&module| lack_of(module, profile).is_none()).collect())
    }
}
