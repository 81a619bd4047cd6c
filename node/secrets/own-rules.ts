import { apart, type FoundSecret } from './found-secret.js';

/** A kind of secrets that the rules of the library do not know, or know only in part. */
interface OwnRule {
  readonly kind: string;
  readonly pattern: RegExp;
  /** False for a value that only looks like one; the value is the group `value`, or the whole match. */
  readonly isReal?: (value: string) => boolean;
}

/** Words of values that stand for another one. */
const PLACEHOLDER =
  /example|changeme|change_me|placeholder|password|your|dummy|sample|redacted|xxx|\*\*\*|\.\.\.|\u2026|[<>|\\]|\$[{(]|^\$[A-Z_]\w*$|^%\w+%$|%s|\{\{|process\.env|^env:|^file:|^vault:/i;

/** How many bits a character of a text says, by the text's own frequencies. */
function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** True for what a generator of tokens makes: letters and digits without an order, and no words in a row. */
function isRandom(value: string): boolean {
  if (PLACEHOLDER.test(value) || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  return bitsPerCharacter(value) >= 3 && !NAME.test(value);
}

/** Words with numbers behind them, as files, versions and ids in code are named. */
const NAME = /^[\w-]{0,3}(?:[A-Za-z]{2,}\d{0,4}(?:[._/:#-]+|$)|\d{1,4}(?:[._/:#-]+|$))+$/;

/** True for a password that a person may have chosen: letters and digits or signs, and no plain word or name. */
function isPassword(value: string): boolean {
  if (PLACEHOLDER.test(value) || NAME.test(value) || !/[A-Za-z]/.test(value)) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(value)).length;
  return /\d/.test(value) && kinds >= 3 && bitsPerCharacter(value) >= 2.8;
}

const NOT_IN_WORD = '(?<![A-Za-z0-9_])';
const PASSWORD_NAME = '(?:pass(?:w(?:or)?d|phrase|wort)?|pwd)';
const TOKEN_NAME = '(?:secret|token|(?:api|access|auth|private|account|signing|encryption)[_-]?key)';
const NAMED = (name: string) => `${NOT_IN_WORD}[\\w.-]{0,40}?${name}[\\w-]{0,20}["'\`]?\\s{0,4}`;
const VALUE = (least: number) => `["'\`]?(?<value>[^\\s"'\`,;(){}[\\]]{${least},300})`;

const OWN_RULES: readonly OwnRule[] = [
  { kind: 'gitlab-token', pattern: /\bglpat-[\w-]{20,300}/g },
  { kind: 'google-api-key', pattern: /\bAIza[\w-]{35}(?![\w-])/g },
  { kind: 'stripe-key', pattern: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}\b/g },
  {
    kind: 'openai-key',
    pattern: /\bsk-(?!ant-)(?:(?:proj|svcacct|admin|or-v1)-)?[A-Za-z0-9_-]{32,300}(?![\w-])/g,
    isReal: isRandom,
  },
  {
    kind: 'model-key',
    pattern: /\b(?:hf_[A-Za-z0-9]{30,60}|xai-[A-Za-z0-9]{60,100}|gsk_[A-Za-z0-9]{40,60})\b/g,
  },
  { kind: 'package-token', pattern: /\b(?:dckr_pat_[\w-]{20,60}|pypi-[\w-]{50,300})/g },
  // Tokens and invitations of this service.
  {
    kind: 'mnemesh-token',
    pattern: /\b(?:mnt_[\w-]{43}\.[\w-]{80,6000}={0,2}|mnemesh-join-[\w-]{100,2000})/g,
  },
  { kind: 'jwt', pattern: /\beyJ[\w-]{8,4000}\.eyJ[\w-]{8,16000}\.[\w-]{16,1000}/g },
  { kind: 'authorization', pattern: /\b(?:Bearer|Basic) +(?<value>[\w+/.~=-]{20,4000})/g, isReal: isRandom },
  {
    kind: 'url-password',
    pattern: /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'<>]{0,100}:(?<value>[^\s/@"'<>]{4,200})@[\w[]/gi,
    isReal: (value) =>
      !PLACEHOLDER.test(value) &&
      !/^(?:pass|pw|pwd|secret|user|admin|token|key)$/i.test(value) &&
      !/^(.)\1+$/.test(value),
  },
  {
    kind: 'password',
    pattern: new RegExp(`${NAMED(PASSWORD_NAME)}(?::=|=>|[:=]|is\\s|ist\\s)\\s{0,4}${VALUE(8)}`, 'gi'),
    isReal: isPassword,
  },
  {
    kind: 'token',
    pattern: new RegExp(`${NAMED(TOKEN_NAME)}(?::=|=>|[:=]|is\\s|ist\\s)\\s{0,4}${VALUE(16)}`, 'gi'),
    isReal: isRandom,
  },
];

const KEY_BEGIN = /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_BODY_MAX = 16_384;
const KEY_BODY = /^[A-Za-z0-9+/=:,.()\\\s-]*/;
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
const KEY_LINES = /[A-Za-z0-9+/=]{24,}(?:(?:\s|\\n)+[A-Za-z0-9+/=]{16,})*/g;

/** Whole private keys, from the first line to the last one, or to the end of what can be one where that is missing. */
function* privateKeys(text: string): Generator<FoundSecret> {
  const begins = [...text.matchAll(KEY_BEGIN)];
  for (const [at, { index, 0: header }] of begins.entries()) {
    const after = index + header.length;
    const next = begins[at + 1]?.index ?? text.length;
    const body = KEY_BODY.exec(text.slice(after, Math.min(next, after + KEY_BODY_MAX)))![0];
    const end = KEY_END.exec(body);
    const lines = [...(end === null ? body : body.slice(0, end.index)).matchAll(KEY_LINES)];
    const last = lines.at(-1);
    // A first line alone, as in instructions, is no key.
    if (last === undefined) continue;
    const to = end === null ? last.index + last[0].length : end.index + end[0].length;
    yield { kind: 'private-key', from: index, to: after + to };
  }
}

/** What the own rules find in a text. */
export function ownFinds(text: string): readonly FoundSecret[] {
  const found: FoundSecret[] = [...privateKeys(text)];
  for (const { kind, pattern, isReal } of OWN_RULES) {
    for (const match of text.matchAll(pattern)) {
      const value = match.groups?.['value'] ?? match[0];
      if (isReal?.(value) === false) continue;
      const from = match.index + match[0].lastIndexOf(value);
      found.push({ kind, from, to: from + value.length });
    }
  }
  return apart(found);
}
