import { FAMILIES, type Family } from '../../config/tool-families.js';

/** Words that describe each family, for matching an intent. */
const DESCRIPTORS: Readonly<Record<Family, string>> = {
  core: 'store save remember recall retrieve find search list get read memory memories note fact',
  lifecycle: 'update edit change delete remove forget expire garbage collect promote capture turn retention',
  graph: 'link relation relate graph path timeline entity alias connect taxonomy lineage provenance verify',
  governance: 'policy approve reject pending standard permission subscribe webhook rule approval',
  power:
    'consolidate summarise duplicate contradiction tag expand reflect persona atomise action lease signal share',
  meta: 'capabilities agents register session start statistics stats health status',
  archive: 'archive restore purge archived recover history old',
  other: 'notify message inbox skill subscription package export',
};

export interface FamilyChoice {
  readonly family: Family;
  /** Hits for each word of the intent, three decimals. */
  readonly score: number;
  readonly source: 'keyword' | 'fallback';
}

const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Equal, or both at least five letters long with the same first five. */
function matches(a: string, b: string): boolean {
  return a === b || (a.length >= 5 && b.length >= 5 && a.slice(0, 5) === b.slice(0, 5));
}

/**
 * Picks the family whose descriptor and tool names share most words with the intent (reference-mcp-cli §1.2); an intent
 * without a match gets core.
 */
export function chooseFamily(
  intent: string,
  tools: readonly { readonly name: string; readonly family: string }[],
): FamilyChoice {
  const tokens = words(intent);
  const normalized = intent.toLowerCase();
  let best: FamilyChoice = { family: 'core', score: 0, source: 'fallback' };
  for (const family of FAMILIES) {
    const descriptor = words(DESCRIPTORS[family]);
    const descriptorHits = tokens.filter((token) => descriptor.some((word) => matches(token, word))).length;
    let segmentHits = 0;
    let bestTool = 0;
    let fullNames = 0;
    for (const tool of tools) {
      if (tool.family !== family) continue;
      const segments = tool.name.split('_').slice(1);
      const hits = segments.filter((segment) => tokens.some((token) => matches(token, segment))).length;
      segmentHits += hits;
      bestTool = Math.max(bestTool, hits);
      if (normalized.includes(tool.name)) fullNames += 1;
    }
    const total = 2 * descriptorHits + segmentHits + 2 * bestTool + 4 * fullNames;
    const score = tokens.length === 0 ? 0 : Math.round((total / tokens.length) * 1000) / 1000;
    if (score > best.score) best = { family, score, source: 'keyword' };
  }
  return best;
}
