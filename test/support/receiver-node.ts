import type { SettingFlags } from '../../node/config/load-settings.js';
import { openReceiver, openVerifier } from '../../node/mesh/open-receiver.js';
import type { PeerReply } from '../../node/mesh/receive/reply.js';
import type { Services } from '../../node/pipeline/call.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import type { Have } from '../../protocol/log/wire-operation.js';
import type { Memory } from '../../protocol/memory/memory.js';
import type { Peer, Roster } from '../../protocol/peers/peer.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import type { Store } from '../../storage/port.js';
import { OPERATOR } from './memories.js';
import { openTestNode } from './test-node.js';

/** A roster that a test changes. */
export class TestRoster implements Roster {
  #list: readonly Peer[];
  readonly #listeners = new Set<() => void>();
  constructor(...peers: readonly Peer[]) {
    this.#list = peers;
  }
  /** Who belongs to the mesh; another list is told to those who listen. */
  get list(): readonly Peer[] {
    return this.#list;
  }
  set list(peers: readonly Peer[]) {
    this.#list = peers;
    for (const listener of [...this.#listeners]) listener();
  }
  peers(): readonly Peer[] {
    return this.#list;
  }
  find(peerId: string): Peer | null {
    return this.#list.find((peer) => peer.peerId === peerId) ?? null;
  }
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** What a peer was answered. */
export interface PeerAnswer {
  readonly status: number;
  readonly json: Record<string, unknown>;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ReceiverNode {
  readonly services: Services;
  readonly roster: TestRoster;
  /** Refusals by code, and items by outcome. */
  readonly counted: Map<string, number>;
  /** What authenticated messages said that their senders have, and where they read. */
  readonly contacts: { readonly have: Have | null; readonly reads: Have | null }[];
  send(message: ReceivedMessage): Promise<PeerAnswer>;
  /** The same database behind another receiver, as after a restart. */
  restart(): void;
  memory(id: string): Promise<Memory | null>;
  counts(): Promise<{ rows: number; operations: number }>;
  close(): Promise<void>;
}

export interface ReceiverNodeOptions {
  readonly settings?: SettingFlags;
  readonly peers: readonly Peer[];
  readonly wrap?: (store: Store) => Store;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly noncesMax?: number;
}

/** A receiver over a real store in memory. */
export async function openReceiverNode(options: ReceiverNodeOptions): Promise<ReceiverNode> {
  const node = await openTestNode(options.settings);
  const store = options.wrap?.(node.services.store) ?? node.services.store;
  const clock = options.clock ?? node.services.clock;
  const log = options.log ?? node.services.log;
  const services: Services = { ...node.services, store, clock, log };
  const roster = new TestRoster(...options.peers);
  const counted = new Map<string, number>();
  const contacts: ReceiverNode['contacts'] = [];
  const count = (name: string, by: number) => counted.set(name, (counted.get(name) ?? 0) + by);
  const open = () =>
    openReceiver(
      services,
      roster,
      openVerifier(services, roster),
      { messageRefused: (code) => count(code, 1), operationsReceived: count },
      {
        onContact: (_peerId, have, reads) => contacts.push({ have, reads }),
        ...(options.noncesMax === undefined ? {} : { noncesMax: options.noncesMax }),
      },
    );
  let receiver = open();
  return {
    services,
    roster,
    counted,
    contacts,
    async send(message) {
      const reply: PeerReply = await receiver.handle(message);
      return {
        status: reply.status,
        json: JSON.parse(reply.body) as Record<string, unknown>,
        headers: reply.headers ?? {},
      };
    },
    restart() {
      receiver = open();
    },
    async memory(id) {
      const now = new Date(clock.nowMs()).toISOString();
      const found = await services.store.query({ kind: 'get-memory', id, viewer: OPERATOR, now });
      return found.ok ? found.value.memory : null;
    },
    async counts() {
      const now = new Date(clock.nowMs()).toISOString();
      const stats = await services.store.query({ kind: 'store-stats', viewer: OPERATOR, now });
      const position = await services.store.query({ kind: 'log-position' });
      if (!stats.ok || !position.ok) throw new Error('the store does not answer');
      return { rows: stats.value.total, operations: position.value.commitSequence };
    },
    close: () => node.close(),
  };
}
