export default function () {
	console.log("project extension runs");
}
