import { agentIdProblem } from '../../protocol/base/ids.js';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import { EVERY_NAMESPACE, type Within, withinBoth, withinProblem } from '../../protocol/base/within.js';

/** What a token may permit, each operation of the service being one of them. */
export const TOKEN_OPERATIONS = ['read', 'write', 'admin'] as const;
export type TokenOperation = (typeof TOKEN_OPERATIONS)[number];

/** What a token permits: what all of its blocks permit. */
export interface Limits {
  readonly operations: readonly TokenOperation[];
  /** Absent for all namespaces. */
  readonly within: Within | undefined;
  /** Whole seconds since 1970: valid from the first on and before the second. */
  readonly notBeforeS: number;
  readonly expiresS: number;
}

/** What a block takes away; a member that it does not name stays as it was. */
export interface Narrowing {
  readonly operations?: readonly TokenOperation[] | undefined;
  /** Patterns. */
  readonly namespaces?: readonly string[] | undefined;
  readonly notBeforeS?: number | undefined;
  readonly expiresS?: number | undefined;
}

/** Who minted a token, and for whom; only its first block says so. */
export interface Origin {
  readonly agentId: string;
  /** Null for the operator of the node. */
  readonly minter: string | null;
  /** The key that was bound to the minter, standard base64. */
  readonly minterKey: string | null;
  /** What the node knows its API key by; null where none was asked for. */
  readonly keyMark: string | null;
}

export const UNLIMITED: Limits = {
  operations: TOKEN_OPERATIONS,
  within: undefined,
  notBeforeS: 0,
  expiresS: Number.MAX_SAFE_INTEGER,
};

const VERSION = 'mnemesh(1);';
const instantOf = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
const listOf = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(', ')}]`;

/** The Datalog of a block: checks, which only ever take away. */
export function checksOf({ operations, namespaces, notBeforeS, expiresS }: Narrowing): string {
  return [
    ...(operations === undefined ? [] : [`check if operation($o), ${listOf(operations)}.contains($o);`]),
    ...(namespaces === undefined ? [] : [`check if within($w), ${listOf(namespaces)}.contains($w);`]),
    ...(notBeforeS === undefined ? [] : [`check if time($t), $t >= ${instantOf(notBeforeS)};`]),
    ...(expiresS === undefined ? [] : [`check if time($t), $t < ${instantOf(expiresS)};`]),
  ].join('\n');
}

/** The Datalog of the first block. */
export function originText({ agentId, minter, minterKey, keyMark }: Origin, narrowing: Narrowing): string {
  const facts = Object.entries({ agent: agentId, minter, minter_key: minterKey, key_mark: keyMark });
  const said = facts.filter(([, value]) => value !== null);
  const lines = said.map(([name, value]) => `${name}(${JSON.stringify(value)});`);
  return [VERSION, ...lines, checksOf(narrowing)].join('\n');
}

const LIST = String.raw`\[((?:"[^"\\]*"(?:, )?)*)\]`;
const INSTANT = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)`;
const CHECKS = {
  operations: new RegExp(`^check if operation\\(\\$o\\), ${LIST}\\.contains\\(\\$o\\);$`),
  namespaces: new RegExp(`^check if within\\(\\$w\\), ${LIST}\\.contains\\(\\$w\\);$`),
  notBefore: new RegExp(`^check if time\\(\\$t\\), \\$t >= ${INSTANT};$`),
  expires: new RegExp(`^check if time\\(\\$t\\), \\$t < ${INSTANT};$`),
};
const FACT = /^(agent|minter|minter_key|key_mark)\("([^"\\]*)"\);$/;

const linesOf = (source: string) => source.split('\n').filter((line) => line !== '');

/** The words of a list; null for one that is not written as this program writes lists. */
function wordsIn(list: string): readonly string[] | null {
  const words = list === '' ? [] : list.split(', ').map((word) => word.slice(1, -1));
  return listOf(words) === `[${list}]` ? words : null;
}

/**
 * What is left of limits after the checks of a block; null for a block with anything that this release does not know, as
 * it cannot be held to it. Checks only take away, so the order of the blocks is of no account.
 */
export function narrowedBy(limits: Limits, lines: readonly string[]): Limits | null {
  let left: Limits | null = limits;
  for (const line of lines) {
    if (left === null) return null;
    left = withCheck(left, line);
  }
  return left;
}

function withCheck(left: Limits, line: string): Limits | null {
  const list = CHECKS.operations.exec(line) ?? CHECKS.namespaces.exec(line);
  if (list !== null) {
    const words = wordsIn(list[1]!);
    if (words === null) return null;
    if (CHECKS.operations.test(line)) {
      return { ...left, operations: left.operations.filter((operation) => words.includes(operation)) };
    }
    if (words.some((pattern) => withinProblem(pattern) !== null)) return null;
    return words.includes(EVERY_NAMESPACE) ? left : { ...left, within: withinBoth(left.within, words)! };
  }
  const since = secondsIn(CHECKS.notBefore.exec(line));
  if (since !== null) return { ...left, notBeforeS: Math.max(left.notBeforeS, since) };
  const until = secondsIn(CHECKS.expires.exec(line));
  return until === null ? null : { ...left, expiresS: Math.min(left.expiresS, until) };
}

function secondsIn(found: RegExpExecArray | null): number | null {
  const ms = found === null ? null : parseRfc3339Ms(found[1]!);
  return ms === null ? null : ms / 1000;
}

/** What the first block says, and what it limits; null for another program's token. */
export function originIn(source: string): { readonly origin: Origin; readonly limits: Limits } | null {
  const lines = linesOf(source);
  if (lines[0] !== VERSION) return null;
  const facts = new Map<string, string>();
  const checks: string[] = [];
  for (const line of lines.slice(1)) {
    const fact = FACT.exec(line);
    if (fact === null) checks.push(line);
    else if (facts.has(fact[1]!)) return null;
    else facts.set(fact[1]!, fact[2]!);
  }
  const agentId = facts.get('agent');
  const limits = narrowedBy(UNLIMITED, checks);
  if (agentId === undefined || agentIdProblem(agentId) !== null || limits === null) return null;
  const [minter, minterKey, keyMark] = ['minter', 'minter_key', 'key_mark'].map(
    (name) => facts.get(name) ?? null,
  );
  return { origin: { agentId, minter: minter!, minterKey: minterKey!, keyMark: keyMark! }, limits };
}

/** What all blocks of a token permit; null for a token that this release cannot judge. */
export function limitsOf(
  sources: readonly string[],
): { readonly origin: Origin; readonly limits: Limits } | null {
  const first = sources[0] === undefined ? null : originIn(sources[0]);
  if (first === null) return null;
  let limits: Limits | null = first.limits;
  for (const source of sources.slice(1)) {
    limits = limits === null ? null : narrowedBy(limits, linesOf(source));
  }
  return limits === null ? null : { origin: first.origin, limits };
}
