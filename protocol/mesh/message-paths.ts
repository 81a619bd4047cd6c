/** The messages between nodes that replicate, by their paths: these are what a signature covers (interface §4.10). */
export const PUSH_PATH = '/api/v1/sync/push';
export const SINCE_PATH = '/api/v1/sync/since';
/** Nodes compare their rows (design: mesh, "Anti-entropy"). */
export const RANGES_PATH = '/api/v1/mesh/ranges';
/** A request that only the home of its subject decides (design: kinds). */
export const COMMANDS_PATH = '/api/v1/mesh/commands';
