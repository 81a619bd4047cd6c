import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSigner, signMemory } from '../../../node/client/index.js';
import { signedBytes } from '../../../node/identity/sign-write.js';
import { systemCrypto } from '../../../node/seams.js';
import { bindKey } from '../../support/agents.js';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { agentKey } from '../../support/signing.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const PAGE = readFileSync('docs/signing.md', 'utf8');
const blocks = (language: string) =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text]) => text!);

type Signed = Record<'agent_id' | 'namespace' | 'title' | 'kind' | 'content' | 'created_at', string>;
const EXAMPLE = JSON.parse(blocks('json')[0]!) as Signed;
const VECTORS = JSON.parse(blocks('json')[1]!) as (Signed & { readonly signature: string })[];
const [BYTES, SIGNATURE] = blocks('text');
const KEY = agentKey(EXAMPLE.agent_id, Buffer.from([...Array(32).keys()]));

/** Memories whose texts need each length of a head, and more than ASCII. */
const MEMORIES = [
  { title: 't', content: 'c' },
  { title: '  Grüße 記憶 🦉  ', content: 'line\r\nline\t“”', namespace: 'team/ß', kind: 'decision' },
  { title: 're\u0301sume\u0301', content: 're\u0301sume\u0301', namespace: 'e\u0301quipe' },
  { title: 'a title of 23 bytes....', content: 'c', namespace: 'n'.repeat(24) },
  { title: '記'.repeat(100), content: 'x'.repeat(60_000), namespace: 'n'.repeat(255) },
];

const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0;

describe('the page about signing', () => {
  let node: HttpNode;
  const folder = temporaryFolder('signing');
  const keyFile = join(folder, 'key');
  before(async () => {
    writeFileSync(keyFile, KEY.seed, { mode: 0o600 });
    writeFileSync(join(folder, 'sign.mjs'), blocks('js')[0]!);
    writeFileSync(join(folder, 'sign.py'), blocks('python')[0]!);
    node = await openHttpNode({ requireAttestation: true });
    await bindKey(node.services.store, KEY);
  });
  after(() => node.close());

  /** What a program of the page prints. */
  const output = (program: readonly string[], memory: Record<string, unknown>) => {
    const file = join(folder, 'memory.json');
    writeFileSync(file, JSON.stringify(memory));
    const [command, script] = program as [string, string];
    const ended = spawnSync(command, [join(folder, script), keyFile, file], { encoding: 'utf8' });
    assert.equal(ended.status, 0, ended.stderr);
    return JSON.parse(ended.stdout) as Record<string, unknown>;
  };

  it('shows the bytes that the node verifies, and their signature', () => {
    const { agent_id: agentId, created_at, ...fields } = EXAMPLE;
    const expected = Buffer.from(signedBytes({ agentId, ...fields }, created_at, systemCrypto));
    const hex = BYTES!.replaceAll(/ {2,}.*$/gm, '').replaceAll(/\s/g, '');
    assert.equal(hex, expected.toString('hex'));
    assert.equal(SIGNATURE!.trim(), Buffer.from(KEY.signer.sign(expected)).toString('base64'));
    assert.ok(PAGE.includes(`\`${Buffer.from(KEY.signer.publicKey).toString('base64')}\``));
  });

  it('has vectors that the client and "mnemesh sign" meet', async () => {
    assert.equal(VECTORS.length, 4);
    const signer = createSigner({ agentId: KEY.agentId, privateKey: KEY.seed });
    const file = join(folder, 'vector.json');
    const keyDir = join(folder, 'keys');
    mkdirSync(keyDir, { mode: 0o700 });
    writeFileSync(join(keyDir, `${KEY.agentId}.priv`), KEY.seed, { mode: 0o600 });
    const sign = (...words: readonly string[]) =>
      spawnSync(
        process.execPath,
        [MAIN, 'sign', file, '--agent-id', KEY.agentId, '--key-dir', keyDir, ...words],
        { encoding: 'utf8', env: cleanEnvironment(folder) },
      );
    for (const { signature, ...memory } of VECTORS) {
      assert.equal((await signMemory(signer, memory)).signature, signature, memory.title);
      writeFileSync(file, JSON.stringify(memory));
      const { status, stdout, stderr } = sign();
      assert.equal(status, 0, stderr);
      assert.equal((JSON.parse(stdout) as Record<string, unknown>)['signature'], signature, memory.title);
    }
    writeFileSync(file, JSON.stringify(EXAMPLE));
    const hex = BYTES!.replaceAll(/ {2,}.*$/gm, '').replaceAll(/\s/g, '');
    assert.equal(sign('--envelope').stdout, `${hex}\n`);
    for (const [text, message] of [
      ['[1]', /one memory, as a JSON object/],
      ['{', /does not hold JSON/],
      ['{"title":"a"}', /as text: content/],
      ['{"title":"a","content":"b","agent_id":"ai:other"}', /the memory is of ai:other/],
    ] as const) {
      writeFileSync(file, text);
      const refused = sign();
      assert.equal(refused.status, 2, text);
      assert.match(refused.stderr, message);
      assert.equal(refused.stdout, '');
    }
    const unknown = spawnSync(
      process.execPath,
      [MAIN, 'sign', file, '--agent-id', 'ai:nobody', '--key-dir', keyDir],
      {
        encoding: 'utf8',
        env: cleanEnvironment(folder),
      },
    );
    assert.match(unknown.stderr, /no private key for ai:nobody/);
  });

  for (const [language, program, skip] of [
    ['Node', [process.execPath, 'sign.mjs'], false],
    ['Python', ['python3', 'sign.py'], hasPython ? false : 'Python with cryptography is not installed'],
  ] as const) {
    it(`has a program in ${language} that signs as shown, and whose stores the node attests`, {
      skip,
    }, async () => {
      assert.equal(output(program, EXAMPLE)['signature'], SIGNATURE!.trim());
      for (const { signature, ...memory } of VECTORS)
        assert.equal(output(program, memory)['signature'], signature, memory.title);
      for (const memory of MEMORIES) {
        const title = `${memory.title} ${language}`;
        const body = output(program, { agent_id: KEY.agentId, ...memory, title });
        const stored = await node.send('POST', '/api/v1/memories', body);
        assert.equal(stored.status, 201, stored.text);
        const { json } = await node.send('GET', `/api/v1/memories/${stored.json!['id']}`);
        const { metadata } = json!['memory'] as { metadata: Record<string, unknown> };
        assert.equal(metadata['attest_level'], 'agent_attested');
        const again = await node.send('POST', '/api/v1/memories', body);
        assert.equal(again.status, 409, again.text);
      }
    });
  }
});
