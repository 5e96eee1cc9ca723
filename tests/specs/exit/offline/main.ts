import { execFileSync } from "node:child_process";

export default function () {
	console.log(`extension: ${process.env.PI_OFFLINE}`);
	console.log(`child: ${execFileSync("sh", ["-c", "echo $PI_OFFLINE"], { encoding: "utf8" }).trim()}`);
}
