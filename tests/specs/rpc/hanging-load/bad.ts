export default async function () {
	await new Promise((resolve) => setTimeout(resolve, 600000));
}
