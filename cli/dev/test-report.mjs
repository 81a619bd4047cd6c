import { relative } from 'node:path';
import { inspect } from 'node:util';
import { PROJECT } from './project.mjs';

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
/** True for the failure of a test itself, not of those in it. */
const isOwn = (error) => error !== undefined && error.failureType !== 'subtestsFailed';
/** Files that the end names as the slowest, in runs of many. */
const SLOWEST = 20;
const NONE = { passed: 0, failed: 0, skipped: 0, ms: 0 };

/**
 * What a run of tests says: each failure as it happens; at the end a line for each folder, the longest first, the slowest
 * files, the failures again, and the sums as the last line: `N passed, N failed`.
 */
export class TestReport {
  #say;
  #folderOf;
  #folders = new Map();
  /** Milliseconds of each file. */
  #files = new Map();
  #failures = [];
  #beganMs = Date.now();

  /** `folderOf`: the folder that a test file is counted in. */
  constructor(folderOf, say) {
    this.#folderOf = folderOf;
    this.#say = (line) => say(process.stdout.isTTY ? `\r\x1b[K${line}` : line);
  }

  /**
   * Takes the events of a process. It runs the file at `path`, which loads `tests` into a suite each.
   */
  of({ path, tests }) {
    const names = [];
    let heard = '';
    const isProcess = ({ name, nesting }) => nesting === 0 && relative(PROJECT, name) === path;
    const isFile = (data) => isProcess(data) || (data.nesting === 0 && tests.includes(data.name));
    // A helper may hold the text of a test, so the file is the one whose suite runs.
    const fileOf = (data) => (!isProcess(data) && tests.includes(names[0]) ? names[0] : path);
    const failed = (data) => {
      const title = isFile(data)
        ? 'the file failed'
        : [...names.slice(1, data.nesting), data.name].join(' › ');
      this.#failed(fileOf(data), title, data.details.error, isProcess(data) ? heard : '');
    };
    return ({ type, data }) => {
      // An error that no test catches is told as a diagnostic of the process.
      const isHeard =
        type === 'test:stderr' || (type === 'test:diagnostic' && /^(Warning|Error): /.test(data.message));
      if (isHeard) heard = `${heard}${data.message}\n`.slice(-8000);
      if (type === 'test:dequeue' && !isProcess(data)) {
        names.length = data.nesting;
        names[data.nesting] = data.name;
      }
      // What a process wrote comes before this event of it, and after its completion.
      if (type === 'test:fail' && isProcess(data) && isOwn(data.details.error)) failed(data);
      // The other events wait for the tests before them; this one comes at once.
      if (type !== 'test:complete') return;
      const { error, type: kind, duration_ms: ms } = data.details;
      if (isOwn(error) && !isProcess(data)) failed(data);
      else if (error === undefined && kind !== 'suite' && !isProcess(data)) {
        this.#folder(fileOf(data))[data.skip === undefined ? 'passed' : 'skipped'] += 1;
      }
      if (isFile(data) && !isProcess(data)) {
        this.#folder(fileOf(data)).ms += ms;
        this.#files.set(fileOf(data), ms);
      }
      this.#progress();
    };
  }

  /** Prints a line for each folder, the failures again and the sums; true when nothing failed. */
  end() {
    for (const [name, { passed, failed, skipped, ms }] of [...this.#folders].sort(
      ([, a], [, b]) => b.ms - a.ms,
    )) {
      const further = `${failed > 0 ? `, ${failed} failed` : ''}${skipped > 0 ? `, ${skipped} skipped` : ''}`;
      this.#say(`${name}: ${passed} passed${further} (${seconds(ms)})`);
    }
    this.#saySlowest();
    if (this.#failures.length > 0) this.#say('\nfailed:');
    for (const failure of this.#failures) this.#say(failure);
    this.#say(`\n${this.#sum('skipped')} skipped, ${seconds(Date.now() - this.#beganMs)}`);
    this.#say(`${this.#sum('passed')} passed, ${this.#sum('failed')} failed`);
    return this.#sum('failed') === 0 && this.#sum('passed') > 0;
  }

  #saySlowest() {
    if (this.#files.size <= SLOWEST) return;
    const slowest = [...this.#files].sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
    this.#say('\nthe slowest files:');
    for (const [file, ms] of slowest)
      this.#say(`${file.replace(/^dist\/test\/|\.test\.js$/g, '')}: ${seconds(ms)}`);
  }

  #folder(file) {
    const name = this.#folderOf(file);
    const known = this.#folders.get(name) ?? { ...NONE };
    this.#folders.set(name, known);
    return known;
  }

  #failed(file, title, error, heard) {
    this.#folder(file).failed += 1;
    const cause = error?.cause ?? error;
    const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 6 });
    const failure = `✖ ${file}: ${title}\n${`${text}\n${heard}`.trimEnd().replace(/^/gm, '    ')}`;
    this.#failures.push(failure);
    this.#say(failure);
  }

  /** On a terminal the last line shows how far the run is; other readers get whole lines only. */
  #progress() {
    if (!process.stdout.isTTY) return;
    const text = `${this.#sum('passed')} passed, ${this.#sum('failed')} failed`;
    process.stdout.write(`\r\x1b[K${text}`);
  }

  #sum = (member) => [...this.#folders.values()].reduce((total, folder) => total + folder[member], 0);
}
