import * as sdk from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	const schema = pi.zod.object({ n: pi.zod.number() });
	const parsed = schema.safeParse({ n: 1 }).success && !schema.safeParse({ n: "1" }).success;
	console.log(`zod ${parsed} ${typeof pi.zod.z} typebox ${typeof pi.typebox.Type.String()} pi ${pi.pi === sdk}`);
	try {
		console.log(`arktype: ${typeof pi.arktype}`);
	} catch (error) {
		console.log(`arktype: ${(error as Error).message}`);
	}
}
