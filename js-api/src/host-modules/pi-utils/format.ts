// Numbers, sizes and times for people.

/** `850ms`, `4.2s`, `3m12s`, `2h5m`, `1d4h`. */
export function formatDuration(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)}ms`;
	if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
	const seconds = Math.floor(ms / 1000);
	const pair = (large: number, largeUnit: string, small: number, smallUnit: string) =>
		small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
	if (seconds < 3600) return pair(Math.floor(seconds / 60), "m", seconds % 60, "s");
	const minutes = Math.floor(seconds / 60);
	if (minutes < 24 * 60) return pair(Math.floor(minutes / 60), "h", minutes % 60, "m");
	const hours = Math.floor(minutes / 60);
	return pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** `512B`, `1.5KB`, `2.0MB`, `3.1GB`. */
export function formatBytes(bytes: number): string {
	const units = ["B", "KB", "MB", "GB", "TB"];
	let value = bytes;
	let unit = 0;
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return unit === 0 ? `${bytes}B` : `${value.toFixed(1)}${units[unit]}`;
}

/** `999`, `1.2K`, `3.4M`, `5.6B`. */
export function formatNumber(value: number): string {
	const magnitude = Math.abs(value);
	if (magnitude < 1000) return String(value);
	const [divisor, unit] = magnitude < 1e6 ? [1e3, "K"] : magnitude < 1e9 ? [1e6, "M"] : [1e9, "B"];
	const scaled = value / (divisor as number);
	return `${Math.abs(scaled) < 10 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
}

/** The word for `count` things. */
export function pluralize(word: string, count: number, plural?: string): string {
	if (count === 1) return word;
	if (plural !== undefined) return plural;
	if (/(?:s|x|z|ch|sh)$/i.test(word)) return `${word}es`;
	return /[^aeiou]y$/i.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}

/** `3 files`, `1 file`. */
export function formatCount(word: string, count: number, plural?: string): string {
	return `${count} ${pluralize(word, count, plural)}`;
}

/** Cuts to `max` UTF-16 units, the mark included. A surrogate pair is never split. */
export function truncate(text: string, max: number, ellipsis = "…"): string {
	if (text.length <= max) return text;
	const kept = text.slice(0, Math.max(0, max - ellipsis.length));
	return (/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept) + ellipsis;
}
