import { createReadStream } from 'node:fs';
import { memoryOffload } from '../../node/operations/transcripts/offload.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { TEXT_BYTES_MAX } from '../../protocol/transcripts/limits.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';

/** Puts a file aside (reference-mcp-cli §6.10). */
export const offloadCommand = defineCommand({
  name: 'offload',
  summary: 'Put a long content aside, to read it again by its reference with deref.',
  flags: [
    { name: 'namespace', kind: 'value', value: 'namespace', doc: 'Where it counts for the quota (auto)' },
    { name: 'ttl-seconds', kind: 'value', value: 'n', doc: 'Seconds until it is removed (never)' },
  ],
  positionals: [{ name: 'file', path: 'file', doc: 'A file, or - for standard input' }],
  examples: ['offload build.log --ttl-seconds 86400', 'git diff | mnemesh offload -'],
  run: (parsed, terminal) =>
    withLocalRunner(parsed, async (runner, caller) => {
      const file = parsed.positionals[0]!;
      const content = await contentOf(file);
      if (!content.ok) return failed(content.error);
      const [namespace, ttl] = [flagValue(parsed, 'namespace'), flagValue(parsed, 'ttl-seconds')];
      if (ttl !== undefined && !/^\d{1,9}$/.test(ttl))
        return fail('VALIDATION_FAILED', '--ttl-seconds must be a whole number', { fields: ['ttl_seconds'] });
      const input = {
        content: content.value,
        ...(namespace === undefined ? {} : { namespace }),
        ...(ttl === undefined ? {} : { ttl_seconds: Number(ttl) }),
      };
      const answer = await runner.run(memoryOffload, {
        surface: 'cli',
        caller,
        input,
        unknownFields: 'refuse',
      });
      if (!answer.ok) return failed(answer.error);
      const said: Readonly<Record<string, unknown>> = { ...answer.value, agent_id: caller.agentId };
      const line = `offloaded: ${String(said['ref_id'])} (ns=${String(said['namespace'])})`;
      await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(said)}\n` : `${line}\n`);
      return ok(0);
    }),
});

/** The text of a file; one that is longer than any content is not read to its end. */
async function contentOf(file: string): Promise<Result<string>> {
  const source = file === '-' ? process.stdin : createReadStream(file);
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of source as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > TEXT_BYTES_MAX)
        return fail(
          'VALIDATION_FAILED',
          `${file} is longer than ${TEXT_BYTES_MAX} bytes: put a part of it aside`,
        );
    }
    return ok(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces)));
  } catch (error) {
    const why = error instanceof TypeError ? 'it is not UTF-8 text' : String((error as Error).message);
    return fail('VALIDATION_FAILED', `${file} cannot be put aside: ${why}`);
  }
}
