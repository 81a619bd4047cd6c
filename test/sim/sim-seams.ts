import { createHash, hash } from 'node:crypto';
import { signerOf } from '../../node/identity/key-file.js';
import { systemCrypto } from '../../node/seams.js';
import type { Clock, Crypto, Log, Random, Scheduler, Signer, Timer } from '../../protocol/base/seams.js';
import type { Dice } from './dice.js';
import type { World } from './world.js';

/** The wall clock of one machine: off by something, drifting, and set anew now and then. */
export class WallClock {
  private jumpedMs = 0;

  constructor(
    private readonly world: World,
    /** Milliseconds since the epoch when the world began. */
    private readonly startMs: number,
    private offsetMs: number,
    /** Milliseconds gained in each second. */
    private driftPerSecond: number,
  ) {}

  nowMs(): number {
    const passedMs = this.world.nowMs;
    return Math.floor(
      this.startMs + passedMs + this.offsetMs + this.jumpedMs + (passedMs / 1000) * this.driftPerSecond,
    );
  }

  /** Somebody sets the clock so much off. */
  jump(toMs: number): void {
    this.jumpedMs = toMs;
  }

  /** The clock is right from now on. */
  correct(): void {
    this.offsetMs = 0;
    this.jumpedMs = 0;
    this.driftPerSecond = 0;
  }
}

/** Timers of one run of a node; after its end none of them fires. */
export class SimScheduler implements Scheduler {
  private readonly pending = new Set<{ cancelled: boolean }>();
  private ended = false;

  constructor(
    private readonly world: World,
    private readonly place: string,
  ) {}

  get pendingTimers(): number {
    return this.pending.size;
  }

  after(delayMs: number, run: () => void): Timer {
    return this.plan(delayMs, 'timer', run);
  }

  immediate(run: () => void): void {
    this.plan(0, 'immediate', run);
  }

  end(): void {
    this.ended = true;
    for (const event of this.pending) event.cancelled = true;
    this.pending.clear();
  }

  private plan(delayMs: number, kind: string, run: () => void): Timer {
    if (this.ended) return { cancel: () => undefined };
    const event = this.world.after(delayMs, this.place, kind, () => {
      this.pending.delete(event);
      if (!this.ended) run();
    });
    this.pending.add(event);
    return {
      cancel: () => {
        event.cancelled = true;
        this.pending.delete(event);
      },
    };
  }
}

export function clockOf(world: World, wall: WallClock): Clock {
  return { nowMs: () => wall.nowMs(), monotonicMs: () => world.nowMs };
}

export function randomOf(dice: Dice): Random {
  return { uuid: () => dice.uuid(), bytes: (count) => dice.bytes(count), unit: () => dice.unit() };
}

/**
 * Keys of a world. The public ones are real Ed25519 keys; a signature is a keyed hash that only this object can make
 * and judge, because real ones cost 0.2 ms each, more than everything else of a message together.
 */
export class SimKeys {
  private readonly secrets = new Map<string, Buffer>();
  /** SHA-256 is real. */
  readonly crypto: Crypto = {
    sha256Hex: (data) => systemCrypto.sha256Hex(data),
    sha256: (data) => createHash('sha256').update(data).digest(),
    verify: (publicKey, data, signature) => {
      const secret = this.secrets.get(Buffer.from(publicKey).toString('hex'));
      return secret !== undefined && signature.length === 64 && mac(secret, data).equals(signature);
    },
  };

  /** A new key pair; the same seed gives the same one. */
  signer(seed: Uint8Array): Signer {
    const { publicKey } = signerOf(seed);
    const secret = Buffer.from(seed);
    this.secrets.set(Buffer.from(publicKey).toString('hex'), secret);
    return { publicKey, sign: (data) => mac(secret, data) };
  }
}

const mac = (secret: Buffer, data: Uint8Array): Buffer => {
  const bytes = Buffer.concat([secret, data]);
  return Buffer.from(hash('sha512', bytes, 'hex'), 'hex');
};

/** A log whose warnings and errors become notes of the trace. */
export function logOf(world: World, place: string): Log {
  const write = (level: string) => (fields: Record<string, unknown>, message: string) => {
    const error = fields['err'];
    const text = error instanceof Error ? ` ${error.stack ?? error.message}` : '';
    world.note(place, `${level} ${message}${text} ${JSON.stringify({ ...fields, err: undefined })}`);
  };
  const silent = () => undefined;
  return { debug: silent, info: silent, warn: write('warn'), error: write('error') };
}
