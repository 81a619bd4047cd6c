import type { ConfigProblem } from './config-problem.js';
import { readSecretFile, type SecretFileProblem } from './secret-file.js';
import type { Origin } from './setting-origin.js';
import type { Settings } from './settings.js';

/** Every bit that is not the owner's is lax (interface §5.5). */
const OWNER_ONLY = 0o700;
const ANY_MODE = 0o777;

const FILE_PROBLEMS: Readonly<Record<SecretFileProblem, readonly [what: string, fix: string]>> = {
  missing: ['does not exist', 'name the file of the passphrase'],
  'lax-mode': [
    'can be read by the group or by others and is refused',
    'chmod 600 that file, or set SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS=1',
  ],
  unreadable: ['cannot be read', 'let the user of the node own that file'],
  empty: ['has no passphrase on its first line', 'write the passphrase on its first line'],
};

/**
 * The refusal of a setting that asks for an encrypted database: better-sqlite3 has no cipher, and a node that stored plain
 * text all the same would break the promise. The rule about the passphrase file comes first.
 */
export function encryptionProblems(
  settings: Settings,
  origins: ReadonlyMap<keyof Settings, Origin>,
): ConfigProblem[] {
  const {
    dbPassphraseFile: path,
    dbPassphrase,
    encryptAtRest,
    passphraseFileAllowLaxPerms,
    auditPresets,
  } = settings;
  const asked = (
    [
      ['dbPassphraseFile', path !== null],
      ['dbPassphrase', dbPassphrase !== null],
      ['encryptAtRest', encryptAtRest],
      ['auditPresets', auditPresets.some(({ applied, encryptsAtRest }) => applied && encryptsAtRest)],
    ] as const
  ).find(([, isSet]) => isSet);
  if (asked === undefined) return [];
  const read =
    path === null ? null : readSecretFile(path, passphraseFileAllowLaxPerms ? ANY_MODE : OWNER_ONLY);
  if (read !== null && !read.ok) {
    const [what, fix] = FILE_PROBLEMS[read.problem];
    return [
      {
        ...{ code: 'CONFIG_PASSPHRASE_FILE', level: 'fatal', fix },
        message: `the passphrase file ${path} ${what}`,
      },
    ];
  }
  const name = origins.get(asked[0])?.name ?? '--db-passphrase-file';
  return [
    {
      ...{ code: 'CONFIG_NO_CIPHER', level: 'fatal' },
      message: `${name} asks for an encrypted database, and the store of this release has no cipher`,
      fix: 'remove it, and put the home on an encrypted disk (docs/operating.md, "Encryption at rest")',
    },
  ];
}
