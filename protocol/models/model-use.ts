import * as limits from '../base/model-limits.js';
import { fail } from '../base/result.js';
import { instantFromMs } from '../base/time.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, type Done, decided } from '../decide/deciding.js';
import { dropRows, localRow, localRows, putRow } from '../decide/local-rows.js';
import { localKind } from '../kinds/local-kind.js';

/** What a feature asked chat models in a day; each request counts once, also one that is repeated. */
export interface ModelUse {
  /** UTC, as YYYY-MM-DD. */
  readonly day: string;
  readonly feature: string;
  readonly calls: number;
  readonly failures: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly ms: number;
}

export const modelUseKind = localKind<ModelUse>({
  name: 'model-use',
  table: 'model_use',
  key: ['day', 'feature'],
  members: {
    day: 'text',
    feature: 'text',
    calls: 'integer',
    failures: 'integer',
    tokens_in: 'integer',
    tokens_out: 'integer',
    ms: 'integer',
  },
});

const DAY_MS = 86_400_000;
/** More features than there will be. */
const FEATURES_MAX = 1000;

const dayOf = (nowMs: number): string => instantFromMs(nowMs).slice(0, 'YYYY-MM-DD'.length);

/** Counts a request to a chat model before it is sent. LLM_LIMIT when the day has no request left. */
export interface BeginModelCall {
  readonly kind: 'begin-model-call';
  readonly feature: string;
  /** 0 permits any number. */
  readonly callsPerDay: number;
}

function* decideBegin(
  { feature, callsPerDay }: BeginModelCall,
  { nowMs }: DecisionContext,
): Deciding<{ readonly day: string }> {
  const day = dayOf(nowMs);
  const rows = yield* localRows(modelUseKind, { where: { day }, limit: FEATURES_MAX });
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  if (callsPerDay > 0 && calls >= callsPerDay) {
    const retry_after_secs = Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1000);
    return fail('LLM_LIMIT', `the ${callsPerDay} requests to chat models of this day are used up`, {
      retry_after_secs,
      max: callsPerDay,
    });
  }
  const old = dayOf(nowMs - limits.MODEL_USE_DAYS * DAY_MS);
  const use = rows.find((row) => row.feature === feature) ?? unused(day, feature);
  return decided({ day }, [
    ...(rows.length === 0 ? [dropRows(modelUseKind, { day: { before: old } })] : []),
    putRow(modelUseKind, { ...use, calls: use.calls + 1 }),
  ]);
}

const unused = (day: string, feature: string): ModelUse => ({
  ...{ day, feature, calls: 0, failures: 0, tokens_in: 0, tokens_out: 0, ms: 0 },
});

/** Adds what became of a request that was counted. */
export interface EndModelCall {
  readonly kind: 'end-model-call';
  /** The day in which it was counted. */
  readonly day: string;
  readonly feature: string;
  readonly failed: boolean;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly ms: number;
}

function* decideEnd({ day, feature, failed, tokensIn, tokensOut, ms }: EndModelCall): Deciding<Done> {
  const use = yield* localRow(modelUseKind, { day, feature });
  if (use === null) return decided({}, []);
  const added: ModelUse = {
    ...use,
    failures: use.failures + (failed ? 1 : 0),
    tokens_in: use.tokens_in + tokensIn,
    tokens_out: use.tokens_out + tokensOut,
    ms: use.ms + ms,
  };
  return decided({}, [putRow(modelUseKind, added)]);
}

export const beginModelCallCommand = defineCommand({
  kind: 'begin-model-call',
  decide: decideBegin,
  gate: 'upkeep',
});

export const endModelCallCommand = defineCommand({
  kind: 'end-model-call',
  decide: decideEnd,
  gate: 'upkeep',
});
