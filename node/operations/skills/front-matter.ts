import type { ParsedNode, Scalar } from 'yaml';
import { FRONT_MATTER_DEPTH_MAX } from '../../../protocol/skills/limits.js';

/** The members of a front matter, or what is wrong with it. */
export type FrontMatter =
  | { readonly ok: true; readonly members: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problem: string };

const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

class Refused extends Error {}

/**
 * Reads a front matter: YAML 1.2 that describes data. Anchors, aliases, tags and merges are refused, because they give one text
 * another meaning elsewhere. A number that would lose digits stays a text. The parser is loaded with the first one.
 */
export async function readFrontMatter(text: string): Promise<FrontMatter> {
  const yaml = await import('yaml');
  const valueAt = (node: ParsedNode | null, depth: number): unknown => {
    if (node === null) return null;
    if (yaml.isAlias(node))
      throw new Refused('must not use aliases (*): write the value again, or in quotes');
    if (node.anchor !== undefined) throw new Refused('must not use anchors (&): put the value into quotes');
    if (node.tag !== undefined && node.tag !== '!')
      throw new Refused('must not use tags (!): put the value into quotes');
    if (yaml.isScalar(node)) return scalarOf(node);
    if (depth > FRONT_MATTER_DEPTH_MAX)
      throw new Refused(`must be at most ${FRONT_MATTER_DEPTH_MAX} levels deep`);
    if (yaml.isSeq(node)) return node.items.map((item) => valueAt(item as ParsedNode, depth + 1));
    const members: Record<string, unknown> = {};
    for (const { key, value } of node.items) {
      if (!yaml.isScalar(key)) throw new Refused('must have texts as keys');
      const name = String(key.source ?? key.value);
      if (name === '__proto__' || name === '<<')
        throw new Refused(`has the key "${name}", which is not taken`);
      if (Object.hasOwn(members, name)) throw new Refused(`says "${name}" again`);
      members[name] = valueAt(value as ParsedNode | null, depth + 1);
    }
    return members;
  };
  try {
    const lines = new yaml.LineCounter();
    const document = yaml.parseDocument(text.replace(/\r(?=\n|$)/g, ''), {
      ...{ schema: 'core', merge: false, strict: true, logLevel: 'error', lineCounter: lines },
      // What takes the square of the length of the text: a look at all keys for each, and a picture for each error.
      ...{ uniqueKeys: false, prettyErrors: false },
    });
    const [error] = document.errors;
    if (error !== undefined) {
      // The first line of the file is that of three dashes.
      const { line } = lines.linePos(error.pos[0]);
      return { ok: false, problem: `line ${line + 1}: ${error.message}` };
    }
    const { contents } = document;
    if (contents === null) return { ok: true, members: {} };
    const members = valueAt(contents, 0);
    if (typeof members === 'object' && members !== null && !Array.isArray(members))
      return { ok: true, members: members as Record<string, unknown> };
    return { ok: false, problem: 'must be a list of "key: value" lines' };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, problem: error.message };
    if (error instanceof RangeError) return { ok: false, problem: 'is nested too deep' };
    throw error;
  }
}

function scalarOf({ value, source, type }: Scalar): unknown {
  if (typeof value !== 'number' || type !== 'PLAIN' || source === undefined) return value;
  const isExact = INTEGER.test(source)
    ? String(value) === source || value === 0
    : DECIMAL.test(source) && Number.isFinite(value);
  return isExact ? value + 0 : source;
}
