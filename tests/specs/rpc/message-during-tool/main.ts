export default function (pi: any) {
	pi.on("tool_execution_start", () => {
		pi.sendMessage({ customType: "note", content: "a note", display: true }, { triggerTurn: false });
	});
}
