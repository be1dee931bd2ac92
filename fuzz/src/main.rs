//! libFuzzer's way into one target, which the environment names.
//!
//! libFuzzer takes its own arguments: `CANDOR_FUZZ=h1 fuzz CORPUS -max_total_time=600`.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&candor_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("CANDOR_FUZZ").unwrap_or_default();
    candor_fuzz::find(&name).unwrap_or_else(|| panic!("CANDOR_FUZZ={name} is not a target"))
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
