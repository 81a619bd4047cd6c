import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { fingerprintOfCertificate } from '../../node/mesh/forming/certificate.js';
import { systemRandom } from '../../node/seams.js';
import { cleanEnvironment, freePort, MAIN, temporaryFolder } from '../support/daemon-process.js';
import { certificateIn, testAuthority } from '../support/mesh.js';
import { event, untilAnswer } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

/** Two real daemons that are wired by files alone over mutual TLS, with pinned certificates (interface §4.13, §5.2). */

interface Node {
  readonly home: string;
  readonly port: number;
  readonly peerId: string;
  readonly fingerprint: string;
  child: ChildProcess | null;
  errors: string;
}

async function node(): Promise<Node> {
  const home = temporaryFolder('wired-tls');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  const { cert } = await certificateIn(home, 'node', { peerId });
  writeFileSync(join(home, 'ca.crt'), (await testAuthority()).cert);
  const fingerprint = fingerprintOfCertificate(new X509Certificate(cert));
  return { home, port: await freePort(), peerId, fingerprint, child: null, errors: '' };
}

/** Everything stands in the configuration file, so that commands know it as well. */
function configure(at: Node, peer: Node, pins: string): void {
  const path = (name: string) => JSON.stringify(join(at.home, name));
  copyFileSync(join(peer.home, 'keys', 'daemon.pub'), join(at.home, 'keys', `${peer.peerId}.pub`));
  writeFileSync(join(at.home, 'keys', `${peer.peerId}.fingerprints`), `${peer.fingerprint}\n`);
  writeFileSync(
    join(at.home, 'allowlist'),
    `# both\n${at.fingerprint}\nsha256:${peer.fingerprint.toUpperCase()}\n`,
  );
  writeFileSync(join(at.home, 'pins'), pins);
  const lines = [
    '[tls]',
    `cert = ${path('node.crt')}`,
    `key = ${path('node.key')}`,
    `mtls_allowlist = ${path('allowlist')}`,
    '[quorum]',
    'writes = 2',
    `peers = ["https://127.0.0.1:${peer.port}/"]`,
    `client_cert = ${path('node.crt')}`,
    `client_key = ${path('node.key')}`,
    `ca_cert = ${path('ca.crt')}`,
    `peer_fingerprints = ${path('pins')}`,
  ];
  writeFileSync(join(at.home, 'config.toml'), `${lines.join('\n')}\n`, { mode: 0o600 });
}

function start(at: Node): void {
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', String(at.port)], {
    env: cleanEnvironment(at.home, { SVC_API_KEY: 'a-key-of-agents' }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    at.errors += text;
  });
  at.child = child;
}

async function command(at: Node, ...words: string[]) {
  const { out, err } = await run(at.home, words, { env: { SVC_API_KEY: 'a-key-of-agents' } });
  return out === '' ? err : out;
}

interface Status {
  readonly state: string;
  readonly peers: readonly { readonly peer_id: string; readonly equal: boolean | null }[];
  readonly wired: readonly { readonly state: string; readonly problem: string | null }[];
  readonly replication?: { readonly peers: readonly { readonly state: string }[] };
}

const status = (at: Node, what: string, fits: (status: Status) => boolean): Promise<Status> =>
  untilAnswer(
    what,
    async () =>
      JSON.parse(await command(at, 'mesh', 'status', '--json', '--port', String(at.port))) as Status,
    fits,
    { withinMs: 60_000, seen: () => at.errors },
  );

describe('two daemons that are wired by hand over mutual TLS', () => {
  let one: Node;
  let two: Node;
  const pinned = (peer: Node) => `# the other one\n127.0.0.1 ${peer.fingerprint}\n`;
  before(async () => {
    [one, two] = [await node(), await node()];
    configure(one, two, pinned(two));
    // The wrong certificate, at first.
    configure(two, one, `127.0.0.1 ${'0'.repeat(64)}\n`);
    start(one);
    start(two);
  });
  after(async () => {
    for (const { child } of [one, two]) {
      child?.kill('SIGTERM');
      if (child !== null && child.exitCode === null) await event('the daemon ends', child, 'exit');
    }
  });

  it('trust the pinned certificate alone, and take over another list while they run', async () => {
    await status(one, 'the first trusts the second', ({ wired }) => wired?.[0]?.state === 'attached');
    const refused = await status(
      two,
      'the second refuses the wrong certificate',
      ({ wired }) => wired?.[0]?.state === 'untrusted',
    );
    assert.match(refused.wired[0]!.problem!, /certificate/);
    writeFileSync(join(two.home, 'pins'), pinned(one));
    await status(two, 'the second takes over the list', ({ wired }) => wired[0]?.state === 'attached');
  });

  it('replicate, compare themselves and tell it to commands', async () => {
    await command(one, 'store', '--title', 'over TLS', '--content', 'c');
    const equal = await status(two, 'the two are equal', ({ peers }) => peers[0]?.equal === true);
    assert.deepEqual([equal.state, equal.peers[0]!.peer_id], ['wired by hand', one.peerId]);
    assert.match(await command(two, 'recall', 'over TLS'), /over TLS/);
  });

  it('refuse to start with a list that cannot be read', async () => {
    const broken = await node();
    configure(broken, one, '127.0.0.1 abc\n');
    assert.match(
      await command(broken, 'serve', '--port', String(broken.port)),
      /pins: line 1: .*64 hexadecimal digits/,
    );
  });
});
