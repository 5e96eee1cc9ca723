//! From the path a model wrote to the file it means (`spec/agent-loop.md` §10, "Paths").
//! Resolves only; never creates, follows or opens anything beyond asking whether a candidate exists.

use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

const NARROW_NBSP: char = '\u{202F}';

/// Absolute path for `input`, relative to `cwd`: leading `@` stripped, Unicode spaces made plain, `~` expanded,
/// `.` and `..` resolved by name.
pub fn resolve(input: &str, cwd: &Path) -> PathBuf {
    let plain = plain_spaces(input.strip_prefix('@').unwrap_or(input));
    absolute(&expand_home(&plain), cwd)
}

/// Like [`resolve`], for a path that should exist: when it does not, the spellings are tried that models and
/// file systems are known to mix up. The plain form is returned if none exists, so that errors name it.
pub fn resolve_existing(input: &str, cwd: &Path, exists: &dyn Fn(&Path) -> bool) -> PathBuf {
    let plain = resolve(input, cwd);
    if exists(&plain) {
        return plain;
    }
    candidates(input, &plain, cwd)
        .into_iter()
        .find(|candidate| exists(candidate))
        .unwrap_or(plain)
}

/// Other spellings of `plain`, in the order they are tried.
pub fn candidates(input: &str, plain: &Path, cwd: &Path) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = Vec::new();
    let mut add = |candidate: PathBuf| {
        if candidate != plain && !list.contains(&candidate) {
            list.push(candidate);
        }
    };
    if let Some(text) = plain.to_str() {
        // macOS writes screenshots as "10.30.00<narrow nbsp>AM.png".
        add(PathBuf::from(narrow_space_before_meridiem(text)));
        let decomposed: String = text.nfd().collect();
        add(PathBuf::from(&decomposed));
        add(PathBuf::from(text.replace('\'', "\u{2019}")));
        add(PathBuf::from(decomposed.replace('\'', "\u{2019}")));
        add(PathBuf::from(text.nfc().collect::<String>()));
    }
    // A name that really contains what the rules take away: "@types/x", "a\u{00A0}b".
    add(absolute(&expand_home(&plain_spaces(input)), cwd));
    add(absolute(&expand_home(input), cwd));
    list
}

/// Every Unicode space character as U+0020.
fn plain_spaces(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
            other => other,
        })
        .collect()
}

fn expand_home(text: &str) -> PathBuf {
    if let Some(rest) = text.strip_prefix('~')
        && (rest.is_empty() || rest.starts_with('/'))
        && let Some(home) = std::env::home_dir()
    {
        return home.join(rest.trim_start_matches('/'));
    }
    PathBuf::from(text)
}

fn absolute(path: &Path, cwd: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // `pop` refuses at the root, which is what `/..` means.
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

fn narrow_space_before_meridiem(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars
        .iter()
        .enumerate()
        .map(|(at, c)| {
            let meridiem = *c == ' '
                && matches!(chars.get(at + 1), Some('A' | 'P' | 'a' | 'p'))
                && matches!(chars.get(at + 2), Some('M' | 'm'))
                && chars.get(at + 3).is_none_or(|next| !next.is_alphanumeric());
            if meridiem { NARROW_NBSP } else { *c }
        })
        .collect()
}

/// `path` relative to `base` with `/` between the parts; the whole path if it lies elsewhere.
pub fn relative_display(path: &Path, base: &Path) -> String {
    path.strip_prefix(base)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}
