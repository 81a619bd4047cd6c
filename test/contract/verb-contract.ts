import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { COMMANDS, type Command, KINDS, type Query } from '../../protocol/release.js';
import { ANSWERS } from '../../storage/sql/queries/answers.js';
import { casesAt } from '../storage/kind-cases.js';
import type { Replica } from '../support/replicas.js';
import { auditStore, type StoreUnderTest } from './store-contract.js';
import { COORDINATION, FINDS, GOVERNANCE, GRAPH, SERVICES } from './verbs/scenes-features.js';
import { MEMORIES } from './verbs/scenes-memories.js';
import { replication, TEXTS } from './verbs/scenes-replication.js';
import { type Scene, type Step, toldOf } from './verbs/told.js';
import { PEER, START_MS } from './verbs/world.js';

const databases: readonly (readonly Scene[])[] = [
  MEMORIES,
  [GRAPH],
  [COORDINATION, FINDS],
  [GOVERNANCE],
  [SERVICES],
  [TEXTS],
  [await replication()],
];

/** What every engine tells, by scene. */
const EXPECTED = JSON.parse(
  readFileSync(new URL('../../../test/contract/verbs/expected.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, readonly string[]>>;

/** With a file named here the answers are written down instead of compared: `test/contract/verbs/write.mjs`. */
const WRITTEN = process.env['VERBS_WRITTEN'];

const isQuery = (asked: Step): asked is Query => Object.hasOwn(ANSWERS, (asked as Query).kind);

/** Asks every query and runs every command that there is, and compares what the store tells; once for each engine. */
export function verbContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`verbs: ${name}`, () => {
    it('has a step for every command and every query', () => {
      const asked = databases.flat().flatMap(({ steps }) => steps.flat());
      const kinds = new Set(asked.map(({ kind }) => kind));
      const all = [...COMMANDS.all.map(({ kind }) => kind), ...Object.keys(ANSWERS)];
      assert.deepEqual(
        all.filter((kind) => !kinds.has(kind as Query['kind'])),
        [],
      );
    });
    for (const scenes of databases) inOneDatabase(scenes, open);
  });
}

function inOneDatabase(scenes: readonly Scene[], open: () => Promise<StoreUnderTest>): void {
  describe(scenes.map(({ name }) => name).join(', '), () => {
    let under: StoreUnderTest;
    let nowMs = START_MS;
    before(async () => {
      under = await open();
    });
    after(async () => {
      await under.close();
      assert.deepEqual(auditStore(under), [], 'the log and the rows tell the same story');
    });
    const told = async (asked: Step): Promise<string> => {
      nowMs += 1000;
      under.setNow(nowMs);
      if (!('kind' in asked)) return toldOf(await inTurn(asked));
      const result = isQuery(asked)
        ? await under.store.query(asked)
        : await under.store.execute(asked as Command);
      return toldOf(result.ok ? result.value : result.error);
    };
    const inTurn = async (asked: readonly Query[]) => {
      const answers: unknown[] = [];
      for (const each of asked) {
        const result = await under.store.query(each);
        answers.push(result.ok ? result.value : result.error);
      }
      return answers;
    };
    for (const scene of scenes) {
      if (scene.name === 'finds') it('writes a record of each kind', () => writeRecords(under, () => nowMs));
      for (const [index, asked] of scene.steps.entries()) {
        const kinds = [...new Set([asked].flat().map(({ kind }) => kind))].join(', ');
        it(`${scene.name} ${index}: ${kinds}`, async () => {
          const said = await told(asked);
          if (WRITTEN === undefined) assert.equal(said, EXPECTED[scene.name]?.[index]);
          else appendFileSync(WRITTEN, `${JSON.stringify([scene.name, index, said])}\n`);
        });
      }
    }
  });
}

/** Two versions of a record of each kind that has no command of its own, as the writer writes them. */
async function writeRecords({ store, connect }: StoreUnderTest, now: () => number): Promise<void> {
  const db = connect();
  const one = {
    ...{ store, db, kinds: KINDS, nowMs: now() },
    async run(command: Command) {
      const result = await store.execute(command);
      if (!result.ok) throw new Error(`${command.kind}: ${result.error.message}`);
      return result.value;
    },
  } as unknown as Replica;
  for (const each of casesAt(PEER)) {
    if (KINDS.named(each.kind.name) === null) continue;
    await each.prepare(one);
    await each.put(one, 1);
    if (each.kind.name === 'receipt') await each.put(one, 2);
  }
  db.close();
}
