import { readFileSync } from 'node:fs';
import type { Caller } from '../../node/identity/caller.js';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { memoryGet } from '../../node/operations/core/memory-get.js';
import { memoryLineage } from '../../node/operations/graph/memory-lineage.js';
import { memoryReplay } from '../../node/operations/transcripts/replay.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { PrivateFile } from '../../node/private-file.js';
import { systemClock, systemCrypto, systemRandom } from '../../node/seams.js';
import { publicKeyFromText } from '../../protocol/base/key-text.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { ParsedArguments } from '../arguments.js';
import { eachAuditRow } from '../audit/audit-rows.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { counted } from '../imports/counts.js';
import { withLocalNode, withLocalRunner } from '../local-node.js';
import { noteCopy } from '../note-copy.js';
import { AUDIT_FILE, auditRowText, bundleOf, checkBundle } from './bundle.js';
import { withoutContent } from './redact.js';
import type { TarFile } from './tar.js';

/** Writes all that is known of a memory into one signed file. */
export const exportBundleCommand = defineCommand({
  name: 'export-forensic-bundle',
  summary:
    'Write a memory with its links, its lineage and its rows of the audit chain into one signed archive.',
  flags: [
    {
      ...{ name: 'memory-id', kind: 'value', value: 'id', required: true },
      doc: 'The memory, or a unique prefix of its id',
    },
    {
      ...{ name: 'output', kind: 'value', value: 'file', path: 'file' },
      doc: 'The file to write (default <id>.bundle.tar)',
    },
    {
      name: 'include-content',
      kind: 'switch',
      doc: 'With titles, contents, tags and metadata, not only their hashes',
    },
    { name: 'include-reflections', kind: 'switch', doc: 'With what was made from it' },
    {
      name: 'include-transcripts',
      kind: 'switch',
      doc: 'With the turns that it tells; needs --include-content',
    },
    {
      ...{ name: 'include-atomisation-chain', kind: 'switch' },
      doc: 'With what it was made from (default; =false leaves it out)',
    },
  ],
  examples: [
    'export-forensic-bundle --memory-id 3f2a',
    'export-forensic-bundle --memory-id 3f2a --include-content --output case-7.tar',
  ],
  run: async (parsed, terminal) => {
    const withContent = isSet(parsed, 'include-content');
    if (isSet(parsed, 'include-transcripts') && !withContent) {
      const message = '--include-transcripts writes what people said: give --include-content with it';
      return fail('VALIDATION_FAILED', message, { fields: ['include_transcripts'] });
    }
    const told = await withLocalRunner(parsed, (runner, caller) => collected(runner, caller, parsed));
    if (!told.ok) return failed(told.error);
    const { id, documents } = told.value;
    const files: TarFile[] = Object.entries(documents).map(([name, value]) => ({
      name,
      bytes: Buffer.from(`${JSON.stringify(withContent ? value : withoutContent(value), null, 2)}\n`),
    }));
    return withLocalNode(parsed, async ({ store }) => {
      const rows: string[] = [];
      const read = await eachAuditRow(store, 0, (row) => {
        if (row.payload?.includes(id) === true) rows.push(auditRowText(row, systemCrypto));
      });
      if (!read.ok) return failed(read.error);
      const { peerId, key } = loadMachineIdentity(settingsFor(parsed).keyDir, systemRandom);
      const all = [...files, { name: AUDIT_FILE, bytes: Buffer.from(rows.join('')) }];
      const bundle = bundleOf({
        ...{ memoryId: id, createdAt: instantFromMs(systemClock.nowMs()), peerId, signer: key },
        ...{ crypto: systemCrypto, withContent, files: all },
      });
      const output = flagValue(parsed, 'output') ?? `${id}.bundle.tar`;
      writeFile(output, bundle);
      if (withContent) await noteCopy(store, 'export', output);
      const answer = {
        path: output,
        memory_id: id,
        bytes: bundle.length,
        files: all.length,
        audit_rows: rows.length,
      };
      const text = `bundle: ${output} (${bundle.length} bytes, ${counted(all.length, 'file')}, ${counted(rows.length, 'row')} of the audit chain)\n`;
      await terminal.print(
        isSet(parsed, 'json') ? `${JSON.stringify({ ...answer, with_content: withContent })}\n` : text,
      );
      return ok(0);
    });
  },
});

function writeFile(path: string, bytes: Uint8Array): void {
  const file = new PrivateFile(path, systemRandom.uuid());
  try {
    file.write(bytes);
    file.finish();
  } catch (error) {
    file.abandon();
    throw error;
  }
}

interface Collected {
  readonly id: string;
  /** By the names of their files. */
  readonly documents: Readonly<Record<string, unknown>>;
}

/** What the node answers about a memory. */
async function collected(
  runner: LocalRunner,
  caller: Caller,
  parsed: ParsedArguments,
): Promise<Result<Collected>> {
  const ask = async (
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
  ): Promise<Result<unknown>> => {
    const answer = await runner.run(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' });
    return answer.ok ? ok(answer.value) : failed(answer.error);
  };
  const found = await ask(memoryGet, { id: flagValue(parsed, 'memory-id') });
  if (!found.ok) return failed(found.error);
  const { id } = (found.value as { readonly memory: { readonly id: string } }).memory;
  const further = [
    [
      flagValue(parsed, 'include-atomisation-chain') !== 'false',
      'ancestors.json',
      memoryLineage,
      { id, direction: 'ancestors' },
    ],
    [
      isSet(parsed, 'include-reflections'),
      'descendants.json',
      memoryLineage,
      { id, direction: 'descendants' },
    ],
    [
      isSet(parsed, 'include-transcripts'),
      'transcripts.json',
      memoryReplay,
      { memory_id: id, verbose: true },
    ],
  ] as const;
  const documents: Record<string, unknown> = { 'memory.json': found.value };
  for (const [isWanted, name, operation, input] of further) {
    if (!isWanted) continue;
    const answer = await ask(operation as Operation, input);
    if (!answer.ok) return failed(answer.error);
    documents[name] = answer.value;
  }
  return ok({ id, documents });
}

const EXIT_CHANGED = 2;

/** Checks a bundle, also on another machine. */
export const verifyBundleCommand = {
  ...defineCommand({
    name: 'verify-forensic-bundle',
    summary: 'Verify a forensic bundle: every byte of it, its signature, and its rows of the audit chain.',
    positionals: [{ name: 'path', doc: 'The bundle', path: 'file' }],
    flags: [
      {
        ...{ name: 'key', kind: 'value', value: 'base64' },
        doc: 'Public key of the node that wrote it, where that is not this one',
      },
    ],
    examples: ['verify-forensic-bundle case-7.tar'],
    run: async (parsed, terminal) => {
      const path = parsed.positionals[0]!;
      const given = flagValue(parsed, 'key');
      const key = given === undefined ? null : publicKeyFromText(given);
      if (given !== undefined && key === null) {
        return fail('VALIDATION_FAILED', '--key must be a 32-byte Ed25519 public key in base64', {
          fields: ['key'],
        });
      }
      let archive: Buffer;
      try {
        archive = readFileSync(path);
      } catch (error) {
        return fail('NOT_FOUND', `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
      }
      const trusted = key ?? loadMachineIdentity(settingsFor(parsed).keyDir, systemRandom).key.publicKey;
      const report = checkBundle(archive, systemCrypto, [trusted]);
      if (!report.ok) return failed(report.error);
      const { memory_id, created_at, files, audit_rows, peer_id } = report.value;
      const text = `the bundle is whole: memory ${memory_id}, written at ${created_at} by ${peer_id}, ${counted(files.length, 'file')}, ${counted(audit_rows, 'row')} of the audit chain\n`;
      await terminal.print(
        isSet(parsed, 'json') ? `${JSON.stringify({ verified: true, ...report.value })}\n` : text,
      );
      return ok(0);
    },
  }),
  failures: { AUDIT_CHAIN_BROKEN: EXIT_CHANGED },
};
