//! The flags that say who has which cores, for experiments that start servers of their own.

use candor_lab::target::cores::{Split, parse_cores};
use clap::Args;

use crate::exit::Failure;

/// Cores of servers and of the loader.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CoreFlags {
    /// Cores of servers that we start, such as 0-3 [default: the first half]
    #[arg(long, value_name = "CORES", value_parser = cores, help_heading = "Cores")]
    target_cores: Option<Cores>,
    /// Cores of the loader, such as 4-7 [default: the others]
    #[arg(long, value_name = "CORES", value_parser = cores, help_heading = "Cores")]
    loader_cores: Option<Cores>,
}

/// A list of cores; clap would take a bare list for a flag that may be repeated.
#[derive(Debug, Clone)]
struct Cores(Vec<usize>);

fn cores(text: &str) -> Result<Cores, String> {
    parse_cores(text).map(Cores)
}

impl CoreFlags {
    /// The split of the machine.
    pub(crate) fn split(&self) -> Result<Split, Failure> {
        let list = |cores: &'_ Option<Cores>| cores.as_ref().map(|Cores(list)| list.clone());
        let usable = candor_engine::usable_cores();
        let (target, loader) = (list(&self.target_cores), list(&self.loader_cores));
        Ok(Split::choose(&usable, target.as_deref(), loader.as_deref())?)
    }
}
