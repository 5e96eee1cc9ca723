export default function (pi: any) {
	// The next line does not parse.
	const = 1;
}
