/** The storage schema of this release, the same for every engine (interface §9.4). */
export const SCHEMA_VERSION = 55;
