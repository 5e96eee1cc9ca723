//! The static V8 archive that the crate `v8` links. Setup puts it where the crate's build script looks
//! without being told: `<cargo home>/.rusty_v8/<escaped download URL>`. The archive appears there whole
//! or not at all.

use crate::paths::{self, Workspace};
use crate::{fsx, proc, ui, v8_source};
use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Archives whose content is known: (version of the crate, target, SHA-256).
const KNOWN: &[(&str, &str, &str)] = &[(
    "150.4.0",
    "x86_64-unknown-linux-gnu",
    "017e38c32a181bda02737c0c2e18515f98417539c731884f392ac04309331dab",
)];
const FEATURES: &str = "_simdutf";
const DOWNLOADS: &str = "https://github.com/denoland/rusty_v8/releases/download";
/// Seconds without a single byte after which a download counts as stuck.
const STALL_SECONDS: &str = "30";

/// What identifies an archive.
pub(crate) struct Archive {
    version: String,
    target: String,
}

impl Archive {
    /// Reads the version from the lock file and the target from rustc.
    pub(crate) fn wanted(workspace: &Workspace) -> Result<Self> {
        let lock_path = workspace.root.join("Cargo.lock");
        let lock = std::fs::read_to_string(&lock_path)
            .with_context(|| format!("cannot read {}", lock_path.display()))?;
        let version = locked_version(&lock, "v8").context("Cargo.lock names no package `v8`")?;
        let rustc = proc::stdout(Command::new("rustc").arg("-vV"))?;
        let target = rustc
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .context("`rustc -vV` names no host")?;
        Ok(Self {
            version,
            target: target.to_owned(),
        })
    }

    /// Version of the crate `v8`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    fn file_name(&self) -> String {
        if self.target.contains("windows") {
            format!("rusty_v8{FEATURES}_release_{}.lib.gz", self.target)
        } else {
            format!("librusty_v8{FEATURES}_release_{}.a.gz", self.target)
        }
    }

    fn url(&self) -> String {
        format!("{DOWNLOADS}/v{}/{}", self.version, self.file_name())
    }

    /// Where the build script of `v8` looks.
    pub(crate) fn home(&self) -> Result<PathBuf> {
        let escaped: String = self
            .url()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        Ok(paths::cargo_home()?.join(".rusty_v8").join(escaped))
    }

    /// Fails unless the file is a complete archive; one with a known hash needs no unpacking.
    pub(crate) fn check(&self, file: &Path) -> Result<()> {
        let known = KNOWN
            .iter()
            .find(|(version, target, _)| *version == self.version && *target == self.target);
        if let Some((_, _, hash)) = known
            && fsx::sha256(file)? == *hash
        {
            return Ok(());
        }
        check_archive(file)
    }
}

/// Makes sure the archive is in cargo's home; the sources are tried in the order of this function.
pub(crate) fn ensure(workspace: &Workspace) -> Result<()> {
    let archive = Archive::wanted(workspace)?;
    let home = archive.home()?;

    if let Some(named) = std::env::var_os("RUSTY_V8_ARCHIVE") {
        let named = PathBuf::from(named);
        ensure!(
            named.is_file(),
            "RUSTY_V8_ARCHIVE names {}, which is no file",
            named.display()
        );
        return install(&archive, &named, &home, "RUSTY_V8_ARCHIVE");
    }
    if home.is_file() {
        match archive.check(&home) {
            Ok(()) => {
                ui::note(&format!("V8 {} is in cargo's home", archive.version));
                return Ok(());
            }
            Err(error) => ui::note(&format!(
                "{} is damaged, replacing it: {error:#}",
                home.display()
            )),
        }
    }
    let beside = workspace
        .root
        .join("../shared/v8")
        .join(archive.file_name());
    if beside.is_file() {
        return install(&archive, &beside, &home, "the folder beside the clone");
    }
    match download(&archive, &home) {
        Ok(()) => return Ok(()),
        Err(error) => ui::note(&format!("no download: {error:#}")),
    }
    ui::note("building V8 from the sources in its crate; this takes an hour or two");
    v8_source::run(workspace)
}

/// Puts a checked copy of `source` at `home`. A plain `.a` is packed, because the build script expects gzip.
pub(crate) fn install(archive: &Archive, source: &Path, home: &Path, from: &str) -> Result<()> {
    ui::note(&format!(
        "V8 {} from {from}: {}",
        archive.version,
        source.display()
    ));
    let file = File::open(source).with_context(|| format!("cannot read {}", source.display()))?;
    let reader = BufReader::new(file);
    if is_gzip(source)? {
        fsx::write_whole(home, &mut { reader }, |written| archive.check(written))
    } else {
        let mut packed = flate2::read::GzEncoder::new(reader, flate2::Compression::fast());
        fsx::write_whole(home, &mut packed, |written| archive.check(written))
    }
    .with_context(|| format!("{} is no usable V8 archive", source.display()))
}

fn download(archive: &Archive, home: &Path) -> Result<()> {
    let url = archive.url();
    let directory = home.parent().context("cargo's home has no parent")?;
    std::fs::create_dir_all(directory)?;
    let temporary = tempfile::NamedTempFile::new_in(directory)?;
    ui::note(&format!("downloading {url}"));
    let status = Command::new("curl")
        .args([
            "--fail",
            "--location",
            "--silent",
            "--show-error",
            "--retry",
            "2",
        ])
        .args([
            "--connect-timeout",
            "15",
            "--speed-limit",
            "1",
            "--speed-time",
            STALL_SECONDS,
        ])
        .arg("--output")
        .arg(temporary.path())
        .arg(&url)
        .status()
        .context("cannot start curl")?;
    if !status.success() {
        bail!("curl ended with {status} for {url}");
    }
    archive.check(temporary.path())?;
    temporary
        .persist(home)
        .with_context(|| format!("cannot move to {}", home.display()))?;
    Ok(())
}

fn is_gzip(file: &Path) -> Result<bool> {
    let mut magic = [0u8; 2];
    File::open(file)?
        .read_exact(&mut magic)
        .context("the file is too short for an archive")?;
    Ok(magic == [0x1f, 0x8b])
}

/// Unpacks to nowhere: a truncated or damaged file fails its checksum, another file lacks the magic.
fn check_archive(file: &Path) -> Result<()> {
    let mut unpacked = GzDecoder::new(BufReader::new(File::open(file)?));
    let mut magic = [0u8; 8];
    unpacked
        .read_exact(&mut magic)
        .context("not a gzip file with an archive in it")?;
    let library = &magic == b"!<arch>\n" || &magic == b"!<thin>\n";
    ensure!(library, "the unpacked file is not a static library");
    std::io::copy(&mut unpacked, &mut std::io::sink())
        .context("the archive is cut off or damaged")?;
    Ok(())
}

/// The version of a package that the lock file holds once.
fn locked_version(lock: &str, name: &str) -> Option<String> {
    let header = format!("name = \"{name}\"");
    let mut lines = lock.lines();
    lines.find(|line| *line == header)?;
    let version = lines
        .next()?
        .strip_prefix("version = \"")?
        .strip_suffix('"')?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn archive() -> Archive {
        Archive {
            version: "1.2.3".into(),
            target: "x86_64-unknown-linux-gnu".into(),
        }
    }

    #[test]
    fn the_version_comes_from_the_lock_file() {
        let lock = "[[package]]\nname = \"v8x\"\nversion = \"9\"\n\n[[package]]\nname = \"v8\"\nversion = \"1.2.3\"\n";
        assert_eq!(locked_version(lock, "v8").as_deref(), Some("1.2.3"));
        assert_eq!(locked_version(lock, "v9"), None);
    }

    #[test]
    fn a_plain_library_is_packed_and_a_cut_one_refused() -> Result<()> {
        let directory = tempfile::tempdir()?;
        let plain = directory.path().join("plain.a");
        let mut content = b"!<arch>\n".to_vec();
        content.extend((0..20_000u32).flat_map(u32::to_le_bytes));
        std::fs::write(&plain, &content)?;
        let home = directory.path().join("home/packed.gz");
        install(&archive(), &plain, &home, "a test")?;
        archive().check(&home)?;

        let packed = std::fs::read(&home)?;
        let cut = directory.path().join("cut.gz");
        File::create(&cut)?.write_all(&packed[..packed.len() / 2])?;
        let target = directory.path().join("home/cut.gz");
        assert!(install(&archive(), &cut, &target, "a test").is_err());
        assert!(!target.exists(), "a refused archive must not stay behind");
        Ok(())
    }
}
