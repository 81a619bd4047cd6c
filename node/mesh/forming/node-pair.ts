import { existsSync, renameSync } from 'node:fs';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Random } from '../../../protocol/base/seams.js';
import { type CertificatePair, readCertificatePair } from '../tls/certificate-files.js';
import type { MeshFolder } from './mesh-folder.js';

/** A new key waits in this file until its certificate is in place. */
const nextKeyPath = (folder: MeshFolder) => `${folder.nodeKeyPath}.next`;

/**
 * Puts this node's TLS key and certificate (PEM) in place. Two files cannot be replaced at once: wherever the process
 * ends, `readNodePair` finds the former pair or the new one.
 */
export function writeNodePair(folder: MeshFolder, pair: CertificatePair, random: Random): void {
  const next = nextKeyPath(folder);
  // An earlier writer ended between the two: its key is in use and must not be overwritten.
  if (existsSync(next) && readCertificatePair(folder.nodeCertPath, next).ok) {
    renameSync(next, folder.nodeKeyPath);
  }
  folder.write(next, pair.key, random);
  folder.write(folder.nodeCertPath, pair.cert, random);
  renameSync(next, folder.nodeKeyPath);
}

/** This node's present pair. CONFIG_INVALID when it has none. */
export function readNodePair(folder: MeshFolder): Result<CertificatePair> {
  const pair = readCertificatePair(folder.nodeCertPath, folder.nodeKeyPath);
  if (pair.ok) return pair;
  const next = nextKeyPath(folder);
  const other = existsSync(next) ? readCertificatePair(folder.nodeCertPath, next) : pair;
  return other.ok ? ok(other.value) : failed(pair.error);
}
