import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { describeSettings } from '../../../node/config/describe-settings.js';
import { inspectConfiguration } from '../../../node/config/load-settings.js';
import { shownUrl } from '../../../node/config/shown-url.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { event } from '../../support/wait.js';
import { run } from '../../surface/cli/cli-process.js';
import { openHttpNode } from '../../surface/http/http-node.js';

const KEY = 'sk-very-secret';

describe('an address with a query', () => {
  it('is shown without it', () => {
    for (const [text, shown] of [
      [`https://h/v1?k=${KEY}`, 'https://h/v1?[redacted]'],
      [`https://h?a=1&k=${KEY}#top`, 'https://h?[redacted]'],
      [`https://h/v1#${KEY}`, 'https://h/v1#[redacted]'],
      [` HTTPS://h:99999/v1?k=${KEY}`, 'HTTPS://h:99999/v1?[redacted]'],
      [`https://h/v1?${KEY}\n${KEY}`, 'https://h/v1?[redacted]'],
      ['https://h/v1', 'https://h/v1'],
      ['https://h/v1?', 'https://h/v1?'],
      ['/a/file?name', '/a/file?name'],
      ['plain', 'plain'],
    ] as const) {
      assert.equal(shownUrl(text), shown);
    }
  });

  it('is shown without it in every setting, from every source, also in a list', () => {
    const home = temporaryFolder('l10');
    const url = `https://h.example/v1?key=${KEY}`;
    const toml = `[llm]\nbase_url = "${url}"\n[llm.auto_tag]\nbase_url = "${url}"\n`;
    writeFileSync(join(home, 'config.toml'), `schema_version = 2\n${toml}`, { mode: 0o600 });
    const env = { SVC_EMBED_BASE_URL: url };
    const configuration = inspectConfiguration({ home, quorumPeers: [url] }, { env });
    const shown = describeSettings(configuration);
    assert.equal(configuration.settings.llmBaseUrl, url);
    assert.ok(!JSON.stringify([shown, configuration.problems]).includes(KEY));
    const named = shown.filter(({ value }) => JSON.stringify(value).includes('h.example/v1?[redacted]'));
    assert.deepEqual(named.map(({ key }) => key).sort(), [
      ...['autoTagBaseUrl', 'embedBaseUrl', 'llmBaseUrl', 'quorumPeers'],
    ]);
  });

  it('is shown without it by `config show` and `doctor`, which ask the address as it is', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('{}');
    });
    await event('the model listens', server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const home = temporaryFolder('l10');
    const url = `http://127.0.0.1:${port}/v1/?k=${KEY}`;
    const env = {
      ...{ SVC_EMBED_BACKEND: 'compatible', SVC_EMBED_BASE_URL: url },
      ...{ SVC_LLM_BACKEND: 'compatible', SVC_LLM_BASE_URL: url, SVC_LLM_MODEL: 'm' },
    };
    try {
      for (const words of [
        ['config', 'show'],
        ['config', 'show', '--json'],
        ['doctor'],
        ['doctor', '--json'],
      ]) {
        const { out, err } = await run(home, words, { env });
        assert.match(out, /\/v1\/\?\[redacted\]/, `${words.join(' ')}\n${err}`);
        assert.ok(!`${out}${err}`.includes(KEY), words.join(' '));
      }
    } finally {
      server.close();
    }
    assert.deepEqual([...new Set(asked)], [`/v1/models?k=${KEY}`]);
  });

  it('is not in the capabilities, and not in the message that refuses it', async () => {
    const node = await openHttpNode({
      embedBaseUrl: `https://h/v1?k=${KEY}`,
      llmBaseUrl: `https://h/v1?k=${KEY}`,
    });
    try {
      const { text } = await node.send('GET', '/api/v1/capabilities');
      assert.ok(!text.includes(KEY));
    } finally {
      await node.close();
    }
    const home = temporaryFolder('l10');
    const env = { SVC_EMBED_BASE_URL: `https://user:pw@h/v1?k=${KEY}` };
    const refused = await run(home, ['list'], { env });
    assert.equal(refused.code, 78, refused.err);
    assert.ok(!`${refused.out}${refused.err}`.includes(KEY));
    const quorum = await run(home, ['serve', '--port', '0', '--quorum-peers', `https://h/?k=${KEY}`]);
    assert.equal(quorum.code, 78, quorum.err);
    assert.ok(!`${quorum.out}${quorum.err}`.includes(KEY));
  });
});
