// The `pi-utils` host module (oh-my-pi, xcsh): small helpers that extensions import (sdk-exports §7). `pi-natives` leads here, too; what it has
// beyond this is native code of another program and fails when used.

export { logger } from "../logger.ts";
export { APP_NAME, CONFIG_DIR_NAME, getAgentDir, getSessionCwd as getProjectDir, VERSION } from "../host-info.ts";
export { parseFrontmatter, stripFrontmatter } from "../coding-agent/frontmatter.ts";
export { abortableSleep, once, untilAborted } from "./async.ts";
export { $env, $flag, isEnoent } from "./environment.ts";
export { formatBytes, formatCount, formatDuration, formatNumber, pluralize, truncate } from "./format.ts";
export { Snowflake } from "./snowflake.ts";
export { t } from "./template.ts";
