import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { plainLine } from '../../node/log.js';

const LOG = new URL('../../node/log.js', import.meta.url).href;
const PROGRAM = `
  const { stderrLog } = await import(${JSON.stringify(LOG)});
  const log = stderrLog('info');
  log.debug({}, 'unheard');
  log.warn({ code: 'A_B', peer: 'n1' }, 'a peer is gone');
  log.warn({ code: 'A_B', peer: 'n1' }, 'a peer is gone');
  log.info({}, 'it is back');
  log.warn({ code: 'A_B', peer: 'n1' }, 'a peer is gone');
`;
const words = ['--input-type=module', '-e', PROGRAM];
const hasTerminal = spawnSync('script', ['--version']).status === 0;

describe('the log', () => {
  it('is lines of JSON for a program, each event in one', () => {
    const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
    assert.equal(stdout, '');
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; level: number });
    assert.deepEqual(
      lines.map(({ msg, level }) => [msg, level]),
      [
        ['a peer is gone', 40],
        ['a peer is gone', 40],
        ['it is back', 30],
        ['a peer is gone', 40],
      ],
    );
  });

  it('is plain lines on a terminal, none twice in a row', {
    skip: hasTerminal ? false : 'script is not here',
  }, () => {
    const quoted = [process.execPath, ...words].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const { stdout } = spawnSync('script', ['-qec', quoted, '/dev/null'], { encoding: 'utf8' });
    const lines = stdout.trimEnd().split(/\r?\n/);
    assert.deepEqual(
      lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, '')),
      [
        'warn: a peer is gone (code: A_B, peer: n1)',
        'info: it is back',
        'warn: a peer is gone (code: A_B, peer: n1)',
      ],
    );
  });

  it('has errors by their messages, and nothing that steers a terminal', () => {
    assert.equal(
      plainLine('error', { err: new Error('disk\nfull'), list: ['a', 1] }, 'it \u001b[31mfailed'),
      'error: it \\u001b[31mfailed (err: disk full, list: ["a",1])',
    );
  });
});
