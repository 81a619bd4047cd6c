import { writeFileSync } from 'node:fs';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import { join } from 'node:path';
import { issueCertificate, makeAuthority, newTlsKey } from '../../node/mesh/forming/x509.js';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import { agentKey, signedStoreBody } from '../support/signing.js';
import { perSecond } from './limits.js';
import { AGENT, figuresOf, type LoadGenerator, signedStores } from './load.js';
import type { LoadFigures } from './load-plan.js';
import { startBareServer, startDaemonProcess } from './servers.js';
import { percentiles } from './statistics.js';
import { enrol, SIGNED } from './store.js';
import type { Workspace } from './workspace.js';

/** What a mesh's figures are judged by, taken in the same run. */
export interface MeshLimits {
  /** The same load at a node that has no mesh. */
  readonly store: LoadFigures;
  readonly verificationsPerSecond: number;
  /** One request at a time over one connection with mutual TLS, with a body as large as an operation. */
  readonly roundTripsPerSecond: number;
  readonly roundTripMs: number;
}

/** Bytes of a push of one operation, about. */
const MESSAGE_BYTES = 2200;
const ANSWER_BYTES = 450;

export async function meshLimits(
  workspace: Workspace,
  load: LoadGenerator,
  clients: number,
  writes: { readonly warmup: number; readonly counted: number },
  limitMs: number,
): Promise<MeshLimits> {
  const store = await withoutMesh(workspace, load, clients, writes);
  const verificationsPerSecond = verifications(limitMs);
  const trips = await roundTrips(workspace, limitMs);
  const roundTripMs = percentiles(trips).p50;
  return { store, verificationsPerSecond, roundTripsPerSecond: (trips.length * 1000) / limitMs, roundTripMs };
}

async function withoutMesh(
  workspace: Workspace,
  load: LoadGenerator,
  clients: number,
  { warmup, counted }: { readonly warmup: number; readonly counted: number },
): Promise<LoadFigures> {
  const daemon = await startDaemonProcess(workspace, workspace.folder(), SIGNED);
  await enrol(daemon.port);
  await signedStores(load, daemon.port, clients, warmup);
  const figures = figuresOf(await signedStores(load, daemon.port, clients, counted), 'store');
  await daemon.stop();
  return figures;
}

/** Ed25519 verifications of a write's envelope per second, on one core. */
export function verifications(durationMs: number): number {
  const key = agentKey(AGENT);
  const body = signedStoreBody(key, { title: 'a', content: 'b' }, new Date().toISOString());
  const data = Buffer.from(JSON.stringify(body));
  const signature = key.signer.sign(data);
  return perSecond(durationMs, () => {
    if (!systemCrypto.verify(key.signer.publicKey, data, signature)) throw new Error('it does not verify');
    return 1;
  });
}

/** Latencies in milliseconds of bare messages between two processes, one at a time. */
async function roundTrips(workspace: Workspace, durationMs: number): Promise<number[]> {
  const folder = workspace.folder();
  const authority = await makeAuthority(Date.now(), systemRandom);
  const { key, publicKey } = await newTlsKey();
  const subject = { peerId: 'peer-00000000000000aa', publicKey, url: 'https://127.0.0.1:1' };
  const cert = issueCertificate(authority, subject, Date.now(), systemRandom);
  const files = Object.entries({ cert, key, ca: authority.cert }).map(([name, text]) => {
    const path = join(folder, `${name}.pem`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  });
  const server = await startBareServer(workspace, ANSWER_BYTES, 0, files);
  const agent = new TlsAgent({ keepAlive: true, maxSockets: 1, cert, key, ca: authority.cert });
  const body = JSON.stringify({ filler: 'x'.repeat(MESSAGE_BYTES) });
  const trip = () =>
    new Promise<void>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: server.port, method: 'POST', agent };
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      const request = httpsRequest({ ...options, headers }, (response) => {
        response.resume().once('end', resolve);
      });
      request.once('error', reject);
      request.end(body);
    });
  const latencies: number[] = [];
  try {
    for (let warm = 0; warm < 50; warm += 1) await trip();
    const end = performance.now() + durationMs;
    for (let from = performance.now(); from < end; ) {
      await trip();
      const now = performance.now();
      latencies.push(now - from);
      from = now;
    }
  } finally {
    agent.destroy();
    await server.stop();
  }
  return latencies;
}
