import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'undici';
import { signatureOf } from '../../node/webhooks/sender.js';
import type { Bench, BenchContext } from './bench.js';
import { AGENT, failures, figuresOf, LoadGenerator, storing } from './load.js';
import type { LoadFigures } from './load-plan.js';
import { clientOf } from './node-client.js';
import type { BenchResult } from './report.js';
import { startDaemonProcess } from './servers.js';
import { rounded } from './statistics.js';

const NAMESPACE = 'bench/events';
const ENV = { SVC_ALLOW_LOOPBACK_WEBHOOKS: '1' };
const DELIVERED_WITHIN_MS = 120_000;

/** Stores with and without a subscription or a hook, and what is delivered meanwhile. */
export const eventsBench: Bench = {
  name: 'events',
  summary: 'Stores with webhooks and hooks beside stores without, deliveries, and their limits.',
  usage: '[--seconds 4]',
  run: runEvents,
};

interface Row {
  readonly label: string;
  readonly figures: LoadFigures;
  /** Events that were acknowledged each second, from the first to the last. */
  readonly delivered: number | null;
  /** Of the same without the service: what can be had each second. */
  readonly limit: number | null;
}

async function runEvents({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const durationMs = (options.seconds ?? (options.quick ? 0.6 : 4)) * 1000;
  const times = { warmupMs: options.quick ? 200 : 1000, durationMs };
  const limitMs = options.quick ? 200 : 1000;
  const load = LoadGenerator.start(workspace);
  const rows: Row[] = [];
  const measure = async (
    label: string,
    limit: number | null,
    set: (home: string) => void = () => undefined,
    receiver: Receiver | null = null,
  ) => {
    progress.step(`events: ${label}`);
    const home = workspace.folder();
    set(home);
    const daemon = await startDaemonProcess(workspace, home, ENV, options.cpuProf);
    receiver?.reset();
    if (receiver !== null) await subscribe(daemon.port, receiver.url);
    const figures = figuresOf(await load.run(daemon.port, times, [storing(1, NAMESPACE)]), 'store');
    const delivered = receiver?.answers === true ? await receiver.rate(figures.ok) : null;
    await daemon.stop();
    rows.push({ label, figures, delivered, limit });
  };
  const prompt = await Receiver.open(true);
  const silent = await Receiver.open(false);
  try {
    await measure('nothing', null);
    await measure('a webhook', await postsPerSecond(prompt.url, limitMs), undefined, prompt);
    await measure('a webhook whose receiver is silent', null, undefined, silent);
    const exec = (home: string) => hook(home, 'exec', SHELL);
    await measure('a pre_store hook, exec', await spawnsPerSecond(workspace.folder(), limitMs), exec);
    const lasting = (home: string) => hook(home, 'daemon', LASTING);
    await measure('a pre_store hook, daemon', await linesPerSecond(workspace.folder(), limitMs), lasting);
    await measure('nothing, again', null);
  } finally {
    prompt.close();
    silent.close();
    await load.stop();
  }
  return report(rows);
}

/** A receiver of webhooks in this process; a silent one answers nothing. */
class Receiver {
  readonly #server: Server;
  #count = 0;
  #firstMs = 0;
  #lastMs = 0;

  static async open(answers: boolean): Promise<Receiver> {
    const receiver = new Receiver(answers);
    await new Promise<void>((resolve) => {
      receiver.#server.listen(0, '127.0.0.1', resolve);
    });
    return receiver;
  }

  private constructor(readonly answers: boolean) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.#lastMs = performance.now();
        if (this.#count === 0) this.#firstMs = this.#lastMs;
        this.#count += 1;
        if (!answers) return;
        const { correlation_id } = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
        response.end(JSON.stringify({ status: 'ack', correlation_id }));
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Events each second, once as many have come. */
  async rate(atLeast: number): Promise<number> {
    const untilMs = performance.now() + DELIVERED_WITHIN_MS;
    while (this.#count < atLeast) {
      if (performance.now() > untilMs) throw new Error(`only ${this.#count} of ${atLeast} events came`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return (1000 * this.#count) / Math.max(1, this.#lastMs - this.#firstMs);
  }

  /** Forgets what came before. */
  reset(): void {
    this.#count = 0;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function subscribe(port: number, url: string): Promise<void> {
  const events = 'memory_store';
  await clientOf(port, AGENT).call('memory_subscribe', { url, secret: 'bench', events });
}

const SHELL = '#!/bin/sh\ncat > /dev/null\n';
const LASTING = `#!${process.execPath}
require('node:readline').createInterface({ input: process.stdin }).on('line', () => process.stdout.write('{}\\n'));
`;

function program(folder: string, text: string): string {
  const path = join(folder, 'hook.cjs');
  writeFileSync(path, text);
  chmodSync(path, 0o700);
  return path;
}

function hook(home: string, mode: 'exec' | 'daemon', text: string): void {
  const entry = { event: 'pre_store', command: program(home, text), priority: 0, timeout_ms: 5000, mode };
  const fields = Object.entries({ ...entry, enabled: true, namespace: '*', fail_mode: 'closed' });
  const lines = fields.map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  writeFileSync(join(home, 'hooks.toml'), `[[hook]]\n${lines.join('\n')}\n`, { mode: 0o600 });
}

/** How often an act ends each second, one after the other. */
async function perSecond(limitMs: number, act: () => Promise<unknown>): Promise<number> {
  await act();
  const beganMs = performance.now();
  let count = 0;
  while (performance.now() - beganMs < limitMs) {
    await act();
    count += 1;
  }
  return (1000 * count) / (performance.now() - beganMs);
}

/** Signed posts on a connection of their own each, as deliveries are sent. */
async function postsPerSecond(url: string, limitMs: number): Promise<number> {
  const { origin } = new URL(url);
  const body = JSON.stringify({ event: 'memory_store', correlation_id: 'x', memory_id: 'y'.repeat(200) });
  const rate = await perSecond(limitMs, async () => {
    const client = new Client(origin, { pipelining: 0 });
    const headers = { 'x-svc-signature': signatureOf('00'.repeat(32), '0', body) };
    const answer = await client.request({ method: 'POST', path: '/', headers, body });
    await answer.body.text();
    await client.destroy();
  });
  return rate;
}

/** Starts of the same program with a line on its standard input. */
function spawnsPerSecond(folder: string, limitMs: number): Promise<number> {
  const path = program(folder, SHELL);
  return perSecond(
    limitMs,
    () =>
      new Promise((resolve, reject) => {
        const child = spawn(path, { stdio: ['pipe', 'pipe', 'ignore'] });
        child.on('error', reject);
        child.stdout.resume();
        child.stdin.end('{}\n');
        child.on('close', resolve);
      }),
  );
}

/** Questions to a program that stays, a line each way. */
async function linesPerSecond(folder: string, limitMs: number): Promise<number> {
  const child = spawn(program(folder, LASTING), { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout });
  const rate = await perSecond(
    limitMs,
    () =>
      new Promise((resolve) => {
        lines.once('line', resolve);
        child.stdin.write('{}\n');
      }),
  );
  child.kill();
  return rate;
}

function report(rows: readonly Row[]): BenchResult {
  const base = rows[0]!.figures.p50;
  return {
    tables: [
      {
        title: 'events: POST /memories of one client, synchronous=FULL, keyword mode',
        columns: [
          ...['with', 'stores/s', 'p50 ms', 'more than nothing ms', 'p95 ms', 'p99 ms'],
          ...['failed', 'delivered/s', 'limit/s'],
        ],
        rows: rows.map(({ label, figures, delivered, limit }) => [
          ...[label, Math.round(figures.perSecond), figures.p50, rounded(figures.p50 - base, 3)],
          ...[figures.p95, figures.p99, failures(figures)],
          ...[delivered === null ? null : Math.round(delivered), limit === null ? null : Math.round(limit)],
        ]),
        notes: [
          'limit of a webhook: signed posts on a connection of their own each; of an exec hook: starts of the same program;',
          'of a daemon hook: lines to the same program and back; all one after the other, without the service',
        ],
      },
    ],
    json: {
      rows: rows.map(({ label, figures, delivered, limit }) => ({
        label,
        per_second: rounded(figures.perSecond, 1),
        p50_ms: rounded(figures.p50, 3),
        p95_ms: rounded(figures.p95, 3),
        p99_ms: rounded(figures.p99, 3),
        delivered_per_second: delivered === null ? null : rounded(delivered, 1),
        limit_per_second: limit === null ? null : rounded(limit, 1),
      })),
    },
  };
}
