//! Flags that choose the session (`spec/sessions.md` §6).

use super::{Takes, first, flag};

flag! {
    /// Go on with the most recent session of this directory.
    Continue, "continue", "c"; Session; Takes::Nothing;
    |args, _values| { args.session.continue_last = true; Ok(()) }
}

flag! {
    /// Choose a session from a list; needs the terminal interface. --resume=X opens X.
    Resume, "resume", "r"; Session; Takes::Nothing;
    |args, _values| { args.session.resume = true; Ok(()) }
}

flag! {
    /// Open the session with this path, id or beginning of an id. Alone it is --resume.
    SessionFlag, "session"; Session; Takes::Optional("PATH|ID");
    |args, values| {
        match values.first() {
            Some(value) => args.session.open = Some(value.clone()),
            None => args.session.resume = true,
        }
        Ok(())
    }
}

flag! {
    /// Open the session with exactly this id, or start a new one that has it.
    SessionId, "session-id"; Session; Takes::One("ID");
    |args, values| { args.session.id = Some(first(values)); Ok(()) }
}

flag! {
    /// Start a new session as a copy of this one.
    Fork, "fork"; Session; Takes::One("PATH|ID");
    |args, values| { args.session.fork = Some(first(values)); Ok(()) }
}

flag! {
    /// Keep session files in this directory.
    SessionDir, "session-dir"; Session; Takes::One("DIR");
    |args, values| { args.session.dir = Some(first(values)); Ok(()) }
}

flag! {
    /// Keep the session in memory only.
    NoSession, "no-session"; Session; Takes::Nothing;
    |args, _values| { args.session.in_memory = true; Ok(()) }
}

flag! {
    /// Name of the session.
    Name, "name", "n"; Session; Takes::OneElse("NAME", "--name requires a non-empty value");
    |args, values| {
        let name = first(values);
        if name.trim().is_empty() {
            return Err("--name requires a non-empty value".to_owned());
        }
        args.session.name = Some(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::flags::parse;

    #[test]
    fn session_without_a_value_is_resume() {
        let args = parse(&["--session", "abc"]).expect("parses").session;
        assert_eq!((args.open.as_deref(), args.resume), (Some("abc"), false));
        let args = parse(&["--session", "-p", "hi"]).expect("parses").session;
        assert_eq!((args.open, args.resume), (None, true));
    }

    #[test]
    fn continue_and_resume_have_short_forms() {
        assert!(parse(&["-c"]).expect("parses").session.continue_last);
        assert!(parse(&["-r"]).expect("parses").session.resume);
    }

    #[test]
    fn places_and_ids_are_kept() {
        let args = parse(&["--session-id", "i", "--session-dir", "d", "-n", "title"])
            .expect("parses")
            .session;
        assert_eq!(args.id.as_deref(), Some("i"));
        assert_eq!(args.dir.as_deref(), Some("d"));
        assert_eq!(args.name.as_deref(), Some("title"));
        assert_eq!(
            parse(&["--fork", "f"])
                .expect("parses")
                .session
                .fork
                .as_deref(),
            Some("f")
        );
        assert!(parse(&["--no-session"]).expect("parses").session.in_memory);
    }

    #[test]
    fn a_blank_name_is_refused() {
        assert_eq!(
            parse(&["--name", "  "]),
            Err("--name requires a non-empty value".into())
        );
    }
}
