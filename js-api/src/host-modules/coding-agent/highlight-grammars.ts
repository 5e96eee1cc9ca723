// The grammars that ship, registered together at the first use. The list is what coding sessions show most; each costs bundle size.

import core from "highlight.js/lib/core.js";
import bash from "highlight.js/lib/languages/bash.js";
import c from "highlight.js/lib/languages/c.js";
import clojure from "highlight.js/lib/languages/clojure.js";
import cmake from "highlight.js/lib/languages/cmake.js";
import cpp from "highlight.js/lib/languages/cpp.js";
import csharp from "highlight.js/lib/languages/csharp.js";
import css from "highlight.js/lib/languages/css.js";
import dart from "highlight.js/lib/languages/dart.js";
import diff from "highlight.js/lib/languages/diff.js";
import dockerfile from "highlight.js/lib/languages/dockerfile.js";
import elixir from "highlight.js/lib/languages/elixir.js";
import erlang from "highlight.js/lib/languages/erlang.js";
import go from "highlight.js/lib/languages/go.js";
import haskell from "highlight.js/lib/languages/haskell.js";
import ini from "highlight.js/lib/languages/ini.js";
import java from "highlight.js/lib/languages/java.js";
import javascript from "highlight.js/lib/languages/javascript.js";
import json from "highlight.js/lib/languages/json.js";
import kotlin from "highlight.js/lib/languages/kotlin.js";
import less from "highlight.js/lib/languages/less.js";
import lua from "highlight.js/lib/languages/lua.js";
import makefile from "highlight.js/lib/languages/makefile.js";
import markdown from "highlight.js/lib/languages/markdown.js";
import nix from "highlight.js/lib/languages/nix.js";
import objectivec from "highlight.js/lib/languages/objectivec.js";
import ocaml from "highlight.js/lib/languages/ocaml.js";
import perl from "highlight.js/lib/languages/perl.js";
import php from "highlight.js/lib/languages/php.js";
import plaintext from "highlight.js/lib/languages/plaintext.js";
import powershell from "highlight.js/lib/languages/powershell.js";
import protobuf from "highlight.js/lib/languages/protobuf.js";
import python from "highlight.js/lib/languages/python.js";
import r from "highlight.js/lib/languages/r.js";
import ruby from "highlight.js/lib/languages/ruby.js";
import rust from "highlight.js/lib/languages/rust.js";
import scala from "highlight.js/lib/languages/scala.js";
import scss from "highlight.js/lib/languages/scss.js";
import sql from "highlight.js/lib/languages/sql.js";
import swift from "highlight.js/lib/languages/swift.js";
import typescript from "highlight.js/lib/languages/typescript.js";
import vim from "highlight.js/lib/languages/vim.js";
import xml from "highlight.js/lib/languages/xml.js";
import yaml from "highlight.js/lib/languages/yaml.js";

import type { Grammar, Highlighter } from "highlight.js/lib/core.js";

const GRAMMARS: Readonly<Record<string, Grammar>> = {
	bash,
	c,
	clojure,
	cmake,
	cpp,
	csharp,
	css,
	dart,
	diff,
	dockerfile,
	elixir,
	erlang,
	go,
	haskell,
	ini,
	java,
	javascript,
	json,
	kotlin,
	less,
	lua,
	makefile,
	markdown,
	nix,
	objectivec,
	ocaml,
	perl,
	php,
	plaintext,
	powershell,
	protobuf,
	python,
	r,
	ruby,
	rust,
	scala,
	scss,
	sql,
	swift,
	typescript,
	vim,
	xml,
	yaml,
};

let registered = false;

/** The grammar library with every grammar registered. */
export function loadHighlighter(): Highlighter {
	if (!registered) {
		for (const [name, grammar] of Object.entries(GRAMMARS)) core.registerLanguage(name, grammar);
		registered = true;
	}
	return core;
}
