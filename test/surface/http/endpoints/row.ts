/** One line of an endpoint table of the interface, as a request and what it must answer. */
export interface EndpointRow {
  readonly section: string;
  readonly what: string;
  readonly method: string;
  /** Under `/api/v1` unless `bare`; `{a}` names an id that an earlier row kept. */
  readonly path: string;
  readonly bare?: true;
  /** Who asks; ai:alice unless given, nobody for null. */
  readonly as?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly status: number;
  /** Keys of the answer and their types; `name?` may be absent, other keys may be there. */
  readonly shape?: Shape;
  readonly code?: string;
  /** Parts of the answer that must be exactly so. */
  readonly holds?: Readonly<Record<string, unknown>>;
  /** Keeps the `id` of the answer under this name. */
  readonly keep?: string;
}

/** A type name, a list of one shape, or an object of shapes. */
export type Shape = string | readonly [Shape] | { readonly [key: string]: Shape };

export const ROOT = 'ai:root';
export const MEMORY = {
  id: 'string',
  tier: 'string',
  namespace: 'string',
  title: 'string',
  content: 'string',
  tags: ['string'],
  priority: 'number',
  confidence: 'number',
  source: 'string',
  access_count: 'number',
  created_at: 'string',
  updated_at: 'string',
  metadata: 'object',
  kind: 'string',
  version: 'number',
} as const;
export const memory = (title: string, more: Record<string, unknown> = {}) => ({
  title,
  content: `about ${title}`,
  ...more,
});
export const NOT_FOUND = { status: 404, code: 'NOT_FOUND' } as const;
export const INVALID = { status: 400, code: 'VALIDATION_FAILED' } as const;
export const NO_ADMIN = { status: 403, code: 'ADMIN_REQUIRED' } as const;
