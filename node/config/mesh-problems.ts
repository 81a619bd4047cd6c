import { isBaseUrl } from './base-url.js';
import type { ConfigProblem } from './config-problem.js';
import { MESH_ROWS } from './rows-mesh.js';
import { TLS_ROWS } from './rows-tls.js';
import type { Settings } from './settings.js';

const MESH_FILES = { ...TLS_ROWS, ...MESH_ROWS };

/** Settings that name files which are only valid together. */
const PAIRS = [
  ['tlsCert', 'tlsKey'],
  ['quorumClientCert', 'quorumClientKey'],
] as const;

/** What is wrong with the settings of TLS and the mesh together; each such problem refuses the start. */
export function meshProblems(settings: Settings): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const fatal = (message: string, fix: string) =>
    problems.push({ code: 'CONFIG_VALUE_INVALID', level: 'fatal', message, fix });
  for (const [one, other] of PAIRS) {
    if ((settings[one] === null) === (settings[other] === null)) continue;
    const [given, missing] = settings[one] === null ? [other, one] : [one, other];
    const [flag, missingFlag] = [MESH_FILES[given].flag.name, MESH_FILES[missing].flag.name];
    fatal(`${flag} needs ${missingFlag} as well`, `give ${missingFlag}, or leave ${flag} out`);
  }
  if (settings.mtlsAllowlist !== null && settings.tlsCert === null) {
    fatal('--mtls-allowlist needs --tls-cert and --tls-key', 'give a certificate and its key');
  }
  const seen = new Set<string>();
  for (const url of settings.quorumPeers) {
    if (!isBaseUrl(url)) {
      fatal(
        `--quorum-peers: ${shown(url)} is not a base address`,
        'write addresses such as https://node2.example:9177',
      );
      continue;
    }
    const plain = new URL(url).origin;
    if (seen.has(plain)) fatal(`--quorum-peers names ${shown(url)} twice`, 'name each peer once');
    seen.add(plain);
  }
  return problems;
}

/** An address may hold a password, so only a plain one is quoted. */
const shown = (url: string) => (/^[\w:/.[\]-]{1,200}$/.test(url) ? `"${url}"` : 'an entry');
