import { type Failure, failed, failure, ok, type Result } from '../../protocol/base/result.js';
import { consult, type HookRun, vetoOf } from './run-hooks.js';

type Row = Record<string, unknown>;

const EVENT = 'pre_answer';

/** What a hook may rewrite of a memory that an answer shows, and what it may write there. */
const isText = (value: unknown): boolean => typeof value === 'string';
const isObject = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const REWRITES: Readonly<Record<string, (value: unknown) => boolean>> = {
  title: isText,
  content: isText,
  tags: (value) => Array.isArray(value) && value.every(isText),
  metadata: isObject,
  source_uri: (value) => value === null || isText(value),
  citations: Array.isArray,
};

/** The answer of a read as hooks let it go: they see the memories in it, those of a namespace at a time. */
export async function hookedAnswer(
  run: HookRun,
  operation: string,
  answer: Readonly<Row>,
): Promise<Result<Readonly<Row>>> {
  if (!run.hooks.has(EVENT)) return ok(answer);
  // The hooks may not see, nor change, what the operation still holds.
  const shown = structuredClone(answer) as Row;
  const found = memoriesIn(shown);
  const places = new Set(found.map(namespaceOf));
  for (const namespace of places) {
    const memories = found.filter((memory) => namespaceOf(memory) === namespace);
    const payload = { operation, ...(namespace === null ? {} : { namespace }), memories };
    const verdict = await consult(run, { event: EVENT, namespace, payload });
    if ('denial' in verdict) return failed(vetoOf(EVENT, verdict.denial));
    const problem = rewrite(memories, verdict.delta['memories']);
    if (problem !== null) return failed(problem);
  }
  return ok(shown);
}

const namespaceOf = ({ namespace }: Row): string | null => (typeof namespace === 'string' ? namespace : null);

/** Whatever has an id and a title or a text, wherever the answer shows it. */
function memoriesIn(answer: Row): readonly Row[] {
  const found: Row[] = [];
  const stack: unknown[] = [answer];
  while (stack.length > 0) {
    const value = stack.pop();
    if (Array.isArray(value)) stack.push(...value.toReversed());
    if (!isObject(value)) continue;
    if (isText(value['id']) && (isText(value['title']) || isText(value['content']))) found.push(value);
    stack.push(
      ...Object.values(value)
        .filter((member) => typeof member === 'object')
        .reverse(),
    );
  }
  return found;
}

/** Writes what a hook wants of the memories; members that an answer does not show stay absent. */
function rewrite(memories: readonly Row[], wanted: unknown): Failure | null {
  if (wanted === undefined) return null;
  if (!Array.isArray(wanted)) return unfit('memories is no list');
  for (const each of wanted) {
    if (!isObject(each) || !isText(each['id'])) return unfit('a memory has no id');
    const meant = memories.filter(({ id }) => id === each['id']);
    for (const [member, value] of Object.entries(each)) {
      const admits = Object.hasOwn(REWRITES, member) ? REWRITES[member]! : null;
      if (admits === null) continue;
      if (!admits(value)) return unfit(`${member} of a memory has another type`);
      for (const memory of meant) if (Object.hasOwn(memory, member)) memory[member] = value;
    }
  }
  return null;
}

/** An answer that a guard meant to change is not given as it was. */
function unfit(problem: string): Failure {
  const reason = `what a hook wrote cannot stand in the answer: ${problem}`;
  return failure('HOOK_VETO', `a hook of ${EVENT} denies it: ${reason}`, {
    event: EVENT,
    reason,
    hook_code: 502,
  });
}
