//! `--offline` for those who read the environment: extensions and the programs that they start.
//!
//! Pier itself asks the network for nothing that nobody asked for. The variable is the only way to tell the others, and a
//! process cannot change its own environment safely; it can begin again with another one, which costs a few milliseconds.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The variable, as pi has it.
const VARIABLE: &str = "PI_OFFLINE";

/// Begins the program again with the variable set, unless it is set already. Call it before anything is set up.
pub(crate) fn tell_everybody(program: Option<&str>) {
    if std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty()) {
        return;
    }
    let error = match std::env::current_exe() {
        Ok(file) => Command::new(file)
            .arg0(program.unwrap_or("pier"))
            .args(std::env::args_os().skip(1))
            .env(VARIABLE, "1")
            .env("PI_SKIP_VERSION_CHECK", "1")
            .exec(),
        Err(error) => error,
    };
    // Reached only when it did not work.
    pier_modes::diagnostics::warning(&format!(
        "--offline cannot be told to extensions ({error}); set {VARIABLE}=1 instead"
    ));
}
