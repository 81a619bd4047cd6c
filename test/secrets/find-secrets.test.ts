import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findSecrets } from '../../node/secrets/find-secrets.js';
import { mayHoldSecret } from '../../node/secrets/may-hold-secret.js';
import { redactedText } from '../../node/secrets/texts.js';
import { PROJECT } from '../architecture/source-files.js';
import { madeSecrets } from './made-secrets.js';
import { ownTexts } from './own-texts.js';

const redact = (text: string) =>
  redactedText({ path: [], text, lead: 0, unseen: null, isName: false }, findSecrets(text));

/** True where a piece of the secret is still there; words of an address are none. */
const staysIn = (text: string, secret: string) => {
  const random = secret.replace(/^https:\/\/hooks\.slack\.com\/services\//, '');
  return Array.from({ length: Math.max(1, random.length - 9) }, (_, at) => random.slice(at, at + 10)).some(
    (piece) => text.includes(piece),
  );
};

describe('secrets', () => {
  const made = madeSecrets(20261127);
  for (const kind of new Set(made.map((each) => each.kind))) {
    it(`${kind}: each is found, passes the first look, and leaves nothing behind`, () => {
      const ofKind = made.filter((each) => each.kind === kind);
      assert.equal(ofKind.length, 10);
      for (const { text, secret } of ofKind) {
        assert.ok(mayHoldSecret(text), 'the first look stops it');
        assert.notEqual(findSecrets(text).length, 0, 'a rule finds it');
        assert.ok(!staysIn(redact(text), secret), 'nothing of it stays');
      }
    });
  }

  it('are not seen in the notes and the product of this repository', () => {
    const seen = ownTexts(
      PROJECT,
      /^(?:README|SECURITY|docs|node|protocol|storage|actors|cli|console)/,
    ).flatMap(([path, text]) => findSecrets(text).map(({ kind }) => `${path}: ${kind}`));
    assert.deepEqual(seen, []);
  });

  it('are not seen in values that stand for others', () => {
    for (const text of [
      'password: <your password>',
      'DB_PASSWORD=$DB_PASSWORD',
      'export TOKEN=$GITHUB_TOKEN',
      'token: process.env.API_TOKEN',
      'api_key = "xxxxxxxxxxxxxxxxxxxx"',
      'password = "changeme-please-1"',
      'the token is in the vault under team/alpha/2026',
      'secret: vault:kv/prod/database#password1',
      'postgres://user:password@localhost/db',
      'see https://example.com:8443/a@b and mail me@example.com',
      'key: 2026-11-27T08:00:00Z',
      'a sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----',
      'the id 550e8400-e29b-41d4-a716-446655440000 and the commit 31b2755f6aa0e1d2',
      'Authorization: Bearer <token>',
      'max_tokens: 4096, budget_tokens=12000',
    ])
      assert.deepEqual(findSecrets(text), [], text);
  });

  it('do not switch the rules off, as comments of the library do', () => {
    const { text } = madeSecrets(1)[0]!;
    assert.notEqual(findSecrets(`secretlint-disable\n${text} // secretlint-disable-line`).length, 0);
  });

  it('are looked for in a bounded time, whatever the text', () => {
    for (const unit of [
      `-----BEGIN RSA PRIVATE ${'KEY'}-----\n`,
      ...['eyJabcdefgh.eyJ', 'SG.aaaaaaaa.', 'sk-', 'a', '-.', '://a:b', 'password=', 'a:b@', 'token is '],
    ]) {
      const text = unit.repeat(Math.ceil(65_536 / unit.length));
      const before = process.cpuUsage().user;
      mayHoldSecret(text);
      findSecrets(text);
      assert.ok(process.cpuUsage().user - before < 1_000_000, `less than a second for ${unit}`);
    }
  });
});
