// Names of languages: by file name, and the spellings that fenced code blocks use. Data and two look-ups.

const BY_EXTENSION: Readonly<Record<string, string>> = {
	ts: "typescript",
	tsx: "typescript",
	mts: "typescript",
	cts: "typescript",
	js: "javascript",
	jsx: "javascript",
	mjs: "javascript",
	cjs: "javascript",
	py: "python",
	pyi: "python",
	rb: "ruby",
	rs: "rust",
	go: "go",
	java: "java",
	kt: "kotlin",
	kts: "kotlin",
	swift: "swift",
	c: "c",
	h: "c",
	cc: "cpp",
	cpp: "cpp",
	cxx: "cpp",
	hh: "cpp",
	hpp: "cpp",
	cs: "csharp",
	php: "php",
	sh: "bash",
	bash: "bash",
	zsh: "bash",
	fish: "fish",
	ps1: "powershell",
	sql: "sql",
	html: "html",
	htm: "html",
	css: "css",
	scss: "scss",
	sass: "sass",
	less: "less",
	json: "json",
	jsonc: "json",
	yaml: "yaml",
	yml: "yaml",
	toml: "toml",
	xml: "xml",
	svg: "xml",
	md: "markdown",
	markdown: "markdown",
	lua: "lua",
	pl: "perl",
	r: "r",
	scala: "scala",
	clj: "clojure",
	ex: "elixir",
	exs: "elixir",
	erl: "erlang",
	hs: "haskell",
	ml: "ocaml",
	vim: "vim",
	graphql: "graphql",
	proto: "protobuf",
	tf: "hcl",
	hcl: "hcl",
	dart: "dart",
	zig: "zig",
	nix: "nix",
	diff: "diff",
	patch: "diff",
	ini: "ini",
	dockerfile: "dockerfile",
	makefile: "makefile",
	cmake: "cmake",
};

const BY_NAME: Readonly<Record<string, string>> = {
	dockerfile: "dockerfile",
	makefile: "makefile",
	gnumakefile: "makefile",
	"cmakelists.txt": "cmake",
	gemfile: "ruby",
	rakefile: "ruby",
	".bashrc": "bash",
	".zshrc": "bash",
	".profile": "bash",
};

/** Spellings that the grammar library knows under another name. */
const ALIASES: Readonly<Record<string, string>> = {
	html: "xml",
	svg: "xml",
	toml: "ini",
	jsonc: "json",
	shell: "bash",
	sh: "bash",
	zsh: "bash",
	console: "bash",
	"c++": "cpp",
	"c#": "csharp",
	"objective-c": "objectivec",
	golang: "go",
	node: "javascript",
	text: "plaintext",
	txt: "plaintext",
};

/** Language of a file by its base name or extension. */
export function languageOfExtension(path: string): string | undefined {
	const base = path.split(/[\\/]/).at(-1)?.toLowerCase() ?? "";
	const special = Object.hasOwn(BY_NAME, base) ? BY_NAME[base] : undefined;
	if (special !== undefined) return special;
	const dot = base.lastIndexOf(".");
	const extension = dot < 0 ? "" : base.slice(dot + 1);
	return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
}

/** The grammar library's name for what a code block or a file extension says. */
export function languageOfName(name: string): string | undefined {
	const lower = name.trim().toLowerCase();
	if (lower === "") return undefined;
	const language = Object.hasOwn(BY_EXTENSION, lower) ? (BY_EXTENSION[lower] ?? lower) : lower;
	return Object.hasOwn(ALIASES, language) ? ALIASES[language] : language;
}
