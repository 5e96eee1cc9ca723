//! The local executors of the file tools: this machine's file system. Refuses files that have no end or no content
//! (pipes, devices, sockets), because reading them could wait for ever.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;

use async_trait::async_trait;
use tokio::fs;

use super::operations::{
    ByteStream, EditOperations, GrepOperations, LsOperations, OpError, ReadOperations,
    WriteOperations,
};
use crate::regular_file;

/// Files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalFiles;

async fn regular_file(path: &Path, syscall: &str) -> Result<Metadata, OpError> {
    let meta = fs::metadata(path)
        .await
        .map_err(|e| OpError::io(&e, syscall, path))?;
    if meta.is_dir() {
        return Err(OpError {
            code: Some("EISDIR".to_owned()),
            message: format!(
                "EISDIR: illegal operation on a directory, read '{}'",
                path.display()
            ),
        });
    }
    if !meta.is_file() {
        return Err(not_regular(path));
    }
    Ok(meta)
}

fn not_regular(path: &Path) -> OpError {
    OpError::other(format!(
        "Not a regular file (pipe, device or socket): {}",
        path.display()
    ))
}

/// Opens a file for reading, on a thread that may wait.
pub(super) fn open_here(path: &Path) -> Result<std::fs::File, OpError> {
    regular_file::open(path).map_err(|error| match error.raw_os_error() {
        None if error.kind() == ErrorKind::InvalidInput => not_regular(path),
        _ => OpError::io(&error, "open", path),
    })
}

/// Whether there is something; an error when that cannot be known.
pub(super) async fn exists_here(path: &Path) -> Result<bool, OpError> {
    match fs::metadata(path).await {
        Ok(_) => Ok(true),
        Err(error) => match OpError::io(&error, "stat", path) {
            missing if missing.is_missing() => Ok(false),
            error => Err(error),
        },
    }
}

async fn read_whole(path: &Path) -> Result<Vec<u8>, OpError> {
    regular_file(path, "open").await?;
    fs::read(path)
        .await
        .map_err(|e| OpError::io(&e, "open", path))
}

async fn write_whole(path: &Path, content: &str) -> Result<(), OpError> {
    // Opening a pipe for writing waits for a reader.
    if let Ok(meta) = fs::metadata(path).await
        && !meta.is_file()
        && !meta.is_dir()
    {
        return Err(not_regular(path));
    }
    fs::write(path, content)
        .await
        .map_err(|e| OpError::io(&e, "open", path))
}

#[async_trait]
impl ReadOperations for LocalFiles {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>, OpError> {
        read_whole(path).await
    }

    async fn access(&self, path: &Path) -> Result<(), OpError> {
        regular_file(path, "access").await?;
        fs::File::open(path)
            .await
            .map_err(|e| OpError::io(&e, "open", path))
            .map(drop)
    }

    async fn create_read_stream(&self, path: &Path) -> Result<Option<ByteStream>, OpError> {
        regular_file(path, "open").await?;
        let file = fs::File::open(path)
            .await
            .map_err(|e| OpError::io(&e, "open", path))?;
        Ok(Some(Box::new(file)))
    }
}

#[async_trait]
impl WriteOperations for LocalFiles {
    async fn write_file(&self, path: &Path, content: &str) -> Result<(), OpError> {
        write_whole(path, content).await
    }

    async fn mkdir(&self, path: &Path) -> Result<(), OpError> {
        fs::create_dir_all(path)
            .await
            .map_err(|e| OpError::io(&e, "mkdir", path))
    }
}

#[async_trait]
impl EditOperations for LocalFiles {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>, OpError> {
        read_whole(path).await
    }

    async fn write_file(&self, path: &Path, content: &str) -> Result<(), OpError> {
        write_whole(path, content).await
    }

    async fn access(&self, path: &Path) -> Result<(), OpError> {
        regular_file(path, "access").await?;
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .await
            .map_err(|e| OpError::io(&e, "open", path))
            .map(drop)
    }
}

#[async_trait]
impl LsOperations for LocalFiles {
    async fn exists(&self, path: &Path) -> Result<bool, OpError> {
        exists_here(path).await
    }

    async fn is_directory(&self, path: &Path) -> Result<bool, OpError> {
        let meta = fs::metadata(path)
            .await
            .map_err(|e| OpError::io(&e, "stat", path))?;
        Ok(meta.is_dir())
    }

    async fn readdir(&self, path: &Path) -> Result<Vec<String>, OpError> {
        let mut entries = fs::read_dir(path)
            .await
            .map_err(|e| OpError::io(&e, "scandir", path))?;
        let mut names = Vec::new();
        while let Some(entry) = entries
            .next_entry()
            .await
            .map_err(|e| OpError::io(&e, "scandir", path))?
        {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }
}

#[async_trait]
impl GrepOperations for LocalFiles {
    async fn is_directory(&self, path: &Path) -> Result<bool, OpError> {
        let meta = fs::metadata(path)
            .await
            .map_err(|e| OpError::io(&e, "stat", path))?;
        Ok(meta.is_dir())
    }
}
