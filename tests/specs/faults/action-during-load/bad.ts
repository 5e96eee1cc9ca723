export default function (pi: any) {
	pi.sendMessage({ customType: "early", content: "too early", display: true });
}
