import { readFileSync } from 'node:fs';
import { MESH_POLL_MS } from '../../../protocol/base/limits.js';
import { fail, type Result } from '../../../protocol/base/result.js';
import type { Log, Scheduler } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import { parsePeerFingerprints } from '../../../protocol/peers/fingerprint-list.js';
import { WatchedFiles } from './watched-files.js';

type Pins = ReadonlyMap<string, readonly string[]>;

/**
 * The server certificates of peers by host (SVC_FED_PEER_FINGERPRINTS, reference-federation §1.3). The file is followed:
 * a broken file is logged, and the last valid one stays in force.
 */
export class PeerFingerprintsFile {
  readonly #watch: WatchedFiles;
  #pins: Pins;

  /** Throws StartRefusedError when the file cannot be used. */
  constructor(
    readonly path: string,
    { scheduler, log }: { readonly scheduler: Scheduler; readonly log: Log },
  ) {
    const first = readPins(path);
    if (!first.ok) throw new StartRefusedError('CONFIG_INVALID', first.error.message);
    this.#pins = first.value;
    this.#watch = new WatchedFiles({
      paths: () => [path],
      scheduler,
      intervalMs: MESH_POLL_MS,
      changed: () => {
        const next = readPins(path);
        if (next.ok) this.#pins = next.value;
        else {
          const message = 'the new list of certificates of peers cannot be used, the old one stays in force';
          log.error({ code: 'PEER_FINGERPRINTS_REFUSED', reason: next.error.message }, message);
        }
      },
    });
  }

  /** The fingerprints of a host's certificates, lower-case name; undefined for a host that is not in the file. */
  get(host: string): readonly string[] | undefined {
    return this.#pins.get(host);
  }

  close(): void {
    this.#watch.stop();
  }
}

function readPins(path: string): Result<Pins> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return fail('CONFIG_INVALID', `cannot read the certificates of peers in ${path}: ${code}`);
  }
  const pins = parsePeerFingerprints(text);
  return pins.ok
    ? pins
    : fail('CONFIG_INVALID', `the certificates of peers in ${path}: ${pins.error.message}`);
}
