import { join } from 'node:path';
import * as limits from '../../protocol/base/limits.js';
import { fail, failed, type Result } from '../../protocol/base/result.js';
import type { Clock, Crypto, Random, Scheduler } from '../../protocol/base/seams.js';
import type { Settings } from '../config/settings.js';
import { isAbsent } from '../config/store-url.js';
import { traceParentOf } from '../observability/tracing.js';
import type { Answer } from '../pipeline/answer.js';
import type { Services } from '../pipeline/call.js';
import type { Operation } from '../pipeline/operation.js';
import { parseInput } from '../pipeline/parse.js';
import { type Request, runOperation } from '../pipeline/pipeline.js';
import { isRepeatable } from '../pipeline/repeatable.js';
import { OUTCOME_UNKNOWN } from '../pipeline/repeated-call.js';
import { signAsAgent } from '../pipeline/sign-as-agent.js';
import { type DaemonConnection, findDaemon } from './daemon-connection.js';
import type { LocalCall } from './messages.js';

/** A node that this process opens when no other one serves it. */
export interface OwnNode {
  readonly services: Services;
  /** True while it owns the database, so that other processes may pass their calls on to it. */
  owns?(): boolean;
  /** Reads the file of hooks again. */
  reloadHooks?(): void;
  close(): Promise<void>;
}

export interface LocalRunnerParts {
  readonly settings: Settings;
  readonly openNode: () => Promise<OwnNode>;
  /** Loads the modules of the node. A process with it takes the place of an MCP server that served it and ended. */
  readonly prepareNode?: () => Promise<unknown>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  readonly scheduler: Scheduler;
  readonly random: Pick<Random, 'uuid'>;
  readonly crypto: Crypto;
}

/** A call of this machine; its surface is never HTTP. It gets a key of its own unless it has one, which is a UUID. */
export type LocalRequest = Request & { readonly surface: 'mcp' | 'cli' };

/** What a node of this process would find wrong with the input comes first. */
function tooLong(operation: Operation, { input, unknownFields }: LocalRequest): Answer {
  const parsed = parseInput(operation, input, unknownFields);
  if (!parsed.ok) return failed(parsed.error);
  return fail(
    'PAYLOAD_TOO_LARGE',
    `a call takes at most ${limits.LOCAL_LINE_BYTES_MAX} bytes: send less at once`,
  );
}

/**
 * Runs the operations of an MCP server or a command: through the daemon while one serves the database, else through the
 * MCP server that owns it, else in this process. A store that the daemon did not answer is run again under the same key, which finds what it has stored.
 */
export class LocalRunner {
  private daemon: DaemonConnection | null = null;
  private node: Promise<OwnNode> | null = null;
  /** Calls under way in the own node. */
  private readonly inNode = new Set<Promise<Answer>>();
  /** The search for a daemon that is under way. */
  private probe: Promise<DaemonConnection | null> | null = null;
  /** When to look for a daemon again, monotonic. */
  private probeMs = Number.NEGATIVE_INFINITY;
  private closed = false;

  constructor(private readonly parts: LocalRunnerParts) {}

  /** Connects to the daemon, or opens the node in this process. Rejects when the node cannot be opened. */
  async open(): Promise<void> {
    if ((await this.connected()) === null) await this.ownNode();
  }

  /** Rejects only when the node cannot be opened in this process. */
  async run(operation: Operation, request: LocalRequest): Promise<Answer> {
    const key = request.key ?? this.parts.random.uuid();
    let again = request.again === true;
    for (let tries = 1; ; tries += 1) {
      const daemon = await this.connected();
      if (daemon === null) break;
      const call = this.callOf(operation, request, key, again);
      if (!call.ok) return failed(call.error);
      const answer = await daemon.call(call.value, request);
      if (answer === 'too-long') return tooLong(operation, request);
      if (answer === 'lost') {
        const repeatable = operation.effect === 'read' || isRepeatable(operation, request.input);
        if (!repeatable || tries === limits.LOCAL_TRIES_MAX) return fail('ACTOR_RESTARTED', OUTCOME_UNKNOWN);
        again = true;
      } else if (answer.ok || answer.error.code !== 'SHUTTING_DOWN') return answer;
      this.leave(daemon);
    }
    return this.runHere(operation, { ...request, key, again });
  }

  /** True while a daemon, or the MCP server that owns the database, runs the operations. */
  get runsElsewhere(): boolean {
    return this.daemon?.isOpen === true;
  }

  /** Where this process runs the operations, it reads the file of hooks again; a daemon is told by itself. */
  async reloadHooks(): Promise<void> {
    (await this.node?.catch(() => null))?.reloadHooks?.();
  }

  /** Closes what is open; calls under way must have ended. */
  async close(): Promise<void> {
    this.closed = true;
    this.daemon?.close();
    await this.closeNode();
  }

  /** The connection to the daemon; null when none serves this database. */
  private async connected(): Promise<DaemonConnection | null> {
    if (this.daemon?.isOpen === true) return this.daemon;
    if (this.probe === null) {
      const { clock } = this.parts;
      if (clock.monotonicMs() < this.probeMs) return null;
      this.probeMs = clock.monotonicMs() + limits.LOCAL_PROBE_MS;
      this.probe = this.find().finally(() => {
        this.probe = null;
      });
    }
    return this.probe;
  }

  private async find(): Promise<DaemonConnection | null> {
    const { settings, clock, crypto, scheduler } = this.parts;
    const beganMs = clock.monotonicMs();
    this.daemon = (await findDaemon(settings, crypto, scheduler)) ?? (await this.findOwner());
    const tookMs = clock.monotonicMs() - beganMs;
    // A daemon that hangs must not delay every call.
    if (this.daemon === null && tookMs > limits.LOCAL_GREETING_TIMEOUT_MS / 2)
      this.probeMs = clock.monotonicMs() + limits.LOCAL_HUNG_REST_MS;
    // The other process maintains the database from now on.
    if (this.daemon !== null) await this.closeNode();
    return this.daemon;
  }

  /** The connection to the MCP server that owns the database, if that is another process. */
  private async findOwner(): Promise<DaemonConnection | null> {
    const node = await this.node?.catch(() => null);
    if (node?.owns?.() === true) return null;
    const { settings, crypto, scheduler, prepareNode } = this.parts;
    const found = await findDaemon(settings, crypto, scheduler, 'mcp', () => {
      if (prepareNode !== undefined && !this.closed) void this.open().catch(() => undefined);
    });
    if (found !== null) void prepareNode?.();
    return found;
  }

  /** The daemon ends or has ended. Another call may have found the next one already. */
  private leave(daemon: DaemonConnection): void {
    daemon.close();
    if (this.daemon === daemon) this.daemon = null;
  }

  private async runHere(operation: Operation, request: LocalRequest): Promise<Answer> {
    const { dbPath, home } = this.parts.settings;
    // A database that was named is looked for, and not made, by a command that only reads.
    const isNamed = dbPath !== join(home, 'mnemesh.db') && isAbsent(this.parts.settings);
    if (isNamed && request.surface === 'cli' && operation.effect === 'read') {
      return fail(
        'NOT_FOUND',
        `there is no database ${dbPath}; check --db and SVC_DB, or store a memory there`,
      );
    }
    const { services } = await this.ownNode();
    const running = runOperation(operation, request, services);
    this.inNode.add(running);
    try {
      return await running;
    } finally {
      this.inNode.delete(running);
    }
  }

  /** The call as it travels. A signature with an agent's key is made here: the key need not be the daemon's. */
  private callOf(
    operation: Operation,
    { surface, caller, input, unknownFields, profile, traceparent }: LocalRequest,
    key: string,
    again: boolean,
  ): Result<Omit<LocalCall, 'id'>> {
    const signed = this.signed(operation, { surface, caller, input, unknownFields });
    if (!signed.ok) return signed;
    const call = { operation: operation.name, surface, input: signed.value, unknownFields, key, again };
    const { agentId, claimed, viewer, admin } = caller;
    const by = { agentId, claimed, viewer: { ...viewer }, admin, local: true } as const;
    const trace = traceParentOf(traceparent) === null ? {} : { traceparent };
    return {
      ok: true,
      value: { ...call, ...trace, caller: by, ...(profile === undefined ? {} : { profile }) },
    };
  }

  private signed(operation: Operation, request: LocalRequest): Result<Record<string, unknown>> {
    const { settings, crypto, clock } = this.parts;
    const { sign, ...input } = request.input;
    if (sign !== true) return { ok: true, value: request.input };
    const parsed = parseInput(operation, request.input, request.unknownFields);
    if (!parsed.ok) return failed(parsed.error);
    const signed = signAsAgent(parsed.value, request.caller, clock.nowMs(), { settings, crypto });
    if (!signed.ok) return failed(signed.error);
    const { signature, created_at } = signed.value;
    return { ok: true, value: { ...input, signature, created_at } };
  }

  private ownNode(): Promise<OwnNode> {
    if (this.node === null) {
      const opening = this.parts.openNode();
      this.node = opening;
      // The next call tries again.
      opening.catch(() => {
        if (this.node === opening) this.node = null;
      });
    }
    return this.node;
  }

  private async closeNode(): Promise<void> {
    const opened = this.node;
    this.node = null;
    const node = await opened?.catch(() => null);
    await Promise.allSettled(this.inNode);
    await node?.close();
  }
}
