export default function (pi: any) {
	const x = ;
}
