import { seededRandom } from '../bench/random.js';

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const WORD = LOWER + UPPER + DIGITS;
const BASE64 = `${WORD}+/`;
const URL64 = `${WORD}-_`;

/** A secret that nobody uses, in a sentence or a line of configuration. */
export interface MadeSecret {
  readonly kind: string;
  readonly text: string;
  /** What must not stay in the text. */
  readonly secret: string;
}

interface Draw {
  readonly some: (characters: string, length: number) => string;
  readonly one: <T>(of: readonly T[]) => T;
}

/** Prefixes are put together here, so that no scanner takes this file for a leak. */
const KINDS: Readonly<Record<string, (draw: Draw) => { readonly secret: string; readonly text?: string }>> = {
  'aws access key id': ({ some, one }) => ({ secret: `${one(['AK', 'AS'])}IA${some(UPPER + DIGITS, 16)}` }),
  'aws secret access key': ({ some, one }) => {
    const secret = some(BASE64, 39) + some(WORD, 1);
    const name = one([
      'aws_secret_access_key',
      'AWS_SECRET_ACCESS_KEY',
      'secretAccessKey',
      'SecretAccessKey',
    ]);
    return { secret, text: `${name}${one([' = ', '=', ': '])}${secret}` };
  },
  'github token': ({ some, one }) => ({ secret: `gh${one(['p', 'o', 'u', 's', 'r'])}_${some(WORD, 36)}` }),
  'github fine-grained token': ({ some }) => ({
    secret: `github${'_pat_'}${some(WORD, 22)}_${some(WORD, 59)}`,
  }),
  'gitlab token': ({ some }) => ({ secret: `gl${'pat-'}${some(URL64, 20)}` }),
  'slack token': ({ some, one }) => ({
    secret: `xo${one(['xb', 'xp'])}-${some(DIGITS, 12)}-${some(DIGITS, 12)}-${some(WORD, 24)}`,
  }),
  'slack webhook': ({ some }) => ({
    secret: `https://hooks.${'slack.com'}/services/T${some(UPPER + DIGITS, 8)}/B${some(UPPER + DIGITS, 10)}/${some(WORD, 24)}`,
  }),
  'openai key': ({ some, one }) => ({
    secret: one([
      `s${'k-'}${some(WORD, 20)}T3Blbk${'FJ'}${some(WORD, 20)}`,
      `s${'k-proj-'}${some(URL64, 74)}T3Blbk${'FJ'}${some(URL64, 73)}${some(WORD, 1)}`,
      `s${'k-proj-'}${some(WORD, 48)}`,
    ]),
  }),
  'anthropic key': ({ some }) => ({ secret: `s${'k-ant-'}api03-${some(URL64, 93)}AA` }),
  'google api key': ({ some }) => ({ secret: `AI${'za'}${some(URL64, 34)}${some(WORD, 1)}` }),
  'private key': ({ some, one }) => {
    const name = one(['RSA ', 'EC ', '', 'ENCRYPTED ']);
    const lines = Array.from({ length: one([3, 12, 25]) }, () => some(BASE64, 64));
    const secret = `MI${some(BASE64, 62)}\n${lines.join('\n')}\n${some(BASE64, 30)}==`;
    return {
      secret,
      text: `-----BEGIN ${name}PRIVATE ${'KEY'}-----\n${secret}\n-----END ${name}PRIVATE ${'KEY'}-----`,
    };
  },
  'ssh private key': ({ some }) => {
    const lines = Array.from({ length: 5 }, () => some(BASE64, 70));
    const secret = `b3BlbnNzaC1rZXktdjEA${some(BASE64, 50)}\n${lines.join('\n')}\n${some(BASE64, 20)}=`;
    return {
      secret,
      text: `-----BEGIN OPENSSH PRIVATE ${'KEY'}-----\n${secret}\n-----END OPENSSH PRIVATE ${'KEY'}-----`,
    };
  },
  'stripe key': ({ some, one }) => ({
    secret: `${one(['s', 'r'])}k_${one(['live', 'test'])}_${some(WORD, one([24, 99]))}`,
  }),
  'sendgrid key': ({ some }) => ({ secret: `S${'G.'}${some(WORD, 22)}.${some(WORD, 43)}` }),
  'npm token': ({ some }) => ({ secret: `np${'m_'}${some(WORD, 36)}` }),
  'token of this service': ({ some }) => ({ secret: `mn${'t_'}${some(URL64, 43)}.${some(URL64, 300)}` }),
  jwt: ({ some }) => ({ secret: `ey${'J'}${some(WORD, 33)}.ey${'J'}${some(URL64, 80)}.${some(URL64, 43)}` }),
  'database url': ({ some, one }) => {
    const secret = some(`${WORD}!$%^*`, 14);
    const scheme = one(['postgres', 'postgresql', 'mysql', 'mongodb+srv', 'redis', 'amqp']);
    return { secret, text: `${scheme}://${some(LOWER, 6)}:${secret}@db.${some(LOWER, 8)}.internal:5432/app` };
  },
  'url with a password': ({ some, one }) => {
    const secret = some(WORD, 12);
    return {
      secret,
      text: `${one(['https', 'http', 'ftp'])}://${some(LOWER, 5)}:${secret}@${some(LOWER, 7)}.net/path`,
    };
  },
  'password in a configuration': ({ some, one }) => {
    const secret = some(LOWER, 3) + some(UPPER, 2) + some(DIGITS, 3) + some(`${WORD}!#%&*+-_?`, 6);
    const name = one(['password', 'DB_PASSWORD', 'db_passwd', 'SMTP_PASS', 'adminPassword', 'passphrase']);
    return { secret, text: `${name}${one([': ', '=', ' = ', ': "', '="'])}${secret}` };
  },
  'bearer token': ({ some, one }) => {
    const secret = some(one([WORD, HEX, URL64]), 40);
    return { secret, text: `Authorization: ${'Bearer'} ${secret}` };
  },
};

const AROUND: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `Use this for the deploy: ${text} and tell nobody.`,
  (text) => `# notes\n\n- staging\n- ${text}\n- see the wiki`,
  (text) => `{"note": "${text}"}`,
  (text) => `export SETTING='${text}'\nmake deploy`,
];

/** The same secrets for the same seed, `each` of every kind. */
export function madeSecrets(seed: number, each = 10): readonly MadeSecret[] {
  const unit = seededRandom(seed);
  const one = <T>(of: readonly T[]): T => of[Math.floor(unit() * of.length)]!;
  const some = (characters: string, length: number) =>
    Array.from({ length }, () => one([...characters])).join('');
  return Object.entries(KINDS).flatMap(([kind, make]) =>
    Array.from({ length: each }, () => {
      const { secret, text = secret } = make({ some, one });
      return { kind, secret, text: one(AROUND)(text) };
    }),
  );
}
