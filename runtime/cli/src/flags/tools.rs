//! Flags that choose tools.

use super::{Takes, first, flag, list};

flag! {
    /// Only these tools, extension tools included; comma-separated, * matches anything.
    /// A list of only +NAME and -NAME changes the default set instead.
    Tools, "tools", "t"; Tools; Takes::One("NAMES");
    |args, values| {
        args.tools.allow.get_or_insert_default().extend(list(&first(values)));
        Ok(())
    }
}

flag! {
    /// Without these tools; comma-separated, * matches anything.
    ExcludeTools, "exclude-tools", "xt"; Tools; Takes::One("NAMES");
    |args, values| { args.tools.exclude.extend(list(&first(values))); Ok(()) }
}

flag! {
    /// Without any tool.
    NoTools, "no-tools", "nt"; Tools; Takes::Nothing;
    |args, _values| { args.tools.none = true; Ok(()) }
}

flag! {
    /// Without the built-in tools; tools of extensions stay.
    NoBuiltinTools, "no-builtin-tools", "nbt"; Tools; Takes::Nothing;
    |args, _values| { args.tools.no_builtin = true; Ok(()) }
}

#[cfg(test)]
mod tests {
    use crate::flags::parse;

    #[test]
    fn tools_take_modifiers_that_look_like_flags() {
        let args = parse(&["-t", "-bash,+grep"]).expect("parses").tools;
        assert_eq!(args.allow, Some(vec!["-bash".into(), "+grep".into()]));
    }

    #[test]
    fn an_empty_list_allows_nothing() {
        assert_eq!(
            parse(&["--tools", ""]).expect("parses").tools.allow,
            Some(vec![])
        );
    }

    #[test]
    fn exclusions_add_up_and_switches_switch() {
        let args = parse(&["-xt", "a", "--exclude-tools", "b,c", "-nt", "-nbt"])
            .expect("parses")
            .tools;
        assert_eq!(args.exclude, ["a", "b", "c"]);
        assert!(args.none && args.no_builtin);
    }
}
