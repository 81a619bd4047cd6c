import { fail, ok, type Result } from '../base/result.js';

const DIGITS = 64;

/**
 * The fingerprints of an allowlist file: one SHA-256 of a DER certificate on each line, 64 hex digits in any case, with
 * or without colons and a leading `sha256:`; `#` begins a comment (reference-federation §1.3). VALIDATION_FAILED names
 * the line and what is wrong with it. An empty list fails too, because it would admit no peer. Lower-case hex, no
 * duplicates.
 */
export function parseFingerprintList(text: string): Result<readonly string[]> {
  const found = new Set<string>();
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .entries()) {
    const entry = line.replace(/#.*$/s, '').trim();
    if (entry === '') continue;
    const fingerprint = parseFingerprint(entry);
    if (!fingerprint.ok) return fail('VALIDATION_FAILED', `line ${index + 1}: ${fingerprint.error.message}`);
    found.add(fingerprint.value);
  }
  if (found.size === 0) return fail('VALIDATION_FAILED', 'the list is empty, so no peer could connect');
  return ok([...found]);
}

/** Reads one fingerprint in any accepted notation, as lower-case hex. */
function parseFingerprint(text: string): Result<string> {
  const space = /\s/.exec(text);
  if (space !== null) {
    return fail('VALIDATION_FAILED', `white space inside a fingerprint, at character ${space.index + 1}`);
  }
  const hex = text.replace(/^sha256:/i, '').replaceAll(':', '');
  const wrong = /[^0-9a-f]/i.exec(hex);
  if (wrong !== null) {
    return fail('VALIDATION_FAILED', `${JSON.stringify(wrong[0])} is not a hexadecimal digit`);
  }
  if (hex.length !== DIGITS) {
    return fail('VALIDATION_FAILED', `a SHA-256 has ${DIGITS} hexadecimal digits, this has ${hex.length}`);
  }
  return ok(hex.toLowerCase());
}

/**
 * The server certificates of peers by host, lower case: lines `<host> <sha256 hex>`, `#` begins a comment; a host may
 * have several lines while its certificate changes. VALIDATION_FAILED names the line.
 */
export function parsePeerFingerprints(text: string): Result<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    const entry = line.replace(/#.*$/s, '').trim();
    if (entry === '') continue;
    const [host, digits, extra] = entry.split(/\s+/);
    if (digits === undefined || extra !== undefined) {
      return fail('VALIDATION_FAILED', `line ${index + 1}: expected a host and a fingerprint`);
    }
    const fingerprint = parseFingerprint(digits);
    if (!fingerprint.ok) return fail('VALIDATION_FAILED', `line ${index + 1}: ${fingerprint.error.message}`);
    const name = host!.toLowerCase();
    found.set(name, [...(found.get(name) ?? []), fingerprint.value]);
  }
  return ok(found);
}
