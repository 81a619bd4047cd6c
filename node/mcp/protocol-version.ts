import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';

/** The version of the interface (§1, §9): for clients that ask for it, or for one that is unknown. */
export const FIRST_VERSION = '2024-11-05';

/** The version of a session: what its client asks for, where that is a later one that the library knows. */
export function versionFor(asked: unknown): string {
  if (typeof asked !== 'string' || asked <= FIRST_VERSION) return FIRST_VERSION;
  return SUPPORTED_PROTOCOL_VERSIONS.includes(asked) ? asked : FIRST_VERSION;
}

/** What a version of the protocol has. */
export interface VersionFeatures {
  /** Resources, completions, logging, and tool errors for bad arguments: this node has them in later sessions only. */
  readonly later: boolean;
  /** Hints about what a tool does. */
  readonly annotations: boolean;
  /** Titles, schemas of answers, and answers as JSON beside their text. */
  readonly structured: boolean;
}

export const featuresOf = (version: string): VersionFeatures => ({
  later: version > FIRST_VERSION,
  annotations: version >= '2025-03-26',
  structured: version >= '2025-06-18',
});
