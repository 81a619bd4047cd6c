import { writeFileSync } from 'node:fs';
import { memoryDeref } from '../../node/operations/transcripts/offload.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';

/** Reads what was put aside (reference-mcp-cli §6.10). */
export const derefCommand = defineCommand({
  name: 'deref',
  summary: 'Print a content that was put aside, or write it into a file.',
  flags: [
    { name: 'out', kind: 'value', value: 'file', doc: 'A file for the content, instead of printing it' },
  ],
  positionals: [{ name: 'ref-id', doc: 'Its reference, as offload prints it' }],
  examples: ['deref ofl_AAAAAAAAAAAAA', 'deref ofl_AAAAAAAAAAAAA --out build.log'],
  run: (parsed, terminal) =>
    withLocalRunner(parsed, async (runner, caller) => {
      const input = { ref_id: parsed.positionals[0]! };
      const answer = await runner.run(memoryDeref, {
        surface: 'cli',
        caller,
        input,
        unknownFields: 'refuse',
      });
      if (!answer.ok) return failed(answer.error);
      const { ref_id, sha256, stored_at, content } = answer.value;
      const text = String(content);
      const out = flagValue(parsed, 'out');
      if (out !== undefined) {
        try {
          writeFileSync(out, text, { mode: 0o600 });
        } catch (error) {
          return fail('VALIDATION_FAILED', `--out: ${(error as Error).message}`);
        }
      }
      const bytes = Buffer.byteLength(text, 'utf8');
      const said = { ref_id, sha256, stored_at, bytes, content: out === undefined ? text : null };
      if (isSet(parsed, 'json')) await terminal.print(`${JSON.stringify(said)}\n`);
      else await terminal.print(out === undefined ? text : `wrote ${bytes} bytes: ${out}\n`);
      return ok(0);
    }),
});
