import type {} from "@f5-sales-demo/xcsh";

export default function (pi: any) {
	pi.on("user_bash", (event: any) => {
		if (event.command === "echo unreadable") return { result: { output: 5 } };
		throw new Error("cannot decide");
	});
}
