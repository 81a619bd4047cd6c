/** The families of the MCP tools (reference-mcp-cli §1.1). */
export const FAMILIES = [
  'core',
  'lifecycle',
  'graph',
  'governance',
  'power',
  'meta',
  'archive',
  'other',
] as const;
export type Family = (typeof FAMILIES)[number];

/** The family of that name. */
export const familyOf = (name: string): Family | undefined => FAMILIES.find((known) => known === name);
