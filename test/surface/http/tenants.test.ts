import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { HttpBinding, Operation } from '../../../node/pipeline/operation.js';
import { type Answer, type HttpNode, openHttpNode } from './http-node.js';

/**
 * Two nodes that get the same requests of one tenant; only one of them also holds another tenant's private rows. Where
 * an answer differs, the rows show. Inputs are made from the schemas, so a new operation is covered as it is.
 */
const WORD = 'kumquat';
const ALICE = { 'x-agent-id': 'ai:alice' };
const BOB = { 'x-agent-id': 'ai:bob' };
const NAMESPACE = 'team/alpha';

let holding: HttpNode;
let without: HttpNode;
let secrets: string[];
let own: readonly [string, string];

const store = (node: HttpNode, body: object, headers: Record<string, string>) =>
  node.send('POST', '/api/v1/memories', { namespace: NAMESPACE, ...body }, headers);

before(async () => {
  [holding, without] = await Promise.all([openHttpNode(), openHttpNode()]);
  const bobs = { title: `about ${WORD}`, content: `everybody may know of ${WORD}`, tags: ['hr'] };
  const ids = [];
  for (const node of [holding, without]) ids.push((await store(node, bobs, BOB)).json!['id'] as string);
  own = [ids[0]!, ids[1]!];
  secrets = [];
  for (const [title, scope] of [
    ['the plan', 'private'],
    ['the team’s plan', 'team'],
    ['an unknown scope', 'mystery'],
  ]) {
    const body = {
      title,
      content: `${title} says ${WORD}`,
      tags: ['hr', 'plan'],
      metadata: { scope, topic: WORD },
    };
    secrets.push((await store(holding, { ...body, kind: 'decision' }, ALICE)).json!['id'] as string);
  }
  // One that was deleted is in the archive, or gone.
  const gone = await store(holding, { title: 'gone', content: WORD, metadata: { scope: 'private' } }, ALICE);
  secrets.push(gone.json!['id'] as string);
  await holding.send('DELETE', `/api/v1/memories/${secrets[3]}`, undefined, ALICE);
});
after(() => Promise.all([holding.close(), without.close()]));

type Json = { type?: string | string[]; enum?: unknown[]; anyOf?: Json[]; items?: Json; minimum?: number };

/** Values of a field that would reach the private rows, if anything did. */
function baits(name: string, schema: Json): unknown[] {
  const options = schema.anyOf ?? [schema];
  return options.flatMap((option): unknown[] => {
    const types = [option.type].flat();
    if (option.enum !== undefined) return option.enum;
    if (types.includes('array')) return [listOf(name, option)];
    if (types.includes('boolean')) return [true];
    if (types.includes('integer') || types.includes('number')) return [Math.max(1, option.minimum ?? 1)];
    if (types.includes('object')) return [{ topic: WORD }];
    return textsOf(name);
  });
}

const listOf = (name: string, { items }: Json): unknown[] =>
  /(^|_)ids?$/.test(name) ? secrets : items?.type === 'string' ? [WORD] : [];

function textsOf(name: string): string[] {
  if (/^(id|.*_id)$/.test(name) && name !== 'agent_id') return [...secrets, secrets[0]!.slice(0, 8)];
  if (name.includes('namespace')) return [NAMESPACE, 'team'];
  if (/(^|_)(since|until|at)$/.test(name)) return ['2020-01-01T00:00:00Z'];
  if (name === 'agent_id') return ['ai:bob', 'ai:alice'];
  // A taken title answers 409, and the entity that the other node makes instead would show in later answers.
  if (name === 'canonical_name') return [WORD];
  return [WORD, 'the plan'];
}

/** Inputs of an operation: every required field baited, then each optional one beside them, bait by bait. */
function inputsOf(operation: Operation): Record<string, unknown>[] {
  const json = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });
  const properties = (json.properties ?? {}) as Record<string, Json>;
  const required = (json.required ?? []) as string[];
  const base: Record<string, unknown> = {};
  for (const name of required) base[name] = baits(name, properties[name]!)[0];
  const varied = Object.entries(properties).flatMap(([name, schema]) =>
    baits(name, schema).map((bait) => ({ ...base, [name]: bait })),
  );
  // The first policy of a namespace with rows of others is refused, hidden ones too (docs/governance.md): it tells as much
  // as a taken title, and the policy of the other node would show in later answers.
  const place = operation.name === 'memory_namespace_set_standard' ? { namespace: 'of bob' } : {};
  return [base, ...varied].map((input) => ({ ...input, ...place }));
}

function call(node: HttpNode, binding: HttpBinding, input: Record<string, unknown>): Promise<Answer> {
  const rest = { ...input };
  const path = binding.path.replace(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest[field];
    delete rest[field];
    return encodeURIComponent(String(value));
  });
  for (const field of binding.omit ?? []) delete rest[field];
  if (binding.fields === 'body') return node.send(binding.method, `/api/v1${path}`, rest, BOB);
  const query = new URLSearchParams(
    Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return node.send(binding.method, `/api/v1${path}?${query}`, undefined, BOB);
}

/** What an answer says, without what differs from node to node anyway; rows in no order, because scores give it. */
function said({ status, text, json }: Answer): string {
  const parts = json === null ? text.split('\n') : Object.entries(json).flatMap(rowsOf);
  return [String(status), ...parts.map(neutral).sort()].join('\n');
}

const rowsOf = ([key, value]: [string, unknown]): string[] =>
  Array.isArray(value) ? value.map((row) => JSON.stringify([key, row])) : [JSON.stringify([key, value])];

function neutral(text: string): string {
  return (
    text
      .replaceAll(own[0], 'OWN')
      .replaceAll(own[1], 'OWN')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, (id) =>
        secrets.includes(id) ? id : 'ID',
      )
      .replace(/\d{4}-\d\d-\d\dT\d\d\\?:\d\d\\?:\d\d(?:\.\d+)?Z/g, 'INSTANT')
      // A cursor is encrypted, and all are of one length.
      .replace(/(next_cursor[^\w]+)[\w-]{123}(?![\w-])/g, '$1CURSOR')
      // Scores may depend on how frequent a word is in the whole store (decisions, "visibility").
      .replace(/"(score|similarity|blend_weight)":[\d.e-]+/g, '"$1":0')
      .replace(/\|0\.\d+\|/g, '|0|')
      // Reads are counted, and rows promoted by them, some time after they happened.
      .replace(/"tier":"(mid|long)",|"(expires_at|last_accessed_at)":"INSTANT",/g, '')
      .replace(/\|(mid|long)\|/g, '|tier|')
      .replace(/"freshness_state":"(fresh|warm)"/g, '')
      .replace(/"(access_count|rank|took_ms)":\d+/g, '')
      .replace(/"(created_at|expires_at|at)"[:,]\d+/g, '"$1"')
      // Each node signs what it sends with its own key.
      .replace(/"(signature|sender_pubkey)":"[\w+/=]{40,}"/g, '"$1"')
      .replace(/\|\d+\|([^|]*)\|api\|/g, '|0|$1|api|')
  );
}

/** The one thing that cannot be hidden: that a title is taken in a namespace (docs/decisions.md). */
const isTakenTitle = (answer: Answer) => answer.status === 409 && answer.json?.['code'] === 'CONFLICT';

for (const operation of OPERATIONS) {
  for (const binding of operation.http ?? []) {
    test(`${binding.method} ${binding.path} answers as if another tenant's private rows were not there`, async () => {
      let compared = 0;
      for (const input of inputsOf(operation)) {
        const [one, other] = await Promise.all([
          call(holding, binding, input),
          call(without, binding, input),
        ]);
        // Without an embedder and a language model some routes say so.
        assert.ok(one.status < 500 || /UNAVAILABLE$/.test(String(one.json?.['code'])), one.text);
        if (isTakenTitle(one)) {
          assert.ok(!secrets.includes(String(one.json?.['existing_id'])), one.text);
          continue;
        }
        assert.ok(
          said(one) === said(other),
          `${JSON.stringify(input)}\n${said(one)}\n--- without\n${said(other)}`,
        );
        compared += 1;
      }
      assert.ok(compared > 0);
    });
  }
}

test("the private rows are there, and their owner's", async () => {
  for (const id of secrets.slice(0, 3)) {
    assert.equal((await holding.send('GET', `/api/v1/memories/${id}`, undefined, ALICE)).status, 200);
    assert.equal((await holding.send('GET', `/api/v1/memories/${id}`, undefined, BOB)).status, 404);
  }
});
