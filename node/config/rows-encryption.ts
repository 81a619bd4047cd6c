import type { SettingRows } from './setting-row.js';

/** Encryption of the database file, which no binding of this release has: each of these is refused (`encryption.ts`). */
export const ENCRYPTION_ROWS = {
  encryptAtRest: {
    type: 'boolean',
    default: false,
    env: 'SVC_ENCRYPT_AT_REST',
    doc: 'Refused when set: the store has no cipher. Encrypt the disk instead (docs/operating.md).',
  },
  dbPassphrase: {
    type: 'secret',
    default: null,
    env: 'SVC_DB_PASSPHRASE',
    doc: 'Refused when set, likewise.',
  },
  dbPassphraseFile: {
    type: 'path',
    default: null,
    flag: {
      name: '--db-passphrase-file',
      of: 'every',
      value: 'path',
      doc: 'Refused: the store has no cipher, encrypt the disk instead',
    },
    doc: 'Refused when set, likewise; before that, a file that the group or others may read is refused.',
  },
  passphraseFileAllowLaxPerms: {
    type: 'boolean',
    default: false,
    env: 'SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS',
    doc: 'Permit a passphrase file that the group or others may read.',
  },
} as const satisfies SettingRows;
