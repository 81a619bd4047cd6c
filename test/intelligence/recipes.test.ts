import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { type ModelAsked, ModelServer } from '../support/model-server.js';
import { pageBlocks, pageShell } from '../support/page-shell.js';
import { untilAnswer } from '../support/wait.js';

/** What the scripted model says to the questions of the recipes. */
function saying({ system, prompt }: ModelAsked): string {
  if (/tag/i.test(system)) return 'deploy\nsunday\n';
  if (/^Task: Say in at most five sentences/.test(prompt))
    return JSON.stringify({ items: ['Deploys moved.', 'Keep Sundays free.'] });
  return 'They buy on Mondays and pay late.';
}

describe('docs/recipes.md', { timeout: 180_000 }, () => {
  const home = temporaryFolder('recipes');
  const blocks = pageBlocks('recipes.md');
  const { run: shell, done } = pageShell(home);
  let server: ModelServer;
  let daemon: DaemonProcess;
  const json = async (command: string) => JSON.parse(await done(`mnemesh ${command} --json`));
  const jobsDone = (type: string) =>
    untilAnswer(
      `the jobs ${type} are done`,
      async () => (await json('jobs list')).jobs.filter((job: { type: string }) => job.type === type),
      (jobs: { state: string }[]) => jobs.length > 0 && jobs.every(({ state }) => state === 'done'),
    );

  before(async () => {
    server = await ModelServer.start('native');
    server.says = saying;
    const [config] = blocks('', 'toml');
    const address = 'base_url = "http://localhost:11434"';
    assert.ok(config!.includes(address), 'the page says where the model is');
    writeFileSync(join(home, 'config.toml'), config!.replace(address, `base_url = "${server.url}"`), {
      mode: 0o600,
    });
    daemon = await startDaemonProcess(home, await freePort(), { SVC_REQUIRE_AGENT_ATTESTATION: '1' });
  });
  after(async () => {
    await daemon.end('SIGTERM');
    await server.close();
  });

  it('configures a model that the doctor reaches', async () => {
    assert.match(await done('mnemesh doctor'), /LLM_REACHABLE/);
    assert.doesNotMatch(daemon.errors(), /CONFIG_/);
  });

  it('tags memories automatically', async () => {
    const [store, show] = blocks('Tag memories automatically', 'sh');
    await done(store!);
    await jobsDone('auto_tag');
    const out = await done(show!);
    assert.match(out, /auto tags +deploy, sunday\n/);
    assert.match(out, /curated at/);
    assert.match(await done('mnemesh doctor'), /requests today: 1 of 500\n/);
    const tagged = await json('list --namespace team --tags deploy');
    assert.equal(tagged.memories.length, 0, 'a filter looks at the tags of the author');
  });

  it('reflects once a week, and not twice in one', async () => {
    const heading = 'Reflect once a week';
    const [script, show] = blocks(heading, 'sh');
    assert.match(script!, /^#!\/bin\/sh\n# weekly\.sh\n/);
    writeFileSync(join(home, 'weekly.sh'), script!);
    const [crontab] = blocks(heading, 'cron');
    const command =
      /^(?:\S+ ){5}(.*)$/m.exec(crontab!.split('\n')[1]!)?.[1] ?? assert.fail('no line of cron');
    await shell(command);
    const log = () => readFileSync(join(home, 'weekly.log'), 'utf8');
    assert.match(log(), /^reflected: .*, depth 1, on [\w-]+\n$/);
    const out = await done(show!);
    assert.match(out, /Deploys moved\. Keep Sundays free\./);
    assert.match(out, /exported 1 reflection to /);
    const again = await shell(command);
    assert.equal(again.code, 1);
    assert.match(log(), /error: a memory with this title already exists/);
    server.mood = 500;
    assert.notEqual((await shell(command)).code, 0);
    assert.match(log(), /"error":"stage week: the chat model failed: .*"LLM_FAILED"\}\n$/);
    server.mood = 'fine';
    const { memories } = await json('list --namespace team');
    assert.equal(memories.length, 2, 'the note and one reflection');
  });

  it('writes personas of customers', async () => {
    const [reflect, show] = blocks('Personas of customers', 'sh');
    await done(reflect!);
    await jobsDone('persona');
    const out = await done(show!);
    assert.match(out, /They buy on Mondays and pay late\./);
    for (const title of ['Buys on Mondays', 'Wants euros', 'Pays late'])
      assert.ok(out.includes(title), title);
    assert.match(out, /version 1 \(ns=customers\)/);
  });
});
