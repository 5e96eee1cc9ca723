import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export default function (pi: any) {
	pi.registerCommand("keep", {
		handler: async (_args: string, ctx: any) => {
			const manager = ctx.sessionManager;
			const kept = await manager.putBlob(Buffer.from("abc"));
			console.log(`kept: ${kept.hash} ${kept.path.endsWith(`/blobs/${kept.hash}`)}`);
			console.log(`ref: ${kept.ref}`);
			const large = new Uint8Array(200_001).map((_, index) => (index * 7) % 256);
			const { hash, path } = await manager.putBlob(large);
			const expected = createHash("sha256").update(large).digest("hex");
			console.log(`large: ${hash === expected && readFileSync(path).equals(Buffer.from(large))}`);
			const png =
				"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
			const { ref } = await manager.putBlob(Buffer.from(png, "base64"));
			const image = { type: "image", data: ref, mimeType: "image/png" };
			pi.sendMessage({ customType: "picture", display: true, content: [image] });
			pi.on("context", ({ messages }: any) => {
				console.log(`the model sees: ${messages[0].content[0].data === png}`);
			});
			try {
				await manager.putBlob("abc");
			} catch (error) {
				console.log(`wrong: ${(error as Error).message}`);
			}
		},
	});
}
