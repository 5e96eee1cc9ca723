export default function (pi: any) {
	pi.on("resources_discover", (event: any) => {
		console.log(`discover ${event.reason}`);
		return { skillPaths: ["skills", "nowhere"], promptPaths: ["prompts"], themePaths: ["theme.json"] };
	});
}
