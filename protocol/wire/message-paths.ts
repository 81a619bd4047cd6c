/** The paths of the replication messages between nodes. A signature covers its message's path (interface §4.10). */
export const PUSH_PATH = '/api/v1/sync/push';
export const SINCE_PATH = '/api/v1/sync/since';
/** The question of `/sync/since` as a body. */
export const PULL_PATH = '/api/v1/mesh/pull';
/** Compares the rows of two nodes (design: mesh, "Anti-entropy"). */
export const RANGES_PATH = '/api/v1/mesh/ranges';
/** A request that only the home of its subject decides (design: kinds). */
export const COMMANDS_PATH = '/api/v1/mesh/commands';
