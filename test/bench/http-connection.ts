import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/** Told of each answer; `body` is valid only during the call. */
export type OnAnswer = (status: number, body: Buffer) => void;

/**
 * One keep-alive HTTP connection with one request at a time, as little work as a client can do: the load generator
 * shares the cores with what it measures. Reads answers that state their length; others are an error.
 */
export class HttpConnection {
  private socket: Socket | null = null;
  private gathered: Buffer | null = null;
  private open = false;

  constructor(
    private readonly host: string,
    private readonly port: number,
    private readonly onAnswer: OnAnswer,
    /** The connection broke while a request was under way. */
    private readonly onBroken: (reason: string) => void,
  ) {}

  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: this.host, port: this.port, noDelay: true }, resolve);
      socket.on('data', (chunk) => this.receive(chunk));
      socket.on('error', (error) => {
        reject(error);
        this.broken(error.message);
      });
      socket.on('close', () => {
        if (this.socket === socket) this.socket = null;
        this.broken('the connection was closed');
      });
      this.socket = socket;
    });
  }

  get connected(): boolean {
    return this.socket !== null;
  }

  send(request: string): void {
    this.open = true;
    this.socket!.write(request, 'latin1');
  }

  close(): void {
    this.open = false;
    this.socket?.destroy();
    this.socket = null;
  }

  private broken(reason: string): void {
    if (!this.open) return;
    this.open = false;
    this.gathered = null;
    this.onBroken(reason);
  }

  private receive(chunk: Buffer): void {
    const buffer = this.gathered === null ? chunk : Buffer.concat([this.gathered, chunk]);
    const headEnd = buffer.indexOf(HEAD_END);
    if (headEnd < 0) {
      this.gathered = buffer;
      return;
    }
    const head = buffer.toString('latin1', 0, headEnd);
    const length = LENGTH.exec(head);
    if (length === null) throw new Error(`an answer without a length: ${head.slice(0, 200)}`);
    const bodyAt = headEnd + HEAD_END.length;
    const end = bodyAt + Number(length[1]);
    if (buffer.length < end) {
      this.gathered = buffer;
      return;
    }
    this.gathered = null;
    this.open = false;
    this.onAnswer(Number(head.slice(9, 12)), buffer.subarray(bodyAt, end));
  }
}
