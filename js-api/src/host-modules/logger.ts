// The `logger` that oh-my-pi and xcsh export: the host's log, without an extension's name, because a module is shared by all of an isolate.

import { createLogger, NO_EXTENSION } from "../api/logger.ts";

export const logger = createLogger(NO_EXTENSION);
