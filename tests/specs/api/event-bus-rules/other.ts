export default function (pi: any) {
	pi.events.on("channel", (data: any) => {
		if (data.n === 42) console.log(`other got ${data.n}`);
	});
}
