import { SUBSCRIPTION_DEAD_LETTERS_MAX } from '../../protocol/base/limits.js';
import type { Settings } from '../config/settings.js';
import type { ContentFacts } from './database-facts.js';
import { type Section, SectionBuilder } from './report.js';

/** An event that has waited so long should have been sent, or given up. */
const LATE_MS = 600_000;

/** Checks the subscriptions to events: which get nothing, and what could not be delivered. */
export function checkWebhooks(
  content: Pick<ContentFacts, 'webhooks'> | null,
  settings: Settings,
  nowMs: number,
  daemonLives: boolean,
): Section {
  const section = new SectionBuilder('Webhook')
    .fact('secret of the node', settings.webhookHmacSecret === null ? 'none' : 'set')
    .fact('to this machine', settings.allowLoopbackWebhooks ? 'permitted' : 'refused');
  const found = content?.webhooks ?? null;
  if (found === null || found.subscriptions === 0) return section.unused('there is no subscription').done();
  section
    .fact('subscriptions', found.subscriptions)
    .fact('quarantined', found.quarantined)
    .fact('events that wait', found.pending)
    .fact('dead letters', found.dead)
    .fact('dropped events', found.dropped);
  if (found.quarantined > 0) {
    section.warn(
      'WEBHOOK_QUARANTINED',
      `${found.quarantined} subscriptions get nothing: their receivers failed too often, or the database came from another machine`,
      'see that the receiver works and no other node sends to it, then its owner runs "mnemesh subscription-replay <id> <since> --resend"',
    );
  }
  if (found.dropped > 0) {
    section.warn(
      'WEBHOOK_EVENTS_DROPPED',
      `${found.dropped} events were dropped: a subscription keeps ${SUBSCRIPTION_DEAD_LETTERS_MAX} dead letters`,
      'repair the receivers, or end their subscriptions',
    );
  }
  const { oldestPendingAt } = found;
  if (found.pending > 0 && !daemonLives) {
    section.warn(
      'WEBHOOK_NO_DAEMON',
      `${found.pending} events wait: only a running daemon sends them`,
      'run "mnemesh serve"',
    );
  } else if (oldestPendingAt !== null && nowMs - Date.parse(oldestPendingAt) > LATE_MS) {
    section.warn(
      'WEBHOOK_LATE',
      `the oldest event has waited since ${oldestPendingAt}`,
      'look at "mnemesh list-subscriptions" for a receiver that is slow or away',
    );
  }
  return section.done();
}
