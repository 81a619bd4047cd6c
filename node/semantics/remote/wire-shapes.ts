import { z } from 'zod';
import { under } from '../../outbound/under.js';

/** How a service is asked for vectors (interface §2.12, "Backends"). */
export interface WireShape {
  /** The address of the endpoint under a base URL. */
  readonly endpoint: (base: URL) => URL;
  readonly body: (model: string, texts: readonly string[]) => object;
  /** The vectors in the order of the texts; null for an answer of another shape. */
  readonly vectors: (answer: unknown) => readonly (readonly number[])[] | null;
}

const nativeAnswer = z.object({ embeddings: z.array(z.array(z.number())) });
const compatibleAnswer = z.object({
  data: z.array(z.object({ index: z.int().min(0).optional(), embedding: z.array(z.number()) })),
});

/** `POST /api/embed`, without authentication; over-length texts are cut by the service. */
export const LOCAL_NATIVE: WireShape = {
  endpoint: (base) => under(base, '/api/embed', ''),
  body: (model, texts) => ({ model, input: texts, truncate: true }),
  vectors: (answer) => {
    const parsed = nativeAnswer.safeParse(answer);
    return parsed.success ? parsed.data.embeddings : null;
  },
};

/** `POST /v1/embeddings` with a bearer key. A base URL that has a path already says where the version is. */
export const COMPATIBLE: WireShape = {
  endpoint: (base) => under(base, '/embeddings', '/v1'),
  body: (model, texts) => ({ model, input: texts, encoding_format: 'float' }),
  vectors: (answer) => {
    const parsed = compatibleAnswer.safeParse(answer);
    if (!parsed.success) return null;
    const { data } = parsed.data;
    const vectors: (readonly number[])[] = [];
    // The order of the entries is free, when they have numbers.
    for (const [place, { index, embedding }] of data.entries()) vectors[index ?? place] = embedding;
    return vectors.length === data.length && !vectors.includes(undefined as never) ? vectors : null;
  },
};
