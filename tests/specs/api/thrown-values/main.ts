export default function (pi: any) {
	const thrown: Record<string, unknown> = {
		error: new TypeError("an error"),
		string: "a string",
		number: 7,
		nothing: undefined,
		object: { toString: () => "an object" },
	};
	pi.registerTool({
		name: "fail",
		label: "Fail",
		description: "Fails as asked",
		parameters: { type: "object", properties: { how: { type: "string" } } },
		execute(_id: string, { how }: { how: string }) {
			if (how === "rejects") return Promise.reject("a rejection");
			if (how === "returns") return { content: [{ type: "text", text: "an error result" }], isError: true };
			throw thrown[how];
		},
	});
}
