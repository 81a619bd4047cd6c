import { execFile } from 'node:child_process';
import { environmentWith } from '../node/config/load-settings.js';
import type { Examine } from '../node/pipeline/call.js';
import { type Examination, examination } from '../node/pipeline/examination.js';
import { fail, ok, type Result } from '../protocol/base/result.js';
import { parsedObject } from '../protocol/kinds/payload.js';
import type { ParsedArguments } from './arguments.js';
import { flagValue } from './global-flags.js';
import { variablesOfFlags } from './setting-flags.js';

const WITHIN_MS = 25_000;
const REPORT_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Runs doctor for the node of a daemon in another process: a process that reads the file of its own database loses
 * SQLite's locks on it. Calls that come meanwhile get the same report. Flags are passed as variables of the environment,
 * because every user of the machine sees the arguments of a process.
 */
export function examinesBeside(parsed: ParsedArguments): Examine {
  const config = flagValue(parsed, 'config');
  const env = environmentWith({
    ...variablesOfFlags(parsed),
    ...(config === undefined ? {} : { SVC_CONFIG: config }),
  });
  let running: Promise<Result<Examination>> | null = null;
  return () => {
    running ??= examined(env).finally(() => {
      running = null;
    });
    return running;
  };
}

const examined = (env: Readonly<Record<string, string | undefined>>): Promise<Result<Examination>> =>
  new Promise((resolve) => {
    const options = { env, timeout: WITHIN_MS, maxBuffer: REPORT_BYTES_MAX, windowsHide: true };
    execFile(process.execPath, [process.argv[1]!, 'doctor', '--json'], options, (_error, out) => {
      // It ends with another code than 0 when it found something.
      const report = examination.safeParse(parsedObject(out));
      resolve(
        report.success
          ? ok(report.data)
          : fail('UNAVAILABLE', 'doctor gave no report: run "mnemesh doctor" on the machine of the node'),
      );
    });
  });
