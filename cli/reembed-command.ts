import { systemScheduler } from '../node/seams.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { flagValue, settingsFor } from './global-flags.js';
import { withLocalNode } from './local-node.js';
import { Progress } from './progress.js';
import type { Terminal } from './terminal.js';
import { objectView } from './views/object-view.js';

/** Embeds memories again (reference-mcp-cli §2.2). */
export const reembedCommand = defineCommand({
  name: 'reembed',
  summary:
    'Embed memories again with the configured encoder. The old vectors are searched until the new ones are complete; a call that was interrupted is continued.',
  flags: [
    {
      name: 'namespace',
      short: 'n',
      kind: 'value',
      value: 'namespace',
      doc: 'Only the memories of this namespace',
    },
    { name: 'dry-run', kind: 'switch', doc: 'Only say what would be embedded, and with what' },
    {
      name: 'batch',
      kind: 'value',
      value: 'rows',
      doc: 'Rows that are embedded at a time (default: embeddings.backfill_batch)',
    },
  ],
  examples: ['reembed', 'reembed --dry-run --json', 'reembed --namespace team/alpha'],
  run: async (parsed, terminal) => {
    const batch = flagValue(parsed, 'batch') ?? null;
    if (batch !== null && !/^[1-9]\d{0,3}$/.test(batch)) {
      return fail('VALIDATION_FAILED', '--batch must be a number from 1 to 9999', { fields: ['batch'] });
    }
    return await run(parsed, terminal, batch === null ? null : Number(batch));
  },
});

async function run(
  parsed: ParsedArguments,
  terminal: Terminal,
  batchRows: number | null,
): Promise<Result<number>> {
  const settings = settingsFor(parsed);
  const { reembed, targetEncoder } = await import('../node/runtime/reembed.js');
  const print = (answer: object) =>
    terminal.print(
      parsed.flags.has('json')
        ? `${JSON.stringify(answer)}\n`
        : objectView(answer as Record<string, unknown>),
    );
  return withLocalNode(parsed, async (services) => {
    if (parsed.flags.get('dry-run')?.at(-1) === 'true') {
      const target = await targetEncoder(settings, services, systemScheduler);
      if (!target.ok) return failed(target.error);
      const stats = await services.store.query({ kind: 'embedding-progress' });
      if (!stats.ok) return failed(stats.error);
      const { memories, pending, skipped, failed: refused } = stats.value;
      await print({
        total_rows: memories,
        rows_missing_embeddings: pending + skipped + refused,
        target_model: target.value.model,
        target_dim: target.value.dim,
        backend: settings.embedBackend,
        searched_model: stats.value.searched?.model ?? null,
      });
      return ok(0);
    }
    const progress = new Progress(process.stderr, 'reembed:');
    const done = await reembed(settings, services, {
      namespace: flagValue(parsed, 'namespace') ?? null,
      batchRows,
      scheduler: systemScheduler,
      progress: (count, of) => progress.update(count, of),
    });
    progress.end();
    if (!done.ok) return failed(done.error);
    const { model, dim, resumed, facts } = done.value;
    await print({
      embedded: facts.embedded,
      skipped: facts.skipped,
      failed: facts.failed,
      truncated: facts.cut,
      target_model: model,
      target_dim: dim,
      backend: settings.embedBackend,
      resumed,
    });
    return ok(0);
  });
}
