import { relative } from 'node:path';
import { inspect } from 'node:util';
import { PROJECT } from './project.mjs';

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
/** True for the failure of a test itself, not of those in it. */
const isOwn = (error) => error !== undefined && error.failureType !== 'subtestsFailed';
const NONE = { passed: 0, failed: 0, skipped: 0, ms: 0 };

/**
 * What a run of tests says: each failure as it happens; at the end a line for each folder, the longest first, the failures
 * again, and the sums as the last line: `N passed, N failed`.
 */
export class TestReport {
  #say;
  #entries = new Set();
  #folderOf = new Map();
  #folders = new Map();
  #names = new Map();
  #failures = [];
  #stderr = new Map();
  #beganMs = Date.now();

  /** `entries`: the files that run, as paths from the project's folder; each has its folder, and the tests that it loads. */
  constructor(entries, say) {
    this.#say = (line) => say(process.stdout.isTTY ? `\r\x1b[K${line}` : line);
    for (const { path, folder, tests } of entries) {
      this.#folder(folder);
      for (const own of [path, ...tests]) this.#folderOf.set(own, folder);
      this.#entries.add(path);
    }
  }

  /** Takes an event. Those that wait for the files before them are ignored: they come again when a test has completed. */
  take({ type, data }) {
    if (type === 'test:stderr') {
      const path = relative(PROJECT, data.file);
      const before = this.#stderr.get(path) ?? '';
      this.#stderr.set(path, (before + data.message).slice(-8000));
    }
    if (type === 'test:dequeue') {
      const names = this.#names.get(data.file) ?? [];
      names.length = data.nesting;
      names[data.nesting] = data.name;
      this.#names.set(data.file, names);
    }
    // What a file wrote comes before this event of it, and after its completion.
    if (type === 'test:fail' && this.#isFile(data) && isOwn(data.details.error)) this.#failed(data);
    if (type !== 'test:complete') return;
    const { error, type: kind } = data.details;
    const isFile = this.#isFile(data);
    if (isOwn(error) && !isFile) this.#failed(data);
    else if (error === undefined && kind !== 'suite' && !isFile) this.#passed(data);
    if (isFile) this.#ended(data);
    this.#progress();
  }

  /** Prints a line for each folder, the failures again and the sums; true when nothing failed. */
  end() {
    for (const [name, { passed, failed, skipped, ms }] of [...this.#folders].sort(
      ([, a], [, b]) => b.ms - a.ms,
    )) {
      const further = `${failed > 0 ? `, ${failed} failed` : ''}${skipped > 0 ? `, ${skipped} skipped` : ''}`;
      this.#say(`${name}: ${passed} passed${further} (${seconds(ms)})`);
    }
    if (this.#failures.length > 0) this.#say('\nfailed:');
    for (const failure of this.#failures) this.#say(failure);
    this.#say(`\n${this.#sum('skipped')} skipped, ${seconds(Date.now() - this.#beganMs)}`);
    this.#say(`${this.#sum('passed')} passed, ${this.#sum('failed')} failed`);
    return this.#sum('failed') === 0 && this.#sum('passed') > 0;
  }

  #isFile = ({ name, nesting }) => nesting === 0 && this.#entries.has(relative(PROJECT, name));

  #folder(name) {
    const known = this.#folders.get(name) ?? { ...NONE };
    this.#folders.set(name, known);
    return known;
  }

  #of = ({ file, name }) => {
    const path = relative(PROJECT, file ?? name);
    return this.#folder(this.#folderOf.get(path) ?? 'other');
  };

  #passed(data) {
    this.#of(data)[data.skip === undefined ? 'passed' : 'skipped'] += 1;
  }

  #failed(data) {
    const { details, file, name } = data;
    this.#of(data).failed += 1;
    const path = relative(PROJECT, file ?? name);
    const title = this.#isFile(data)
      ? 'the file failed'
      : [...(this.#names.get(file) ?? []).slice(0, data.nesting), name].join(' › ');
    const cause = details.error?.cause ?? details.error;
    const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 6 });
    const heard = this.#isFile(data) ? `\n${this.#stderr.get(path) ?? ''}` : '';
    const failure = `✖ ${path}: ${title}\n${`${text}${heard}`.replace(/^/gm, '    ')}`;
    this.#failures.push(failure);
    this.#say(failure);
  }

  #ended(data) {
    this.#of(data).ms += data.details.duration_ms;
  }

  /** On a terminal the last line shows how far the run is; other readers get whole lines only. */
  #progress() {
    if (!process.stdout.isTTY) return;
    const text = `${this.#sum('passed')} passed, ${this.#sum('failed')} failed`;
    process.stdout.write(`\r\x1b[K${text}`);
  }

  #sum = (member) => [...this.#folders.values()].reduce((total, folder) => total + folder[member], 0);
}
