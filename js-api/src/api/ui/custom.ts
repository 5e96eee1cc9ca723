// `ctx.ui.custom`, widget and footer factories (§8.1) for frontends that can draw components (`bind.ui.components`).

import { hostCall, hostCallAsync } from "../../host.ts";
import { describeType, isObjectLike, toJsonValue } from "../json.ts";
import { currentTheme } from "../theme.ts";
import type { Component } from "../types.ts";
import type { MountedComponent } from "./components.ts";
import type { UiEnv } from "./env.ts";
import { doneWithKeybindings, keybindingsOf } from "./keybindings.ts";
import { createTui, type OverlayHandle } from "./tui.ts";

type Factory = (...args: unknown[]) => unknown;

export interface CustomOptions {
	overlay?: boolean;
	overlayOptions?: unknown;
	onHandle?: (handle: OverlayHandle) => void;
	[other: string]: unknown;
}

function asComponent(where: string, value: unknown): Component {
	if (isObjectLike(value) && typeof (value as Component).render === "function") return value as Component;
	throw new TypeError(`${where} must return a component with a render method, got ${describeType(value)}`);
}

/** Shows a component of its own on top; it has no result. */
function overlayOf(env: UiEnv) {
	return (component: Component, options: unknown): OverlayHandle => {
		const mounted = env.runtime.components.mount(env.record);
		mounted.component = component;
		void open(env, mounted, { overlay: true, overlayOptions: options }).catch((error) =>
			env.runtime.report(env.record.ext, "ui:overlay", error),
		);
		return overlayHandle(mounted, () => close(mounted));
	};
}

function overlayHandle(mounted: MountedComponent, hide: () => void): OverlayHandle {
	let hidden = false;
	let focused = true;
	const say = (change: Record<string, unknown>) => {
		if (mounted.closed) return;
		hostCall("ui", { ext: mounted.record.ext, method: "overlay", component: mounted.id, ...change });
	};
	return {
		hide,
		setHidden: (value) => {
			hidden = Boolean(value);
			say({ hidden });
		},
		isHidden: () => hidden || mounted.closed,
		focus: () => {
			focused = true;
			say({ focused });
		},
		unfocus: () => {
			focused = false;
			say({ focused });
		},
		isFocused: () => focused && !mounted.closed,
		getBounds: () => undefined,
	};
}

/** Ids of the host's dialogs by component, to close them from here. */
const dialogs = new WeakMap<MountedComponent, number>();

function close(mounted: MountedComponent): void {
	const dialogId = dialogs.get(mounted);
	dialogs.delete(mounted);
	mounted.close();
	if (dialogId !== undefined) hostCall("ui.cancelDialog", { dialogId, reason: "done" });
}

/** Puts the component on screen; resolves when the host took it off. */
async function open(env: UiEnv, mounted: MountedComponent, options: CustomOptions): Promise<void> {
	const dialogId = env.runtime.nextId();
	dialogs.set(mounted, dialogId);
	const placement = typeof options.overlayOptions === "function" ? options.overlayOptions() : options.overlayOptions;
	await hostCallAsync("ui.dialog", {
		...env.origin,
		dialogId,
		method: "custom",
		component: mounted.id,
		overlay: options.overlay === true,
		wantsKeyRelease: (mounted.component as { wantsKeyRelease?: boolean } | undefined)?.wantsKeyRelease === true,
		...(placement === undefined ? {} : { options: toJsonValue(placement, "overlayOptions") }),
	});
	dialogs.delete(mounted);
}

/** Runs a component until it calls `done(value)`; `undefined` when the person or the host closed it. */
export async function runCustom(env: UiEnv, factory: Factory, options: CustomOptions): Promise<unknown> {
	const { runtime, record } = env;
	const mounted = runtime.components.mount(record);
	let finish: (outcome: { value: unknown }) => void = () => {};
	const finished = new Promise<{ value: unknown }>((resolve) => {
		finish = resolve;
	});
	mounted.onClose = () => finish({ value: undefined });
	const done = (value?: unknown) => finish({ value });
	const tui = createTui(mounted, overlayOf(env));
	const keybindings = keybindingsOf(runtime);
	try {
		const args: unknown[] =
			factory.length === 3
				? [tui, currentTheme(), doneWithKeybindings(done, keybindings), done]
				: [tui, currentTheme(), keybindings, done];
		mounted.component = asComponent("ui.custom: factory", await factory(...args));
		const shown = open(env, mounted, options);
		options.onHandle?.(overlayHandle(mounted, () => done(undefined)));
		const { value } = await Promise.race([finished, shown.then(() => ({ value: undefined }))]);
		shown.catch(() => {});
		return value;
	} finally {
		close(mounted);
	}
}

/** Components that widgets, header and footer show at the moment, by slot; setting a slot again disposes what was there. */
export class ComponentSlots {
	readonly #slots = new Map<string, MountedComponent>();

	/** Mounts what `factory` makes in `slot`, or clears it. Answers the handle to send. */
	set(env: UiEnv, slot: string, factory: unknown, ...more: unknown[]): MountedComponent | undefined {
		this.#slots.get(slot)?.close();
		this.#slots.delete(slot);
		if (typeof factory !== "function") return undefined;
		const mounted = env.runtime.components.mount(env.record);
		try {
			const tui = createTui(mounted, overlayOf(env));
			mounted.component = asComponent(`ui.${slot}: factory`, factory(tui, currentTheme(), ...more));
		} catch (error) {
			mounted.close();
			throw error;
		}
		this.#slots.set(slot, mounted);
		return mounted;
	}
}
