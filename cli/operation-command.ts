import { hostname } from 'node:os';
import type { z } from 'zod';
import { commandCaller, explicitAgentId, localIdentity } from '../node/identity/local-caller.js';
import { type Answer, type Answered, shapedAnswer } from '../node/pipeline/answer.js';
import type { SecretNote } from '../node/pipeline/call-screen.js';
import { instantMeaning } from '../node/pipeline/fields.js';
import { formattedText } from '../node/pipeline/formatted-text.js';
import { openRunner } from '../node/runtime/open-runner.js';
import { systemRandom } from '../node/seams.js';
import { detailsOf, type Failure, fail, failed, ok, type Result } from '../protocol/base/result.js';
import { isMissingMemory } from '../protocol/memory/update.js';
import { parseArguments } from './arguments.js';
import { type Command, PROGRAM } from './command.js';
import { confirmed, hasTerminal } from './confirm.js';
import { asksFor, asksForJson, flagValue, isSet, settingsFor } from './global-flags.js';
import { helpText } from './help.js';
import { firstRun } from './kept-data.js';
import { argumentSpecOf, type CliOperation, FOR_PEOPLE, fieldsOf, hasOwnFlag } from './operation-flags.js';
import { operationArguments, operationHelp, usageOf } from './operation-help.js';
import { argumentName, operationInput } from './operation-input.js';
import { Progress } from './progress.js';
import { spokenForms } from './spoken-instant.js';
import type { Terminal } from './terminal.js';
import { viewOf } from './views/view.js';

/** The command of an operation. */
export function operationCommand(operation: CliOperation): Command {
  const documented = once(() => operationArguments(operation));
  return {
    name: operation.cli.command,
    summary: operation.summary,
    get usage() {
      return usageOf(operation);
    },
    get flags() {
      return documented().flags;
    },
    get positionals() {
      return documented().positionals;
    },
    failures: operation.cli.failures ?? {},
    help: (columns) => helpText(operationHelp(operation), columns),
    run: (words, terminal) => run(operation, words, terminal),
  };
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Formats that contradict an answer in JSON. */
const OTHER_FORMATS: ReadonlySet<unknown> = new Set([
  FOR_PEOPLE,
  'text',
  'toon',
  'toon_compact',
  'dot',
  'mermaid',
]);

/** The exit code of a command whose action waits for an approval. */
const WAITS = 3;

const exitOf = ({ cli }: CliOperation, { value, waits }: Answered): number =>
  waits === true ? WAITS : (cli.exit?.(value) ?? 0);

async function run(
  operation: CliOperation,
  words: readonly string[],
  terminal: Terminal,
): Promise<Result<number>> {
  const parsed = parseArguments(argumentSpecOf(operation), words);
  if (!parsed.ok) return failed(parsed.error);
  const input = await operationInput(operation, parsed.value, process.stdin);
  if (!input.ok) return failed(input.error);
  const format = input.value['format'];
  if (format === FOR_PEOPLE) delete input.value['format'];
  const json = asksForJson(words);
  const defaults = json || (format !== undefined && format !== FOR_PEOPLE) ? {} : operation.cli.viewDefaults;
  // The schema refuses a word that is not a format.
  if (asksFor(words, '--json') && OTHER_FORMATS.has(format)) {
    return fail('INVALID_ARGUMENT', '--json and --format contradict each other', { fields: ['format'] });
  }
  const settings = settingsFor(parsed.value);
  const flagged = hasOwnFlag(operation, 'agent-id') ? null : flagValue(parsed.value, 'agent-id');

  const progress = new Progress(process.stderr, operation.cli.progress ?? '');
  const runner = openRunner(settings, async () => {
    const { NO_CATALOGUE, openInlineNode } = await import('../node/runtime/inline-node.js');
    return openInlineNode(settings, 'cli', NO_CATALOGUE);
  });
  try {
    const identity = localIdentity(settings, { hostname: hostname(), pid: process.pid }, systemRandom);
    const caller = commandCaller(identity, flagged ?? explicitAgentId(operation, input.value));
    if (!caller.ok) return failed(caller.error);
    const call = (fields: Record<string, unknown>) =>
      runner.run(operation, {
        surface: 'cli',
        caller: caller.value,
        input: fields,
        unknownFields: 'refuse',
        progress: (done, of) => progress.update(done, of),
      });
    const first = firstRun(settings, terminal);
    const agreed = isSet(parsed.value, 'yes') ? ok(true) : await isAgreed(operation, input.value, call);
    if (!agreed.ok) return failed(inTypedNames(operation, agreed.error));
    if (!agreed.value) {
      await terminal.complain('nothing was changed\n');
      return ok(1);
    }
    const answer = await call({ ...defaults, ...input.value });
    progress.end();
    if (!json) await first.told();
    if (!answer.ok) {
      if (json) return failed(answer.error);
      const failure = await withoutPart(operation, answer.error, input.value, terminal);
      return failed(withWayOut(operation, inTypedNames(operation, failure), input.value));
    }
    if (!json && answer.waits === true) {
      await terminal.print(waitingLines(answer.value));
      return ok(WAITS);
    }
    const shaped = shapedAnswer(operation.cli.shape, answer);
    const text = json ? null : formattedText(operation, shaped, input.value);
    if (text !== null) {
      await terminal.print(text);
      return ok(exitOf(operation, answer));
    }
    if (!json && answer.value['quorum_met'] === false) await terminal.complain(localOnly(answer.value));
    if (!json) for (const line of secretLines(answer.value)) await terminal.complain(line);
    await terminal.print(json ? `${JSON.stringify(shaped)}\n` : viewOf(operation, shaped, terminal.columns));
    return ok(exitOf(operation, answer));
  } finally {
    await runner.close();
  }
}

/** Prints the part of an answer that a failure has. */
async function withoutPart(
  operation: CliOperation,
  failure: Failure,
  input: Readonly<Record<string, unknown>>,
  terminal: Terminal,
): Promise<Failure> {
  const { code, message } = failure;
  const details = detailsOf(failure, 'TRAVERSAL_BUDGET_EXCEEDED');
  if (details === null) return failure;
  await terminal.print(
    formattedText(operation, details, input) ?? viewOf(operation, details, terminal.columns),
  );
  return { code, message };
}

/** On a terminal, asks before something is removed for good or in numbers; true where there is nothing to ask. */
async function isAgreed(
  { cli }: CliOperation,
  input: Readonly<Record<string, unknown>>,
  call: (fields: Record<string, unknown>) => Promise<Answer>,
): Promise<Result<boolean>> {
  if (cli.confirm === undefined || input['dry_run'] === true || !hasTerminal()) return ok(true);
  const { preview, question } = cli.confirm;
  const seen = preview === undefined ? ok({}) : await call({ ...input, ...preview });
  if (!seen.ok) return failed(seen.error);
  const asked = question(seen.value);
  return ok(asked === null || (await confirmed(asked)));
}

/** What people are told about a write that fewer nodes have than its quorum. */
function localOnly({ acks, needed }: Record<string, unknown>): string {
  const where = acks === 1 ? 'on this node only' : `on ${acks} nodes only`;
  return `${where}: the quorum is ${needed}; the others get it when they can be reached\n`;
}

/** What people are told about secrets in what they stored. */
function secretLines({ secrets_found: found }: Record<string, unknown>): readonly string[] {
  const notes = (found ?? []) as readonly SecretNote[];
  return notes.map(({ field, kind, outcome }) =>
    outcome === 'redacted'
      ? `${field} held a secret (${kind}), which was taken out\n`
      : `${field} holds a secret (${kind})\n`,
  );
}

/** What people are told about an action that was put aside. */
function waitingLines({ pending_id: id }: Record<string, unknown>): string {
  return `waits for approval: ${String(id)}\n  "${PROGRAM} pending list" shows its state\n`;
}

/** A failure with what the user can type next, unless the message says it already. */
function withWayOut(
  operation: CliOperation,
  failure: Failure,
  input: Readonly<Record<string, unknown>>,
): Failure {
  const takes = (field: string) => fieldsOf(operation).includes(field);
  const next =
    detailsOf(failure, 'CONFLICT')?.similarity !== undefined && takes('force')
      ? '--force stores it all the same, beside the other one'
      : detailsOf(failure, 'CONFLICT', 'ARCHIVE_RESTORE_COLLISION', 'ATTESTATION_REPLAYED')?.existing_id !==
            undefined && takes('on_conflict')
        ? `--on-conflict version keeps both; --on-conflict merge replaces the text of the stored memory with this one${operation.cli.derived?.['title'] === undefined ? '' : '; --title gives this one another title'}`
        : failure.code === 'QUOTA_EXCEEDED'
          ? `"${PROGRAM} quota-status" shows the usage; the limits are settings`
          : failure.code === 'ATTESTATION_FAILED' && takes('sign') && input['sign'] !== true
            ? 'if the key file of the agent is here, add --sign'
            : (missingMemory(operation, failure) ?? otherInstants(operation, failure));
  return next === null ? failure : { ...failure, message: `${failure.message}\n  ${next}` };
}

/** Where ids are found, and what is gone. */
function missingMemory({ cli }: CliOperation, failure: Failure): string | null {
  if (isMissingMemory(failure))
    return `"${PROGRAM} list" shows ids; what was deleted or has expired is in "${PROGRAM} archive list"`;
  return failure.code === 'NOT_FOUND' && cli.command === 'archive restore'
    ? `"${PROGRAM} archive list" shows what is there`
    : null;
}

/** The other forms of an instant, where the failure is about one. */
function otherInstants(operation: CliOperation, failure: Failure): string | null {
  if (!failure.message.includes('RFC 3339')) return null;
  for (const field of detailsOf(failure, ...NAMING_FIELDS)?.fields ?? []) {
    const schema = operation.input.shape[field];
    const meaning = schema === undefined ? null : instantMeaning(schema as z.ZodType);
    if (meaning !== null) return `or ${spokenForms(meaning)}`;
  }
  return null;
}

/** Failures that can name fields of the input. */
const NAMING_FIELDS = [
  ...(['VALIDATION_FAILED', 'INVALID_ARGUMENT', 'UNKNOWN_FIELD', 'INVALID_REQUEST'] as const),
  ...(['CONFLICT', 'ATTESTATION_FAILED'] as const),
];

/** Replaces the field name at the start of a message by the flag: people do not type `ttl_secs`. */
function inTypedNames(operation: CliOperation, failure: Failure): Failure {
  const field = fieldsOf(operation).find((name) => new RegExp(`^${name}(?![\\w])`).test(failure.message));
  if (field === undefined || detailsOf(failure, ...NAMING_FIELDS)?.fields === undefined) return failure;
  return { ...failure, message: argumentName(operation, field) + failure.message.slice(field.length) };
}
