import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command } from '../../../cli/command.js';
import { findCommand } from '../../../cli/find-command.js';
import { NATIVE_COMMANDS } from '../../../cli/native-commands.js';
import { exitCodeOf } from '../../../cli/report-failure.js';
import { Terminal } from '../../../cli/terminal.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { detailsOf } from '../../../protocol/base/result.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

async function commandOf(name: string): Promise<Command> {
  const route = await findCommand(name.split(' '), NATIVE_COMMANDS);
  assert.equal(route.kind, 'command', name);
  return (route as { command: Command }).command;
}

/** True for a command whose usage has an argument outside of brackets. */
const needsSomething = ({ usage }: Command) => /<[^>]+>/.test(usage.replaceAll(/\[[^\]]*\]/g, ''));

async function codeWithout(command: Command): Promise<string> {
  const result = await command.run([], new Terminal(process.stdout, process.stderr));
  if (result.ok) return `exit ${result.value}`;
  const named = detailsOf(result.error, 'VALIDATION_FAILED', 'INVALID_ARGUMENT', 'UNKNOWN_FIELD');
  assert.ok(named !== null && named.fields!.length > 0, command.name);
  return `${result.error.code} ${exitCodeOf(result.error)}`;
}

describe('a required argument that is missing', () => {
  it('has one code in every command, which is that of the other surfaces', async () => {
    const names = [
      ...Object.keys(NATIVE_COMMANDS),
      ...OPERATIONS.flatMap((operation) => operation.cli?.command ?? []),
    ];
    const commands = (await Promise.all(names.map(commandOf))).filter(needsSomething);
    for (const name of ['store', 'rules add', 'restore', 'link', 'mesh adopt']) {
      assert.ok(
        commands.some((command) => command.name === name),
        name,
      );
    }
    const codes = await Promise.all(
      commands.map(async (command) => [command.name, await codeWithout(command)]),
    );
    assert.deepEqual(
      codes.filter(([, code]) => code !== 'VALIDATION_FAILED 2'),
      [],
    );
  });

  it('has it where one of two is needed, and where another flag needs it', async () => {
    const home = temporaryFolder('missing');
    for (const words of [
      ['identity', 'import', '--agent-id', 'ai:a'],
      ['store', '--title', 'a', '--content', 'b', '--sign'],
      ['repair', '--dry-run'],
      ['store', '--title', 'a'],
      ['rules', 'add', '--id', 'x', '--kind', 'dance', '--matcher', '{}'],
    ]) {
      const { code, err } = await run(home, [...words, '--json']);
      assert.deepEqual([code, JSON.parse(err).code], [2, 'VALIDATION_FAILED'], words.join(' '));
    }
  });
});
