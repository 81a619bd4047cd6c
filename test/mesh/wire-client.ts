import assert from 'node:assert/strict';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import type { TestPeer } from '../support/test-peer.js';

/** What came back over HTTP. */
export interface WireAnswer {
  readonly status: number;
  readonly json: Record<string, unknown> | null;
}

/** Sends a message to a node whose API is at `base`. */
export async function sendTo(base: string, message: ReceivedMessage): Promise<WireAnswer> {
  const { method, path, query, body } = message;
  const url = new URL(base);
  const headers = Object.entries(message.headers).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const response = await fetch(`${url.origin}${path}${query === '' ? '' : `?${query}`}`, {
    method,
    headers,
    ...(method === 'POST' ? { body } : {}),
  });
  const text = await response.text();
  return {
    status: response.status,
    json: text === '' ? null : (JSON.parse(text) as Record<string, unknown>),
  };
}

/** The bytes of a message as a request. */
export function rawRequest({ method, path, query, headers, body }: ReceivedMessage): Buffer {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  const head = [
    `${method} ${path}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    'host: 127.0.0.1',
    `content-length: ${body.length}`,
    ...lines,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

const SENDERS = 16;

/** Sends harmless messages, each with a nonce of its own. */
export async function useNonces(base: string, peer: TestPeer, count: number): Promise<void> {
  let left = count;
  const sender = async () => {
    while (left > 0) {
      left -= 1;
      const { status } = await sendTo(base, peer.push(peer.pushBody()));
      assert.equal(status, 200);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
}

/** The value of the metric whose name and labels end so; 0 before it was counted. */
export async function metricOf(base: string, nameAndLabels: string): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text();
  const line = text.split('\n').find((each) => each.includes(`svc_federation_${nameAndLabels}`));
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
}
