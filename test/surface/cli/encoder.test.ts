import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

// biome-ignore lint/suspicious/noExplicitAny: answers are checked member by member.
type Json = Record<string, any>;
const WEIGHTS = Buffer.alloc(300_000, 'weights ');
const SHA256 = createHash('sha256').update(WEIGHTS).digest('hex');
const CONFIG = Buffer.from('{"hidden_size":384,"max_position_embeddings":512}');
const TOKENIZER = Buffer.from('{}');

/** Tests set another embedder; an empty value counts as none. */
const BUILTIN = { SVC_EMBED_BACKEND: '' };

/**
 * The files of a model behind HTTP; `cut` ends the answer for the weights early so many times, and below 0 the file after
 * them fails.
 */
class Hub {
  readonly ranges: string[] = [];
  /** Files beside those of every model, or other ones in their place. */
  more: Record<string, Buffer> = {};
  cut = 0;
  /** So much later than asked begins the part that is sent. */
  shift = 0;
  etag = `"${SHA256}"`;
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Hub> {
    const hub = new Hub(createServer());
    hub.server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      hub.answer(request, response),
    );
    await new Promise<void>((resolve) => hub.server.listen(0, '127.0.0.1', resolve));
    return hub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    const files: Record<string, Buffer> = {
      'config.json': CONFIG,
      'tokenizer.json': TOKENIZER,
      'onnx/model_quantized.onnx': WEIGHTS,
      ...this.more,
    };
    const name = url.replace(/^.*\/resolve\/main\//, '');
    const file = files[name];
    if (this.cut < 0 && name.endsWith('_data')) return void response.writeHead(503).end();
    if (file === undefined) return void response.writeHead(404).end();
    if (name.startsWith('onnx') && !url.startsWith('/stored/'))
      return void response.writeHead(302, { location: `/stored${url}`, 'x-linked-etag': this.etag }).end();
    const range = headers.range;
    if (range !== undefined) this.ranges.push(range);
    const from = range === undefined ? 0 : Number(/^bytes=(\d+)-$/.exec(range)![1]) + this.shift;
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': file.length - from,
      ...(range === undefined ? {} : { 'content-range': `bytes ${from}-${file.length - 1}/${file.length}` }),
      ...(name.startsWith('onnx') ? { etag: '"stored"' } : {}),
    });
    if (name.startsWith('onnx') && this.cut > 0) {
      this.cut -= 1;
      response.write(file.subarray(from, from + 100_000), () => setTimeout(() => response.destroy(), 50));
      return;
    }
    response.end(file.subarray(from));
  }
}

describe('encoder', () => {
  const home = temporaryFolder('encoder');
  let hub: Hub;
  const mnemesh = async (...words: string[]) => {
    const { code, out, err } = await run(home, [...words, '--json'], { env: BUILTIN });
    return { code, json: JSON.parse(code === 0 ? out : err) as Json, err };
  };
  before(async () => {
    hub = await Hub.start();
    // The packages that run a model; this test runs none.
    for (const name of ['onnxruntime-node', '@huggingface/tokenizers'])
      mkdirSync(join(home, 'onnx/node_modules', name), { recursive: true });
  });
  after(() => hub.close());

  const states = async () => {
    const { json } = await mnemesh('encoder', 'list');
    const encoders = json['encoders'] as { name: string; state: string }[];
    return new Map(encoders.map(({ name, state }) => [name, state]));
  };

  it('list names the built-in encoder, and models by name', async () => {
    const listed = await states();
    assert.equal(listed.get('builtin'), 'in use');
    assert.equal(listed.get('multilingual-e5-small'), 'can be installed');
    const { out } = await run(home, ['encoder', 'list'], { env: BUILTIN });
    assert.match(out, /^NAME .*\nbuiltin +in use +512/);
    assert.doesNotMatch(out, /runtime/, 'nothing is installed that needs it');
  });

  it('install continues a download that was interrupted, and compares the checksum', async () => {
    hub.cut = 1;
    const words = ['encoder', 'install', 'multilingual-e5-small', '--hub', hub.url];
    const interrupted = await mnemesh(...words);
    assert.deepEqual([interrupted.code, interrupted.json['code']], [75, 'UNAVAILABLE'], interrupted.err);
    assert.equal((await states()).get('multilingual-e5-small'), 'can be installed');
    const done = await mnemesh(...words);
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(hub.ranges, ['bytes=100000-']);
    const { name, dim, checksum_verified: verified, folder } = done.json;
    assert.deepEqual([name, dim, verified], ['multilingual-e5-small', 384, true]);
    assert.deepEqual(readFileSync(join(folder!, 'onnx/model_quantized.onnx')), WEIGHTS);
    const again = await mnemesh(...words);
    assert.deepEqual([again.code, again.json['code']], [1, 'CONFLICT']);
  });

  it('install joins no other part of a file to what it has', async () => {
    hub.cut = 1;
    const words = ['encoder', 'install', 'all-MiniLM-L6-v2', '--hub', hub.url];
    assert.equal((await mnemesh(...words)).json['code'], 'UNAVAILABLE');
    hub.shift = 7;
    const joined = await mnemesh(...words);
    assert.match(String(joined.json['error']), /another part than it was asked for/);
    hub.shift = 0;
    const done = await mnemesh(...words);
    assert.deepEqual([done.code, done.json['checksum_verified']], [0, true], done.err);
  });

  it('install keeps nothing that has another checksum', async () => {
    hub.etag = `"${'0'.repeat(64)}"`;
    const refused = await mnemesh('encoder', 'install', 'bge-m3', '--hub', hub.url);
    assert.deepEqual([refused.code, refused.json['code']], [1, 'CONFLICT'], refused.err);
    assert.equal((await states()).get('bge-m3'), 'can be installed');
    hub.etag = '"other"';
    const own = ['encoder', 'install', `${hub.url}/resolve/main/`, '--name', 'own'];
    const wrong = await mnemesh(...own, '--sha256', 'f'.repeat(64));
    assert.equal(wrong.json['code'], 'CONFLICT');
    const right = await mnemesh(...own, '--sha256', SHA256);
    assert.deepEqual([right.code, right.json['checksum_verified']], [0, true], right.err);
  });

  it('install takes over no file of another source, and none with another checksum', async () => {
    const [evil, good] = [await Hub.start(), await Hub.start()];
    for (const each of [evil, good]) each.etag = '"plain"';
    // The download ends after the weights, at a file that the server does not give.
    const forged = { 'onnx/model_quantized.onnx': Buffer.alloc(300_000, 'forged') };
    evil.more = { ...forged, '1_Pooling/config.json': Buffer.from('{"pooling_mode_cls_token":true}') };
    evil.cut = -1;
    const left = await mnemesh('encoder', 'install', `${evil.url}/resolve/main/`, '--name', 'taken');
    assert.equal(left.json['code'], 'UNAVAILABLE', left.err);
    const words = ['encoder', 'install', `${good.url}/resolve/main/`, '--name', 'taken'];
    const done = await mnemesh(...words);
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(readFileSync(join(done.json['folder']!, 'onnx/model_quantized.onnx')), WEIGHTS);
    assert.equal(existsSync(join(done.json['folder']!, '1_Pooling/config.json')), false);
    // The same source gave other weights before.
    good.more = forged;
    good.cut = -1;
    const own = ['encoder', 'install', `${good.url}/resolve/main/`, '--name', 'changed'];
    assert.equal((await mnemesh(...own)).json['code'], 'UNAVAILABLE');
    good.more = {};
    good.cut = 0;
    const right = await mnemesh(...own, '--sha256', SHA256);
    assert.deepEqual([right.code, right.json['checksum_verified']], [0, true], right.err);
    assert.deepEqual(readFileSync(join(right.json['folder']!, 'onnx/model_quantized.onnx')), WEIGHTS);
    for (const each of [evil, good]) each.close();
  });

  it('install takes the weights that lie beside the ONNX file, and none of another form of the model', async () => {
    hub.more = { 'onnx/model.onnx_data': Buffer.from('of model.onnx') };
    const whole = await mnemesh('encoder', 'install', 'bge-m3', '--hub', hub.url);
    assert.equal(whole.code, 0, whole.err);
    assert.equal(existsSync(join(whole.json['folder']!, 'onnx/model.onnx_data')), false);
    hub.more = { 'onnx/model_quantized.onnx_data': Buffer.from('its own') };
    const split = await mnemesh(
      'encoder',
      'install',
      `${hub.url}/resolve/main/`,
      '--name',
      'split',
      '--sha256',
      SHA256,
    );
    assert.equal(split.code, 0, split.err);
    assert.ok(existsSync(join(split.json['folder']!, 'onnx/model_quantized.onnx_data')));
    // Nobody said which bytes these must be.
    assert.equal(split.json['checksum_verified'], false);
    hub.more = {};
  });

  it('install copies what links of a folder lead to', async () => {
    const [blobs, folder] = [temporaryFolder('blobs'), temporaryFolder('snapshot')];
    for (const [name, bytes] of Object.entries({
      'config.json': CONFIG,
      'tokenizer.json': TOKENIZER,
      'model.onnx': WEIGHTS,
    })) {
      writeFileSync(join(blobs, name), bytes);
      symlinkSync(join(blobs, name), join(folder, name));
    }
    const { json, err } = await mnemesh('encoder', 'install', folder, '--name', 'linked');
    assert.equal(lstatSync(join(String(json['folder']), 'model.onnx')).isFile(), true, err);
  });

  it('install refuses a name that chooses another encoder, and a folder in the place of a file', async () => {
    const folder = temporaryFolder('odd');
    for (const name of ['config.json', 'tokenizer.json']) writeFileSync(join(folder, name), CONFIG);
    mkdirSync(join(folder, 'model.onnx'));
    for (const name of ['none', 'builtin', '..', 'a/b'])
      assert.equal(
        (await mnemesh('encoder', 'install', folder, '--name', name)).json['code'],
        'VALIDATION_FAILED',
      );
    const odd = await mnemesh('encoder', 'install', folder, '--name', 'odd');
    assert.equal(odd.json['code'], 'VALIDATION_FAILED');
  });

  it('install goes on where another process was killed as it began', async () => {
    const lock = join(home, 'encoders/.partial-once.lock');
    const words = ['encoder', 'install', `${hub.url}/resolve/main/`, '--name', 'once'];
    writeFileSync(lock, '');
    assert.equal((await mnemesh(...words)).json['code'], 'UNAVAILABLE');
    utimesSync(lock, new Date(0), new Date(0));
    const done = await mnemesh(...words);
    assert.equal(done.code, 0, done.err);
  });

  it('install takes a folder, and says what is none', async () => {
    const folder = join(temporaryFolder('model'), 'team-model');
    mkdirSync(folder);
    writeFileSync(join(folder, 'config.json'), CONFIG);
    writeFileSync(join(folder, 'tokenizer.json'), TOKENIZER);
    const partial = await mnemesh('encoder', 'install', folder);
    assert.deepEqual([partial.code, partial.json['code']], [2, 'VALIDATION_FAILED'], partial.err);
    writeFileSync(join(folder, 'model.onnx'), WEIGHTS);
    assert.equal((await mnemesh('encoder', 'install', folder)).json['name'], 'team-model');
    assert.equal((await mnemesh('encoder', 'install', 'no-such-model')).json['code'], 'NOT_FOUND');
    for (const source of ['http://models.example.com/x/', 'https://user:secret@models.example.com/x/']) {
      const refused = await mnemesh('encoder', 'install', source);
      assert.equal(refused.json['code'], 'VALIDATION_FAILED');
      assert.doesNotMatch(refused.err, /secret/);
    }
  });

  it('install goes through the proxy that the environment names', async () => {
    const tunnels: string[] = [];
    const proxy = createServer().on('connect', ({ url }: IncomingMessage, socket: Duplex) => {
      tunnels.push(url!);
      const [host, port] = url!.split(':');
      const other = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(other).pipe(socket);
      });
      for (const end of [socket, other]) end.on('error', () => other.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const env = { ...BUILTIN, HTTP_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: '' };
    const words = ['encoder', 'install', `${hub.url}/resolve/main/`, '--name', 'behind-proxy', '--json'];
    const { code, err } = await run(home, words, { env });
    assert.deepEqual([code, err], [0, '']);
    assert.ok(tunnels.includes(new URL(hub.url).host), tunnels.join());
    proxy.close();
  });

  it('install names what helps where no server answers', async () => {
    const { json } = await mnemesh('encoder', 'install', 'http://127.0.0.1:9/x/');
    assert.equal(json['code'], 'UNAVAILABLE');
    assert.match(String(json['error']), /127\.0\.0\.1:9 cannot be reached .*HTTPS_PROXY/);
  });

  it('use writes the choice into the configuration, and keeps the rest of it', async () => {
    const path = join(home, '.mnemesh', 'config.toml');
    const file = (await mnemesh('encoder', 'use', 'builtin')).json['file'] as string;
    assert.ok(file.endsWith('config.toml'), path);
    writeFileSync(
      file,
      '# mine\nschema_version = 2\n\n[embeddings]\n# why\ndim = 7\nbackend = "none"\n\n[logging]\nlevel = "info"\n',
    );
    const used = await mnemesh('encoder', 'use', 'multilingual-e5-small');
    assert.equal(used.code, 0, used.err);
    const text = readFileSync(file, 'utf8');
    assert.match(text, /^# mine\n[\s\S]*# why\nbackend = "onnx"\n[\s\S]*\[logging\]\nlevel = "info"\n$/);
    assert.doesNotMatch(text, /dim/);
    assert.ok(existsSync(used.json['backup']!));
    assert.equal((await states()).get('multilingual-e5-small'), 'in use');
    assert.equal((await mnemesh('encoder', 'use', 'multilingual-e5-small')).json['changed'], false);
    assert.equal((await mnemesh('encoder', 'use', 'builtin')).code, 0);
    assert.doesNotMatch(readFileSync(file, 'utf8'), /model_folder/);
    assert.equal((await mnemesh('encoder', 'use', 'unknown')).json['code'], 'NOT_FOUND');
    writeFileSync(file, 'embedding_model = "older"\n');
    await mnemesh('encoder', 'use', 'none');
    assert.equal(readFileSync(file, 'utf8'), 'embedding_model = "older"\n\n[embeddings]\nbackend = "none"\n');
  });
});
