import { permissionsToml, policiesAsPermissions } from '../../node/operations/policies-as-permissions.js';
import type { Services } from '../../node/pipeline/call.js';
import { type Standard, standardKind } from '../../protocol/kinds/standard-kind.js';
import { EXPORT_BYTES_MAX, EXPORT_PAGE_SIZE } from '../../protocol/limits.js';
import { failed, ok, type Result } from '../../protocol/result.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { asOperator } from '../rules/rule-parts.js';

/** Prints the policies of namespaces as permission rules; it changes nothing. */
export const migrateCommand = defineCommand({
  name: 'governance migrate-to-permissions',
  summary: 'Print the policies of namespaces as [[permissions.rules]]; nothing is changed.',
  examples: ['governance migrate-to-permissions >> config.toml'],
  run: (parsed, terminal) =>
    asOperator(parsed, async (services) => {
      const standards = await standardsOf(services);
      if (!standards.ok) return failed(standards.error);
      const translation = policiesAsPermissions(standards.value);
      const text = isSet(parsed, 'json') ? `${JSON.stringify(translation)}\n` : permissionsToml(translation);
      await terminal.print(text);
      return ok(0);
    }),
});

async function standardsOf({ store }: Services): Promise<Result<readonly Standard[]>> {
  const standards: Standard[] = [];
  let after = { kind: standardKind.name, id: '' };
  for (;;) {
    const page = await store.query({
      kind: 'export-records',
      after,
      limit: EXPORT_PAGE_SIZE,
      bytesMax: EXPORT_BYTES_MAX,
    });
    if (!page.ok) return failed(page.error);
    const { records, more, last } = page.value;
    const found = records.filter(({ kind }) => kind === standardKind.name);
    standards.push(...found.map(({ image }) => image as Standard));
    if (!more || last === null || last.kind !== standardKind.name) return ok(standards);
    after = last;
  }
}
