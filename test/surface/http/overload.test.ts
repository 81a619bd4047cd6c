import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import { test } from 'node:test';
import type { Services } from '../../../node/pipeline/call.js';
import { fail } from '../../../protocol/base/result.js';
import type { CallOptions } from '../../../storage/port.js';
import { until } from '../../support/wait.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const LIST = '/api/v1/memories';

/** A store whose reads wait until they are let go, and how many wait. */
function gate() {
  let release!: () => void;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const gated = { waiting: 0 };
  const wrap = (services: Services): Services => ({
    ...services,
    store: {
      execute: (command, options) => services.store.execute(command, options),
      selfCheck: (cursor) => services.store.selfCheck(cursor),
      close: () => services.store.close(),
      query: async (query, options) => {
        gated.waiting += 1;
        await held;
        gated.waiting -= 1;
        return services.store.query(query, options);
      },
    },
  });
  return { wrap, release, gated };
}

async function shedCount(node: HttpNode): Promise<number> {
  const { text } = await node.send('GET', '/metrics');
  return Number(/^svc_admission_shed_total (\d+)$/m.exec(text)?.[1]);
}

test('of 200 requests at once, a cap of 8 admits 8 and counts 192 that it sheds', async () => {
  const { wrap, release, gated } = gate();
  const node = await openHttpNode({}, { inflightMax: 8, wrap });
  try {
    const answers = Array.from({ length: 200 }, () => node.send('GET', LIST));
    await until('192 are shed', async () => (await shedCount(node)) >= 192);
    assert.equal(gated.waiting, 8);
    for (const path of ['/health', '/api/v1/health', '/metrics', '/api/v1/metrics']) {
      assert.equal((await node.send('GET', path)).status, 200, `${path} is exempt`);
    }
    release();
    const all = await Promise.all(answers);
    const shed = all.filter(({ status }) => status === 503);
    assert.equal(all.filter(({ status }) => status === 200).length, 8);
    assert.equal(shed.length, 192);
    for (const answer of shed) {
      assert.deepEqual(answer.json, { error: 'server_overloaded', code: 'OVERLOADED', max_inflight: 8 });
      assert.equal(answer.headers.get('retry-after'), '1');
    }
    assert.equal(await shedCount(node), 192);
    const again = await Promise.all(Array.from({ length: 8 }, () => node.send('GET', LIST)));
    assert.ok(
      again.every(({ status }) => status === 200),
      'every place was given back',
    );
  } finally {
    release();
    await node.close();
  }
});

test('exempt and refused requests hold no place', async () => {
  const { wrap, release, gated } = gate();
  const node = await openHttpNode({ apiKey: 'k' }, { inflightMax: 1, wrap });
  const key = { 'x-api-key': 'k' };
  try {
    const scrapes = Array.from({ length: 20 }, () => node.send('GET', '/metrics', undefined, key));
    const refused = Array.from({ length: 20 }, () => node.send('GET', LIST));
    const first = node.send('GET', LIST, undefined, key);
    await until('a request waits in the store', () => gated.waiting > 0);
    for (const answer of await Promise.all(scrapes)) assert.equal(answer.status, 200);
    for (const answer of await Promise.all(refused)) assert.equal(answer.status, 401);
    release();
    assert.equal((await first).status, 200);
  } finally {
    release();
    await node.close();
  }
});

test('a place is given back when its client leaves, whether it was uploading or waiting', async () => {
  const { wrap, release, gated } = gate();
  const node = await openHttpNode({}, { inflightMax: 2, wrap });
  const open = (text: string) => {
    const socket = createConnection({ host: '127.0.0.1', port: node.port });
    socket.on('error', () => {});
    socket.write(text);
    return socket;
  };
  try {
    const uploading = open(
      `POST ${LIST} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"title":`,
    );
    const waiting = open(`GET ${LIST} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await until('a request waits in the store', () => gated.waiting > 0);
    await until('both places are taken', async () => (await node.send('GET', LIST)).status === 503);
    uploading.resetAndDestroy();
    waiting.resetAndDestroy();
    release();
    await until('a place is given back', async () => (await node.send('GET', LIST)).status === 200);
    const both = await Promise.all([node.send('GET', LIST), node.send('GET', LIST)]);
    assert.deepEqual(
      both.map(({ status }) => status),
      [200, 200],
    );
  } finally {
    release();
    await node.close();
  }
});

test('an answer of DEADLINE gives the place back while its operation goes on', async () => {
  const { wrap, release } = gate();
  const node = await openHttpNode({ requestTimeoutMs: 50 }, { inflightMax: 1, wrap });
  try {
    for (let index = 0; index < 3; index += 1) {
      const late = await node.send('GET', LIST);
      assert.deepEqual([late.status, late.json?.['code']], [504, 'DEADLINE']);
    }
  } finally {
    release();
    await node.close();
  }
});

test('what the store is asked may wait no longer than the request, and writes no longer than their own limit', async () => {
  const seen = { reads: [] as CallOptions[], writes: [] as CallOptions[] };
  const wrap = (services: Services): Services => ({
    ...services,
    store: {
      selfCheck: (cursor) => services.store.selfCheck(cursor),
      close: () => services.store.close(),
      query: (query, options = {}) => {
        // The query of the rules about reads is a lookup, which waits for no thread.
        if (query.kind !== 'rules-for-reads') seen.reads.push(options);
        return services.store.query(query, options);
      },
      execute: (command, options = {}) => {
        seen.writes.push(options);
        return services.store.execute(command, options);
      },
    },
  });
  const body = { title: 't', content: 'c' };
  for (const [requestTimeoutMs, reads, writes] of [
    [5000, 5000, 5000],
    [50_000, 50_000, 30_000],
  ] as const) {
    const node = await openHttpNode({ requestTimeoutMs }, { wrap });
    try {
      seen.reads.length = 0;
      seen.writes.length = 0;
      await node.send('GET', LIST);
      await node.send('POST', LIST, body);
      const read = seen.reads[0]?.timeoutMs ?? Number.NaN;
      const write = seen.writes[0]?.timeoutMs ?? Number.NaN;
      assert.ok(read <= reads && read > reads - 2000, `${read}`);
      assert.ok(write <= writes && write > writes - 2000, `${write}`);
    } finally {
      await node.close();
    }
  }
});

test('every 429 and 503 says when to come again', async () => {
  for (const code of [
    'OVERLOADED',
    'UNAVAILABLE',
    'ACTOR_RESTARTED',
    'SHUTTING_DOWN',
    'AUTH_BACKOFF',
  ] as const) {
    for (const details of [undefined, { retry_after_secs: 7 }]) {
      const node = await openHttpNode(
        {},
        {
          wrap: (services) => ({
            ...services,
            store: { ...services.store, query: async () => fail(code, 'not now', details) },
          }),
        },
      );
      try {
        const answer = await node.send('GET', LIST);
        assert.ok(answer.status === 503 || answer.status === 429);
        assert.equal(answer.headers.get('retry-after'), details === undefined ? '1' : '7', code);
      } finally {
        await node.close();
      }
    }
  }
});
