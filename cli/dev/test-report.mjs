import { relative } from 'node:path';
import { inspect } from 'node:util';
import { PROJECT } from './project.mjs';

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
/** True for the failure of a test itself, not of those in it. */
const isOwn = (error) => error !== undefined && error.failureType !== 'subtestsFailed';
const NONE = { passed: 0, failed: 0, skipped: 0, ms: 0 };

/**
 * What a run of tests says: each failure as it happens, a line for each folder when its last file has ended, the failures
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
    this.#say = say;
    for (const { path, folder, tests } of entries) {
      this.#folder(folder).files += 1;
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
  }

  /** Prints the sums; true when nothing failed. */
  end() {
    const all = [...this.#folders.values()];
    const sum = (member) => all.reduce((total, folder) => total + folder[member], 0);
    if (this.#failures.length > 0) {
      this.#say('\nfailed:');
      for (const failure of this.#failures) this.#say(failure);
    }
    this.#say(`\n${sum('skipped')} skipped, ${seconds(Date.now() - this.#beganMs)}`);
    this.#say(`${sum('passed')} passed, ${sum('failed')} failed`);
    return sum('failed') === 0 && sum('passed') > 0;
  }

  #isFile = ({ name, nesting }) => nesting === 0 && this.#entries.has(relative(PROJECT, name));

  #folder(name) {
    const known = this.#folders.get(name) ?? { ...NONE, files: 0, ended: 0 };
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
    const path = relative(PROJECT, data.name);
    const folder = this.#of(data);
    folder.ended += 1;
    folder.ms += data.details.duration_ms;
    if (folder.ended < folder.files) return;
    const { passed, failed, skipped, ms } = folder;
    const further = `${failed > 0 ? `, ${failed} failed` : ''}${skipped > 0 ? `, ${skipped} skipped` : ''}`;
    this.#say(`${this.#folderOf.get(path)}: ${passed} passed${further} (${seconds(ms)})`);
  }
}
