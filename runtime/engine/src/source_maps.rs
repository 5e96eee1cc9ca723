//! The source maps of an isolate's code, and places in the authors' files found with them.
//!
//! Shared between threads because an isolate that is stopped from outside still owes an answer to "where".

use std::collections::HashMap;

use deno_ast::swc::sourcemap::SourceMap;
use deno_core::url::Url;
use parking_lot::Mutex;

use crate::fault::Location;

#[derive(Default)]
pub(crate) struct SourceMaps {
    by_name: Mutex<HashMap<String, Vec<u8>>>,
}

impl SourceMaps {
    /// `names`: what V8 may call the code, its URL and, for CommonJS, its path.
    pub(crate) fn insert(&self, names: &[&str], map: &[u8]) {
        let mut maps = self.by_name.lock();
        for name in names {
            maps.insert((*name).to_string(), map.to_vec());
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.by_name.lock().get(name).cloned()
    }

    /// The place behind a position in running code, both 1-based; `None` when the code is not in a file.
    pub(crate) fn locate(&self, name: &str, line: u32, column: u32) -> Option<Location> {
        let path = match Url::parse(name) {
            Ok(url) => url.to_file_path().ok()?,
            Err(_) if name.starts_with('/') => name.into(),
            Err(_) => return None,
        };
        let mapped = self.get(name).and_then(|map| {
            let map = SourceMap::from_slice(&map).ok()?;
            let token = map.lookup_token(line.checked_sub(1)?, column.checked_sub(1)?)?;
            Some((token.get_src_line() + 1, token.get_src_col() + 1))
        });
        let (line, column) = mapped.unwrap_or((line, column));
        Some(Location {
            file: path.to_string_lossy().into_owned(),
            line,
            column,
        })
    }
}
