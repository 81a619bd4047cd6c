import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { MCP_LINE_BYTES_MAX } from '../../protocol/base/mcp-limits.js';
import { type Line, LineSplitter } from '../line-splitter.js';
import { parseMessage } from './parse-message.js';
import { PARSE_ERROR } from './rpc-error.js';

/** Unanswered requests at which reading pauses until some are answered. */
const OWED_MAX = 256;
/** Answers that the client has not read yet; beyond this, reading pauses until it reads them. */
const UNREAD_BYTES_MAX = 2 * MCP_LINE_BYTES_MAX;

/** Why the stream ended: the client closed it, or no longer reads answers. */
export type StreamEnd = 'end-of-input' | 'broken';

/**
 * Newline-delimited JSON-RPC over a pair of byte streams (interface §1, reference-mcp-cli §5.1). It tracks
 * unanswered requests, so that a shutdown can wait for them.
 */
export class LineTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Called once, when no further request can arrive or no answer can be sent. */
  onend?: (end: StreamEnd) => void;

  private readonly lines = new LineSplitter(MCP_LINE_BYTES_MAX);
  private readonly owed = new Map<RequestId, number>();
  private owedCount = 0;
  private writing = 0;
  private broken = false;
  private ended = false;
  private waiters: (() => void)[] = [];

  constructor(
    private readonly input: Readable,
    private readonly output: Writable,
  ) {}

  async start(): Promise<void> {
    this.input.on('data', this.take);
    this.input.on('end', this.finish);
    this.input.on('close', this.finish);
    this.input.on('error', this.finish);
    this.output.on('error', this.fail);
    this.output.on('close', this.fail);
  }

  send(message: JSONRPCMessage): Promise<void> {
    if ('id' in message && message.id !== undefined && !('method' in message)) this.settle(message.id);
    return this.write(message);
  }

  /** Takes no further requests; those already taken can still be answered. */
  stopReading(): void {
    this.input.off('data', this.take);
    this.input.pause();
  }

  /** Resolves when every request is answered and every answer is sent, or the client can no longer read. */
  async settled(): Promise<void> {
    while (!this.broken && (this.owedCount > 0 || this.writing > 0)) {
      await new Promise<void>((resolve) => this.waiters.push(resolve));
    }
  }

  async close(): Promise<void> {
    this.stopReading();
    this.input.off('end', this.finish);
    this.input.off('close', this.finish);
    this.onclose?.();
  }

  private readonly take = (chunk: Uint8Array): void => {
    for (const line of this.lines.push(chunk)) this.receive(line);
    this.regulate();
  };

  private readonly finish = (): void => {
    const last = this.lines.end();
    if (last !== null) this.receive(last);
    this.end('end-of-input');
  };

  private readonly fail = (): void => {
    this.broken = true;
    this.wake();
    this.end('broken');
  };

  private end(reason: StreamEnd): void {
    if (this.ended) return;
    this.ended = true;
    this.onend?.(reason);
  }

  private receive(line: Line): void {
    if (line === 'too-long') {
      this.refuse(null, PARSE_ERROR, `a line is longer than ${MCP_LINE_BYTES_MAX} bytes`);
      return;
    }
    const parsed = parseMessage(line.bytes);
    if (parsed.kind === 'nothing') return;
    if (parsed.kind === 'refusal') {
      this.refuse(parsed.id, parsed.code, parsed.message);
      return;
    }
    const { message } = parsed;
    if ('method' in message && 'id' in message) {
      this.owed.set(message.id, (this.owed.get(message.id) ?? 0) + 1);
      this.owedCount += 1;
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      // A cancelled request is not answered.
      const cancelled = message.params?.['requestId'];
      if (typeof cancelled === 'string' || typeof cancelled === 'number') this.settle(cancelled);
    }
    this.onmessage?.(message);
  }

  /** Refuses a line that is not a request; the id is null when it could not be read. */
  private refuse(id: RequestId | null, code: number, message: string): void {
    void this.write({ jsonrpc: '2.0', id, error: { code, message } });
  }

  private write(message: object): Promise<void> {
    if (this.broken) return Promise.resolve();
    this.writing += 1;
    return new Promise((resolve) => {
      this.output.write(`${JSON.stringify(message)}\n`, () => {
        this.writing -= 1;
        this.regulate();
        this.wake();
        resolve();
      });
    });
  }

  private settle(id: RequestId): void {
    const count = this.owed.get(id);
    if (count === undefined) return;
    if (count === 1) this.owed.delete(id);
    else this.owed.set(id, count - 1);
    this.owedCount -= 1;
    this.regulate();
    this.wake();
  }

  private regulate(): void {
    const full = this.owedCount >= OWED_MAX || this.output.writableLength > UNREAD_BYTES_MAX;
    if (full) this.input.pause();
    else if (this.input.listenerCount('data') > 0 && this.input.isPaused()) this.input.resume();
  }

  private wake(): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const wake of waiters) wake();
  }
}
