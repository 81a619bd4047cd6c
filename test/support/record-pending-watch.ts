import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../architecture/source-files.js';
import { cleanEnvironment, MAIN } from './daemon-process.js';
import { APPROVER, GovernedDaemon } from './governed-daemon.js';
import { until } from './wait.js';

/**
 * Records `docs/pending-watch.cast` (asciicast v2): a daemon, an agent that stores, and `pending watch` on a real
 * terminal whose keys are pressed. Run `node dist/test/support/record-pending-watch.js` after a build.
 */
const [COLUMNS, ROWS] = [96, 16];
const TITLES = [
  ['Deploy window', 'Releases go out on Tuesdays before noon.'],
  ['Old password rule', 'Passwords change every 30 days.'],
  ['On-call', 'Page the lead when the queue is longer than 1,000.'],
] as const;

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const node = await GovernedDaemon.start();
const request = ([title, content]: (typeof TITLES)[number]) =>
  node.call('ai:coder', 'POST', '/memories', { namespace: 'ask', title, content });

await request(TITLES[0]);
const command = `stty cols ${COLUMNS} rows ${ROWS}; exec "${process.execPath}" "${MAIN}" pending watch --agent-id ${APPROVER}`;
const child = spawn('script', ['-qfec', command, '/dev/null'], { env: cleanEnvironment(node.daemon.home) });
const beganMs = performance.now();
const events: string[] = [];
let screen = '';
child.stdout.setEncoding('utf8').on('data', (text: string) => {
  screen += text;
  events.push(JSON.stringify([Number(((performance.now() - beganMs) / 1000).toFixed(3)), 'o', text]));
});
let ended = false;
child.on('exit', () => {
  ended = true;
});

/** Presses a key when the screen says something, after the time that a person needs to read it. */
async function press(key: string, whenItSays: RegExp): Promise<void> {
  await until(`the screen says ${whenItSays}`, () => whenItSays.test(screen), { seen: () => screen });
  await rest(1200);
  screen = '';
  child.stdin.write(key);
}

await until('one action waits', () => /1 action waits/.test(screen));
await rest(1000);
await request(TITLES[1]);
await rest(1000);
await request(TITLES[2]);
await press('\u001b[B', /3 actions wait/);
await press('d', /> 2/);
await press('1', /2 actions wait/);
await press('a', /> 1/);
await press('a', /1 action waits/);
await press('q', /0 actions wait/);
await until('it ends', () => ended);
await node.end();

const header = { version: 2, width: COLUMNS, height: ROWS, title: 'mnemesh pending watch' };
writeFileSync(
  join(PROJECT, 'docs/pending-watch.cast'),
  `${[JSON.stringify(header), ...events].join('\n')}\n`,
);
