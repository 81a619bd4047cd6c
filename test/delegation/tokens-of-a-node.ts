import { request as httpRequest } from 'node:http';
import type { Narrowing } from '../../node/identity/token-text.js';
import { narrowToken } from '../../node/identity/tokens.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';

export const KEY = 'the key of the node';
export const LEAD = 'ai:lead';
export const HELPER = 'ai:helper';

export type Json = Record<string, unknown>;

export interface Answered {
  readonly status: number;
  readonly json: Json;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Header names and values in turn, as they are sent: a name may come twice. */
export type RawHeaders = readonly string[];

/** A request with exactly these headers. */
export function send(url: string, method: string, raw: RawHeaders, body?: unknown): Promise<Answered> {
  const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body);
  const { host, hostname, port, pathname, search } = new URL(url);
  const framing =
    text === null
      ? []
      : ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(text))];
  // The path goes out as it was written: URL would mend it.
  const path = url.slice(url.indexOf(host) + host.length) || pathname + search;
  return new Promise((resolve, reject) => {
    const asked = httpRequest({
      hostname,
      port,
      path,
      method,
      headers: ['host', host, ...framing, ...raw] as never,
    });
    asked.on('response', (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        answer += piece;
      });
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response;
        let json: Json = {};
        try {
          json = JSON.parse(answer) as Json;
        } catch {}
        resolve({ status, json, text: answer, headers });
      });
      response.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(text ?? undefined);
  });
}

export const bearer = (token: string): RawHeaders => ['authorization', `Bearer ${token}`];
export const withKey = (agent = LEAD): RawHeaders => ['x-api-key', KEY, 'x-agent-id', agent];

/** A daemon with an API key and an admin. */
export class TokenNode {
  private constructor(readonly daemon: DaemonProcess) {}

  static async start(
    label: string,
    extra: Record<string, string> = {},
    home = temporaryFolder(label),
  ): Promise<TokenNode> {
    const settings = { SVC_API_KEY: KEY, SVC_ADMIN_AGENT_IDS: LEAD, ...extra };
    return new TokenNode(await startDaemonProcess(home, await freePort(), settings));
  }

  call(method: string, path: string, headers: RawHeaders, body?: unknown): Promise<Answered> {
    const { base } = this.daemon;
    return send(
      path.startsWith('//') ? base.replace('/api/v1', path.slice(1)) : base + path,
      method,
      headers,
      body,
    );
  }

  /** A token, minted over HTTP by an admin. */
  async mint(body: Json, headers: RawHeaders = withKey()): Promise<string> {
    const minted = await this.call('POST', '/tokens', headers, { for_agent: HELPER, ...body });
    if (minted.status !== 201) throw new Error(minted.text);
    return String(minted.json['token']);
  }

  async store(namespace: string, title: string, more: Json = {}, agent = LEAD): Promise<string> {
    const stored = await this.call('POST', '/memories', withKey(agent), {
      namespace,
      title,
      content: `about ${title}`,
      ...more,
    });
    if (stored.status !== 201) throw new Error(stored.text);
    return String(stored.json['id']);
  }
}

export async function narrowed(token: string, narrowing: Narrowing): Promise<string> {
  const made = await narrowToken(token, narrowing);
  if (!made.ok) throw new Error(made.error.message);
  return made.value;
}

export const nowS = (): number => Math.floor(Date.now() / 1000);

/** A field of a protocol buffer of wire type 0 or 2: its number, and its bytes with the tag. */
interface Field {
  readonly number: number;
  readonly bytes: Buffer;
}

function varint(bytes: Buffer, at: number): readonly [number, number] {
  let value = 0;
  for (let place = at, shift = 1; ; place += 1, shift *= 128) {
    value += (bytes[place]! & 127) * shift;
    if (bytes[place]! < 128) return [value, place + 1];
  }
}

function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [tag, after] = varint(bytes, at);
    const [length, start] = varint(bytes, after);
    const end = tag % 8 === 0 ? start : start + length;
    fields.push({ number: Math.floor(tag / 8), bytes: bytes.subarray(at, end) });
    at = end;
  }
  return fields;
}

/** A field without its tag and length. */
function valueIn(bytes: Buffer): Buffer {
  const [, after] = varint(bytes, 0);
  const [, start] = varint(bytes, after);
  return bytes.subarray(start);
}

/** The parts of a biscuit: its first block (2), the other blocks (3) and the proof (4). */
export class Pieces {
  private constructor(
    readonly root: string,
    readonly fields: readonly Field[],
  ) {}

  static of(token: string): Pieces {
    const [root, text] = token.slice('mnt_'.length).split('.') as [string, string];
    return new Pieces(root, fieldsOf(Buffer.from(text, 'base64url')));
  }

  /** The bytes of a field of a piece. */
  inside(number: number, within: number): Buffer {
    const [piece] = this.all(number);
    const [found] = fieldsOf(valueIn(piece!.bytes)).filter((field) => field.number === within);
    return Buffer.from(valueIn(found!.bytes));
  }

  all(number: number): readonly Field[] {
    return this.fields.filter((field) => field.number === number);
  }

  /** A token of other pieces under the same root, or another one. */
  with(fields: readonly Field[], root = this.root): string {
    return `mnt_${root}.${Buffer.concat(fields.map(({ bytes }) => bytes)).toString('base64url')}`;
  }

  /** The token with one bit of a piece changed. */
  flipped(number: number, fromEnd: number): string {
    const fields = this.fields.map((field) => {
      if (field.number !== number) return field;
      const bytes = Buffer.from(field.bytes);
      bytes[bytes.length - 1 - fromEnd]! ^= 1;
      return { ...field, bytes };
    });
    return this.with(fields);
  }
}
