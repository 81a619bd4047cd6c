import { type Failure, failed, failure, ok, type Result } from '../../protocol/base/result.js';
import type { SecretOutcome } from '../../protocol/policies/secret-modes.js';
import type { FoundText } from '../secrets/screen.js';
import { withText } from '../secrets/texts.js';
import type { Services } from './call.js';
import type { CarriedText, Operation } from './operation.js';

type Input = Readonly<Record<string, unknown>>;

/** A secret that a call brought, as its answer names it. */
export interface SecretNote {
  readonly field: string;
  readonly kind: string;
  readonly outcome: 'kept' | 'redacted';
}

interface CallScreenParts {
  readonly services: Pick<Services, 'screen' | 'store' | 'log'>;
  readonly operation: Operation;
  readonly agentId: string;
  /** The namespace of the call; asked only where a secret was found and the text around it names none. */
  readonly placeOf: (input: Input) => Promise<string | null>;
}

/** Members of a memory that its author signs, so nobody else can rewrite them. */
const SIGNED: ReadonlySet<unknown> = new Set(['title', 'content', 'namespace']);

/** Looks for secrets in what one call brings, and keeps what it found for the answer. */
export class CallScreen {
  readonly notes: SecretNote[] = [];

  constructor(private readonly parts: CallScreenParts) {}

  /** The input without secrets that may not be stored, or SECRET_REFUSED. */
  input(input: Input): Promise<Result<Input>> {
    const { secretFields = [] } = this.parts.operation;
    const isSigned = typeof input['signature'] === 'string';
    return this.#pass(input, {
      namespace: () => this.parts.placeOf(input),
      field: ({ field }) => field,
      isLeftOut: ({ path }) => secretFields.includes(String(path[0])),
      mayRewrite: (found) => isRewritable(found) && !(isSigned && SIGNED.has(found.path[0])),
    });
  }

  /** The same for a row of an operation that takes rows. */
  row<T>(row: T, at: string): Promise<Result<T>> {
    return this.#pass(row, {
      namespace: async () => null,
      field: ({ field }) => (field === '' ? at : `${at}.${field}`),
      isLeftOut: () => false,
      mayRewrite: isRewritable,
    });
  }

  /** SECRET_REFUSED for a stored text that the call takes to a namespace which would not have taken it. Nothing rewrites it. */
  async carried(texts: readonly CarriedText[]): Promise<Result<null>> {
    const { screen } = this.parts.services;
    for (const { text, from, to } of texts) {
      if (!screen.isStricter(to, from)) continue;
      const passed = await this.#pass(text, {
        namespace: async () => to,
        field: ({ field }) => field,
        isLeftOut: () => false,
        mayRewrite: () => false,
      });
      if (!passed.ok) return passed;
    }
    return ok(null);
  }

  /** SECRET_REFUSED for an input that is none of the operation any more without its secrets. */
  async unfit(input: Input): Promise<Failure> {
    const found = await this.parts.services.screen.look(input);
    const named = found.map(({ field, kinds }) => ({ field, kinds, namespace: null }));
    await this.#note(named, 'refused', null);
    return refusalOf(named);
  }

  async #pass<T>(value: T, how: Passing): Promise<Result<T>> {
    const { screen } = this.parts.services;
    const found = (await screen.look(value)).filter((each) => !how.isLeftOut(each));
    if (found.length === 0) return ok(value);
    const around = found.some(({ namespace }) => namespace === null) ? await how.namespace() : null;
    const of: Record<SecretOutcome, Named[]> = { kept: [], redacted: [], refused: [] };
    let passed = value;
    for (const each of found) {
      const namespace = each.namespace ?? around;
      const mode = screen.modeOf(namespace);
      if (mode === 'off') continue;
      const rewrites = mode === 'redact' && how.mayRewrite(each);
      const outcome = mode === 'warn' ? 'kept' : rewrites ? 'redacted' : 'refused';
      of[outcome].push({ field: how.field(each), kinds: each.kinds, namespace });
      if (rewrites) passed = withText(passed, each.path, each.redacted!);
    }
    if (of.refused.length > 0) {
      await this.#note(of.refused, 'refused', of.refused[0]!.namespace);
      return failed(refusalOf(of.refused));
    }
    for (const outcome of ['kept', 'redacted'] as const) {
      const named = of[outcome];
      if (named.length === 0) continue;
      await this.#note(named, outcome, named[0]!.namespace);
      this.notes.push(...listed(named).map((note) => ({ ...note, outcome })));
    }
    return ok(passed);
  }

  /** Counts and records what was found, without its text. */
  async #note(found: readonly Named[], outcome: SecretOutcome, namespace: string | null): Promise<void> {
    const { services, operation, agentId } = this.parts;
    services.screen.count(found, outcome);
    const noted = await services.store.execute({
      ...{ kind: 'note-secret', agentId, operation: operation.name, namespace, outcome },
      found: listed(found).slice(0, NOTED_MAX),
    });
    if (!noted.ok) services.log.error({ code: noted.error.code }, 'found secrets could not be recorded');
  }
}

/** False for names: of a member, and of a namespace, which is another one when it is rewritten. */
const isRewritable = ({ path, redacted }: FoundText): boolean =>
  redacted !== null && !/namespace$/.test(String(path[0]));

interface Passing {
  readonly namespace: () => Promise<string | null>;
  readonly field: (found: FoundText) => string;
  readonly isLeftOut: (found: FoundText) => boolean;
  readonly mayRewrite: (found: FoundText) => boolean;
}

interface Named {
  readonly field: string;
  readonly kinds: readonly string[];
  readonly namespace: string | null;
}

/** Most secrets that one record of the audit chain, and one answer, names. */
const NOTED_MAX = 32;

const listed = (found: readonly Named[]) =>
  found.flatMap(({ field, kinds }) => kinds.map((kind) => ({ field, kind })));

/** Says where the secrets are and what they are, and never what they say. */
export function refusalOf(found: readonly Pick<Named, 'field' | 'kinds'>[]): Failure {
  const secrets = found.flatMap(({ field, kinds }) => kinds.map((kind) => ({ field, kind })));
  const named = secrets.slice(0, 3).map(({ field, kind }) => `${field} holds a secret (${kind})`);
  const more = secrets.length > 3 ? ` and ${secrets.length - 3} more` : '';
  return failure('SECRET_REFUSED', `${named.join(', ')}${more}: store it without the secret`, {
    fields: [...new Set(found.map(({ field }) => field))].slice(0, NOTED_MAX),
    secrets: secrets.slice(0, NOTED_MAX),
  });
}
