import { nothing } from "no-such-package";

export default function () {
	nothing();
}
