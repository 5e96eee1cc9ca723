export default function (pi: any) {
	pi.registerCommand("write", {
		description: "Writes and reads",
		handler: async (_args: string, ctx: any) => {
			pi.appendEntry("mine", { n: 5 });
			const branch = ctx.sessionManager.getBranch();
			const entry = branch.at(-1);
			const isLeaf = ctx.sessionManager.getLeafId() === entry.id;
			pi.setLabel(entry.id, "here");
			pi.setSessionName("named");
			const label = ctx.sessionManager.getLabel(entry.id);
			console.log(`entry ${entry.data.n} in branch, leaf is it: ${isLeaf}, label: ${label}, name: ${pi.getSessionName()}`);
		},
	});
}
