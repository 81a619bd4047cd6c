/** The kinds of memories to choose from; empty for any. */
export const KINDS: readonly string[] = [
  ...['', 'observation', 'reflection', 'persona', 'concept', 'entity', 'claim', 'relation', 'event'],
  ...['conversation', 'decision'],
];

/** What a list shows of a memory; the text is cut, so that 100,000 rows fit into a tab. */
export interface MemoryRow {
  readonly id: string;
  readonly title: string;
  readonly namespace: string;
  readonly tier: string;
  readonly kind: string;
  readonly tags: readonly string[];
  readonly agent: string;
  readonly updatedAt: string;
  readonly passage: string;
  readonly score: number | null;
  /** `ended` or `not_begun` for what does not hold now; empty for the rest. */
  readonly validity: string;
  /** How a recall found it; null for a list. */
  readonly why: string | null;
}

interface Shown {
  readonly id: string;
  readonly title: string;
  readonly namespace: string;
  readonly tier: string;
  readonly kind?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly updated_at?: string | undefined;
  readonly content?: string | undefined;
  readonly passage?: string | undefined;
  readonly score?: number | undefined;
  readonly validity?: string | undefined;
  readonly metadata?: { readonly agent_id?: unknown } | undefined;
  readonly [member: string]: unknown;
}

const PASSAGE_LENGTH = 200;

export function memoryRow(memory: Shown, why: string | null = null): MemoryRow {
  const text = memory.passage ?? memory.content ?? '';
  return {
    id: memory.id,
    title: memory.title,
    namespace: memory.namespace,
    tier: memory.tier,
    kind: memory.kind ?? '',
    tags: memory.tags ?? [],
    agent: typeof memory.metadata?.agent_id === 'string' ? memory.metadata.agent_id : '',
    updatedAt: memory.updated_at ?? '',
    passage: text.length > PASSAGE_LENGTH ? `${text.slice(0, PASSAGE_LENGTH)}…` : text,
    score: memory.score ?? null,
    validity: memory.validity ?? '',
    why,
  };
}

/** Whether a memory holds now, in words; what is asked as of an instant held then. */
export function validityText({ validity }: Pick<MemoryRow, 'validity'>, asOf: string): string {
  if (validity === 'ended') return asOf === '' ? 'has ended' : 'has ended since';
  return validity === 'not_begun' ? 'has not begun' : validity;
}

const WHYS: Readonly<Record<string, string>> = {
  words: 'by its words',
  meaning: 'by its meaning',
  both: 'by words and meaning',
  neighbours: 'beside rows that fit',
};

/** Why a recall found a row, in words for people. */
export const whyText = (foundBy: unknown): string | null =>
  typeof foundBy === 'string' ? (WHYS[foundBy] ?? foundBy) : null;
