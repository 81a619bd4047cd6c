import { memoryInbox } from '../node/operations/power/memory-inbox.js';
import { systemClock, systemScheduler } from '../node/seams.js';
import { failed, ok } from '../protocol/base/result.js';
import { INBOX_LIMIT_MAX } from '../protocol/messages/limits.js';
import type { InboxMessage } from '../protocol/messages/queries.js';
import { defineCommand } from './define-command.js';
import { isSet } from './global-flags.js';
import { withLocalRunner } from './local-node.js';
import { Pause } from './pause.js';
import { onSignals } from './signals.js';
import { oneLine } from './views/text.js';

/** How often the node of this machine is asked. */
const ASK_MS = 500;

/** Prints the unread messages of an inbox, and each one that comes. It marks none. */
export const inboxWatchCommand = defineCommand({
  name: 'inbox-watch',
  summary: 'Print the unread messages of an inbox, and each one as it comes.',
  examples: ['inbox-watch --agent-id ai:reviewer', 'inbox-watch --json'],
  run: (parsed, terminal) =>
    withLocalRunner(parsed, async (runner, caller) => {
      const pause = new Pause(systemScheduler, ASK_MS);
      onSignals(systemClock, () => pause.end());
      for (let told: ReadonlySet<string> = new Set(); !pause.ended && !terminal.closed; await pause.take()) {
        const answer = await runner.run(memoryInbox, {
          ...{ surface: 'cli', caller, unknownFields: 'refuse' },
          input: { unread_only: true, limit: INBOX_LIMIT_MAX },
        });
        if (!answer.ok) return failed(answer.error);
        const messages = answer.value['messages'] as readonly InboxMessage[];
        const lineOf = isSet(parsed, 'json') ? JSON.stringify : sentenceOf;
        const fresh = messages.filter(({ id }) => !told.has(id)).reverse();
        if (fresh.length > 0) await terminal.print(fresh.map((message) => `${lineOf(message)}\n`).join(''));
        told = new Set(messages.map(({ id }) => id));
      }
      return ok(0);
    }),
});

function sentenceOf({ id, from, title, payload }: InboxMessage): string {
  return `${oneLine(`${from ?? 'unknown'}: ${title}`)} (${id})\n  ${oneLine(payload)}`;
}
