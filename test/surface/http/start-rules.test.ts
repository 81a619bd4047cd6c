import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it } from 'node:test';
import {
  cleanEnvironment,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { event } from '../../support/wait.js';

/** Runs `serve` until it ends by itself. */
async function refused(env: Record<string, string>, ...flags: string[]) {
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', ...flags], {
    env: cleanEnvironment(temporaryFolder('start-rules'), env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const [code] = await event('serve ends', child, 'close');
  return { code, text };
}

describe('a start without an API key', () => {
  for (const host of ['127.0.0.1', '::1', 'localhost', '0.0.0.0']) {
    it(`is refused on ${host} with exit code 78 when a key is required`, async () => {
      const { code, text } = await refused({ SVC_REQUIRE_API_KEY: '1' }, '--host', host);
      assert.equal(code, 78, text);
      assert.match(text, /SVC_REQUIRE_API_KEY/);
      assert.doesNotMatch(text, /listens on/);
    });
  }

  for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
    it(`is refused on ${host}, which is no loopback address`, async () => {
      const { code, text } = await refused({}, '--host', host);
      assert.equal(code, 78, text);
      assert.match(text, /without an API key/);
    });
  }

  it('is refused with half of the TLS flags, an allowlist without TLS, or files that cannot be used', async () => {
    for (const [flags, message] of [
      [['--tls-cert', 'x'], /--tls-key/],
      [['--tls-key', 'x'], /--tls-cert/],
      [['--mtls-allowlist', 'x'], /--tls-cert and --tls-key/],
      [['--quorum-client-key', 'x'], /--quorum-client-cert/],
      [['--tls-cert', '/missing.crt', '--tls-key', '/missing.key'], /\/missing\.crt: ENOENT/],
      [['--quorum-peers', 'https://a:1,HTTPS://A:1/'], /twice/],
      [['--quorum-peers', 'node2'], /is not a base address/],
    ] as const) {
      const { code, text } = await refused({}, ...flags);
      assert.equal(code, 78, text);
      assert.match(text, message);
    }
  });

  it('is refused with an empty key, which is none', async () => {
    const { code } = await refused({ SVC_REQUIRE_API_KEY: '1', SVC_API_KEY: '' });
    assert.equal(code, 78);
  });
});

describe('a start with an API key', () => {
  it('serves where a key is required, health openly and the rest with the key, which no log shows', async () => {
    const daemon = await startDaemonProcess(temporaryFolder('start-rules'), await freePort(), {
      SVC_REQUIRE_API_KEY: '1',
      SVC_API_KEY: 'sesame-4711',
      SVC_LOG_LEVEL: 'debug',
      SVC_ADMIN_AGENT_IDS: 'ai:root',
    });
    try {
      const origin = new URL(daemon.base).origin;
      const status = async (path: string, headers: Record<string, string> = {}) =>
        (await fetch(`${origin}${path}`, { headers })).status;
      for (const path of ['/health', '/api/v1/health']) assert.equal(await status(path), 200);
      const key = { 'x-api-key': 'sesame-4711' };
      for (const path of ['/metrics', '/api/v1/metrics', '/api/v1/capabilities', '/api/v1/tools/list']) {
        assert.equal(await status(path), 401, path);
        assert.equal(await status(path, key), 200, path);
        assert.equal(await status(`${path}?api_key=sesame-4711`), 200, path);
      }
      assert.equal(await status('/api/v1/stats', key), 403);
      assert.equal(await status('/api/v1/stats', { ...key, 'x-agent-id': 'ai:root' }), 200);
      const warnings = daemon
        .errors()
        .split('\n')
        .filter((line) => line.includes('query string'));
      assert.equal(warnings.length, 1, 'the deprecated place is warned of once for a process');
      assert.doesNotMatch(daemon.errors(), /sesame/);
    } finally {
      assert.equal(await daemon.end('SIGTERM'), 0);
    }
  });
});

describe('the admin set at the start', () => {
  it('warns of wildcards, reserved ids and a set that nobody can use', async () => {
    const daemon = await startDaemonProcess(temporaryFolder('start-rules'), await freePort(), {
      SVC_ADMIN_AGENT_IDS: 'ai:root,*,ai:*,daemon',
    });
    try {
      for (const code of ['CONFIG_ADMIN_WILDCARD', 'CONFIG_ADMIN_INVALID', 'ADMIN_WITHOUT_API_KEY']) {
        assert.ok(daemon.errors().includes(code), `${code} in ${daemon.errors()}`);
      }
      for (const id of ['ai:root', 'ai:other', '*']) {
        const answer = await fetch(`${daemon.base}/stats`, { headers: { 'x-agent-id': id } });
        assert.equal(answer.status, id === '*' ? 400 : 403, id);
      }
    } finally {
      await daemon.end('SIGTERM');
    }
  });

  it('warns when the header is trusted without a key', async () => {
    const daemon = await startDaemonProcess(temporaryFolder('start-rules'), await freePort(), {
      SVC_ADMIN_AGENT_IDS: 'ai:root',
      SVC_ADMIN_HEADER_TRUST: '1',
    });
    try {
      assert.match(daemon.errors(), /ADMIN_HEADER_TRUST/);
      const answer = await fetch(`${daemon.base}/stats`, { headers: { 'x-agent-id': 'ai:root' } });
      assert.equal(answer.status, 200);
    } finally {
      await daemon.end('SIGTERM');
    }
  });
});
