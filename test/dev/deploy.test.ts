import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { findCommand } from '../../cli/find-command.js';
import { GLOBAL_FLAGS } from '../../cli/global-flags.js';
import { NATIVE_COMMANDS } from '../../cli/native-commands.js';
import { SETTINGS } from '../../node/config/settings.js';

const PROJECT = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly build: { readonly dockerfile: string }; readonly volumes: readonly string[] }>
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Fails unless the words are a command of this program with flags that it has. */
async function expectCommand(words: readonly string[]): Promise<void> {
  const route = await findCommand(words, NATIVE_COMMANDS);
  assert.equal(route.kind, 'command', words.join(' '));
  if (route.kind !== 'command') return;
  const known = [...route.command.flags, ...GLOBAL_FLAGS].map(({ name }) => `--${name}`);
  for (const flag of words.filter((word) => word.startsWith('--')))
    assert.ok(known.includes(flag), words.join(' '));
}

describe('the files for containers', () => {
  it('start a command that this program has, from the image that they build', async () => {
    const dockerfile = read('docs/deploy/Dockerfile');
    const listOf = (name: string) =>
      JSON.parse(new RegExp(`^${name} (\\[.+\\])$`, 'm').exec(dockerfile)![1]!);
    assert.deepEqual(listOf('ENTRYPOINT'), ['mnemesh']);
    await expectCommand(listOf('CMD'));
    const { services, volumes } = parse(read('docs/deploy/compose.yaml'), { merge: true }) as Compose;
    assert.deepEqual(Object.keys(services), ['one', 'two', 'three']);
    for (const [name, service] of Object.entries(services)) {
      assert.equal(service.build.dockerfile, 'docs/deploy/Dockerfile');
      assert.deepEqual(service.volumes, [`${name}:/data`]);
      assert.ok(name in volumes);
    }
  });

  it('start two daemons and a proxy on one database', async () => {
    interface OnServer {
      readonly command?: readonly string[];
      readonly build?: { readonly dockerfile: string };
      readonly volumes?: readonly string[];
      readonly environment?: Readonly<Record<string, string>>;
    }
    const { services, volumes } = parse(read('docs/deploy/compose-postgres.yaml'), { merge: true }) as {
      readonly services: Readonly<Record<string, OnServer>>;
      readonly volumes: Readonly<Record<string, unknown>>;
    };
    assert.deepEqual(Object.keys(services), ['db', 'schema', 'one', 'two', 'proxy']);
    await expectCommand(services['schema']!.command!);
    for (const name of ['schema', 'one', 'two']) {
      const { build, environment } = services[name]!;
      assert.equal(build?.dockerfile, 'docs/deploy/Dockerfile');
      for (const variable of Object.keys(environment!))
        assert.ok(
          SETTINGS.some(({ env }) => env === variable),
          variable,
        );
      assert.equal(environment!['SVC_KEY_DIR'], '/keys');
    }
    const proxied = services['proxy']!.command!;
    for (const name of ['one', 'two']) assert.ok(proxied.includes(`${name}:9077`), name);
    for (const [name] of Object.values(services).flatMap((each) =>
      (each.volumes ?? []).map((text) => text.split(':')),
    ))
      assert.ok(name! in volumes, name);
    assert.match(read('docs/deploy/Dockerfile'), /install --directory .* \/data \/keys$/m);
  });

  it('are joined by commands of the page that this program has', async () => {
    const page = read('docs/operating.md');
    const section = page.slice(
      page.indexOf('## Containers'),
      page.indexOf('\n## ', page.indexOf('## Containers') + 4),
    );
    const commands = [...section.matchAll(/exec (?:-T )?(?:one|two|three) mnemesh ([^|\n]+)/g)].map(
      ([, words]) =>
        words!
          .trim()
          .replace(/"[^"]*"/g, 'text')
          .split(/\s+/),
    );
    assert.ok(commands.length >= 5, section);
    for (const words of commands) await expectCommand(words);
  });
});
