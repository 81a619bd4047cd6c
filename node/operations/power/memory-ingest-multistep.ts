import { z } from 'zod';
import { MODEL_TEXT_BYTES_MAX } from '../../../protocol/base/model-limits.js';
import { type Failure, failed, failure, ok, type Result } from '../../../protocol/base/result.js';
import { characters, utf8Bytes } from '../../../protocol/base/utf8.js';
import { askModel } from '../../pipeline/ask-model.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import {
  cacheKey,
  helped,
  PIPELINE_VARIANTS,
  pipeline,
  type Stage,
  stageQuestion,
  stagesOf,
} from './ingest-pipeline.js';
import { tierLocked } from './tier-locked.js';

const input = z.object({
  content: fields.content.describe('Text that goes through the pipeline'),
  namespace: fields.namespace.describe('Whose limits of the text count').optional(),
  pipeline_variant: z.enum(PIPELINE_VARIANTS).default('two_phase').describe('Stages of the pipeline'),
  pipeline_override: pipeline.describe('Stages instead of those of the variant').optional(),
});

type Input = z.output<typeof input>;

const output = z.object({
  variant: z.string(),
  stages: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(['helper', 'model']),
      items: z.int().describe('Items that the stage gave to the next one'),
      elapsed_ms: z.int(),
      cache_key: z.string().describe('Hash of the system prompt').optional(),
    }),
  ),
  distinct_cache_keys: z.int(),
  prompt_cache_consistent: z.boolean().describe('All stages of the model shared one system prompt'),
  final_output: z.array(z.string()),
  ingested_memory_ids: z.array(z.string()).describe('Empty: nothing is stored'),
});

type Output = z.output<typeof output>;

/** Sends a text through stages of a chat model, and stores nothing (reference-mcp-cli §6.11). */
export const memoryIngestMultistep = defineOperation({
  name: 'memory_ingest_multistep',
  family: 'power',
  summary: 'Have a chat model prepare a text in several steps; nothing is stored.',
  input,
  output,
  effect: 'read',
  openWorld: true,
  guards: {},
  mcp: { description: 'Have a chat model prepare a text in stages; nothing is stored.' },
  cli: {
    command: 'ingest-multistep',
    stdin: ['content'],
    view: 'object',
    examples: ['ingest-multistep --content - --pipeline-variant four_step'],
  },
  run: ingest,
});

async function ingest(call: ReadCall, asked: Input): Promise<Result<Output>> {
  const locked = tierLocked(call, 'ingest_multistep', 'memory_ingest_multistep');
  if (locked !== null) return failed(locked);
  const long = await lengthProblem(call, asked);
  if (long !== null) return failed(long);
  const { pipeline_variant: variant, pipeline_override: own } = asked;
  const stages: Output['stages'] = [];
  let items: readonly string[] = [asked.content];
  for (const stage of own?.stages ?? stagesOf(variant)) {
    const done = await runStage(call, stage, items);
    if (!done.ok) return done;
    items = done.value.items;
    stages.push(done.value.trace);
  }
  const keys = new Set(stages.flatMap(({ cache_key }) => cache_key ?? []));
  return ok({
    ...{ variant: own === undefined ? variant : 'override', stages, distinct_cache_keys: keys.size },
    ...{ prompt_cache_consistent: keys.size <= 1, final_output: [...items], ingested_memory_ids: [] },
  });
}

/** Null for a text that a chat model may be shown, and that is no longer than the nearest policy allows. */
async function lengthProblem(
  { services, caller, now }: ReadCall,
  { content, namespace }: Input,
): Promise<Failure | null> {
  if (utf8Bytes(content) > MODEL_TEXT_BYTES_MAX) return tooLong(`${MODEL_TEXT_BYTES_MAX} bytes`);
  if (namespace === undefined) return null;
  const found = await services.store.query({
    ...{ kind: 'read-standards', namespace, inherit: true, viewer: caller.viewer, now },
  });
  if (!found.ok) return found.error;
  const said = found.value.standards.map(({ governance }) => governance?.['multistep_max_content_chars']);
  const max = said.findLast((value) => typeof value === 'number');
  return max === undefined || characters(content) <= max
    ? null
    : tooLong(`${max} characters in ${namespace}`);
}

const tooLong = (most: string): Failure =>
  failure('VALIDATION_FAILED', `content: must be at most ${most}`, { fields: ['content'] });

interface StageDone {
  readonly items: readonly string[];
  readonly trace: Output['stages'][number];
}

async function runStage(call: ReadCall, stage: Stage, given: readonly string[]): Promise<Result<StageDone>> {
  const { clock, crypto } = call.services;
  const begun = clock.monotonicMs();
  const done = (items: readonly string[], key?: string): Result<StageDone> => {
    const { name, kind } = stage;
    const elapsed = Math.round(clock.monotonicMs() - begun);
    const trace = { name, kind, items: items.length, elapsed_ms: elapsed };
    return ok({ items, trace: key === undefined ? trace : { ...trace, cache_key: key } });
  };
  if (stage.kind === 'helper') return done(helped(stage.helper, given));
  const question = stageQuestion(stage.instruction, given);
  const answer = await askModel(call, question);
  if (answer.ok) return done(answer.value, cacheKey(question, crypto));
  const { error } = answer;
  return failed({ ...error, message: `stage ${stage.name}: ${error.message}` });
}
