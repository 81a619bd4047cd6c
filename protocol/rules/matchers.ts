import { RULE_TEXT_LENGTH_MAX } from '../base/rule-limits.js';
import { ACTION_KINDS, type Action, type ActionKind, type ActionOf } from './action.js';
import { matchesGlob, plainPath } from './glob.js';
import type { Rule } from './rule-kind.js';

/** Whether a rule is about an action; `unknown` is the answer where the action does not say enough. */
export type Matches = (action: Action, unknown: boolean) => boolean;

type Check<A> = (action: A, unknown: boolean) => boolean;

/** Values that a key of a matcher takes, and what it asks of an action; null for a value that it does not take. */
type Key<A> = (value: unknown) => Check<A> | null;

interface Form<A> {
  readonly keys: Readonly<Record<string, Key<A>>>;
  /** One of these is enough; without any a matcher says nothing. */
  readonly oneOf: readonly string[];
  /** Other names of keys. */
  readonly aliases?: Readonly<Record<string, string>>;
}

const text =
  <A>(make: (wanted: string) => Check<A>): Key<A> =>
  (value) =>
    typeof value === 'string' && value !== '' && value.length <= RULE_TEXT_LENGTH_MAX ? make(value) : null;

const FORMS: { readonly [K in ActionKind]: Form<ActionOf<K>> } = {
  bash: {
    keys: {
      command_substring: text(
        (wanted) =>
          ({ command }) =>
            command.includes(wanted),
      ),
    },
    oneOf: ['command_substring'],
    // A literal text too, whatever its name says.
    aliases: { command_regex: 'command_substring' },
  },
  filesystem_write: {
    keys: {
      glob: text(
        (wanted) =>
          ({ path }) =>
            matchesGlob(wanted, plainPath(path)),
      ),
    },
    oneOf: ['glob'],
  },
  network_request: {
    keys: {
      host: (value) =>
        typeof value === 'string' && value.lastIndexOf('*') <= 0 && /^(\*\.)?[^*]/.test(value)
          ? text(hostCheck)(value)
          : null,
    },
    oneOf: ['host'],
  },
  process_spawn: {
    keys: {
      binary: text(
        (wanted) =>
          ({ binary }) =>
            binary === wanted || fileName(binary) === wanted,
      ),
      args_contain: text(
        (wanted) =>
          ({ args }) =>
            args.join(' ').includes(wanted),
      ),
      disk_free_min_gib: (least) =>
        typeof least === 'number' && Number.isFinite(least) && least > 0
          ? ({ disk_free_gib: free }, unknown) => (free === null ? unknown : free < least)
          : null,
    },
    oneOf: ['binary'],
  },
  custom: {
    keys: {
      kind: text(
        (wanted) =>
          ({ custom_kind }) =>
            custom_kind === wanted,
      ),
      namespace_glob: text(
        (wanted) =>
          ({ payload: { namespace } }) =>
            typeof namespace === 'string' && matchesGlob(wanted, namespace),
      ),
      tier: text(
        (wanted) =>
          ({ payload }) =>
            payload['tier'] === wanted,
      ),
      title_contains: text(
        (wanted) =>
          ({ payload: { title } }) =>
            typeof title === 'string' && title.includes(wanted),
      ),
    },
    oneOf: ['kind'],
  },
  read_action: {
    keys: {
      surface: text(
        (wanted) =>
          ({ surface }, unknown) =>
            surface === null ? unknown : surface === wanted,
      ),
      namespace: text(
        (wanted) =>
          ({ namespace }, unknown) =>
            namespace === null ? unknown : matchesGlob(wanted, namespace),
      ),
      query_substring: text(
        (wanted) =>
          ({ query }) =>
            query?.includes(wanted) === true,
      ),
      all: (value) => (value === true ? () => true : null),
    },
    oneOf: ['surface', 'namespace', 'query_substring', 'all'],
  },
};

/** A host, or `*.` and a domain for all hosts below it. */
function hostCheck(wanted: string): Check<ActionOf<'network_request'>> {
  const domain = wanted.startsWith('*.') ? plainHost(wanted.slice(1)) : null;
  const whole = plainHost(wanted);
  return ({ host }) => (domain === null ? plainHost(host) === whole : plainHost(host).endsWith(domain));
}

/** A host in lower case, without its port and the dot of the root. */
function plainHost(host: string): string {
  const named = host.toLowerCase();
  const colon = named.lastIndexOf(':');
  // An IPv6 address without brackets has several colons.
  const hasPort = colon >= 0 && (named.indexOf(':') === colon || named[colon - 1] === ']');
  const bare = hasPort ? named.slice(0, colon) : named;
  return bare.endsWith('.') ? bare.slice(0, -1) : bare;
}

const fileName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** True for a kind of actions that this release knows. */
export const isActionKind = (kind: string): kind is ActionKind =>
  (ACTION_KINDS as readonly string[]).includes(kind);

/** What a rule asks of an action, or why this release cannot read it. */
export function readMatcher({
  rule_kind: kind,
  matcher,
}: Pick<Rule, 'rule_kind' | 'matcher'>): { readonly matches: Matches } | { readonly problem: string } {
  if (!isActionKind(kind)) return { problem: `the kind "${kind}" is not known` };
  const form = FORMS[kind] as unknown as Form<Action>;
  const checks = new Map<string, Check<Action>>();
  for (const [given, value] of Object.entries(matcher)) {
    const key = form.aliases?.[given] ?? given;
    if (!Object.hasOwn(form.keys, key)) return { problem: `the matcher has an unknown key "${given}"` };
    const check = form.keys[key]!(value);
    if (check === null) return { problem: `the matcher has an invalid value of "${given}"` };
    if (checks.has(key)) return { problem: `the matcher gives "${key}" twice` };
    checks.set(key, check);
  }
  if (!form.oneOf.some((key) => checks.has(key))) {
    return { problem: `the matcher lacks ${form.oneOf.map((key) => `"${key}"`).join(' or ')}` };
  }
  const all = [...checks.values()];
  return { matches: (action, unknown) => all.every((check) => check(action, unknown)) };
}
