// `StringEnum` with a TypeBox type. The schema is `{type, enum, description?, default?}` and never `anyOf`, which some providers refuse.

import { type TUnsafe, Type } from "typebox";

export function StringEnum<const Values extends readonly string[]>(
	values: Values,
	options: { description?: string; default?: Values[number] } = {},
): TUnsafe<Values[number]> {
	return Type.Unsafe<Values[number]>({
		type: "string",
		enum: [...values],
		...(options.description === undefined ? {} : { description: options.description }),
		...(options.default === undefined ? {} : { default: options.default }),
	});
}
