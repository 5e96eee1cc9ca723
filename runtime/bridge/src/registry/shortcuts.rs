//! Keyboard shortcuts across extensions (`spec/extension-api.md` §7.2): reserved keys are refused, the last loaded
//! extension wins a key.

use std::sync::Arc;

use super::{ExtensionInfo, Loaded};

/// Compared textually after lower-casing, as xcsh does: `shift+ctrl+p` is reserved, `ctrl+shift+p` is not.
const RESERVED: [&str; 14] = [
    "ctrl+c",
    "ctrl+d",
    "ctrl+z",
    "ctrl+k",
    "ctrl+p",
    "ctrl+l",
    "ctrl+o",
    "ctrl+t",
    "ctrl+g",
    "shift+tab",
    "shift+ctrl+p",
    "alt+enter",
    "escape",
    "enter",
];

/// Whether the host keeps a key for itself.
pub(crate) fn is_reserved(key: &str) -> bool {
    let key = key.to_lowercase();
    RESERVED.contains(&key.as_str())
}

/// A shortcut that is in force.
#[derive(Clone)]
pub(crate) struct Shortcut {
    /// Lower-cased key.
    pub(crate) key: String,
    /// As the extension spelled it; the isolate knows it by this.
    pub(crate) registered_key: String,
    pub(crate) description: Option<String>,
    pub(crate) info: Arc<ExtensionInfo>,
}

/// Shortcuts in force, and a sentence for each one that is not.
pub(crate) fn resolve(extensions: &[Loaded]) -> (Vec<Shortcut>, Vec<String>) {
    let mut found: Vec<Shortcut> = Vec::new();
    let mut notes = Vec::new();
    for extension in extensions {
        for shortcut in &extension.registered.shortcuts {
            let key = shortcut.key.to_lowercase();
            if is_reserved(&key) {
                notes.push(format!(
                    "Shortcut \"{}\" from {} is reserved. Skipping.",
                    shortcut.key, extension.info.path
                ));
                continue;
            }
            let new = Shortcut {
                key: key.clone(),
                registered_key: shortcut.key.clone(),
                description: shortcut.description.clone(),
                info: extension.info.clone(),
            };
            match found.iter_mut().find(|known| known.key == key) {
                Some(known) => {
                    notes.push(format!(
                        "Shortcut \"{}\" is registered by {} and {}; the latter is used.",
                        shortcut.key, known.info.path, extension.info.path
                    ));
                    *known = new;
                }
                None => found.push(new),
            }
        }
    }
    (found, notes)
}

#[cfg(test)]
mod tests {
    use super::is_reserved;

    #[test]
    fn reserved_keys_are_compared_as_text() {
        assert!(is_reserved("CTRL+C"));
        assert!(is_reserved("shift+ctrl+p"));
        assert!(!is_reserved("ctrl+shift+p"));
    }
}
