import { SECRET_MODES } from '../../protocol/policies/secret-modes.js';
import { secretRuleOf } from './secret-rule.js';
import type { SettingRows } from './setting-row.js';

/** What happens with texts that hold secrets. */
export const SECRET_ROWS = {
  secretsMode: {
    type: 'text',
    default: 'redact',
    oneOf: SECRET_MODES,
    env: 'SVC_SECRETS',
    config: 'secrets.mode',
    doc: 'What happens with keys, tokens and passwords in what is stored: `off` does not look, `warn` keeps them and says so, `redact` takes them out, `refuse` refuses the write.',
  },
  secretsNamespaces: {
    type: 'tables',
    default: [],
    config: 'secrets.namespaces',
    parse: secretRuleOf,
    doc: 'Other modes for namespaces, each a table `[[secrets.namespaces]]` with `namespace_pattern` and `mode`; the most exact pattern counts.',
  },
} as const satisfies SettingRows;
