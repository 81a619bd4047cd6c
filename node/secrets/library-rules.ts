import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { FoundSecret } from './found-secret.js';

/** The names of what the rules of secretlint report. */
const KINDS: Readonly<Record<string, string>> = {
  AWSAccessKeyID: 'aws-access-key-id',
  AWSSecretAccessKey: 'aws-secret-access-key',
  ANTHROPIC_API_KEY: 'anthropic-key',
  GITHUB_TOKEN: 'github-token',
  IncomingWebhook: 'slack-webhook',
  LINEAR_API_TOKEN: 'linear-key',
  NPM_ACCESS_TOKEN: 'package-token',
  OPENAI_TOKEN: 'openai-key',
  OPS_TOKEN: '1password-token',
  PrivateKey: 'private-key',
  SENDGRID_KEY: 'sendgrid-key',
  SHOPIFY_KEY: 'shopify-token',
  SLACK_TOKEN: 'slack-token',
};

/** Reports that are about no secret. */
const HARMLESS: ReadonlySet<string> = new Set(['AWSAccountID']);

/**
 * Rules that look at the name of a file; the comments that would let a text switch rules off; and those that take a whole
 * address, of which the own rule takes the password.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  '@secretlint/secretlint-rule-basicauth',
  '@secretlint/secretlint-rule-database-connection-string',
  '@secretlint/secretlint-rule-filter-comments',
  '@secretlint/secretlint-rule-gcp',
]);

const OPTIONS = { enableIDScanRule: true };

interface Report {
  readonly message: { readonly messageId: string };
  readonly range: readonly [number, number];
}

interface Rule {
  readonly meta: { readonly id: string };
  create(context: object, options: object): { file(source: object): void | Promise<void> };
}

/**
 * What the rules of secretlint find in a text.
 *
 * Decision: its rules without its core, which keeps a mark in memory for every text that it looks at.
 */
export function libraryFinds(text: string): readonly FoundSecret[] {
  reports = [];
  for (const { file } of SCANNERS) file({ ...SOURCE, content: text });
  return reports.flatMap(({ message: { messageId }, range: [from, to] }) =>
    HARMLESS.has(messageId) ? [] : [{ kind: KINDS[messageId] ?? 'secret', from, to }],
  );
}

const SOURCE = { filePath: '', ext: '', contentType: 'text' };

let reports: Report[] = [];

const CONTEXT = {
  createTranslator: () => (messageId: string) => ({ messageId }),
  report: (report: Report) => reports.push(report),
};

const SCANNERS = (rules as unknown as readonly Rule[])
  .filter(({ meta }) => !LEFT_OUT.has(meta.id))
  .map((rule) => rule.create(CONTEXT, OPTIONS));
