//! Paths as people type them.

use std::path::{Path, PathBuf};

/// The person's home directory.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
}

/// `~` expanded, relative to `base`.
pub(crate) fn expand(path: &str, base: &Path) -> PathBuf {
    match (path, path.strip_prefix("~/"), home()) {
        ("~", _, Some(home)) => home,
        (_, Some(rest), Some(home)) => home.join(rest),
        _ => base.join(path),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{expand, home};

    #[test]
    fn only_a_leading_tilde_means_home() {
        let base = Path::new("/base");
        assert_eq!(expand("a/~", base), Path::new("/base/a/~"));
        assert_eq!(expand("/abs", base), Path::new("/abs"));
        assert_eq!(expand("~user", base), Path::new("/base/~user"));
        if let Some(home) = home() {
            assert_eq!(expand("~/x", base), home.join("x"));
            assert_eq!(expand("~", base), home);
        }
    }
}
