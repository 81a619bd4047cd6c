import { connect } from 'node:net';
import type { Scheduler } from '../../protocol/base/seams.js';
import { MnemeshError } from '../client/client-error.js';
import type { Settings } from '../config/settings.js';
import { FAMILIES } from '../config/tool-families.js';
import { findDaemon } from '../local/daemon-connection.js';
import { systemCrypto } from '../seams.js';
import { answerTo, nodeClient } from './node-client.js';
import { type Section, SectionBuilder } from './report.js';

const CONNECT_MS = 1000;
/** Address of a node that listens on all addresses. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** True where a daemon commits what MCP servers and commands write. */
async function reachesDaemon(settings: Settings, scheduler: Scheduler): Promise<boolean> {
  const daemon = await findDaemon(settings, systemCrypto, scheduler);
  daemon?.close();
  return daemon !== null;
}

/** Checks which program has the port, and what a running node reports about itself. */
export async function checkCapabilities(
  settings: Settings,
  daemonLives: boolean,
  tools: number,
  scheduler: Scheduler,
): Promise<Section> {
  const section = new SectionBuilder('Capabilities').fact('tools', tools).fact('families', FAMILIES.length);
  const reached = await reachesDaemon(settings, scheduler);
  section.fact('local_writes', reached ? 'the daemon' : 'each process by itself');
  if (daemonLives && !reached) {
    section.warn(
      'DAEMON_UNREACHABLE',
      'a daemon owns the database, and processes with these settings cannot reach it: they write by themselves, and wait for no quorum',
      'give them the home, the keys and the release of the daemon',
    );
  }
  const host = EVERYWHERE[settings.host] ?? settings.host;
  const { port } = settings;
  if (port === 0 || !(await somebodyListens(host, port, scheduler))) {
    section.fact('daemon', daemonLives ? 'runs, on another port' : 'does not run');
    return section.done();
  }
  const base = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
  const health = await answerTo(nodeClient(base, null).health());
  if (!daemonLives || health instanceof MnemeshError) {
    section.warn(
      'PORT_IN_USE',
      `something else listens on ${host}:${port}; serve cannot start there`,
      'stop it, or choose another --port',
    );
    return section.done();
  }
  section.fact('daemon', `answers on ${host}:${port}`);
  if (health.status !== 'ok') {
    section.crit('DAEMON_UNHEALTHY', 'the running node cannot write', 'look at its log');
  }
  // The key is sent only to the node that owns it: this machine's database says that it is running here.
  const key = settings.apiKey?.reveal() ?? null;
  const answer = await answerTo(nodeClient(base, key).call('memory_capabilities'));
  if (answer instanceof MnemeshError) {
    section.warn(
      'CAPABILITIES_REFUSED',
      `the running node does not report its capabilities: ${answer.message}`,
      'run doctor with the settings of that node',
    );
    return section.done();
  }
  const { recall_mode_active: mode, degraded } = answer;
  section.fact('recall', String(mode));
  if (mode === 'degraded') {
    section.warn('RECALL_DEGRADED', 'the embedder of the running node fails', 'look at its log');
  }
  for (const { part, reason } of Array.isArray(degraded) ? degraded : []) {
    section.warn('PART_DEGRADED', `${part}: ${reason}`, 'look at the log of the node');
  }
  return section.done();
}

function somebodyListens(host: string, port: number, scheduler: Scheduler): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (listens: boolean) => {
      timer.cancel();
      socket.destroy();
      resolve(listens);
    };
    const timer = scheduler.after(CONNECT_MS, () => end(false), { keepAlive: true });
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
