import { RELATIONS, type Relation } from '../../protocol/links/link.js';
import type { SourceRow } from './format.js';

/** A link as `memory_link` takes it. */
export interface ReadyLink {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: Relation;
}

/** Relations between memories that a source may state in our words; all others become `related_to`. */
const STATED: readonly Relation[] = ['depends_on', 'derived_from', 'contradicts', 'supersedes'];

/** Gathers what the rows of a source say of each other, by name, until all of them are known. */
export class SourceLinks {
  private readonly idOf = new Map<string, string>();
  private readonly uriOf = new Map<string, string>();
  private readonly said: { readonly from: string; readonly to: string; readonly relation: Relation }[] = [];
  private readonly parts: { readonly part: string; readonly whole: string }[] = [];

  /** Says under which names a row is known, and which others it names. */
  names(uri: string, { names, links }: Pick<SourceRow, 'names' | 'links'>): void {
    // The first row of a name has it.
    for (const name of names) if (!this.uriOf.has(folded(name))) this.uriOf.set(folded(name), uri);
    for (const { to, relation } of links)
      this.said.push({ from: uri, to: folded(to), relation: relationOf(relation) });
  }

  /** Says that a text goes on in another memory. */
  part(part: string, whole: string): void {
    this.parts.push({ part, whole });
  }

  stored(uri: string, id: string): void {
    this.idOf.set(uri, id);
  }

  /** The links between memories that are here, each once, and the number of those that lead nowhere. */
  resolved(): { readonly links: readonly ReadyLink[]; readonly loose: number } {
    const links = new Map<string, ReadyLink>();
    let loose = 0;
    const add = (from: string | undefined, to: string | undefined, relation: Relation) => {
      if (from === undefined) return;
      if (to === undefined) loose += 1;
      else if (from !== to)
        links.set(`${from} ${to} ${relation}`, { source_id: from, target_id: to, relation });
    };
    for (const { from, to, relation } of this.said)
      add(this.idOf.get(from), this.idOf.get(this.uriOf.get(to) ?? ''), relation);
    for (const { part, whole } of this.parts) add(this.idOf.get(part), this.idOf.get(whole), 'related_to');
    return { links: [...links.values()], loose };
  }
}

const folded = (name: string): string => name.normalize('NFC').trim().toLowerCase();

function relationOf(said: string): Relation {
  const word = said
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_');
  return RELATIONS.find((relation) => relation === word && STATED.includes(relation)) ?? 'related_to';
}
