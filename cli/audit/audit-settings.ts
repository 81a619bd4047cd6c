import { inspectConfiguration } from '../../node/config/load-settings.js';
import { absolutePath } from '../../node/config/paths.js';
import type { Settings } from '../../node/config/settings.js';
import { auditLogFiles } from '../../node/observability/audit-log.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, settingSources } from '../global-flags.js';

export const AUDIT_DIR_FLAG: DocumentedFlag = {
  name: 'audit-dir',
  kind: 'value',
  value: 'folder',
  path: 'folder',
  doc: 'Folder of the audit log, instead of the configured one (SVC_AUDIT_DIR)',
};

/** Where the audit log lies. */
export function auditSettings(parsed: ParsedArguments): Settings {
  const { settings } = inspectConfiguration(...settingSources(parsed));
  const folder = flagValue(parsed, 'audit-dir');
  return folder === undefined ? settings : { ...settings, auditDir: absolutePath(folder) };
}

/** The files of the log, oldest first; NOT_FOUND where there are none. */
export function auditFiles({ auditDir, auditLog }: Settings): Result<readonly string[]> {
  const files = auditLogFiles(auditDir);
  if (files.length > 0) return ok(files);
  const todo = auditLog
    ? 'the node writes it with the first act of the audit chain; start the node if it does not run, or name the folder with --audit-dir'
    : 'set [audit] enabled to true and restart the node, or name the folder with --audit-dir';
  return fail('NOT_FOUND', `there is no audit log in ${auditDir}: ${todo}`);
}
