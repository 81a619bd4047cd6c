import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NATIVE_COMMANDS } from '../../../cli/native-commands.js';
import { firstHelp } from '../../../cli/root-help.js';
import { TASKS } from '../../../cli/tasks.js';
import { displayWidth } from '../../../cli/views/text.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { VERSION } from '../../../node/version.js';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { onlyOnSqlite } from '../../support/test-store.js';
import { event } from '../../support/wait.js';
import { commandsIn, run, runAlone } from './cli-process.js';

const json = (text: string) => {
  assert.match(text, /^\{.*\}\n$/, 'one JSON document and nothing else');
  return JSON.parse(text);
};

describe('the commands', () => {
  const home = temporaryFolder('cli');
  const mnemesh = commandsIn(home);
  let id = '';

  it('store prints a sentence, or the answer alone with --json', async () => {
    const told = await mnemesh(
      'store',
      '--title',
      'Deploy window',
      '-c',
      'Sundays, 02:00',
      '--tags',
      'a,b',
      '--tags',
      'c',
    );
    assert.equal(told.code, 0, told.err);
    assert.match(
      told.out,
      /^stored: [0-9a-f-]{36} \[mid\] \(ns=global\) expires [0-9T:.-]+Z unless it is used\n$/,
    );
    const { code, out, err } = await mnemesh(
      '--json',
      'store',
      '-T',
      'Second',
      '-c',
      'x',
      '-p',
      '8',
      '-n',
      'team/a',
    );
    assert.deepEqual([code, err], [0, '']);
    const answer = json(out);
    const shown = json((await mnemesh('get', answer.id, '--json')).out).memory;
    const { agent_id: agentId, ...memory } = answer;
    assert.deepEqual(memory, shown, 'the whole memory');
    assert.equal(agentId, shown.metadata.agent_id);
    assert.match(answer.agent_id, /^host:[\w.-]+:pid-\d+-[0-9a-f]{8}$/);
    id = answer.id;
  });

  it('get takes a prefix and prints a block, or memory and links', async () => {
    const { out } = await mnemesh('get', id.slice(0, 8));
    assert.match(out, /^Second\n\nid +[0-9a-f-]{36}\n/);
    assert.match(out, /\n\nx\n$/);
    const answer = json((await mnemesh('get', id, '--json')).out);
    assert.deepEqual(Object.keys(answer), ['memory', 'links']);
    assert.equal(answer.memory.priority, 8, 'a number, though it was typed as text');
    assert.equal(answer.memory.source, 'cli');
  });

  it('list prints a table, or the rows', async () => {
    const { out } = await mnemesh('list', '--limit', '1');
    assert.match(
      out,
      new RegExp(
        `^ID +UPDATED +TIER +NAMESPACE +TITLE\n${id.slice(0, 8)} .* team/a +Second\n\n1 memory\nmore follow: --cursor [\\w-]+\n$`,
      ),
    );
    const answer = json((await mnemesh('list', '--json')).out);
    assert.equal(answer.count, 2);
    assert.deepEqual(answer.memories[1].tags, ['a', 'b', 'c']);
    assert.equal((await mnemesh('list', '-n', 'empty')).out, 'no memories found\n');
  });

  it('recall and search print what the rows say', async () => {
    const recalled = (await mnemesh('recall', 'when may we deploy?')).out;
    assert.match(recalled, /SCORE[\s\S]*Deploy window\n +Sundays, 02:00\n[\s\S]*1 memory, keyword recall\n$/);
    assert.match((await mnemesh('search', 'deploy')).out, /Deploy window\n +Sundays, 02:00\n/);
    assert.equal(json((await mnemesh('recall', '--json', 'deploy')).out).mode, 'keyword');
    assert.equal(json((await mnemesh('search', 'deploy', '--json')).out).results.length, 1);
  });

  it('recall says that no memory surely answers, and shows all rows with --min-score 0', async () => {
    const question = 'which caterer did Ann book for the deploy party in Oslo?';
    const empty = await mnemesh('recall', question);
    assert.equal(empty.code, 0);
    assert.match(
      empty.out,
      /\n1 memory, keyword recall\nno memory surely answers this; the rows are weak, the nearest that there are\n$/,
    );
    assert.match(
      (await mnemesh('recall', question, '--min-score', '0')).out,
      /\n1 memory, keyword recall\n$/,
    );
    for (const wrong of ['2', '-1', 'low']) {
      const { code, err } = await mnemesh('recall', question, `--min-score=${wrong}`);
      assert.deepEqual([code, err.includes('--min-score: ')], [2, true], err);
    }
  });

  it('update, promote and delete say what they did', async () => {
    assert.match(
      (await mnemesh('update', id.slice(0, 8), '--priority', '3')).out,
      /^updated: .* \(version 2\)\n$/,
    );
    assert.match((await mnemesh('promote', id)).out, /^promoted: .* \[long\]\n$/);
    assert.equal(json((await mnemesh('update', id, '--tags', '', '--json')).out).memory.version, 4);
    assert.match((await mnemesh('delete', id)).out, /^deleted: .* \(a copy is in the archive\)\n$/);
    assert.equal(json((await mnemesh('delete', (await newest()).id, '--json')).out).deleted, true);
  });

  async function newest() {
    return json((await mnemesh('list', '--json')).out).memories[0];
  }

  it('stats prints counts', async () => {
    assert.match((await mnemesh('stats')).out, /^total +0\n/);
    assert.equal(json((await mnemesh('stats', '--json')).out).total, 0);
  });

  it('name the writer by --agent-id, then by SVC_AGENT_ID', async () => {
    const store = async (args: string[], env: Record<string, string> = {}) =>
      json((await run(home, ['store', '--json', '-c', 'x', ...args], { env })).out).agent_id;
    assert.equal(await store(['-T', 'w1', '--agent-id', 'ai:me']), 'ai:me');
    assert.equal(await store(['-T', 'w2'], { SVC_AGENT_ID: 'ai:env' }), 'ai:env');
    const { code, err } = await mnemesh('delete', 'x', '--agent-id', 'no good');
    assert.equal(code, 2);
    assert.match(err, /agent_id must be/);
  });

  it('take --db and --config before and after the name of the command', async () => {
    const db = `${home}/other.db`;
    assert.equal((await mnemesh('--db', db, 'store', '-T', 'there', '-c', 'x')).code, 0);
    assert.equal(json((await mnemesh('list', '--json', `--db=${db}`)).out).count, 1);
    const { code, err } = await mnemesh('list', '--config', `${home}/missing.toml`);
    assert.equal(code, 78);
    assert.match(err, /^error: cannot read the configuration file/);
  });
});

describe('content from standard input', () => {
  const home = temporaryFolder('cli-stdin');
  const store = (stdin: string | Uint8Array, ...args: string[]) =>
    runAlone(home, ['store', '--json', '--content', '-', ...args], { stdin });

  it('is stored as it came', async () => {
    const text = '  first\r\n\tsecond – ünïcode 🦉\n\n';
    const { id } = json((await store(text, '--title', 'verbatim')).out);
    const { memory } = json((await run(home, ['get', id, '--json'])).out);
    assert.equal(memory.content, text);
  });

  it('is refused when it is no UTF-8, too long, or nothing', async () => {
    assert.match((await store(Buffer.from([0xff, 0xfe]), '-T', 'a')).err, /not valid UTF-8/);
    assert.match((await store('x'.repeat(3_000_000), '-T', 'b')).err, /PAYLOAD_TOO_LARGE/);
    assert.match((await store('x'.repeat(65_537), '-T', 'c')).err, /content: must be at most 65536 bytes/);
    assert.match((await store('', '-T', 'd')).err, /content: must not be blank/);
  });
});

describe('a sentence without a title', () => {
  const home = temporaryFolder('cli-sentence');
  const mnemesh = commandsIn(home);

  it('is stored under its first words, on the command line only', async () => {
    const told = await mnemesh('store', 'We deploy on Sundays. Ask Ann before.', '--json');
    assert.equal(told.code, 0, told.err);
    const { title, content } = json(told.out);
    assert.deepEqual([title, content], ['We deploy on Sundays', 'We deploy on Sundays. Ask Ann before.']);
    const input = { content: 'We deploy on Sundays.' };
    const tool = OPERATIONS.find(({ name }) => name === 'memory_store')!;
    assert.equal(tool.input.safeParse(input).success, false, 'other surfaces need a title');
  });

  it('may come from standard input, and have a title beside it', async () => {
    const piped = await runAlone(home, ['store', '-', '--json'], { stdin: '\n# Rollback\n\n1. Stop it\n' });
    const { title, content } = json(piped.out);
    assert.deepEqual([title, content], ['Rollback', '\n# Rollback\n\n1. Stop it\n']);
    const dashed = await mnemesh('store', '--json', '--', '--all my thoughts');
    assert.equal(json(dashed.out).title, '--all my thoughts');
    const named = json((await mnemesh('store', 'x y z', '-T', 'Letters', '--json')).out);
    assert.equal(named.title, 'Letters');
  });

  it('says how to keep two texts with the same first words', async () => {
    const { code, err } = await mnemesh('store', 'We deploy on Sundays. Ask Ben before.');
    assert.equal(code, 1);
    assert.match(err, /already exists[\s\S]*--title gives this one another title/);
    const both = await mnemesh(
      'store',
      'We deploy on Sundays. Ask Ben before.',
      '--on-conflict',
      'version',
      '--json',
    );
    assert.equal(json(both.out).title, 'We deploy on Sundays (2)');
  });

  it('is refused when it is given twice, is blank, or has no quotes', async () => {
    assert.match((await mnemesh('store', 'one', '-c', 'two')).err, /--content is given more than once/);
    assert.match((await mnemesh('store', ' ')).err, /^error: <content>: must not be blank\n/);
    assert.match((await mnemesh('store', 'We', 'deploy')).err, /put quotes around text with spaces/);
  });
});

describe('what the command line refuses', () => {
  const home = temporaryFolder('cli-refusals');
  const mnemesh = commandsIn(home);

  const cases: readonly (readonly [args: string[], code: number, err: RegExp])[] = [
    [['--bogus'], 2, /unknown flag --bogus/],
    [['--db'], 2, /--db needs a value[\s\S]*All options: mnemesh --help/],
    [['recal', 'x'], 2, /unknown command "recal"; did you mean "mnemesh recall"\?/],
    [['--bogus', 'list'], 2, /unknown flag --bogus/],
    [['list', '--limt', '3'], 2, /unknown flag --limt; did you mean --limit\?[\s\S]*Usage: mnemesh list/],
    [['list', '--limit', '3', '--limit', '4'], 2, /--limit is given more than once/],
    [['list', '--limit', 'many'], 2, /--limit: /],
    [
      ['store', '--title', 'x'],
      2,
      /missing required argument: <content>[\s\S]*Usage: mnemesh store <content>/,
    ],
    [['get'], 2, /missing required argument: <id>/],
    [['completions'], 2, /missing required argument: <shell> \(bash, zsh, fish\)\n/],
    [['store', '--all my thoughts'], 2, /unknown flag --all my thoughts; write -- before a text/],
    [['get', 'a', 'b'], 2, /unexpected argument "b"/],
    [['get', '../etc'], 2, /<id>: id may only hold/],
    [
      ['get', 'nothing'],
      1,
      /^error: memory not found\n {2}"mnemesh list" shows ids; what was deleted or has expired is in "mnemesh archive list"\n$/,
    ],
    [['link', 'nothing', 'nobody'], 1, /^error: memory not found\n {2}"mnemesh list" shows ids; /],
    [
      ['archive', 'restore', 'nothing'],
      1,
      /^error: not found in archive\n {2}"mnemesh archive list" shows what is there\n$/,
    ],
    [['store', '-T', 'x', '-c', 'y', '--ttl-secs', '0'], 2, /--ttl-secs: /],
    [['store', '-T', 'x', '-c', 'y', '--signature', 's'], 2, /unknown flag --signature/],
    [['serve', '--port', 'x'], 2, /--port must be a port number/],
    [['help', 'bogus'], 2, /unknown command "bogus"/],
    [['serve', '--port', '70000'], 78, /port must be between 0 and 65535/],
    [['serve', '--host', '0.0.0.0'], 78, /without an API key/],
    [['mcp', 'surplus'], 2, /unexpected argument/],
    [['stats', '--json=banana'], 2, /--json takes only true or false as a value/],
    [['archive'], 2, /archive needs one of: .*restore/],
    [['archive', 'lst'], 2, /did you mean "mnemesh archive list"\?/],
    [['archive-list'], 2, /did you mean "mnemesh archive list"\?/],
    [['validate'], 2, /did you mean "mnemesh campaign validate"\?/],
    [['config', '--bogus', 'migrate'], 2, /config needs one of/],
    [
      ['mcp', '--profile', 'half'],
      2,
      /--profile: "half" is no profile and no family: the profiles are core, graph, admin, power, full, the families core, lifecycle/,
    ],
  ];
  for (const [args, code, pattern] of cases) {
    it(`mnemesh ${args.join(' ')} ends with ${code}`, async () => {
      const finished = await mnemesh(...args);
      assert.equal(finished.code, code, finished.err);
      assert.match(finished.err, pattern);
      assert.equal(finished.out, '', 'standard output stays empty');
    });
  }

  it('answers failures as one JSON document on standard error with --json', async () => {
    const missing = await mnemesh('get', 'nothing', '--json');
    assert.deepEqual(
      [missing.code, missing.out, json(missing.err)],
      [1, '', { error: 'memory not found', code: 'NOT_FOUND' }],
    );
    const unknown = await mnemesh('list', '--json', '--bogus');
    assert.deepEqual([unknown.code, json(unknown.err).code], [2, 'UNKNOWN_FIELD']);
    await mnemesh('store', '-T', 'taken', '-c', 'x');
    const taken = await mnemesh('store', '-T', 'taken', '-c', 'x', '--json');
    assert.equal(taken.code, 1);
    assert.match(json(taken.err).existing_id, /^[0-9a-f-]{36}$/);
  });

  it('says where a conflict lies', async () => {
    const { err } = await mnemesh('store', '-T', 'taken', '-c', 'x');
    assert.match(err, /already exists[\s\S]*\n {2}existing_id: [0-9a-f-]{36}\n$/);
  });

  it('names a file that is no database and ends with 70', async () => {
    const { code, out, err } = await mnemesh('list', '--db', MAIN);
    assert.deepEqual([code, out], [70, '']);
    assert.match(err, /^error: the database is damaged \(SQLITE_NOTADB: .*"doctor" says more\n$/);
  });
});

describe('a refusal says what can be done', () => {
  const home = temporaryFolder('cli-ways-out');
  const mnemesh = commandsIn(home);

  it('in plain words', async () => {
    const cases: [words: string[], code: number, err: RegExp][] = [
      [['list', '--limit', '0'], 2, /^error: --limit: must be at least 1\n/],
      [
        ['store', '-T', 't', '-c', 'c', '--tier', 'x'],
        2,
        /^error: --tier: must be one of short, mid, long\n/,
      ],
      [['agents'], 2, /Commands and options: mnemesh agents --help\n$/],
      [['agents', 'lst'], 2, /did you mean "mnemesh agents list"\?\n\n.* mnemesh agents --help\n$/],
      [['restore'], 2, /required argument: --from\n\nUsage: mnemesh restore --from <file> \[options\]\n/],
      [['identity', 'generate'], 2, /Usage: mnemesh identity generate --agent-id <id> \[options\]\n/],
      [['agents', 'bind-key', '--agent-id', 'ai:x', '--pubkey', 'junk'], 2, /^error: --pubkey: it is not/],
      [['config', 'migrate'], 2, /^error: there is no file .*config\.toml, so there is nothing to migrate\n/],
      [['import', join(home, 'absent')], 2, /there is no such file; nothing was imported\n/],
      [['export', '--out', join(home, 'no', 'x')], 2, /--out: cannot write .*: there is no such folder\n/],
    ];
    for (const [words, code, err] of cases) {
      const finished = await mnemesh(...words);
      assert.deepEqual([finished.code, finished.out], [code, ''], words.join(' '));
      assert.match(finished.err, err, words.join(' '));
      assert.doesNotMatch(finished.err, /\n {4}at /);
    }
  });

  it('and a taken title how to keep both, to people alone', async () => {
    await mnemesh('store', '-T', 'taken', '-c', 'one');
    const again = ['store', '-T', 'taken', '-c', 'two'];
    const told = await mnemesh(...again);
    assert.match(told.err, /--on-conflict version keeps both/);
    const machine = JSON.parse((await mnemesh(...again, '--json')).err) as Record<string, unknown>;
    assert.doesNotMatch(String(machine['error']), /on-conflict/);
    assert.equal((await mnemesh(...again, '--on-conflict', 'version')).code, 0);
  });

  it('where a backup has no place to go to', {
    skip: onlyOnSqlite('a backup is a copy of the file'),
  }, async () => {
    await writeFile(join(home, 'file'), '');
    for (const to of [join(home, 'file'), join(home, 'file', 'below'), '/proc/mnemesh-test']) {
      const { code, err } = await mnemesh('backup', '--to', to);
      assert.equal(code, 2, err);
      assert.match(err, /^error: (cannot make the folder|\S+ is not a folder)/);
    }
  });
});

describe('help', () => {
  const mnemesh = commandsIn(temporaryFolder('cli-help'));

  it('has a first page for a screen of 24 lines and 80 columns, grouped by what people do', async () => {
    const { code, out } = await mnemesh('--help');
    assert.equal(code, 0);
    assert.equal((await mnemesh('help')).out, out);
    const page = firstHelp(80).split('\n');
    // The last line of the screen is the prompt.
    assert.ok(page.length <= 24, `${page.length} lines`);
    for (const line of page) assert.ok(displayWidth(line) <= 80, line);
    assert.match(out, /\n {2}Keep notes +store, update, /);
    assert.ok(out.indexOf('Keep notes') < out.indexOf('Run a node'));
    for (const word of TASKS.flatMap(({ often }) => often)) {
      assert.match(out, new RegExp(`[ ,]${word}(,|\n)`));
      assert.equal((await mnemesh(word, '--help')).code, 0, word);
    }
  });

  it('lists every command with --all, each once and under its task', async () => {
    const { code, out } = await mnemesh('help', '--all');
    assert.equal(code, 0);
    const names = [...OPERATIONS.flatMap(({ cli }) => cli?.command ?? []), ...Object.keys(NATIVE_COMMANDS)];
    for (const name of names) {
      assert.equal([...out.matchAll(new RegExp(`\n  ${name}(?: {2,}|\n)`, 'g'))].length, 1, name);
    }
    assert.match(out, /\nRun a node:\n {2}serve +Run the node/);
    assert.match(out, /\nOptions of every command:\n +--db/);
    assert.equal((await mnemesh('--help', '--all')).out, out);
  });

  it('shows every argument of every command', async () => {
    for (const operation of OPERATIONS) {
      const { cli } = operation;
      if (cli === undefined) continue;
      const { code, out } = await mnemesh(...cli.command.split(' '), '--help');
      assert.equal(code, 0);
      assert.ok(out.startsWith(`${operation.summary}\n\nUsage: mnemesh ${cli.command}`), out);
      for (const field of Object.keys(operation.input.shape)) {
        const shown = (cli.shown?.[field] ?? cli.flags?.[field] ?? field).replaceAll('_', '-');
        if (cli.omit?.includes(field) !== true) assert.ok(out.includes(shown), field);
      }
      for (const example of cli.examples ?? []) assert.ok(out.includes(example));
    }
  });

  it('shows types, defaults and what is required', async () => {
    const { out } = await mnemesh('help', 'store');
    assert.match(out, /<content> +Text of the memory \(required; also --content; - reads standard input\)/);
    assert.match(out, /-T, --title <text> +.*\(default its first words\)/);
    assert.match((await mnemesh('update', '--help')).out, /<id> +.*\(required\)/);
    assert.match(out, /-p, --priority <number> +Importance, 1 to 10 \(default 5\)/);
    assert.match(out, /--tags <list> +.*repeated/);
    assert.match(out, /--metadata <json>/);
    const recall = (await mnemesh('recall', '--help')).out.replace(/\s+/g, ' ');
    assert.match(recall, /Shape of the answer: human, json, toon, toon_compact \(default human\)/);
    assert.match(recall, /-T, --tier <text>/);
  });

  it('is shown for the servers, and instead of a refusal', async () => {
    assert.match((await mnemesh('serve', '--help')).out, /--port <number>/);
    assert.match((await mnemesh('mcp', '-h')).out, /--profile <names>/);
    assert.equal((await mnemesh('store', '--bogus', '--help')).code, 0);
  });

  it('is shown for a group, and flags may stand between its words', async () => {
    const { code, out } = await mnemesh('help', 'archive');
    assert.equal(code, 0);
    assert.match(
      out,
      /^The archive commands\.\n\nUsage: mnemesh archive <command>[\s\S]*\n {2}archive list +\S/,
    );
    assert.equal((await mnemesh('archive', '--help')).out, out);
    const between = await mnemesh('archive', '--json', 'list');
    assert.equal(json(between.out).count, 0);
    const off = await mnemesh('stats', '--json=false');
    assert.match(off.out, /^total +0\n/);
  });

  it('prints the version', async () => {
    assert.equal((await mnemesh('--version')).out, `${VERSION}\n`);
  });
});

describe('a reader that goes away', () => {
  it('ends a command without a word', async () => {
    const home = temporaryFolder('cli-pipe');
    await run(home, ['store', '-T', 'big', '-c', 'x'.repeat(60_000)]);
    const child = spawn(process.execPath, [MAIN, 'list', '--json'], { env: cleanEnvironment(home) });
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.stdout.destroy();
    const [code] = await event('the command ends', child, 'close');
    assert.deepEqual([code, err], [0, '']);
  });
});

describe('commands that run in turn in one process', () => {
  it('end and say the same as in processes of their own', async () => {
    const home = temporaryFolder('cli-in-turn');
    const cases: readonly (readonly [words: string[], code: number])[] = [
      [['store', '--help'], 0],
      [['stats', '--json'], 0],
      [['get', 'nothing'], 1],
      [['list', '--limit', '0'], 2],
      [['list', '--db', MAIN], 70],
      [['list', '--config', `${home}/missing.toml`], 78],
    ];
    for (const [words, code] of cases) {
      const [first, second] = [await run(home, words), await run(home, words)];
      assert.deepEqual([first.code, second], [code, first], words.join(' '));
      assert.deepEqual(await runAlone(home, words), first, words.join(' '));
    }
  });
});
