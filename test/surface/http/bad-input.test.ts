import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fail } from '../../../protocol/base/result.js';
import { type Answer, type HttpNode, openHttpNode } from './http-node.js';

let node: HttpNode;
let id: string;
const PATH = '/api/v1/memories';
const HEADERS = { 'x-agent-id': 'alice' };

before(async () => {
  node = await openHttpNode();
  const empty = await node.counts();
  const answer = await node.send('POST', PATH, { title: 'kept', content: 'kept' }, HEADERS);
  id = answer.json!['id'] as string;
  const one = await node.counts();
  assert.deepEqual([one.rows, one.operations], [empty.rows + 1, empty.operations + 1], 'the counts count');
});
after(() => node.close());

/** Sends a request that must be refused, and sees that it left nothing behind. */
async function refuses(expected: string, send: () => Promise<Answer>, what: string): Promise<Answer> {
  const before = await node.counts();
  const answer = await send();
  assert.equal(`${answer.status} ${answer.json?.['code']}`, expected, `${what}: ${answer.text}`);
  assert.equal(answer.headers.get('content-type'), 'application/json', what);
  assert.match(answer.json!['error'] as string, /\S/, what);
  assert.doesNotMatch(answer.text, /\.[jt]s:\d+|node:internal/, 'no stack');
  assert.deepEqual(await node.counts(), before, `${what} changed the database`);
  return answer;
}

const post =
  (body: unknown, headers: Record<string, string> = HEADERS) =>
  () =>
    node.send('POST', PATH, body, headers);
const get = (path: string) => () => node.send('GET', path, undefined, HEADERS);
const memory = (more: Record<string, unknown>) => ({ title: 't', content: 'c', ...more });
/** A body whose JSON is written by hand, for what no object can say. */
const memoryText = (more: string) => `{"title":"t","content":"c",${more}}`;

const MALFORMED: readonly [string, string | Buffer][] = [
  ['no JSON', 'title=t'],
  ['cut off', '{"title":'],
  ['two values', '{} {}'],
  ['a trailing comma', '{"title":"t",}'],
  ['an array', '[{"title":"t"}]'],
  ['a number', '7'],
  ['null', 'null'],
  ['a text', '"title"'],
  ['NaN', memoryText('"priority":NaN')],
  ['nothing', ''],
  ['white space', '  '],
  ['a byte order mark', Buffer.from('\ufeff{"title":"t","content":"c"}')],
  ['invalid UTF-8', Buffer.from('7b227469746c65223a22ff22 7d'.replace(' ', ''), 'hex')],
  ['UTF-16', Buffer.from('{"title":"t","content":"c"}', 'utf16le')],
  [
    'an overlong encoding',
    Buffer.concat([Buffer.from('{"title":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
  ],
];
for (const [what, body] of MALFORMED) {
  test(`a body of ${what} is malformed`, async () => {
    await refuses('400 MALFORMED_BODY', post(body), what);
  });
}

const WRONG: readonly [string, Record<string, unknown> | string][] = [
  ['no title', { content: 'c' }],
  ['no content', { title: 't' }],
  ['a null title', { title: null, content: 'c' }],
  ['a blank title', memory({ title: ' \t ' })],
  ['a title of 513 characters', memory({ title: 'x'.repeat(513) })],
  ['a control character in the title', memory({ title: 'a\u0000b' })],
  ['a number for a title', memory({ title: 7 })],
  ['an object for content', memory({ content: {} })],
  ['64 KiB and a byte of content', memory({ content: 'x'.repeat(65_537) })],
  ['tags as a number', memory({ tags: 7 })],
  ['tags as a text with an empty one', memory({ tags: 'a,,b' })],
  ['51 tags', memory({ tags: Array.from({ length: 51 }, (_, index) => `t${index}`) })],
  ['a word for a number', memory({ priority: 'five' })],
  ['a text of a fraction', memory({ priority: '5.5' })],
  ['a fraction', memory({ priority: 5.5 })],
  ['priority 0', memory({ priority: 0 })],
  ['priority 11', memory({ priority: 11 })],
  ['priority -0', memoryText('"priority":-0')],
  ['confidence 1e999', memoryText('"confidence":1e999')],
  ['confidence -1', memory({ confidence: -1 })],
  ['ttl 2^53+1', memoryText('"ttl_secs":9007199254740993')],
  ['metadata with 2^53+1', memoryText('"metadata":{"n":[1,9007199254740993]}')],
  ['metadata with -2^53-1', memoryText('"metadata":{"n":-9007199254740993}')],
  ['metadata with 1e999', memoryText('"metadata":{"n":1e999}')],
  ['metadata with 400 digits', memoryText(`"metadata":{"n":${'9'.repeat(400)}}`)],
  ['metadata with __proto__', memoryText('"metadata":{"__proto__":{"admin":true}}')],
  ['metadata with __proto__ inside', memoryText('"metadata":{"a":[{"__proto__":1}]}')],
  ['metadata with __proto__ in escapes', memoryText('"metadata":{"\\u005f\\u005fproto__":1}')],
  ['__proto__ at the top', memoryText('"__proto__":{"tier":"long"}')],
  ['33 levels of metadata', memoryText(`"metadata":${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)],
  ['100,000 brackets', '['.repeat(100_000)],
  ['100,000 levels of metadata', memoryText(`"metadata":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)],
  ['64 KiB of metadata', memory({ metadata: { a: 'x'.repeat(65_536) } })],
  ['metadata as an array', memory({ metadata: [] })],
  ['a lone surrogate in the title', memoryText('"title":"\\ud800"').replace('"title":"t",', '')],
  ['a lone surrogate in the content', memoryText('"content":"\\udc00x"').replace('"content":"c",', '')],
  ['a lone surrogate in a tag', memoryText('"tags":["\\ud83d"]')],
  ['a lone surrogate in metadata', memoryText('"metadata":{"a":"\\ud800"}')],
  ['a namespace nine levels deep', memory({ namespace: 'a/b/c/d/e/f/g/h/i' })],
  ['a namespace with ..', memory({ namespace: 'a/../b' })],
  ['a namespace with an empty segment', memory({ namespace: 'a//b' })],
  ['a namespace with white space', memory({ namespace: 'a b' })],
  ['a namespace with a backslash', memory({ namespace: 'a\\b' })],
  ['a namespace with NUL', memory({ namespace: 'a\u0000' })],
  ['an unknown tier', memory({ tier: 'forever' })],
  ['an unknown kind', memory({ kind: 'dream' })],
  ['an unknown scope', memory({ scope: 'galaxy' })],
  ['an expiry without an offset', memory({ expires_at: '2099-01-01T00:00:00' })],
  ['an expiry that is no date', memory({ expires_at: '2099-02-30T00:00:00Z' })],
  ['an expiry in the past', memory({ expires_at: '2001-01-01T00:00:00Z' })],
  ['a field by two of its names', memory({ kind: 'claim', memory_kind: 'event' })],
];
for (const [what, body] of WRONG) {
  test(`${what} is refused`, async () => {
    await refuses('400 VALIDATION_FAILED', post(body), what);
  });
}

test('unknown keys are named, hostile names and floods of them included', async () => {
  const answer = await refuses('400 UNKNOWN_FIELD', post(memory({ titel: 1, 'tag s': 2 })), 'unknown');
  assert.deepEqual(answer.json!['fields'], ['titel', 'tag s']);
  assert.match(answer.json!['error'] as string, /titel/);
  await refuses('400 UNKNOWN_FIELD', post(memory({ constructor: 1 })), 'constructor');
  await refuses('400 UNKNOWN_FIELD', post(memory({ toString: 1 })), 'toString');
  await refuses('400 UNKNOWN_FIELD', post(memoryText('"\\ud800":1')), 'a lone surrogate as a key');
  const flood = Object.fromEntries(
    Array.from({ length: 5000 }, (_, index) => [`${'k'.repeat(200)}${index}`, 1]),
  );
  const long = await refuses('400 UNKNOWN_FIELD', post(memory(flood)), 'a flood');
  assert.ok(long.text.length < 4096, 'the error is no echo');
  await refuses('400 UNKNOWN_FIELD', get(`${PATH}?limt=3`), 'query');
  await refuses('400 UNKNOWN_FIELD', get(`${PATH}?__proto__=3`), '__proto__ in a query');
  await refuses(
    '400 UNKNOWN_FIELD',
    get(`/api/v1/recall?q=x&context_tokens=a`),
    'a field that this surface does not take',
  );
  const path = `${PATH}?title=x`;
  await refuses(
    '400 UNKNOWN_FIELD',
    () => node.send('POST', path, memory({}), HEADERS),
    'a body field in the query',
  );
  const promote = () => node.send('POST', `${PATH}/${id}/promote`, { target_tier: 'mid' }, HEADERS);
  await refuses('400 UNKNOWN_FIELD', promote, 'an omitted field');
  const remove = () => node.send('DELETE', `${PATH}/${id}`, { force: true }, HEADERS);
  await refuses('400 UNKNOWN_FIELD', remove, 'a body where the fields are in the query');
});

test('details of an error cannot change its envelope', async () => {
  const failing = await openHttpNode(
    {},
    {
      wrap: (services) => ({
        ...services,
        store: {
          execute: (command) => services.store.execute(command),
          selfCheck: (cursor) => services.store.selfCheck(cursor),
          close: () => services.store.close(),
          query: async () => fail('NOT_FOUND', 'gone', { code: 'FINE', error: 'none', hint: 7 } as object),
        },
      }),
    },
  );
  try {
    const answer = await failing.send('GET', `${PATH}/x`);
    assert.equal(answer.status, 404);
    assert.deepEqual(answer.json, { error: 'gone', code: 'NOT_FOUND', hint: 7 });
  } finally {
    await failing.close();
  }
});

test('an exception is INTERNAL, with its text hidden', async () => {
  const broken = await openHttpNode(
    {},
    {
      wrap: (services) => ({
        ...services,
        condition: () => {
          throw new Error('the secret of /etc/passwd');
        },
      }),
    },
  );
  try {
    for (const path of ['/health', '/api/v1/capabilities']) {
      const answer = await broken.send('GET', path);
      assert.equal(answer.status, 500);
      assert.deepEqual(answer.json, { error: 'internal server error', code: 'INTERNAL' });
    }
  } finally {
    await broken.close();
  }
});

test('a body over 2 MiB is refused, announced or streamed, and 2 MiB are read', async () => {
  const size = 2 * 1024 * 1024;
  const exact = memoryText(`"zz":"${'x'.repeat(size - memoryText('"zz":""').length)}"`);
  assert.equal(exact.length, size);
  await refuses('400 UNKNOWN_FIELD', post(exact), 'exactly 2 MiB');
  const announced = await refuses('413 PAYLOAD_TOO_LARGE', post(`${exact} `), 'one byte more');
  assert.equal(announced.headers.get('connection'), 'close');
  await refuses('413 PAYLOAD_TOO_LARGE', post('x'.repeat(5 * size)), '10 MiB');
  const streamed = async (): Promise<Answer> => {
    const body = new ReadableStream({
      start(controller) {
        for (let index = 0; index < 48; index += 1) controller.enqueue(Buffer.alloc(65_536, 0x20));
        controller.close();
      },
    });
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      duplex: 'half' as const,
    };
    const response = await fetch(`http://127.0.0.1:${node.port}${PATH}`, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
  };
  await refuses('413 PAYLOAD_TOO_LARGE', streamed, '3 MiB in chunks');
});

test('only JSON in UTF-8 is taken, in any spelling of its name', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'json',
  ]) {
    const headers = { ...HEADERS, 'content-type': type };
    await refuses('415 UNSUPPORTED_MEDIA_TYPE', post(memory({}), headers), type);
  }
  const gzip = { ...HEADERS, 'content-encoding': 'gzip' };
  await refuses('415 UNSUPPORTED_MEDIA_TYPE', post(memory({}), gzip), 'gzip');
  let index = 0;
  for (const type of [
    'Application/JSON',
    'application/json; charset="UTF-8"',
    'application/vnd.x+json;charset=utf-8',
  ]) {
    index += 1;
    const body = { title: `typed ${index}`, content: 'c' };
    const answer = await node.send('POST', PATH, body, { ...HEADERS, 'content-type': type });
    assert.equal(answer.status, 201, `${type}: ${answer.text}`);
  }
});

test('invalid ids never reach the store', async () => {
  const ids = [
    'a%2Fb',
    '..%2F..%2Fetc',
    '%2e%2e%2fx',
    'a%5Cb',
    'a%00',
    '%00',
    'a%0Ab',
    'a%7F',
    'a%C2%85',
    'a%20b',
    '%25',
    'x'.repeat(129),
    'caf%C3%A9',
    "'%20or%201=1--",
  ];
  for (const bad of ids) {
    await refuses('400 VALIDATION_FAILED', get(`${PATH}/${bad}`), bad);
    await refuses(
      '400 VALIDATION_FAILED',
      () => node.send('DELETE', `${PATH}/${bad}`, undefined, HEADERS),
      bad,
    );
    await refuses(
      '400 VALIDATION_FAILED',
      () => node.send('PUT', `${PATH}/${bad}`, { priority: 1 }, HEADERS),
      bad,
    );
  }
  for (const bad of ['%ff', 'a%', '%zz', '%c0%af', '%ed%a0%80']) {
    await refuses('400 INVALID_REQUEST', get(`${PATH}/${bad}`), bad);
  }
  await refuses('404 NOT_FOUND', get(`${PATH}/nothing-here`), 'unknown id');
});

test('a path is taken as it stands: dots are no way up', async () => {
  for (const target of [`${PATH}/..`, `${PATH}/%2e%2e`, `${PATH}/..%2fstats`]) {
    const answer = await node.raw(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 400 .*"code":"VALIDATION_FAILED"/s, target);
  }
  const up = await node.raw(`GET ${PATH}/../stats HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
  assert.match(up, /^HTTP\/1\.1 404 .*"code":"ROUTE_NOT_FOUND"/s);
});

test('queries that are no plain words are answered or refused, never an internal error', async () => {
  const before = await node.counts();
  const hostile = [
    '"',
    '"unclosed',
    'NEAR(a b',
    'title:x',
    'a AND',
    '*',
    '^a',
    '-a',
    '{a b}:c',
    'a" OR "b',
    '()',
    "'; drop table memories; --",
    '\u0000',
    'the and of',
    '%',
    '_',
    '🦑',
    'a'.repeat(4000),
  ];
  for (const text of hostile) {
    for (const path of ['/api/v1/search?q=', '/api/v1/recall?context=']) {
      const answer = await node.send('GET', path + encodeURIComponent(text), undefined, HEADERS);
      assert.ok(
        answer.status === 200 || answer.status === 400,
        `${path}${text}: ${answer.status} ${answer.text}`,
      );
      if (answer.status === 400) assert.equal(answer.json!['code'], 'VALIDATION_FAILED');
    }
  }
  assert.equal((await node.counts()).rows, before.rows);
  for (const text of ['', ' ', '%20%09']) {
    await refuses('400 VALIDATION_FAILED', get(`/api/v1/recall?context=${text}`), 'blank context');
    await refuses('400 VALIDATION_FAILED', get(`/api/v1/search?q=${text}`), 'blank query');
  }
  await refuses('400 VALIDATION_FAILED', get('/api/v1/recall'), 'no context');
  await refuses(
    '400 VALIDATION_FAILED',
    () => node.send('POST', '/api/v1/recall', {}),
    'no context in a body',
  );
  const long = { context: 'a'.repeat(8193) };
  await refuses('400 VALIDATION_FAILED', () => node.send('POST', '/api/v1/recall', long), 'a long context');
});

const BAD_QUERIES: readonly [string, string][] = [
  ['VALIDATION_FAILED', 'limit=abc'],
  ['VALIDATION_FAILED', 'limit=0'],
  ['VALIDATION_FAILED', 'limit=-1'],
  ['VALIDATION_FAILED', 'limit=1.5'],
  ['VALIDATION_FAILED', 'limit=1e999'],
  ['VALIDATION_FAILED', 'limit=9007199254740993'],
  ['VALIDATION_FAILED', 'limit='],
  ['VALIDATION_FAILED', 'offset=1000000001'],
  ['VALIDATION_FAILED', 'min_priority=11'],
  ['VALIDATION_FAILED', 'kinds=nothing'],
  ['VALIDATION_FAILED', 'since=yesterday'],
  ['VALIDATION_FAILED', 'since=2026-02-30'],
  ['VALIDATION_FAILED', 'since=2026-01'],
  ['VALIDATION_FAILED', 'tier=huge'],
  ['VALIDATION_FAILED', 'namespace=a/b/c/d/e/f/g/h/i'],
  ['VALIDATION_FAILED', 'agent_id=a%20b'],
  ['VALIDATION_FAILED', 'limit=1&limit=2'],
  ['VALIDATION_FAILED', 'tags=a&tags=b'],
  ['INVALID_REQUEST', 'namespace=%ff'],
  ['INVALID_REQUEST', 'namespace=%'],
];
for (const [code, query] of BAD_QUERIES) {
  test(`?${query} is refused`, async () => {
    await refuses(`400 ${code}`, get(`${PATH}?${query}`), query);
  });
}

test('huge but harmless numbers are bounded', async () => {
  assert.equal((await get(`${PATH}?limit=999999999999999`)()).status, 200);
  assert.equal((await get(`${PATH}?offset=-0`)()).status, 200);
  assert.equal((await get('/api/v1/recall?q=kept&limit=999999')()).status, 200);
  await refuses('400 VALIDATION_FAILED', get('/api/v1/recall?q=kept&budget_tokens=-1'), 'a negative budget');
  await refuses('400 VALIDATION_FAILED', get('/api/v1/recall?q=kept&format=xml'), 'an unknown format');
  await refuses('400 VALIDATION_FAILED', get('/api/v1/recall?q=a&query=b'), 'two names of the context');
});

test('an update is refused for a bad precondition, no change, or a taken title', async () => {
  await node.send('POST', PATH, { title: 'other', content: 'c' }, HEADERS);
  const put = (body: unknown, match?: string) => () =>
    node.send('PUT', `${PATH}/${id}`, body, {
      ...HEADERS,
      ...(match === undefined ? {} : { 'if-match': match }),
    });
  for (const match of ['', '*', 'x', 'W/"1"', '"1', '1, 2', '99999999999999999']) {
    const what = `If-Match ${match}`;
    if (match === '"1') continue;
    await refuses('400 VALIDATION_FAILED', put({ priority: 1 }, match), what);
  }
  await refuses('400 UNKNOWN_FIELD', put({ priority: 1, expected_version: 1 }), 'the version in the body');
  await refuses('400 VALIDATION_FAILED', put({}), 'no change');
  await refuses('400 VALIDATION_FAILED', put(undefined), 'no body');
  await refuses('409 CONFLICT', put({ title: 'other' }), 'a taken title');
  await refuses('409 CONFLICT', post({ title: 'other', content: 'again' }), 'a duplicate title');
  await refuses('409 VERSION_CONFLICT', put({ priority: 1 }, '7'), 'another version');
});
