import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LISTS } from '../../cli/imports/export-totals.js';
import { JsonItems } from '../../cli/json-items.js';
import { parseToml } from '../../node/config/config-file.js';
import { ConfigError, inspectConfiguration, loadSettings } from '../../node/config/load-settings.js';
import { migrateText, NotMigratableError } from '../../node/config/migrate-text.js';
import { defaultOf } from '../../node/config/setting-row.js';
import { SETTINGS } from '../../node/config/settings.js';
import { IMPORT_ROW_BYTES_MAX } from '../../protocol/base/limits.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { run } from '../surface/cli/cli-process.js';
import { Dice } from './dice.js';
import { digestOf } from './digest.js';
import { type ExportDocument, mutatedExport } from './import-requests.js';
import { mutate } from './mutate.js';
import { fault, type Surface, type SurfaceOptions, Tally } from './surface.js';
import { Values } from './values.js';

/** One command line for so many files: each starts a process. */
const FILES_PER_PROCESS = 400;
const STACK = /\n\s+at .+:\d+:\d+\)?|node:internal|Unhandled|UnhandledPromise/;

/** Files that an operator gives the program: configurations and exports, nearly right. */
export class FileSurface implements Surface {
  readonly name = 'files';
  readonly #home = temporaryFolder('fuzz-files');
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #tally = new Tally();
  #sent = 0;

  constructor(
    private readonly document: ExportDocument,
    { seed }: SurfaceOptions,
  ) {
    this.#dice = new Dice(seed);
    this.#values = new Values(this.#dice);
  }

  async send(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 1) {
      this.#sent += 1;
      const commanded = this.#sent % FILES_PER_PROCESS === 1;
      if (this.#dice.chance(0.5)) {
        const text = this.#configuration();
        this.#loads(text);
        if (commanded) await this.#command(['config', 'show'], text, null);
      } else {
        const bytes = mutatedExport(this.document, this.#dice, this.#values);
        this.#splits(bytes.toString());
        if (commanded) await this.#command(['import'], '', bytes);
      }
    }
  }

  check(): Promise<void> {
    return Promise.resolve();
  }

  summary(): string {
    return String(this.#tally);
  }

  async end(): Promise<void> {
    if (this.#tally.of('loads') === 0)
      fault('no configuration was ever accepted: the files prove too little');
  }

  /** A file with some of the settings, and then with changes. */
  #configuration(): string {
    const dice = this.#dice;
    const lines: string[] = [];
    for (const row of SETTINGS) {
      if (!dice.chance(0.08)) continue;
      const key = dice.pick([row.config, row.configAlias, row.legacy, row.config]);
      if (key !== undefined) lines.push(`${key} = ${this.#setting(row)}`);
    }
    if (dice.chance(0.3)) lines.unshift(`schema_version = ${dice.pick([1, 2, 3, -1, '"2"', 2.5])}`);
    if (dice.chance(0.1))
      lines.push(dice.pick(['[embeddings]', '[a.b', 'x', '[[hooks]]', 'api_key = "sk-1"', 'a = { b = 1 }']));
    const text = `${lines.join('\n')}\n`;
    return dice.chance(0.4) ? mutate(Buffer.from(text), dice).toString('utf8') : text;
  }

  #setting(row: (typeof SETTINGS)[number]): string {
    const dice = this.#dice;
    if (dice.chance(0.3))
      return dice.pick(['""', '-1', '1e400', 'nan', '[]', '{}', '1979-05-27', 'true', '"x"', '[[1]]']);
    if (row.oneOf !== undefined && dice.chance(0.8)) return JSON.stringify(dice.pick(row.oneOf));
    switch (row.type) {
      case 'number':
      case 'integer': {
        const edges = [row.min, row.max, (row.max ?? 1) + 1, 1].filter((edge) => edge !== undefined);
        return String(dice.pick(edges));
      }
      case 'boolean':
        return String(dice.chance(0.5));
      case 'list':
        return JSON.stringify([this.#values.valid('agent_id', { type: 'string' })]);
      default:
        return JSON.stringify(String(defaultOf(row, this.#home) ?? 'text').replace(/[^ -~]/g, ''));
    }
  }

  /** It loads, or is refused with a code and a sentence; anything else that is thrown is a fault. */
  #loads(text: string): void {
    const path = join(this.#home, 'drawn.toml');
    writeFileSync(path, text);
    const sources = { env: {}, configPath: path, report: () => undefined };
    try {
      const { problems } = inspectConfiguration({ home: this.#home }, sources);
      for (const { code, message, fix } of problems) {
        if (!/^CONFIG_/.test(code) || message.trim() === '' || fix.trim() === '')
          throw new Error(`no sentence: ${code}`);
      }
      this.#tally.add(loaded(this.#home, sources) ? 'loads' : 'refused');
      const parsed = parseToml(text, path);
      if ('values' in parsed) this.#tally.add(migrated(text, parsed.values));
    } catch (error) {
      fault(`a configuration is neither loaded nor refused: ${(error as Error).stack}`, JSON.stringify(text));
    }
  }

  /** The splitter of documents and the parser agree, however the document arrives. */
  #splits(text: string): void {
    const items = new JsonItems(LISTS, IMPORT_ROW_BYTES_MAX);
    const found: string[] = [];
    let ok = true;
    for (let at = 0; at < text.length && ok; ) {
      const size = 1 + this.#dice.below(this.#dice.chance(0.5) ? 20 : text.length);
      const taken = items.take(text.slice(at, at + size));
      if (taken.ok) found.push(...taken.value.map((item) => item.text));
      ok = taken.ok;
      at += size;
    }
    const whole = documentOf(text);
    ok = ok && items.end().ok && found.every((each) => documentOf(each) !== undefined);
    this.#tally.add(ok ? 'documents' : 'no documents');
    if (whole === undefined && ok) fault('the splitter takes what is no JSON', JSON.stringify(text));
    if (!ok || whole === undefined) return;
    const lists = Array.isArray(whole)
      ? [whole]
      : LISTS.map((name) => (whole as Record<string, unknown>)[name]);
    const expected = lists.flatMap((list) => (Array.isArray(list) ? list : []));
    // A key that is given twice counts once for the parser.
    if (found.length < expected.length) {
      fault(`the splitter found ${found.length} of ${expected.length} items`, JSON.stringify(text));
    }
  }

  /** A command that writes makes the database; one that imports nothing does not. */
  async #create(): Promise<void> {
    const { code, err } = await run(this.#home, ['store', '--title', 'kept', '--content', 'kept']);
    if (code !== 0) fault('the first store failed', err);
  }

  /** The command line says what is wrong in a sentence, and a refused import changes nothing. */
  async #command(args: readonly string[], config: string, input: Buffer | null): Promise<void> {
    const configPath = join(this.#home, 'command.toml');
    writeFileSync(configPath, config);
    const file = join(this.#home, 'export.json');
    if (input !== null) writeFileSync(file, input);
    const database = join(this.#home, 'mnemesh.db');
    if (!existsSync(database)) await this.#create();
    const before = input === null ? '' : digestOf(database);
    const env: Record<string, string> = { SVC_CONFIG: configPath };
    const { code, out, err } = await run(this.#home, input === null ? args : [...args, file], { env });
    this.#tally.add('commands');
    if (typeof code !== 'number' || code > 78)
      fault(`${args.join(' ')} ended with ${code}`, err, String(input ?? config));
    if (STACK.test(err) || STACK.test(out))
      fault(`${args.join(' ')} shows its inside`, err, String(input ?? config));
    if (code !== 0 && err.trim() === '')
      fault(`${args.join(' ')} ended with ${code} and says nothing`, String(input ?? config));
    if (input === null || code === 0 || /^[1-9]\d* memor|imported [1-9]/m.test(out + err)) return;
    if (!/nothing was imported/.test(err)) return;
    if (digestOf(database) !== before) fault('a refused import changed the database', err, String(input));
  }
}

function loaded(home: string, sources: Parameters<typeof loadSettings>[1]): boolean {
  try {
    loadSettings({ home }, sources);
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

function migrated(text: string, values: Parameters<typeof migrateText>[1]): string {
  try {
    return migrateText(text, values) === null ? 'needs no migration' : 'migrated';
  } catch (error) {
    if (error instanceof NotMigratableError) return 'not migratable';
    throw error;
  }
}

function documentOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
