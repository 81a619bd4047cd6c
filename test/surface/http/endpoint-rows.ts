import { agents } from './endpoints/agents.js';
import { approvals } from './endpoints/approvals.js';
import { archive } from './endpoints/archive.js';
import { forConsole } from './endpoints/console.js';
import { further } from './endpoints/further.js';
import { graph } from './endpoints/graph.js';
import { health } from './endpoints/health.js';
import { hooks } from './endpoints/hooks.js';
import { lastly, toConsolidate } from './endpoints/lastly.js';
import { lifeCycle } from './endpoints/life-cycle.js';
import { links } from './endpoints/links.js';
import { memories } from './endpoints/memories.js';
import { memoryRules } from './endpoints/memory-rules.js';
import { messages } from './endpoints/messages.js';
import { names } from './endpoints/names.js';
import { recall } from './endpoints/recall.js';
import type { EndpointRow } from './endpoints/row.js';
import { actions, signals } from './endpoints/signals.js';
import { skills } from './endpoints/skills.js';
import { transcripts } from './endpoints/transcripts.js';
import { transfer } from './endpoints/transfer.js';
import { webhooks } from './endpoints/webhooks.js';

export type { EndpointRow, Shape } from './endpoints/row.js';

/**
 * The endpoint tables of the interface, sections 4.1 to 4.9, 4.10 (export, import), 4.11 and what of 4.12 is there, in a
 * useful order.
 */
export const ENDPOINT_ROWS: readonly EndpointRow[] = [
  ...health,
  ...memories,
  ...memoryRules,
  ...recall,
  ...graph,
  ...toConsolidate,
  ...lifeCycle,
  ...archive,
  ...links,
  ...agents,
  ...names,
  ...approvals,
  ...messages,
  ...signals,
  ...actions,
  ...transcripts,
  ...skills,
  ...webhooks,
  ...hooks,
  ...transfer,
  ...further,
  ...forConsole,
  ...lastly,
];
