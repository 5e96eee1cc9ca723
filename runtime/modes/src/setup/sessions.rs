//! Opens the session that flags ask for (`spec/sessions.md` §6).
//!
//! Nobody is asked anything: what a terminal would ask is an error that says which flag answers it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pier_agent::session::{
    NewSession, SessionError, SessionManager, SessionOptions, SessionScope, find_by_exact_id,
    find_session,
};

use super::options::SessionChoice;

/// The session and what a person should hear about it.
pub(super) struct Opened {
    pub(super) manager: SessionManager,
    pub(super) warnings: Vec<String>,
}

/// Why no session could be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionChoiceError {
    /// From the session files.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A person would have to choose.
    #[error(
        "--resume chooses from a list and needs the terminal interface; use --continue or --session ID"
    )]
    NeedsTerminal,
    /// The session is another project's.
    #[error("Session {} belongs to {cwd}. Go there, or copy it into this project with --fork {query}", path.display())]
    OtherProject {
        /// The session file.
        path: PathBuf,
        /// Its project.
        cwd: String,
        /// What the user typed.
        query: String,
    },
}

/// How long a start waits for the process that still has the session. A frontend that restarts its program ends the old
/// one and does not wait for it.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How often it looks.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// As [`open`], waiting a moment for another process to let go of the session.
pub(super) async fn open_soon(
    choice: &SessionChoice,
    options: &SessionOptions,
) -> Result<Opened, SessionChoiceError> {
    let began = Instant::now();
    loop {
        match open(choice, options) {
            Err(SessionChoiceError::Session(SessionError::Locked { .. }))
                if began.elapsed() < LOCK_PATIENCE =>
            {
                tokio::time::sleep(LOCK_POLL).await;
            }
            opened => return opened,
        }
    }
}

fn open(choice: &SessionChoice, options: &SessionOptions) -> Result<Opened, SessionChoiceError> {
    let home = crate::paths::home();
    let mut warnings = Vec::new();
    let new = |id: Option<&String>| NewSession {
        id: id.cloned(),
        ..NewSession::default()
    };
    let manager = if choice.resume {
        return Err(SessionChoiceError::NeedsTerminal);
    } else if let Some(query) = &choice.fork {
        let source = find_session(&options.dirs, query, home.as_deref())?;
        SessionManager::fork_from(source.path, options, new(choice.id.as_ref()))?
    } else if choice.in_memory {
        SessionManager::in_memory(options, new(choice.id.as_ref()))?
    } else if let Some(query) = &choice.open {
        let found = find_session(&options.dirs, query, home.as_deref())?;
        if let SessionScope::OtherProject { cwd } = found.scope {
            return Err(SessionChoiceError::OtherProject {
                path: found.path,
                cwd,
                query: query.clone(),
            });
        }
        SessionManager::open(found.path, options)?
    } else if let Some(id) = &choice.id {
        match find_by_exact_id(&options.dirs, id)? {
            Some(path) => SessionManager::open(path, options)?,
            None => {
                warnings.push(format!(
                    "No session with id \"{id}\" in this project; starting a new one"
                ));
                SessionManager::create(options, new(Some(id)))?
            }
        }
    } else if choice.continue_last {
        SessionManager::continue_recent(options)?
    } else {
        SessionManager::create(options, NewSession::default())?
    };
    manager.check_cwd(options.dirs.cwd())?;
    warnings.extend(manager.take_warnings().iter().map(ToString::to_string));
    Ok(Opened { manager, warnings })
}

#[cfg(test)]
mod tests {
    use pier_agent::session::{SessionDirs, SessionOptions};

    use super::{SessionChoice, SessionChoiceError, open, open_soon};

    fn options(dir: &std::path::Path) -> SessionOptions {
        SessionOptions::new(SessionDirs::new(dir, dir.join("agent")))
    }

    #[test]
    fn the_default_is_a_new_session_and_no_session_has_no_file() {
        let dir = tempfile::tempdir().expect("dir");
        let opened = open(&SessionChoice::default(), &options(dir.path())).expect("opens");
        assert!(opened.manager.session_file().is_some() && !opened.manager.is_saved());
        let memory = SessionChoice {
            in_memory: true,
            ..SessionChoice::default()
        };
        assert!(
            open(&memory, &options(dir.path()))
                .expect("opens")
                .manager
                .session_file()
                .is_none()
        );
    }

    #[test]
    fn an_unknown_exact_id_starts_a_session_with_that_id_and_says_so() {
        let dir = tempfile::tempdir().expect("dir");
        let choice = SessionChoice {
            id: Some("mine".into()),
            ..SessionChoice::default()
        };
        let opened = open(&choice, &options(dir.path())).expect("opens");
        assert_eq!(opened.manager.session_id(), "mine");
        assert_eq!(opened.warnings.len(), 1);
    }

    #[tokio::test]
    async fn a_session_that_another_process_is_about_to_leave_opens_a_moment_later() {
        let dir = tempfile::tempdir().expect("dir");
        let file = dir.path().join("s.jsonl");
        let cwd = dir.path().display();
        let header = format!(
            r#"{{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
        );
        let entry = r#"{"type":"session_info","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","name":"n"}"#;
        std::fs::write(&file, format!("{header}\n{entry}\n")).expect("written");
        let choice = SessionChoice {
            open: Some(file.display().to_string()),
            ..SessionChoice::default()
        };
        let held = open(&choice, &options(dir.path())).expect("opens");
        assert!(open(&choice, &options(dir.path())).is_err(), "it is locked");
        let leaving = tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            drop(held);
        });
        open_soon(&choice, &options(dir.path()))
            .await
            .expect("opens once it is free");
        leaving.await.expect("left");
    }

    #[test]
    fn what_cannot_be_found_or_needs_a_person_is_an_error() {
        let dir = tempfile::tempdir().expect("dir");
        let missing = SessionChoice {
            open: Some("nope".into()),
            ..SessionChoice::default()
        };
        let error = open(&missing, &options(dir.path())).err().expect("fails");
        assert_eq!(error.to_string(), "No session found matching 'nope'");
        let resume = SessionChoice {
            resume: true,
            ..SessionChoice::default()
        };
        assert!(matches!(
            open(&resume, &options(dir.path())),
            Err(SessionChoiceError::NeedsTerminal)
        ));
    }
}
