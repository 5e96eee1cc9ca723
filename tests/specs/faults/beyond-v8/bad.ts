export default function (pi: any) {
	pi.registerCommand("split", {
		description: "Asks for an array longer than V8 can hold",
		handler: async () => {
			"x".repeat(2 ** 28).split("");
		},
	});
}
