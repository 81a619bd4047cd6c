import { isBaseUrl } from '../../node/config/base-url.js';
import type { SettingFlags } from '../../node/config/load-settings.js';
import { absolutePath } from '../../node/config/paths.js';
import { listOf } from '../../node/config/setting-value.js';
import type { Settings } from '../../node/config/settings.js';
import { PeerExchange } from '../../node/mesh/peer-exchange.js';
import { openInlineNode } from '../../node/runtime/inline-node.js';
import { systemClock, systemRandom, systemScheduler } from '../../node/seams.js';
import {
  CATCHUP_INTERVAL_SECONDS_MAX,
  DLQ_REPLAY_BATCH_MIN,
  PUSH_OPERATIONS_MAX,
} from '../../protocol/base/limits.js';
import { type Failure, fail, failed, failure, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { PROGRAM } from '../command.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { Pause } from '../pause.js';
import { onSignals } from '../signals.js';
import type { Terminal } from '../terminal.js';

const INTERVAL_SECONDS = 2;
const BATCH_SIZE = 500;

const NUMBERS = {
  interval: { default: INTERVAL_SECONDS, min: 1, max: CATCHUP_INTERVAL_SECONDS_MAX },
  'batch-size': { default: BATCH_SIZE, min: DLQ_REPLAY_BATCH_MIN, max: PUSH_OPERATIONS_MAX },
} as const;

/** Exchanges operations with peers until it is ended, for a database that no `serve` replicates. */
export const syncDaemonCommand = defineCommand({
  name: 'sync-daemon',
  summary: 'Exchange what is written with other nodes until it is ended, without serving an API.',
  flags: [
    {
      ...{ name: 'peers', kind: 'value', value: 'urls' },
      doc: 'Addresses of enrolled peers, separated by commas (quorum.peers); members of a formed mesh are known',
    },
    {
      ...{ name: 'interval', kind: 'value', value: 'secs' },
      doc: `How often peers are asked for news (default ${INTERVAL_SECONDS}); own news is sent at once`,
    },
    {
      ...{ name: 'batch-size', kind: 'value', value: 'number' },
      doc: `Most operations of one message (default ${BATCH_SIZE})`,
    },
    {
      ...{ name: 'api-key', kind: 'value', value: 'key' },
      doc: 'API key of the peers; better SVC_API_KEY or api_key in the file, which other users do not see',
    },
    {
      ...{ name: 'client-cert', kind: 'value', value: 'file', path: 'file' },
      doc: 'Certificate in PEM that is presented to peers (quorum.client_cert)',
    },
    {
      ...{ name: 'client-key', kind: 'value', value: 'file', path: 'file' },
      doc: 'Private key of that certificate in PEM (quorum.client_key)',
    },
    {
      ...{ name: 'ca-cert', kind: 'value', value: 'file', path: 'file' },
      doc: 'Authorities in PEM that sign the certificates of peers (quorum.ca_cert)',
    },
    {
      ...{ name: 'insecure-skip-server-verify', kind: 'switch' },
      doc: 'Take certificates whoever signed them, if SVC_FED_PEER_FINGERPRINTS names each of them',
    },
  ],
  examples: [
    'sync-daemon --peers https://node2.example:9077 --client-cert node.crt --client-key node.key --ca-cert ca.crt',
    'sync-daemon --peers http://127.0.0.1:9078 --interval 5',
  ],
  run: async (parsed, terminal) => {
    const given = flagsOf(parsed);
    if (!given.ok) return failed(given.error);
    if (given.value.apiKey !== undefined) {
      // Every user of the machine sees the words of a process.
      process.title = PROGRAM;
      await terminal.complain(
        'warning: other users could see the key among the arguments; give it as SVC_API_KEY, or as api_key in the configuration file\n',
      );
    }
    const settings = settingsFor(parsed, given.value);
    const pinnedOnly = isSet(parsed, 'insecure-skip-server-verify');
    const problem = pinnedOnly ? pinProblem(settings) : null;
    return problem === null ? exchange(parsed, terminal, settings, pinnedOnly) : failed(problem);
  },
});

/** The settings that the flags give. VALIDATION_FAILED under the names of this command's flags. */
function flagsOf(parsed: ParsedArguments): Result<SettingFlags> {
  const wrong = (flag: string, what: string) =>
    fail('VALIDATION_FAILED', `--${flag} ${what}`, { fields: [flag.replaceAll('-', '_')] });
  const numbers: Record<string, number> = {};
  for (const [flag, bounds] of Object.entries(NUMBERS)) {
    const text = flagValue(parsed, flag) ?? String(bounds.default);
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number >= bounds.min && number <= bounds.max))
      return wrong(flag, `must be a number from ${bounds.min} to ${bounds.max}`);
    numbers[flag] = number;
  }
  const peers = listOf(flagValue(parsed, 'peers') ?? '');
  if (!peers.every(isBaseUrl))
    return wrong('peers', 'must list addresses such as https://node2.example:9177');
  const files = ['client-cert', 'client-key', 'ca-cert'].map((flag) => {
    const path = flagValue(parsed, flag);
    return path === undefined ? undefined : absolutePath(path);
  });
  const [cert, key, ca] = files;
  if ((cert === undefined) !== (key === undefined))
    return cert === undefined
      ? wrong('client-key', 'needs --client-cert as well')
      : wrong('client-cert', 'needs --client-key as well');
  if (ca !== undefined && isSet(parsed, 'insecure-skip-server-verify'))
    return wrong('insecure-skip-server-verify', 'and --ca-cert exclude each other');
  const apiKey = flagValue(parsed, 'api-key');
  return ok({
    catchupIntervalMs: numbers['interval']! * 1000,
    fedDlqReplayMaxBatch: numbers['batch-size']!,
    ...(peers.length === 0 ? {} : { quorumPeers: peers }),
    ...(cert === undefined || key === undefined ? {} : { quorumClientCert: cert, quorumClientKey: key }),
    ...(ca === undefined ? {} : { quorumCaCert: ca }),
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}

/** Who signed a certificate may be ignored only where the certificate itself is known. */
function pinProblem({ fedPeerFingerprints, quorumCaCert }: Settings): Failure | null {
  if (quorumCaCert !== null)
    return failure(
      'VALIDATION_FAILED',
      '--insecure-skip-server-verify and quorum.ca_cert exclude each other',
    );
  if (fedPeerFingerprints !== null) return null;
  return failure(
    'VALIDATION_FAILED',
    '--insecure-skip-server-verify takes only certificates that are known: name them in the file of SVC_FED_PEER_FINGERPRINTS, one line "<host> <sha256>" for each peer',
  );
}

async function exchange(
  parsed: ParsedArguments,
  terminal: Terminal,
  settings: Settings,
  pinnedOnly: boolean,
): Promise<Result<number>> {
  const pause = new Pause(systemScheduler, settings.catchupIntervalMs);
  onSignals(systemClock, () => pause.end());
  // It runs for long, as an MCP server does, and maintains the database while no daemon does.
  const node = await openInlineNode(settings, 'mcp');
  try {
    const { services } = node;
    const { machineKey } = services;
    if (machineKey === null) return fail('UNAVAILABLE', 'this node has no key to sign its messages with');
    const sum = { sent: 0, received: 0 };
    const running = new PeerExchange({
      ...{ services, signer: machineKey, scheduler: systemScheduler, random: systemRandom, pinnedOnly },
      batchMax: settings.fedDlqReplayMaxBatch,
      relayed: (operations) => {
        sum.sent += operations;
      },
      onEvent: (event) => {
        if (event.kind === 'pushed') sum.sent += event.operations;
        if (event.kind === 'pulled') sum.received += event.operations;
      },
    });
    if (settings.quorumPeers.length === 0 && !running.isFormed) {
      await running.stop();
      const message = 'this node has no peers: name their addresses with --peers, or join a mesh';
      return fail('VALIDATION_FAILED', message, { fields: ['peers'] });
    }
    running.start();
    const said = { peers: settings.quorumPeers, interval_secs: settings.catchupIntervalMs / 1000 };
    const json = isSet(parsed, 'json');
    const print = (text: string, value: object) =>
      terminal.print(json ? `${JSON.stringify(value)}\n` : `${text}\n`);
    const whom = said.peers.length === 0 ? 'the members of the mesh' : said.peers.join(', ');
    await print(`exchanges with ${whom} every ${said.interval_secs} s, until Ctrl-C`, said);
    while (!pause.ended && !terminal.closed) await pause.take();
    const waiting = running
      .status()
      .peers.filter(({ url, lagOperations }) => url !== null && lagOperations > 0).length;
    await running.stop();
    await print(
      `ended: ${sum.sent} operations sent, ${sum.received} received; peers that lack some of what was written here: ${waiting}`,
      { ...sum, peers_waiting: waiting },
    );
    return ok(0);
  } finally {
    await node.close();
  }
}
