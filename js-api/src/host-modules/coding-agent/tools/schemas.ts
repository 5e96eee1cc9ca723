// Parameters of the built-in tools (agent-loop §10): plain JSON Schema objects.

import { Type } from "typebox";

export const readSchema = Type.Object({
	path: Type.String({ description: "File to read; relative to the working directory, or absolute" }),
	offset: Type.Optional(Type.Number({ description: "First line to return; lines count from 1" })),
	limit: Type.Optional(Type.Number({ description: "Number of lines to return" })),
});

export const writeSchema = Type.Object({
	path: Type.String({ description: "File to create or overwrite; relative to the working directory, or absolute" }),
	content: Type.String({ description: "The whole new content" }),
});

export const editSchema = Type.Object({
	path: Type.String({ description: "File to change; relative to the working directory, or absolute" }),
	edits: Type.Array(
		Type.Object({
			oldText: Type.String({ description: "Text to replace, exactly as in the file; must occur there exactly once" }),
			newText: Type.String({ description: "What takes its place" }),
		}),
		{ description: "Replacements. All are matched against the file as it is before the call and must not overlap" },
	),
});

export const bashSchema = Type.Object({
	command: Type.String({ description: "Shell command to run" }),
	timeout: Type.Optional(Type.Number({ description: "Seconds after which the command is killed; none by default" })),
});

export const lsSchema = Type.Object({
	path: Type.Optional(Type.String({ description: "Directory; the working directory by default" })),
	limit: Type.Optional(Type.Number({ description: "Most entries to return (500 by default)" })),
});

export const findSchema = Type.Object({
	pattern: Type.String({
		description:
			"Glob pattern. With a slash it is matched against paths below the search directory, without one against file names",
	}),
	path: Type.Optional(Type.String({ description: "Directory to search; the working directory by default" })),
	limit: Type.Optional(Type.Number({ description: "Most results to return (1000 by default)" })),
});

export const grepSchema = Type.Object({
	pattern: Type.String({ description: "Regular expression, or plain text with `literal`" }),
	path: Type.Optional(Type.String({ description: "File or directory to search; the working directory by default" })),
	glob: Type.Optional(Type.String({ description: "Only search files that match this glob pattern" })),
	ignoreCase: Type.Optional(Type.Boolean({ description: "Ignore upper and lower case" })),
	literal: Type.Optional(Type.Boolean({ description: "Take the pattern as plain text" })),
	context: Type.Optional(Type.Number({ description: "Lines to show around each match (0 by default)" })),
	limit: Type.Optional(Type.Number({ description: "Most matches to return (100 by default)" })),
});
