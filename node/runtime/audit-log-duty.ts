import {
  appendFileSync,
  chmodSync,
  closeSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { AUDIT_PAGE_ROWS } from '../../protocol/base/limits.js';
import type { Signer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { AuditRow } from '../../protocol/log/audit.js';
import { syncToDisk } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { auditPolicyOf } from '../config/audit-policy.js';
import { loadMachineIdentity } from '../identity/machine-key.js';
import {
  AUDIT_LINE_GENESIS,
  type AuditLine,
  attestedBytes,
  auditLineHash,
  auditLineOf,
  auditLogFile,
  auditLogFiles,
  lineOfRow,
} from '../observability/audit-log.js';
import { systemCrypto, systemRandom } from '../seams.js';
import type { Duty, DutyParts } from './duty.js';

const EVERY_MS = 1000;
const IDLE_MS = 3_600_000;
const CHANGED_MS = 60_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TAIL_BYTES = 1024 * 1024;

/** Copies the rows of the audit chain into the files of the audit log. */
export const auditLog: Duty = {
  ...{ name: 'audit-log', every: EVERY_MS, needs: [], wokenBy: ['ownership'] },
  run: (parts) => {
    if (!parts.settings.auditLog) return () => Promise.resolve({ afterMs: IDLE_MS });
    const writer = new AuditLogWriter(parts);
    return () => writer.round();
  },
};

/** The end of the log: its last line, and the file that has it. */
interface End {
  readonly path: string | null;
  readonly bytes: number;
  readonly changedMs: number;
  readonly sequence: number;
  readonly hash: string;
}

const NO_END: End = { path: null, bytes: 0, changedMs: 0, sequence: 0, hash: AUDIT_LINE_GENESIS };

class AuditLogWriter {
  #end: End | null = null;
  #signer: Signer | null = null;
  #attestedMs = Number.NEGATIVE_INFINITY;
  /** True when lines came since the last signature. */
  #unsigned = false;

  constructor(private readonly parts: DutyParts) {}

  async round(): Promise<{ readonly afterMs: number } | null> {
    const { settings, store, log, clock } = this.parts;
    this.#signer ??= loadMachineIdentity(settings.keyDir, systemRandom).key;
    makeFolder(settings.auditDir);
    if (!this.#isAsLeft()) {
      log.error({ code: 'AUDIT_LOG_CHANGED', folder: settings.auditDir }, CHANGED);
      return { afterMs: CHANGED_MS };
    }
    this.#end ??= endOf(settings.auditDir);
    const end = this.#end;
    const page = await store.query({ kind: 'audit-rows', after: end.sequence, limit: AUDIT_PAGE_ROWS });
    if (!page.ok) return null;
    const { rows } = page.value;
    if (rows.length > 0) this.#append(rows);
    const nowMs = clock.nowMs();
    if (this.#unsigned && nowMs - this.#attestedMs >= auditPolicyOf(settings).attestMinutes * MINUTE_MS) {
      this.#attest(nowMs);
      this.#dropOld(nowMs);
    }
    return rows.length === AUDIT_PAGE_ROWS ? { afterMs: 0 } : null;
  }

  /** False where the file that this process wrote last no longer ends as it was left. */
  #isAsLeft(): boolean {
    const end = this.#end;
    if (end === null || end.path === null) return true;
    const now = statSync(end.path, { throwIfNoEntry: false });
    if (now?.size === end.bytes && now.mtimeMs === end.changedMs) return true;
    const found = lastOf(end.path);
    if (found?.bytes === end.bytes && found.hash === end.hash) return true;
    // Another process may have owned the database meanwhile and continued the log.
    const grew = found !== null && found.bytes > end.bytes && found.sequence >= end.sequence;
    if (
      this.parts.settings.auditAppendOnly &&
      !grew &&
      auditLogFiles(this.parts.settings.auditDir).length > 0
    ) {
      return false;
    }
    this.#end = null;
    return true;
  }

  #append(rows: readonly AuditRow[]): void {
    const line = { policy: auditPolicyOf(this.parts.settings), signer: this.#signer!, crypto: systemCrypto };
    this.#write(rows.map((row) => lineOfRow(row, line)));
    this.#unsigned = true;
  }

  #attest(nowMs: number): void {
    const { sequence, hash } = this.#end!;
    const signer = this.#signer!;
    const time = instantFromMs(nowMs);
    const prev = this.parts.settings.auditHashChain ? hash : '';
    const signature = Buffer.from(signer.sign(attestedBytes(sequence, time, prev))).toString('base64');
    const public_key = Buffer.from(signer.publicKey).toString('base64');
    this.#write([{ v: 1, time, sequence, attestation: { public_key, signature } }]);
    this.#attestedMs = nowMs;
    this.#unsigned = false;
  }

  /** Adds lines to the file of today, each with the hash of the one before it, and waits until they are on disk. */
  #write(lines: readonly AuditLine[]): void {
    const { settings, clock } = this.parts;
    let { hash } = this.#end!;
    const chained = lines.map((line) => {
      if (!settings.auditHashChain) return line;
      const open = { ...line, prev: hash };
      hash = auditLineHash(open);
      return { ...open, hash };
    });
    const path = auditLogFile(settings.auditDir, instantFromMs(clock.nowMs()));
    appendFileSync(path, chained.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
    syncToDisk(path);
    if (path !== this.#end!.path) {
      syncToDisk(settings.auditDir);
      if (settings.auditAppendOnly && this.#end!.path !== null) chmodSync(this.#end!.path, 0o400);
    }
    const { size, mtimeMs } = statSync(path);
    this.#end = { path, bytes: size, changedMs: mtimeMs, sequence: lines.at(-1)!.sequence, hash };
  }

  #dropOld(nowMs: number): void {
    const { auditDir } = this.parts.settings;
    const days = auditPolicyOf(this.parts.settings).retentionDays;
    const oldest = auditLogFile(auditDir, instantFromMs(nowMs - days * DAY_MS));
    for (const path of auditLogFiles(auditDir)) if (path < oldest) rmSync(path, { force: true });
  }
}

const CHANGED =
  'the end of the audit log was changed by somebody else, and nothing is written into it: move its files away, and a new log begins with the first row of the chain';

/** Where a log goes on. A line that a killed process did not finish is taken away; the chain has its row. */
function endOf(folder: string): End {
  const path = auditLogFiles(folder).at(-1);
  if (path === undefined) return NO_END;
  const { text, from } = tailOf(path);
  const cut = text.lastIndexOf('\n') + 1;
  if (cut < text.length) truncateSync(path, from + Buffer.byteLength(text.slice(0, cut)));
  const last = lastOf(path);
  return last === null ? NO_END : { path, ...last };
}

function lastOf(path: string): Omit<End, 'path'> | null {
  try {
    const { size, mtimeMs } = statSync(path);
    const last = tailOf(path)
      .text.split('\n')
      .map(auditLineOf)
      .findLast((line) => line !== null);
    if (last === undefined || last === null) return null;
    return {
      bytes: size,
      changedMs: mtimeMs,
      sequence: last.sequence,
      hash: last.hash ?? AUDIT_LINE_GENESIS,
    };
  } catch {
    return null;
  }
}

/** The end of a file, with more than one line, and where it begins. */
function tailOf(path: string): { readonly text: string; readonly from: number } {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const from = Math.max(0, size - TAIL_BYTES);
    const bytes = Buffer.alloc(size - from);
    readSync(file, bytes, 0, bytes.length, from);
    return { text: bytes.toString('utf8'), from };
  } finally {
    closeSync(file);
  }
}
