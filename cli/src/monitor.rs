//! The operation monitor's modules by name.

use crate::failure::Failure;
use aster_run_virtual::events::monitor::ShippedModule;
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
    /// The modules, each once.
    ///
    /// # Errors
    /// When one is named twice, or `each_way` is given without a module that has entries for ways.
    pub(crate) fn chosen(&self, each_way: bool) -> Result<Vec<ShippedModule>, Failure> {
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
        Ok(list.to_vec())
    }
}
