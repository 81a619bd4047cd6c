import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { PROJECT } from '../architecture/source-files.js';
import { temporaryFolder } from './daemon-process.js';
import { until } from './wait.js';

/**
 * Records `docs/first-ten-minutes.cast` (asciicast v2) and the same as text, `docs/first-ten-minutes.md`: a new user on an
 * empty home, from the package on, in a real terminal whose keys are pressed. Run
 * `node dist/test/support/record-first-minutes.js` after a build; it packs the project first.
 */
const [COLUMNS, ROWS] = [100, 30];
const PATIENT = { withinMs: 900_000, everyMs: 20 } as const;
/** A pause that a viewer has to sit through is at most so long, in seconds. */
const IDLE_MAX_S = 2;
const PROMPT = '$ ';

/** What the user does: words to the reader, then lines to the shell. */
const SCENES: readonly (readonly [said: string, ...typed: string[]])[] = [
  ['Install it, from the package', 'npm install --silent -g ./mnemesh.tgz', 'mnemesh'],
  [
    'Store something and find it again',
    'mnemesh store "We deploy on Sundays between 02:00 and 04:00 UTC, when few people are online"',
    'mnemesh store --namespace team/backend --title "Postgres version" --content "The billing database runs Postgres 15; 16 waits for the driver."',
    'mnemesh recall "when may we deploy?"',
    'mnemesh recall "an welchem Tag wird deployt?"',
    'mnemesh list --since "10 minutes ago"',
  ],
  [
    'Bring the notes that are there already',
    'mnemesh import notes --dry-run',
    'mnemesh import notes',
    'mnemesh recall "who reviews the harbour code?"',
  ],
  [
    'Correct one, and take that back',
    'ID=$(mnemesh recall postgres --json | node -p "JSON.parse(require(\'fs\').readFileSync(0)).memories[0].id")',
    'mnemesh update "$ID" --content "The billing database runs Postgres 16."',
    'mnemesh undo-edit "$ID"',
  ],
  [
    'Give it to an agent',
    'mnemesh install claude-code --dry-run',
    'mnemesh install claude-code > changes.txt; tail -n 2 changes.txt',
  ],
  [
    'Run it as a service',
    'mnemesh serve > serve.log 2>&1 &',
    'sleep 2; cat serve.log',
    "curl -s 'http://127.0.0.1:9077/api/v1/recall?q=deploy&limit=1' | head -c 300; echo",
    'mnemesh doctor',
  ],
  [
    'Make it a mesh of two',
    'mnemesh mesh init --name laptop',
    'mnemesh mesh invite > token.txt',
    'SVC_HOME=~/second mnemesh mesh join - --name desktop --serve --port 9078 < token.txt > second.log 2>&1 &',
    'sleep 4; SVC_HOME=~/second mnemesh recall "when may we deploy?"',
    'mnemesh mesh status',
    'mnemesh mesh verify',
  ],
  ['Keep a copy', 'mnemesh backup --to ~/backups', 'mnemesh stats'],
];

const home = temporaryFolder('first-minutes');
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--pack-destination', home], { cwd: PROJECT, encoding: 'utf8' }),
) as { filename: string }[];
execFileSync('mv', [join(home, packed!.filename), join(home, 'mnemesh.tgz')]);
mkdirSync(join(home, 'notes'));
writeFileSync(
  join(home, 'notes/review.md'),
  '---\ntags: [team]\n---\n# Reviews\n\nMarta reviews everything in the harbour code; Jun stands in for her.\n',
);
writeFileSync(
  join(home, 'notes/on-call.md'),
  '# On call\n\nThe week begins on Wednesday at 10:00. Page the lead when the queue is longer than 1,000.\n',
);

const prefix = join(home, '.npm-global');
const child = spawn(
  'script',
  [
    '-qfec',
    `stty cols ${COLUMNS} rows ${ROWS}; exec env 'PS1=${PROMPT}' bash --norc --noprofile`,
    '/dev/null',
  ],
  {
    cwd: home,
    detached: true,
    env: {
      // What the machine needs to reach packages stays; nothing of its owner's own settings does.
      ...Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !/^(SVC_|npm_(?!config_))/.test(name)),
      ),
      HOME: home,
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      PS1: PROMPT,
      PATH: `${prefix}/bin:${dirname(process.execPath)}:/usr/bin:/bin`,
      npm_config_prefix: prefix,
      npm_config_update_notifier: 'false',
      npm_config_userconfig: join(homedir(), '.npmrc'),
      HISTFILE: '/dev/null',
    },
  },
);
const beganMs = performance.now();
const events: { at: number; text: string }[] = [];
let screen = '';
const show = (text: string) => events.push({ at: (performance.now() - beganMs) / 1000, text });
child.stdout.setEncoding('utf8').on('data', (text: string) => {
  screen += text;
  show(text);
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Without what a terminal obeys. */
const plain = (text: string) =>
  text
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replace(/\r+\n/g, '\n')
    // A line of progress is written over.
    .replace(/^.*\r/gm, '');
const isAtPrompt = () => plain(screen).endsWith(PROMPT);

/** Types a line as a person does, and answers what the terminal showed until the next prompt. */
async function type(line: string): Promise<string> {
  await until('the shell waits', isAtPrompt, PATIENT);
  screen = '';
  for (const key of line) {
    child.stdin.write(key);
    await pause(12);
  }
  await pause(300);
  child.stdin.write('\r');
  await until(`the shell waits after ${line}`, () => screen.includes('\n') && isAtPrompt(), {
    ...PATIENT,
    seen: () => screen,
  });
  await pause(700);
  const [, ...lines] = plain(screen).split('\n');
  return lines.slice(0, -1).join('\n');
}

const page = [
  '# The first ten minutes',
  '',
  'A new user on an empty home, recorded: `asciinema play docs/first-ten-minutes.cast` plays it, with pauses of two seconds at most.',
  'This page is the same as text. `node dist/test/support/record-first-minutes.js` records both again.',
];
for (const [said, ...lines] of SCENES) {
  page.push('', `## ${said}`, '', '```console');
  await type(`# ${said}`);
  for (const line of lines) {
    const printed = await type(line);
    page.push(
      `${PROMPT}${line}`,
      ...printed
        .split('\n')
        .map((each) => each.trimEnd())
        .filter((each) => !/^\[\d+\] \d+$/.test(each)),
    );
  }
  page.push('```');
}
const minutes = ((performance.now() - beganMs) / 60_000).toFixed(1);
await type('kill %1 %2; wait');
child.stdin.end('exit\r');

/** Nothing of this machine stands in the recording. */
const hidden = (text: string) =>
  text
    .replaceAll(home, '/home/ada')
    .replaceAll(`@${hostname()}`, '@laptop')
    .replaceAll(`"hostname":"${hostname()}"`, '"hostname":"laptop"')
    .replaceAll(process.execPath, '/usr/bin/node');
let shiftS = 0;
let lastS = 0;
const cast = events.map(({ at, text }) => {
  shiftS += Math.max(0, at - lastS - IDLE_MAX_S);
  lastS = at;
  return JSON.stringify([Number((at - shiftS).toFixed(3)), 'o', hidden(text)]);
});
const head = { version: 2, width: COLUMNS, height: ROWS, title: 'The first ten minutes with mnemesh' };
writeFileSync(
  join(PROJECT, 'docs/first-ten-minutes.cast'),
  `${[JSON.stringify(head), ...cast].join('\n')}\n`,
);
const text = page.join('\n').replaceAll(/\n{3,}/g, '\n\n');
writeFileSync(join(PROJECT, 'docs/first-ten-minutes.md'), `${hidden(text)}\n`);
process.stdout.write(`recorded, ${minutes} minutes\n`);
process.exit(0);
