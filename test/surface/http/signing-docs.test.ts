import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { signedBytes } from '../../../node/identity/sign-write.js';
import { systemCrypto } from '../../../node/seams.js';
import { bindKey } from '../../support/agents.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { agentKey } from '../../support/signing.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const PAGE = readFileSync('docs/signing.md', 'utf8');
const blocks = (language: string) =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text]) => text!);

type Signed = Record<'agent_id' | 'namespace' | 'title' | 'kind' | 'content' | 'created_at', string>;
const EXAMPLE = JSON.parse(blocks('json')[0]!) as Signed;
const [BYTES, SIGNATURE] = blocks('text');
const KEY = agentKey(EXAMPLE.agent_id, Buffer.from([...Array(32).keys()]));

/** Memories whose texts need each length of a head, and more than ASCII. */
const MEMORIES = [
  { title: 't', content: 'c' },
  { title: '  Grüße 記憶 🦉  ', content: 'line\r\nline\t“”', namespace: 'team/ß', kind: 'decision' },
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

  for (const [language, program, skip] of [
    ['Node', [process.execPath, 'sign.mjs'], false],
    ['Python', ['python3', 'sign.py'], hasPython ? false : 'Python with cryptography is not installed'],
  ] as const) {
    it(`has a program in ${language} that signs as shown, and whose stores the node attests`, {
      skip,
    }, async () => {
      assert.equal(output(program, EXAMPLE)['signature'], SIGNATURE!.trim());
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
