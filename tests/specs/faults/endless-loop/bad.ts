export default function (pi: any) {
	pi.on("turn_start", () => {
		let n = 0;
		for (;;) n++;
	});
}
