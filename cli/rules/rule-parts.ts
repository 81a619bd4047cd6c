import { join } from 'node:path';
import type { Caller } from '../../node/identity/caller.js';
import { readSeed, signerOf } from '../../node/identity/key-file.js';
import { ruleJson } from '../../node/operations/power/memory-rule-list.js';
import type { Services } from '../../node/pipeline/call.js';
import { systemClock } from '../../node/seams.js';
import { operatorView } from '../../node/transfer/operator-view.js';
import { isSameKey, publicKeyText } from '../../protocol/base/key-text.js';
import type { Instant } from '../../protocol/base/meanings.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Signer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import { listRules } from '../../protocol/rules/list-rules.js';
import { type Rule, ruleKind } from '../../protocol/rules/rule-kind.js';
import { ruleBytes } from '../../protocol/rules/rule-signature.js';
import { TRUST_ALL } from '../../protocol/rules/rules.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { KEY_DIR_FLAG, keyDirOf } from '../identity/key-target.js';
import { withLocalNode } from '../local-node.js';
import type { Terminal } from '../terminal.js';
import { objectView } from '../views/object-view.js';

/** The file of the operator's private key. It is not `<agent>.priv`, so it signs for no agent. */
const OPERATOR_KEY = 'operator.key';

export const KEY_FLAG: DocumentedFlag = {
  name: 'key',
  kind: 'value',
  value: 'path',
  path: 'file',
  doc: `File of the operator's private key; default ${OPERATOR_KEY} in the key folder`,
};

/** The flags of a command that signs. */
export const SIGN_FLAGS: readonly DocumentedFlag[] = [
  { name: 'sign', kind: 'switch', doc: "Sign with the operator's private key" },
  KEY_FLAG,
  KEY_DIR_FLAG,
];

/** Where the flags say that the operator's private key is. */
export const operatorKeyPath = (parsed: ParsedArguments, flag: 'key' | 'out' = 'key'): string =>
  flagValue(parsed, flag) ?? join(keyDirOf(parsed), OPERATOR_KEY);

/** The key that signs the change; null without `--sign`. */
export function signerFor(parsed: ParsedArguments): Result<Signer | null> {
  return isSet(parsed, 'sign') ? operatorSigner(parsed) : ok(null);
}

/** The operator's key. NOT_FOUND when there is none, CONFLICT when it is not the one that the node trusts. */
export function operatorSigner(parsed: ParsedArguments): Result<Signer> {
  const path = operatorKeyPath(parsed);
  const seed = readSeed(path);
  if (seed === null) {
    return fail('NOT_FOUND', `there is no operator key at ${path}: make one with "mnemesh rules keygen"`);
  }
  const signer = signerOf(seed);
  const { operatorPubkey } = settingsFor(parsed);
  if (operatorPubkey !== null && !isSameKey(operatorPubkey, publicKeyText(signer.publicKey))) {
    return fail('CONFLICT', `the key at ${path} is not the one that SVC_OPERATOR_PUBKEY names`);
  }
  return ok(signer);
}

export const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** A rule as it is written: signed, or without a former signature, which no longer covers it. */
export function signedRule(rule: Rule, signer: Signer | null): Rule {
  const signature = signer === null ? null : base64Of(signer.sign(ruleBytes(rule)));
  return { ...rule, signature, attest_level: signer === null ? 'unsigned' : 'operator_signed' };
}

export const now = (): Instant => instantFromMs(systemClock.nowMs());

/** Runs a change of rules, which only the operator of the machine and admins make. */
export const asOperator = (
  parsed: ParsedArguments,
  run: (services: Services, caller: Caller) => Promise<Result<number>>,
): Promise<Result<number>> =>
  withLocalNode(parsed, async (services, caller) => {
    const permitted = operatorView(caller);
    return permitted.ok ? run(services, caller) : failed(permitted.error);
  });

/** The rule with an id. */
export async function ruleOf({ store }: Services, id: string): Promise<Result<Rule>> {
  const found = await store.query(listRules(null));
  if (!found.ok) return failed(found.error);
  const rule = rowsOf(ruleKind, found.value).find(({ rule_id }) => rule_id === id);
  return rule === undefined
    ? fail('NOT_FOUND', `there is no rule ${id}: see "mnemesh rules list"`)
    : ok(rule);
}

/** Writes a rule and prints it. */
export async function writeRule(
  { services, caller, terminal, parsed }: Writing,
  rule: Rule,
  replaces: Instant | null,
): Promise<Result<number>> {
  const put = await services.store.execute({ kind: 'put-rule', rule, replaces, by: caller.agentId });
  if (!put.ok) return failed(put.error);
  const { in_force: _, ...shown } = ruleJson(put.value.rule, TRUST_ALL);
  await printAnswer(parsed, terminal, shown);
  return ok(0);
}

interface Writing {
  readonly services: Services;
  readonly caller: Caller;
  readonly terminal: Terminal;
  readonly parsed: ParsedArguments;
}

/** Prints an answer for people, or as one JSON document. */
export const printAnswer = (
  parsed: ParsedArguments,
  terminal: Terminal,
  answer: Record<string, unknown>,
): Promise<void> =>
  terminal.print(
    isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : objectView(answer, { columns: terminal.columns }),
  );
