import assert from 'node:assert/strict';
import { appendFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Draft } from '../../../cli/mine/conversation.js';
import { PROJECT } from '../../architecture/source-files.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { zipOf } from '../../support/zip.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

const FIXTURES = join(PROJECT, 'fixtures/mine');
const fixture = (name: string) => join(FIXTURES, name);

/** A home of its own, and the commands in it. */
function node() {
  const home = temporaryFolder('mine');
  const command = async (...args: string[]) => {
    const { code, out, err } = await run(home, [...args, '--json']);
    return { code, json: JSON.parse(out === '' ? err : out) as Row };
  };
  const rows = async (namespace: string) => {
    const { json } = await command('list', '--namespace', namespace);
    return (json['memories'] as Row[]).sort((left, right) =>
      String(left['title']) < String(right['title']) ? -1 : 1,
    );
  };
  return { home, command, rows, mine: (...args: string[]) => command('mine', ...args) };
}

describe('mine', { timeout: 240_000 }, () => {
  it('imports an export of Claude, once', async () => {
    const { mine, rows } = node();
    const { code, json } = await mine(fixture('claude/conversations.json'));
    assert.equal(code, 0);
    assert.deepEqual(json, {
      imported: 2,
      updated: 0,
      skipped: 1,
      errors: 0,
      total_conversations: 3,
      filtered: 1,
      known: 0,
      namespace: 'claude-export',
      tier: 'mid',
    });
    const [first, second] = await rows('claude-export');
    assert.equal(first!['title'], 'Harbour fees');
    assert.equal(
      first!['content'],
      '[human]: What is the fee for a yacht?\n[assistant]: Twelve euros a night.\n[human]: And for a tug?',
    );
    const { source, source_uri, tags, confidence, tier, metadata } = first!;
    assert.deepEqual(
      { source, source_uri, tags, confidence, tier },
      {
        source: 'mine-claude',
        source_uri: 'uri:mine-claude:c-1',
        tags: ['mine-claude'],
        confidence: 0.8,
        tier: 'mid',
      },
    );
    const { mined_from, mined_messages, started_at } = metadata as Row;
    assert.deepEqual(
      [mined_from, mined_messages, started_at],
      ['conversations.json', 3, '2026-05-11T08:00:00.000Z'],
    );
    assert.equal(second!['title'], 'Write a poem about [brackets] {and} "quotes"');

    for (const path of ['claude', 'claude/conversations.json', 'claude-lines.jsonl']) {
      const again = (await mine(fixture(path))).json;
      const { imported, updated, known, errors, namespace } = again;
      assert.deepEqual([imported, updated, known, errors, namespace], [0, 0, 2, 0, 'claude-export'], path);
    }
  });

  it('follows the branch of ChatGPT that was shown last', async () => {
    const { mine, rows } = node();
    assert.equal(
      (await mine(fixture('chatgpt'), '--namespace', 'tides', '--tier', 'long')).json['imported'],
      1,
    );
    const [row] = await rows('tides');
    assert.equal(row!['title'], 'Tide tables');
    assert.equal(row!['content'], '[user]: When is high tide?\n[assistant]: At 13:10.\n[user]: Tomorrow?');
    assert.equal(row!['tier'], 'long');
  });

  it('reads the channels of Slack in the order of time, with names instead of marks', async () => {
    const { mine, rows } = node();
    const { json } = await mine(fixture('slack'));
    assert.deepEqual([json['imported'], json['filtered'], json['total_conversations']], [1, 1, 2]);
    const [row] = await rows('slack-export');
    assert.equal(row!['title'], '#general');
    assert.equal(
      row!['content'],
      '[Ada]: Thanks @Bob B., in #random too\n[Bob B.]: The ferry & the crane: see here (https://harbour.example)\n[Cy]: Noon it is',
    );
  });

  it('finds the sessions of agents by themselves, without tools, thoughts, helpers and context', async () => {
    const { mine, rows } = node();
    const folder = temporaryFolder('mine-agents');
    for (const name of ['claude-code', 'codex', 'gemini', 'opencode-export.json'])
      cpSync(fixture(name), join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'notes.json'), '{"a":1}');
    const { code, json } = await mine(folder);
    assert.equal(json['imported'], 6);
    assert.deepEqual(json['problems'], ['notes.json: not of a format that is known: left out']);
    assert.equal(code, 1);
    const texts = async (namespace: string) =>
      (await rows(namespace)).map(({ title, content }) => [title, content]);
    assert.deepEqual(await texts('claude-code-sessions'), [
      [
        'Deploy window of the ferry service',
        '[user]: When may we deploy the ferry service?\n[assistant]: I look at the runbook.\n[assistant]: On Sundays, from 02:00 to 04:00 UTC.\n[user]: Thanks — 東京 too?',
      ],
    ]);
    assert.deepEqual(await texts('codex-sessions'), [
      [
        'Rename the crane module',
        '[user]: Rename the crane module\n[assistant]: It is called hoist now.\n[user]: Good',
      ],
      [
        'Where is pier 4?',
        '[user]: Where is pier 4?\n[assistant]: East of the lighthouse.\n[user]: And pier 5?',
      ],
    ]);
    assert.deepEqual(await texts('gemini-cli-sessions'), [
      [
        'How deep is the harbour?',
        '[user]: How deep is the harbour?\n[assistant]: Nine metres at low tide.\n[user]: And at high tide?',
      ],
      [
        'List the cranes',
        '[user]: List the cranes\n[assistant]: There are three.\n[user]: Which is the oldest?',
      ],
    ]);
    assert.deepEqual(await texts('opencode-sessions'), [
      ['Light the pier', '[user]: Are the lamps on?\n[assistant]: All but two.\n[user]: Which two?'],
    ]);
    const only = (await mine(folder, '--format', 'codex', '--namespace', 'again')).json;
    assert.deepEqual([only['imported'], only['total_conversations'], only['errors']], [2, 2, 0]);
  });

  it('reads the storage of OpenCode', async () => {
    const { mine, rows } = node();
    assert.equal((await mine(fixture('opencode'))).json['imported'], 1);
    const [row] = await rows('opencode-sessions');
    assert.equal(row!['title'], 'Paint the buoys');
    assert.equal(
      row!['content'],
      '[user]: Which colour has buoy 7?\n[assistant]: Green.\n[user]: Make it red',
    );
  });

  it('finds the folder of a program by its format', async () => {
    const { home } = node();
    const user = temporaryFolder('mine-user');
    cpSync(fixture('codex'), join(user, '.codex/sessions'), { recursive: true });
    const { out } = await run(home, ['mine', '--format', 'codex', '--json'], { env: { HOME: user } });
    assert.equal((JSON.parse(out) as Row)['imported'], 2);
    const none = await run(home, ['mine', '--format', 'slack'], { env: { HOME: user } });
    assert.equal(none.code, 2);
    assert.match(none.err, /missing required argument: <path>/);
  });

  it('says what it would import, and imports nothing', async () => {
    const { mine, rows, home } = node();
    const { code, json } = await mine(fixture('claude'), '--dry-run', '--min-messages', '2');
    assert.equal(code, 0);
    const { memories, ...rest } = json;
    assert.deepEqual(rest, {
      dry_run: true,
      total_conversations: 3,
      filtered: 0,
      known: 0,
      would_import: 3,
      errors: 0,
      namespace: 'claude-export',
      tier: 'mid',
    });
    assert.deepEqual((memories as Row[])[0], {
      title: 'Harbour fees',
      content_length: 96,
      messages: 3,
      source: 'claude',
    });
    const { out } = await run(home, ['mine', fixture('claude'), '--dry-run']);
    assert.match(
      out,
      /^would import 2 of 3 conversations; 1 with fewer than 3 messages\n {2}Harbour fees \(claude, 3/,
    );
    assert.deepEqual(await rows('claude-export'), []);
  });

  it('brings a session that went on up to date, but not one that was edited here', async () => {
    const { mine, rows, command } = node();
    const folder = temporaryFolder('mine-grows');
    cpSync(fixture('codex'), folder, { recursive: true });
    const file = join(
      folder,
      '2026/05/11',
      'rollout-2026-05-11T09-00-00-019a7c1e-52f0-7c40-8e65-1b0c9d6f2a33.jsonl',
    );
    await mine(folder);
    const payload = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
    const said = (at: string) => `${JSON.stringify({ timestamp: at, type: 'response_item', payload })}\n`;
    appendFileSync(file, said('2026-05-11T09:00:30.000Z'));
    const grown = (await mine(folder)).json;
    assert.deepEqual([grown['imported'], grown['updated'], grown['known']], [0, 1, 1]);
    const row = (await rows('codex-sessions')).find(({ title }) => title === 'Rename the crane module')!;
    assert.match(String(row['content']), /\[user\]: Good\n\[assistant\]: Done\.$/);
    assert.equal((row['metadata'] as Row)['mined_messages'], 4);
    assert.equal((await command('update', String(row['id']), '--content', 'My own words')).code, 0);
    appendFileSync(file, said('2026-05-11T09:00:40.000Z'));
    const kept = (await mine(folder)).json;
    assert.deepEqual([kept['imported'], kept['updated'], kept['known']], [0, 0, 2]);
  });

  it('stops where the quota of the day is used up, and goes on later', async () => {
    const { home } = node();
    const few = { env: { SVC_MAX_MEMORIES_PER_DAY: '2', SVC_AGENT_ID: 'ai:miner' } };
    const mined = async (options: object) =>
      run(home, ['mine', fixture('claude'), '--min-messages', '1'], options);
    const { code, err } = await mined(few);
    assert.notEqual(code, 0);
    assert.match(err, /memories_per_day/);
    const dry = await run(home, ['mine', fixture('claude'), '--min-messages', '1', '--dry-run'], few);
    assert.equal(dry.code, 0);
    assert.match(
      dry.err,
      /^the quota of the day would stop this: it takes 0 of 1 new memories in namespace claude-export \(2 of 2 are used\); the same call imports the rest on the next day \(UTC\), or after SVC_MAX_MEMORIES_PER_DAY was raised\n$/,
    );
    assert.match(
      err,
      /the same call imports the rest .* SVC_MAX_MEMORIES_PER_DAY was raised; imported 2 of 3 conversations into claude-export before that/,
    );
    const { out } = await mined({ env: { SVC_AGENT_ID: 'ai:miner' } });
    assert.equal(out, 'imported 1 of 3 conversations into claude-export; 2 there already\n');
  });

  it('reads the archive that a service sends, and refuses one that expands without measure', async () => {
    const { mine, home } = node();
    const folder = temporaryFolder('mine-zip');
    const archive = (name: string, ...entries: Parameters<typeof zipOf>[0]) => {
      writeFileSync(join(folder, name), zipOf(entries));
      return join(folder, name);
    };
    const content = readFileSync(fixture('chatgpt/conversations.json'));
    const plain = archive(
      'ok.zip',
      { name: 'export/conversations.json', content },
      { name: 'chat.html', content },
    );
    assert.equal((await mine(plain)).json['imported'], 1);
    const slack = archive(
      'slack.zip',
      ...['users.json', 'general/2026-05-11.json', 'general/2026-05-12.json'].map((name) => ({
        name,
        content: readFileSync(fixture(`slack/${name}`)),
      })),
    );
    assert.equal((await mine(slack)).json['imported'], 1);

    const refused = async (path: string) => {
      const { code, err } = await run(home, ['mine', path]);
      assert.equal(code, 2, err);
      return err;
    };
    const zeros = Buffer.alloc(32 * 1024 * 1024, ' ');
    assert.match(
      await refused(archive('bomb.zip', { name: 'conversations.json', content: zeros })),
      /expands \d+ times/,
    );
    const locked = archive('locked.zip', { name: 'conversations.json', content, flags: 1 });
    assert.match(await refused(locked), /is encrypted/);
    writeFileSync(join(folder, 'cut.zip'), zipOf([{ name: 'conversations.json', content }]).subarray(0, 300));
    assert.match(await refused(join(folder, 'cut.zip')), /is no whole zip archive/);
    const lying = await mine(archive('lying.zip', { name: 'conversations.json', content, claimed: 100 }));
    assert.equal(lying.code, 2);
    assert.match(String(lying.json['error']), /holds no conversations/);
  });

  it('leaves out lines and conversations that it cannot read, and names them', async () => {
    const { mine } = node();
    const folder = temporaryFolder('mine-hostile');
    const file = join(folder, 'session.jsonl');
    const line = (text: string) =>
      `${JSON.stringify({ type: 'user', sessionId: 's', uuid: text, message: { role: 'user', content: text } })}\n`;
    writeFileSync(file, line('one'));
    appendFileSync(file, `${'['.repeat(100_000)}\n`);
    appendFileSync(file, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x0a]));
    appendFileSync(file, `"${'x'.repeat(17 * 1024 * 1024)}"\n`);
    appendFileSync(file, line('two'));
    appendFileSync(file, line('three \u0007 with a bell and half a pair \ud83d'));
    appendFileSync(file, '{"type":"user","mess');
    const { code, json } = await mine(folder);
    assert.equal(code, 1);
    assert.equal(json['imported'], 1);
    assert.deepEqual(json['problems'], [
      'session.jsonl: line 2 nests deeper than 256 levels: left out',
      'session.jsonl: line 3 is not valid UTF-8: left out',
      'session.jsonl: line 4 is longer than 16 MiB: left out',
      'session.jsonl: line 7 is not JSON: left out',
    ]);
    const chats = join(folder, 'chats.json');
    const chat = { uuid: 'u', chat_messages: ['a', 'b', 'c'].map((text) => ({ sender: 'human', text })) };
    const deep = `{"chat_messages":[${'['.repeat(300)}${']'.repeat(300)}]}`;
    writeFileSync(chats, `[${deep},${JSON.stringify(chat)},7]`);
    const mixed = (await mine(chats)).json;
    assert.equal(mixed['imported'], 1);
    assert.deepEqual(mixed['problems'], [
      'chats.json: conversation 1 nests deeper than 256 levels: left out',
      'chats.json: conversation 3 is no JSON object: left out',
    ]);
    writeFileSync(chats, `[${JSON.stringify({ ...chat, uuid: 'v' })},`);
    assert.deepEqual((await mine(chats)).json['problems'], ['chats.json: ends before its list does']);
  });

  it('does not follow links out of the folder', async () => {
    const { mine } = node();
    const folder = temporaryFolder('mine-links');
    const outside = temporaryFolder('mine-outside');
    cpSync(fixture('codex'), outside, { recursive: true });
    cpSync(fixture('claude-code'), join(folder, 'own'), { recursive: true });
    symlinkSync(outside, join(folder, 'there'));
    symlinkSync(join(folder, 'own'), join(folder, 'twice'));
    symlinkSync(folder, join(folder, 'own', 'round'));
    const { json } = await mine(folder);
    assert.equal(json['imported'], 1);
    assert.deepEqual(json['problems'], ['there: is a link that leads out of the folder: not followed']);
  });

  it('says what it looked for where it knows nothing', async () => {
    const { home, mine } = node();
    const folder = temporaryFolder('mine-unknown');
    writeFileSync(join(folder, 'a.json'), '{"a":1}');
    writeFileSync(join(folder, 'empty.json'), '');
    mkdirSync(join(folder, 'void'));
    for (const [path, problem] of [
      [folder, /holds no conversations; looked for an export of Claude[\s\S]*OpenCode/],
      [join(folder, 'a.json'), /a\.json holds no conversations/],
      [join(folder, 'void'), /holds no conversations/],
      [join(folder, 'empty.json'), /is empty; looked for/],
      [join(folder, 'missing'), /there is no file or folder/],
      ['/dev/null', /is neither a file nor a folder/],
    ] as const) {
      const { code, err } = await run(home, ['mine', path]);
      assert.equal(code, 2, err);
      assert.match(err, problem);
    }
    const other = (await mine(fixture('codex'), '--format', 'claude')).json;
    assert.match(String(other['error']), /holds no conversations of the format claude/);
    writeFileSync(join(folder, 'opencode.db'), 'SQLite format 3\0 and more');
    assert.equal((await mine(folder)).code, 2);
    for (const args of [
      ['--format', 'irc'],
      ['--tier', 'eternal'],
      ['--min-messages', 'x'],
      ['--namespace', 'a//b'],
    ])
      assert.equal((await mine(fixture('codex'), ...args)).json['code'], 'VALIDATION_FAILED', args.join(' '));
  });
});

describe('a conversation as a memory', () => {
  it('is cut between characters, and counts what is left out', () => {
    const draft = new Draft('id', 'file');
    for (let n = 0; n < 100; n += 1) draft.add('user', '漁港'.repeat(500));
    const { content, cut, messages, title } = draft.done();
    assert.equal(messages, 100);
    assert.equal(cut, true);
    assert.ok(Buffer.byteLength(content) <= 65_536 && Buffer.byteLength(content) > 65_532);
    assert.ok(content.isWellFormed() && !content.includes('\ufffd'));
    assert.equal(title, `${'漁港'.repeat(16)}漁`);
  });

  it('has a title in any case', () => {
    const draft = new Draft('a\u0000b', 'file', ' \n ');
    draft.add('assistant', 'hello\r\nyou');
    draft.add('assistant', ' \u0007 ');
    assert.deepEqual(draft.done(), {
      id: 'a\u0000b',
      file: 'file',
      title: 'conversation ab',
      content: '[assistant]: hello\nyou',
      cut: false,
      messages: 1,
      startedAt: null,
    });
  });
});
