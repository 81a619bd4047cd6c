import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { Relation } from '../../protocol/links/link.js';
import { linking } from '../support/memories.js';
import { type BenchDatabase, databasePath, openBenchDatabase, storeCommand } from './database.js';
import { UsageError } from './options.js';
import { readConversations } from './retrieval-data.js';
import { MAIN, serviceEnvironment } from './servers.js';
import { Workspace } from './workspace.js';

/**
 * Builds the graph of conversations in LoCoMo's format and walks it through the command line:
 * `node dist/test/bench/locomo-graph.js <file> [number of the conversation]`. A conversation decomposes into its
 * sessions, a session into its turns; a session advances the one before; a turn is related to its speaker.
 */
const USAGE = 'node dist/test/bench/locomo-graph.js <file> [number of the conversation, 1 unless given]';

type Conversation = ReturnType<typeof readConversations>[number];

/** An id that is the same in every run. */
function idOf(...parts: readonly (string | number)[]): string {
  const hex = createHash('sha256').update(parts.join(' ')).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** LoCoMo writes `1:56 pm on 8 May, 2023`. */
function instantOf(date: string, minutes: number): string {
  const parts = /^(\d+):(\d+) (am|pm) on (\d+ \w+),? (\d{4})$/.exec(date.trim());
  const [, hour, minute, half, day, year] = parts ?? ['', '0', '00', 'am', '1 January', '2023'];
  const hours = (Number(hour) % 12) + (half === 'pm' ? 12 : 0);
  const at = Date.parse(`${day} ${year} ${hours}:${minute} UTC`);
  return new Date((Number.isNaN(at) ? Date.UTC(2023, 0, 1) : at) + minutes * 60_000).toISOString();
}

class GraphBuilder {
  memories = 0;
  links = 0;
  private readonly namespace;

  constructor(
    private readonly database: BenchDatabase,
    readonly number: number,
  ) {
    this.namespace = `conversation-${number}`;
  }

  memory(key: string, title: string, content: string): string {
    const id = idOf(this.number, key);
    const fields = { id, namespace: this.namespace, title, content: content.slice(0, 20_000) };
    this.database.write([storeCommand({ ...fields, tier: 'long', expires_at: null })]);
    this.memories += 1;
    return id;
  }

  link(source: string, target: string, relation: Relation, since: string, observer: string): void {
    const { link } = linking(source, target);
    const times = { created_at: since, valid_from: since };
    this.database.write([
      { kind: 'import-link', link: { ...link, ...times, relation, observed_by: observer } },
    ]);
    this.links += 1;
  }
}

function buildConversation(graph: GraphBuilder, { sessions }: Conversation): readonly string[] {
  const speakers = [...new Set(sessions.flatMap(({ turns }) => turns.map(({ speaker }) => speaker)))];
  const speakerIds = new Map(
    speakers.map((name) => [name, graph.memory(`speaker ${name}`, name, `${name} speaks here.`)]),
  );
  const whole = graph.memory(
    'conversation',
    `Conversation ${graph.number}`,
    `Between ${speakers.join(' and ')}.`,
  );
  let before: string | null = null;
  for (const { key, number, date, turns } of sessions) {
    const began = instantOf(date, 0);
    const text = turns.map(({ speaker, text: said }) => `${speaker}: ${said}`).join('\n');
    const session = graph.memory(key, `Session ${number}, ${date}`, text);
    graph.link(whole, session, 'decomposes_into', began, 'ai:locomo');
    if (before !== null) graph.link(session, before, 'advances', began, 'ai:locomo');
    before = session;
    for (const [at, turn] of turns.entries()) {
      const since = instantOf(date, at);
      const id = graph.memory(turn.key, `${turn.key} ${turn.speaker}: ${turn.text.slice(0, 60)}`, turn.text);
      graph.link(session, id, 'decomposes_into', since, 'ai:locomo');
      graph.link(id, speakerIds.get(turn.speaker)!, 'related_to', since, `ai:${turn.speaker.toLowerCase()}`);
    }
  }
  return [whole, ...speakerIds.values()];
}

/** Runs one command as a person would, and shows what it prints. */
function show(home: string, ...args: string[]): void {
  console.log(`\n$ mnemesh ${args.join(' ')}`);
  const done = spawnSync(process.execPath, [MAIN, ...args], {
    env: serviceEnvironment(home),
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`the command ended with ${done.status}: ${done.stderr}`);
  console.log(done.stdout.trimEnd());
}

async function main([path, chosen = '1']: readonly string[]): Promise<void> {
  if (path === undefined) throw new UsageError(USAGE);
  const conversation = readConversations(path)[Number(chosen) - 1];
  if (conversation === undefined) throw new UsageError(`${path} has no conversation ${chosen}`);
  const workspace = new Workspace(null);
  try {
    const home = workspace.folder();
    const database = openBenchDatabase(databasePath(home), 'OFF');
    const graph = new GraphBuilder(database, Number(chosen));
    const [whole, one, other] = buildConversation(graph, conversation) as [string, string, string];
    database.close();
    console.log(`${graph.memories} memories, ${graph.links} links`);
    const day = instantOf(conversation.sessions[2]?.date ?? '', 0);
    show(home, 'kg-query', whole, '--max-depth', '2', '--limit', '30');
    show(home, 'kg-query', whole, '--max-depth', '3', '--limit', '12', '--valid-at', day);
    show(home, 'kg-timeline', whole, '--limit', '5');
    show(home, 'find-paths', one, other, '--max-depth', '4', '--max-results', '2');
    show(home, 'kg-query', whole, '--max-depth', '3', '--limit', '60', '--format', 'mermaid');
  } finally {
    await workspace.close();
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
