import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort } from './daemon-process.js';
import { pageShell } from './page-shell.js';
import { event, until } from './wait.js';

/** Lines of a page that is about one task. */
const PAGE_LINES_MAX = 80;
const PORT = /\b9(?:077|10[1-9])\b/g;
/** What runs until somebody ends it. */
const STAYS = /\bmnemesh\b.*(?:\bserve\b|--serve\b)/;

const PATIENT = { withinMs: 60_000 } as const;

interface Block {
  readonly language: string;
  readonly text: string;
}

/** A page of docs/ whose commands a reader types from top to bottom. */
export class PageRun {
  readonly blocks: readonly Block[];
  private readonly text: string;
  private readonly ports = new Map<string, number>();
  private readonly staying: { readonly child: ChildProcess; said: string }[] = [];
  private readonly shell;

  /** `folder` is the reader's home folder, where the commands run. */
  constructor(
    name: string,
    private readonly folder: string,
    /** What stands on the page for something of the reader's own, and what it is here. */
    own: Readonly<Record<string, string>> = {},
  ) {
    const page = readFileSync(fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url)), 'utf8');
    this.text = Object.entries(own).reduce((text, [word, here]) => text.replaceAll(word, here), page);
    this.blocks = [...this.text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, text]) => ({
      language: language!,
      text: text!,
    }));
    this.shell = pageShell(folder, { SVC_HOME: undefined });
  }

  /** Fails for a page that nobody reads to its end. */
  assertShort(): void {
    const lines = this.text.split('\n').length;
    assert.ok(lines <= PAGE_LINES_MAX, `the page has ${lines} lines, and may have ${PAGE_LINES_MAX}`);
  }

  /** Runs every block of commands in its order, and hands over what it printed. What serves stays until the end. */
  async all(seen: (block: string, out: string) => Promise<void> | void = () => undefined): Promise<void> {
    for (const { language, text } of this.blocks) {
      if (language !== 'sh') continue;
      const script = await this.onFreePorts(text);
      if (STAYS.test(script)) await this.stay(script);
      else await seen(text, await this.shell.done(script));
    }
  }

  /** Runs what the reader has typed before. */
  type(script: string): Promise<string> {
    return this.shell.done(script);
  }

  /** The port that stands for one of the page. */
  async port(named: string): Promise<number> {
    const port = this.ports.get(named) ?? (await freePort());
    this.ports.set(named, port);
    return port;
  }

  /** Ends what the page started, in good order. */
  async end(): Promise<void> {
    for (const { child } of this.staying.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      process.kill(-child.pid!, 'SIGTERM');
      await event('what the page started ends', child, 'exit', PATIENT);
    }
  }

  private async onFreePorts(text: string): Promise<string> {
    for (const [named] of text.matchAll(PORT)) await this.port(named);
    return text.replaceAll(PORT, (named) => String(this.ports.get(named)));
  }

  /** Starts a command that serves, and waits until its node answers. */
  private async stay(script: string): Promise<void> {
    const port = /--port (\d+)/.exec(script)?.[1] ?? assert.fail(`a page names the port: ${script}`);
    const child = spawn('sh', ['-euc', script], { env: this.shell.env, cwd: this.folder, detached: true });
    const stays = { child, said: '' };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        stays.said += text;
      });
    this.staying.push(stays);
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    const seen = () => `${script}${stays.said}`;
    await until('the node of the page answers', async () => child.exitCode !== null || (await isUp()), {
      ...PATIENT,
      seen,
    });
    assert.equal(child.exitCode, null, seen());
  }
}
