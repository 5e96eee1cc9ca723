//! Discovery over real temporary directories.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;

struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = Self { dir };
        for (path, text) in files {
            let path = tree.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn path(&self, inside: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(inside)
    }

    fn options(&self) -> DiscoveryOptions {
        fs::create_dir_all(self.path("work")).unwrap();
        DiscoveryOptions::standard(
            self.path("work"),
            self.path("home/.pi/agent"),
            Some(self.path("home")),
        )
    }

    fn layer(&self, scope: Scope, base: &str, values: serde_json::Value) -> SettingsLayer {
        SettingsLayer {
            file: self.path(base).join("settings.json"),
            base: self.path(base),
            scope,
            profile: Profile::Pi,
            values,
        }
    }
}

fn names(found: &Discovery, root: &Path) -> Vec<String> {
    found
        .extensions
        .iter()
        .map(|extension| {
            extension
                .path
                .strip_prefix(root)
                .unwrap_or(&extension.path)
                .display()
                .to_string()
        })
        .collect()
}

#[test]
fn project_comes_first_hides_user_by_name_and_explicit_comes_last() {
    let tree = Tree::new(&[
        ("work/.xcsh/extensions/foo.ts", ""),
        ("home/.pi/agent/extensions/foo/index.ts", ""),
        ("home/.pi/agent/extensions/bar.js", ""),
        ("home/.pi/agent/extensions/.hidden.ts", ""),
        ("home/.pi/agent/extensions/types.d.ts", ""),
        ("x.ts", ""),
    ]);
    let mut options = tree.options();
    options.explicit = vec![
        tree.path("x.ts").display().to_string(),
        "../home/.pi/agent/extensions/bar.js".into(),
    ];
    let found = discover(&options);
    assert_eq!(
        names(&found, &tree.path("")),
        [
            "work/.xcsh/extensions/foo.ts",
            "home/.pi/agent/extensions/bar.js",
            "x.ts"
        ]
    );
    assert_eq!(found.extensions[0].profile, Profile::Xcsh);
    assert_eq!(found.extensions[1].profile, Profile::Pi);
    assert_eq!(found.extensions[2].scope, Scope::Temporary);
    assert!(found.problems.is_empty());
}

#[test]
fn no_discovery_keeps_explicit_paths_and_a_missing_one_is_a_visible_problem() {
    let tree = Tree::new(&[("work/.pi/extensions/a.ts", ""), ("work/b.mts", "")]);
    let mut options = tree.options();
    options.no_discovery = true;
    options.explicit = vec!["b.mts".into(), "missing.ts".into()];
    let found = discover(&options);
    assert_eq!(names(&found, &tree.path("work")), ["b.mts"]);
    let shown = tree.path("work/missing.ts").display().to_string();
    assert_eq!(
        found.problems,
        [LoadProblem {
            reason: format!("Extension path does not exist: {shown}"),
            path: shown
        }]
    );
}

#[test]
fn manifest_lists_only_what_exists_and_decides_the_profile() {
    let tree = Tree::new(&[
        (
            "work/pkg/package.json",
            r#"{"name":"p","pi":{"extensions":["./one.ts","./gone.ts","../outside.ts"]}}"#,
        ),
        (
            "work/pkg/one.ts",
            "import x from \"@oh-my-pi/pi-coding-agent\"",
        ),
        ("work/outside.ts", ""),
    ]);
    let mut options = tree.options();
    options.explicit = vec!["pkg".into()];
    let found = discover(&options);
    assert_eq!(names(&found, &tree.path("work")), ["pkg/one.ts"]);
    assert_eq!(found.extensions[0].profile, Profile::Pi);
    assert_eq!(found.extensions[0].root, tree.path("work/pkg"));
    assert!(found.problems.is_empty());
}

#[test]
fn one_package_is_one_isolate_and_lone_files_stand_alone() {
    let tree = Tree::new(&[
        ("work/package.json", r#"{"name":"project"}"#),
        ("work/.pi/extensions/a.ts", ""),
        ("work/.pi/extensions/b.ts", ""),
        (
            "work/.pi/extensions/p/package.json",
            r#"{"pi":{"extensions":["x.ts","y.ts"]}}"#,
        ),
        ("work/.pi/extensions/p/x.ts", ""),
        ("work/.pi/extensions/p/y.ts", ""),
    ]);
    let mut options = tree.options();
    let found = discover(&options);
    let keys: Vec<_> = found
        .extensions
        .iter()
        .map(|extension| extension.package.clone())
        .collect();
    assert_eq!(keys.len(), 4);
    assert_ne!(keys[0], keys[1]);
    assert_eq!(keys[2], keys[3]);
    let a = tree.path("work/.pi/extensions/a.ts").display().to_string();
    let b = tree.path("work/.pi/extensions/b.ts").display().to_string();
    options.settings = vec![tree.layer(
        Scope::User,
        "home/.pi/agent",
        json!({"realms": {"r": [a, b]}}),
    )];
    let found = discover(&options);
    assert_eq!(found.extensions[0].package, PackageKey("realm:r".into()));
    assert_eq!(found.extensions[0].package, found.extensions[1].package);
}

#[test]
fn disabled_names_stop_discovery_but_not_explicit_files() {
    let tree = Tree::new(&[("work/.pi/extensions/foo.ts", "")]);
    let mut options = tree.options();
    options.settings = vec![tree.layer(
        Scope::User,
        "home/.pi/agent",
        json!({"disabledExtensions": ["extension-module:foo"]}),
    )];
    assert!(discover(&options).extensions.is_empty());
    options.explicit = vec![".pi/extensions/foo.ts".into()];
    assert_eq!(discover(&options).extensions.len(), 1);
}

#[test]
fn settings_entries_take_globs_exclusions_and_report_bad_ones() {
    let tree = Tree::new(&[
        ("home/.pi/agent/more/a.ts", ""),
        ("home/.pi/agent/more/b.ts", ""),
        ("home/.pi/agent/extensions/c.ts", ""),
    ]);
    let mut options = tree.options();
    options.settings = vec![tree.layer(
        Scope::User,
        "home/.pi/agent",
        json!({"extensions": ["more/*.ts", "!more/b.ts", "-extensions/c.ts", "nowhere", 7]}),
    )];
    let found = discover(&options);
    assert_eq!(names(&found, &tree.path("home/.pi/agent")), ["more/a.ts"]);
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    assert!(found.warnings.iter().any(|text| text.ends_with(": 7")));
    assert!(found.warnings.iter().any(|text| text.starts_with("Extension path not found: ") && text.ends_with("nowhere")));
}

#[test]
fn packages_are_found_where_they_are_installed() {
    let tree = Tree::new(&[
        (
            "home/.pi/agent/npm/node_modules/@s/tool/package.json",
            r#"{"name":"@s/tool","pi":{"extensions":["dist/*.js"]}}"#,
        ),
        ("home/.pi/agent/npm/node_modules/@s/tool/dist/a.js", ""),
        ("home/.pi/agent/git/example.org/o/r/extensions/g.ts", ""),
    ]);
    let mut options = tree.options();
    options.settings = vec![tree.layer(
        Scope::User,
        "home/.pi/agent",
        json!({"packages": ["npm:@s/tool@1.0.0", {"source": "git:example.org/o/r@main"}, "npm:absent"]}),
    )];
    let found = discover(&options);
    assert_eq!(found.extensions.len(), 2);
    assert_eq!(found.extensions[0].source, "npm:@s/tool@1.0.0");
    assert!(found.extensions[0].from_package);
    assert_eq!(
        found.warnings,
        ["Package \"npm:absent\" is not installed; skipped"]
    );
}

#[cfg(unix)]
#[test]
fn symlinked_entries_keep_their_shown_path_and_load_once() {
    let tree = Tree::new(&[("store/real.ts", ""), ("work/keep", "")]);
    std::os::unix::fs::symlink(tree.path("store/real.ts"), tree.path("work/link.ts")).unwrap();
    let mut options = tree.options();
    options.explicit = vec!["link.ts".into(), "../store/real.ts".into()];
    let found = discover(&options);
    assert_eq!(found.extensions.len(), 1);
    assert_eq!(found.extensions[0].path, tree.path("work/link.ts"));
    assert_eq!(found.extensions[0].entry, tree.path("store/real.ts"));
}

#[test]
fn imports_decide_the_profile_through_relative_files() {
    let tree = Tree::new(&[
        (
            "work/e.ts",
            "import { h } from './lib.js'; export default () => {}",
        ),
        (
            "work/lib.ts",
            "import type { T } from \"@earendil-works/pi-coding-agent\"",
        ),
        ("work/n.ts", "export default () => {}"),
    ]);
    assert_eq!(
        profile_from_sources(&tree.path("work/e.ts")),
        Some(Profile::Pi)
    );
    assert_eq!(profile_from_sources(&tree.path("work/n.ts")), None);
}

#[test]
fn custom_tools_come_last_and_are_marked() {
    let tree = Tree::new(&[
        ("work/.xcsh/tools/t.ts", ""),
        ("work/.pi/tools/not.ts", ""),
        ("x.ts", ""),
    ]);
    let mut options = tree.options();
    options.explicit = vec!["../x.ts".into()];
    let found = discover(&options);
    assert_eq!(
        names(&found, &tree.path("")),
        ["x.ts", "work/.xcsh/tools/t.ts"]
    );
    assert_eq!(
        found
            .extensions
            .iter()
            .map(|one| one.surface.as_str())
            .collect::<Vec<_>>(),
        ["extension", "tool"]
    );
}

#[test]
fn urls_are_percent_encoded() {
    assert_eq!(
        file_url(Path::new("/a b/ü#.ts")),
        "file:///a%20b/%C3%BC%23.ts"
    );
}
