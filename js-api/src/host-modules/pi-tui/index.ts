// The `pi-tui` host module: the real component library, plus what the oh-my-pi and xcsh editions of it export (sdk-exports §4).
// Where both editions give a name different arguments, the version here tells them apart by the arguments and does either.
// It must never wrap a class that the library itself instantiates or extends: `instanceof` would split.

import "./additions.ts";

export * from "@earendil-works/pi-tui";
export { TuiMainScreen as TUI } from "@earendil-works/pi-tui";
export { Editor } from "./editor.ts";
export { HorizontalSplit, TabBar } from "./layout.ts";
export { Markdown } from "./markdown.ts";
export { Ellipsis, padding, replaceTabs, truncateToWidth } from "./text.ts";
export { EditorKeybindingsManager, getEditorKeybindings, setEditorKeybindings } from "./editor-keybindings.ts";
