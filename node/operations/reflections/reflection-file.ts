import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { Looking } from '../shared/hooked.js';
import { shownMemory } from '../shared/shown-memories.js';
import { sourceLinks } from './named-reflection.js';

export const REFLECTION_FORMATS = ['md', 'json'] as const;
export type ReflectionFormat = (typeof REFLECTION_FORMATS)[number];

/** A reflection as a file below a folder. */
export interface ReflectionFile {
  readonly name: string;
  readonly content: string;
}

/** A reflection as a file, with the ids of those sources that the caller sees. */
export async function reflectionFile(
  call: Looking,
  memory: MemoryRow,
  format: ReflectionFormat,
): Promise<Result<ReflectionFile>> {
  const links = await sourceLinks(call, memory.id);
  if (!links.ok) return failed(links.error);
  const sources = links.value.map(({ link }) => link.target_id);
  const shown = await shownMemory(call, memory);
  const name = `${memory.namespace}/${memory.id}.${format}`;
  const content =
    format === 'json'
      ? `${JSON.stringify({ ...(shown as object), reflects_on: sources }, null, 2)}\n`
      : markdown(shown, sources);
  return ok({ name, content });
}

/** Every value is JSON, which YAML reads as the same value, so no text ends the front matter. */
function markdown(shown: Readonly<Record<string, unknown>>, sources: readonly string[]): string {
  const { agent_id, attest_level } = shown['metadata'] as Readonly<Record<string, unknown>>;
  const { id, namespace, title, content, tags, reflection_depth, confidence, created_at } = shown;
  const front = {
    id,
    namespace,
    title,
    reflection_depth,
    reflects_on: sources,
    tags,
    confidence,
    created_at,
  };
  const lines = Object.entries({ ...front, agent_id, attest_level })
    .filter(([, value]) => value !== undefined)
    .map(([member, value]) => `${member}: ${JSON.stringify(value)}`);
  return `---\n${lines.join('\n')}\n---\n\n# ${String(title)}\n\n${String(content)}\n`;
}
