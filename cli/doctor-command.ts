import { inspectConfiguration } from '../node/config/load-settings.js';
import { type Profile, profileOf } from '../node/config/tool-profile.js';
import { countToolTokens, examineNode, examineRemotes } from '../node/doctor/examine-node.js';
import type { Examination } from '../node/doctor/report.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { flagValue, isSet, settingSources } from './global-flags.js';
import { nodeAddress } from './node-address.js';
import { settingFlag, settingsOfFlags } from './setting-flags.js';
import type { Terminal } from './terminal.js';
import { displayWidth, pad, printable } from './views/text.js';

const EXIT = { fine: 0, warned: 1, critical: 2 } as const;

/** Finds problems of a node and says how to solve them (interface §4.15); changes nothing. */
export const doctorCommand = defineCommand({
  name: 'doctor',
  summary: 'Find problems of this node, and say how to solve them.',
  flags: [
    {
      name: 'fail-on-warn',
      kind: 'switch',
      doc: 'Exit 1 when there are warnings; critical findings always exit 2',
    },
    { name: 'remote', kind: 'list', value: 'url', doc: 'Ask another node instead; may be repeated' },
    { name: 'send-api-key', kind: 'switch', doc: "Send this node's API key to the remote nodes" },
    { name: 'tokens', kind: 'switch', doc: 'Also count the cl100k tokens of the MCP tool list' },
    settingFlag('profile', 'Tool list that --tokens counts ({env}; default {default})'),
    {
      name: 'raw-table',
      kind: 'switch',
      doc: 'With --tokens: only the count of each tool, separated by tabs',
    },
    { name: 'hooks', kind: 'switch', doc: 'Also examine hooks.toml, and the figures of the daemon' },
    settingFlag('host', 'Address that serve would bind (default {default})'),
    settingFlag('port', 'Port that serve would bind (default {default})'),
  ],
  examples: [
    'doctor',
    'doctor --json --fail-on-warn',
    'doctor --tokens --profile core,graph --raw-table',
    'doctor --remote https://other.example:9077',
  ],
  run: examine,
});

async function examine(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const flags = settingsOfFlags(parsed, ['host', 'port', 'profile']);
  if (!flags.ok) return failed(flags.error);
  const nodes: URL[] = [];
  for (const text of parsed.flags.get('remote') ?? []) {
    const url = nodeAddress(text);
    if (url === null)
      return fail('VALIDATION_FAILED', '--remote must be an http or https URL without a password');
    nodes.push(url);
  }
  const problem = contradiction(parsed, nodes.length > 0);
  if (problem !== null) return fail('INVALID_ARGUMENT', problem);
  const configuration = inspectConfiguration(...settingSources(parsed, flags.value));
  const profile = profileOf(configuration.settings.profile);
  if (isSet(parsed, 'raw-table')) return rawTable(profile, parsed, terminal);
  const key = isSet(parsed, 'send-api-key') ? (configuration.settings.apiKey?.reveal() ?? null) : null;
  const more = {
    tokens: isSet(parsed, 'tokens') ? profile : undefined,
    hooks: isSet(parsed, 'hooks'),
  };
  const report = nodes.length > 0 ? await examineRemotes(nodes, key) : await examineNode(configuration, more);
  await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(report)}\n` : textOf(report));
  if (report.overall === 'CRIT') return ok(EXIT.critical);
  return ok(report.overall === 'WARN' && isSet(parsed, 'fail-on-warn') ? EXIT.warned : EXIT.fine);
}

/** What is wrong with a combination of flags; null when nothing is. */
function contradiction(parsed: ParsedArguments, remote: boolean): string | null {
  const tokens = isSet(parsed, 'tokens');
  if (!tokens && isSet(parsed, 'raw-table')) return '--raw-table needs --tokens';
  if (!tokens && flagValue(parsed, 'profile') !== undefined) return '--profile needs --tokens';
  const own = ['tokens', 'hooks'].find((name) => isSet(parsed, name));
  return remote && own !== undefined ? `--${own} examines this node, not one of --remote` : null;
}

/** Only the counts, for spreadsheets and scripts. */
async function rawTable(
  profile: Profile,
  parsed: ParsedArguments,
  terminal: Terminal,
): Promise<Result<number>> {
  const counted = countToolTokens(profile);
  const lines = counted.tools.map(({ name, family, tokens }) => `${name}\t${family}\t${tokens}`);
  await terminal.print(
    isSet(parsed, 'json')
      ? `${JSON.stringify(counted)}\n`
      : `${['tool\tfamily\ttokens', ...lines].join('\n')}\n`,
  );
  return ok(EXIT.fine);
}

function textOf(report: Examination): string {
  const width = Math.max(...report.sections.map(({ name }) => displayWidth(name)));
  const lines = [`${report.source}: ${verdictOf(report)}`, ''];
  for (const { name, severity, facts, findings } of report.sections) {
    lines.push(`${pad(name, width)}  ${severity}`);
    lines.push(...facts.map(([fact, value]) => `    ${fact}: ${value}`));
    for (const finding of findings) {
      lines.push(`  ${pad(finding.severity, 4)} ${finding.code}: ${finding.message}`);
      if (finding.fix !== '') lines.push(`       -> ${finding.fix}`);
    }
  }
  return `${lines.map(printable).join('\n')}\n`;
}

/** The summary of the findings, in words. */
function verdictOf(report: Examination): string {
  const findings = report.sections.flatMap((section) => section.findings);
  const told = (severity: string, one: string, many: string) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  };
  const wrong = [
    ...told('CRIT', 'critical finding', 'critical findings'),
    ...told('WARN', 'warning', 'warnings'),
  ];
  const counts = [...wrong, ...told('INFO', 'note', 'notes')].join(', ');
  if (wrong.length > 0) return `${report.overall}: ${counts}`;
  return counts === '' ? 'healthy' : `healthy (${counts})`;
}
