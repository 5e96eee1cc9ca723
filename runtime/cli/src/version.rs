//! What `--version` prints.

/// The pi whose protocol and extension API this program has. Clients that start `pi` compare it before they say anything.
const PI_VERSION: &str = "1.6.0";

/// The line for the name that the program was started under.
pub(crate) fn line(program: Option<&str>) -> String {
    let name = program.and_then(|path| path.rsplit('/').next());
    match name {
        Some("pi") => format!("{PI_VERSION}\n"),
        _ => format!("pier {}\n", env!("CARGO_PKG_VERSION")),
    }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_program_in_the_place_of_pi_gives_the_version_of_pi() {
        assert_eq!(line(Some("/opt/bin/pi")), "1.6.0\n");
        assert_eq!(
            line(Some("pier")),
            format!("pier {}\n", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(line(None), line(Some("pier")));
    }
}
