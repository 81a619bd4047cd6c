import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

/** A text, and words that must find it by search and by recall, and words that must not find it by search. */
interface Case {
  readonly name: string;
  readonly text: string;
  readonly finds: readonly string[];
  readonly misses?: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: 'Japanese',
    text: '東京倉庫の入館には身分証が必要です。データベースの接続も確認する。猫',
    finds: ['東京倉庫', '倉庫', '身分証', 'データベース', '接続', '京', '猫', 'ﾃﾞｰﾀﾍﾞｰｽ'],
    misses: ['大阪', '東庫'],
  },
  {
    name: 'Chinese',
    text: '上海仓库每季度盘点一次，差异超过百分之一要重新清点。',
    finds: ['上海', '仓库', '盘点', '重新清点', '季'],
    misses: ['北京'],
  },
  {
    name: 'Thai',
    text: 'การประชุมทีมวันจันทร์เริ่มเก้าโมงเช้าที่ห้องใหญ่',
    finds: ['ประชุม', 'วันจันทร์', 'ห้องใหญ่'],
    misses: ['วันศุกร์'],
  },
  {
    name: 'Korean with particles',
    text: '물류센터에서는 데이터베이스를 매일 백업합니다. 집에서 일합니다.',
    finds: ['물류센터', '데이터베이스', '데이터베이스가', '백업', '집'],
    misses: ['창고'],
  },
  {
    name: 'German compounds',
    text: 'Die Datenschutzbeauftragte prüft jeden Wartungsvertrag in der Goethestraße, sagt Frau Müller.',
    finds: [
      'Datenschutz',
      'Beauftragte',
      'Wartungsvertrag',
      'Vertrag',
      'Wartung',
      'Strasse',
      'Mueller',
      'MÜLLER',
      'prueft',
    ],
    misses: ['Mietvertrag'],
  },
  {
    name: 'accents and case',
    text: 'La réunion à Łódź chez Søren: naïve, ÉTÉ, Ёлка, Αθήνα.',
    finds: ['reunion', 'Réunion', 'lodz', 'soren', 'été', 'ete', 'елка', 'αθηνα', 'ΑΘΉΝΑ'],
  },
  {
    name: 'Hindi, Arabic and Hebrew with marks',
    text: 'हिन्दी भाषा, مُحَمَّد كتب الرسالة, שָׁלוֹם עולם',
    finds: ['हिन्दी', 'भाषा', 'محمد', 'שלום'],
    misses: ['न्द'],
  },
  {
    name: 'an identifier in camel case',
    text: 'The bug was in parseUserToken, called by HTTPServer2 for all userIDs.',
    finds: [
      'parseUserToken',
      'parseusertoken',
      'user token',
      'token',
      'parse_user_token',
      'HTTPServer2',

      'ids',
    ],
    misses: ['parseUserTicket'],
  },
  {
    name: 'a path',
    text: 'Fixed in src/http/server.ts after the review.',
    finds: ['src/http/server.ts', 'server.ts', 'http', 'http/server'],
    misses: ['src/http/client.ts'],
  },
  {
    name: 'a version',
    text: 'Rolled out v2.14.3 on Thursday.',
    finds: ['v2.14.3', '2.14.3', 'v2.14', '2.14'],
    misses: ['v2.15.3'],
  },
  {
    name: 'error codes',
    text: 'It fails with ERR_CONN_RESET and then E11000 duplicate key.',
    finds: ['ERR_CONN_RESET', 'conn_reset', 'CONN', 'E11000', '11000'],
    misses: ['E11001'],
  },
  {
    name: 'words that touch another script',
    text: 'APIサーバーのv2を停止した',
    finds: ['API', 'サーバー', 'v2', 'APIサーバー'],
  },
];

const AGENT = { 'x-agent-id': 'ai:writer' };
const FILLERS = [
  'Lunch is at noon',
  '明日は雨です',
  '今天天气很好',
  '오늘 날씨가 좋다',
  'Der Zug kommt später',
];

describe('what the full text finds', () => {
  let node: HttpNode;
  before(async () => {
    node = await openHttpNode({ adminAgentIds: ['ai:writer'], adminHeaderTrust: true });
    for (const [at, { name, text }] of CASES.entries()) {
      // Half of the texts come by an update, whose terms are the same.
      const first = at % 2 === 0 ? text : 'written later';
      const stored = await node.send(
        'POST',
        '/api/v1/memories',
        { title: name, content: first, namespace: 'all' },
        AGENT,
      );
      assert.equal(stored.status, 201, stored.text);
      if (first === text) continue;
      const changed = await node.send(
        'PUT',
        `/api/v1/memories/${stored.json!['id']}`,
        { content: text },
        AGENT,
      );
      assert.equal(changed.status, 200, changed.text);
    }
    for (const text of FILLERS)
      await node.send('POST', '/api/v1/memories', { title: text, content: text, namespace: 'all' });
  });
  after(() => node.close());

  const titles = async (path: string, q: string) => {
    const answer = await node.send('GET', `${path}?${new URLSearchParams({ q, namespace: 'all' })}`);
    assert.equal(answer.status, 200, answer.text);
    const rows = (answer.json!['memories'] ?? answer.json!['results']) as { title: string }[];
    return rows.map(({ title }) => title);
  };

  for (const { name, finds, misses = [] } of CASES) {
    it(`${name}: by search`, async () => {
      for (const word of finds) assert.ok((await titles('/api/v1/search', word)).includes(name), word);
      for (const word of misses) assert.ok(!(await titles('/api/v1/search', word)).includes(name), word);
    });
    it(`${name}: by recall, first`, async () => {
      for (const word of finds.filter((some) => some.length > 2)) {
        const found = await titles('/api/v1/recall', word);
        assert.equal(found[0], name, `${word}: ${found.join(', ')}`);
      }
    });
  }

  it('a forget takes rows that hold the pattern as written, not rows that share letters with it', async () => {
    const store = async (title: string, content: string) =>
      node.send('POST', '/api/v1/memories', { title, content, namespace: 'gone' }, AGENT);
    await store('one', '東京倉庫の入館');
    await store('two', '東京の大きな倉庫');
    await store('three', 'parseUserToken is slow');
    await store('four', 'the user has a token, parse it');
    const forget = async (pattern: string) => {
      const answer = await node.send('POST', '/api/v1/forget', { pattern, namespace: 'gone' }, AGENT);
      return [answer.status, answer.json!['deleted']];
    };
    assert.deepEqual(await forget('東京倉庫'), [200, 1]);
    assert.deepEqual(await forget('parseUserToken'), [200, 1]);
    const answer = await node.send('GET', '/api/v1/memories?namespace=gone', undefined, AGENT);
    const left = (answer.json!['memories'] as { title: string }[]).map(({ title }) => title).sort();
    assert.deepEqual(left, ['four', 'two']);
  });
});
