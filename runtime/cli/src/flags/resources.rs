//! Flags that choose extensions, skills, prompt templates, themes and context files.

use super::{Takes, first, flag, list};

flag! {
    /// Load this extension: a file, a directory or a package. May be repeated.
    Extension, "extension", "e"; Resources; Takes::One("PATH");
    |args, values| { args.resources.extensions.push(first(values)); Ok(()) }
}

flag! {
    /// The same as --extension, under the name xcsh has for hook files.
    Hook, "hook"; Resources; Takes::One("PATH");
    |args, values| { args.resources.extensions.push(first(values)); Ok(()) }
}

flag! {
    /// Look for no extensions; those named with --extension are still loaded.
    NoExtensions, "no-extensions", "ne"; Resources; Takes::Nothing;
    |args, _values| { args.resources.no_extensions = true; Ok(()) }
}

flag! {
    /// Load the extensions of the plugins in this directory. May be repeated.
    PluginDir, "plugin-dir"; Resources; Takes::One("DIR");
    |args, values| { args.resources.plugin_dirs.push(first(values)); Ok(()) }
}

flag! {
    /// Accepted for the sake of other programs; Pier starts no MCP servers of its own.
    NoMcp, "no-mcp"; Resources; Takes::Nothing;
    |args, _values| { args.resources.no_mcp = true; Ok(()) }
}

flag! {
    /// Add this skill: a file or a directory. May be repeated.
    Skill, "skill"; Resources; Takes::One("PATH");
    |args, values| { args.resources.skills.push(first(values)); Ok(()) }
}

flag! {
    /// The same as --skill for several comma-separated paths.
    Skills, "skills"; Resources; Takes::One("PATHS");
    |args, values| { args.resources.skills.extend(list(&first(values))); Ok(()) }
}

flag! {
    /// Look for no skills; those named with --skill are still loaded.
    NoSkills, "no-skills", "ns"; Resources; Takes::Nothing;
    |args, _values| { args.resources.no_skills = true; Ok(()) }
}

flag! {
    /// Add this prompt template: a file or a directory. May be repeated.
    PromptTemplate, "prompt-template"; Resources; Takes::One("PATH");
    |args, values| { args.resources.prompt_templates.push(first(values)); Ok(()) }
}

flag! {
    /// Look for no prompt templates; those named with --prompt-template are still loaded.
    NoPromptTemplates, "no-prompt-templates", "np"; Resources; Takes::Nothing;
    |args, _values| { args.resources.no_prompt_templates = true; Ok(()) }
}

flag! {
    /// Accepted for the sake of other programs; themes belong to a terminal interface.
    Theme, "theme"; Resources; Takes::One("PATH");
    |args, values| { args.resources.themes.push(first(values)); Ok(()) }
}

flag! {
    /// Accepted for the sake of other programs; themes belong to a terminal interface.
    NoThemes, "no-themes"; Resources; Takes::Nothing;
    |args, _values| { args.resources.no_themes = true; Ok(()) }
}

flag! {
    /// Accepted for the sake of other programs; themes belong to a terminal interface.
    UseTheme, "use-theme"; Resources; Takes::OneElse("NAME", "--use-theme requires a value");
    |args, values| { args.resources.use_theme = Some(first(values)); Ok(()) }
}

flag! {
    /// Read no AGENTS.md or CLAUDE.md.
    NoContextFiles, "no-context-files", "nc"; Resources; Takes::Nothing;
    |args, _values| { args.resources.no_context_files = true; Ok(()) }
}

#[cfg(test)]
mod tests {
    use crate::flags::parse;

    #[test]
    fn extensions_and_hooks_are_one_list_in_order() {
        let args = parse(&["-e", "a.ts", "--hook", "b.ts", "--extension", "c.ts"])
            .expect("parses")
            .resources;
        assert_eq!(args.extensions, ["a.ts", "b.ts", "c.ts"]);
    }

    #[test]
    fn discovery_can_be_switched_off_kind_by_kind() {
        let args = parse(&["-ne", "-ns", "-np", "--no-themes", "-nc", "--no-mcp"])
            .expect("parses")
            .resources;
        assert!(args.no_extensions && args.no_skills && args.no_prompt_templates);
        assert!(args.no_themes && args.no_context_files && args.no_mcp);
    }

    #[test]
    fn resources_add_up() {
        let args = parse(&[
            "--skill",
            "a",
            "--skills",
            "b,c",
            "--prompt-template",
            "d",
            "--theme",
            "e",
            "--use-theme",
            "dark",
            "--plugin-dir",
            "f",
        ])
        .expect("parses")
        .resources;
        assert_eq!(args.skills, ["a", "b", "c"]);
        assert_eq!(
            (args.prompt_templates, args.themes),
            (vec!["d".to_owned()], vec!["e".to_owned()])
        );
        assert_eq!(
            (args.use_theme.as_deref(), args.plugin_dirs),
            (Some("dark"), vec!["f".to_owned()])
        );
    }
}
