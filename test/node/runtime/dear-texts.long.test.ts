import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Dice } from '../../sim/dice.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';

const BULK_BYTES = 2_000_000;
const TEXT_CHARACTERS = 21_000;
const STORES = 40;
/** What a store beside the bulks may take, of the median of the quiet ones. */
const SLOWER_MAX = 10;
const LONGEST_MS = 1000;
const TRIES = 3;

const dice = new Dice(1, 'dear texts');

/** Letters of an alphabet without words, of which no two texts are alike. */
const texts = {
  'Chinese letters': () => drawn(TEXT_CHARACTERS, () => String.fromCodePoint(0x4e00 + dice.below(20_000))),
  'random words': () => drawn(TEXT_CHARACTERS / 3, () => `${dice.unit().toString(36).slice(2, 8)} `),
} as const;

const drawn = (length: number, one: () => string) => Array.from({ length }, one).join('');

describe('bulks of texts that take long to index', { timeout: 300_000 }, () => {
  for (const [name, text] of Object.entries(texts)) {
    it(`leave the writer to the stores of others: ${name}`, async (context) => {
      const daemon = await startDaemonProcess(temporaryFolder('dear-texts'), await freePort(), {});
      const post = async (path: string, agent: string, body: unknown) => {
        const response = await fetch(`${daemon.base}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-agent-id': agent },
          body: JSON.stringify(body),
        });
        return { status: response.status, body: (await response.json()) as Record<string, unknown> };
      };
      const took = async (label: string) => {
        const all: number[] = [];
        for (let n = 0; n < STORES; n += 1) {
          const beganMs = performance.now();
          const said = await post('/memories', 'ai:small', { title: `${label} ${n}`, content: 'few words' });
          assert.equal(said.status, 201, JSON.stringify(said.body));
          all.push(performance.now() - beganMs);
        }
        return all.sort((a, b) => a - b);
      };
      let bulks = 0;
      const bulk = async () => {
        const one = text();
        const count = Math.floor(BULK_BYTES / Buffer.byteLength(one));
        const memories = Array.from({ length: count }, (_, n) => ({
          ...{ title: `bulk ${bulks} ${n}`, content: text() },
        }));
        bulks += 1;
        const said = await post('/memories/bulk', 'ai:bulky', memories);
        assert.ok(said.status < 300, JSON.stringify(said.body).slice(0, 300));
      };
      try {
        await took('before');
        let seen = '';
        let isHeld = false;
        for (let at = 0; at < TRIES && !isHeld; at += 1) {
          const quiet = (await took(`quiet ${at}`))[STORES >> 1]!;
          let going = true;
          const bulky = (async () => {
            while (going) {
              await bulk();
            }
          })();
          const beside = await took(`beside ${at}`);
          going = false;
          await bulky;
          const [median, longest] = [beside[STORES >> 1]!, beside.at(-1)!];
          seen += ` ${quiet.toFixed(1)} quiet, beside ${median.toFixed(1)}, at most ${longest.toFixed(0)} ms;`;
          isHeld = median <= quiet * SLOWER_MAX && longest < LONGEST_MS;
        }
        context.diagnostic(`medians:${seen}`);
        assert.ok(isHeld, seen);
        assert.ok(bulks > 0);
      } finally {
        await daemon.end('SIGTERM');
      }
    });
  }
});
