import { createHash, createHmac } from 'node:crypto';

export interface ToSign {
  readonly secret: string;
  readonly method?: string;
  readonly pendingId: string;
  readonly body: string;
  /** Unix seconds; now unless given. */
  readonly timestamp?: number | string;
}

/** The headers of a signed decision, made from the words of the decisions and not with the product's code. */
export function signDecision({
  secret,
  method = 'POST',
  pendingId,
  body,
  timestamp = Math.floor(Date.now() / 1000),
}: ToSign): Record<string, string> {
  const key = createHash('sha256').update(secret).digest();
  const hex = createHmac('sha256', key).update(`${timestamp}.${method}.${pendingId}.${body}`).digest('hex');
  return { 'x-svc-timestamp': String(timestamp), 'x-svc-signature': `sha256=${hex}` };
}
