import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Crypto, Signer } from '../../protocol/base/seams.js';
import { type AuditRow, auditRowHash, auditSignedBytes } from '../../protocol/log/audit.js';
import { filesOfTar, type TarFile, tarOf } from './tar.js';

const MANIFEST = 'manifest.json';
const SIGNATURE = 'manifest.sig';
const DOMAIN = 'mnemesh/forensic-bundle/v1\n';

/** What the signature of a bundle covers: who made it, of what, and the hash of each file. */
export interface BundleManifest {
  readonly v: 1;
  readonly memory_id: string;
  readonly created_at: string;
  readonly peer_id: string;
  readonly public_key: string;
  readonly with_content: boolean;
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
}

export interface BundleParts {
  readonly memoryId: string;
  readonly createdAt: string;
  readonly peerId: string;
  readonly signer: Signer;
  readonly crypto: Crypto;
  readonly withContent: boolean;
  readonly files: readonly TarFile[];
}

/** The bytes of a bundle: its files, and before them the signed list of their hashes. */
export function bundleOf(parts: BundleParts): Buffer {
  const { signer, crypto, files } = parts;
  const manifest: BundleManifest = {
    v: 1,
    memory_id: parts.memoryId,
    created_at: parts.createdAt,
    peer_id: parts.peerId,
    public_key: Buffer.from(signer.publicKey).toString('base64'),
    with_content: parts.withContent,
    files: files.map(({ name, bytes }) => ({ name, bytes: bytes.length, sha256: crypto.sha256Hex(bytes) })),
  };
  const text = `${canonicalJson({ ...manifest })}\n`;
  const signature = `${Buffer.from(signer.sign(Buffer.from(DOMAIN + text))).toString('base64')}\n`;
  return tarOf([
    { name: MANIFEST, bytes: Buffer.from(text) },
    { name: SIGNATURE, bytes: Buffer.from(signature) },
    ...files,
  ]);
}

/** What a sound bundle holds. */
export interface BundleReport extends BundleManifest {
  readonly audit_rows: number;
}

/**
 * Checks each byte of a bundle: the archive is exactly what its files make, the files are those of the manifest, a trusted key
 * signed that, and each row of the audit chain in it is whole.
 */
export function checkBundle(
  archive: Uint8Array,
  crypto: Crypto,
  trusted: readonly Uint8Array[],
): Result<BundleReport> {
  const [manifestFile, signatureFile, ...files] = filesOfTar(archive) ?? [];
  if (manifestFile?.name !== MANIFEST || signatureFile?.name !== SIGNATURE) {
    return broken('it is not an archive that export-forensic-bundle wrote');
  }
  const text = Buffer.from(manifestFile.bytes).toString('utf8');
  const manifest = manifestOf(text);
  if (manifest === null) return broken('its manifest cannot be read');
  const key = Buffer.from(manifest.public_key, 'base64');
  const signature = Buffer.from(Buffer.from(signatureFile.bytes).toString('latin1').trimEnd(), 'base64');
  const isSameText =
    `${signature.toString('base64')}\n` === Buffer.from(signatureFile.bytes).toString('latin1');
  if (!isSameText || !crypto.verify(key, Buffer.from(DOMAIN + text), signature)) {
    return broken('the signature of its manifest is wrong');
  }
  if (!trusted.some((each) => key.equals(each))) {
    return fail(
      'AUDIT_KEY_WANTED',
      `the bundle is signed with the key ${manifest.public_key}, which this home does not know: compare it with what identity export-pub --agent-id daemon prints on its node, and name it with --key`,
      {},
    );
  }
  const names = files.map(({ name }) => name);
  if (canonicalJson(names) !== canonicalJson(manifest.files.map(({ name }) => name))) {
    return broken('its files are not those of its manifest');
  }
  const wrong = files.findIndex(
    ({ bytes }, index) => crypto.sha256Hex(bytes) !== manifest.files[index]!.sha256,
  );
  if (wrong !== -1) return broken(`${files[wrong]!.name} was changed`);
  const rows = auditRowsOf(files);
  const row = rows.find((each) => !isWhole(each, crypto));
  if (row !== undefined) return broken(`the row ${row.sequence} of the audit chain in it is not whole`);
  return ok({ ...manifest, audit_rows: rows.length });
}

const broken = (why: string): Result<never> =>
  fail('AUDIT_CHAIN_BROKEN', `the bundle is not what the node wrote: ${why}`, {});

function manifestOf(text: string): BundleManifest | null {
  try {
    const value = JSON.parse(text) as BundleManifest;
    const isSound =
      value.v === 1 &&
      typeof value.public_key === 'string' &&
      Array.isArray(value.files) &&
      value.files.every(({ name, sha256 }) => typeof name === 'string' && typeof sha256 === 'string');
    return isSound ? value : null;
  } catch {
    return null;
  }
}

/** The file of the rows of the chain. */
export const AUDIT_FILE = 'audit.jsonl';

const BINARY = ['payload_hash', 'signature', 'public_key', 'prev_hash'] as const;

/** A row as a line of JSON, with its bytes in hex, and its own hash. */
export function auditRowText(row: AuditRow, crypto: Crypto): string {
  const hex = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString('hex'));
  const binary = Object.fromEntries(BINARY.map((name) => [name, hex(row[name])]));
  return `${JSON.stringify({ ...row, ...binary, row_hash: hex(auditRowHash(row, crypto)) })}\n`;
}

function auditRowsOf(files: readonly TarFile[]): readonly (AuditRow & { readonly row_hash: string })[] {
  const file = files.find(({ name }) => name === AUDIT_FILE);
  const lines = file === undefined ? [] : Buffer.from(file.bytes).toString('utf8').split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const row = JSON.parse(line) as Record<string, unknown>;
      const bytes = (name: string) => (row[name] === null ? null : Buffer.from(String(row[name]), 'hex'));
      return {
        ...row,
        ...Object.fromEntries(BINARY.map((name) => [name, bytes(name)])),
      } as unknown as AuditRow & {
        row_hash: string;
      };
    });
}

function isWhole(row: AuditRow & { readonly row_hash: string }, crypto: Crypto): boolean {
  if (Buffer.from(auditRowHash(row, crypto)).toString('hex') !== row.row_hash) return false;
  if (row.payload !== null && !Buffer.from(crypto.sha256(row.payload)).equals(row.payload_hash)) return false;
  if (row.form === 1 || row.signature === null || row.public_key === null) return true;
  return crypto.verify(row.public_key, auditSignedBytes(row), row.signature);
}
