//! Variables of the process that every child should inherit, whoever starts it.

/// Sets environment variables of this process. Call it on the main thread while the process has no other thread.
#[allow(
    unsafe_code,
    reason = "the standard library has no safe way to change the environment"
)]
pub fn set_process_variables(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: the caller promises that no other thread exists, so none reads the environment meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
}
